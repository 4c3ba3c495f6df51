"""Transforms of images: batches of shape (n, h, w) or (n, h, w, channels) in and out."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError


def as_images(X, image_shape) -> np.ndarray:
    """View rows as images or series.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int
        ``(length,)`` for a series, ``(h, w)`` or ``(h, w, channels)`` for an image.

    Returns
    -------
    ndarray of shape (n, *image_shape), float32

    Examples
    --------
    >>> import numpy as np
    >>> as_images(np.zeros((5, 12)), (3, 4)).shape
    (5, 3, 4)
    """
    if hasattr(X, "toarray"):
        X = X.toarray()
    X = np.asarray(X)
    shape = check_image_shape(image_shape)
    size = int(np.prod(shape))
    if X.ndim != 2 or X.shape[1] != size:
        found = f"{X.shape[1]} features" if X.ndim == 2 else f"an array of shape {X.shape}"
        raise InputError(
            f"image_shape={shape} needs rows of {size} values, got {found}. "
            "Give the height and width (and channels) of one row seen as an image."
        )
    return np.ascontiguousarray(X, dtype=np.float32).reshape(len(X), *shape)


def check_image_shape(image_shape) -> tuple[int, ...]:
    """Return ``image_shape`` as a tuple of one to three positive integers."""
    try:
        shape = tuple(int(side) for side in image_shape)
    except (TypeError, ValueError):
        shape = ()
    if not 1 <= len(shape) <= 3 or min(shape) < 1:
        raise InputError(
            f"image_shape={image_shape!r} is not an image shape. Allowed: (length,) for a series, "
            "(height, width) or (height, width, channels) for an image, all positive integers."
        )
    return shape


def with_channels(images) -> np.ndarray:
    """Return images as float32 of shape (n, h, w, channels); refuse anything else."""
    images = np.asarray(images, dtype=np.float32)
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4:
        raise InputError(
            f"Images of shape {images.shape} given. Allowed: (n, height, width) or "
            "(n, height, width, channels). For a series use time_shift or time_warp."
        )
    return np.ascontiguousarray(images)


def background(images, fill="min") -> np.ndarray:
    """Return each image's background value.

    Parameters
    ----------
    images : ndarray of shape (n, ...)
    fill : "min", "max", "border" or float
        The least or greatest value of the image, the median of its outermost pixels, or a
        number. Each looks at one image only, so new images are treated as old ones were.
    """
    flat = images.reshape(len(images), -1)
    if fill == "min":
        return flat.min(axis=1).astype(np.float32)
    if fill == "max":
        return flat.max(axis=1).astype(np.float32)
    if fill == "border":
        edge = np.ones(images.shape[1:3], bool)
        edge[1:-1, 1:-1] = False
        return np.median(images[:, edge].reshape(len(images), -1), axis=1).astype(np.float32)
    if isinstance(fill, (int, float)) and not isinstance(fill, bool):
        return np.full(len(images), fill, np.float32)
    raise InputError(f"fill={fill!r} is unknown. Choose 'min', 'max', 'border' or a number.")


def affine(images, matrices, *, centers=None, fill="min") -> np.ndarray:
    """Resample images through affine maps, bilinearly.

    Parameters
    ----------
    images : ndarray of shape (n, h, w) or (n, h, w, channels)
    matrices : ndarray of shape (2, 2) or (n, 2, 2)
        Take the value at offset ``v`` (row, column) from the middle of the result from offset
        ``matrices @ v`` from ``centers`` in the image.
    centers : ndarray of shape (2,) or (n, 2), optional
        Points (row, column) that come to lie in the middle; by default the middle.
    fill : see `background`

    Returns
    -------
    ndarray, float32, same shape as ``images``
    """
    from fewfold.transforms._warp import warp_affine

    shape = np.shape(images)
    images = with_channels(images)
    n, h, w, _ = images.shape
    middle = np.array([(h - 1) / 2, (w - 1) / 2])
    matrices = np.broadcast_to(np.asarray(matrices, np.float64), (n, 2, 2))
    centers = np.broadcast_to(middle if centers is None else np.asarray(centers), (n, 2))
    offsets = centers - matrices @ middle
    out = np.empty_like(images)
    warp_affine(
        images, np.ascontiguousarray(matrices), np.ascontiguousarray(offsets, np.float64),
        background(images, fill), out,
    )  # fmt: skip
    return out.reshape(shape)


def rotate(images, degrees: float, *, fill="min") -> np.ndarray:
    """Rotate images counter-clockwise (rows counted downwards) about their middle."""
    angle = np.deg2rad(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    return affine(images, [[cos, sin], [-sin, cos]], fill=fill)


def translate(images, shift, *, fill="min") -> np.ndarray:
    """Move images by ``shift`` = (rows down, columns to the right), fractions allowed."""
    h, w = np.shape(images)[1:3] if np.ndim(images) > 2 else (1, 1)
    middle = np.array([(h - 1) / 2, (w - 1) / 2])
    return affine(images, np.eye(2), centers=middle - np.asarray(shift, float), fill=fill)


def scale(images, factor: float, *, fill="min") -> np.ndarray:
    """Enlarge (factor above 1) or shrink images about their middle."""
    if not factor > 0:
        raise InputError(f"scaling by {factor}: the factor must be positive.")
    return affine(images, np.eye(2) / factor, fill=fill)


def shear(images, slope: float, *, fill="min") -> np.ndarray:
    """Slant images: a row ``t`` below the middle moves ``slope * t`` columns to the left."""
    return affine(images, [[1.0, 0.0], [slope, 1.0]], fill=fill)


def thicken(images, amount: float) -> np.ndarray:
    """Thicken (amount above 0) or thin bright strokes.

    The result lies the share ``abs(amount)`` of the way from the image to its greatest
    (least, if thinning) value among each pixel and its four neighbors; more than 1 repeats.
    """
    from scipy import ndimage

    shape = np.shape(images)
    out = with_channels(images)
    cross = ndimage.generate_binary_structure(2, 1)[None, :, :, None]
    extreme = ndimage.grey_dilation if amount > 0 else ndimage.grey_erosion
    left = abs(float(amount))
    while left > 0:
        share = min(left, 1.0)
        out = (1 - share) * out + share * extreme(out, footprint=cross)
        left -= share
    return np.asarray(out, np.float32).reshape(shape)


def add_noise(samples, draw: int, *, strength: float = 0.1, seed: int = 0) -> np.ndarray:
    """Add Gaussian noise; ``draw`` 0 is the sample itself, other draws are independent.

    The standard deviation is ``strength`` times that of each sample's own values.
    """
    samples = np.asarray(samples, np.float32)
    if draw == 0:
        return samples.copy()
    rng = np.random.default_rng([seed, int(draw)])
    # One pattern for every sample: the copy of a row does not depend on its batch.
    noise = rng.standard_normal(samples.shape[1:], dtype=np.float32)
    spread = samples.reshape(len(samples), -1).std(axis=1)
    return samples + strength * spread.reshape(-1, *[1] * (samples.ndim - 1)) * noise


def shift_time(series, steps: float) -> np.ndarray:
    """Delay series of shape (n, length) by ``steps``; ends keep their last value."""
    series = _as_series(series)
    return _at(series, np.arange(series.shape[1]) - steps)


def warp_time(series, strength: float) -> np.ndarray:
    """Bend the time axis of series of shape (n, length), its two ends fixed.

    Value ``t`` of the result is read at ``t + strength * length / pi * sin(pi t / length)``;
    below 1 in size, ``strength`` keeps the order of time.
    """
    if not abs(strength) < 1:
        raise InputError(f"time_warp by {strength}; allowed: values between -1 and 1.")
    series = _as_series(series)
    last = max(series.shape[1] - 1, 1)
    t = np.arange(series.shape[1])
    return _at(series, t + strength * last / np.pi * np.sin(np.pi * t / last))


def _as_series(series):
    series = np.asarray(series, np.float32)
    if series.ndim != 2:
        raise InputError(
            f"Series of shape {series.shape} given. Allowed: (n, length); "
            "set image_shape to (length,)."
        )
    return series


def _at(series, positions):
    positions = np.clip(positions, 0, series.shape[1] - 1)
    left = np.floor(positions).astype(int)
    right = np.minimum(left + 1, series.shape[1] - 1)
    share = (positions - left).astype(np.float32)
    return series[:, left] * (1 - share) + series[:, right] * share
