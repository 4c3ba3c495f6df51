"""Compiled loops of the deformation distance; imported only when it is used.

An image's features lie in one flat run of zero-padded rows per channel. A displacement is then
an offset into that run, and every loop below is one straight pass over contiguous memory, which
the compiler turns into vector instructions.
"""

from __future__ import annotations

import numpy as np

from fewfold.system.compiled import njit, prange


@njit(cache=True, fastmath=True)
def _squared_difference(a, b, lo, hi, offset, out):
    """Write the sum over channels of ``(a - b displaced)**2`` into ``out[lo:hi]``."""
    channels = a.shape[0]
    target = out[lo:hi]
    if channels == 2:
        a0, a1 = a[0, lo:hi], a[1, lo:hi]
        b0, b1 = b[0, lo + offset : hi + offset], b[1, lo + offset : hi + offset]
        for t in range(hi - lo):
            target[t] = (a0[t] - b0[t]) ** 2 + (a1[t] - b1[t]) ** 2
        return
    for channel in range(channels):
        ac = a[channel, lo:hi]
        bc = b[channel, lo + offset : hi + offset]
        if channel == 0:
            for t in range(hi - lo):
                target[t] = (ac[t] - bc[t]) ** 2
        else:
            for t in range(hi - lo):
                target[t] += (ac[t] - bc[t]) ** 2


@njit(cache=True, fastmath=True)
def _box_sum(values, lo, hi, step, radius, out):
    """Write sums of ``2 radius + 1`` values ``step`` apart into ``out[lo:hi]``."""
    target = out[lo:hi]
    if radius == 1:
        before, here, after = (
            values[lo - step : hi - step],
            values[lo:hi],
            values[lo + step : hi + step],
        )
        for t in range(hi - lo):
            target[t] = before[t] + here[t] + after[t]
        return
    near_before, near_after = values[lo - step : hi - step], values[lo + step : hi + step]
    here = values[lo:hi]
    if radius == 2:
        far_before = values[lo - 2 * step : hi - 2 * step]
        far_after = values[lo + 2 * step : hi + 2 * step]
        for t in range(hi - lo):
            near = near_before[t] + near_after[t]
            target[t] = here[t] + near + (far_before[t] + far_after[t])
        return
    target[:] = here
    for away in range(1, radius + 1):
        before = values[lo - away * step : hi - away * step]
        after = values[lo + away * step : hi + away * step]
        for t in range(hi - lo):
            target[t] += before[t] + after[t]


@njit(cache=True, fastmath=True)
def _keep_least(values, lo, hi, offset, best, is_first):
    source = values[lo + offset : hi + offset]
    if is_first:
        for t in range(hi - lo):
            best[t] = source[t]
    else:
        for t in range(hi - lo):
            best[t] = min(best[t], source[t])


@njit(cache=True, fastmath=True)
def pair_distance(a, b, offsets, stride, radius, first, last, mask, scratch):
    """Return the deformation distance of two images, both directions' mean, squared.

    Parameters
    ----------
    a, b : float32 arrays of shape (channels, size)
        Flat zero-padded features.
    offsets : int array
        Displacements as offsets into the flat rows.
    stride : int
        Length of a padded row.
    radius : int
        Radius of the window over which differences are summed; 0 for none, ``stride`` 0 for a
        series (no vertical sum).
    first, last : int
        The flat range that holds the image.
    mask : float32 array of shape (last - first,)
        Weight of each pixel, 0 in the padding between rows.
    scratch : float32 array of shape (5, size)
    """
    difference, vertical, window = scratch[0], scratch[1], scratch[2]
    forward, backward = scratch[3, : last - first], scratch[4, : last - first]
    tall = radius * stride
    for number in range(len(offsets)):
        offset = offsets[number]
        # Pixel p of b looking back at a is pixel p - offset of the same map of differences.
        lo = first + min(0, -offset)
        hi = last + max(0, -offset)
        wide_lo, wide_hi = lo - radius, hi + radius
        _squared_difference(a, b, wide_lo - tall, wide_hi + tall, offset, difference)
        if stride > 0 and radius > 0:
            _box_sum(difference, wide_lo, wide_hi, stride, radius, vertical)
        else:
            vertical[wide_lo:wide_hi] = difference[wide_lo:wide_hi]
        _box_sum(vertical, lo, hi, 1, radius, window)
        _keep_least(window, first, last, 0, forward, number == 0)
        _keep_least(window, first, last, -offset, backward, number == 0)
    total = np.float32(0)
    for t in range(last - first):
        total += (forward[t] + backward[t]) * mask[t]
    return total / 2


@njit(cache=True, fastmath=True, parallel=True, nogil=True)
def rerank_block(queries, base, candidates, offsets, stride, radius, first, last, mask, out):
    """Write the squared distance of each query to each of its candidates.

    Parameters
    ----------
    queries : float32 array of shape (m, channels, size)
    base : float32 array of shape (n, channels, size)
    candidates : int array of shape (m, k)
    out : float32 array of shape (m, k)
    """
    for i in prange(len(queries)):
        scratch = np.empty((5, queries.shape[2]), np.float32)
        for c in range(candidates.shape[1]):
            out[i, c] = pair_distance(
                queries[i], base[candidates[i, c]], offsets, stride, radius, first, last, mask,
                scratch,
            )  # fmt: skip
