"""`Atlas` and `AtlasSVC`: scikit-learn's checks, degenerate input, seeds, learning."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from fewfold.exceptions import InputError
from fewfold.methods.atlas.encoding import encode
from fewfold.methods.atlas.estimator import AtlasSVC
from fewfold.methods.atlas.fitting import KINDS, fit_atlas
from fewfold.methods.atlas.kernels import atlas_kernel_rows, kernel_scales
from fewfold.methods.atlas.model import Atlas
from fewfold.methods.atlas.settings import AtlasSettings
from fewfold.methods.base import ManifoldModel


def rings(n=300, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    truth = np.arange(n) % 2
    X = (1 + truth)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + rng.normal(0, 0.03, (n, 2)), truth


def test_scikit_learn_checks_atlas():
    check_estimator(Atlas())


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_scikit_learn_checks_classifier(kernel):
    # The check trains on the labels -1 and 1; here -1 means unlabeled.
    expected = {"check_classifiers_classes": "-1 means unlabeled"}
    check_estimator(AtlasSVC(kernel), expected_failed_checks=expected)


def test_energy_never_rises_and_every_kind_of_move_is_recorded():
    X, _ = rings()
    atlas = Atlas(n_dims=1, mdl=0.2).fit(X)
    assert np.all(np.diff(atlas.energy_) <= 1e-9)
    kinds = {KINDS[k] for k in atlas.atlas_["energy_kind"]}
    assert {"start", "expansion", "refit"} <= kinds
    assert len(np.unique(atlas.interior_)) == atlas.n_charts_


def test_more_expensive_charts_are_fewer():
    X, _ = rings()
    counts = [Atlas(n_dims=1, mdl=mdl).fit(X).n_charts_ for mdl in (0.01, 0.1, 1.0, 1e6)]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[2]
    assert counts[-1] == 1


def test_every_point_is_in_the_interior_of_its_chart():
    X, _ = rings(120)
    fitted = Atlas(n_dims=1, mdl=0.2, n_neighbors=3).fit(X)
    from fewfold.graph.neighbors import nearest_neighbors

    belongs = set(
        zip(fitted.atlas_["member_rows"].tolist(), fitted.atlas_["member_charts"].tolist())
    )
    for q, hood in enumerate(nearest_neighbors(X, 3).indices):
        assert all((int(p), int(fitted.interior_[q])) in belongs for p in [q, *hood])


def test_same_seed_same_atlas_and_given_neighbors_are_used():
    from fewfold.graph.neighbors import nearest_neighbors

    X, _ = rings()
    one, two = (Atlas(n_dims=1, random_state=3).fit(X) for _ in range(2))
    assert np.array_equal(one.interior_, two.interior_)
    assert np.array_equal(one.energy_, two.energy_)
    given = Atlas(n_dims=1, random_state=3).fit(X, neighbors=nearest_neighbors(X, 6))
    assert np.array_equal(given.interior_, one.interior_)
    other = Atlas(n_dims=1, random_state=4).fit(X)
    assert not np.array_equal(other.energy_, one.energy_)


def test_scale_of_the_data_does_not_matter():
    X, y = rings()
    y = np.where(np.arange(len(y)) < 30, y, -1)
    one, two = (AtlasSVC(atlas=Atlas(n_dims=1)).fit(s * X, y) for s in (1.0, 256.0))
    assert np.array_equal(one.transduction_, two.transduction_)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "quad", "quadcross", "nearest"])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_learns_two_rings_from_few_labels(kernel, assignment):
    X, truth = rings()
    y = np.where(np.arange(len(truth)) < 60, truth, -1)
    model = AtlasSVC(kernel, assignment=assignment, atlas=Atlas(n_dims=1, mdl=0.05)).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.9
    assert np.array_equal(model.transduction_[:60], truth[:60])
    X_new, truth_new = rings(seed=1)
    assert np.mean(model.predict(X_new) == truth_new) > 0.85
    assert np.allclose(model.predict_proba(X_new).sum(axis=1), 1)


def test_sgd_and_batch_agree_on_most_points():
    X, truth = rings()
    batch, sgd = (
        AtlasSVC("linear", solver=s, atlas=Atlas(n_dims=1, mdl=0.05)).fit(X, truth)
        for s in ("batch", "sgd")
    )
    assert np.mean(batch.predict(X) == sgd.predict(X)) > 0.95


def test_three_classes_and_cross_validated_scales():
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 3
    X = rng.normal(0, 0.4, (240, 5)) + 2 * np.eye(5)[truth]
    y = np.where(np.arange(240) < 60, truth, -1)
    model = AtlasSVC(cv=3, atlas=Atlas(n_dims=2)).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.95
    assert model.decision_function(X).shape == (240, 3)
    fixed = AtlasSVC(cv=3, gamma=1.0, sigma=2.0, C=5.0, atlas=Atlas(n_dims=2)).fit(X, y)
    assert (fixed.options_.gamma, fixed.options_.sigma, fixed.options_.C) == (1.0, 2.0, 5.0)


def test_large_kernels_are_built_pair_by_pair(monkeypatch):
    import fewfold.svm.kernel_svm as svm

    X, truth = rings(200)
    truth = truth + 2 * (X[:, 0] > 0)
    whole = AtlasSVC(scheme="pairs", atlas=Atlas(n_dims=1)).fit(X, truth)
    rest = AtlasSVC(atlas=Atlas(n_dims=1)).fit(X, truth)
    assert rest.learner_.svm.pairs[:, 1].tolist() == [-1] * 4
    assert np.mean(rest.predict(X) == whole.predict(X)) > 0.95
    monkeypatch.setattr(svm, "_WHOLE", 10)
    pairs = AtlasSVC(scheme="pairs", atlas=Atlas(n_dims=1)).fit(X, truth)
    assert pairs.learner_.svm.pairs.tolist()[0] == [0, 1]
    # Rows come in another order, and the solver stops within 1e-3 of the optimum.
    assert np.allclose(whole.predict_proba(X), pairs.predict_proba(X), atol=5e-3)
    assert np.array_equal(whole.predict(X), pairs.predict(X))


def test_prefitted_atlas_and_sparse_rows():
    X, truth = rings()
    atlas = fit_atlas(X, AtlasSettings(n_dims=1))
    dense = AtlasSVC().fit(X, truth, manifold=ManifoldModel(atlas))
    thin = AtlasSVC().fit(sparse.csr_array(X), truth, manifold=ManifoldModel(atlas))
    assert np.allclose(dense.predict_proba(X), thin.predict_proba(sparse.csr_array(X)), atol=1e-5)
    with pytest.raises(InputError, match="same rows"):
        AtlasSVC().fit(X[:100], truth[:100], manifold=ManifoldModel(atlas))


def test_more_features_than_kept_are_reduced():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 40))
    for rows in (X, sparse.csr_array(X)):
        atlas = fit_atlas(rows, AtlasSettings(n_dims=2, max_features=3))
        assert atlas["basis"].shape == (40, 3) and atlas["means"].shape[1] == 3


def test_degenerate_input():
    same = np.ones((30, 4))
    atlas = Atlas().fit(same)
    assert atlas.n_charts_ >= 1 and np.allclose(atlas.encode(same)["errors"], 0)
    y = np.arange(30) % 2
    assert set(AtlasSVC().fit(same, y).transduction_) <= {0, 1}
    assert Atlas().fit(np.array([[0.0], [1.0]])).n_charts_ >= 1
    with pytest.raises(InputError, match="2 classes"):
        AtlasSVC().fit(same, np.r_[0, np.full(29, -1)])


@pytest.mark.parametrize(
    "bad", [{"n_dims": 0}, {"mdl": -1.0}, {"n_neighbors": 0}, {"q": 0}, {"n_candidates": 0}]
)
def test_bad_atlas_options_are_refused(bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))}=.*Allowed"):
        Atlas(**bad).fit(rings(50)[0])


@pytest.mark.parametrize(
    "bad", [{"kernel": "cubic"}, {"assignment": "firm"}, {"C": 0}, {"gamma": -1.0}, {"cv": 1}]
)
def test_bad_classifier_options_are_refused(bad):
    X, y = rings(50)
    with pytest.raises(InputError):
        AtlasSVC(**bad).fit(X, y)


def test_neighbors_of_other_rows_are_refused():
    X, _ = rings(50)
    with pytest.raises(InputError, match="same rows"):
        fit_atlas(X, neighbors=np.zeros((40, 5), int))


def test_finer_atlas_kernel_and_features_are_means_over_both():
    from fewfold.methods.atlas.arrays import finer_part
    from fewfold.methods.atlas.encoding import encode
    from fewfold.methods.atlas.kernels import atlas_kernel_rows

    X, truth = rings(150)
    atlas = fit_atlas(X, AtlasSettings(n_dims=1, mdl=0.5, finer=0.1))
    assert len(atlas["finer_means"]) > len(atlas["means"])
    code = encode(X, atlas, rows=np.arange(150))
    for kernel, kind in (("rbf", "rbf"), ("linear", "affine")):
        options = AtlasSVC(kernel).fit(X, truth, manifold=ManifoldModel(atlas)).options_
        parts = [(code, options), (finer_part(code), options.finer)]
        mean = sum(atlas_kernel_rows(c, c, o.gamma, o.sigma, kind) for c, o in parts) / 2
        assert np.allclose(options.matrix(code, code), mean, atol=1e-5)
        if kernel == "linear":
            F = options.features(code)
            assert np.allclose((F @ F.T).toarray(), mean, atol=1e-5)
    alone = fit_atlas(X, AtlasSettings(n_dims=1, mdl=0.5, finer=None))
    assert np.array_equal(alone["interior"], atlas["interior"])
    assert not any(name.startswith("finer_") for name in alone)


def three_blobs():
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 3
    return rng.normal(0, 0.6, (240, 8)) + 2 * np.eye(8)[truth], truth


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf"},
        {"kernel": "rbf", "scheme": "pairs", "normalize": False, "assignment": "hard"},
        {"kernel": "linear"},
        {"kernel": "quad", "solver": "sgd"},
        {"kernel": "nearest"},
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("atlas", [{"finer": None, "max_features": 4}, {"mdl_factor": 2.0}])
def test_plain_state_predicts_the_same(options, n_classes, atlas):
    X, truth = three_blobs()
    names = np.array(["ab", "c", "def"])[truth % n_classes]
    y = np.where(np.arange(240) < 60, names, "")
    model = AtlasSVC(**options, q=3, atlas=Atlas(n_dims=2, **atlas)).fit(X[:200], y[:200])
    arrays, notes = model.to_arrays()
    again = AtlasSVC.from_arrays(arrays, json.loads(json.dumps(notes)))
    np.testing.assert_array_equal(again.predict_proba(X[200:]), model.predict_proba(X[200:]))
    np.testing.assert_array_equal(again.predict(X[200:]), model.predict(X[200:]))
    assert all(isinstance(value, np.ndarray) and value.dtype != object for value in arrays.values())


@pytest.mark.parametrize(
    ("kernel", "change", "words"),
    [
        ("rbf", {"charts": np.full((1, 1), 10**6)}, "'charts'"),
        ("rbf", {"coefficients_": None}, "'coefficients_' is missing"),
        ("rbf", {"finer_errors": None}, "'finer_errors' is missing"),
        ("rbf", {"origin": np.zeros(3)}, "'means' has a size of 8 where 3"),
        ("linear", {"weights": np.zeros((7, 3))}, "'weights' "),
        ("nearest", {"codes": None}, "'codes' is missing"),
    ],
)
def test_a_damaged_state_is_refused(kernel, change, words):
    X, truth = three_blobs()
    arrays, notes = AtlasSVC(kernel, atlas=Atlas(n_dims=2)).fit(X, truth).to_arrays()
    if "charts" in change:
        change = {"charts": np.full_like(arrays["charts"], 10**6)}
    arrays = {name: change.get(name, value) for name, value in arrays.items()}
    with pytest.raises(InputError, match=words):
        AtlasSVC.from_arrays(arrays, notes)


def test_the_published_variant_is_the_papers_algorithm():
    """One atlas, the plain kernel, pairs of classes without weights, scales by folds."""
    from fewfold.svm.kernel_svm import fit_kernel_svm

    X, truth = three_blobs()
    y = np.where(np.arange(240) < 60, truth, -1)
    two = Atlas(n_dims=2, finer=0.25)
    model = AtlasSVC(variant="published", q=4, atlas=two).fit(X, y)
    assert not any(name.startswith("finer_") for name in model.atlas_)
    chosen = model.options_
    assert (chosen.normalize, chosen.scheme, chosen.balanced, chosen.finer) == (
        False, "pairs", False, None,
    )  # fmt: skip
    code = encode(X, model.atlas_, 4, np.arange(240))
    K = atlas_kernel_rows(code, code, chosen.gamma, chosen.sigma, normalize=False)
    svm = fit_kernel_svm(K[:60, :60], truth[:60], chosen.C)
    np.testing.assert_array_equal(model.transduction_[60:], svm.predict(K[60:, svm.support]))
    scales = kernel_scales(code, len(model.atlas_["means"]))
    factors = chosen.gamma / scales[0], chosen.sigma / scales[1]
    assert np.isclose(np.log2(factors), np.round(np.log2(factors))).all()
    given = AtlasSVC(variant="published", normalize=True, cv=2, gamma=0.7, atlas=two).fit(X, y)
    assert given.options_.normalize and given.options_.gamma == 0.7


def test_primal_features_as_published_are_not_scaled():
    X, truth = three_blobs()
    y = np.where(np.arange(240) < 60, truth, -1)
    model = AtlasSVC("linear", variant="published", atlas=Atlas(n_dims=2)).fit(X, y)
    assert model.options_.sigma == 1.0 and model.options_.solver == "sgd"
    assert np.mean(model.transduction_ != truth) < 0.1


def test_class_weights_can_be_switched_off():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + np.repeat([[0.0, 0], [1.0, 0]], [250, 50], axis=0)
    truth = np.repeat([0, 1], [250, 50])
    options = {"scheme": "pairs", "atlas": Atlas(n_dims=1)}
    few = [
        np.sum(AtlasSVC(balanced=balanced, **options).fit(X, truth).predict(X) == 1)
        for balanced in (True, False)
    ]
    assert few[0] > few[1]


def test_nearest_is_measured_between_back_projections():
    X, truth = three_blobs()
    y = np.where(np.arange(240) < 60, truth, -1)
    model = AtlasSVC("nearest", atlas=Atlas(n_dims=2, finer=None)).fit(X, y)
    atlas = model.atlas_
    Z = X - atlas["origin"]
    errors = np.stack(
        [
            np.sum((Z - m) ** 2, axis=1) - np.sum(((Z - m) @ C.T) ** 2, axis=1)
            for m, C in zip(atlas["means"], atlas["directions"])
        ]
    )
    best = errors.argmin(axis=0)
    C, m = atlas["directions"][best], atlas["means"][best]
    back = np.einsum("ndf,nd->nf", C, np.einsum("ndf,nf->nd", C, Z - m)) + m
    distance = np.sum((back[:, None] - back[None, :60]) ** 2, axis=2)
    np.testing.assert_array_equal(model.transduction_[60:], truth[distance.argmin(axis=1)][60:])
