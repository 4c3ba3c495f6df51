"""Explicit features of a kernel from a set of landmark rows (Nystrom)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

_SMALLEST = 1e-6


def landmark_axes(K: np.ndarray, most: int) -> np.ndarray:
    """Return the map from kernel values to features.

    Parameters
    ----------
    K : ndarray of shape (s, s)
        Kernel of the landmarks. Need not be positive: negative eigenvalues are dropped, as
        multidimensional scaling does.
    most : int
        Largest number of features.

    Returns
    -------
    A : ndarray of shape (s, p)
        ``K(rows, landmarks) @ A`` has the inner products of the kernel.
    """
    s = len(K)
    first = max(0, s - most)
    values, vectors = eigh((K + K.T) / 2, subset_by_index=[first, s - 1])
    kept = values > _SMALLEST * values[-1]
    return vectors[:, kept][:, ::-1] / np.sqrt(values[kept][::-1])


def landmarks(n: int, most: int, labeled: np.ndarray, seed: int) -> np.ndarray:
    """Choose landmark rows: all rows if they are few, else the labeled and a random sample."""
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(seed)
    rest = np.setdiff1d(np.arange(n), labeled)
    chosen = rng.choice(rest, size=max(0, min(most - len(labeled), len(rest))), replace=False)
    return np.sort(np.concatenate([labeled[:most], chosen]))
