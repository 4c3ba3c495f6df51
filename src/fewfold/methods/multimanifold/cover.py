"""Greedy cover: points far enough apart to have neighborhoods of their own.

Close points share their neighbors, hence their covariance, even on different manifolds. The
paper therefore keeps one point, drops its neighborhood, walks to the nearest point left and
repeats ([multimanifold] Section 3.1). The walk is the quadratic part when done by scanning; here
a k-d tree counts the points left below each node, so that emptied regions are skipped.
"""

from __future__ import annotations

import numpy as np

_LEAF_SIZE = 16


def greedy_cover(X: np.ndarray, neighbors: np.ndarray, start: int) -> np.ndarray:
    """Walk over the data, keeping a point and dropping its neighborhood at each step.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    neighbors : ndarray of shape (n_samples, n_neighbors), int
        Neighborhood of each row, the row itself among them.
    start : int
        Row at which the walk begins.

    Returns
    -------
    kept : ndarray of shape (n_kept,), int64
        Rows in the order of the walk; every row is in the neighborhood of a kept one.

    Notes
    -----
    About O(n log n) in few dimensions. Ties go to the lower position in the tree.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> pairs = np.array([[0, 1], [1, 0], [2, 3], [3, 2], [4, 5], [5, 4]])
    >>> greedy_cover(X, pairs, 0).tolist()
    [0, 2, 4]
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    neighbors = np.ascontiguousarray(neighbors, dtype=np.int64)
    n = len(X)
    depth = max(0, int(np.ceil(np.log2(max(1, n / _LEAF_SIZE)))))
    # Compiled code is imported late: loading numba costs more than most fits.
    from fewfold.methods.multimanifold._compiled import greedy_walk

    return greedy_walk(X, neighbors, start, depth)


def starting_points(X: np.ndarray, n_starts: int) -> np.ndarray:
    """Choose where covers begin: by geometry alone, so that the row order does not matter.

    The first is the row farthest from the mean, each further one the row farthest from those
    chosen.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_starts : int

    Returns
    -------
    starts : ndarray of shape (min(n_starts, n_samples),), int64

    Examples
    --------
    >>> import numpy as np
    >>> starting_points(np.array([[0.0], [1.0], [5.0]]), 2).tolist()
    [2, 0]
    """
    gap = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    starts = [int(gap.argmax())]
    gap = np.full(len(X), np.inf)
    while len(starts) < min(n_starts, len(X)):
        gap = np.minimum(gap, ((X - X[starts[-1]]) ** 2).sum(axis=1))
        starts.append(int(gap.argmax()))
    return np.array(starts, dtype=np.int64)
