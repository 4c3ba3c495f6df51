"""Eq. 4 of [invariance-2006] as it is written, for small data: what the solvers are held to."""

import numpy as np
from scipy import linalg, sparse


def deformed_kernel(K, M, K_a, K_b, K_ab) -> np.ndarray:
    """Return Eq. 4 as it is written, for small data and as the measure of the others.

    Parameters
    ----------
    K : ndarray of shape (n_nodes, n_nodes)
        Base kernel of the nodes.
    M : array of shape (n_nodes, n_nodes)
        ``strength`` times a graph Laplacian, dense or sparse.
    K_a, K_b : ndarrays of shape (n_nodes, a), (n_nodes, b)
        Base kernel between the nodes and two sets of points.
    K_ab : ndarray of shape (a, b)

    Returns
    -------
    ndarray of shape (a, b)

    Examples
    --------
    >>> K = np.eye(2)
    >>> M = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> deformed_kernel(K, M, K, K, K).round(3).tolist()
    [[0.667, 0.333], [0.333, 0.667]]
    """
    M = M.toarray() if sparse.issparse(M) else np.asarray(M)
    inner = np.eye(len(K)) + M @ K
    return K_ab - K_a.T @ linalg.solve(inner, M @ K_b)
