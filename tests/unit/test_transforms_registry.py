import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.transforms import (
    as_images,
    compose,
    get_transform,
    register_transform,
    virtual_samples,
)
from fewfold.transforms import images as im
from fewfold.transforms.registry import REGISTRY

IMAGES = ["rotation", "translation", "scaling", "shear", "thickness", "jitter"]
SERIES = ["time_shift", "time_warp", "jitter"]


@pytest.fixture
def batch():
    return np.random.default_rng(0).random((3, 9, 9), dtype=np.float32)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("channels", [(), (2,)])
def test_identity_parameter_leaves_images_alone(name, channels):
    batch = np.random.default_rng(1).random((2, 8, 6, *channels), dtype=np.float32)
    transform = get_transform(name)
    out = transform(batch, transform.grid[transform.identity])
    np.testing.assert_allclose(out, batch, atol=1e-6)
    other = transform(batch, transform.grid[transform.identity - 1])
    assert other.shape == batch.shape and np.abs(other - batch).max() > 1e-3


@pytest.mark.parametrize("name", SERIES)
def test_identity_parameter_leaves_series_alone(name):
    series = np.random.default_rng(1).random((2, 20), dtype=np.float32)
    transform = get_transform(name)
    out = transform(series, transform.grid[transform.identity])
    np.testing.assert_allclose(out, series, atol=1e-6)


def test_right_angle_is_an_exact_turn(batch):
    np.testing.assert_allclose(im.rotate(batch, 90), np.rot90(batch, axes=(1, 2)), atol=1e-5)
    back = im.rotate(im.rotate(batch, 90), -90)
    np.testing.assert_allclose(back, batch, atol=1e-5)


def test_whole_pixel_translation_is_a_roll(batch):
    moved = im.translate(batch, (2, -1))
    np.testing.assert_allclose(moved[:, 2:, :-1], batch[:, :-2, 1:], atol=1e-6)
    least = batch.reshape(3, -1).min(axis=1)
    np.testing.assert_allclose(moved[:, 0, 0], least, atol=1e-6)


def test_scaling_and_shear_move_known_points():
    dot = np.zeros((1, 9, 9), np.float32)
    dot[0, 2, 4] = 1
    assert im.scale(dot, 2.0)[0, 0, 4] == pytest.approx(1)
    assert im.shear(dot, 1.0)[0, 2, 6] == pytest.approx(1)
    with pytest.raises(InputError, match="positive"):
        im.scale(dot, 0)


def test_thickness_grows_and_shrinks_mass():
    bar = np.zeros((1, 9, 9), np.float32)
    bar[0, 2:7, 3:6] = 1
    assert im.thicken(bar, 1.0).sum() == 15 + 16
    assert im.thicken(bar, -1.0).sum() == 3
    assert im.thicken(bar, 0.5).sum() == pytest.approx(15 + 8)


def test_background_choices():
    image = np.full((1, 4, 4), 5.0, np.float32)
    image[0, 1, 1] = 1
    image[0, 2, 2] = 9
    found = [float(im.background(image, fill)[0]) for fill in ("min", "max", "border", 2)]
    assert found == [1, 9, 5, 2]
    with pytest.raises(InputError, match="fill"):
        im.background(image, "white")


def test_copies_of_a_row_do_not_depend_on_its_batch(batch):
    rows = batch.reshape(3, -1)
    for name in IMAGES:
        together = virtual_samples(rows, (9, 9), name)
        alone = virtual_samples(rows[1:2], (9, 9), name)
        np.testing.assert_allclose(together[1:2], alone, atol=1e-6)


def test_ring_line_star_and_product_edges():
    assert get_transform("rotation", step=90).edges().tolist() == [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert get_transform("scaling", grid=[0.9, 1.0, 1.1]).edges().tolist() == [[0, 1], [1, 2]]
    assert get_transform("jitter", copies=2).edges().tolist() == [[0, 1], [0, 2]]
    shifts = get_transform("translation")
    assert shifts.n_copies == 9 and shifts.grid[shifts.identity] == (0.0, 0.0)
    assert len(shifts.edges()) == 12
    assert get_transform("rotation", grid=[0]).edges().shape == (0, 2)


def test_virtual_samples_hold_the_row_itself_and_the_others(batch):
    rows = batch.reshape(3, -1)
    copies = virtual_samples(rows, (9, 9), "rotation", step=90)
    assert copies.shape == (3, 4, 81)
    np.testing.assert_array_equal(copies[:, 0], rows)
    np.testing.assert_allclose(copies[:, 2], rows[:, ::-1], atol=1e-5)


def test_composition_applies_in_turn(batch):
    both = compose(["rotation", {"name": "translation", "grid": [(0, 0), (1, 0)]}])
    assert both.n_copies == 48
    turned = im.translate(im.rotate(batch, 90.0), (1, 0))
    np.testing.assert_allclose(both(batch, (90.0, (1, 0))), turned, atol=1e-6)


def test_functions_and_registered_factories(batch):
    darker = get_transform(lambda b, p: b - p, grid=[0, 0.5], name="darker")
    np.testing.assert_allclose(darker(batch, 0.5), batch - 0.5)
    register_transform("darker", lambda: darker)
    try:
        assert get_transform("darker") is darker
        with pytest.raises(InputError, match="exists already"):
            register_transform("darker", lambda: darker)
    finally:
        del REGISTRY["darker"]
    rows = virtual_samples(batch.reshape(3, -1), None, darker)
    assert rows.shape == (3, 2, 81)


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("rotaton", {}, "unknown"),
        ("rotation", {"step": 50}, "divide 360"),
        ("rotation", {"speed": 1}, "do not fit"),
        ("scaling", {"speed": 1}, "do not fit"),
        ("scaling", {"grid": [2.0]}, "lacks 1.0"),
        ({"grid": [0]}, {}, "no 'name'"),
        ([], {}, "no transforms"),
        (np.sin, {}, "needs grid"),
        (np.sin, {"grid": [0], "topology": "tree"}, "choose one of"),
    ],
)
def test_wrong_specifications_are_refused(spec, options, message):
    with pytest.raises(InputError, match=message):
        get_transform(spec, **options)


@pytest.mark.parametrize("shape", [(5, 5), (81, 2), (0, 81), "9x9", 81, (3, 3, 3, 3)])
def test_wrong_image_shapes_are_refused(shape):
    with pytest.raises(InputError, match="image_shape"):
        as_images(np.zeros((2, 81)), shape)


def test_series_given_to_an_image_transform_is_refused():
    with pytest.raises(InputError, match="time_shift"):
        virtual_samples(np.zeros((2, 10)), (10,), "rotation")
    with pytest.raises(InputError, match="length"):
        virtual_samples(np.zeros((2, 10)), (5, 2), "time_shift")


def test_transform_that_changes_the_shape_is_refused(batch):
    crop = get_transform(lambda b, p: b[:, :p], grid=[0, 4], name="crop")
    with pytest.raises(InputError, match="keep the shape"):
        crop(batch, 4)


def test_time_shift_and_warp_of_a_ramp():
    ramp = np.arange(11, dtype=np.float32)[None]
    np.testing.assert_allclose(im.shift_time(ramp, 2)[0], np.maximum(np.arange(11) - 2, 0))
    bent = im.warp_time(ramp, 0.5)[0]
    assert bent[0] == 0 and bent[-1] == pytest.approx(10) and np.all(np.diff(bent) > 0)
    assert bent[5] == pytest.approx(5 + 5 / np.pi, abs=1e-5)
    with pytest.raises(InputError, match="between"):
        im.warp_time(ramp, 1.0)
