"""Orientation histograms: which way the gradient points, pooled over cells of an image.

Two images of the same thing differ in where exactly an edge runs and how strong it is. The
strength of the gradient in each of 8 directions, blurred, sampled on a coarse grid and compressed
by a square root, hardly changes with either.
"""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.transforms.images import as_images, check_image_shape, with_channels

N_DIRECTIONS = 8
# At 28 pixels: a blur of 1.4 pixels, sampled every 3. Other sizes in proportion.
_REFERENCE_SIDE, _SIGMA, _STEP = 28, 1.4, 3
_LEAST_SIGMA = 0.7  # below, samples one pixel apart miss what lies between them
# Larger images are averaged down to this side first, in whole blocks of pixels.
LARGEST_SIDE = 64
_BLOCK_VALUES = 2**24
_SMALLEST = 1e-9


def histogram_grid(image_shape) -> tuple[int, float, int]:
    """Return how images of a shape are pooled.

    Returns
    -------
    block : int
        Pixels a side that are averaged first; 1 up to a shorter side of 64.
    sigma : float
        Of the blur, in (averaged) pixels: a twentieth of the shorter side, at least 0.7.
    step : int
        Distance between samples: 3 of 28, rounded.

    Examples
    --------
    >>> histogram_grid((28, 28)), histogram_grid((16, 16)), histogram_grid((256, 300, 3))
    ((1, 1.4, 3), (1, 0.8, 2), (4, 3.2, 7))
    """
    shape = check_image_shape(image_shape)
    if len(shape) == 1:
        raise InputError(
            f"Orientation histograms need images, but image_shape={shape} is a series. Give "
            "(height, width) or (height, width, channels)."
        )
    block = -(-min(shape[:2]) // LARGEST_SIDE)
    side = min(shape[:2]) // block
    sigma = max(_LEAST_SIGMA, _SIGMA * side / _REFERENCE_SIDE)
    return block, round(sigma, 6), max(1, round(_STEP * side / _REFERENCE_SIDE))


def orientation_histograms(X, image_shape, *, normalize: bool = True) -> np.ndarray:
    """Describe each row, seen as an image, by the directions of its gradient.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : (h, w) or (h, w, channels)
        Of several channels the one with the strongest gradient counts, pixel by pixel.
    normalize : bool
        Scale each row to length 1, so that contrast does not count; a row of an even image
        stays 0.

    Returns
    -------
    ndarray of shape (n, rows * columns * 8), float32
        The square root of the gradient's length in each direction (shared between the two
        directions it points between), blurred, at each point of the grid of `histogram_grid`.

    Notes
    -----
    Central differences; the image continues its border pixels. Linear in the number of pixels.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.tile(np.arange(28.0), 28)[None]  # brighter to the right: direction 0
    >>> found = orientation_histograms(ramp, (28, 28)).reshape(9, 9, 8)
    >>> found.argmax(axis=2).max(), found.shape[0] * found.shape[1] * found.shape[2]
    (np.int64(0), 648)
    """
    block, sigma, step = histogram_grid(image_shape)
    images = _averaged(with_channels(as_images(X, image_shape)), block)
    n, height, width, channels = images.shape
    down, across = (_pooling(side, sigma, step) for side in (height, width))
    out = np.empty((n, len(down), len(across), N_DIRECTIONS), np.float32)
    rows = max(1, _BLOCK_VALUES // (height * width * max(channels, N_DIRECTIONS)))
    for start in range(0, n, rows):
        maps = _direction_maps(images[start : start + rows])
        pooled = down @ maps @ across.T  # (m, directions, rows, columns)
        out[start : start + rows] = np.sqrt(np.maximum(pooled, 0)).transpose(0, 2, 3, 1)
    out = out.reshape(n, -1)
    if normalize:
        out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), _SMALLEST)
    return out


def mean_colors(X, image_shape, parts: int = 4) -> np.ndarray:
    """Return the mean of each channel in each part of an image, relative to its largest value.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : (h, w, channels)
    parts : int
        Parts a side, at most the pixels of the side.

    Returns
    -------
    float32 ndarray of shape (n, parts * parts * channels)
        Scaled so that the squared distance of two images is the mean over the parts of the
        squared distance of their colors.

    Examples
    --------
    >>> red = np.zeros((1, 8, 8, 3))
    >>> red[..., 0] = 100
    >>> mean_colors(red.reshape(1, -1), (8, 8, 3), parts=1)
    array([[1., 0., 0.]], dtype=float32)
    """
    images = with_channels(as_images(X, image_shape))
    largest = np.abs(images).max(axis=(1, 2, 3), keepdims=True)
    images = images / np.maximum(largest, _SMALLEST)
    for axis in (1, 2):
        side = images.shape[axis]
        starts = np.arange(min(parts, side)) * side // min(parts, side)
        sizes = np.diff(np.append(starts, side)).astype(np.float32)
        sums = np.add.reduceat(images, starts, axis=axis)
        images = sums / np.expand_dims(sizes, [i for i in range(4) if i != axis])
    count = images.shape[1] * images.shape[2]
    return (images / np.float32(np.sqrt(count))).reshape(len(images), -1).astype(np.float32)


def _averaged(images, block):
    """Average blocks of pixels; what is left over at the right and the bottom is cut off."""
    if block == 1:
        return images
    n, height, width, channels = images.shape
    cut = images[:, : height // block * block, : width // block * block]
    parts = cut.reshape(n, height // block, block, width // block, block, channels)
    return parts.mean(axis=(2, 4))


def _pooling(side, sigma, step):
    """Return the weights (samples, side) of a Gaussian blur around each sample, summing to 1."""
    count = (side - 1) // step + 1
    count -= count > 1 and side - 1 - step * (count - 1) < step / 2  # not at both borders
    places = (side - 1 - step * (count - 1)) / 2 + step * np.arange(count)
    weights = np.exp(-((places[:, None] - np.arange(side)) ** 2) / (2 * sigma**2))
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def _direction_maps(images):
    """Return the strength of the gradient in each direction, (n, directions, h, w)."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    down = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    across = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    if images.shape[3] > 1:
        strongest = (down**2 + across**2).argmax(axis=3)[..., None]
        down = np.take_along_axis(down, strongest, 3)
        across = np.take_along_axis(across, strongest, 3)
    down, across = down[..., 0], across[..., 0]
    strength = np.hypot(down, across)
    place = np.arctan2(down, across) * np.float32(N_DIRECTIONS / (2 * np.pi))
    maps = np.empty((len(images), N_DIRECTIONS, *down.shape[1:]), np.float32)
    for direction in range(N_DIRECTIONS):
        # Distance on the circle of directions, from 0 to half of them.
        away = np.abs((place - direction + N_DIRECTIONS / 2) % N_DIRECTIONS - N_DIRECTIONS / 2)
        maps[:, direction] = strength * np.maximum(1 - away, 0)
    return maps
