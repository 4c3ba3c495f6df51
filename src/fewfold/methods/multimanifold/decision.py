"""Decision sets: the part that a point of the space belongs to."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.multimanifold import covariances as cov
from fewfold.methods.multimanifold.hellinger import squared_hellinger

CELLS = ("gaussian", "euclidean")

# Kept points looked at around a query: those farther away add nothing to the densities.
_N_CANDIDATES = 30

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
    return part[cov.neighborhoods(points, 1, queries)[:, 0]]


def gaussian_parts(
    points: np.ndarray,
    covariances: np.ndarray,
    part: np.ndarray,
    queries: np.ndarray,
    own: np.ndarray | None = None,
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
    own : ndarray of shape (n_queries,), int, optional
        Kept points that the queries are, each left out for its query: a kept point must not
        vote for itself.

    Returns
    -------
    part : ndarray of shape (n_queries,), int64

    Notes
    -----
    The 30 nearest kept points of a query are compared.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[1.0, 0.0], [0.0, 0.5]])
    >>> flat = np.stack([np.diag([1.0, 0.01]), np.diag([1.0, 0.01])])
    >>> gaussian_parts(points, flat, np.array([0, 1]), np.array([[0.0, 0.0]])).tolist()
    [0]
    """
    around = cov.neighborhoods(points, _N_CANDIDATES, queries)
    whiten = np.linalg.inv(np.linalg.cholesky(covariances))
    out = np.empty(len(queries), np.int64)
    step = max(1, _BLOCK_FLOATS // (around.shape[1] * points.shape[1] ** 2))
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        log_density = _log_densities(points, whiten, queries[rows], around[rows])
        if own is not None:
            log_density[around[rows] == own[rows, None]] = -np.inf
        out[rows] = _heaviest(_shares(log_density), part[around[rows]])
    return out


def refined_parts(
    points: np.ndarray,
    covariances: np.ndarray,
    similar: np.ndarray,
    part: np.ndarray,
    sigma: float,
    n_passes: int = 5,
) -> np.ndarray:
    """Give each kept point the part of the Gaussians that it lies in and that are shaped like it.

    k-means cuts between clusters of eigenvectors, so beside a crossing some kept points end in
    the wrong part, and with them all that falls on their Gaussians. Each point is therefore
    assigned by the others: the density of each at the point times the weight
    ``exp(-H^2 / 2 sigma^2)`` of the pair, until no part changes.

    Parameters
    ----------
    points : ndarray of shape (n_kept, n_dimensions)
    covariances : ndarray of shape (n_kept, n_dimensions, n_dimensions)
        Of the densities.
    similar : ndarray of shape (n_kept, n_dimensions, n_dimensions)
        Of the Hellinger distances.
    part : ndarray of shape (n_kept,), int
    sigma : float
    n_passes : int
        Most passes over the points.

    Returns
    -------
    part : ndarray of shape (n_kept,), int64

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    >>> flat = np.tile(np.diag([1.0, 0.01]), (4, 1, 1))
    >>> refined_parts(points, flat, flat, np.array([0, 1, 0, 0]), 0.2).tolist()
    [0, 0, 0, 0]
    """
    around = cov.neighborhoods(points, _N_CANDIDATES, points)
    rows = np.arange(len(points))
    whiten = np.linalg.inv(np.linalg.cholesky(covariances))
    pairs = np.repeat(rows, around.shape[1]), around.ravel()
    unlike = squared_hellinger(similar, *pairs).reshape(around.shape)
    score = _log_densities(points, whiten, points, around) - unlike / (2 * sigma**2)
    score[around == rows[:, None]] = -np.inf
    shares = _shares(score)
    for _ in range(n_passes):
        new = _heaviest(shares, part[around])
        if (new == part).all():
            break
        part = new
    return part


def _log_densities(points, whiten, queries, around):
    """Log-density of each of the points around a query, up to a constant of all."""
    height = np.log(np.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
    offset = queries[:, None] - points[around]
    z = (whiten[around] @ offset[..., None])[..., 0]
    return height[around] - (z**2).sum(axis=2) / 2


def _shares(log_density):
    top = log_density.max(axis=1, keepdims=True)
    return np.exp(log_density - np.where(np.isfinite(top), top, 0.0))


def _heaviest(weight, part):
    total = [np.where(part == p, weight, 0.0).sum(axis=1) for p in range(part.max() + 1)]
    return np.argmax(total, axis=0)


def decision_sets(partition, X, cells: str = "gaussian") -> np.ndarray:
    """Return the decision set of each row.

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
    return gaussian_parts(
        partition.points, partition.cell_covariances, partition.cell_part, queries
    )


def labeled_sets(partition, cells: str = "gaussian") -> np.ndarray:
    """Return the decision set of each labeled point, whose learner gets its label.

    Parameters
    ----------
    partition : Partition
    cells : {"gaussian", "euclidean"}

    Returns
    -------
    part : ndarray of shape (n_labeled,), int64
        In the order of ``partition.kept``. With Gaussian cells a point is placed like any other
        row, by the Gaussians of all points but itself; should a part be left with fewer labels
        than its bound, all stay where the clustering put them.
    """
    clustered = partition.part[partition.labeled]
    bounds = partition.bounds
    if bounds.n_parts == 1 or cells == "euclidean":
        return clustered
    own = np.flatnonzero(partition.labeled)
    placed = gaussian_parts(
        partition.points,
        partition.cell_covariances,
        partition.cell_part,
        partition.points[own],
        own,
    )
    counts = np.bincount(placed, minlength=bounds.n_parts)
    return clustered if counts.min() < max(1, bounds.min_labeled) else placed
