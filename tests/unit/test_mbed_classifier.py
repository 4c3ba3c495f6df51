"""The estimator: labels, clustering, new rows, refusals, and scikit-learn's own checks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_moons

import fewfold
from fewfold import MbedClassifier
from fewfold.exceptions import InputError
from fewfold.methods.mbed.cost import log_memberships
from fewfold.methods.mbed.placement import Placement, normalizers
from fewfold.methods.mbed.similarities import dissimilarities
from fewfold.pipeline.training import Inputs, fit_draw

QUICK = {"n_steps": 120, "n_annealing": 8, "random_state": 0}


def _groups(n=90, K=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(K), n // K)
    X = rng.normal(size=(len(codes), 6)) + 5 * np.eye(K, 6)[codes]
    y = np.full(len(codes), -1)
    y[:: n // (2 * K)] = codes[:: n // (2 * K)]
    return X, codes, y


@pytest.mark.parametrize("variant", ["default", "published"])
def test_groups_are_found_from_two_labels_each(variant):
    X, codes, y = _groups()
    model = MbedClassifier(variant=variant, random_state=0).fit(X, y)
    assert np.mean(model.transduction_ == codes) > 0.97
    assert model.embedding_.shape == (90, 3)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert len(model.path_.steps) == 19
    counts = [variant == "published" or s.share_fitted == 1 for s in model.path_.steps]
    assert model.path_.kept.criterion == max(
        step.criterion for step, counted in zip(model.path_.steps, counts) if counted
    )


def test_given_labels_stay_in_our_variant_and_move_in_the_papers():
    X, codes, _ = _groups()
    y = np.where(np.arange(90) % 2, -1, codes)
    y[0] = (codes[0] + 1) % 3  # a wrong label amid its class
    ours = MbedClassifier(**QUICK).fit(X, y)
    assert np.array_equal(ours.transduction_[y >= 0], y[y >= 0])
    published = MbedClassifier(variant="published", label_distance=0.1, **QUICK).fit(X, y)
    assert published.transduction_[0] == codes[0]
    assert ours.start_distributions_.shape == (90, 3)
    assert published.start_distributions_ is None
    assert ours.details_["same_as_start"] > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_neighborhoods_are_chosen_by_labels_not_by_j(seed):
    # Moons: the classes are curved, yet the blurred embedding has the larger J.
    X, codes = make_moons(300, noise=0.1, random_state=seed)
    y = np.full(300, -1)
    rows = np.random.default_rng(seed).permutation(300)[:16]
    y[rows] = codes[rows]
    auto = MbedClassifier(**QUICK).fit(X, y)
    assert auto.similarity_ == "diffused"


def test_more_labels_help():
    X, codes = load_digits(return_X_y=True)
    rows = np.random.default_rng(1).permutation(len(X))[:500]
    X, codes = X[rows] / 16, codes[rows]
    errors = []
    for count in (2, 10, 25):
        y = np.full(500, -1)
        for k in range(10):
            picked = np.flatnonzero(codes == k)[:count]
            y[picked] = k
        hidden = np.arange(500) >= 300  # the same rows at all budgets
        y[hidden] = -1
        model = MbedClassifier(**QUICK).fit(X, y)
        errors.append(np.mean(model.transduction_[hidden] != codes[hidden]))
    assert errors[0] > errors[1] >= errors[2]


def test_curved_classes_need_diffused_neighborhoods():
    X, codes = make_moons(300, noise=0.06, random_state=0)
    y = np.full(300, -1)
    for k in (0, 1):
        y[np.flatnonzero(codes == k)[:4]] = k
    diffused = MbedClassifier(
        similarity="diffused", start="spectral", perplexity=10.0, walk=0.98, **QUICK
    ).fit(X, y)
    published = MbedClassifier(variant="published", **QUICK).fit(X, y)
    assert np.mean(diffused.transduction_ != codes) < 0.03
    assert np.mean(published.transduction_ != codes) > 0.05


def test_clustering_without_labels():
    X, codes, _ = _groups()
    model = MbedClassifier(3, **QUICK).fit(X)
    same = model.transduction_[:, None] == model.transduction_
    assert np.mean(same != (codes[:, None] == codes)) < 0.03
    assert model.classes_.tolist() == [0, 1, 2]


def test_dissimilarities_that_are_no_metric():
    X, codes, y = _groups()
    D = dissimilarities(X) ** 2.5
    D *= np.random.default_rng(0).uniform(0.9, 1.1, D.shape)  # not symmetric, no triangle rule
    model = MbedClassifier(metric="precomputed", **QUICK).fit(D, y)
    assert np.mean(model.transduction_ == codes) > 0.97
    assert np.mean(model.predict(D[:20]) == codes[:20]) > 0.9


def test_euclidean_and_precomputed_agree():
    X, _, y = _groups()
    direct = MbedClassifier(**QUICK).fit(X, y)
    given = MbedClassifier(metric="precomputed", **QUICK).fit(dissimilarities(X), y)
    np.testing.assert_allclose(direct.embedding_, given.embedding_, atol=1e-3)


def test_sparse_rows_give_the_same_as_dense_ones():
    X, _, y = _groups()
    X[np.abs(X) < 0.7] = 0
    dense = MbedClassifier(**QUICK).fit(X, y)
    thin = MbedClassifier(**QUICK).fit(sparse.csr_array(X), y)
    assert np.array_equal(dense.transduction_, thin.transduction_)
    assert np.array_equal(dense.predict(X[:9] + 0.1), thin.predict(sparse.csr_array(X[:9] + 0.1)))


def test_seed_decides_and_threads_do_not():
    X, _, y = _groups(600)
    first = MbedClassifier(n_jobs=1, start="random", **QUICK).fit(X, y)
    second = MbedClassifier(n_jobs=3, start="random", **QUICK).fit(X, y)
    assert np.array_equal(first.embedding_, second.embedding_)
    other = MbedClassifier(start="random", **{**QUICK, "random_state": 1}).fit(X, y)
    assert not np.allclose(first.embedding_, other.embedding_)


def test_large_n_path_agrees_with_the_exact_one():
    X, codes, y = _groups(900)
    model = MbedClassifier(max_exact=500, n_samples=300, n_neighbors=20, **QUICK).fit(X, y)
    assert model.similarity_ == "sparse"
    assert np.mean(model.transduction_ == codes) > 0.97
    fresh, truth, _ = _groups(90, seed=5)
    assert np.mean(model.predict(fresh) == truth) > 0.95


@pytest.mark.parametrize("similarity", ["global", "local", "diffused"])
def test_held_out_rows_land_where_they_would_have_been(similarity):
    X, codes, y = _groups(240)
    out = np.arange(5, 240, 12)
    out = out[y[out] == -1]
    rest = np.setdiff1d(np.arange(240), out)
    whole = MbedClassifier(similarity=similarity, **QUICK).fit(X, y)
    part = MbedClassifier(similarity=similarity, **QUICK).fit(X[rest], y[rest])
    assert np.mean(part.predict(X[out]) == whole.transduction_[out]) >= 0.95
    proba = part.predict_proba(X[out])
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_placement_gradient_by_finite_differences():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(12, 2))
    W = np.array([[1.0, 0.0], [-1.0, 0.0]])
    placement = Placement(Y, normalizers(Y), W, 0.3, weight=5.0)
    S = rng.random((4, 12))
    y = rng.normal(size=(4, 2))
    value, gradient = placement.cost(y, S)
    for axis in (0, 1):
        step = np.zeros(2)
        step[axis] = 1e-5
        numeric = (placement.cost(y + step, S)[0] - placement.cost(y - step, S)[0]) / 2e-5
        np.testing.assert_allclose(gradient[:, axis], numeric, atol=1e-5)
    settled, lower = placement.settle(y, S, n_steps=200, tolerance=1e-6)
    assert (lower <= value).all()
    assert np.abs(placement.cost(settled, S)[1]).max() < 1e-2


def test_placing_in_batches_changes_nothing():
    X, _, y = _groups()
    model = MbedClassifier(**QUICK).fit(X, y)
    new = X[:8] + 0.3
    together = model.place(new)
    alone = np.vstack([model.place(row[None]) for row in new])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_soft_labels_replace_hard_ones():
    X, codes, _ = _groups()
    soft = np.full((90, 3), np.nan)
    for k in range(3):
        rows = np.flatnonzero(codes == k)[:3]
        soft[rows] = 0.1
        soft[rows, k] = 0.8
    model = MbedClassifier(**QUICK).fit(X, label_proba=soft)
    assert np.mean(model.transduction_ == codes) > 0.97


def test_prior_shifts_the_balance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))  # one cloud: only the balance decides where it is cut
    options = {**QUICK, "similarity": "global", "boundary_weight": 100.0}
    even = MbedClassifier(2, **options).fit(X).label_distributions_.mean(axis=0)
    uneven = MbedClassifier(2, prior=[0.8, 0.2], **options).fit(X)
    assert even[0] == pytest.approx(0.5, abs=0.1)
    assert uneven.label_distributions_.mean(axis=0)[0] > 0.65


def test_string_labels_and_missing_classes():
    X, codes, y = _groups()
    names = np.array(["ash", "birch", "cedar"], object)
    text = np.array([names[k] if k >= 0 else -1 for k in y], object)
    model = MbedClassifier(**QUICK).fit(X, text)
    assert np.mean(model.transduction_ == names[codes]) > 0.97
    only = np.where(y == 2, -1, y)
    model = MbedClassifier(3, **QUICK).fit(X, only)
    assert model.label_distributions_.shape == (90, 3)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"variant": "new"}, "variant='new'"),
        ({"similarity": "far"}, "similarity='far'"),
        ({"start": "cold"}, "start='cold'"),
        ({"walk": 1.0}, "walk=1.0"),
        ({"perplexity": 0.5}, "perplexity=0.5"),
        ({"n_annealing": 1}, "n_annealing=1"),
        ({"n_dims": 1}, "n_dims=1"),
        ({"n_classes": 2}, "n_classes=2"),
        ({"prior": [0.5, 0.5]}, "prior"),
        ({"metric": "precomputed"}, "precomputed"),
        ({"metric": "manhattan"}, "metric='manhattan'"),
    ],
)
def test_bad_options_are_refused(options, match):
    X, _, y = _groups()
    with pytest.raises(InputError, match=match):
        MbedClassifier(**options).fit(X, y)


def test_bad_labels_are_refused():
    X, _, y = _groups()
    with pytest.raises(InputError, match="No row has a label"):
        MbedClassifier().fit(X, np.full(90, -1))
    with pytest.raises(InputError, match="one label per row"):
        MbedClassifier().fit(X, y[:-1])
    with pytest.raises(InputError, match="sum to 1"):
        MbedClassifier(3).fit(X, y, label_proba=np.ones((90, 3)))
    with pytest.raises(InputError, match="0 or larger"):
        MbedClassifier(metric="precomputed").fit(-np.ones((90, 90)), y)


def test_duplicated_rows_and_a_single_class():
    X, codes, y = _groups()
    X[:30] = X[0]
    model = MbedClassifier(**QUICK).fit(X, y)
    assert np.isfinite(model.embedding_).all()
    assert np.mean(model.transduction_ == codes) > 0.9
    single = MbedClassifier(**QUICK).fit(X, np.where(y == 0, 0, -1))
    assert (single.predict(X) == 0).all()


def test_adapter_returns_labels_for_all_and_new_rows():
    X, codes, y = _groups()
    labeled = np.flatnonzero(y >= 0)
    inputs = Inputs(X=X, X_new=X[:5] + 0.1)
    settings = {"n_steps": 120, "n_annealing": 8}
    draw = {"n_classes": 3, "seed": 0, "settings": settings}
    outcome = fit_draw("mbed", inputs, labeled, codes[labeled], **draw)
    assert np.mean(outcome.labels == codes) > 0.97
    assert np.array_equal(outcome.labels_new, codes[:5])
    assert len(outcome.details["criterion"]) == 7
    assert fewfold.MbedClassifier is MbedClassifier


def test_digits_with_few_labels_beat_the_published_variant():
    X, codes = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:500]
    X, codes = X[rows], codes[rows]
    y = np.full(500, -1)
    for k in range(10):
        picked = np.flatnonzero(codes == k)[:4]
        y[picked] = k
    hidden = y == -1
    ours = MbedClassifier(random_state=0).fit(X, y)
    published = MbedClassifier(variant="published", random_state=0).fit(X, y)
    error = np.mean(ours.transduction_[hidden] != codes[hidden])
    assert error < 0.2
    assert error < np.mean(published.transduction_[hidden] != codes[hidden])
    m = np.exp(log_memberships(ours.embedding_, ours.directions_, ours.lambda_))
    assert np.array_equal(m.argmax(axis=1)[hidden], ours.transduction_[hidden])
