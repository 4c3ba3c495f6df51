"""Orientation histograms against a direct computation, pixel by pixel."""

import math

import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.transforms.images import translate
from fewfold.transforms.orientation import histogram_grid, orientation_histograms


def direct(image, sigma, step):
    """The definition in loops: one image (h, w, channels), without scaling to length 1."""
    height, width, channels = image.shape
    strength = np.zeros((8, height, width))
    for i in range(height):
        for j in range(width):
            best = (0.0, 0.0)
            for c in range(channels):
                down = image[min(i + 1, height - 1), j, c] - image[max(i - 1, 0), j, c]
                across = image[i, min(j + 1, width - 1), c] - image[i, max(j - 1, 0), c]
                if math.hypot(down, across) > math.hypot(*best):
                    best = down, across
            place = (math.atan2(*best) / (2 * math.pi) * 8) % 8
            low = int(place) % 8
            part = place - int(place)
            strength[low, i, j] += (1 - part) * math.hypot(*best) / 2
            strength[(low + 1) % 8, i, j] += part * math.hypot(*best) / 2
    places = [sample_places(side, step) for side in (height, width)]
    out = []
    for y in places[0]:
        for x in places[1]:
            rows = [math.exp(-((y - i) ** 2) / (2 * sigma**2)) for i in range(height)]
            columns = [math.exp(-((x - j) ** 2) / (2 * sigma**2)) for j in range(width)]
            weights = np.outer(rows, columns) / (sum(rows) * sum(columns))
            out += [math.sqrt((strength[d] * weights).sum()) for d in range(8)]
    return np.array(out)


def sample_places(side, step):
    count = 1
    # As many as fit with at least a quarter of a step left free at either border.
    while side - 1 - step * count >= step / 2:
        count += 1
    free = (side - 1 - step * (count - 1)) / 2
    return [free + step * i for i in range(count)]


@pytest.mark.parametrize("shape", [(28, 28), (8, 8), (16, 12), (11, 17, 3)])
def test_equal_to_the_definition(shape):
    rng = np.random.default_rng(0)
    X = rng.random((3, int(np.prod(shape))))
    block, sigma, step = histogram_grid(shape)
    assert block == 1
    found = orientation_histograms(X, shape, normalize=False)
    for row, image in zip(found, X):
        expected = direct(image.reshape(*shape[:2], -1).astype(np.float32), sigma, step)
        np.testing.assert_allclose(row, expected, atol=2e-5)


def test_648_numbers_for_28_pixels_whatever_the_block_of_rows(monkeypatch):
    X = np.random.default_rng(1).random((7, 784))
    whole = orientation_histograms(X, (28, 28))
    assert whole.shape == (7, 648) and whole.dtype == np.float32
    monkeypatch.setattr("fewfold.transforms.orientation._BLOCK_VALUES", 2 * 784 * 8)
    np.testing.assert_allclose(orientation_histograms(X, (28, 28)), whole, atol=1e-6)


def test_contrast_does_not_count_and_an_even_image_is_zero():
    image = np.random.default_rng(2).random((1, 256))
    same = orientation_histograms(0.2 + 0.1 * image, (16, 16))
    np.testing.assert_allclose(same, orientation_histograms(image, (16, 16)), atol=1e-5)
    assert np.linalg.norm(same) == pytest.approx(1)
    assert not orientation_histograms(np.full((1, 256), 3.0), (16, 16)).any()


def test_a_shift_by_a_pixel_changes_histograms_less_than_pixels():
    yy, xx = np.indices((28, 28))
    bar = ((abs(xx - 13) < 2) & (abs(yy - 13) < 8)).astype(np.float32)[None]
    moved = translate(bar, (0, 1))
    rows = np.concatenate([bar, moved]).reshape(2, -1)
    features = orientation_histograms(rows, (28, 28))
    by_pixels = 1 - rows[0] @ rows[1] / np.linalg.norm(rows, axis=1).prod()
    assert 1 - features[0] @ features[1] < by_pixels / 2


def test_large_images_are_averaged_first():
    shape = (130, 150, 3)
    block, _, _ = histogram_grid(shape)
    assert block == 3
    rng = np.random.default_rng(3)
    small = rng.random((2, 43, 50, 3))
    large = np.zeros((2, *shape))
    large[:, :129] = small.repeat(3, axis=1).repeat(3, axis=2)
    found = orientation_histograms(large.reshape(2, -1), shape)
    np.testing.assert_allclose(
        found, orientation_histograms(small.reshape(2, -1), (43, 50, 3)), atol=1e-5
    )


def test_series_are_refused_in_words():
    with pytest.raises(InputError, match="is a series"):
        orientation_histograms(np.zeros((2, 30)), (30,))
