"""Where the annealing starts: walks from the labels, or spectral coordinates turned to them."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def spectral_coordinates(P, n_components: int) -> np.ndarray:
    """Return the leading non-constant eigenvectors of the random walk on ``P + P^T``.

    Parameters
    ----------
    P : ndarray or csr_array of shape (n, n)
    n_components : int

    Returns
    -------
    ndarray of shape (n, n_components)
        Columns of standard deviation 1, sign fixed (largest entry positive).
    """
    from scipy.sparse.linalg import eigsh

    n = P.shape[0]
    S = P + P.T
    strength = np.asarray(S.sum(axis=1), np.float64).ravel()
    root = 1 / np.sqrt(np.maximum(strength, 1e-300))
    wanted = n_components + 1
    if sparse.issparse(S):
        N = sparse.csr_array(sparse.diags_array(root) @ S @ sparse.diags_array(root))
    else:
        N = S * (root[:, None] * root)
    if n <= max(64, 4 * wanted):
        dense = N.toarray() if sparse.issparse(N) else N
        vectors = np.linalg.eigh(dense)[1][:, ::-1][:, :wanted]
    else:
        start = np.random.default_rng(0).normal(size=n)
        values, vectors = eigsh(N, wanted, which="LA", v0=start, tol=1e-4, ncv=4 * wanted + 10)
        vectors = vectors[:, np.argsort(values)[::-1]]
    V = vectors[:, 1:] * root[:, None]
    V = np.hstack([V, np.zeros((n, max(0, n_components - V.shape[1])))])
    V -= V.mean(axis=0)
    spread = V.std(axis=0)
    V /= np.where(spread > 0, spread, 1)
    signs = np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
    return V * np.where(signs == 0, 1, signs)


def turn_to_labels(
    V: np.ndarray, directions: np.ndarray, labeled: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """Rotate coordinates so that labeled points lie along their classes' directions.

    The rotation is the orthogonal factor of the ridge regression of ``targets @ directions`` on
    the labeled rows of V.
    """
    d = V.shape[1]
    K = len(directions)
    aims = (targets - 1 / K) @ directions
    rows = V[labeled]
    A = np.linalg.solve(rows.T @ rows + 0.01 * len(rows) * np.eye(d), rows.T @ aims)
    U, _, Vt = np.linalg.svd(A)
    return V @ (U @ Vt)


def turn_to_clusters(V: np.ndarray, directions: np.ndarray, rng: np.random.Generator):
    """Rotate coordinates so that their k-means clusters lie along the directions (no labels)."""
    from sklearn.cluster import KMeans

    K = len(directions)
    seed = int(rng.integers(2**31 - 1))
    codes = KMeans(K, n_init=5, random_state=seed).fit_predict(V[:, : max(1, K - 1)])
    return turn_to_labels(V, directions, np.arange(len(V)), np.eye(K)[codes])


def label_walk(P, labeled: np.ndarray, targets: np.ndarray, walk: float, n_rounds: int = 60):
    """Class shares of random walks started at the labeled points, shape (n, K).

    Parameters
    ----------
    P : ndarray or csr_array of shape (n, n)
        A dense P is taken as the walk's outcome itself (it is broad, or diffused already); over a
        sparse P the walk continues with probability ``walk``, ``n_rounds`` times at most.
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)
    walk : float

    Returns
    -------
    ndarray of shape (n, K)
        Rows sum to 1. Each class's walks are scaled to the same total, so that a class
        with many labels does not win by their number. Points not reached get equal shares.
    """
    n, K = P.shape[0], targets.shape[1]
    begin = np.zeros((n, K))
    begin[labeled] = targets
    if sparse.issparse(P):
        S = sparse.csr_array(P + P.T)
        strength = np.maximum(np.asarray(S.sum(axis=1), np.float64).ravel(), 1e-300)
        step = sparse.csr_array(sparse.diags_array(1 / strength) @ S)
        F = begin
        for _ in range(n_rounds):
            F = begin + walk * (step @ F)
    else:
        F = P[:, labeled].astype(np.float64) @ targets
        F[labeled] += F.max() * targets
    total = F.sum(axis=0)
    F = F / np.where(total > 0, total, 1)
    reached = F.sum(axis=1, keepdims=True)
    return np.where(reached > 0, F / np.where(reached > 0, reached, 1), 1 / K)


def start_from_labels(P, directions, labeled, targets, walk, rng) -> np.ndarray:
    """Put each point along the class directions by its `label_walk`, with a little noise.

    The noise (1 % of a unit direction) lets points leave the subspace of the directions.
    """
    K, d = directions.shape
    shares = label_walk(P, labeled, targets, walk)
    return (shares - 1 / K) @ directions + rng.normal(0, 0.01, (len(shares), d))
