import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.transforms import images as im
from fewfold.transforms.canonical import FORMS, canonicalize, moments_of, register_form


@pytest.fixture
def letter():
    """A soft letter P: no symmetry, so each position is told apart."""
    from scipy import ndimage

    image = np.zeros((33, 33), np.float32)
    image[8:25, 13:16] = 1
    image[8:16, 13:20] = 1
    image[11:13, 16:18] = 0
    return ndimage.gaussian_filter(image, 1.0)


def flat(*images):
    return np.stack(images).reshape(len(images), -1)


def test_moments_of_a_rectangle():
    mass = np.zeros((1, 10, 12), np.float32)
    mass[0, 2:7, 3:10] = 2
    expected = [70, 4, 6, 2, 0, 4]
    np.testing.assert_allclose(moments_of(mass)[0], expected, rtol=1e-5, atol=1e-6)
    assert moments_of(np.zeros((1, 3, 5)))[0].tolist() == [0, 1, 2, 0, 0, 0]


def test_center_undoes_translations(letter):
    moved = [im.translate(letter[None], shift)[0] for shift in [(0, 0), (3, -2), (-4, 5)]]
    out = canonicalize(flat(*moved), (33, 33), ["center"])
    np.testing.assert_allclose(out[1:], out[:1].repeat(2, 0), atol=0.02)
    center = moments_of(out.reshape(-1, 33, 33))[:, 1:3]
    np.testing.assert_allclose(center, 16, atol=1e-2)


def test_deskew_removes_slant(letter):
    slanted = [im.shear(letter[None], slope)[0] for slope in (0.0, 0.3, -0.4)]
    before = np.abs(flat(*slanted)[1:] - letter.ravel()).max()
    out = canonicalize(flat(*slanted), (33, 33), "deskew")
    covariance = moments_of(out.reshape(-1, 33, 33))[:, 4]
    assert np.abs(moments_of(np.stack(slanted))[1:, 4]).min() > 5
    np.testing.assert_allclose(covariance, 0, atol=0.2)
    assert np.abs(out[1:] - out[0]).max() < 0.4 * before


def test_scale_brings_sizes_together(letter):
    sizes = [im.scale(letter[None], factor)[0] for factor in (1.0, 0.85, 1.3)]
    out = canonicalize(flat(*sizes), (33, 33), ["scale"]).reshape(-1, 33, 33)
    spread = np.sqrt(moments_of(out)[:, [3, 5]].sum(axis=1))
    np.testing.assert_allclose(spread, 33 / 4, rtol=0.05)


def test_rotate_undoes_any_turn_including_the_ambiguous_half(letter):
    turned = [im.rotate(letter[None], angle)[0] for angle in (0, 40, 135, 180, 290)]
    out = canonicalize(flat(*turned), (33, 33), ["rotate"])
    assert (
        np.abs(out[1:] - out[0]).mean() < 0.25 * np.abs(flat(*turned)[1:] - letter.ravel()).mean()
    )
    variances = moments_of(out.reshape(-1, 33, 33))
    assert np.all(variances[:, 3] > variances[:, 5])


def test_forms_compose_with_one_resampling(letter):
    posed = im.translate(im.shear(letter[None], 0.3), (2, 1))
    out = canonicalize(flat(posed[0], letter), (33, 33), ["center", "deskew", "scale"])
    moments = moments_of(out.reshape(-1, 33, 33))
    np.testing.assert_allclose(moments[:, 4], 0, atol=0.6)
    np.testing.assert_allclose(np.sqrt(moments[:, 3] + moments[:, 5]), 33 / 4, rtol=0.06)
    once = canonicalize(flat(letter), (33, 33), ["deskew"])
    again = canonicalize(once, (33, 33), ["deskew"])
    np.testing.assert_allclose(again, once, atol=0.08)


def test_negative_backgrounds_and_channels(letter):
    ink = 2 * letter - 1
    out = canonicalize(flat(ink), (33, 33), ["deskew"])
    plain = canonicalize(flat(letter), (33, 33), ["deskew"])
    np.testing.assert_allclose(out, 2 * plain - 1, atol=1e-4)
    color = np.stack([letter, 0.5 * letter], axis=-1).reshape(1, -1)
    both = canonicalize(color, (33, 33, 2), ["deskew"]).reshape(33, 33, 2)
    np.testing.assert_allclose(both[..., 1], 0.5 * both[..., 0], atol=1e-5)


def test_blank_images_stay_blank():
    out = canonicalize(np.full((2, 49), 3.0), (7, 7), ["deskew", "scale", "rotate"])
    np.testing.assert_array_equal(out, 3.0)


def test_progress_and_no_forms(letter):
    seen = []
    X = np.repeat(flat(letter), 3, axis=0)
    canonicalize(X, (33, 33), ["center"], progress=seen.append)
    assert sum(seen) == 3
    np.testing.assert_array_equal(canonicalize(X, (33, 33), []), X)


def test_registered_forms_are_used(letter):
    register_form("mirror", lambda mass, moments, matrices: matrices @ np.diag([1.0, -1.0]))
    try:
        out = canonicalize(flat(letter), (33, 33), ["center", "mirror"])
        plain = canonicalize(flat(letter), (33, 33), ["center"]).reshape(33, 33)
        np.testing.assert_allclose(out.reshape(33, 33), plain[:, ::-1], atol=1e-5)
        with pytest.raises(InputError, match="exists already"):
            register_form("mirror", FORMS["center"])
    finally:
        del FORMS["mirror"]


def test_errors_name_what_is_allowed():
    with pytest.raises(InputError, match="deskew"):
        canonicalize(np.zeros((1, 9)), (3, 3), ["straighten"])
    with pytest.raises(InputError, match="series"):
        canonicalize(np.zeros((1, 9)), (9,), ["center"])
    with pytest.raises(InputError, match="9 features"):
        canonicalize(np.zeros((1, 9)), (4, 4), ["center"])
