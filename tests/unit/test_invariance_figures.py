"""The figures' numbers, and that they draw."""

import numpy as np
import pytest

from fewfold.report import invariance_figures as figures


def test_stronger_deformation_makes_the_kernel_flatter_over_the_angle():
    image = figures.letter_a()
    angles, values = figures.kernel_against_angle(image, (0.0, 10.0, 1000.0))
    own = int(np.flatnonzero(angles == 0)[0])
    np.testing.assert_allclose(values[:, own], 1, atol=1e-5)
    least = values.min(axis=1)
    assert least[0] < 0.02 < 0.05 < least[1] < 0.3 < 0.7 < least[2]
    # Symmetric: turning one way is turning the other way.
    np.testing.assert_allclose(values[2], values[2][::-1], atol=0.02)


def test_the_letter_is_a_picture_that_turning_changes():
    image = figures.letter_a()
    assert image.shape == (17, 17) and 0 <= image.min() < 0.1 < 0.9 < image.max() <= 1
    np.testing.assert_allclose(image, image[:, ::-1], atol=1e-9)
    assert np.abs(image - image[::-1]).mean() > 0.1


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.angle_figure(),
        lambda: figures.contour_figure(reach=2.0),
        lambda: figures.rows_figure(np.random.default_rng(0).random((5, 36)), (6, 6)),
    ],
)
def test_figures_draw(draw, tmp_path):
    figure = draw()
    figure.savefig(tmp_path / "figure.png", dpi=50)
    assert (tmp_path / "figure.png").stat().st_size > 800 and figure.axes
