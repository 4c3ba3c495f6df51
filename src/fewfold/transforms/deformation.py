"""A distance between images that is invariant to small local displacements.

For each pixel of one image the other may be displaced by a pixel or so, whichever way makes
the gradients in a small window around it agree best: an image distortion model (Keysers et al.
2007). Series are treated likewise along their one axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.exceptions import InputError
from fewfold.transforms.images import as_images, check_image_shape

FEATURES = ("gradient", "pixels", "both")
_BLOCK_ROWS = 4096


def gradients(images) -> np.ndarray:
    """Return the Sobel gradients of images, or central differences of series.

    Parameters
    ----------
    images : ndarray of shape (n, h, w, channels) or (n, length)
        Edges are continued outwards by their own values.

    Returns
    -------
    ndarray of shape (n, 2 * channels, h, w) or (n, 1, length), float32

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.arange(5.0)[None, None, :, None] * np.ones((1, 4, 1, 1))
    >>> gradients(ramp)[0, :, 1, 2].tolist()
    [0.0, 1.0]
    """
    images = np.asarray(images, np.float32)
    if images.ndim == 2:
        padded = np.pad(images, ((0, 0), (1, 1)), mode="edge")
        return ((padded[:, 2:] - padded[:, :-2]) / 2)[:, None]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    across = (padded[:, :, :-2] + 2 * padded[:, :, 1:-1] + padded[:, :, 2:]) / 4
    down = (padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]) / 4
    rows = (across[:, 2:] - across[:, :-2]) / 2
    columns = (down[:, :, 2:] - down[:, :, :-2]) / 2
    return np.moveaxis(np.concatenate([rows, columns], axis=3), 3, 1)


@dataclass(frozen=True)
class DeformationMetric:
    """Squared deformation distance between images or series.

    Attributes
    ----------
    image_shape : tuple of int
        ``(h, w)``, ``(h, w, channels)`` or ``(length,)``.
    displacement : int
        Largest displacement, in pixels, along each axis.
    window : int
        Side of the window (odd) within which a displacement must fit.
    margin : int, optional
        Outermost pixels left out on each side; by default a fourteenth of the shorter side of
        an image (2 of 28), none of a series.
    features : {"gradient", "pixels", "both"}
        What is compared.

    Notes
    -----
    Symmetric: the mean of both directions (which of the two is displaced), which share their
    map of differences and so cost little more than one.
    """

    image_shape: tuple
    displacement: int = 1
    window: int = 3
    margin: int | None = None
    features: str = "gradient"

    def __post_init__(self):
        object.__setattr__(self, "image_shape", check_image_shape(self.image_shape))
        if self.displacement < 0 or int(self.displacement) != self.displacement:
            raise InputError(f"displacement={self.displacement}; allowed: whole pixels from 0 up.")
        if self.window < 1 or self.window % 2 != 1:
            raise InputError(f"window={self.window}; allowed: odd numbers from 1 up.")
        if self.features not in FEATURES:
            raise InputError(
                f"features={self.features!r} is unknown. Choose one of {', '.join(FEATURES)}."
            )
        if self.margin is None:
            is_series = len(self.image_shape) == 1
            side = min(self.image_shape[:2])
            object.__setattr__(self, "margin", 0 if is_series else side // 14)
        left = min(self.image_shape[:2]) - 2 * self.margin
        if self.margin < 0 or left <= self.displacement:
            raise InputError(
                f"margin={self.margin} leaves {left} pixels of image_shape={self.image_shape} "
                f"for a displacement of {self.displacement}. Lower one of the two."
            )

    @property
    def _grid(self):
        """Rows, columns, stride and padding of the flat layout that the compiled loop reads."""
        shape = self.image_shape[:2]
        h, w = (1, *shape) if len(shape) == 1 else shape
        is_series = len(shape) == 1
        h, w = h - (0 if is_series else 2 * self.margin), w - 2 * self.margin
        spread = self.displacement + self.window // 2
        stride = w + spread
        padding = 2 * self.displacement + self.window // 2 + 1
        return h, w, stride, (1 if is_series else padding), is_series

    def prepare(self, X) -> np.ndarray:
        """Return the features of rows, padded and flat, (n, channels, size) float32."""
        h, w, stride, padding, is_series = self._grid
        m = self.margin
        X = np.asarray(X)
        out = None
        for start in range(0, len(X), _BLOCK_ROWS):
            images = as_images(X[start : start + _BLOCK_ROWS], self.image_shape)
            values = self._features(images)
            if is_series:
                values = values[:, :, None, m : values.shape[2] - m]
            else:
                values = values[:, :, m : values.shape[2] - m, m : values.shape[3] - m]
            if out is None:
                out = np.zeros((len(X), values.shape[1], h + 2 * padding, stride), np.float32)
            out[start : start + len(images), :, padding : padding + h, :w] = values
        return out.reshape(len(X), out.shape[1], -1)

    def _features(self, images):
        if images.ndim == 3:
            images = images[..., None]
        plain = images[:, None] if images.ndim == 2 else np.moveaxis(images, 3, 1)
        if self.features == "pixels":
            return plain
        if self.features == "gradient":
            return gradients(images)
        return np.concatenate([gradients(images), plain], axis=1)

    def take(self, prepared, rows):
        """Return some prepared rows."""
        return prepared[rows]

    def distances(self, queries, base, candidates, progress=None) -> np.ndarray:
        """Return squared distances of prepared queries to their candidates in ``base``.

        Parameters
        ----------
        queries : ndarray of shape (m, channels, size)
            From `prepare`.
        base : ndarray of shape (n, channels, size)
        candidates : int ndarray of shape (m, k)
            Row numbers in ``base``.

        Returns
        -------
        ndarray of shape (m, k), float32
        """
        from fewfold.transforms._deformation import rerank_block

        h, w, stride, padding, is_series = self._grid
        mask = np.zeros((h, stride), np.float32)
        mask[:, :w] = 1 / self.window ** (1 if is_series else 2)
        first = padding * stride
        last = first + (h - 1) * stride + w
        mask = np.ascontiguousarray(mask.ravel()[: last - first])
        steps = np.arange(-self.displacement, self.displacement + 1)
        offsets = steps if is_series else (steps[:, None] * stride + steps[None, :]).ravel()
        out = np.empty(candidates.shape, np.float32)
        for start in range(0, len(queries), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            rerank_block(
                queries[block], base, np.ascontiguousarray(candidates[block], np.int64),
                offsets.astype(np.int64), 0 if is_series else stride, self.window // 2,
                first, last, mask, out[block],
            )  # fmt: skip
            if progress is not None:
                progress(len(queries[block]))
        return out
