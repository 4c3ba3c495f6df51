"""Encoding of training and new points in an atlas: nearest charts, errors, projections."""

from __future__ import annotations

import numpy as np

from fewfold.linalg.distances import precision
from fewfold.methods.atlas.arrays import FINER, charts_of, finer_part
from fewfold.methods.atlas.charts import cheapest, error_blocks
from fewfold.methods.atlas.space import to_reduced

# Rows encoded at a time: the block's errors on 1000 charts take 32 MB.
_BLOCK_ROWS = 8192


def encode(X, atlas: dict[str, np.ndarray], q: int = 10, rows=None) -> dict[str, np.ndarray]:
    """Encode points by the ``q`` charts of least reconstruction error.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    atlas : dict of ndarrays
        As returned by `fewfold.methods.atlas.fitting.fit_atlas`.
    q : int
        Charts kept per point; fewer if the atlas has fewer.
    rows : int array of shape (n_samples,), optional
        Which rows of the atlas's own data ``X`` holds; None for new points.

    Returns
    -------
    dict of ndarrays
        ``charts`` (n, q) int32, cheapest first; ``errors`` (n, q) and ``projections``
        (n, q, d), of X's precision; ``member`` (n, q) bool: the point is in the chart. Points of
        the atlas belong to the charts they were assigned to, new ones to their cheapest. The
        same names with ``finer_`` before them are the encoding in the finer atlas, if any.

    Examples
    --------
    >>> from fewfold.methods.atlas.fitting import fit_atlas
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> code = encode(X, fit_atlas(X, {"n_dims": 2}), q=2)
    >>> code["projections"].shape[0], code["projections"].shape[2]
    (100, 2)
    """
    code = {}
    for prefix, part in _levels(atlas):
        blocks = [block for _, block in _level_blocks(X, part, q, rows, _BLOCK_ROWS)]
        code |= {prefix + name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]}
    return code


def encode_rows(out, features, atlas: dict[str, np.ndarray], *, q: int = 10) -> None:
    """Write the encoding of all rows and new rows to a stage file: the encoder of atlases.

    Parameters
    ----------
    out : fewfold.pipeline.artifact_writer.Writer
    features : fewfold.pipeline.stage_files.Features
    atlas, q : see `encode`
    """
    write_encoding(out, features.X, atlas, q, rows=range(features.X.shape[0]))
    if features.X_new is not None:
        write_encoding(out, features.X_new, atlas, q, suffix="_new")


def write_encoding(out, X, atlas: dict[str, np.ndarray], q: int = 10, rows=None, suffix="") -> None:
    """Write the encoding of `encode` to a stage file; projections go there block by block.

    Parameters
    ----------
    out : fewfold.pipeline.artifact_writer.Writer
    X, atlas, q, rows : see `encode`
    suffix : str
        Appended to the names of the arrays.

    Notes
    -----
    Memory is ``9 q`` bytes per row and one block; projections would take ``4 q d`` per row.
    """
    for prefix, part in _levels(atlas):
        kept: dict[str, list] = {"charts": [], "errors": [], "member": []}

        def projections(part=part, kept=kept):
            for _, code in _level_blocks(X, part, q, rows, _BLOCK_ROWS):
                for name, values in kept.items():
                    values.append(code[name])
                yield code["projections"]

        shape = X.shape[0], min(q, len(part["means"])), part["directions"].shape[1]
        out.add_blocks(f"{prefix}projections{suffix}", shape, precision(X), projections())
        for name, values in kept.items():
            out.add(f"{prefix}{name}{suffix}", np.concatenate(values))


def _levels(atlas):
    """Return the atlas, and the finer one if any, each with the prefix of its names."""
    finer = finer_part(atlas)
    return [("", atlas)] + ([] if finer is None else [(FINER, finer)])


def _level_blocks(X, atlas, q, rows, block_rows):
    n = X.shape[0]
    charts = charts_of(atlas)
    belongs = None if rows is None else _membership_keys(atlas)
    for start in range(0, max(n, 1), block_rows):
        part = slice(start, min(start + block_rows, n))
        Z = to_reduced(X[part], atlas["origin"], atlas["basis"], charts.means.dtype)
        code = _encode_rows(Z, charts, q, precision(X))
        if rows is None:
            code["member"][:, 0] = True
        else:
            own = np.asarray(rows)[part].astype(np.int64)
            code["member"] = np.isin(own[:, None] * len(charts) + code["charts"], belongs)
        yield part, code


def _membership_keys(atlas):
    return atlas["member_rows"].astype(np.int64) * len(atlas["means"]) + atlas["member_charts"]


def _encode_rows(Z, charts, q, dtype):
    q = min(q, len(charts))
    n, d = len(Z), charts.directions.shape[1]
    code = {
        "charts": np.zeros((n, q), np.int32),
        "errors": np.zeros((n, q), dtype),
        "projections": np.zeros((n, q, d), dtype),
        "member": np.zeros((n, q), bool),
    }
    for rows, errors in error_blocks(Z, charts):
        best = cheapest(errors, q)
        code["charts"][rows] = best
        code["errors"][rows] = np.take_along_axis(errors, best, 1)
    for chart, (who, place) in chart_entries(code["charts"]).items():
        inside = (Z[who] - charts.means[chart]) @ charts.directions[chart].T
        code["projections"][who, place] = inside
    return code


def chart_entries(
    charts: np.ndarray, keep: np.ndarray | None = None
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return for each chart the rows that are encoded by it, and at which place.

    Parameters
    ----------
    charts : int ndarray of shape (n, q)
    keep : bool ndarray of shape (n, q), optional
        Entries that count; by default all.

    Returns
    -------
    dict : chart -> (rows, places)

    Examples
    --------
    >>> entries = chart_entries(np.array([[7, 3], [3, 9]]))
    >>> rows, places = entries[3]
    >>> rows.tolist(), places.tolist()
    ([0, 1], [1, 0])
    """
    flat = charts.ravel()
    kept = None if keep is None or keep.all() else np.flatnonzero(keep)
    if kept is not None:
        flat = flat[kept]
    if flat.size == 0:
        return {}
    if flat.max() < 2**16:
        flat = flat.astype(np.uint16)  # sorted by counting, many times faster
    order = np.argsort(flat, kind="stable")
    present, start = np.unique(flat[order], return_index=True)
    if kept is not None:
        order = kept[order]
    parts = np.split(order, start[1:])
    q = charts.shape[1]
    return {int(c): (part // q, part % q) for c, part in zip(present, parts)}


def encoding_width(code: dict[str, np.ndarray]) -> int:
    """Return the ``q`` that encodes other points as these are encoded.

    An atlas of fewer charts uses all it has, so the wider of the two levels tells.

    Examples
    --------
    >>> encoding_width({"charts": np.zeros((5, 2), int), "finer_charts": np.zeros((5, 4), int)})
    4
    """
    finer = finer_part(code)
    return max(part["charts"].shape[1] for part in (code, finer) if part is not None)


def take_rows(code: dict[str, np.ndarray], rows) -> dict[str, np.ndarray]:
    """Keep some rows of an encoding."""
    return {name: values[rows] for name, values in code.items()}


def back_project(code: dict[str, np.ndarray], atlas: dict[str, np.ndarray]) -> np.ndarray:
    """Return points moved to their cheapest chart ([atlas-2014] Eq. 3), in the atlas's space.

    Parameters
    ----------
    code : dict of ndarrays
        Encoding of ``n`` points.
    atlas : dict of ndarrays

    Returns
    -------
    ndarray of shape (n, r), of the precision of the charts

    Examples
    --------
    >>> code = {"charts": np.array([[0]]), "projections": np.array([[[3.0]]])}
    >>> line = {"means": np.array([[1.0, 2.0]]), "directions": np.array([[[0.0, 1.0]]])}
    >>> back_project(code, line).tolist()
    [[1.0, 5.0]]
    """
    means, directions = np.asarray(atlas["means"]), np.asarray(atlas["directions"])
    out = np.empty((len(code["charts"]), means.shape[1]), means.dtype)
    for chart, (rows, _) in chart_entries(code["charts"][:, :1]).items():
        out[rows] = code["projections"][rows, 0] @ directions[chart] + means[chart]
    return out
