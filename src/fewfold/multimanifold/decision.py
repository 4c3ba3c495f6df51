"""Decision sets: which part a point of the space belongs to."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.multimanifold import covariances as cov

CELLS = ("gaussian", "euclidean")

# Kept points looked at around a query: those farther away add nothing to the densities.
_N_CANDIDATES = 20

# Whitening matrices gathered at once stay near 64 MB.
_BLOCK_FLOATS = 2**23


def voronoi_parts(points: np.ndarray, part: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Give each query the part of its nearest kept point, the decision sets of the paper.

    Parameters
    ----------
    points : ndarray of shape (n_kept, n_dimensions)
    part : ndarray of shape (n_kept,), int
    queries : ndarray of shape (n_queries, n_dimensions)

    Returns
    -------
    part : ndarray of shape (n_queries,), int64

    Examples
    --------
    >>> import numpy as np
    >>> voronoi_parts(np.array([[0.0], [9.0]]), np.array([1, 0]), np.array([[2.0], [7.0]])).tolist()
    [1, 0]
    """
    return part[cov.neighbourhoods(points, 1, queries)[:, 0]]


def gaussian_parts(
    points: np.ndarray, covariances: np.ndarray, part: np.ndarray, queries: np.ndarray
) -> np.ndarray:
    """Give each query the part that is densest there.

    Each kept point stands for a Gaussian of its local covariance; a part is the sum of its
    points. Beside a crossing the nearest kept point is often on the other manifold, but the
    query lies outside that manifold's flat Gaussians.

    Parameters
    ----------
    points : ndarray of shape (n_kept, n_dimensions)
    covariances : ndarray of shape (n_kept, n_dimensions, n_dimensions)
        Positive definite.
    part : ndarray of shape (n_kept,), int
    queries : ndarray of shape (n_queries, n_dimensions)

    Returns
    -------
    part : ndarray of shape (n_queries,), int64

    Notes
    -----
    The 20 nearest kept points of a query are compared.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[1.0, 0.0], [0.0, 0.5]])
    >>> flat = np.stack([np.diag([1.0, 0.01]), np.diag([1.0, 0.01])])
    >>> gaussian_parts(points, flat, np.array([0, 1]), np.array([[0.0, 0.0]])).tolist()
    [0]
    """
    whiten = np.linalg.inv(np.linalg.cholesky(covariances))
    # The log-density is -d2 / 2 plus the log-determinant of the whitening, up to a constant.
    height = np.log(np.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
    around = cov.neighbourhoods(points, _N_CANDIDATES, queries)
    out = np.empty(len(queries), np.int64)
    d = points.shape[1]
    step = max(1, _BLOCK_FLOATS // (around.shape[1] * d * d))
    for start in range(0, len(queries), step):
        near = around[start : start + step]
        offset = queries[start : start + step, None] - points[near]
        z = (whiten[near] @ offset[..., None])[..., 0]
        log_density = height[near] - (z**2).sum(axis=2) / 2
        out[start : start + step] = _densest(log_density, part[near])
    return out


def _densest(log_density, part):
    weight = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    total = [np.where(part == p, weight, 0.0).sum(axis=1) for p in range(part.max() + 1)]
    return np.argmax(total, axis=0)


def decision_sets(partition, X, cells: str = "gaussian") -> np.ndarray:
    """Tell the decision set of each row.

    Parameters
    ----------
    partition : Partition
    X : array or sparse array of shape (n_queries, n_features)
    cells : {"gaussian", "euclidean"}
        "gaussian" takes the part that is densest at the row, "euclidean" that of the nearest
        kept point, as in the paper.

    Returns
    -------
    part : ndarray of shape (n_queries,), int64
    """
    if cells not in CELLS:
        raise InputError(f"cells={cells!r} is unknown. Choose one of {', '.join(CELLS)}.")
    if partition.bounds.n_parts == 1:
        return np.zeros(X.shape[0], np.int64)
    queries = partition.projection.apply(X)
    if cells == "euclidean":
        return voronoi_parts(partition.points, partition.part, queries)
    return gaussian_parts(partition.points, partition.covariances, partition.part, queries)
