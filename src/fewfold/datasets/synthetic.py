"""Generated datasets: Gaussians, plane curves, the five multi-manifold sets, and series.

Every generator is a function ``f(n, rng, **options) -> (X, y, groups)`` that draws ``n`` rows;
:func:`generate` adds the test rows, drawn the same way from the same stream.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fewfold.datasets.base import Dataset
from fewfold.datasets.large import SIDE, curved_manifolds, deformed_mnist
from fewfold.datasets.registry import unknown_name
from fewfold.datasets.series import LENGTH, cylinder_bell_funnel
from fewfold.exceptions import InputError

Sample = tuple[np.ndarray, np.ndarray, np.ndarray]


def _parts(n: int, shares, rng) -> np.ndarray:
    """Assign n rows to parts by fixed shares (exact up to rounding), in random order."""
    edges = np.rint(np.cumsum(np.asarray(shares) / np.sum(shares)) * n).astype(int)
    groups = np.searchsorted(edges, np.arange(n), side="right")
    return rng.permutation(groups)


def gaussians_g50c(n: int, rng, *, n_features: int = 50, bayes_error: float = 0.05) -> Sample:
    """Two unit Gaussians, one per class, whose optimal classifier errs by ``bayes_error``.

    The means lie at ±a(1, ..., 1)/sqrt(d) with a = Phi^{-1}(1 - bayes_error).
    """
    from scipy.special import ndtri

    y = _parts(n, [1, 1], rng)
    shift = ndtri(1 - bayes_error) / np.sqrt(n_features)
    X = rng.standard_normal((n, n_features)) + np.where(y == 1, shift, -shift)[:, None]
    return X, y, y.copy()


def gaussians_g10n(n: int, rng, *, n_features: int = 10, bayes_error: float = 0.05) -> Sample:
    """Two Gaussian clusters that the class boundary cuts in half: clusters mislead here.

    Clusters lie at ±3 on the first axis. The class is the sign of the second coordinate
    plus noise, of such a size that the optimal classifier errs by ``bayes_error``
    (P(sign wrong) = arctan(s) / pi for noise s.d. s).
    """
    cluster = _parts(n, [1, 1], rng)
    X = rng.standard_normal((n, n_features))
    X[:, 0] += np.where(cluster == 1, 3.0, -3.0)
    noise = np.tan(np.pi * bayes_error) * rng.standard_normal(n)
    y = (X[:, 1] + noise > 0).astype(int)
    return X, y, cluster


def _along(curve: Callable, n: int, rng, periods: float = 2 * np.pi) -> np.ndarray:
    """Draw parameters t in [0, periods) so that curve(t) is uniform in arc length."""
    grid = np.linspace(0.0, periods, 20001)
    points = curve(grid)
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    return np.interp(rng.uniform(0, length[-1], n), length, grid)


def _bent_ring(t: np.ndarray) -> np.ndarray:
    """Trace a closed C: a thin ring (angle phi, thickness about 0.5) whose two ends nearly meet."""
    phi = np.pi / 2 + 0.92 * np.pi * np.cos(t)
    radius = 1.0 + 0.25 * np.sin(t)
    return np.column_stack([radius * np.cos(phi), radius * np.sin(phi)])


def closed_curve(n: int, rng, *, noise: float = 0.0) -> Sample:
    """Two classes on two halves of one closed plane curve (eigenbasis-2002, Fig. 1).

    The paper prints the picture only. This curve is a closed C: its outer and inner side run
    0.5 apart and its ends nearly meet. The classes are the outer and the inner side, so that
    the nearest labeled point misleads where distance along the curve does not.
    """
    t = _along(_bent_ring, n, rng)
    X = _bent_ring(t) + noise * rng.standard_normal((n, 2))
    y = (np.sin(t) < 0).astype(int)
    return X, y, y.copy()


def circle(n: int, rng, *, noise: float = 0.05) -> Sample:
    """Trace a unit circle with Gaussian noise; the classes are its upper and lower half."""
    t = rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.standard_normal((n, 2))
    return X, (t < np.pi).astype(int), np.zeros(n, dtype=int)


def _lemniscate(t: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(t), np.sin(t) * np.cos(t)])


def figure_eight(n: int, rng, *, noise: float = 0.03) -> Sample:
    """Trace a figure of eight with Gaussian noise; the classes are its two loops."""
    t = _along(_lemniscate, n, rng)
    X = _lemniscate(t) + noise * rng.standard_normal((n, 2))
    y = (t > np.pi).astype(int)
    return X, y, y.copy()


def dollar_sign(n: int, rng, *, noise: float = 0.01) -> Sample:
    """Draw an S-shaped sheet crossed by a flat bar, in 3-D; noise is added to the target only."""
    bar = _parts(n, [1, 1], rng)
    t = rng.uniform(-1.5 * np.pi, 1.5 * np.pi, n)
    z = rng.uniform(-3, 3, n)
    width = rng.uniform(0, 2, n)
    sheet = np.column_stack([np.sin(t), width, np.sign(t) * (np.cos(t) - 1)])
    X = np.where(bar[:, None] == 1, np.column_stack([np.zeros(n), width, z]), sheet)
    y = np.where(bar == 1, z + 13, t + 1.5 * np.pi) + noise * rng.standard_normal(n)
    return X, y, bar


def surface_sphere(n: int, rng, *, noise: float = 0.0) -> Sample:
    """Draw a solid unit ball cut by a square plane; y = norm of x, and y = x2 - 5 on the plane."""
    plane = _parts(n, [1, 1], rng)
    direction = rng.standard_normal((n, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    ball = direction * rng.uniform(0, 1, (n, 1)) ** (1 / 3)
    square = np.column_stack([np.zeros(n), rng.uniform(-2, 2, (n, 2))])
    X = np.where(plane[:, None] == 1, square, ball)
    y = np.where(plane == 1, X[:, 1] - 5, np.linalg.norm(X, axis=1))
    return X, y + noise * rng.standard_normal(n), plane


def density_change(n: int, rng, *, noise: float = 0.0) -> Sample:
    """Lay a wide sparse rectangle under a narrow one five times as dense.

    y = x1 on the wide one and 10 - 5 x1 on the narrow one; half of the rows lie on each. The
    three decision sets are left of, inside and right of the narrow rectangle.
    """
    dense = _parts(n, [1, 1], rng)
    x1 = np.where(dense == 1, rng.uniform(0, 1, n), rng.uniform(-2, 3, n))
    X = np.column_stack([x1, rng.uniform(0, 1, n)])
    y = np.where(dense == 1, 10 - 5 * x1, x1) + noise * rng.standard_normal(n)
    return X, y, np.digitize(x1, [0.0, 1.0])


def _helix(t: np.ndarray) -> np.ndarray:
    ring = 3 + np.cos(5 * t)
    return np.column_stack([ring * np.cos(t), ring * np.sin(t), np.sin(5 * t)])


def surface_helix(n: int, rng, *, noise: float = 0.02) -> Sample:
    """Wind a toroidal helix through a plane; each is one class."""
    plane = _parts(n, [1, 1], rng)
    t = _along(_helix, n, rng)
    square = np.column_stack([rng.uniform(-5, 5, (n, 2)), np.zeros(n)])
    X = np.where(plane[:, None] == 1, square, _helix(t)) + noise * rng.standard_normal((n, 3))
    return X, plane, plane.copy()


def martini(n: int, rng, *, noise: float = 0.005) -> Sample:
    """Draw a martini glass: base, stem, cone, olive and toothpick, each one class."""
    part = _parts(n, [0.3, 0.1, 0.3, 0.2, 0.1], rng)
    angle, u = rng.uniform(0, 2 * np.pi, n), rng.uniform(0, 1, n)
    disc = np.sqrt(u)  # uniform on a disc, and on a cone

    def ring(radius, height):
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])

    direction = rng.standard_normal((n, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    start, stop = np.array([0.2, 0, 1.3]), np.array([1.2, 0, 2.3])
    shapes = np.stack(
        [
            ring(disc, np.zeros(n)),
            ring(np.zeros(n), 1.2 * u),
            ring(1.5 * disc, 1.2 + 0.4 * 1.5 * disc),
            np.array([0.7, 0, 1.8]) + 0.25 * np.cbrt(u)[:, None] * direction,
            start + u[:, None] * (stop - start),
        ]
    )
    X = shapes[part, np.arange(n)] + noise * rng.standard_normal((n, 3))
    return X, part, part.copy()


@dataclass(frozen=True)
class Generator:
    """A generated dataset: its sampler, its defaults, and what it gives."""

    sampler: Callable[..., Sample]
    title: str
    n_samples: int
    n_features: int
    classes: tuple[str, ...] | None
    citation: str = ""
    image_shape: tuple[int, ...] | None = None

    @property
    def task(self) -> str:
        """What its targets are."""
        return "regression" if self.classes is None else "classification"

    @property
    def options(self) -> dict:
        """Give the sampler's own options with their defaults."""
        parameters = inspect.signature(self.sampler).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


_GOLDBERG = "A. Goldberg, X. Zhu, A. Singh, Z. Xu, R. Nowak, Multi-manifold SSL, AISTATS 2009"
_CHAPELLE = "O. Chapelle, A. Zien, Semi-supervised classification by low density separation, 2005"
_BELKIN = "M. Belkin, P. Niyogi, Using manifold structure for partially labelled data, NIPS 2002"
_SAITO = "N. Saito, Local feature extraction and its applications, thesis, Yale 1994"
_LOOSLI = "G. Loosli, S. Canu, L. Bottou, Training invariant support vector machines, 2007"

GENERATORS = {
    "gaussians_g50c": Generator(
        gaussians_g50c, "two Gaussians, one per class", 550, 50, ("-1", "1"), _CHAPELLE
    ),
    "gaussians_g10n": Generator(
        gaussians_g10n, "two Gaussians cut by the class boundary", 550, 10, ("-1", "1"), _CHAPELLE
    ),
    "closed_curve": Generator(
        closed_curve, "two classes on a closed plane curve", 500, 2, ("outer", "inner"), _BELKIN
    ),
    "circle": Generator(circle, "a noisy circle", 500, 2, ("lower", "upper")),
    "figure_eight": Generator(figure_eight, "a noisy figure of eight", 800, 2, ("right", "left")),
    "dollar_sign": Generator(dollar_sign, "S and bar in 3-D", 20000, 3, None, _GOLDBERG),
    "surface_sphere": Generator(surface_sphere, "plane through a ball", 20000, 3, None, _GOLDBERG),
    "density_change": Generator(
        density_change, "two overlapping rectangles", 20000, 2, None, _GOLDBERG
    ),
    "surface_helix": Generator(
        surface_helix, "helix through a plane", 20000, 3, ("helix", "surface"), _GOLDBERG
    ),
    "martini": Generator(
        martini,
        "martini glass with an olive",
        20000,
        3,
        ("base", "stem", "cone", "olive", "toothpick"),
        _GOLDBERG,
    ),
    "cylinder_bell_funnel": Generator(
        cylinder_bell_funnel,
        "three shapes in noisy series",
        1500,
        LENGTH,
        ("cylinder", "bell", "funnel"),
        _SAITO,
        (LENGTH,),
    ),
    "curved_manifolds": Generator(
        curved_manifolds,
        "twenty curved manifolds with noise, of any size",
        20000,
        50,
        tuple(map(str, range(20))),
    ),
    "deformed_mnist": Generator(
        deformed_mnist,
        "MNIST's training digits, deformed; any number of rows",
        10000,
        SIDE * SIDE,
        tuple("0123456789"),
        _LOOSLI,
        (SIDE, SIDE),
    ),
}


def check_options(name: str, n_samples, n_test, options: dict) -> tuple[int, int]:
    """Check a generator's options; return the number of rows and of test rows."""
    generator = GENERATORS[name]
    for key in options:
        if key not in generator.options:
            known = ["n_samples", "n_test", "seed", *generator.options]
            raise unknown_name(f"option of dataset {name}:", key, known)
    n_samples = generator.n_samples if n_samples is None else n_samples
    for key, value, least in (("n_samples", n_samples, 1), ("n_test", n_test, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(
                f"dataset {name}: {key}={value!r}; allowed: a whole number of at least {least}."
            )
    width = options.get("n_features", generator.n_features)
    if (int(n_samples) + int(n_test)) * int(width) * 8 > 1 << 36:
        raise InputError(
            f"dataset {name}: n_samples={n_samples} and n_test={n_test} ask for more than 64 GiB. "
            "Lower them."
        )
    return int(n_samples), int(n_test)


def generate(name: str, n_samples=None, n_test: int = 0, seed: int = 0, **options) -> Dataset:
    """Draw a generated dataset.

    Parameters
    ----------
    name : str
        A key of ``GENERATORS``.
    n_samples : int, optional
        Rows to draw; each generator has its own default.
    n_test : int, default=0
        Further rows from the same distribution, flagged in ``test_mask``. They come from a
        stream of their own, so the first rows do not depend on it.
    seed : int, default=0
        Seed of ``numpy.random.default_rng``.
    **options
        The sampler's own, such as ``noise``.

    Examples
    --------
    >>> generate("martini", n_samples=100, n_test=10, seed=1).X.shape
    (110, 3)
    """
    if name not in GENERATORS:
        raise unknown_name("generator", name, GENERATORS)
    generator = GENERATORS[name]
    n_samples, n_test = check_options(name, n_samples, n_test, options)
    streams = np.random.SeedSequence(seed).spawn(2)
    parts = [generator.sampler(n_samples, np.random.default_rng(streams[0]), **options)]
    if n_test:
        parts.append(generator.sampler(n_test, np.random.default_rng(streams[1]), **options))
    X, y, groups = (np.concatenate(arrays) for arrays in zip(*parts))
    regression = generator.classes is None
    return Dataset(
        name=name,
        # Large sets are float32, or pixels.
        X=X if X.dtype in (np.float32, np.uint8) else np.ascontiguousarray(X, dtype=np.float64),
        y=y.astype(np.float64 if regression else np.int64),
        task=generator.task,
        classes=None if regression else list(generator.classes),
        test_mask=np.arange(len(y)) >= n_samples if n_test else None,
        groups=groups.astype(np.int64),
        image_shape=generator.image_shape,
    )
