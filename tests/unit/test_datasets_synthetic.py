"""Generated datasets: geometry, shares, seeds."""

import numpy as np
import pytest

from fewfold.datasets import describe, load
from fewfold.datasets.large import BLOCK_ROWS, deform, deformed_images
from fewfold.datasets.synthetic import GENERATORS
from fewfold.exceptions import InputError

# Made of published digits, which only a mirror has.
DIGITS = pytest.mark.realdata
NAMES = [
    pytest.param(name, marks=DIGITS if name == "deformed_mnist" else ())
    for name in sorted(GENERATORS)
]
LARGE = {"curved_manifolds": np.float32, "deformed_mnist": np.uint8}


@pytest.mark.parametrize("name", NAMES)
def test_common(name):
    data = load(name, n_samples=300, n_test=50, seed=4)
    again = load(name, n_samples=300, n_test=50, seed=4)
    assert np.array_equal(data.X, again.X) and np.array_equal(data.y, again.y)
    assert not np.array_equal(data.X, load(name, n_samples=300, n_test=50, seed=5).X)
    shape = describe(name, n_samples=300, n_test=50, seed=4)
    assert (shape.n_samples, shape.n_features) == data.X.shape
    assert (shape.n_classes, shape.task, shape.n_test) == (data.n_classes, data.task, 50)
    assert data.test_mask.tolist() == [False] * 300 + [True] * 50
    assert data.X.dtype == LARGE.get(name, np.float64) and np.isfinite(data.X).all()
    assert data.groups.dtype == np.int64 and data.groups.min() == 0
    if data.task == "classification":
        assert data.y.dtype == np.int64
        assert np.unique(data.y).tolist() == list(range(data.n_classes))
    else:
        assert data.y.dtype == np.float64 and data.classes is None
    alone = load(name, n_samples=300, seed=4)
    assert alone.test_mask is None and np.array_equal(alone.X, data.X[:300])
    assert describe(name).n_samples == GENERATORS[name].n_samples == load(name).n_samples


def test_g50c_has_the_bayes_error_asked_for():
    data = load("gaussians_g50c", n_samples=100_000, seed=1)
    errors = (data.X.sum(axis=1) > 0) != (data.y == 1)
    assert errors.mean() == pytest.approx(0.05, abs=0.004)
    assert abs(data.y.mean() - 0.5) < 1e-9


def test_g10n_has_the_bayes_error_asked_for_and_clusters_say_nothing():
    data = load("gaussians_g10n", n_samples=100_000, seed=1)
    assert ((data.X[:, 1] > 0) != (data.y == 1)).mean() == pytest.approx(0.05, abs=0.004)
    assert np.corrcoef(data.groups, data.y)[0, 1] == pytest.approx(0, abs=0.02)


def test_closed_curve_is_closed_and_sides_lie_close():
    data = load("closed_curve", n_samples=4000, seed=0)
    radius, angle = np.hypot(*data.X.T), np.arctan2(data.X[:, 1], data.X[:, 0])
    across = np.abs(angle - np.pi / 2) < 0.1
    outer, inner = (radius[across & (data.y == c)].mean() for c in (0, 1))
    assert (outer, inner) == (pytest.approx(1.25, abs=0.01), pytest.approx(0.75, abs=0.01))
    # Each point has its two curve neighbors: no gap is large beside the length of the curve.
    gaps = np.sort(np.linalg.norm(data.X[:, None] - data.X[None, :500], axis=2), axis=0)[2]
    assert gaps.max() < 0.03


def test_circle_and_figure_eight():
    ring = load("circle", n_samples=5000, noise=0.0).X
    assert np.allclose(np.hypot(*ring.T), 1)
    noisy = np.hypot(*load("circle", n_samples=20000, noise=0.1).X.T)
    assert noisy.std() == pytest.approx(0.1, rel=0.05)
    eight = load("figure_eight", n_samples=500, noise=0.0)
    x, z = eight.X.T
    assert np.allclose(z**2, x**2 * (1 - x**2))
    assert np.array_equal(eight.y == 1, x < 0)


def test_dollar_sign():
    data = load("dollar_sign", n_samples=2000, noise=0.0)
    bar, sheet = data.groups == 1, data.groups == 0
    assert bar.sum() == sheet.sum() == 1000
    assert np.all(data.X[bar, 0] == 0)
    assert np.allclose(data.y[bar], data.X[bar, 2] + 13)
    t = data.y[sheet] - 1.5 * np.pi
    assert data.y[sheet].min() >= 0 and data.y[sheet].max() <= 3 * np.pi
    assert np.allclose(data.X[sheet, 0], np.sin(t))
    assert np.allclose(data.X[sheet, 2], np.sign(t) * (np.cos(t) - 1))
    noise = load("dollar_sign", n_samples=2000).y - data.y
    assert noise.std() == pytest.approx(0.01, rel=0.1)


def test_surface_sphere():
    data = load("surface_sphere", n_samples=20000, noise=0.0)
    ball, plane = data.groups == 0, data.groups == 1
    norm = np.linalg.norm(data.X, axis=1)
    assert np.allclose(data.y[ball], norm[ball]) and norm[ball].max() <= 1
    assert (norm[ball] ** 3).mean() == pytest.approx(0.5, abs=0.01)  # uniform in the ball
    assert np.all(data.X[plane, 0] == 0) and np.allclose(data.y[plane], data.X[plane, 1] - 5)


def test_density_change():
    data = load("density_change", n_samples=30000, noise=0.0)
    x = data.X[:, 0]
    assert np.array_equal(data.groups, (x >= 0).astype(int) + (x >= 1))
    dense = np.isclose(data.y, 10 - 5 * x) & (data.groups == 1)
    assert np.isclose(data.y, x)[~dense].all()
    assert dense.sum() == 15000
    inside = (~dense & (data.groups == 1)).sum()
    assert dense.sum() / inside == pytest.approx(5, rel=0.1)


def test_surface_helix():
    data = load("surface_helix", n_samples=20000, noise=0.0)
    helix = data.X[data.y == 0]
    ring = np.hypot(helix[:, 0], helix[:, 1]) - 3
    assert np.allclose(ring**2 + helix[:, 2] ** 2, 1, atol=1e-4)
    # Uniform in arc length: equal counts in windings of equal length, by symmetry.
    turn = np.floor((np.arctan2(helix[:, 1], helix[:, 0]) % (2 * np.pi)) / (2 * np.pi / 5))
    counts = np.bincount(turn.astype(int), minlength=5)
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000)
    assert np.all(data.X[data.y == 1, 2] == 0)


def test_martini():
    data = load("martini", n_samples=10000, noise=0.0)
    assert np.bincount(data.y).tolist() == [3000, 1000, 3000, 2000, 1000]
    base, stem, cone, olive, pick = (data.X[data.y == c] for c in range(5))
    assert np.all(base[:, 2] == 0) and np.hypot(*base[:, :2].T).max() <= 1
    assert np.all(stem[:, :2] == 0) and stem[:, 2].max() <= 1.2
    assert np.allclose(cone[:, 2], 1.2 + 0.4 * np.hypot(cone[:, 0], cone[:, 1]))
    assert np.linalg.norm(olive - [0.7, 0, 1.8], axis=1).max() <= 0.25
    assert np.allclose(pick[:, 2] - pick[:, 0], 1.1) and np.all(pick[:, 1] == 0)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"n_samples": 0}, "n_samples=0; allowed: a whole number of at least 1"),
        ({"n_samples": 2.5}, "n_samples=2.5"),
        ({"n_test": -1}, "n_test=-1"),
        ({"nois": 1}, "'nois' is not known. Did you mean 'noise'"),
        ({"n_samples": 10**12}, "more than 64 GiB"),
    ],
)
def test_bad_options(options, words):
    for function in (load, describe):
        with pytest.raises(InputError, match=words.replace(".", "[.]")):
            function("martini", **options)


def test_one_row():
    for name in sorted(set(GENERATORS) - {"deformed_mnist"}):
        assert load(name, n_samples=1).X.shape[0] == 1


def test_series_without_noise_are_a_plateau_a_rise_and_a_fall():
    data = load("cylinder_bell_funnel", n_samples=90, noise=0.0)
    assert data.image_shape == (128,) == describe("cylinder_bell_funnel").image_shape
    for row, shape in zip(data.X, data.y):
        slopes = np.diff(row[np.abs(row) > 0])
        if shape == 0:
            assert np.allclose(slopes, 0)
        else:
            assert np.allclose(slopes, slopes[0]) and (slopes[0] > 0) == (shape == 1)


def test_the_first_rows_of_large_sets_do_not_depend_on_how_many_follow():
    few, many = (load("curved_manifolds", n_samples=n, seed=2) for n in (100, BLOCK_ROWS + 100))
    whole = load("curved_manifolds", n_samples=2 * BLOCK_ROWS, seed=2)
    assert np.array_equal(many.X[:BLOCK_ROWS], whole.X[:BLOCK_ROWS])
    assert not np.array_equal(whole.X[:100], whole.X[BLOCK_ROWS : BLOCK_ROWS + 100])
    assert few.X.shape == (100, 50)


def test_curved_manifolds_are_curved_and_apart_but_for_their_noise():
    data = load("curved_manifolds", n_samples=20_000, seed=0, noise=0.0)
    new = load("curved_manifolds", n_samples=500, seed=1, noise=0.0)
    nearest = ((new.X[:, None, :] - data.X[None, :4000]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(data.y[nearest] == new.y) > 0.98  # the same manifolds whatever the seed
    own = data.X[data.y == 0].astype(float)
    spread = np.linalg.svd(own - own.mean(axis=0), compute_uv=False) ** 2
    # Of dimension 4, and bent into 8 directions.
    assert (spread > 1e-6 * spread[0]).sum() == 8 and spread[4:].sum() > 0.02 * spread.sum()
    noisy = load("curved_manifolds", n_samples=20_000, seed=0, noise=0.3)
    assert np.std(noisy.X - data.X) == pytest.approx(0.3, rel=0.01)


def test_deformations_are_as_strong_as_asked():
    rng = np.random.default_rng(0)
    images = np.zeros((2000, 28, 28), np.uint8)
    images[:, 13:15, 13:15] = 250

    def centers(**options):
        found = deform(images, rng, **options).astype(float)
        mass = found.sum(axis=(1, 2))
        assert (mass > 0).all()
        return np.stack([(found.sum(axis=2) @ np.arange(28)) / mass,
                         (found.sum(axis=1) @ np.arange(28)) / mass], axis=1)  # fmt: skip

    assert np.std(centers(elastic=1.5, affine=0)) == pytest.approx(1.5, rel=0.2)
    assert np.std(centers(elastic=0, affine=1.0)) == pytest.approx(1.0, rel=0.2)
    assert np.all(centers(elastic=0, affine=0) == 13.5)


@DIGITS
def test_deformed_digits_are_like_their_origins():
    train = load("mnist", part="train")
    images = np.asarray(train.X, np.uint8).reshape(-1, 28, 28)
    X, number = deformed_images(images, 500, np.random.default_rng(3))
    origin = images[number].reshape(500, -1)
    alike = [np.corrcoef(a, b)[0, 1] for a, b in zip(X, origin)]
    other = [np.corrcoef(a, b)[0, 1] for a, b in zip(X, np.roll(origin, 1, axis=0))]
    assert 0.6 < np.mean(alike) < 0.95 and np.mean(other) < np.mean(alike) - 0.3
    assert X.mean() == pytest.approx(origin.mean(), rel=0.15)
    data = load("deformed_mnist", n_samples=500, seed=3)
    assert data.image_shape == (28, 28) and np.bincount(data.y).min() > 20
