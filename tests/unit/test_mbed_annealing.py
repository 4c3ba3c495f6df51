"""Algorithm 1: schedules, criterion, conjugate gradients."""

import numpy as np
import pytest
from mbed_reference import mbed_cost, sne_term
from scipy.optimize import rosen, rosen_der

from fewfold.methods.mbed import annealing
from fewfold.methods.mbed.annealing import Problem, anneal, confidence, hotelling_lawley, soften
from fewfold.methods.mbed.cost import log_memberships, simplex_directions
from fewfold.methods.mbed.gradient import DenseSNE, workers
from fewfold.methods.mbed.neighborhoods import GlobalNeighborhoods
from fewfold.methods.mbed.optimize import conjugate_gradients
from fewfold.methods.mbed.similarities import dissimilarities


def test_lambda_goes_from_twenty_radii_to_a_fifth_in_equal_ratios():
    lams = annealing.lambda_schedule(0.5, 19)
    assert len(lams) == 19
    assert lams[0] == pytest.approx(10) and lams[-1] == pytest.approx(0.1)
    np.testing.assert_allclose(lams[1:] / lams[:-1], lams[1] / lams[0])


@pytest.mark.parametrize("K", [2, 3, 10])
def test_confidence_is_the_membership_at_a_distance(K):
    W = simplex_directions(K, K)
    distance, lam = 0.8, 0.5
    m = np.exp(log_memberships(distance * W[:1], W, lam))
    assert confidence(lam, distance, K) == pytest.approx(m[0, 0])
    softened = soften(np.eye(K), confidence(lam, distance, K))
    np.testing.assert_allclose(softened[0], m[0])
    np.testing.assert_allclose(softened.sum(axis=1), 1)


def test_softened_probabilities_still_sum_to_one():
    soft = np.random.default_rng(0).dirichlet(np.ones(4), 5)
    np.testing.assert_allclose(soften(soft, 0.7).sum(axis=1), 1)


def test_criterion_is_free_of_scale_and_rotation_and_zero_for_one_class():
    rng = np.random.default_rng(0)
    Y, codes = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    Y[:, 0] += 3 * codes
    J = hotelling_lawley(Y, codes)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert hotelling_lawley(7 * Y @ turn + 2, codes) == pytest.approx(J, rel=1e-5)
    assert hotelling_lawley(Y, np.zeros(60)) == 0
    assert J > hotelling_lawley(Y, rng.permutation(codes))


def test_conjugate_gradients_reaches_the_minimum_of_rosenbrock():
    counted = []

    def function(y):
        counted.append(1)
        return rosen(y), rosen_der(y)

    found = conjugate_gradients(function, np.array([-1.2, 1.0, 0.5]), 200)
    np.testing.assert_allclose(found.Y, 1, atol=1e-4)
    assert found.n_gradients == len(counted)


@pytest.mark.parametrize("estimated", [False, True])
def test_conjugate_gradients_on_a_quadratic_with_values_or_slopes_only(estimated):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 8))
    H = A.T @ A
    b = rng.normal(size=8)

    def function(y):
        # A value that is useless must do no harm when only slopes are trusted.
        value = rng.normal() if estimated else 0.5 * y @ H @ y - b @ y
        return float(value), H @ y - b

    found = conjugate_gradients(
        function, np.zeros(8), 60, noise=10.0 * estimated, estimated=estimated
    )
    np.testing.assert_allclose(found.Y, np.linalg.solve(H, b), atol=1e-3)


def test_conjugate_gradients_survives_infinite_values():
    def function(y):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(y[0] - np.log(y[0]) if y[0] > 0 else np.inf), 1 - 1 / y

    found = conjugate_gradients(function, np.array([0.01]), 50)
    assert found.Y[0] == pytest.approx(1, abs=1e-3)


def test_conjugate_gradients_stops_at_a_stationary_point():
    found = conjugate_gradients(lambda y: (0.0, np.zeros_like(y)), np.ones(3), 10)
    assert found.n_gradients == 1 and found.n_steps == 0


def _blobs(n=80, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], n // 2)
    return rng.normal(size=(n, 4)) + 5 * codes[:, None], codes


def _step(criterion, share_fitted):
    return annealing.Step(np.zeros((1, 1)), 1.0, 0.5, 0.0, criterion, 1, share_fitted)


def test_steps_that_miss_labels_do_not_count_in_our_variant():
    steps = [_step(9, 0.8), _step(5, 1.0), _step(6, 1.0), _step(8, 0.9)]
    assert annealing.kept_step(steps, only_fitted=False) == 0
    assert annealing.kept_step(steps, only_fitted=True) == 2
    # A label that no step fits (an outlier) does not empty the choice.
    assert annealing.kept_step([_step(9, 0.7), _step(1, 0.9)], only_fitted=True) == 1


def test_annealing_of_exact_and_plain_gradient_agree():
    X, codes = _blobs()
    P = GlobalNeighborhoods(0.5).fit(dissimilarities(X))
    labeled = np.array([0, 79])
    problem = Problem(80, 2, 2, labeled, np.eye(2)[codes[labeled]])
    options = {"n_steps": 13, "n_total": 260}
    with workers(2) as pool:
        fast = anneal(DenseSNE(P, pool), problem, np.random.default_rng(0), **options)
    P64 = P.astype(np.float64)
    plain = anneal(lambda Y: sne_term(Y, P64), problem, np.random.default_rng(0), **options)
    assert len(fast.steps) == 12
    assert fast.steps[-1].cost == pytest.approx(plain.steps[-1].cost, rel=0.01)
    kept = fast.steps[fast.best]
    assert kept.criterion == max(step.criterion for step in fast.steps)
    found = log_memberships(kept.Y, problem.directions, kept.lam).argmax(axis=1)
    assert np.array_equal(found, codes)
    again = mbed_cost(
        fast.steps[-1].Y.astype(np.float64),
        P64,
        problem.directions,
        fast.steps[-1].lam,
        labeled,
        soften(problem.targets, fast.steps[-1].confidence),
    )[0]
    assert again == pytest.approx(fast.steps[-1].cost, abs=1e-3)
