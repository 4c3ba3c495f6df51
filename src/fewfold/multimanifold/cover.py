"""Greedy cover: points far enough apart to have neighbourhoods of their own.

Close points share their neighbours, hence their covariance, even on different manifolds. The
paper therefore keeps one point, drops its neighbourhood, walks to the nearest point left and
repeats ([multimanifold] Section 3.1). The walk is the quadratic part when done by scanning; here
a k-d tree counts the points left below each node, so that emptied regions are skipped.
"""

from __future__ import annotations

from functools import cache

import numpy as np

_LEAF_SIZE = 16


def greedy_cover(X: np.ndarray, neighbors: np.ndarray, start: int) -> np.ndarray:
    """Walk over the data, keeping a point and dropping its neighbourhood at each step.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    neighbors : ndarray of shape (n_samples, n_neighbors), int
        Neighbourhood of each row, the row itself among them.
    start : int
        Row at which the walk begins.

    Returns
    -------
    kept : ndarray of shape (n_kept,), int64
        Rows in the order of the walk; every row is in the neighbourhood of a kept one.

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
    return _compiled()(X, neighbors, start, depth)


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


@cache
def _compiled():
    """Compile the walk on first use: importing numba costs more than most fits."""
    from numba import njit

    @njit(cache=True)
    def build(X, depth):
        n, d = X.shape
        n_nodes = 2 ** (depth + 1) - 1
        order = np.arange(n)
        first = np.zeros(n_nodes, np.int64)
        last = np.zeros(n_nodes, np.int64)
        low = np.empty((n_nodes, d))
        high = np.empty((n_nodes, d))
        last[0] = n
        for node in range(n_nodes):
            begin, end = first[node], last[node]
            for c in range(d):
                low[node, c] = np.inf
                high[node, c] = -np.inf
            for p in range(begin, end):
                for c in range(d):
                    value = X[order[p], c]
                    low[node, c] = min(low[node, c], value)
                    high[node, c] = max(high[node, c], value)
            left = 2 * node + 1
            if left < n_nodes:
                axis = 0
                for c in range(1, d):
                    if high[node, c] - low[node, c] > high[node, axis] - low[node, axis]:
                        axis = c
                values = X[order[begin:end], axis]
                order[begin:end] = order[begin:end][np.argsort(values, kind="mergesort")]
                middle = (begin + end) // 2
                first[left], last[left] = begin, middle
                first[left + 1], last[left + 1] = middle, end
        return order, first, last, low, high

    @njit(cache=True)
    def box_distance(point, low, high, node):
        total = 0.0
        for c in range(len(point)):
            gap = max(low[node, c] - point[c], point[c] - high[node, c])
            if gap > 0.0:
                total += gap * gap
        return total

    @njit(cache=True)
    def nearest_left(X, row, order, first, last, low, high, count, alive, stack):
        best, best_d2 = -1, np.inf
        n_nodes = len(count)
        point = X[row]
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if count[node] == 0 or box_distance(point, low, high, node) >= best_d2:
                continue
            left = 2 * node + 1
            if left >= n_nodes:
                for p in range(first[node], last[node]):
                    other = order[p]
                    if alive[other]:
                        d2 = 0.0
                        for c in range(len(point)):
                            d2 += (X[other, c] - point[c]) ** 2
                        if d2 < best_d2:
                            best, best_d2 = other, d2
                continue
            near, far = left, left + 1
            if box_distance(point, low, high, far) < box_distance(point, low, high, near):
                near, far = far, near
            stack[top], stack[top + 1] = far, near
            top += 2
        return best

    @njit(cache=True)
    def walk(X, neighbors, start, depth):
        n = len(X)
        order, first, last, low, high = build(X, depth)
        count = last - first
        leaf = np.empty(n, np.int64)
        for node in range(2**depth - 1, len(count)):
            for p in range(first[node], last[node]):
                leaf[order[p]] = node
        alive = np.ones(n, np.bool_)
        stack = np.empty(2 * depth + 4, np.int64)
        kept = np.empty(n, np.int64)
        n_kept = 0
        row = start
        while row >= 0:
            kept[n_kept] = row
            n_kept += 1
            for q in range(-1, neighbors.shape[1]):
                other = row if q < 0 else neighbors[row, q]
                if alive[other]:
                    alive[other] = False
                    node = leaf[other]
                    while True:
                        count[node] -= 1
                        if node == 0:
                            break
                        node = (node - 1) // 2
            row = nearest_left(X, row, order, first, last, low, high, count, alive, stack)
        return kept[:n_kept].copy()

    return walk
