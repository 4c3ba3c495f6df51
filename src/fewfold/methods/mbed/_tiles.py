"""Compiled passes over one tile of pairs; imported late, since numba is slow to load."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fewfold.system.compiled import njit

_LOG2_E = np.float32(1.4426950408889634)
# log 2 in two parts: the first has few digits, so that k * _LN2_HIGH is exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
# Rounds to the nearest whole number when added and taken away again.
_ROUND = np.float32(12582912.0)
# exp of it is the smallest normal float32, and stands for 0.
LOWEST = np.float32(-87.0)
# exp(f) = 1 + f + f^2 p(f) for |f| <= log(2) / 2, to the last bit of float32 (Cephes, expf).
_POLYNOMIAL = (5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2)
_POLYNOMIAL += (8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4)
_C0, _C1, _C2, _C3, _C4, _C5 = (np.float32(c) for c in _POLYNOMIAL)


@intrinsic
def _as_float(typing, bits):
    """Read the bits of an int32 as a float32."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), code


# Sums may be reassociated (they are then made in vectors), but the rounding in `_exp` must not.
_EXACT, _SUMS = {"contract"}, {"contract", "reassoc", "nsz"}


@njit(nogil=True, fastmath=_EXACT)
def _exp(x):
    x = max(x, LOWEST)
    k = (x * _LOG2_E + _ROUND) - _ROUND
    f = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = ((((_C5 * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _C0
    power = _as_float((np.int32(k) + np.int32(127)) << np.int32(23))
    return (p * f * f + f + np.float32(1)) * power


@njit(nogil=True, fastmath=_SUMS, cache=True)
def exponentiate(E, S, shift, rows, columns):
    """Replace E = -D by exp(-D) and return ``sum S D``.

    Sums of E - shift go to ``rows`` and ``columns``.
    """
    stretched = 0.0
    columns[:] = 0
    for i in range(E.shape[0]):
        total, pull = np.float32(0), np.float32(0)
        for j in range(E.shape[1]):
            x = E[i, j]
            pull += S[i, j] * x
            e = _exp(x)
            E[i, j] = e
            columns[j] += e - shift
            total += e - shift
        rows[i] = total
        stretched -= pull
    return stretched


@njit(nogil=True, fastmath=_SUMS, cache=True)
def repel(E, S, left, right):
    """Replace E by ``S - E (left_i + right_j)``."""
    for i in range(E.shape[0]):
        for j in range(E.shape[1]):
            E[i, j] = S[i, j] - E[i, j] * (left[i] + right[j])
