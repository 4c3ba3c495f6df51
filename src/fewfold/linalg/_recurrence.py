"""Compiled inner loop of `fewfold.linalg._chebyshev`; imported late, since numba is slow to load.

`recur` is the loop in vector registers where this numba and llvmlite can build it, else the plain
loop, which gives the same numbers in about twice the time (``benchmarks/recurrence.py``).
"""

import numba
import numpy as np


@numba.njit(nogil=True, fastmath=True, cache=True)
def plain_recur(indptr, indices, data, Y, old, alpha, beta, gamma, start, stop):
    """Set rows start..stop of ``old`` to ``alpha A Y + beta Y - gamma old``.

    One pass over the memory instead of scipy's three, and no lock held, so that plain threads
    can share the rows. Results do not depend on how the rows are shared.
    """
    width = Y.shape[1]
    total = np.empty(width, Y.dtype)
    for i in range(start, stop):
        total[:] = 0
        for e in range(indptr[i], indptr[i + 1]):
            weight, row = data[e], Y[indices[e]]
            for c in range(width):
                total[c] += weight * row[c]
        for c in range(width):
            old[i, c] = alpha * total[c] + beta * Y[i, c] - gamma * old[i, c]


def _fastest():
    try:
        from fewfold.linalg._recurrence_simd import recur

        # Compiling is what fails if an interface of numba or llvmlite has changed.
        for dtype in (np.float32, np.float64):
            block = np.zeros((1, 8), dtype)
            scalars = dtype(0), dtype(0), dtype(0)
            ends, first = np.zeros(2, np.int32), np.zeros(1, np.int32)
            recur(ends, first, block[0, :1], block, block.copy(), *scalars, 0, 1)
    except (AttributeError, ImportError, TypeError, numba.core.errors.NumbaError):
        return plain_recur
    return recur


recur = _fastest()
