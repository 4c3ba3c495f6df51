"""Small images enlarged and set into a frame, so that a pixel is a small part of what they show."""

from __future__ import annotations

import numpy as np

from fewfold.transforms.images import as_images, background, check_image_shape, with_channels

# Images with a shorter side of 12 to 19 pixels become as those of MNIST: 20 pixels in a frame of 4.
# Smaller ones gain nothing; framing larger ones helps clothes and harms tightly cropped objects
# (docs/notes/images.md).
_LEAST_SIDE, _SIDE, _FRAME = 12, 20, 4


def is_framed(image_shape) -> bool:
    """Return whether images of a shape are small: a shorter side of 12 to 19 pixels."""
    shape = check_image_shape(image_shape)
    return len(shape) > 1 and _LEAST_SIDE <= min(shape[:2]) < _SIDE


def framed_shape(image_shape) -> tuple[int, ...]:
    """Return the shape of the images that `framed` returns.

    Examples
    --------
    >>> framed_shape((16, 16)), framed_shape((12, 18, 3))
    ((28, 28), (28, 38, 3))
    >>> framed_shape((8, 8)), framed_shape((20, 30)), framed_shape((16,))
    ((8, 8), (20, 30), (16,))
    """
    shape = check_image_shape(image_shape)
    if not is_framed(shape):
        return shape
    return (*(side + 2 * _FRAME for side in _enlarged(shape)), *shape[2:])


def framed(X, image_shape) -> np.ndarray:
    """Enlarge small images and set them into a frame of their background.

    A pixel of 16 is a large step for whatever moves parts of an image by pixels, and an image
    that fills its border loses parts once it is straightened or turned.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int

    Returns
    -------
    float32 ndarray of shape (n, n_framed_features)
        Images of `framed_shape`, enlarged by linear interpolation. Other images, and series, as
        they are. The background is the least value of each image.

    Examples
    --------
    >>> framed(np.ones((1, 256)), (16, 16)).shape
    (1, 784)
    """
    shape = check_image_shape(image_shape)
    if not is_framed(shape):
        return np.asarray(X, np.float32)
    images = with_channels(as_images(X, shape))
    down, across = (_resampling(*sides) for sides in zip(shape, _enlarged(shape)))
    empty = background(images)[:, None, None, None]
    found = down @ np.moveaxis(images - empty, 3, 1) @ across.T  # (n, channels, rows, columns)
    return (np.moveaxis(found, 1, 3) + empty).reshape(len(images), -1)


def _enlarged(shape):
    """Return the height and width of small images without their frame."""
    return [round(side * _SIDE / min(shape[:2])) for side in shape[:2]]


def _resampling(side, enlarged):
    """Return the weights (enlarged and frame, side) of linear interpolation, 0 in the frame."""
    places = (np.arange(-_FRAME, enlarged + _FRAME) + 0.5) * side / enlarged - 0.5
    return np.maximum(0, 1 - np.abs(places[:, None] - np.arange(side))).astype(np.float32)
