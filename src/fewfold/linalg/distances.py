"""Distances between the rows of two tables, whole and in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# Rows taken at once: the table of distances stays near 64 MB.
_BLOCK_FLOATS = 2**23


def precision(*arrays) -> type:
    """Return float32 where all arrays are float32, as the workflow's are, else float64.

    Products in float32 are twice as fast, but depend in the sixth digit on how many rows are
    multiplied at once, and on the processor.

    Examples
    --------
    >>> precision(np.zeros(2, np.float32), np.zeros(2)).__name__
    'float64'
    """
    return np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances between rows, never negative.

    Parameters
    ----------
    A : array or sparse array of shape (n_a, n_features)
    B : array or sparse array of shape (n_b, n_features)

    Returns
    -------
    d2 : ndarray of shape (n_a, n_b)

    Examples
    --------
    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[1.0]])).tolist()
    [[1.0], [4.0]]
    """
    from scipy import sparse

    if not sparse.issparse(A) and A.shape[1] <= 32:
        from scipy.spatial.distance import cdist

        # Differences first: exact for close rows, where the product formula loses digits.
        return cdist(A, B, "sqeuclidean")
    from sklearn.metrics import euclidean_distances

    return euclidean_distances(A, B, squared=True)


def row_blocks(A, B) -> Iterator[tuple[slice, np.ndarray]]:
    """Give the squared distances to all rows of ``B``, some rows of ``A`` at a time.

    Parameters
    ----------
    A : array or sparse array of shape (n_a, n_features)
    B : array or sparse array of shape (n_b, n_features)

    Yields
    ------
    rows : slice
        Rows of ``A``.
    d2 : ndarray of shape (n_rows, n_b)

    Examples
    --------
    >>> [(rows.stop, d2.tolist()) for rows, d2 in row_blocks(np.ones((2, 1)), np.zeros((1, 1)))]
    [(2, [[1.0], [1.0]])]
    """
    step = max(1, _BLOCK_FLOATS // max(1, B.shape[0]))
    for start in range(0, A.shape[0], step):
        rows = slice(start, min(start + step, A.shape[0]))
        yield rows, squared_distances(A[rows], B)


def nearest_squared(d2: np.ndarray) -> float:
    """Return the median squared distance to the nearest other point, 1 if all points coincide.

    Parameters
    ----------
    d2 : ndarray of shape (n_samples, n_samples)
        Squared distances; those of 0 do not count.

    Examples
    --------
    >>> nearest_squared(np.array([[0.0, 4.0], [4.0, 0.0]]))
    4.0
    """
    nearest = np.where(d2 > 0, d2, np.inf).min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    return float(np.median(nearest)) if len(nearest) else 1.0
