"""Two-sided tangent distance: how close two samples come when each may slide along its tangents.

Simard, LeCun, Denker and Victorri (1998). The tangents of a sample are the directions in which
registered transforms would carry it, found by finite differences, so any transform will do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.exceptions import InputError
from fewfold.transforms.images import as_images, check_image_shape
from fewfold.transforms.registry import Transform, get_transform

# The classical seven for images, each by a step small enough to be nearly linear.
IMAGE_TANGENTS = (
    {"name": "translation", "grid": [[0, 0], [0.5, 0], [-0.5, 0]]},
    {"name": "translation", "grid": [[0, 0], [0, 0.5], [0, -0.5]]},
    {"name": "rotation", "grid": [-5.0, 0, 5.0]},
    {"name": "scaling", "grid": [0.95, 1.0, 1.05]},
    {"name": "shear", "grid": [-0.1, 0.0, 0.1]},
    {"name": "thickness", "grid": [-0.3, 0.0, 0.3]},
)
SERIES_TANGENTS = (
    {"name": "time_shift", "grid": [-1, 0, 1]},
    {"name": "time_warp", "grid": [-0.05, 0.0, 0.05]},
)
_BLOCK_ROWS = 512


def tangent_basis(X, image_shape, transforms) -> np.ndarray:
    """Return an orthonormal basis of each row's tangent directions.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int
    transforms : list of Transform
        The tangent of a transform is the difference between its first and last copy that are
        not the sample itself (or the sample and its one copy).

    Returns
    -------
    ndarray of shape (n, n_transforms, n_features), float32
        Rows orthonormal; a tangent that vanishes or repeats others is a row of zeros.
    """
    images = as_images(X, image_shape)
    flat = images.reshape(len(images), -1)
    raw = np.empty((len(flat), len(transforms), flat.shape[1]), np.float32)
    for number, transform in enumerate(transforms):
        low, high = _ends(transform)
        ends = [
            images if i == transform.identity else transform(images, transform.grid[i])
            for i in (low, high)
        ]
        raw[:, number] = (ends[1] - ends[0]).reshape(len(flat), -1)
    return _orthonormal(raw)


def _ends(transform: Transform):
    others = [i for i in range(transform.n_copies) if i != transform.identity]
    if not others:
        raise InputError(
            f"Transform {transform.name!r} has one copy only, so no tangent. Give it a grid."
        )
    return (transform.identity, others[0]) if len(others) == 1 else (others[0], others[-1])


def _orthonormal(raw):
    """Gram-Schmidt, twice, over a batch of few long vectors; dependent ones become zero."""
    basis = np.zeros_like(raw)
    for i in range(raw.shape[1]):
        vector = raw[:, i].copy()
        length = np.linalg.norm(vector, axis=1)
        for _ in range(2):
            for j in range(i):
                vector -= np.einsum("nd,nd->n", basis[:, j], vector)[:, None] * basis[:, j]
        left = np.linalg.norm(vector, axis=1)
        is_new = left > 1e-3 * np.maximum(length, 1e-12)
        basis[is_new, i] = vector[is_new] / left[is_new, None]
    return basis


@dataclass(frozen=True)
class TangentMetric:
    """Squared two-sided tangent distance.

    Attributes
    ----------
    image_shape : tuple of int
    transforms : list, optional
        Specifications as in `fewfold.transforms.get_transform`; by default shifts, rotation,
        scaling, shear and thickness for images, shift and warp for series.
    ridge : float
        Penalty on the length of the slides, relative to the tangents'; keeps nearly parallel
        tangents of two samples from canceling all differences.
    smoothing : float
        Standard deviation, in pixels, of a Gaussian applied first: tangents of sharp edges
        are poor approximations.
    """

    image_shape: tuple
    transforms: tuple = ()
    ridge: float = 0.01
    smoothing: float = 0.7

    def __post_init__(self):
        object.__setattr__(self, "image_shape", check_image_shape(self.image_shape))
        if not self.ridge > 0:
            raise InputError(f"ridge={self.ridge}: it must be positive.")

    def prepare(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Return the smoothed rows (n, d) and their tangent bases (n, p, d)."""
        from scipy import ndimage

        is_series = len(self.image_shape) == 1
        default = SERIES_TANGENTS if is_series else IMAGE_TANGENTS
        transforms = [get_transform(spec) for spec in self.transforms or default]
        images = as_images(X, self.image_shape)
        if self.smoothing > 0:
            widths = (0, self.smoothing) if is_series else (0, self.smoothing, self.smoothing, 0)
            images = ndimage.gaussian_filter(images, widths[: images.ndim])
        flat = images.reshape(len(images), -1)
        return flat, tangent_basis(flat, self.image_shape, transforms)

    def take(self, prepared, rows):
        """Return the prepared form of some rows."""
        return prepared[0][rows], prepared[1][rows]

    def distances(self, queries, base, candidates, progress=None) -> np.ndarray:
        """Return squared distances of prepared queries to their candidates, (m, k) float32."""
        (x, tx), (y, ty) = queries, base
        out = np.empty(candidates.shape, np.float32)
        for i in range(len(candidates)):
            near = candidates[i]
            out[i] = _tangent_distances(x[i], tx[i], y[near], ty[near], self.ridge)
            if progress is not None and (i + 1) % _BLOCK_ROWS == 0:
                progress(_BLOCK_ROWS)
        if progress is not None:
            progress(len(candidates) % _BLOCK_ROWS)
        return out


def _tangent_distances(x, tx, Y, TY, ridge):
    """Return min over slides a, b of |x + tx a - y - ty b|^2 + ridge (|a|^2 + |b|^2)."""
    k, p, d = TY.shape
    residual = x - Y
    u = residual @ tx.T
    v = np.matmul(TY, residual[:, :, None])[:, :, 0]
    cross = (TY.reshape(k * p, d) @ tx.T).reshape(k, p, p)
    gram = np.empty((k, 2 * p, 2 * p))
    gram[:, :p, :p] = gram[:, p:, p:] = (1 + ridge) * np.eye(p)
    gram[:, p:, :p] = cross
    gram[:, :p, p:] = np.swapaxes(cross, 1, 2)
    right = np.concatenate([u, v], axis=1).astype(np.float64)
    gain = np.einsum("ki,ki->k", right, np.linalg.solve(gram, right[:, :, None])[:, :, 0])
    plain = np.einsum("kd,kd->k", residual, residual)
    return np.maximum(plain - gain, 0)
