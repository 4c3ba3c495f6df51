"""Local covariances: the shape of the data around each point ([multimanifold-2009] Section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError

# A k-d tree beats matrix products up to about this many dimensions (and works in float64).
_TREE_MAX_DIMENSION = 8

# Below this many features the data are used as they are; above, in that many components.
DEFAULT_COMPONENTS = 15

# Up to this many dimensions a neighborhood of 3 log M points gives a covariance worth trusting.
FEW_DIMENSIONS = 4


@dataclass(frozen=True, eq=False)
class Projection:
    """Shift and rotation into the space where local geometry is estimated.

    Attributes
    ----------
    mean : ndarray of shape (n_features,) or None
        Taken off first; None for sparse data, which stay sparse.
    axes : ndarray of shape (n_features, n_kept) or None
        Principal axes; None keeps the features.
    """

    mean: np.ndarray | None
    axes: np.ndarray | None

    def apply(self, X) -> np.ndarray:
        """Project rows, shape (n_samples, n_features) to (n_samples, n_kept)."""
        if self.mean is not None:
            X = X.toarray() if sparse.issparse(X) else X
            X = np.asarray(X, dtype=np.float64) - self.mean
        if self.axes is not None:
            X = X @ self.axes
        return X


def fit_projection(X, n_components: int | str | None = "auto") -> Projection:
    """Find the mean and, if there are many features, the principal axes of the data.

    In 256 dimensions 25 neighbors give a covariance of rank 24: every Hellinger distance is 1
    and no Mahalanobis distance exists. The geometry is therefore read in few components.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    n_components : int, "auto" or None
        "auto" keeps 15 components of data with more than 15 features; None keeps all features.

    Returns
    -------
    Projection

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 2.0]])
    >>> fit_projection(X).apply(X).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    d = X.shape[1]
    wanted = DEFAULT_COMPONENTS if n_components == "auto" else n_components
    wanted = d if wanted is None else min(wanted, d)
    if sparse.issparse(X):
        if wanted < min(X.shape):
            from sklearn.utils.extmath import randomized_svd

            return Projection(None, randomized_svd(X, wanted, random_state=0)[2].T)
        X = X.toarray()
    mean = X.mean(axis=0, dtype=np.float64)
    if wanted == d:
        return Projection(mean, None)
    centered = X - mean
    # Only distances matter below, so the signs of the axes do not.
    _, axes = np.linalg.eigh(centered.T @ centered / len(X))
    return Projection(mean, axes[:, : -wanted - 1 : -1])


def neighborhoods(X: np.ndarray, n_neighbors: int, query: np.ndarray | None = None) -> np.ndarray:
    """Find the nearest rows of ``X`` of each query, a row being its own nearest.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_neighbors : int
        Size of a neighborhood; cut to the number of rows.
    query : ndarray of shape (n_queries, n_features), optional
        The rows of ``X`` when left out.

    Returns
    -------
    indices : ndarray of shape (n_queries, n_neighbors), int64

    Examples
    --------
    >>> import numpy as np
    >>> neighborhoods(np.array([[0.0], [1.0], [3.0]]), 2).tolist()
    [[0, 1], [1, 0], [2, 1]]
    """
    size = min(n_neighbors, len(X))
    wanted = X if query is None else query
    if X.shape[1] <= _TREE_MAX_DIMENSION:
        from scipy.spatial import cKDTree

        _, found = cKDTree(X).query(wanted, k=np.arange(1, size + 1), workers=-1)
        return found.astype(np.int64)
    from fewfold.graph.neighbors import nearest_neighbors

    # The search runs in float32: centering avoids a loss of digits far from the origin.
    center = X.mean(axis=0)
    return nearest_neighbors(X - center, size, query=wanted - center).indices


def local_covariances(X: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """Sample covariance of each neighborhood, divided by its size less one.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    neighbors : ndarray of shape (n_points, n_neighbors)
        Rows of ``X`` around each point.

    Returns
    -------
    covariances : ndarray of shape (n_points, n_features, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> local_covariances(np.array([[0.0], [1.0], [2.0]]), np.array([[0, 1, 2]])).item()
    1.0
    """
    size = neighbors.shape[1]
    out = np.empty((len(neighbors), X.shape[1], X.shape[1]))
    # Blocks bound the memory at about 64 MB whatever the number of points.
    step = max(1, 2**23 // max(1, size * X.shape[1]))
    for start in range(0, len(neighbors), step):
        block = X[neighbors[start : start + step]]
        block = block - block.mean(axis=1, keepdims=True)
        out[start : start + step] = block.transpose(0, 2, 1) @ block
    return out / max(1, size - 1)


def default_ridge(n_features: int) -> float:
    """Default ridge, from measurements: small where the covariances have full rank.

    Parameters
    ----------
    n_features : int
        Dimension in which the covariances are taken.

    Examples
    --------
    >>> default_ridge(3), default_ridge(15)
    (0.01, 0.3)
    """
    return 0.01 if n_features <= FEW_DIMENSIONS else 0.3


def default_cell_ridge(n_features: int, ridge: float) -> float:
    """Ridge of the decision sets' Gaussians: next to none where the covariances have full rank.

    The ridge is the thickness of a flat manifold's Gaussians. In the graph it keeps Hellinger
    distances from following the noise of 30 points; in the decision sets it is the distance
    from a crossing within which points go to the wrong manifold.

    Parameters
    ----------
    n_features : int
        Dimension in which the covariances are taken.
    ridge : float
        Ridge of the graph, kept in many dimensions.

    Examples
    --------
    >>> default_cell_ridge(3, 0.01), default_cell_ridge(15, 0.3)
    (1e-06, 0.3)
    """
    return min(1e-6, ridge) if n_features <= FEW_DIMENSIONS else ridge


def regularize(covariances: np.ndarray, ridge: float) -> np.ndarray:
    """Add ``ridge`` times the mean variance to each covariance, which makes it invertible.

    A pseudo-inverse would not do: it makes leaving the tangent plane free.

    Parameters
    ----------
    covariances : ndarray of shape (n_points, n_features, n_features)
    ridge : float
        ``S + ridge * (trace(S) / n_features) * I``.

    Returns
    -------
    covariances : ndarray of shape (n_points, n_features, n_features)
        Positive definite; a point whose neighbors all coincide with it gets a tiny ball.

    Examples
    --------
    >>> import numpy as np
    >>> regularize(np.diag([2.0, 0.0])[None], 0.01)[0].tolist()
    [[2.01, 0.0], [0.0, 0.01]]
    """
    if not ridge > 0:
        raise InputError(
            f"ridge={ridge!r} is not allowed: flat neighborhoods have no inverse without it. "
            "Give a number above 0, for example 0.01."
        )
    d = covariances.shape[1]
    spread = np.trace(covariances, axis1=1, axis2=2) / d
    typical = spread.mean() if spread.any() else 1.0
    level = np.maximum(ridge * spread, 1e-10 * typical)
    return covariances + level[:, None, None] * np.eye(d)


def steered_covariances(
    X: np.ndarray,
    points: np.ndarray,
    neighbors: np.ndarray,
    size: int,
    ridge: float,
    n_refits: int,
) -> np.ndarray:
    """Covariances of neighborhoods that follow the manifold instead of a ball.

    Near a crossing a ball holds points of both manifolds, its covariance looks like neither, and
    these mixed points glue the manifolds together in the graph. So the neighborhood is chosen
    again, among twice as many candidates, by the Mahalanobis distance of the covariance just
    found, a few times: it turns towards the manifold that the point lies on.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    points : ndarray of shape (n_points, n_features)
        Where the covariances are wanted.
    neighbors : ndarray of shape (n_points, n_candidates), int
        Candidates among the rows of ``X``, nearest first.
    size : int
        Points in a neighborhood.
    ridge : float
        See :func:`regularize`.
    n_refits : int
        0 gives the plain covariances of the ``size`` nearest candidates.

    Returns
    -------
    covariances : ndarray of shape (n_points, n_features, n_features)
        Regularized.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0], [1, 0], [2, 0], [0, 1.5]])
    >>> order = np.array([[0, 1, 3, 2]])
    >>> S = steered_covariances(X, X[:1], order, 3, 0.1, 0)
    >>> bool(S[0, 1, 1] > 0.1)
    True
    """
    found = regularize(local_covariances(X, neighbors[:, :size]), ridge)
    if size >= neighbors.shape[1]:
        return found
    offsets = X[neighbors] - points[:, None]
    chosen = neighbors[:, :size].copy()
    active = np.arange(len(points))
    for _ in range(n_refits):
        whiten = np.linalg.inv(np.linalg.cholesky(found[active]))
        d2 = ((offsets[active] @ whiten.transpose(0, 2, 1)) ** 2).sum(axis=2)
        order = np.sort(np.argpartition(d2, size - 1, axis=1)[:, :size], axis=1)
        new = np.take_along_axis(neighbors[active], order, axis=1)
        moved = (new != chosen[active]).any(axis=1)
        active, new = active[moved], new[moved]
        if not len(active):
            break
        chosen[active] = new
        found[active] = regularize(local_covariances(X, new), ridge)
    return found
