"""Compiled loops of the multi-manifold method.

At module level, because numba's cache on disk does not survive a restart for nested functions;
imported late, because loading numba costs more than most fits.
"""

import numpy as np

from fewfold.system.compiled import njit


@njit(cache=True)
def _build(X, depth):
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
def _box_distance(point, low, high, node):
    total = 0.0
    for c in range(len(point)):
        gap = max(low[node, c] - point[c], point[c] - high[node, c])
        if gap > 0.0:
            total += gap * gap
    return total


@njit(cache=True)
def _nearest_left(X, row, order, first, last, low, high, count, alive, stack):
    best, best_d2 = -1, np.inf
    n_nodes = len(count)
    point = X[row]
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if count[node] == 0 or _box_distance(point, low, high, node) >= best_d2:
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
        if _box_distance(point, low, high, far) < _box_distance(point, low, high, near):
            near, far = far, near
        stack[top], stack[top + 1] = far, near
        top += 2
    return best


@njit(cache=True)
def greedy_walk(X, neighbors, start, depth):
    """Keep a row, drop its neighbors, go to the nearest row left, until none is left."""
    n = len(X)
    order, first, last, low, high = _build(X, depth)
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
        row = _nearest_left(X, row, order, first, last, low, high, count, alive, stack)
    return kept[:n_kept].copy()
