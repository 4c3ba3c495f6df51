"""Small images enlarged and framed."""

import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.transforms.framing import framed, framed_shape


def test_a_linear_image_stays_linear_and_the_frame_is_background():
    ramp = np.tile(np.arange(1.0, 17.0), (16, 1))
    ramp[0, 0] = -3.0
    image = framed(ramp.reshape(1, 256), (16, 16)).reshape(28, 28)
    # 20 pixels for 16: the centers of the new ones lie 0.8 of an old pixel apart.
    np.testing.assert_allclose(image[14, 5:23], 0.9 + 0.8 * np.arange(1, 19), atol=1e-5)
    for frame in (image[:3], image[25:], image[:, :3], image[:, 25:]):
        np.testing.assert_array_equal(frame, -3.0)


def test_the_sum_above_the_background_grows_with_the_area():
    values = np.zeros((1, 14, 18))
    values[0, 4:9, 5:12] = np.random.default_rng(0).random((5, 7))
    image = framed(values.reshape(1, -1), (14, 18))
    np.testing.assert_allclose(image.sum(), values.sum() * (20 / 14) ** 2, rtol=0.1)
    assert image.max() <= values.max()


def test_channels_are_enlarged_each_by_itself():
    values = np.random.default_rng(1).random((3, 15, 12, 2)).astype(np.float32)
    values[:, 0, 0] = 0  # the same background for each
    both = framed(values.reshape(3, -1), (15, 12, 2)).reshape(3, *framed_shape((15, 12, 2)))
    for channel in range(2):
        alone = framed(values[..., channel].reshape(3, -1), (15, 12))
        np.testing.assert_allclose(both[..., channel].reshape(3, -1), alone, atol=1e-6)


@pytest.mark.parametrize("shape", [(8, 8), (20, 28), (28, 40, 3), (16,)])
def test_other_images_and_series_stay_as_they_are(shape):
    values = np.random.default_rng(2).random((2, int(np.prod(shape)))).astype(np.float32)
    assert framed_shape(shape) == shape
    np.testing.assert_array_equal(framed(values, shape), values)


def test_rows_of_another_size_are_refused():
    with pytest.raises(InputError, match="needs rows of 256 values"):
        framed(np.zeros((2, 255)), (16, 16))
