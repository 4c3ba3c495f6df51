"""Compiled resampling of many images at once; imported only when an image is moved."""

from __future__ import annotations

import numpy as np

from fewfold.system.compiled import njit, prange


@njit(cache=True, parallel=True, error_model="numpy")
def warp_affine(images, matrices, offsets, fill, out):
    """Write into ``out`` each image seen through its own affine map, bilinearly.

    Pixel ``(y, x)`` of ``out[i]`` is taken from position ``matrices[i] @ (y, x) + offsets[i]``
    of ``images[i]``; outside lies ``fill[i]``. Shapes: images and out (n, h, w, c), matrices
    (n, 2, 2), offsets (n, 2), fill (n,).
    """
    n, h, w, channels = images.shape
    for i in prange(n):
        a, b = matrices[i, 0, 0], matrices[i, 0, 1]
        c, d = matrices[i, 1, 0], matrices[i, 1, 1]
        outside = fill[i]
        for y in range(h):
            for x in range(w):
                sy = a * y + b * x + offsets[i, 0]
                sx = c * y + d * x + offsets[i, 1]
                # Compared before the conversion: far positions do not fit an integer.
                if not (sy > -1 and sy < h and sx > -1 and sx < w):
                    out[i, y, x, :] = outside
                    continue
                y0, x0 = int(np.floor(sy)), int(np.floor(sx))
                fy, fx = sy - y0, sx - x0
                for channel in range(channels):
                    total = 0.0
                    for dy in range(2):
                        for dx in range(2):
                            share = (fy if dy else 1 - fy) * (fx if dx else 1 - fx)
                            yy, xx = y0 + dy, x0 + dx
                            if 0 <= yy < h and 0 <= xx < w:
                                total += share * images[i, yy, xx, channel]
                            else:
                                total += share * outside
                    out[i, y, x, channel] = total


@njit(cache=True, parallel=True, error_model="numpy")
def image_moments(mass):
    """Return mass, center and second central moments of each image.

    Parameters
    ----------
    mass : ndarray of shape (n, h, w), non-negative

    Returns
    -------
    ndarray of shape (n, 6)
        Total, center row and column, variance of rows, covariance, variance of columns.
        An image without mass has its center in the middle and zero moments.
    """
    n, h, w = mass.shape
    out = np.zeros((n, 6))
    for i in prange(n):
        total = 0.0
        sy = 0.0
        sx = 0.0
        for y in range(h):
            for x in range(w):
                value = mass[i, y, x]
                total += value
                sy += value * y
                sx += value * x
        out[i, 0] = total
        if not total > 0:
            out[i, 1] = (h - 1) / 2
            out[i, 2] = (w - 1) / 2
            continue
        cy, cx = sy / total, sx / total
        out[i, 1], out[i, 2] = cy, cx
        vy = 0.0
        vxy = 0.0
        vx = 0.0
        for y in range(h):
            for x in range(w):
                value = mass[i, y, x]
                vy += value * (y - cy) ** 2
                vxy += value * (y - cy) * (x - cx)
                vx += value * (x - cx) ** 2
        out[i, 3], out[i, 4], out[i, 5] = vy / total, vxy / total, vx / total
    return out
