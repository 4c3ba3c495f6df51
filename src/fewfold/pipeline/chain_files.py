"""Reading the files that a method's chain of stages left for its learner."""

from __future__ import annotations

from dataclasses import replace

from fewfold.methods.base import ManifoldModel
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.cells import METHOD_PREFIX
from fewfold.pipeline.stage_files import Labels, Splits, check_rows, read_features, read_labels
from fewfold.pipeline.training import Inputs

# Arrays with one entry per row, of manifolds and of the points encoded in them.
_MANIFOLD_ROWS = ("eigenvectors", "embedding", "interior")
_POINTS_ROWS = ("charts", "positions")


def load_stages(files: dict, n_rows: int | None = None) -> dict:
    """Read what graph, manifold, kernel and copies stages wrote.

    Parameters
    ----------
    files : dict
        Paths of ``graph``, ``extension``, ``manifold``, ``points``, ``kernel`` and ``copies``,
        where there are any; others are left alone.
    n_rows : int, optional
        Rows of the features that they must belong to.

    Returns
    -------
    dict
        The objects under the same names, as far as there are files, and ``points_new``.
    """
    found = {}
    if files.get("graph"):
        from fewfold.pipeline.graph_files import read_graph

        found["graph"] = read_graph(files["graph"])
    if files.get("extension"):
        found["extension"] = read(files["extension"], "extend_graph")["weights"]
    if files.get("manifold"):
        with read(files["manifold"], "fit_manifold") as file:
            arrays = {name: file[name] for name in file.names()}
            found["manifold"] = ManifoldModel(arrays, dict(file.settings), type=file.note("kind"))
    if files.get("points"):
        found |= _read_points(files["points"], found.get("manifold"))
    if files.get("kernel"):
        from fewfold.pipeline.kernel_files import KernelMatrix

        found["kernel"] = KernelMatrix(files["kernel"])
    if files.get("copies"):
        from fewfold.pipeline.copies_files import CopiesFile

        found["copies"] = CopiesFile(files["copies"])
    if n_rows is not None:
        check_rows(_rows_of(found, n_rows))
    return found


def _rows_of(stages, n):
    """Return what `check_rows` takes, of the stages of ``n`` rows."""
    points, arrays = stages.get("points") or {}, {}
    if "graph" in stages:
        yield "graph", stages["graph"].W.shape[0], n
    if "manifold" in stages:
        arrays, points = stages["manifold"].arrays, points or stages["manifold"].points or {}
    yield from ((f"manifold ({k})", len(arrays[k]), n) for k in _MANIFOLD_ROWS if k in arrays)
    yield from ((f"points ({k})", len(points[k]), n) for k in _POINTS_ROWS if k in points)


def _read_points(path, manifold):
    """Return the encoding of the rows and, under ``points_new``, of the new rows."""
    with read(path, "encode_points") as file:
        points = {name: file[name] for name in file.names()}
        for name in points if manifold is not None else ():
            charts = "finer_means" if name.startswith("finer_") else "means"
            if "charts" in name and charts in manifold.arrays:
                file.check_rows(name, points[name], len(manifold.arrays[charts]))
    new = {k.removesuffix("_new"): v for k, v in points.items() if k.endswith("_new")}
    own = {name: value for name, value in points.items() if not name.endswith("_new")}
    return {"points": own, "points_new": new or None}


def load_inputs(files: dict, *, images: bool = True) -> tuple[Inputs, Labels]:
    """Read what a learner is given.

    Parameters
    ----------
    files : dict
        Paths of features and labels, and those that `load_stages` reads.
    images : bool
        Whether pixels beside principal components are read.

    Returns
    -------
    Inputs, Labels
    """
    data, truth = read_features(files["features"], images=images), read_labels(files["labels"])
    stages = load_stages(files)
    points = {name: stages.pop(name) for name in ("points", "points_new") if name in stages}
    if points:
        stages["manifold"] = replace(stages["manifold"], **points)
    _check_rows(data, truth, stages)
    inputs = Inputs(
        X=data.X,
        X_new=data.X_new,
        task=truth.task,
        image_shape=data.image_shape,
        images=data.images,
        images_new=data.images_new,
        groups=truth.groups,
        groups_new=truth.groups_new,
        **stages,
    )
    return inputs, truth


def _check_rows(data, truth, stages) -> None:
    """Refuse files that are not about the same rows: one of them comes from elsewhere."""
    n = data.X.shape[0]
    new = None if data.X_new is None else data.X_new.shape[0]
    found = [("labels", len(truth.y), n), *_rows_of(stages, n)]
    extension, kernel, manifold = map(stages.get, ("extension", "kernel", "manifold"))
    if extension is not None:
        found += [
            ("extension", extension.shape[1], n),
            ("extension (new rows)", extension.shape[0], new),
        ]
    if kernel is not None:
        found += [("kernel", kernel.n, n), ("kernel (new rows)", kernel.n_new, new or 0)]
    if manifold is not None and manifold.points_new is not None:
        first = next(iter(manifold.points_new.values()))
        found.append(("points (new rows)", len(first), new))
    check_rows(found)


def cells_of(file, splits: Splits, n_rows: int, method: str | None = None) -> list[dict]:
    """Return the cells of a file of predictions, checked against the draws that they answer.

    Parameters
    ----------
    file : fewfold.pipeline.artifacts.Artifact
        Of stage train_method.
    splits : Splits
    n_rows : int
    method : str, optional
        Whose cells; of a file of one method they are all its own.

    Returns
    -------
    list of dict
        With ``name``: what follows ``labels/`` and ``confidence/`` in the names of its arrays.
    """
    cells = file.note("cells")
    several = len({cell.get("method") for cell in cells}) > 1
    if several:
        cells = [cell for cell in cells if cell.get("method") == method]
        if not cells:
            file.fail(f"holds no predictions of {method!r}")
    for cell in cells:
        if cell["trial"] >= len(splits.order) or cell["budget"] not in splits.budgets:
            file.fail(f"answers trial {cell['trial']} with {cell['budget']} labels, never drawn")
        prefix = METHOD_PREFIX.format(method) if several else ""
        cell["name"] = f"{prefix}{cell['trial']}/{cell['budget']}"
        for group in ("labels", "confidence"):
            name = f"{group}/{cell['name']}"
            if file.shape(name) != (n_rows,):
                file.fail(f"has shape {file.shape(name)} for {name!r}, expected {(n_rows,)}")
    return cells
