"""Compiled inner loop of `fewfold._chebyshev`; imported late, since numba is slow to load."""

import numba


@numba.njit(nogil=True, fastmath=True, cache=True)
def recur(indptr, indices, data, Y, old, alpha, beta, gamma, start, stop):
    """Set rows start..stop of ``old`` to ``alpha A Y + beta Y - gamma old``.

    One pass over the memory instead of scipy's three, and no lock held, so that plain threads
    can share the rows. Results do not depend on how the rows are shared.
    """
    width = Y.shape[1]
    for i in range(start, stop):
        for c in range(width):
            old[i, c] = beta * Y[i, c] - gamma * old[i, c]
        for e in range(indptr[i], indptr[i + 1]):
            weight = alpha * data[e]
            j = indices[e]
            for c in range(width):
                old[i, c] += weight * Y[j, c]
