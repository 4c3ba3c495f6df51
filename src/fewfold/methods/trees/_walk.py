"""Compiled walk through trees; imported late, since numba is slow to load."""

from fewfold.system.compiled import numba


@numba.njit(nogil=True, cache=True)
def add_leaves(X, feature, threshold, left, right, value, roots, total):
    """Add the values of the leaves that each row falls into, tree by tree."""
    for i in range(len(X)):
        for t in range(len(roots)):
            node = roots[t]
            while feature[node] >= 0:
                if X[i, feature[node]] <= threshold[node]:
                    node = left[node]
                else:
                    node = right[node]
            for c in range(total.shape[1]):
                total[i, c] += value[node, c]
