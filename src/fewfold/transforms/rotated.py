"""Images turned by random angles: the rotated USPS digits of [invariance-2006]."""

from __future__ import annotations

import numpy as np

from fewfold.transforms.images import affine, as_images


def rotated_images(X, image_shape, seed: int = 0) -> np.ndarray:
    """Turn each image about its middle by its own random angle of 0 to 360 degrees.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int
        (height, width) or (height, width, channels).
    seed : int
        Row ``i`` gets the same angle whatever the number of rows after it.

    Returns
    -------
    ndarray of shape (n, n_features), float32
        Resampled bilinearly; corners are filled with the image's least value.

    Examples
    --------
    >>> import numpy as np
    >>> rotated_images(np.eye(3, 16), (4, 4), seed=1).shape
    (3, 16)
    """
    images = as_images(X, image_shape)
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(images))
    cos, sin = np.cos(angle), np.sin(angle)
    matrices = np.stack([np.stack([cos, sin], 1), np.stack([-sin, cos], 1)], 1)
    return affine(images, matrices).reshape(len(images), -1)
