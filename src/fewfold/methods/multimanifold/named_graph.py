"""A given neighbor graph of all rows in place of the Mahalanobis search among kept points.

Kept points are no neighbors of each other in a graph of all rows: the cover drops the
neighborhood of each. So the graph is contracted: every row goes to the kept point nearest along
the graph, and two kept points may be joined if rows of theirs are.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse


def contract(W: sparse.csr_array, Z: np.ndarray, kept: np.ndarray) -> sparse.csr_array:
    """Join kept points whose cells are joined in a graph of all rows.

    Parameters
    ----------
    W : csr_array of shape (n_samples, n_samples)
    Z : ndarray of shape (n_samples, n_dimensions)
    kept : ndarray of shape (n_kept,), int

    Returns
    -------
    joined : csr_array of shape (n_kept, n_kept)
        Number of edges between the cells; symmetric, empty diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> chain = sparse.csr_array(np.diag(np.ones(3), 1))
    >>> contract(chain, np.arange(4.0)[:, None], np.array([0, 3])).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    cell = nearest_along(W, Z, kept)
    edges = W.tocoo()
    rows, columns = cell[edges.row], cell[edges.col]
    across = (rows != columns) & (rows >= 0) & (columns >= 0)
    ones = np.ones(int(across.sum()))
    shape = (len(kept), len(kept))
    joined = sparse.coo_array((ones, (rows[across], columns[across])), shape=shape)
    return sparse.csr_array(joined + joined.T)


def nearest_along(W: sparse.csr_array, Z: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Find the kept point nearest to each row along the edges of a graph.

    Parameters
    ----------
    W : csr_array of shape (n_samples, n_samples)
        Its entries are the edges; their lengths are taken in ``Z``.
    Z : ndarray of shape (n_samples, n_dimensions)
    kept : ndarray of shape (n_kept,), int

    Returns
    -------
    cell : ndarray of shape (n_samples,), int64
        Position in ``kept``; -1 for rows that no kept point reaches.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> chain = sparse.csr_array(np.diag(np.ones(3), 1))
    >>> nearest_along(chain, np.arange(4.0)[:, None], np.array([0, 3])).tolist()
    [0, 0, 1, 1]
    """
    from scipy.sparse.csgraph import dijkstra

    edges = W.tocoo()
    length = np.linalg.norm(Z[edges.row] - Z[edges.col], axis=1)
    # Stored zeros are no edges to the search; coinciding rows are joined by a very short one.
    length = np.maximum(length, 1e-12 * length.max(initial=1.0))
    lengths = sparse.csr_array((length, (edges.row, edges.col)), shape=W.shape)
    _, _, source = dijkstra(
        lengths, directed=False, indices=kept, min_only=True, return_predecessors=True
    )
    position = np.full(W.shape[0], -1)
    position[kept] = np.arange(len(kept))
    return np.where(source >= 0, position[source], -1)


def nearest_candidates(
    points: np.ndarray, covariances: np.ndarray, joined: sparse.csr_array, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Keep of each point's candidates those nearest in the metric of its own covariance.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
    covariances : ndarray of shape (n_points, n_dimensions, n_dimensions)
        Positive definite.
    joined : csr_array of shape (n_points, n_points)
        Its entries are the candidates.
    n_neighbors : int

    Returns
    -------
    rows, columns : ndarray of shape (n_arcs,), int64

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> joined = sparse.csr_array(np.ones((3, 3)) - np.eye(3))
    >>> rows, columns = nearest_candidates(X, np.ones((3, 1, 1)), joined, 1)
    >>> columns.tolist()
    [1, 0, 1]
    """
    edges = joined.tocoo()
    rows, columns = edges.row.astype(np.int64), edges.col.astype(np.int64)
    whiten = np.linalg.inv(np.linalg.cholesky(covariances))
    z = (whiten[rows] @ (points[columns] - points[rows])[..., None])[..., 0]
    order = np.lexsort(((z**2).sum(axis=1), rows))
    rows, columns = rows[order], columns[order]
    first = np.searchsorted(rows, np.arange(len(points)))
    near = np.arange(len(rows)) - first[rows] < n_neighbors
    return rows[near], columns[near]
