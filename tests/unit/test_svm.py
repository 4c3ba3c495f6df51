"""The one kernel SVM against scikit-learn's, its folds and its way to probabilities."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from fewfold.svm import kernel_svm as kernel_svm_module
from fewfold.svm.folds import plain_folds, stratified_folds
from fewfold.svm.kernel_svm import fit_kernel_svm
from fewfold.svm.probability import decisions_to_proba, pair_scores
from fewfold.svm.search import count_errors

X_ALL, Y_ALL = load_digits(return_X_y=True)
X_ALL = X_ALL / 16


def draw(n_classes, n=120, seed=0):
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(Y_ALL < n_classes))
    return X_ALL[rows[:n]], Y_ALL[rows[:n]], X_ALL[rows[n : n + 200]]


def rbf(A, B):
    return np.exp(-0.1 * ((A[:, None] - B) ** 2).sum(axis=2))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_pairs_equal_scikit_learn(n_classes, C):
    X, y, new = draw(n_classes)
    svm = fit_kernel_svm(rbf(X, X), y, C)
    K = rbf(new, X[svm.support])
    for break_ties in (False, n_classes > 2):
        reference = SVC(C=C, gamma=0.1, break_ties=break_ties).fit(X, y)
        assert np.array_equal(svm.predict(K, break_ties=break_ties), reference.predict(new))
    expected = reference.decision_function(new)
    scores = svm.scores(K)
    np.testing.assert_allclose(scores[:, 1] if n_classes == 2 else scores, expected, atol=1e-6)
    assert set(svm.support) == set(reference.support_)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("balanced", [False, True])
def test_positive_speaks_for_the_first_class(n_classes, balanced):
    X, y, _ = draw(n_classes)
    svm = fit_kernel_svm(rbf(X, X), y, 10.0, balanced=balanced)
    decisions = svm.decide(rbf(X, X[svm.support]))
    for number, (a, b) in enumerate(svm.pairs):
        inside = np.isin(y, [a, b])
        assert np.mean((decisions[inside, number] > 0) == (y[inside] == a)) > 0.98


def test_weights_of_a_small_class_move_the_boundary():
    X, y, _ = draw(2)
    rows = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]]
    K = rbf(X[rows], X[rows])
    plain, weighted = (fit_kernel_svm(K, y[rows], 0.05, balanced=b) for b in (False, True))
    found = [np.sum(s.predict(K[:, s.support]) == 1) for s in (plain, weighted)]
    assert found[0] == 0 and found[1] >= 3


def test_rest_equals_one_svm_per_class():
    X, y, new = draw(4)
    svm = fit_kernel_svm(rbf(X, X), y, 5.0, scheme="rest")
    decisions = svm.decide(rbf(new, X[svm.support]))
    for a in range(4):
        expected = SVC(C=5.0, gamma=0.1).fit(X, y == a).decision_function(new)
        np.testing.assert_allclose(decisions[:, a], expected, atol=1e-6)
    proba = svm.proba(rbf(new, X[svm.support]), 5.0)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.array_equal(proba.argmax(axis=1), decisions.argmax(axis=1))


def test_a_kernel_computed_by_pairs_is_the_same_svm(monkeypatch):
    X, y, new = draw(5)
    whole = fit_kernel_svm(rbf(X, X), y, 10.0)
    asked = []

    def kernel(rows, columns):
        asked.append(len(rows) * len(columns))
        return rbf(X[rows], X[columns])

    monkeypatch.setattr(kernel_svm_module, "_WHOLE", 10)
    parts = fit_kernel_svm(kernel, y, 10.0)
    assert max(asked) < len(X) ** 2 / 4  # never the whole kernel
    expected = whole.decide(rbf(new, X[whole.support]))
    # libsvm stops at a tolerance, and meets the rows in another order.
    np.testing.assert_allclose(parts.decide(rbf(new, X[parts.support])), expected, atol=5e-3)


def test_targets_need_not_be_numbered():
    X, y, new = draw(3)
    names = np.array(["x", "y", "z"])
    by_name = fit_kernel_svm(rbf(X, X), names[y], 10.0)
    by_code = fit_kernel_svm(rbf(X, X), 2 * y + 5, 10.0)
    K = rbf(new, X[by_name.support])
    assert np.array_equal(by_name.predict(K), names[(by_code.predict(K) - 5) // 2])


def test_all_coefficients_are_zero_off_the_support():
    X, y, _ = draw(3)
    svm = fit_kernel_svm(rbf(X, X), y, 10.0)
    full = svm.all_coefficients(len(X))
    np.testing.assert_allclose(
        rbf(X, X) @ full + svm.intercepts, svm.decide(rbf(X, X[svm.support]))
    )


def test_count_errors_with_one_class_in_training():
    K = np.eye(3)
    assert count_errors(K, K[:2], np.zeros(3), np.array([0, 1]), (1.0, 10.0)).tolist() == [1, 1]


def test_count_errors_equals_scikit_learn():
    X, y, _ = draw(4)
    train, test = np.arange(80), np.arange(80, 120)
    found = count_errors(
        rbf(X[train], X[train]), rbf(X[test], X[train]), y[train], y[test], (0.01, 10.0)
    )
    fits = [SVC(C=C, gamma=0.1).fit(X[train], y[train]) for C in (0.01, 10.0)]
    assert found.tolist() == [np.sum(f.predict(X[test]) != y[test]) for f in fits]
    assert found[0] > found[1]


# --- decision -> probability -----------------------------------------------------------------

PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


def test_two_classes_are_a_logistic_function():
    f = np.linspace(-2, 2, 5)
    for scale in (1.0, 2.0):
        expected = 1 / (1 + np.exp(-2 * scale * f))
        np.testing.assert_allclose(decisions_to_proba(f, scale)[:, 1], expected)
    for coupling, factor in (("scores", 2), ("product", 1), ("mean", 1)):
        pair = decisions_to_proba(-f[:, None], 1.0, pairs=PAIRS[:1], coupling=coupling)
        np.testing.assert_allclose(pair[:, 1], 1 / (1 + np.exp(-factor * f)))


@pytest.mark.parametrize("coupling", ["scores", "product", "mean"])
def test_couplings_sum_to_one_and_follow_the_scale(coupling):
    decisions = np.random.default_rng(0).normal(size=(200, 3))
    soft, sharp = (
        decisions_to_proba(decisions, s, pairs=PAIRS, coupling=coupling) for s in (1.0, 5.0)
    )
    np.testing.assert_allclose(sharp.sum(axis=1), 1)
    assert sharp.max(axis=1).mean() > soft.max(axis=1).mean() + 0.05
    if coupling != "mean":
        winner = pair_scores(decisions, PAIRS).argmax(axis=1)
        assert np.array_equal(sharp.argmax(axis=1), winner)


def test_large_decisions_do_not_overflow():
    np.testing.assert_allclose(decisions_to_proba(np.array([[1e4, 0.0]])), [[1, 0]])


# --- folds -----------------------------------------------------------------------------------


def test_rare_classes():
    y = np.array([0] * 6 + [1])
    assert stratified_folds(y, 0) is None
    folds = stratified_folds(y, 0, rare="keep")
    # The fold that holds out class 1 leaves one class to learn from.
    assert 1 < len(folds) < 6 and all(len(np.unique(y[train])) == 2 for train, _ in folds)
    assert stratified_folds(np.arange(4), 0, rare="keep") is None


def test_plain_folds():
    assert plain_folds(9, 0) is None
    folds = plain_folds(10, 0)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(10))
