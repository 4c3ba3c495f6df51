"""Nadaraya-Watson regression: closed forms, bandwidth choice, scikit-learn's checks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewfold.exceptions import InputError
from fewfold.linalg.distances import nearest_squared, squared_distances
from fewfold.methods.baselines.kernel_regression import (
    KernelRegressor,
    bandwidth_grid,
    choose_bandwidth,
    nadaraya_watson,
)


@parametrize_with_checks([KernelRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_two_samples_by_hand():
    d2 = np.array([[1.0, 4.0]])
    w = np.exp(-np.array([1.0, 4.0]) / (2 * 0.7**2))
    assert nadaraya_watson(d2, np.array([2.0, 5.0]), 0.7)[0] == pytest.approx(
        (w * [2, 5]).sum() / w.sum()
    )


def test_far_away_the_nearest_sample_answers():
    model = KernelRegressor(bandwidth=1e-3).fit([[0.0], [1.0]], [3.0, 4.0])
    assert model.predict([[1e6], [-1e6]]).tolist() == [4.0, 3.0]


def test_bandwidth_follows_the_scale_of_the_data():
    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    y = np.sin(6 * X[:, 0])
    small, large = KernelRegressor().fit(X, y), KernelRegressor().fit(1000 * X, y)
    assert large.bandwidth_ == pytest.approx(1000 * small.bandwidth_)
    np.testing.assert_allclose(large.predict(1000 * X), small.predict(X), rtol=1e-6)


def test_chosen_bandwidth_is_as_good_as_the_best_by_hand():
    rng = np.random.default_rng(1)
    X, y = rng.random((30, 1)), rng.random(30)
    fold = np.arange(30) % 5
    d2 = squared_distances(X, X)
    grid = bandwidth_grid(d2, 6)
    chosen, errors = choose_bandwidth(d2, y, grid, [fold])
    by_hand = []
    for h in grid:
        guesses = np.empty(30)
        for f in range(5):
            model = KernelRegressor(bandwidth=h).fit(X[fold != f], y[fold != f])
            guesses[fold == f] = model.predict(X[fold == f])
        by_hand.append((guesses - y) ** 2)
    by_hand = np.array(by_hand)
    means = by_hand.mean(axis=1)
    np.testing.assert_allclose(errors, means)
    more = by_hand - by_hand[means.argmin()]
    equal = more.mean(axis=1) <= 0.5 * more.std(axis=1, ddof=1) / np.sqrt(30)
    assert 1 < equal.sum() < 6
    ratio = np.abs(np.log(grid / np.sqrt(nearest_squared(d2))))
    assert chosen == grid[np.where(equal, ratio, np.inf).argmin()]


def test_noise_alone_gets_a_wide_bandwidth_and_signal_a_narrow_one():
    rng = np.random.default_rng(2)
    X = rng.random((200, 1))
    noise = KernelRegressor().fit(X, rng.normal(size=200))
    signal = KernelRegressor().fit(X, np.sin(20 * X.ravel()))
    assert noise.bandwidth_ > 5 * signal.bandwidth_


def test_degenerate_samples():
    assert KernelRegressor().fit([[1.0]], [7.0]).predict([[5.0]]).tolist() == [7.0]
    same = KernelRegressor().fit(np.ones((4, 2)), [1.0, 2.0, 3.0, 6.0])
    assert same.predict([[1.0, 1.0]])[0] == pytest.approx(3.0)
    two = KernelRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    assert 0 <= two.predict([[0.5]])[0] <= 1


def test_sparse_rows_equal_dense_ones():
    rng = np.random.default_rng(3)
    X = rng.random((40, 60)) * (rng.random((40, 60)) < 0.2)
    y = X.sum(axis=1)
    dense, thin = KernelRegressor().fit(X, y), KernelRegressor().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(dense.predict(X), thin.predict(sparse.csr_array(X)), atol=1e-6)


@pytest.mark.parametrize("wrong", [{"bandwidth": 0.0}, {"bandwidth": "best"}, {"n_folds": 1}])
def test_wrong_settings_say_what_is_allowed(wrong):
    with pytest.raises(InputError, match="not allowed"):
        KernelRegressor(**wrong).fit([[0.0], [1.0]], [0.0, 1.0])
