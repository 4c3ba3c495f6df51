"""Figures of a fitted `InvariantSVC`: their numbers, and that they draw."""

import numpy as np
import pytest

from fewfold import InvariantSVC
from fewfold.methods.invariance import figures
from fewfold.methods.invariance.samples import default_transform
from fewfold.methods.registry import methods
from fewfold.pipeline.training import Inputs, fit_draw, pictures
from fewfold.transforms import get_transform


def bars(n=40, seed=0):
    """Straight bars against corners, 9 x 9 pixels."""
    rng = np.random.default_rng(seed)
    images = np.zeros((n, 9, 9), np.float32)
    y = np.arange(n) % 2
    images[:, 1:8, 4] = 1
    images[y == 1, 5:8, 4] = 0
    images[y == 1, 4, 4:8] = 1
    images += rng.normal(0, 0.05, images.shape)
    return images.reshape(n, 81), y


def fitted(deformation, **options):
    X, y = bars()
    y[12:] = -1
    model = InvariantSVC(image_shape=(9, 9), deformation=deformation, cv=None, **options)
    return model.fit(X, y), X


def test_stronger_deformation_makes_the_kernel_flatter_over_the_angle():
    least = []
    for strength in (0.0, 10.0, 1000.0):
        model, X = fitted(strength, gamma=0.5)
        turn = default_transform(None, (9, 9))
        angles, parameters, label = figures.path(turn)
        moved = figures.along(turn, X[3:4], (9, 9), parameters)[:, 0]
        plain, deformed = figures.kernel_values(model, moved, 3)
        own = int(np.flatnonzero(angles == 0)[0])
        np.testing.assert_allclose([plain[own], deformed[own]], 1, atol=1e-4)
        if strength == 0:
            np.testing.assert_allclose(plain, deformed, atol=1e-4)
        least.append(deformed.min())
    assert least[0] < 0.1 < least[1] < least[2] and least[2] > 0.5
    assert label == "rotation (degrees)"


def test_an_invariant_model_keeps_labels_where_a_plain_one_does_not():
    turn = get_transform("rotation")
    shares = []
    for strength in (0.0, 1000.0):
        model, X = fitted(strength)
        shares.append(figures.kept_labels(model, X[12:], turn, [0.0, 45.0, 90.0, 135.0]))
    assert shares[0][0] == shares[1][0] == 1
    assert shares[1].mean() > shares[0].mean() and shares[1].min() > 0.9


def test_a_path_follows_the_grid_of_any_transform():
    places, parameters, label = figures.path(get_transform("translation"))
    assert places.tolist() == list(range(9)) and label == "copy under translation"
    assert parameters[4] == (0.0, 0.0)
    roll = get_transform(lambda b, t: np.roll(b, t, axis=1), grid=[2, 0, 1], topology="ring")
    places, parameters, _ = figures.path(roll)
    assert places.tolist() == [0, 1, 2] and parameters == [0, 1, 2]


@pytest.mark.parametrize(
    ("transform", "shape", "count"),
    [
        ("rotation", (9, 9), 4),
        ({"name": "translation", "reach": 1}, (9, 9), 3),
        ({"name": "jitter", "copies": 3}, None, 2),
        ("time_shift", (81,), 2),
    ],
)
def test_the_figures_of_a_draw_show_its_own_transform(transform, shape, count, tmp_path):
    X, y = bars()
    inputs = Inputs(X, image_shape=shape)
    labeled = np.arange(12)[::-1]
    method, draw = methods()["invariant_svm"], {"seed": 0, "settings": {"cv": None}}
    draw["settings"]["transform"] = transform
    outcome = fit_draw(method, inputs, labeled, y[labeled], n_classes=2, **draw)
    drawn = list(pictures(method, outcome, inputs, labeled, y))
    assert len(drawn) == count
    name = transform if isinstance(transform, str) else transform["name"]
    assert any(name in title for title, _, _ in drawn)
    assert any("deformation 100" in caption for _, caption, _ in drawn)
    for _, _, figure in drawn:
        figure.savefig(tmp_path / "figure.png", dpi=50)
        assert (tmp_path / "figure.png").stat().st_size > 800 and figure.axes
