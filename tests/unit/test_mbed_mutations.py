"""Algorithm 1 of [mbed], constant by constant: each change of the code is noticed.

The checks are written from the paper, with the values that docs/methods/mbed.md lists for what it
leaves open.
"""

import numpy as np
import pytest
from _source_mutations import assert_caught
from mbed_reference import sne_term
from scipy.optimize import approx_fprime

from fewfold.methods.mbed.cost import class_terms, log_memberships, simplex_directions
from fewfold.methods.mbed.gradient import workers
from fewfold.methods.mbed.optimize import conjugate_gradients
from fewfold.methods.mbed.selection import Neighborhoods
from fewfold.methods.mbed.similarities import dissimilarities, global_probabilities

RNG = np.random.default_rng(0)
K = 3
CODES = np.repeat(np.arange(K), 6)
X = RNG.normal(size=(18, 4)) + 4 * np.eye(K, 4)[CODES]
D = dissimilarities(X).astype(np.float64)
P = global_probabilities(D, np.quantile(D[~np.eye(18, dtype=bool)], 1 / K)).astype(np.float64)
LABELED = np.array([0, 5, 7, 13, 16])
TARGETS = np.eye(K)[CODES[LABELED]]
TARGETS[3] = TARGETS[3][[2, 0, 1]]  # a wrong label: sides and labels differ


# ---------------------------------------------------------------- lines 1 to 12


def algorithm_1(n_total, n_steps=20, n_first=10, distance=2.0):
    """The paper's lines, with the library's line search and class terms (checked apart)."""
    rng = np.random.default_rng(3)
    cost = {"noise": 2e-8 * 18, "estimated": False}
    first = conjugate_gradients(
        lambda Y: sne_term(Y, P), rng.normal(0, 0.1**0.5, (18, K)), n_first, **cost
    )
    r = float(np.prod(first.Y.std(axis=0)) ** (1 / K))
    Y, step = rng.normal(0, (r / 1000) ** 0.5, (18, K)), None
    W = simplex_directions(K, K)
    counts = np.diff(np.linspace(0, n_total - n_first, n_steps).round().astype(int))
    found = []
    for j in range(2, n_steps + 1):
        lam = 2 * r * 10 / 100 ** ((j - 2) / (n_steps - 2))
        top = np.exp(distance * r / lam)
        tau = top / ((K - 1) * np.exp(-distance * r / lam / (K - 1)) + top)
        t = TARGETS * tau + (1 - TARGETS) * (1 - tau) / (K - 1)

        def both(Y, lam=lam, t=t):
            value, slope = sne_term(Y, P)
            more, more_slope = class_terms(Y, W, lam, LABELED, t)
            return value + more, slope + more_slope

        run = conjugate_gradients(both, Y, int(counts[j - 2]), first_step=step, **cost)
        Y, step = run.Y, run.step
        sides = log_memberships(Y, W, lam).argmax(axis=1)
        fitted = np.mean(sides[LABELED] == TARGETS.argmax(axis=1))
        sides[LABELED] = TARGETS.argmax(axis=1)
        found.append((lam, tau, run.value, trace(Y, sides), fitted))
    return r, np.array(found)


def trace(Y, codes):
    """Eq. 20 by the definition of both matrices."""
    center, between, within = Y.mean(axis=0), 0, 0
    for k in np.unique(codes):
        rows = Y[codes == k]
        gap = rows.mean(axis=0) - center
        between = between + len(rows) * np.outer(gap, gap)
        within = within + sum(np.outer(y - rows.mean(axis=0), y - rows.mean(axis=0)) for y in rows)
    return np.trace(between @ np.linalg.inv(within))


PAPER = algorithm_1(120)


def check_annealing(module):
    problem = module.Problem(18, K, K, LABELED, TARGETS)
    path = module.anneal(lambda Y: sne_term(Y, P), problem, np.random.default_rng(3), n_total=120)
    r, expected = PAPER
    assert path.radius == pytest.approx(r, rel=1e-9)
    steps = path.steps
    got = [(s.lam, s.confidence, s.cost, s.criterion, s.share_fitted) for s in steps]
    np.testing.assert_allclose(np.array(got), expected, rtol=1e-6)
    assert path.best == expected[:, 3].argmax()
    # Ours: only steps that fit as many labeled points as any.
    three = [module.Step(None, 1, 1, 0, J, 1, share) for J, share in ((9, 0.5), (3, 1), (5, 1))]
    assert module.kept_step(three, False) == 0 and module.kept_step(three, True) == 2


def check_defaults(module):
    """500 conjugate-gradient steps in all."""
    counted = []

    def quiet(Y):
        counted.append(1)
        return 0.5 * float((Y**2).sum()), Y.copy()

    problem = module.Problem(4, 2, 2, np.array([0]), np.eye(2)[:1])
    default = module.anneal(quiet, problem, np.random.default_rng(0))
    counted.clear()
    given = module.anneal(quiet, problem, np.random.default_rng(0), n_total=500)
    assert [s.n_gradients for s in default.steps] == [s.n_gradients for s in given.steps]
    assert len(default.steps) == 19


ANNEALING = "fewfold.methods.mbed.annealing"


@pytest.mark.parametrize(
    "old, new",
    [
        ("return 2 * radius * 10 / 100 **", "return radius * 10 / 100 **"),
        ("return 2 * radius * 10 / 100 **", "return 2 * radius * 5 / 100 **"),
        ("return 2 * radius * 10 / 100 **", "return 2 * radius * 10 / 10 **"),
        ("np.linspace(0, 1, n_steps)", "np.linspace(0, 1, n_steps + 1)[1:]"),
        ("np.exp(-distance / lam * K / (K - 1))", "np.exp(-distance / lam)"),
        ("np.exp(-distance / lam * K / (K - 1))", "np.exp(-distance / lam * (K - 1) / K)"),
        ("1 / (1 + (K - 1) * np.exp", "1 / (1 + K * np.exp"),
        ("(1 - tau) / max(1, K - 1)", "(1 - tau)"),
        ("targets * tau + (1", "targets + (1"),
        ("np.exp(np.log(np.maximum(Y.std(axis=0), 1e-12)).mean())", "Y.std(axis=0).mean()"),
        ("between += len(rows) * np.outer", "between += np.outer"),
        ("within += (rows - mean).T @ (rows - mean)", "within += rows.T @ rows"),
        ("(rows - mean).T @ (rows - mean)", "(rows - mean).T @ (rows - mean) / len(rows)"),
        ("rng.normal(0, np.sqrt(0.1), shape)", "rng.normal(0, 0.1, shape)"),
        ("Y = rng.normal(0, np.sqrt(1e-3 * radius), shape)", "Y = rng.normal(0, 1e-3, shape)"),
        ("np.sqrt(1e-3 * radius), shape)", "np.sqrt(1e-2 * radius), shape)"),
        ("n_steps: int = 20,", "n_steps: int = 21,"),
        ("n_first: int = 10,", "n_first: int = 11,"),
        ("lambda_schedule(radius, n_steps - 1)", "lambda_schedule(radius, n_steps)"),
        ("label_distance: float = 2.0,", "label_distance: float = 1.0,"),
        ("label_distance * radius, problem", "radius, problem"),
        ("targets = soften(problem.targets, tau)", "targets = problem.targets"),
        ("classes[problem.labeled] = given", "pass"),
        ("return value + more, gradient + more_gradient", "return value + more, gradient"),
        ("value, gradient = sne(Y)\n", "value, gradient = sne(Y / 2)\n"),
        ("Y, step = found.Y, found.step", "step = found.step"),
        ("if step.share_fitted >= most)", "if step.share_fitted <= most)"),
        ("if only_fitted else 0", "if not only_fitted else 0"),
    ],
)
def test_changes_of_the_annealing_are_noticed(old, new):
    assert_caught(check_annealing, ANNEALING, old, new)


def test_a_change_of_the_number_of_gradient_steps_is_noticed():
    assert_caught(check_defaults, ANNEALING, "n_total: int = 500,", "n_total: int = 400,")


# ---------------------------------------------------------------- the cost, Eqs. 5 to 19


def check_cost(module):
    W = module.simplex_directions(K, K)
    np.testing.assert_allclose(W @ W.T, np.eye(K) * 1.5 - 0.5, atol=1e-12)
    np.testing.assert_allclose(W.sum(axis=0), 0, atol=1e-12)
    Y, lam, weight = np.random.default_rng(1).normal(0, 0.7, (18, K)), 0.6, 2.0
    m = np.exp(Y @ W.T / lam)
    m /= m.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(module.log_memberships(Y, W, lam)), m, atol=1e-12)
    t = 0.8 * TARGETS + 0.2 * (1 - TARGETS) / (K - 1)

    def entropy(p):
        return -(p * np.log(p)).sum(axis=-1)

    for prior in (None, np.array([0.2, 0.3, 0.5])):
        mean = m.mean(axis=0)
        spread = entropy(mean) if prior is None else -(mean * np.log(mean / prior)).sum()
        js = spread - entropy(m).mean()
        kl = (t * np.log(t / m[LABELED])).sum()
        value, slope = module.class_terms(Y, W, lam, LABELED, t, prior, weight)
        assert value == pytest.approx(kl - weight * js, abs=1e-9)

        def at(y, prior=prior):
            return module.class_terms(y.reshape(Y.shape), W, lam, LABELED, t, prior, weight)[0]

        np.testing.assert_allclose(slope.ravel(), approx_fprime(Y.ravel(), at, 1e-7), atol=2e-5)


@pytest.mark.parametrize(
    "old, new",
    [
        ("W = np.eye(K) - 1 / K", "W = np.eye(K)"),
        ("W / np.linalg.norm(W, axis=1, keepdims=True)", "W"),
        ("logits = Y @ directions.T / lam", "logits = Y @ directions.T"),
        ("entropy = -(m * log_m).sum(", "entropy = -(m * m).sum("),
        ("float(entropy.mean()), -m", "float(entropy.sum()), -m"),
        ("-m * (log_m + entropy) / len(m)", "-m * (log_m + entropy)"),
        ("-m * (log_m + entropy) / len(m)", "-m * log_m / len(m)"),
        ("pull = -log_mean if prior is None else", "pull = log_mean if prior is None else"),
        ("np.log(prior) - log_mean", "np.log(prior)"),
        ("m * (pull - (m @ pull)[:, None]) / len(m)", "m * pull / len(m)"),
        ("xlogy(targets, targets) - targets", "-targets"),
        ("slope[labeled] = m[labeled] - targets", "slope[labeled] = targets - m[labeled]"),
        ("slope = weight * (slope - balance_slope)", "slope = weight * (slope + balance_slope)"),
        ("value = weight * (margin - balance)", "value = margin - balance"),
        ("value, slope = value + fit, slope + fit_slope", "value = value + fit"),
        ("return value, slope @ directions / lam", "return value, slope @ directions"),
    ],
)
def test_changes_of_the_class_terms_are_noticed(old, new):
    assert_caught(check_cost, "fewfold.methods.mbed.cost", old, new)


def check_embedding(module):
    """Eqs. 2 to 4, with the factor 2 that the paper's Eq. 4 lacks."""
    for size in (0.1, 1.5):  # near the start, and spread
        Y = np.random.default_rng(2).normal(0, size, (18, K))
        E = np.exp(-((Y[:, None] - Y) ** 2).sum(axis=2)) * (1 - np.eye(18))
        Q = E / E.sum(axis=1, keepdims=True)
        expected = (P * np.log(np.where(P > 0, P, 1) / np.where(Q > 0, Q, 1))).sum()
        F = P - Q + P.T - Q.T
        slope = 2 * (F[:, :, None] * (Y[:, None] - Y)).sum(axis=1)
        with workers(1) as pool:
            value, gradient = module.DenseSNE(P, pool)(Y)
        assert value == pytest.approx(expected, abs=1e-4)
        np.testing.assert_allclose(gradient, slope, atol=1e-4)


@pytest.mark.parametrize(
    "old, new",
    [
        ("return value, 2 * (pulled", "return value, (pulled"),
        ("value = self.entropy + stretch", "value = stretch"),
        ("+ float(np.log(Z).sum())", "- float(np.log(Z).sum())"),
        ("np.fill_diagonal(E, LOWEST)  # no", "pass  # no"),
        ("(stretched / 2, rows, None)", "(stretched, rows, None)"),
        ("np.column_stack([2 * Y, -norms, ones])", "np.column_stack([Y, -norms, ones])"),
        ("P[columns, rows].T, dtype", "P[rows, columns], dtype"),
    ],
)
def test_changes_of_the_embedding_term_are_noticed(old, new):
    assert_caught(check_embedding, "fewfold.methods.mbed.gradient", old, new)


# ---------------------------------------------------------------- neighborhoods, variants


def check_neighborhoods(module):
    d = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    assert module.quantile_scale(d, 0.5) == 2
    assert module.quantile_scale(d, 0.25) == pytest.approx(np.quantile([1, 1, 2, 2, 3, 3], 0.25))
    expected = np.exp(-(d**2) / 4) * (1 - np.eye(3))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(module.global_probabilities(d, 2.0), expected, atol=1e-6)


@pytest.mark.parametrize(
    "old, new",
    [
        ("logits = -np.square(D / scale, dtype", "logits = -0.5 * np.square(D / scale, dtype"),
        ("        np.fill_diagonal(logits, -np.inf)", "        pass"),
        ("np.quantile(off, quantile)", "np.quantile(D, quantile)"),
        ("np.quantile(off, quantile)", "np.quantile(off, 1 - quantile)"),
        ("P /= P.sum(axis=1, keepdims=True)", "P /= P.sum()"),
    ],
)
def test_changes_of_the_neighborhoods_are_noticed(old, new):
    assert_caught(check_neighborhoods, "fewfold.methods.mbed.similarities", old, new)


def check_scale(module):
    """The length scale is the 1/K quantile of all distances."""
    found = module.candidates(Neighborhoods(["global"], {}, D), K, LABELED, TARGETS)
    assert found[0][1].scale == pytest.approx(np.quantile(D[~np.eye(18, dtype=bool)], 1 / K))


def test_a_change_of_the_length_scale_is_noticed():
    old = "GlobalNeighborhoods(1 / n_classes)"
    assert_caught(check_scale, "fewfold.methods.mbed.selection", old, "GlobalNeighborhoods(0.5)")


def check_published(module):
    wanted = {"similarity": "global", "start": "random", "only_fitted": False}
    assert module.VARIANTS["published"] == {**wanted, "keep_labels": False}


@pytest.mark.parametrize(
    "old, new",
    [
        ('"similarity": "global"', '"similarity": "local"'),
        ('"start": "random"', '"start": "spectral"'),
        ('"only_fitted": False', '"only_fitted": True'),
        ('"keep_labels": False', '"keep_labels": True'),
    ],
)
def test_changes_of_the_published_variant_are_noticed(old, new):
    assert_caught(check_published, "fewfold.methods.mbed.options", old, new)
