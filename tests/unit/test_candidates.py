"""The candidates of ``fewfold label``: answers, new rows, plain state, degenerate labels."""

import json

import numpy as np
import pytest
import sklearn.ensemble
from scipy import sparse
from scipy.optimize import check_grad, minimize
from sklearn.datasets import load_wine, make_moons

from fewfold.exceptions import InputError
from fewfold.methods.cluster_kernel.ensemble import agreement, make_ensemble, memberships
from fewfold.methods.cluster_kernel.estimator import ClusterKernelClassifier
from fewfold.methods.lds.descent import minimize_columns
from fewfold.methods.lds.estimator import LowDensityClassifier, edge_lengths
from fewfold.methods.lds.features import landmark_axes
from fewfold.methods.lds.geodesic import geodesic_distances
from fewfold.methods.lds.tsvm import Hyperplanes, Labeling, fit_tsvms, unlabeled_mean
from fewfold.methods.linear.estimator import (
    LogisticClassifier,
    RidgeRegressor,
    ridge_by_left_out,
)
from fewfold.methods.trees.estimator import (
    ENSEMBLES,
    TreesClassifier,
    TreesRegressor,
    fit_boosting,
)

CLASSIFIERS = [
    LowDensityClassifier(),
    LowDensityClassifier("rbf"),
    LowDensityClassifier("linear"),
    ClusterKernelClassifier(1),
    ClusterKernelClassifier(4),
    TreesClassifier("extra", n_trees=30),
    TreesClassifier("forest", n_trees=30),
    TreesClassifier("boosting"),
    LogisticClassifier(),
]
REGRESSORS = [
    TreesRegressor("extra", n_trees=30),
    TreesRegressor("boosting"),
    RidgeRegressor(),
    RidgeRegressor("rbf"),
    RidgeRegressor(target="log"),
]


@pytest.fixture(scope="module")
def wine():
    X, kind = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.full(len(X), -1)
    rows = np.random.default_rng(0).choice(len(X), 40, replace=False)
    y[rows] = kind[rows]
    return X, kind, y


def through_json(model):
    """Save and load as a model file does: arrays, and text for the rest."""
    arrays, notes = model.to_arrays()
    assert all(a.dtype != object for a in arrays.values())
    return type(model).from_arrays(arrays, json.loads(json.dumps(notes)))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_answer_save_and_predict(model, n_classes, wine):
    X, kind, y = (part[wine[1] < n_classes] for part in wine)
    names = np.array(["a", "b", "c"])
    given = np.where(y < 0, "", names[y])
    model.fit(X, given)
    assert np.mean(model.transduction_ == names[kind]) > 0.85
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert np.array_equal(model.transduction_[y >= 0], names[kind[y >= 0]])
    # Rows of the training set are new rows like any other: the same answer.
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba, model.label_distributions_, atol=1e-9)
    loaded = through_json(model)
    assert np.array_equal(loaded.predict_proba(X + 0.01), model.predict_proba(X + 0.01))
    assert np.array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_classifiers_with_one_class_or_one_label_or_none(model, wine):
    X = wine[0][:30]
    y = np.full(30, -1)
    with pytest.raises(InputError):
        model.fit(X, y)
    y[4] = 7
    assert set(model.fit(X, y).transduction_) == {7}
    assert set(through_json(model).predict(X)) == {7}


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_classifiers_do_not_depend_on_a_shared_preparation(model, wine):
    X, _, y = wine
    alone = model.fit(X, y).label_distributions_
    given = model.fit(X, y, shared=model.prepare(X)).label_distributions_
    assert np.array_equal(alone, given)


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_regressors_answer_save_and_predict(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    truth = X @ [1.0, -2.0, 0.5] + 3
    y = np.where(np.arange(200) % 2 == 0, truth, np.nan)
    model.fit(X, y)
    hidden = np.isnan(y)
    assert np.mean((model.transduction_ - truth)[hidden] ** 2) < 0.4 * truth.var()
    assert np.array_equal(model.transduction_[~hidden], truth[~hidden])
    assert np.array_equal(through_json(model).predict(X), model.predict(X))


def peer_of(ensemble, task, X, y):
    """The same ensemble by scikit-learn's own class."""
    if ensemble == "boosting":
        return fit_boosting(X, y, task, 3)
    name = {"extra": "ExtraTrees", "forest": "RandomForest"}[ensemble]
    kind = "Classifier" if task == "classification" else "Regressor"
    return getattr(sklearn.ensemble, name + kind)(25, random_state=3).fit(X, y)


@pytest.mark.parametrize("ensemble", ENSEMBLES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_flat_trees_answer_as_scikit_learn(ensemble, n_classes, wine):
    X, _, y = (part[wine[1] < n_classes] for part in wine)
    known = y >= 0
    peer = peer_of(ensemble, "classification", X[known], y[known])
    model = TreesClassifier(ensemble, n_trees=25, random_state=3).fit(X, y)
    # A tie between splits, decided by rounding, may change one of the 25 trees.
    gap = np.abs(model.predict_proba(X) - peer.predict_proba(X))
    assert gap.max() < 1 / 25 + 1e-12 and np.mean(gap > 1e-12) < 0.1


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_flat_regression_trees_answer_as_scikit_learn(ensemble, wine):
    X = wine[0]
    values = X[:, 0] + X[:, 1] ** 2
    peer = peer_of(ensemble, "regression", X[:, 2:], values)
    model = TreesRegressor(ensemble, n_trees=25, random_state=3).fit(X[:, 2:], values)
    np.testing.assert_allclose(model.predict(X[:, 2:]), peer.predict(X[:, 2:]), atol=1e-12)


def some_labelings(n, sizes, seed=0):
    """Random labels of two or three classes of some of n rows, one array of shares for each."""
    rng = np.random.default_rng(seed)
    found = []
    for size, c in sizes:
        shares = rng.dirichlet(np.ones(c))
        rows, signs = np.sort(rng.permutation(n)[:size]), rng.choice([-1.0, 1.0], (size, c))
        found.append(Labeling(rows, signs, shares))
    return found


def test_tsvm_gradient_by_finite_differences():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(12, 3))
    planes = Hyperplanes.of(Z, some_labelings(12, [(3, 2), (5, 1)]), 5.0, 0.7)

    def value(w):
        return planes.objective(w.reshape(3, 3), Z, 5.0, 0.5)[0].sum()

    def slope(w):
        return planes.objective(w.reshape(3, 3), Z, 5.0, 0.5)[1].ravel()

    assert check_grad(value, slope, rng.normal(size=9)) < 1e-5


def test_tsvm_objective_written_out():
    rng = np.random.default_rng(1)
    Z, W = rng.normal(size=(10, 2)), rng.normal(size=(2, 1))
    (labeling,) = some_labelings(10, [(4, 1)])
    rest = np.setdiff1d(np.arange(10), labeling.rows)
    f = ((Z - Z[rest].mean(axis=0)) @ W).ravel() + 2 * labeling.shares[0] - 1
    hinge = np.maximum(0, 1 - labeling.signs.ravel() * f[labeling.rows]) ** 2
    C_star = 5 * 0.7 * 4 / 6
    expected = np.sum(W**2) / 2 + 5 * hinge.sum() + C_star * np.exp(-3 * f[rest] ** 2).sum()
    found = Hyperplanes.of(Z, [labeling], 5.0, 0.7).objective(W, Z, 5.0, 1.0)[0]
    assert found == pytest.approx([expected])


def test_tsvms_trained_at_once_are_those_trained_alone(monkeypatch):
    Z = np.random.default_rng(2).normal(size=(60, 5))
    labelings = some_labelings(60, [(8, 3), (9, 3), (20, 1), (59, 2), (60, 2)])
    together = fit_tsvms(Z, labelings, C=30.0)
    monkeypatch.setattr("fewfold.methods.lds.tsvm._CELLS", 400)  # in blocks
    in_blocks = fit_tsvms(Z, labelings, C=30.0)
    for labeling, W, V in zip(labelings, together, in_blocks):
        alone = fit_tsvms(Z, [labeling], C=30.0)[0]
        np.testing.assert_allclose(W, alone, atol=1e-8)
        np.testing.assert_allclose(V, alone, atol=1e-8)


def test_first_step_of_a_tsvm_is_the_svm_that_scipy_finds():
    # Without unlabeled rows in the objective it is convex: one minimum, whatever the way to it.
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(40, 4))
    planes = Hyperplanes.of(Z, some_labelings(40, [(15, 2)]), 2.0, 1.0)
    found = minimize_columns(lambda W: planes.objective(W, Z, 2.0, 0.0), np.zeros((4, 2)), 200)

    def total(w):
        value, slope = planes.objective(w.reshape(4, 2), Z, 2.0, 0.0)
        return value.sum(), slope.ravel()

    expected = minimize(total, np.zeros(8), jac=True, options={"gtol": 1e-9}).x.reshape(4, 2)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_tsvm_keeps_the_class_balance():
    X, moon = make_moons(100, noise=0.05, random_state=0)
    labeled = np.array([0, 1, 2, 3])
    rest = np.setdiff1d(np.arange(100), labeled)
    signs = np.where(moon[labeled] == 1, 1.0, -1.0)[:, None]
    (W,) = fit_tsvms(X, [Labeling(labeled, signs, np.array([0.3]))])
    F = (X - unlabeled_mean(X, labeled)) @ W + (2 * 0.3 - 1)
    assert np.mean(F[rest]) == pytest.approx(2 * 0.3 - 1)


def test_low_density_of_each_fold_is_that_of_its_own_fit():
    from fewfold.labeling.examining import Task, examine
    from fewfold.methods.members import named_members

    # Rounding may decide when a descent ends, so they agree to 1e-4 only.
    X, kind = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(np.arange(len(X)) % 6 == 0, kind, -1)
    (member,) = named_members("classification", ["linear_tsvm"])
    task = Task(X, y, "classification", 3)
    found = examine(member, task)
    for held in (0, 3):
        kept = np.where(np.isin(np.arange(len(X)), task.rows[task.fold == held]), -1, y)
        alone = LowDensityClassifier("linear").fit(X, kept)
        out = task.rows[task.fold == held]
        expected = alone.label_distributions_[out]
        np.testing.assert_allclose(found.held_out[task.fold == held], expected, atol=1e-4)
    expected = LowDensityClassifier("linear").fit(X, y)
    np.testing.assert_allclose(found.answer, expected.label_distributions_, atol=1e-4)


def test_geodesic_distances_against_all_paths():
    # Floyd-Warshall over edge costs, written out.
    rng = np.random.default_rng(0)
    lengths = edge_lengths(rng.normal(size=(25, 2)), 4)
    rho = 3.0
    D = lengths.toarray() / lengths.data.mean()
    cost = np.where(D > 0, np.expm1(rho * D) / rho, np.inf)
    cost = np.minimum(cost, cost.T)
    np.fill_diagonal(cost, 0)
    for k in range(25):
        cost = np.minimum(cost, cost[:, [k]] + cost[[k]])
    assert np.isfinite(cost).all()
    expected = np.log1p(rho * cost) / rho
    np.testing.assert_allclose(geodesic_distances(lengths, np.arange(25), rho), expected)


def test_rows_of_another_component_are_far_but_not_infinitely():
    D = sparse.csr_array(np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]]))
    found = geodesic_distances(D, np.array([0]), 2.0)
    assert np.isfinite(found).all() and found[0, 2] > found[0, 1]


def test_landmark_axes_give_the_kernel_back():
    Z = np.random.default_rng(0).normal(size=(20, 4))
    features = Z @ Z.T @ landmark_axes(Z @ Z.T, 10)
    assert features.shape == (20, 4)
    np.testing.assert_allclose(features @ features.T, Z @ Z.T, atol=1e-8)


def test_agreement_is_the_share_of_runs_with_both_in_one_cluster():
    X = np.random.default_rng(0).normal(size=(40, 2))
    members = memberships(X, make_ensemble(X, 3, 5, 0))
    expected = np.mean(members[:, None, :] == members[None, :, :], axis=2)
    np.testing.assert_allclose(agreement(members, members), expected, atol=1e-6)
    assert np.linalg.eigvalsh(expected)[0] > -1e-9
    # Duplicates and fewer distinct rows than clusters.
    same = make_ensemble(np.zeros((5, 2)), 3, 2, 0)
    assert np.isfinite(same).all() and len(set(memberships(np.zeros((5, 2)), same)[:, 0])) == 1


@pytest.mark.parametrize("d", [3, 30])  # fewer and more columns than rows
def test_ridge_left_out_errors_against_refits(d):
    from sklearn.linear_model import Ridge

    from fewfold.methods.linear import estimator

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, d))
    y = X[:, 0] + rng.normal(size=12) + 5
    X -= X.mean(axis=0)
    scale = np.mean(np.sum(X**2, axis=1))
    losses = []
    for penalty in estimator._PENALTIES:
        left = []
        for i in range(12):
            model = Ridge(alpha=penalty * scale).fit(np.delete(X, i, 0), np.delete(y, i))
            left.append(y[i] - model.predict(X[[i]])[0])
        losses.append(np.mean(np.square(left)))
    dual, penalty = ridge_by_left_out(X @ X.T, y)
    assert penalty == pytest.approx(estimator._PENALTIES[int(np.argmin(losses))])
    model = RidgeRegressor().fit(X, y)
    peer = Ridge(alpha=penalty * scale).fit(X, y)
    np.testing.assert_allclose(model.predict(X + 1), peer.predict(X + 1))
    # A constant added to a kernel changes nothing: the intercept takes it up.
    np.testing.assert_allclose(ridge_by_left_out(X @ X.T + 7, y)[0], dual, atol=1e-8)


def test_ridge_of_logarithms_finds_products():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.exp(X @ [1.0, 0.5, -1.0])
    model = RidgeRegressor(target="log").fit(X[:40], y[:40])
    assert np.mean(np.abs(np.log(model.predict(X[40:]) / y[40:]))) < 0.2
    assert model.predict(X[:1] * 1e6)[0] <= 3 * y[:40].max() * (1 + 1e-9)
    negative = RidgeRegressor(target="log").fit(X, X[:, 0])  # as if it were not asked for
    assert negative.log_range_ is None


def test_unknown_words_are_refused():
    X, y = np.eye(4), np.array([0, 1, -1, -1])
    with pytest.raises(InputError, match="geodesic, rbf, linear"):
        LowDensityClassifier("geodesc").fit(X, y)
    with pytest.raises(InputError, match="extra, forest, boosting"):
        TreesClassifier("oak").fit(X, y)
    with pytest.raises(InputError, match="is missing"):
        head = {"present_": np.arange(2), "classes_": np.arange(2)}
        LogisticClassifier.from_arrays(head, {"n_features_in_": 4})


def saved(model, X, y):
    arrays, notes = model.fit(X, y).to_arrays()
    return arrays, notes, type(model).from_arrays


def test_a_file_of_trees_with_a_cycle_or_a_column_too_many_is_refused(wine):
    X, _, y = wine
    arrays, notes, load = saved(TreesClassifier(n_trees=3), X, y)
    inner = np.flatnonzero(arrays["feature_"] >= 0)
    cycle, column = arrays["left_"].copy(), arrays["feature_"].copy()
    cycle[inner[-1]], column[inner[0]] = 0, X.shape[1]
    for name, value in (
        ("left_", cycle),
        ("feature_", column),
        ("value_", arrays["value_"] - 1.0),
        ("value_", arrays["value_"][:, :2]),
        ("roots_", arrays["roots_"][:0]),
    ):
        with pytest.raises(InputError, match="TreesClassifier"):
            load({**arrays, name: value}, notes)


def test_files_whose_sizes_do_not_fit_are_refused(wine):
    X, _, y = wine
    arrays, notes, load = saved(LowDensityClassifier("linear"), X, y)
    for change in ({"axes_": arrays["axes_"][:-1]}, {"base_": arrays["base_"][:, :-1]}):
        with pytest.raises(InputError, match="LowDensityClassifier"):
            load({**arrays, **change}, notes)
    with pytest.raises(InputError, match="features_"):
        load(arrays, {**notes, "features_": "square"})
    with pytest.raises(InputError, match="in order"):
        load({**arrays, "present_": np.array([0, 0, 1])}, notes)
    arrays, notes, load = saved(RidgeRegressor("rbf"), X, np.where(y < 0, np.nan, X[:, 0]))
    with pytest.raises(InputError, match="columns are needed"):
        load(arrays, {**notes, "n_features_in_": 5})


def test_rows_with_another_number_of_columns_are_refused(wine):
    X, _, y = wine
    model = through_json(TreesClassifier(n_trees=3).fit(X, y))
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, 1:])
