"""Turns that only move pixels: where a ring of copies repeats itself up to their order."""

from __future__ import annotations

import numpy as np

# Samples compared at once.
_BLOCK = 256


def ring_symmetry(copies, image_shape, topology: str = "ring") -> int:
    """Return into how many equal sectors a ring of copies falls, each the first one's turn.

    Going ``1 / order`` of the ring on must turn every image by ``1 / order`` of a full turn
    without resampling: by 90 degrees (square images) or 180. Kernels that see pixels in no order
    (RBF, linear) then stay as they are if both copies go on.

    Parameters
    ----------
    copies : ndarray of shape (n, n_copies, n_features)
        What `fewfold.transforms.virtual_samples` returns.
    image_shape : sequence of int or None
    topology : str
        Of the transform; anything but a ring has order 1.

    Returns
    -------
    4, 2 or 1
        As found in the copies themselves, whatever made them.

    Examples
    --------
    >>> import numpy as np
    >>> from fewfold.transforms import virtual_samples
    >>> X = np.random.default_rng(0).random((3, 25))
    >>> ring_symmetry(virtual_samples(X, (5, 5), "rotation"), (5, 5))
    4
    >>> ring_symmetry(virtual_samples(X, (5, 5), "rotation", step=120), (5, 5))
    1
    """
    n_copies = copies.shape[1]
    if topology != "ring" or image_shape is None or len(image_shape) < 2 or not len(copies):
        return 1
    places = np.arange(copies.shape[2]).reshape(image_shape)
    for order in (4, 2):
        if n_copies % order or (order == 4 and image_shape[0] != image_shape[1]):
            continue
        for turn in {4 // order, -4 // order}:
            if _is_turn(copies, n_copies // order, np.rot90(places, turn).ravel()):
                return order
    return 1


def _is_turn(copies, places_on, pixels):
    """Whether the copy so many places on is the copy with its pixels moved, for all copies."""
    limit = 1e-5 * (float(np.abs(copies[:_BLOCK]).max()) or 1.0)
    for first in range(0, len(copies), _BLOCK):
        block = copies[first : first + _BLOCK]
        if not np.abs(np.roll(block, -places_on, axis=1) - block[:, :, pixels]).max() <= limit:
            return False
    return True
