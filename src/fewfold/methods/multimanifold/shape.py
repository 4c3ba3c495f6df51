"""The label-free part of the method: covers, local covariances, the Mahalanobis graph.

The partition of a labeled draw starts from here (`partition.partition`); in the workflow it is
the manifold stage ``hellinger``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.multimanifold import covariances as cov
from fewfold.methods.multimanifold.cover import greedy_cover, starting_points
from fewfold.methods.multimanifold.hellinger import (
    mahalanobis_neighbors,
    squared_hellinger,
    undirected,
)
from fewfold.methods.multimanifold.rules import (
    PartitionSettings,
    default_degree,
    default_neighborhood,
)


@dataclass(frozen=True, eq=False)
class Cover:
    """Some rows whose neighborhoods hold all rows, and the graph on them.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        In walking order.
    covariances : ndarray of shape (m, d, d)
        Local covariances, as the graph sees them.
    cells : ndarray of shape (m, d, d)
        The same with the ridge of the decision sets.
    edges : ndarray of shape (2, n_edges), int64
        Positions in ``rows``: Mahalanobis neighbors, each pair once.
    squared_hellinger : ndarray of shape (n_edges,)
    """

    rows: np.ndarray
    covariances: np.ndarray
    cells: np.ndarray
    edges: np.ndarray
    squared_hellinger: np.ndarray


@dataclass(frozen=True, eq=False)
class Shape:
    """The label-free half of the method.

    Attributes
    ----------
    projection : Projection
    size : int
        Rows of a neighborhood.
    ridge, cell_ridge : float
    degree : int or None
        Neighbors in the graph, where they were set.
    n_refits : int
    covers : list of Cover
    """

    projection: cov.Projection
    size: int
    ridge: float
    cell_ridge: float
    degree: int | None
    n_refits: int
    covers: list[Cover]

    def local_covariances(self, Z, points, ridge) -> np.ndarray:
        """Return the covariances around some points, (m, d, d)."""
        candidates = cov.neighborhoods(Z, self.size * (2 if self.n_refits else 1), points)
        return cov.steered_covariances(Z, points, candidates, self.size, ridge, self.n_refits)


def fit_shape(X, settings: PartitionSettings | None = None) -> Shape:
    """Estimate the shape of the data; nothing here depends on labels.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    settings : PartitionSettings, optional

    Returns
    -------
    Shape

    Examples
    --------
    >>> import numpy as np
    >>> shape = fit_shape(np.random.default_rng(0).normal(size=(300, 2)))
    >>> len(shape.covers), shape.size, shape.covers[0].covariances.shape[1:]
    (3, 17, (2, 2))
    """
    settings = (settings or PartitionSettings()).resolved()
    projection = cov.fit_projection(X, settings.n_components)
    Z = projection.apply(X)
    d = Z.shape[1]
    ridge = cov.default_ridge(d) if settings.ridge == "auto" else settings.ridge
    thin, auto_size = settings.cell_ridge, settings.n_neighbors == "auto"
    shape = Shape(
        projection,
        default_neighborhood(len(Z)) if auto_size else int(settings.n_neighbors),
        float(ridge),
        float(cov.default_cell_ridge(d, ridge) if thin == "auto" else thin),
        None if settings.degree == "auto" else int(settings.degree),
        int(settings.n_refits),
        [],
    )
    around = cov.neighborhoods(Z, shape.size)
    starts = starting_points(Z, settings.n_covers)
    paths = [greedy_cover(Z, around, start) for start in starts]
    return replace(shape, covers=[_cover(Z, rows, shape) for rows in paths])


def _cover(Z, rows, shape):
    points = Z[rows]
    S = shape.local_covariances(Z, points, shape.ridge)
    thin = S
    if shape.cell_ridge != shape.ridge:
        thin = shape.local_covariances(Z, points, shape.cell_ridge)
    degree = default_degree(len(rows)) if shape.degree is None else shape.degree
    found = mahalanobis_neighbors(points, S, degree)
    edges = undirected(np.repeat(np.arange(len(rows)), found.shape[1]), found.ravel())
    h2 = squared_hellinger(S, *edges)
    return Cover(rows, S, thin, np.stack(edges), h2)


def shape_to_arrays(shape: Shape) -> dict[str, np.ndarray]:
    """Return a shape as the arrays of a manifold file."""
    arrays = {name: getattr(shape.projection, name) for name in ("mean", "axes")}
    for i, cover in enumerate(shape.covers):
        arrays |= {f"{i}.{field.name}": getattr(cover, field.name) for field in fields(Cover)}
    arrays["settings"] = np.array(
        [shape.size, shape.ridge, shape.cell_ridge, shape.degree or 0, shape.n_refits]
    )
    return {name: value for name, value in arrays.items() if value is not None}


def shape_from_arrays(arrays: dict, n_rows: int, n_features: int) -> Shape:
    """Return the shape that a manifold file holds, of data of this size.

    Raises
    ------
    InputError
        If its parts do not fit together or belong to other data.
    """
    mean, axes = arrays.get("mean"), arrays.get("axes")
    n_kept = n_features if axes is None else axes.shape[1]
    size, ridge, cell_ridge, degree, n_refits = (float(v) for v in arrays["settings"])
    covers = []
    while f"{len(covers)}.rows" in arrays:
        cover = Cover(*(arrays[f"{len(covers)}.{field.name}"] for field in fields(Cover)))
        size_of = (len(cover.rows), n_kept, n_kept)
        fits = cover.covariances.shape == cover.cells.shape == size_of
        fits = fits and cover.rows.max(initial=0) < n_rows
        if not fits or cover.edges.max(initial=-1) >= len(cover.rows):
            raise InputError("The covers of the manifold do not fit together. Run its stage again.")
        covers.append(cover)
    if not covers:
        raise InputError("The manifold holds no cover. Run its stage again.")
    if any(part is not None and len(part) != n_features for part in (mean, axes)):
        raise InputError(f"The manifold is not one of {n_features} features. Run its stage again.")
    projection = cov.Projection(mean, axes)
    return Shape(
        projection, int(size), ridge, cell_ridge, int(degree) or None, int(n_refits), covers
    )
