"""The atlas through the workflow's own way to fit a method."""

from dataclasses import replace

import numpy as np
import pytest

from fewfold.methods.atlas.encoding import encode
from fewfold.methods.atlas.estimator import AtlasSVC
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.atlas.model import Atlas
from fewfold.methods.base import ManifoldModel
from fewfold.methods.registry import methods
from fewfold.pipeline.training import Inputs, fit_draw, pictures

OPTIONS = {"n_classes": 4, "seed": 5, "settings": {}}


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 4
    X = rng.normal(0, 0.4, (200, 6)) + 2 * np.eye(6)[truth]
    X_new = rng.normal(0, 0.4, (40, 6)) + 2 * np.eye(6)[np.arange(40) % 4]
    return X, truth, X_new


def inputs_of(X, X_new, **settings):
    atlas = fit_atlas(X, {"n_dims": 2, **settings}, random_state=5)
    points = encode(X, atlas, 10, np.arange(len(X)))
    return Inputs(X, X_new, manifold=ManifoldModel(atlas, {}, points, encode(X_new, atlas, 10)))


@pytest.mark.parametrize("finer", [{}, {"finer": None}])
def test_manifold_stage_and_estimator_agree(blobs, finer):
    X, truth, X_new = blobs
    labeled = np.arange(3, 43)
    found = fit_draw("atlas_svm", inputs_of(X, X_new, **finer), labeled, truth[labeled], **OPTIONS)
    y = np.full(200, -1)
    y[labeled] = truth[labeled]
    model = AtlasSVC(atlas=Atlas(n_dims=2, random_state=5, **finer)).fit(X, y)
    assert np.array_equal(found.labels, model.transduction_)
    assert np.allclose(found.proba_new, model.predict_proba(X_new), atol=1e-6)
    assert np.mean(found.labels_new == np.arange(40) % 4) > 0.9


def test_draws_that_miss_classes(blobs):
    X, truth, X_new = blobs
    inputs = inputs_of(X, X_new)
    labeled = np.flatnonzero((truth == 1) | (truth == 3))[:20]
    found = fit_draw("atlas_svm", inputs, labeled, truth[labeled], **OPTIONS)
    assert found.proba.shape == (200, 4) and set(found.labels) <= {1, 3}
    assert np.all(found.proba[:, [0, 2]] == 0)
    only = fit_draw("atlas_svm", inputs, labeled[:1], truth[labeled[:1]], **OPTIONS)
    assert set(only.labels) == {truth[labeled[0]]} and only.status != "ok"


def test_figures_come_from_the_fitted_model(blobs):
    X, truth, X_new = blobs
    inputs = replace(inputs_of(X, X_new), image_shape=(2, 3))
    labeled = np.arange(40)
    outcome = fit_draw("atlas_svm", inputs, labeled, truth[labeled], **OPTIONS)
    method = methods()["atlas_svm"]
    drawn = list(pictures(method, outcome, inputs, labeled, truth))
    titles = [title for title, _, _ in drawn]
    assert titles == ["Charts of the atlas", "Energy of the atlas", "The largest charts"]
    n_charts = outcome.details["n_charts"]
    assert drawn[0][1].startswith(f"{n_charts} charts")
    assert len(drawn[2][2].axes) == 5 * min(len(np.unique(truth)), n_charts)


def test_new_rows_are_encoded_once(blobs, monkeypatch):
    X, truth, X_new = blobs
    inputs = inputs_of(X, X_new)
    expected = fit_draw("atlas_svm", inputs, np.arange(40), truth[:40], **OPTIONS)

    def refuse(*_):
        raise AssertionError("encoded again")

    monkeypatch.setattr("fewfold.methods.atlas.estimator.encode", refuse)
    found = fit_draw("atlas_svm", inputs, np.arange(40), truth[:40], **OPTIONS)
    np.testing.assert_array_equal(found.proba_new, expected.proba_new)
    assert set(found.details) == {"gamma", "sigma", "C", "n_charts"}
