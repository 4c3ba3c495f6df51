"""The atlas's adapters for the workflow."""

import numpy as np
import pytest

from fewfold.atlas import Atlas, AtlasSVC, atlas_kernel_rows, encode
from fewfold.atlas.adapter import (
    fit_manifold,
    fit_predict,
    fit_predict_kernel,
    scales_of,
    stored_code,
)
from fewfold.exceptions import ConfigError
from fewfold.training import Inputs


class Kernel:
    """The kernel of a stage, computed when asked."""

    def __init__(self, code, code_new, gamma, sigma):
        self.code, self.code_new, self.scales = code, code_new, (gamma, sigma)

    def rows(self, indices):
        part = {name: values[indices] for name, values in self.code.items()}
        return atlas_kernel_rows(part, self.code, *self.scales)

    def new_rows(self, indices):
        part = {name: values[indices] for name, values in self.code.items()}
        return atlas_kernel_rows(part, self.code_new, *self.scales)


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 4
    X = rng.normal(0, 0.4, (200, 6)) + 2 * np.eye(6)[truth]
    X_new = rng.normal(0, 0.4, (40, 6)) + 2 * np.eye(6)[np.arange(40) % 4]
    return X, truth, X_new


def test_kernel_stage_manifold_stage_and_estimator_agree(blobs):
    X, truth, X_new = blobs
    labeled = np.arange(3, 43)
    manifold = fit_manifold(X, {"n_dims": 2, "finer": None}, seed=5)
    inputs = Inputs(X, X_new, manifold=manifold)
    one = fit_predict(inputs, labeled, truth[labeled], n_classes=4, seed=5, settings={})
    y = np.full(200, -1)
    y[labeled] = truth[labeled]
    model = AtlasSVC(atlas=Atlas(n_dims=2, finer=None, random_state=5)).fit(X, y)
    assert np.array_equal(one.labels, model.transduction_)
    assert np.array_equal(one.labels_new, model.predict(X_new))
    code = stored_code(manifold)
    kernel = Kernel(code, encode(X_new, manifold), *scales_of(manifold, {}, 40))
    inputs = Inputs(X, X_new, kernel=kernel)
    two = fit_predict_kernel(inputs, labeled, truth[labeled], n_classes=4, seed=5, settings={})
    assert np.allclose(one.proba, two.proba, atol=1e-4)
    assert np.allclose(one.proba_new, two.proba_new, atol=1e-4)
    assert np.mean(one.labels_new == np.arange(40) % 4) > 0.9


def test_encodings_of_new_rows_in_the_points_file_are_no_rows_of_the_atlas(blobs):
    X, truth, X_new = blobs
    labeled = np.arange(3, 43)
    manifold = fit_manifold(X, {"n_dims": 2}, seed=5)
    with_new = manifold | {f"code_{k}_new": v for k, v in encode(X_new, manifold).items()}
    one, two = (
        fit_predict(
            Inputs(X, X_new, manifold=m), labeled, truth[labeled], n_classes=4, seed=5, settings={}
        )
        for m in (manifold, with_new)
    )
    assert np.array_equal(one.labels, two.labels)
    assert np.array_equal(one.labels_new, two.labels_new)


def test_two_atlases_through_the_manifold_stage(blobs):
    X, truth, X_new = blobs
    labeled = np.arange(3, 43)
    inputs = Inputs(X, X_new, manifold=fit_manifold(X, {"n_dims": 2}, seed=5))
    found = fit_predict(inputs, labeled, truth[labeled], n_classes=4, seed=5, settings={})
    y = np.full(200, -1)
    y[labeled] = truth[labeled]
    model = AtlasSVC(atlas=Atlas(n_dims=2, random_state=5)).fit(X, y)
    assert model.options_.finer is not None
    assert np.array_equal(found.labels, model.transduction_)
    assert np.allclose(found.proba_new, model.predict_proba(X_new), atol=1e-6)


@pytest.mark.parametrize("adapter", [fit_predict, fit_predict_kernel])
def test_draws_that_miss_classes(blobs, adapter):
    X, truth, X_new = blobs
    manifold = fit_manifold(X, {"n_dims": 2})
    code = stored_code(manifold)
    kernel = Kernel(code, encode(X_new, manifold), *scales_of(manifold, {}))
    inputs = Inputs(X, X_new, manifold=manifold, kernel=kernel)
    labeled = np.flatnonzero((truth == 1) | (truth == 3))[:20]
    found = adapter(inputs, labeled, truth[labeled], n_classes=4, seed=0, settings={})
    assert found.proba.shape == (200, 4) and set(found.labels) <= {1, 3}
    assert np.all(found.proba[:, [0, 2]] == 0)
    only = adapter(inputs, labeled[:1], truth[labeled[:1]], n_classes=4, seed=0, settings={})
    assert set(only.labels) == {truth[labeled[0]]} and only.status != "ok"


def test_settings_of_the_manifold_stage(blobs):
    X, _, _ = blobs
    manifold = fit_manifold(X, {"n_dims": 2, "q": 3})
    assert manifold["code_charts"].shape[1] <= 3
    assert all(isinstance(v, np.ndarray | np.generic) for v in manifold.values())
    with pytest.raises(ConfigError, match="dims"):
        fit_manifold(X, {"dims": 2})
