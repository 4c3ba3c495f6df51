"""The graph: Mahalanobis neighbors, weighted by Hellinger distances between covariances."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError

# Edges handled at once: the batch of summed covariances stays near 64 MB.
_BATCH_FLOATS = 2**23


def mahalanobis_neighbors(
    X: np.ndarray, covariances: np.ndarray, n_neighbors: int, rows: np.ndarray | None = None
) -> np.ndarray:
    """Find the nearest other rows of each row in the metric of its own covariance.

    Parameters
    ----------
    X : ndarray of shape (n_points, n_features)
    covariances : ndarray of shape (n_points, n_features, n_features)
        Positive definite.
    n_neighbors : int
        Cut to the number of other rows.
    rows : int ndarray of shape (m,), optional
        The rows whose neighbors are searched; by default all.

    Returns
    -------
    indices : ndarray of shape (m, n_neighbors), int64
        Nearest first.

    Notes
    -----
    All pairs are compared, O(n_points**2).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    >>> flat = np.tile(np.diag([1.0, 0.01]), (3, 1, 1))
    >>> mahalanobis_neighbors(X, flat, 1)[0].tolist()
    [1]
    """
    rows = np.arange(len(X)) if rows is None else rows
    k = min(n_neighbors, len(X) - 1)
    found = np.empty((len(rows), max(k, 0)), np.int64)
    if k < 1:
        return found
    from scipy.spatial.distance import cdist

    for i, (row, inverse) in enumerate(zip(rows, np.linalg.inv(covariances[rows]))):
        distances = cdist(X[[row]], X, "mahalanobis", VI=inverse)[0]
        distances[row] = np.inf
        nearest = np.argpartition(distances, k - 1)[:k]
        found[i] = nearest[np.argsort(distances[nearest], kind="stable")]
    return found


def squared_hellinger(covariances: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Squared Hellinger distance between centered Gaussians, for many pairs at once.

    ``H^2 = 1 - 2^(D/2) |S_i|^(1/4) |S_j|^(1/4) / |S_i + S_j|^(1/2)``, taken in logarithms: the
    determinants of small covariances underflow.

    Parameters
    ----------
    covariances : ndarray of shape (n_points, n_features, n_features)
        Positive definite.
    rows, columns : ndarray of shape (n_pairs,), int
        The points of each pair.

    Returns
    -------
    h2 : ndarray of shape (n_pairs,)
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.stack([np.eye(1), 4 * np.eye(1)])
    >>> squared_hellinger(S, np.array([0]), np.array([1])).round(4).tolist()
    [0.1056]
    """
    d = covariances.shape[1]
    own = np.linalg.slogdet(covariances).logabsdet
    joint = np.empty(len(rows))
    step = max(1, _BATCH_FLOATS // (d * d))
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        joint[start : start + step] = np.linalg.slogdet(covariances[i] + covariances[j]).logabsdet
    log_affinity = d / 2 * np.log(2.0) + (own[rows] + own[columns]) / 4 - joint / 2
    return np.clip(-np.expm1(log_affinity), 0.0, 1.0)


def weighted_graph(
    X: np.ndarray,
    covariances: np.ndarray,
    edges: tuple[np.ndarray, np.ndarray],
    h2: np.ndarray,
    sigma: float,
    *,
    unit_weights: bool = False,
) -> sparse.csr_array:
    """Weigh pairs of points by ``exp(-H^2 / (2 sigma^2))`` and join what is not connected.

    Parameters
    ----------
    X, covariances, sigma, unit_weights : see `hellinger_graph`
    edges : (rows, columns)
        Each pair once.
    h2 : ndarray of shape (n_edges,)
        Their squared Hellinger distances.

    Returns
    -------
    csr_array of shape (n_points, n_points)
    """
    if not sigma > 0:
        raise InputError(f"sigma={sigma!r} is not allowed. Give a number above 0 (default 0.2).")
    rows, columns = edges
    links = connecting_links(X, rows, columns)
    rows, columns = np.r_[rows, links[:, 0]], np.r_[columns, links[:, 1]]
    if unit_weights:
        weights = np.ones(len(rows))
    else:
        h2 = np.r_[h2, squared_hellinger(covariances, links[:, 0], links[:, 1])]
        weights = np.exp(-h2 / (2 * sigma**2))
    # The eigenproblem is scale-free; without this a set of unlike points loses digits.
    weights /= weights.max(initial=np.finfo(float).tiny)
    half = sparse.coo_array((weights, (rows, columns)), shape=(len(X), len(X)))
    return sparse.csr_array(half + half.T)


def undirected(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List each undirected edge once, lower point first.

    Parameters
    ----------
    rows, columns : ndarray of shape (n_arcs,), int

    Returns
    -------
    rows, columns : ndarray of shape (n_edges,), int64

    Examples
    --------
    >>> import numpy as np
    >>> [a.tolist() for a in undirected(np.array([0, 1, 2]), np.array([1, 0, 1]))]
    [[0, 1], [1, 2]]
    """
    pairs = np.sort(np.stack([rows, columns], axis=1).astype(np.int64), axis=1)
    pairs = np.unique(pairs, axis=0)
    return pairs[:, 0], pairs[:, 1]


def connecting_links(X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Find the shortest links that join the components of a graph into one.

    The smallest component is joined to its nearest outside point until one is left.

    Parameters
    ----------
    X : ndarray of shape (n_points, n_features)
    rows, columns : ndarray of shape (n_edges,), int

    Returns
    -------
    links : ndarray of shape (n_components - 1, 2), int64

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> connecting_links(X, np.array([0, 2]), np.array([1, 3])).tolist()
    [[1, 2]]
    """
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    n = len(X)
    graph = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    n_components, label = connected_components(graph, directed=False)
    links = []
    while n_components > 1:
        inside = label == np.bincount(label, minlength=n_components).argmin()
        own, other = np.flatnonzero(inside), np.flatnonzero(~inside)
        distance, found = cKDTree(X[other]).query(X[own])
        a = own[distance.argmin()]
        b = other[found[distance.argmin()]]
        links.append(sorted((int(a), int(b))))
        label[inside] = label[b]
        _, label = np.unique(label, return_inverse=True)
        n_components -= 1
    return np.array(links, dtype=np.int64).reshape(-1, 2)
