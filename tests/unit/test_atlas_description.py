"""Numbers and pictures that describe an atlas."""

import numpy as np
import pytest
from plane_atlas import chart_segments, plane_example, plane_figure

from fewfold.exceptions import InputError
from fewfold.methods.atlas.description import (
    chart_images,
    describe_charts,
    energy_curve,
    largest_charts,
    member_images,
)
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.atlas.settings import AtlasSettings


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.normal(0, 0.2, (150, 4)) + 4 * np.eye(4)[y]
    return X, y, fit_atlas(X, AtlasSettings(n_dims=2, mdl=5.0))


def test_counts_equal_their_definitions(blobs):
    _, y, atlas = blobs
    about = describe_charts(atlas, y)
    assert about["size"].sum() == 150 and about["members"].sum() == len(atlas["member_rows"])
    for c in range(len(about["size"])):
        inside = y[atlas["interior"] == c]
        assert about["purity"][c] == np.mean(inside == about["main_class"][c])
    own = about["main_class"][atlas["interior"]]
    assert about["impure"] == pytest.approx(np.mean(own != y))
    several = [np.sum(atlas["member_rows"] == p) > 1 for p in range(150)]
    assert about["overlap"] == pytest.approx(np.mean(several))


def test_unknown_labels_are_left_out(blobs):
    _, y, atlas = blobs
    nothing = describe_charts(atlas, np.full(150, -1))
    assert np.isnan(nothing["purity"]).all() and (nothing["main_class"] == -1).all()
    with pytest.raises(InputError, match="one each"):
        describe_charts(atlas, y[:10])


def test_largest_charts_of_each_class(blobs):
    _, y, atlas = blobs
    about = describe_charts(atlas, y)
    picked = largest_charts(about)
    assert about["main_class"][picked].tolist() == sorted(set(about["main_class"].tolist()))
    assert len(largest_charts(describe_charts(atlas))) >= 1


def test_images_are_in_the_space_of_the_features(blobs):
    X, _, _ = blobs
    for kept in (None, 3):
        atlas = fit_atlas(X, AtlasSettings(n_dims=2, mdl=5.0, max_features=kept))
        images = chart_images(atlas, [0], n_directions=4)
        assert images.shape == (1, 5, 4)
        rows = atlas["member_rows"][atlas["member_charts"] == 0]
        # Three components hold nearly all of these points.
        assert np.allclose(images[0, 0], X[rows].mean(axis=0), atol=1e-6 if kept is None else 0.3)
        assert np.allclose(np.linalg.norm(images[0, 1:3], axis=1), 1)
        assert np.all(images[0, 3:] == 0)


def test_images_of_charts_in_other_features_are_those_of_their_members(blobs):
    X, _, atlas = blobs
    shown = member_images(atlas, X, [0, 1], 2)
    np.testing.assert_allclose(shown, chart_images(atlas, [0, 1], 2), atol=1e-5)
    wider = np.hstack([X, np.ones((len(X), 2))])
    assert np.all(member_images(atlas, wider, [0])[0, 0, -2:] == 1)


def test_energy_curve_and_plane_examples(blobs):
    _, _, atlas = blobs
    curve = energy_curve(atlas)
    assert curve["kind"][0] == "start" and np.all(np.diff(curve["energy"]) <= 1e-9)
    for name in ("circle", "eight"):
        X = plane_example(name, 200)
        assert X.shape == (200, 2)
        flat = fit_atlas(X, {"n_dims": 1, "mdl": 0.2})
        ends = chart_segments(flat, X)
        assert ends.shape[1:] == (2, 2) and len(ends) >= len(flat["means"])
        assert np.all(np.abs(ends) < 2)
    with pytest.raises(InputError):
        plane_example("square")


def test_figures_hold_what_they_should():
    from fewfold.methods.atlas.figures import chart_figure

    figure = plane_figure((0.05, 5.0), n=120)
    assert len(figure.axes) == 4
    few, many = (int(ax.get_title().split(":")[1].split()[0]) for ax in figure.axes[1::-1])
    assert few <= many
    figure = chart_figure(np.ones((2, 3, 6)), (2, 3), ["a", "b"])
    assert len(figure.axes) == 6
