"""Combining candidates, exact leave-one-out of diffusion, priors and intervals."""

import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.graph.build import build_graph
from fewfold.labeling.first_weights import explained_by_neighbors, first_weights
from fewfold.labeling.intervals import cv_plus, regression_weights
from fewfold.labeling.leave_out import solve_responses
from fewfold.labeling.priors import (
    chance_of_equal_classes,
    class_shares,
    parse_priors,
)
from fewfold.labeling.stacking import (
    fit_stack,
    mixture_weights,
    sharpen,
)
from fewfold.methods.diffusion.spreading import (
    factors_for_shares,
    poisson_scores,
    spreading_scores,
    with_factors,
)


def random_answers(rng, k=3, m=40, sharp=(0.2, 1.0, 3.0)):
    codes = rng.integers(0, k, m)
    answers = []
    for s in sharp:
        scores = rng.normal(size=(m, k)) + s * np.eye(k)[codes]
        answers.append(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    return np.array(answers), codes


def penalized_loss(w, held_out, codes, first, strength):
    own = np.einsum("k,kmc->mc", w, held_out)[np.arange(len(codes)), codes]
    return -np.log(own).mean() + strength * np.sum(w * np.log(w / first))


def test_mixture_weights_are_the_minimum_on_a_grid():
    held_out, codes = random_answers(np.random.default_rng(0))
    first = np.array([0.2, 0.3, 0.5])
    w = mixture_weights(held_out, codes, first, 0.05)
    assert w.sum() == pytest.approx(1) and (w > 0).all()
    best = penalized_loss(w, held_out, codes, first, 0.05)
    for a in np.linspace(0.01, 0.97, 25):
        for b in np.linspace(0.01, 0.98 - a, 25):
            other = np.array([a, b, 1 - a - b])
            # The floor under probabilities shifts the optimum by less than this.
            assert best <= penalized_loss(other, held_out, codes, first, 0.05) + 1e-4


def test_a_strong_pull_gives_the_first_weights():
    held_out, codes = random_answers(np.random.default_rng(1))
    first = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(mixture_weights(held_out, codes, first, 1e4), first, atol=1e-3)


def test_stack_prefers_the_better_and_is_calibrated_by_its_exponents():
    rng = np.random.default_rng(2)
    held_out, codes = random_answers(rng, m=200)
    held_out[2] = sharpen(held_out[2], 4.0)  # overconfident, but the best
    stack = fit_stack(held_out, codes, np.full(3, 1 / 3))
    assert stack.weights.argmax() == 2
    # Scores of this distance have a posterior three times as sharp as their softmax.
    assert stack.exponents[2] == pytest.approx(3 / 4, rel=0.2)
    assert stack.log_loss[-1] <= stack.log_loss[:-1].min() + 1e-3
    np.testing.assert_allclose(stack.combine(held_out), stack.held_out)
    np.testing.assert_allclose(stack.held_out.sum(axis=1), 1)


def test_stack_without_evidence_keeps_the_first_weights():
    held_out = np.full((2, 3, 3), 1 / 3)
    stack = fit_stack(held_out, np.array([0, 1, 2]), np.array([0.25, 0.75]))
    np.testing.assert_allclose(stack.weights, [0.25, 0.75])


def test_candidates_left_out_need_no_answer():
    held_out, codes = random_answers(np.random.default_rng(3), m=300, sharp=(0.0, 6.0))
    held_out[0] = sharpen(held_out[0], 5.0)
    stack = fit_stack(held_out, codes, np.array([0.5, 0.5]), strength=0.001)
    assert stack.weights[0] == 0
    np.testing.assert_allclose(stack.combine([None, held_out[1]]), stack.held_out)


@pytest.fixture(scope="module")
def islands():
    rng = np.random.default_rng(0)
    X = np.r_[
        rng.normal(size=(60, 2)), rng.normal(size=(40, 2)) + 20, rng.normal(size=(30, 2)) - 20
    ]
    classes = np.r_[X[:60, 0] > 0, X[60:100, 1] > 20, np.zeros(30)].astype(int)
    rows = rng.choice(130, 14, replace=False)
    return build_graph(X, n_neighbors=6).W, rows, classes[rows]


@pytest.mark.parametrize("method", ["poisson", "spreading"])
def test_leave_one_out_equals_refits(method, islands):
    W, rows, codes = islands
    responses = solve_responses(W, rows, method, alpha=0.99)
    refit = poisson_scores if method == "poisson" else spreading_scores
    options = {} if method == "poisson" else {"alpha": 0.99}
    for i in range(len(rows)):
        kept = np.arange(len(rows)) != i
        values, is_reached = responses.scores(kept, codes, 2)
        scores = refit(W, rows[kept], codes[kept], 2, tol=1e-9, **options)
        np.testing.assert_allclose(values, scores.values, atol=1e-6 * np.abs(values).max())
        assert np.array_equal(is_reached, scores.is_reached)


@pytest.mark.parametrize("method", ["poisson", "spreading"])
def test_shares_of_the_labels_sum_to_the_score(method, islands):
    W, rows, codes = islands
    responses = solve_responses(W, rows, method)
    values, _ = responses.scores(np.ones(len(rows), bool), codes, 2)
    row = 5  # in a component with both classes
    for answer in (0, 1):
        sources = responses.sources(np.ones(len(rows), bool), codes, 2)
        shares = responses.G[row] * sources[:, answer]
        assert shares.sum() == pytest.approx(values[row, answer], abs=1e-9)


def test_priors():
    assert parse_priors("equal") == "equal"
    assert parse_priors("a=b=0.5,c=0.5") == {"a=b": 0.5, "c": 0.5}
    with pytest.raises(InputError, match="--priors"):
        parse_priors("a:0.5")
    with pytest.raises(InputError, match="differ in b"):
        class_shares({"a": 1.0}, [0, 1], ["a", "b"])
    with pytest.raises(InputError, match="positive"):
        class_shares({"a": 1.0, "b": 0.0}, [0, 1], ["a", "b"])
    np.testing.assert_allclose(class_shares("labels", [0, 0, 1], ["a", "b"]), [0.6, 0.4])
    np.testing.assert_allclose(class_shares("equal", [0], ["a", "b"]), 0.5)


def test_regression_weights_are_the_minimum():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    held_out = np.array([y + rng.normal(size=50), y + 0.3 * rng.normal(size=50), 0 * y])
    first = np.full(3, 1 / 3)

    def loss(w):
        error = np.mean((w @ held_out - y) ** 2) + 1e-4 * y.var()
        return 0.5 * np.log(error) + 0.03 * np.sum(w * np.log(w / first))

    w = regression_weights(held_out, y, first, 0.03)
    for _ in range(300):
        assert loss(w) <= loss(rng.dirichlet(np.ones(3))) + 1e-6


def test_cv_plus_against_sorted_lists():
    rng = np.random.default_rng(0)
    fold, rows, values = np.arange(30) % 5, np.arange(30), rng.normal(size=30)
    by_fold = rng.normal(size=(5, 40))
    lower, upper = cv_plus(by_fold, fold, (rows, values), coverage=0.8)
    residual = [abs(values[i] - by_fold[fold[i], i]) for i in range(30)]
    for x in range(40):
        high = sorted(by_fold[fold[i], x] + residual[i] for i in range(30))
        low = sorted(by_fold[fold[i], x] - residual[i] for i in range(30))
        assert upper[x] == pytest.approx(high[int(np.ceil(0.8 * 31)) - 1])
        assert lower[x] == pytest.approx(low[int(np.floor(0.2 * 31 + 1e-9)) - 1])


@pytest.mark.parametrize("n_folds", [10, 60], ids=["CV+", "jackknife+"])
def test_cv_plus_gives_the_intervals_of_mapie(n_folds):
    peer = pytest.importorskip("mapie.regression", reason="no MAPIE: runs where it is installed")
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import PredefinedSplit

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.normal(size=300)
    rows, fold = rng.permutation(300)[:60], np.arange(60) % n_folds
    kept = [rows[fold != held] for held in range(n_folds)]
    by_fold = np.array([Ridge().fit(X[some], y[some]).predict(X) for some in kept])
    found = cv_plus(by_fold, fold, (rows, y[rows]), coverage=0.9)
    model = peer.CrossConformalRegressor(
        Ridge(), confidence_level=0.9, method="plus", cv=PredefinedSplit(fold)
    )
    _, expected = model.fit_conformalize(X[rows], y[rows]).predict_interval(X)
    np.testing.assert_allclose(np.transpose(found), expected[:, :, 0], rtol=1e-12, atol=1e-12)


def test_cv_plus_covers_new_rows():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(40):
        x = rng.uniform(-1, 1, 80)
        y = 2 * x + rng.normal(size=80)
        fold = np.arange(40) % 8
        fits = [np.polyfit(x[:40][fold != f], y[:40][fold != f], 1) for f in range(8)]
        by_fold = np.array([np.polyval(fit, x) for fit in fits])
        lower, upper = cv_plus(by_fold, fold, (np.arange(40), y[:40]), coverage=0.9)
        inside.append(np.mean((lower <= y)[40:] & (y <= upper)[40:]))
    assert 0.88 <= np.mean(inside) <= 0.95


def test_too_few_labels_for_a_coverage_give_infinite_intervals():
    lower, upper = cv_plus(np.zeros((4, 6)), np.arange(4), (np.arange(4), np.ones(4)), low=0.0)
    assert np.isinf(upper).all() and (lower == 0).all()


def test_first_weights_follow_the_rows_while_labels_are_few():
    families = ["trees", "geodesic", "geodesic", "clusters"]
    shares = [None, "labels", "equal", None]

    def weights(m, explained, even=0.5):
        found = first_weights(families, shares, m, explained=explained, even=even)
        assert found.sum() == pytest.approx(1) and (found > 0).all()
        return found

    few, many = weights(10, 0.9), weights(10_000, 0.9)
    assert few[1:3].sum() > many[1:3].sum() and few[0] < many[0]
    assert weights(10, 0.1)[1:3].sum() < few[3]
    assert many[1:3].sum() == pytest.approx(many[3], rel=0.02)
    # Without knowing anything of the rows, families count the same.
    plain = first_weights(families, [None] * 4, 10**9, numbers=True)
    np.testing.assert_allclose(plain, [1 / 3, 1 / 6, 1 / 6, 1 / 3], rtol=1e-6)
    certain = weights(50, 0.5, even=1.0)
    assert certain[2] > 50 * certain[1] > 0


def test_the_chance_of_equal_classes_against_the_integral():
    codes = np.repeat([0, 1], [7, 3])
    grid = (np.arange(100_000) + 0.5) / 100_000
    free = np.mean(grid**7 * (1 - grid) ** 3)
    expected = 0.5**10 / (0.5**10 + free)
    assert chance_of_equal_classes(codes, 2) == pytest.approx(expected, rel=1e-4)
    assert chance_of_equal_classes(np.repeat(np.arange(6), 17), 6) > 0.95
    assert chance_of_equal_classes(np.zeros(5000, int), 3) == pytest.approx(0)


def test_factors_bring_classes_to_their_shares_and_keep_absent_ones_away():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 2, 5], size=300)
    found = with_factors(proba, factors_for_shares(proba, [0.5, 0.3, 0.2]))
    np.testing.assert_allclose(found.mean(axis=0), [0.5, 0.3, 0.2], atol=1e-5)
    absent = np.column_stack(
        [proba[:, :2] / proba[:, :2].sum(axis=1, keepdims=True), np.zeros(300)]
    )
    found = with_factors(absent, factors_for_shares(absent, [0.5, 0.3, 0.2]))
    assert np.isfinite(found).all() and not found[:, 2].any()


def test_neighbors_explain_nothing_of_constant_rows_and_of_one_row():
    assert explained_by_neighbors(np.ones((20, 3))) == 0.05
    assert explained_by_neighbors(np.ones((1, 3))) == 0.05
