"""Invariant distances by name, for re-ranking.

A metric has ``prepare(X)``, the form of rows it works on, each row by itself: of many rows only
those that are needed next are prepared; ``take(prepared, rows)``; and
``distances(queries, base, candidates, progress)`` between prepared rows. All return squared
lengths, or anything that grows with dissimilarity and is zero for equal rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fewfold.exceptions import InputError
from fewfold.transforms.deformation import DeformationMetric
from fewfold.transforms.images import as_images, check_image_shape
from fewfold.transforms.registry import get_transform
from fewfold.transforms.tangent import TangentMetric


@dataclass(frozen=True)
class SquaredEuclidean:
    """Squared Euclidean distance of the rows themselves."""

    image_shape: tuple | None = None

    def prepare(self, X) -> np.ndarray:
        """Return the rows as float32."""
        return np.ascontiguousarray(X, dtype=np.float32)

    def take(self, prepared, rows):
        """Return some prepared rows."""
        return prepared[rows]

    def distances(self, queries, base, candidates, progress=None) -> np.ndarray:
        """Return squared distances, (m, k) float32."""
        out = np.empty(candidates.shape, np.float32)
        for i, near in enumerate(candidates):
            out[i] = ((base[near] - queries[i]) ** 2).sum(axis=1)
        if progress is not None:
            progress(len(candidates))
        return out


@dataclass(frozen=True)
class FunctionMetric:
    """A user's function ``(row, rows) -> distances`` from one row to several."""

    function: Callable
    image_shape: tuple | None = None

    def prepare(self, X) -> np.ndarray:
        """Return the rows as they are."""
        return np.asarray(X)

    def take(self, prepared, rows):
        """Return some prepared rows."""
        return prepared[rows]

    def distances(self, queries, base, candidates, progress=None) -> np.ndarray:
        """Return the function's values, (m, k) float32, refusing what is not a distance."""
        out = np.empty(candidates.shape, np.float32)
        for i, near in enumerate(candidates):
            values = np.asarray(self.function(queries[i], base[near]), dtype=np.float64)
            if values.shape != near.shape or not np.all(values >= 0):
                raise InputError(
                    f"The metric returned {values.shape} values "
                    f"(least: {values.min() if values.size else 'none'}) for {len(near)} rows. "
                    "It must return one non-negative number per row of its second argument."
                )
            out[i] = values
            if progress is not None:
                progress(1)
        return out


@dataclass(frozen=True)
class OrbitMetric:
    """The least distance between one sample and the transformed copies of another.

    Attributes
    ----------
    image_shape : tuple of int
    transforms : specification
        As in `fewfold.transforms.get_transform`; a list is a composition.
    base : str
        The metric between a copy and the other sample.
    base_options : dict
    """

    image_shape: tuple
    transforms: object = "rotation"
    base: str = "deformation"
    base_options: dict = field(default_factory=dict)

    @property
    def inner(self):
        """The metric between a copy and the other sample."""
        return get_metric(self.base, self.image_shape, self.base_options)

    @property
    def transform(self):
        """The transform whose copies are tried."""
        return get_transform(self.transforms)

    def prepare(self, X) -> np.ndarray:
        """Return the rows as images; copies are made while distances are taken."""
        return as_images(X, self.image_shape)

    def take(self, prepared, rows):
        """Return some prepared rows."""
        return prepared[rows]

    def copies(self, images):
        """Yield each transformed copy of prepared rows, flat."""
        transform = self.transform
        for i, parameter in enumerate(transform.grid):
            copy = images if i == transform.identity else transform(images, parameter)
            yield copy.reshape(len(images), -1)

    def distances(self, queries, base, candidates, progress=None) -> np.ndarray:
        """Return the least distance over the queries' copies, (m, k) float32."""
        inner = self.inner
        fixed = inner.prepare(base.reshape(len(base), -1))
        best = np.full(candidates.shape, np.inf, np.float32)
        for copy in self.copies(queries):
            np.minimum(best, inner.distances(inner.prepare(copy), fixed, candidates), out=best)
        if progress is not None:
            progress(len(candidates))
        return best


METRICS: dict[str, Callable] = {
    "deformation": DeformationMetric,
    "tangent": TangentMetric,
    "orbit": OrbitMetric,
    "squared_euclidean": SquaredEuclidean,
}
_NEEDS_SHAPE = ("deformation", "tangent", "orbit")


def register_metric(name: str, factory: Callable) -> None:
    """Make ``factory(image_shape=..., **options)`` known as a re-ranking metric."""
    if name in METRICS:
        raise InputError(f"A metric named {name!r} exists already. Choose another name.")
    METRICS[name] = factory


def get_metric(metric, image_shape=None, options: dict | None = None):
    """Return a re-ranking metric.

    Parameters
    ----------
    metric : str or callable
        "deformation", "tangent", "orbit", a registered name, or a function ``(row, rows) ->
        distances``. A name is looked up, never imported: it may come from a file.
    image_shape : sequence of int, optional
    options : dict, optional
        Fields of the metric's class.

    Examples
    --------
    >>> get_metric("deformation", (28, 28), {"displacement": 2}).displacement
    2
    """
    options = dict(options or {})
    if callable(metric):
        return FunctionMetric(metric, image_shape)
    if not isinstance(metric, str) or metric not in METRICS:
        raise InputError(
            f"metric={metric!r} is unknown. Choose one of {', '.join(METRICS)}, or in a config of "
            "your own 'package.module:function', which is never imported because a file names it; "
            "a graph's own metric may also be euclidean, cosine or precomputed."
        )
    if metric in _NEEDS_SHAPE:
        if image_shape is None:
            raise InputError(
                f"metric={metric!r} needs image_shape, the shape of one row: (height, width), "
                "(height, width, channels), or (length,) for a series."
            )
        image_shape = check_image_shape(image_shape)
    try:
        return METRICS[metric](image_shape=image_shape, **options)
    except TypeError as error:
        raise InputError(
            f"metric_options={options} do not fit metric {metric!r}: {error}."
        ) from error
