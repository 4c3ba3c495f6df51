"""Generated datasets of any size: curved manifolds, and MNIST's digits deformed.

Rows are drawn block by block, each block from a stream of its own, so that the first rows are the
same whatever the number of rows, and no block is larger than `BLOCK_ROWS` rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

BLOCK_ROWS = 4096
SIDE = 28
# Waves that bend a manifold in as many directions.
_WAVES = 8


def _blocks(n: int, rng) -> Iterator[tuple[slice, np.random.Generator]]:
    seed = int(rng.integers(2**63))
    for number, start in enumerate(range(0, n, BLOCK_ROWS)):
        yield slice(start, min(start + BLOCK_ROWS, n)), np.random.default_rng([seed, number])


def curved_manifolds(
    n: int, rng, *, n_features: int = 50, dimension: int = 4, noise: float = 0.2, shape: int = 0
):
    """Twenty classes, each a curved manifold through a space of more dimensions, with noise.

    A manifold is ``cos(t F + phase) A`` for t uniform in [-1, 1]^dimension, with 8 waves, the
    entries of F normal with s.d. 1.5 and those of A with s.d. 8^-1/2; ``noise`` is the s.d. of each
    feature's noise, ``shape`` the seed of the manifolds. Rows are float32.
    """
    forms = np.random.default_rng(shape)
    F = forms.normal(0, 1.5, (20, dimension, _WAVES))
    phase = forms.uniform(0, 2 * np.pi, (20, 1, _WAVES))
    A = forms.normal(0, _WAVES**-0.5, (20, _WAVES, n_features))
    X, y = np.empty((n, n_features), np.float32), np.empty(n, np.int64)
    for part, stream in _blocks(n, rng):
        y[part] = stream.integers(0, 20, part.stop - part.start)
        t = stream.uniform(-1, 1, (part.stop - part.start, dimension))
        rows = noise * stream.standard_normal((len(t), n_features))
        for c in np.unique(y[part]):
            own = y[part] == c
            rows[own] += np.cos(t[own] @ F[c] + phase[c]) @ A[c]
        X[part] = rows
    return X, y, y.copy()


def deformed_mnist(n: int, rng, *, elastic: float = 1.0, affine: float = 0.5):
    """Training digits of MNIST, each deformed at random: any number of uint8 rows.

    In the manner of infinite MNIST (Loosli, Canu, Bottou 2007), by the deformations of `deform`.
    """
    from fewfold.datasets.catalog import load

    digits = load("mnist", part="train")
    images = np.asarray(digits.X, np.uint8).reshape(-1, SIDE, SIDE)
    X, origin = deformed_images(images, n, rng, elastic=elastic, affine=affine)
    return X, digits.y[origin], digits.y[origin]


def deformed_images(images: np.ndarray, n: int, rng, **options) -> tuple[np.ndarray, np.ndarray]:
    """Return n deformed images as uint8 rows, and which image each was made of."""
    X, origin = np.empty((n, images[0].size), np.uint8), np.empty(n, np.int64)
    for part, stream in _blocks(n, rng):
        origin[part] = stream.integers(0, len(images), part.stop - part.start)
        X[part] = deform(images[origin[part]], stream, **options).reshape(-1, images[0].size)
    return X, origin


def deform(images: np.ndarray, rng, *, elastic: float = 1.0, affine: float = 0.5) -> np.ndarray:
    """Deform each image by a random smooth displacement and a random affine map.

    Parameters
    ----------
    images : uint8 ndarray of shape (n, side, side)
    rng : numpy.random.Generator
    elastic : float
        S.d. in pixels of the displacements, smoothed over 4 pixels.
    affine : float
        Times 8 degrees of rotation, 0.1 of shear and of scale, and 1 pixel of shift: each s.d.

    Returns
    -------
    uint8 ndarray of the same shape
        By bilinear interpolation, 0 beyond the border.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.zeros((1, 9, 9), np.uint8)
    >>> square[0, 3:6, 3:6] = 200
    >>> same = deform(square, np.random.default_rng(0), elastic=0, affine=0)
    >>> bool((same == square).all())
    True
    """
    n, side, _ = images.shape
    axis = np.arange(side) - (side - 1) / 2
    smooth = np.exp(-((axis[:, None] - axis) ** 2) / (2 * 4.0**2))
    # Sums of independent numbers with these weights have s.d. 1 in the middle of the image.
    smooth /= np.linalg.norm(smooth[side // 2])
    fields = elastic * (smooth @ rng.standard_normal((n, 2, side, side)) @ smooth.T)
    angle, shear, tall, wide = rng.standard_normal((4, n, 1, 1)) * affine
    shift = rng.standard_normal((2, n, 1, 1)) * affine
    angle, shear = np.deg2rad(8) * angle, 0.1 * shear
    tall, wide = np.exp(0.1 * tall), np.exp(0.1 * wide)
    y, x = axis[:, None], axis[None, :]
    rows = tall * (np.cos(angle) * y + np.sin(angle) * x) + shift[0] + fields[:, 0]
    columns = wide * (np.cos(angle) * x - np.sin(angle) * y) + shear * y + shift[1] + fields[:, 1]
    return _sampled(images, rows + (side - 1) / 2, columns + (side - 1) / 2)


def _sampled(images, rows, columns):
    """Return the images at real positions, between their pixels."""
    n, side, _ = images.shape
    framed = np.zeros((n, side + 2, side + 2), np.float32)
    framed[:, 1:-1, 1:-1] = images
    rows, columns = (np.clip(at + 1, 0, side + 1 - 1e-6) for at in (rows, columns))
    top, left = rows.astype(np.int64), columns.astype(np.int64)
    down, right = (rows - top).astype(np.float32), (columns - left).astype(np.float32)
    at = (np.arange(n)[:, None, None] * (side + 2) + top) * (side + 2) + left
    flat = framed.ravel()
    above = flat[at] * (1 - right) + flat[at + 1] * right
    below = flat[at + side + 2] * (1 - right) + flat[at + side + 3] * right
    return np.rint(above * (1 - down) + below * down).astype(np.uint8)
