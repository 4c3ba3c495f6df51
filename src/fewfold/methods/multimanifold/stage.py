"""The stages of the method: the data's shape without labels, and the partition of each draw.

A partition reads where the labeled rows are, not which labels they have, and nothing of the
learner: a change of the learner cuts nothing again.
"""

from __future__ import annotations

import hashlib

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.multimanifold.covariances import Projection
from fewfold.methods.multimanifold.decision import CELLS, decision_sets, labeled_sets
from fewfold.methods.multimanifold.partition import Partition, partitions
from fewfold.methods.multimanifold.rules import Bounds, PartitionSettings
from fewfold.methods.multimanifold.shape import fit_shape, shape_from_arrays, shape_to_arrays

_ARRAYS = ("kept", "part", "points", "cell_part", "cell_covariances", "W")


def fit_manifold(features, graph, options: dict, *, seed: int):
    """Return the arrays and notes of the manifold stage ``hellinger``."""
    settings = PartitionSettings(**options)
    shape = fit_shape(features.X, settings)
    kept = [len(cover.rows) for cover in shape.covers]
    print(f"{len(kept)} covers of {', '.join(map(str, kept))} rows, {shape.size} in a neighborhood")
    return shape_to_arrays(shape) | {"variant": [settings.variant]}, {"n_covers": len(kept)}


def encode_draws(out, features, arrays: dict, *, splits, graph=None, **options) -> None:
    """Write the partitions of every draw, and the part of each row and new row.

    Parameters
    ----------
    out : fewfold.pipeline.artifact_writer.Writer
    features : fewfold.pipeline.stage_files.Features
    arrays : dict
        Of `fit_manifold`.
    splits : fewfold.pipeline.stage_files.Splits
    graph : NeighborGraph, optional
    **options
        Of `MultiManifoldClassifier`: what a partition depends on beyond the shape.
    """
    X = features.X
    X = X if not isinstance(X, np.ndarray) else np.asarray(X, np.float64)
    shape = shape_from_arrays(arrays, *X.shape)
    settings = PartitionSettings(variant=arrays["variant"][0], **options).resolved()
    seen = set()
    for trial, budget, seed in splits.draws():
        labeled = np.isin(np.arange(X.shape[0]), splits.order[trial, :budget])
        key = draw_key(labeled)
        if not budget or key in seen:
            continue
        seen.add(key)
        found = partitions(
            X,
            labeled,
            settings,
            shape=shape,
            graph=None if graph is None else graph.W,
            random_state=seed,
        )
        for number, candidate in enumerate(found):
            name = f"{key}.{number}"
            _write(out, name, candidate, settings.cells)
            out.add(f"{name}.row_part", decision_sets(candidate, X, settings.cells))
            if features.X_new is not None:
                new = decision_sets(candidate, features.X_new, settings.cells)
                out.add(f"{name}.row_part_new", new)


def draw_key(labeled: np.ndarray) -> str:
    """Return the name of a draw: a digest of which rows have a label."""
    return hashlib.sha256(np.packbits(labeled).tobytes()).hexdigest()[:16]


def _write(out, key, found, cells):
    for name in _ARRAYS:
        if getattr(found, name) is not None:
            out.add(f"{key}.{name}", getattr(found, name))
    bounds = found.bounds
    numbers = [bounds.n_parts, bounds.min_labeled, bounds.min_unlabeled, found.labeled.sum()]
    out.add(f"{key}.bounds", np.array([*numbers, CELLS.index(cells)], np.int64))
    out.add(f"{key}.scores", np.array([found.ratio_cut, found.agreement]))
    out.add(f"{key}.own_part", labeled_sets(found, cells))
    out.add(f"{key}.notes", list(bounds.notes))


def stored_partitions(manifold, labeled: np.ndarray, cells: str) -> list[tuple]:
    """Return a draw's partitions, and the parts of labeled and of all rows, from a stage's file.

    Parameters
    ----------
    manifold : fewfold.methods.base.ManifoldModel
    labeled : bool array of shape (n,)
    cells : str

    Returns
    -------
    list of (Partition, own, parts)
        Empty where the file does not hold this draw with these cells.
    """
    found, key = [], draw_key(labeled)
    while one := _stored(manifold, f"{key}.{len(found)}", labeled, cells):
        found.append(one)
    return found


def _stored(manifold, key, labeled, cells):
    """Return one partition with its parts; None where there is none of that name."""
    points = manifold.points or {}
    if f"{key}.bounds" not in points:
        return None
    n_parts, low, high, n_own, kind = (int(v) for v in points[f"{key}.bounds"])
    if CELLS[kind % len(CELLS)] != cells:
        return None
    values = {name: points.get(f"{key}.{name}") for name in _ARRAYS}
    own, parts = points[f"{key}.own_part"], points[f"{key}.row_part"]
    fits = max(own.max(), parts.max(), values["part"].max()) < n_parts and kind < len(CELLS)
    if not fits or len(parts) != len(labeled) or values["kept"].max() >= len(labeled):
        raise InputError("The partition stored for this draw is of other rows. Run again.")
    ratio_cut, agreement = (float(v) for v in points[f"{key}.scores"])
    found = Partition(
        **values,
        labeled=np.arange(len(values["kept"])) < n_own,
        covariances=None,
        bounds=Bounds(n_parts, low, high, tuple(points[f"{key}.notes"])),
        ratio_cut=ratio_cut,
        agreement=agreement,
        projection=Projection(manifold.arrays.get("mean"), manifold.arrays.get("axes")),
    )
    return found, own, parts


def stored_new_parts(points: dict | None, key: str, n_rows: int, n_parts: int):
    """Return the parts of the new rows for a draw; None where they are not stored."""
    found = None if points is None else points.get(f"{key}.row_part")
    if found is not None and (len(found) != n_rows or (n_rows and found.max() >= n_parts)):
        raise InputError("The parts stored for the new rows are of other rows. Run again.")
    return found
