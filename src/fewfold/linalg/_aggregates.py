"""Compiled parts of `fewfold.linalg.multilevel`; imported late, since numba is slow to load."""

import numpy as np

from fewfold.system.compiled import numba

# Edges at least this strong beside the strongest of a node join it to an aggregate.
_STRONG = 0.25


@numba.njit(nogil=True, cache=True)
def aggregate(indptr, indices, data):
    """Return the aggregate of each node, and how many there are.

    First nodes whose neighborhood is still free, with all of it; then the others, to the
    aggregate they are most strongly joined to; then what is left, with free neighbors.
    """
    n = len(indptr) - 1
    found, count = np.full(n, -1, np.int64), 0
    for i in range(n):
        strongest, is_free = np.float64(0), found[i] < 0
        for e in range(indptr[i], indptr[i + 1]):
            strongest = max(strongest, data[e])
        for e in range(indptr[i], indptr[i + 1]):
            if data[e] >= _STRONG * strongest and found[indices[e]] >= 0:
                is_free = False
        if is_free and strongest > 0:
            found[i] = count
            for e in range(indptr[i], indptr[i + 1]):
                if data[e] >= _STRONG * strongest:
                    found[indices[e]] = count
            count += 1
    first = found.copy()
    for i in range(n):
        if first[i] < 0:
            strongest = np.float64(0)
            for e in range(indptr[i], indptr[i + 1]):
                if first[indices[e]] >= 0 and data[e] > strongest:
                    strongest, found[i] = data[e], first[indices[e]]
    for i in range(n):
        if found[i] < 0:
            found[i] = count
            for e in range(indptr[i], indptr[i + 1]):
                if found[indices[e]] < 0:
                    found[indices[e]] = count
            count += 1
    return found, count


@numba.njit(nogil=True, cache=True, fastmath=True)
def restrict(fine, shares, starts, coarse):
    """Set each row of ``coarse`` to the sum of its rows of ``fine``, each times its share."""
    for a in range(coarse.shape[0]):
        coarse[a] = 0
        for i in range(starts[a], starts[a + 1]):
            for c in range(fine.shape[1]):
                coarse[a, c] += shares[i] * fine[i, c]


@numba.njit(nogil=True, cache=True, fastmath=True)
def prolong(coarse, shares, starts, fine):
    """Add to each row of ``fine`` its row of ``coarse`` times its share."""
    for a in range(coarse.shape[0]):
        for i in range(starts[a], starts[a + 1]):
            for c in range(fine.shape[1]):
                fine[i, c] += shares[i] * coarse[a, c]


@numba.njit(nogil=True, cache=True, fastmath=True)
def descend(X, R, P, AP, steps):
    """Do ``X += P steps; R -= AP steps`` and return the squared norms of R, in one pass."""
    squares = np.zeros(X.shape[1], np.float64)
    for i in range(X.shape[0]):
        for c in range(X.shape[1]):
            X[i, c] += P[i, c] * steps[c]
            R[i, c] -= AP[i, c] * steps[c]
            squares[c] += R[i, c] * R[i, c]
    return squares


@numba.njit(nogil=True, cache=True, fastmath=True)
def column_products(A, B):
    """Return the sums of ``A * B`` down each column, in float64."""
    sums = np.zeros(A.shape[1], np.float64)
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            sums[c] += np.float64(A[i, c]) * B[i, c]
    return sums


@numba.njit(nogil=True, cache=True, fastmath=True)
def turn(P, Z, factors):
    """Set ``P = Z + P factors``."""
    for i in range(P.shape[0]):
        for c in range(P.shape[1]):
            P[i, c] = Z[i, c] + P[i, c] * factors[c]
