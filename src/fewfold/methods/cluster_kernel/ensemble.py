"""Co-clustering by k-means: a kernel learned from rows without labels."""

from __future__ import annotations

import numpy as np


def squared_to_centers(X, centers) -> np.ndarray:
    """Return squared distances up to each row's own norm, (n, k)."""
    return np.sum(centers**2, axis=1) - 2 * (X @ centers.T)


def run_kmeans(X, n_clusters: int, rng, *, max_iter: int = 30) -> np.ndarray:
    """Run Lloyd's algorithm once from k-means++ centers; return the centers.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    n_clusters : int
    rng : numpy Generator
    max_iter : int

    Returns
    -------
    centers : ndarray of shape (n_clusters, d)
    """
    n = len(X)
    norms = np.sum(X**2, axis=1)
    centers = np.empty((n_clusters, X.shape[1]))
    closest = np.full(n, np.inf)
    for j in range(n_clusters):
        total = closest.sum()
        weights = closest / total if j and total > 0 else None
        centers[j] = X[rng.choice(n, p=weights)]
        np.minimum(closest, norms - 2 * (X @ centers[j]) + centers[j] @ centers[j], out=closest)
        np.maximum(closest, 0, out=closest)
    member = None
    for _ in range(max_iter):
        fresh = squared_to_centers(X, centers).argmin(axis=1)
        if member is not None and np.array_equal(fresh, member):
            break
        member = fresh
        one_hot = np.zeros((n_clusters, n))
        one_hot[member, np.arange(n)] = 1
        counts = one_hot.sum(axis=1)
        kept = counts > 0
        centers[kept] = (one_hot[kept] @ X) / counts[kept, None]
    return centers


def make_ensemble(X, n_clusters: int, n_runs: int, seed: int) -> np.ndarray:
    """Return the centers of several runs, (n_runs, n_clusters, d)."""
    rng = np.random.default_rng(seed)
    n_clusters = min(n_clusters, len(X))
    return np.stack([run_kmeans(X, n_clusters, rng) for _ in range(n_runs)])


def memberships(X, ensemble) -> np.ndarray:
    """Return the cluster of each row in each run, (n, n_runs)."""
    found = np.empty((len(X), len(ensemble)), dtype=np.int16)
    for run, centers in enumerate(ensemble):
        found[:, run] = squared_to_centers(X, centers).argmin(axis=1)
    return found


def agreement(a, b) -> np.ndarray:
    """Return the share of the runs in which rows of ``a`` and ``b`` are in one cluster.

    Examples
    --------
    >>> agreement(np.array([[0, 1]]), np.array([[0, 1], [0, 0], [1, 0]])).tolist()
    [[1.0, 0.5, 0.0]]
    """
    total = np.zeros((len(a), len(b)), dtype=np.float32)
    for run in range(a.shape[1]):
        total += a[:, run, None] == b[None, :, run]
    return total / a.shape[1]
