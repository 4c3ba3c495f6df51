"""Canonical forms: each image brought to a standard position by its own moments.

A form only adjusts the affine map through which the image will be seen, so that several forms
cost one resampling and blur once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fewfold.exceptions import InputError
from fewfold.transforms.images import affine, as_images, background, check_image_shape

# Images resampled in one call: bounds the copies alive at once, and moves the progress bar.
_BLOCK_ROWS = 8192

# A slant beyond this is not handwriting but an image of a few pixels; stop there.
_MAX_SLOPE = 1.5
# Likewise an image of one dot is not enlarged to fill the frame.
_MAX_SCALING = 2.0


def seen_covariance(moments, matrices) -> np.ndarray:
    """Return the second moments (n, 2, 2) of the images as seen through ``matrices``."""
    inverse = np.linalg.inv(matrices)
    covariance = np.empty((len(moments), 2, 2))
    covariance[:, 0, 0], covariance[:, 1, 1] = moments[:, 3], moments[:, 5]
    covariance[:, 0, 1] = covariance[:, 1, 0] = moments[:, 4]
    return inverse @ covariance @ np.swapaxes(inverse, 1, 2)


def center(mass, moments, matrices) -> np.ndarray:
    """Bring the center of mass to the middle, which every form does; change nothing else."""
    return matrices


def deskew(mass, moments, matrices) -> np.ndarray:
    """Shear until rows and columns are uncorrelated.

    The slope is covariance over the variance of the rows: the slant of an upright stroke.
    """
    seen = seen_covariance(moments, matrices)
    slope = np.zeros(len(seen))
    np.divide(seen[:, 0, 1], seen[:, 0, 0], out=slope, where=seen[:, 0, 0] > 1e-6)
    shear = np.tile(np.eye(2), (len(seen), 1, 1))
    shear[:, 1, 0] = np.clip(slope, -_MAX_SLOPE, _MAX_SLOPE)
    return matrices @ shear


def normalize_scale(mass, moments, matrices) -> np.ndarray:
    """Bring the root mean square distance from the center of mass to a quarter of the side."""
    seen = seen_covariance(moments, matrices)
    spread = np.sqrt(np.trace(seen, axis1=1, axis2=2))
    target = 0.25 * min(mass.shape[1:])
    factor = np.where(spread > 1e-3, spread / target, 1.0)
    return matrices * np.clip(factor, 1 / _MAX_SCALING, _MAX_SCALING)[:, None, None]


def upright(mass, moments, matrices) -> np.ndarray:
    """Turn the longest axis of inertia upright, the end with the longer tail upwards."""
    seen = seen_covariance(moments, matrices)
    angle = 0.5 * np.arctan2(2 * seen[:, 0, 1], seen[:, 0, 0] - seen[:, 1, 1])
    axis = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # An axis has two ends; the third moment along it tells them apart.
    rows, columns = np.indices(mass.shape[1:])
    back = np.einsum("ni,nij->nj", axis, np.linalg.inv(matrices))
    along = (rows[None] - moments[:, 1, None, None]) * back[:, 0, None, None]
    along += (columns[None] - moments[:, 2, None, None]) * back[:, 1, None, None]
    third = np.einsum("nyx,nyx->n", mass, along**3)
    cos, sin = (np.where(third > 0, -1.0, 1.0)[:, None] * axis).T
    turn = np.stack([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)], 1)
    return matrices @ turn


FORMS: dict[str, Callable] = {
    "center": center,
    "deskew": deskew,
    "scale": normalize_scale,
    "rotate": upright,
}


def register_form(name: str, function: Callable) -> None:
    """Make a canonical form known under ``name``.

    Parameters
    ----------
    name : str
    function : callable
        ``function(mass, moments, matrices) -> matrices``. ``mass`` (n, h, w) is each pixel's
        distance from the background, ``moments`` as returned by `moments_of`; ``matrices``
        (n, 2, 2) take an offset (row, column) from the middle of the result to one from the
        center of mass, and hold the work of the forms before.
    """
    if name in FORMS:
        raise InputError(f"A canonical form named {name!r} exists already. Choose another name.")
    FORMS[name] = function


def check_forms(names) -> list[str]:
    """Return the names of canonical forms as a list, refusing unknown ones."""
    names = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in names if name not in FORMS]
    if unknown:
        raise InputError(
            f"canonicalize: {unknown} unknown. Choose from {', '.join(FORMS)}, in the order in "
            "which they are to be applied."
        )
    return names


def moments_of(mass) -> np.ndarray:
    """Return the moments of non-negative (n, h, w) images.

    Returns
    -------
    ndarray of shape (n, 6)
        Total, center row, center column, variance of rows, covariance, variance of columns.

    Examples
    --------
    >>> import numpy as np
    >>> moments_of(np.ones((1, 3, 3))).round(2).tolist()
    [[9.0, 1.0, 1.0, 0.67, 0.0, 0.67]]
    """
    from fewfold.transforms._warp import image_moments

    return image_moments(np.ascontiguousarray(mass, np.float32))


def canonicalize(X, image_shape, forms, *, fill="min", progress=None) -> np.ndarray:
    """Bring each row, seen as an image, to a canonical position.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : (h, w) or (h, w, channels)
    forms : list of str
        "center", "deskew" (slant removed), "scale", "rotate" (axis of inertia upright), or
        registered ones, applied in this order.
    fill : see `fewfold.transforms.images.background`
    progress : callable, optional
        Called with the number of rows finished.

    Returns
    -------
    ndarray of shape (n, n_features), float32

    Notes
    -----
    Linear in the number of pixels. Each image is treated by itself, so a new image is brought
    to the same form as one that was there from the start.

    Examples
    --------
    >>> import numpy as np
    >>> corner = np.zeros((1, 5, 5)); corner[0, 1, 0] = 1
    >>> int(canonicalize(corner.reshape(1, 25), (5, 5), ["center"]).argmax())
    12
    """
    forms = check_forms(forms)
    if not forms:
        return np.asarray(X, np.float32)
    if len(check_image_shape(image_shape)) == 1:
        raise InputError(
            f"canonicalize={forms} needs images, but image_shape={tuple(image_shape)} is a "
            "series. Leave canonicalize empty."
        )
    images = as_images(X, image_shape)
    out = np.empty_like(images)
    for start in range(0, len(images), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        out[block] = _canonical_block(images[block], forms, fill)
        if progress is not None:
            progress(len(images[block]))
    return out.reshape(len(images), -1)


def _canonical_block(images, forms, fill):
    empty = background(images, fill).reshape(-1, *[1] * (images.ndim - 1))
    mass = np.abs(images - empty)
    mass = mass if mass.ndim == 3 else mass.sum(axis=3)
    moments = moments_of(mass)
    matrices = np.tile(np.eye(2), (len(images), 1, 1))
    for name in forms:
        matrices = FORMS[name](mass, moments, matrices)
    return affine(images, matrices, centers=moments[:, 1:3], fill=fill)
