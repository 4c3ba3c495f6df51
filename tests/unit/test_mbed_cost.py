"""Every term of the Mbed cost against finite differences and closed forms."""

import mbed_reference as reference
import numpy as np
import pytest
from scipy.optimize import approx_fprime

from fewfold.methods.mbed import cost
from fewfold.methods.mbed.similarities import global_probabilities


def _problem(n=9, d=3, K=3, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.normal(0, 0.8, (n, d))
    P = global_probabilities(rng.random((n, n)), 0.5).astype(np.float64)
    P /= P.sum(axis=1, keepdims=True)
    labeled = np.array([1, 4, 7])
    targets = rng.dirichlet(np.ones(K), len(labeled))
    return Y, P, cost.simplex_directions(K, d), labeled, targets


def _check(function, Y):
    value, gradient = function(Y)
    assert np.isfinite(value)
    numeric = approx_fprime(Y.ravel(), lambda y: function(y.reshape(Y.shape))[0], 1e-7)
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=2e-5)
    assert np.abs(gradient).max() > 1e-4


@pytest.mark.parametrize("K, d", [(2, 2), (3, 3), (3, 4), (4, 3), (5, 5)])
def test_simplex_gradients_match_finite_differences(K, d):
    Y, P, W, labeled, targets = _problem(d=d, K=K)
    lam = 0.7
    prior = np.arange(1, K + 1) / np.arange(1, K + 1).sum()
    _check(lambda y: reference.sne_term(y, P), Y)
    _check(lambda y: reference.margin_term(y, W, lam), Y)
    _check(lambda y: reference.balance_term(y, W, lam), Y)
    _check(lambda y: reference.balance_term(y, W, lam, prior), Y)
    _check(lambda y: reference.label_term(y, W, lam, labeled, targets), Y)
    _check(lambda y: cost.class_terms(y, W, lam, labeled, targets, prior, 3.0), Y)
    _check(lambda y: reference.mbed_cost(y, P, W, lam, labeled, targets), Y)


def test_binary_gradients_match_finite_differences():
    Y, _, _, labeled, targets = _problem()
    lam, t = 0.6, targets[:, 0]
    _check(lambda y: reference.binary_margin_term(y, lam), Y)
    _check(lambda y: reference.binary_balance_term(y, lam), Y)
    _check(lambda y: reference.binary_balance_term(y, lam, 0.3), Y)
    _check(lambda y: reference.binary_label_term(y, lam, labeled, t), Y)


def test_binary_form_is_the_simplex_form_with_half_the_scale():
    Y, _, _, labeled, targets = _problem(d=2, K=2)
    axis = np.array([[1.0, 0.0], [-1.0, 0.0]])
    lam, t = 0.4, targets[:, 0]
    m = np.exp(cost.log_memberships(Y, axis, 2 * lam))[:, 0]
    np.testing.assert_allclose(m, reference.binary_membership(Y, lam))
    pairs = [
        (reference.binary_margin_term(Y, lam), reference.margin_term(Y, axis, 2 * lam), -1),
        (reference.binary_balance_term(Y, lam), reference.balance_term(Y, axis, 2 * lam), 1),
        (
            reference.binary_balance_term(Y, lam, 0.2),
            reference.balance_term(Y, axis, 2 * lam, np.array([0.2, 0.8])),
            1,
        ),
        (
            reference.binary_label_term(Y, lam, labeled, t),
            reference.label_term(Y, axis, 2 * lam, labeled, targets),
            1,
        ),
    ]
    for binary, simplex, sign in pairs:
        assert binary[0] == pytest.approx(sign * simplex[0])
        np.testing.assert_allclose(binary[1], sign * simplex[1], atol=1e-12)


@pytest.mark.parametrize("K, d", [(2, 1), (2, 2), (4, 3), (4, 4), (4, 6)])
def test_directions_are_unit_vectors_at_equal_angles(K, d):
    W = cost.simplex_directions(K, d)
    assert W.shape == (K, d)
    np.testing.assert_allclose(W @ W.T, np.eye(K) * K / (K - 1) - 1 / (K - 1), atol=1e-12)


def test_sne_is_zero_where_the_embedding_reproduces_p_and_positive_elsewhere():
    Y = np.random.default_rng(1).normal(size=(8, 2))
    D = np.sqrt(reference.squared_distances(Y))
    P = global_probabilities(D, 1.0).astype(np.float64)
    value, gradient = reference.sne_term(Y, P)
    assert abs(value) < 1e-5
    assert np.abs(gradient).max() < 1e-5
    assert reference.sne_term(Y * 1.5, P)[0] > 0.05


def test_margin_and_balance_extremes():
    W = cost.simplex_directions(2, 2)
    far = 50 * np.vstack([W, W])
    assert reference.margin_term(far, W, 1.0)[0] == pytest.approx(0, abs=1e-9)
    assert reference.balance_term(far, W, 1.0)[0] == pytest.approx(np.log(2))
    at_boundary = np.zeros((4, 2))
    assert reference.margin_term(at_boundary, W, 1.0)[0] == pytest.approx(np.log(2))
    prior = np.array([0.5, 0.5])
    assert reference.balance_term(far, W, 1.0, prior)[0] == pytest.approx(0)


def test_label_term_is_zero_at_its_target_and_finite_far_away():
    W = cost.simplex_directions(3, 3)
    Y = np.random.default_rng(0).normal(size=(4, 3))
    targets = np.exp(cost.log_memberships(Y, W, 1.0))
    value, gradient = reference.label_term(Y, W, 1.0, np.arange(4), targets)
    assert value == pytest.approx(0, abs=1e-12)
    assert np.abs(gradient).max() < 1e-12
    sure = np.eye(3)[[0]]
    assert np.isfinite(reference.label_term(-1e4 * W[:1], W, 1.0, np.array([0]), sure)[0])
