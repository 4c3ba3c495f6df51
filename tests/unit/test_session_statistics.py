"""Bounds that hold whenever one looks: brute force on tiny populations, coverage on larger ones."""

from itertools import combinations

import numpy as np
import pytest

from fewfold.session.audit import NOT_SURE, UNANSWERED, Frozen, Promise
from fewfold.session.record import Record
from fewfold.session.sequences import (
    answers_expected,
    largest_evidence,
    log_evidence,
    log_likelihood,
    wrong_bounds,
)


def test_likelihood_is_that_of_all_orders_counted():
    n, k = 6, 2
    orders = [tuple(i in c for i in range(n)) for c in combinations(range(n), k)]
    for seen in range(n + 1):
        for prefix in {order[:seen] for order in orders}:
            share = sum(order[:seen] == prefix for order in orders) / len(orders)
            found = np.exp(log_likelihood(n, k, seen, sum(prefix)))
            assert found == pytest.approx(share)


def every_order(n, k):
    return [np.isin(np.arange(n), c) for c in combinations(range(n), k)]


@pytest.mark.parametrize("k", range(0, 13))
def test_no_more_than_alpha_of_all_orders_ever_miss(k):
    """Exact: every order of 12 rows, every number of draws."""
    n, alpha = 12, 0.2
    orders = every_order(n, k)
    missed = 0
    for order in orders:
        bounds = [wrong_bounds(n, order[:seen], alpha) for seen in range(n + 1)]
        missed += any(not low <= k <= high for low, high in bounds)
    assert missed <= alpha * len(orders)


@pytest.mark.parametrize("allowed", [0, 1, 3, 6])
def test_evidence_is_at_most_fair_under_every_true_null(allowed):
    """Exact: the chance that evidence ever passes 1 / alpha is at most alpha, over all orders."""
    n, alpha = 12, 0.25
    for k in range(allowed + 1, n + 1):
        orders = every_order(n, k)
        passed = sum(largest_evidence(n, allowed, o) >= np.log(1 / alpha) for o in orders)
        assert passed <= alpha * len(orders)


def test_evidence_has_mean_one_on_the_edge_of_the_null():
    n, allowed, seen = 12, 3, 7
    orders = every_order(n, allowed + 1)
    found = [np.exp(log_evidence(n, allowed, [seen], [o[:seen].sum()]))[0] for o in orders]
    assert np.mean(found) == pytest.approx(1.0, rel=1e-9)


def test_bounds_close_in_on_the_truth_when_all_rows_are_drawn():
    outcomes = np.random.default_rng(0).random(200) < 0.1
    k = int(outcomes.sum())
    assert wrong_bounds(200, outcomes, 0.05) == (k, k)


def test_evidence_needs_little_more_than_a_fixed_sample():
    # Clopper-Pearson with a number of draws fixed before: 149 right answers for 2 %.
    needed = answers_expected(100_000, 2000, 0.0, 0.05)
    assert 149 <= needed <= 205


def frozen(labels, confidence=None, alpha=0.05, seed=0):
    n = len(labels)
    order = np.random.default_rng(seed).permutation(n)
    confidence = np.full(n, 0.9) if confidence is None else np.asarray(confidence)
    return Frozen(order, np.asarray(labels)[order], confidence[order], 0, alpha)


def test_rows_answered_out_of_turn_count_when_their_turn_comes():
    fixed = frozen(np.zeros(10, int))
    answers = np.full(10, UNANSWERED)
    answers[fixed.rows[[0, 2]]] = [1, 0]
    assert fixed.outcomes(answers)[0].tolist() == [True]
    answers[fixed.rows[1]] = 0
    assert fixed.outcomes(answers)[0].tolist() == [True, False, False]
    assert fixed.next_row(answers) == fixed.rows[3]


def test_changed_labels_and_unsure_rows_widen_the_bounds():
    fixed = frozen(np.zeros(100, int))
    answers = np.full(100, UNANSWERED)
    answers[fixed.rows[:60]] = 0
    plain = fixed.bounds(answers, np.zeros(100, int), 0.05)
    present = np.zeros(100, int)
    present[fixed.rows[90:]] = 1
    assert fixed.bounds(answers, present, 0.05).high == min(plain.high + 10, 40)
    answers[fixed.rows[3]] = NOT_SURE
    unsure = fixed.bounds(answers, np.zeros(100, int), 0.05)
    assert unsure.high > plain.high and unsure.low == plain.low


def test_a_promise_on_too_many_errors_is_rarely_proven():
    """Sets, order and stopping as in a session: the first true null is the one that counts."""
    n, share, alpha, broken = 400, 0.1, 0.1, 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 1])
        confidence = rng.random(n)
        truth = (rng.random(n) < 0.12).astype(int)
        fixed = frozen(np.zeros(n, int), confidence, alpha, seed)
        promise = Promise.plan(fixed, share)
        answers = np.full(n, UNANSWERED)
        for row in fixed.rows[:300]:
            answers[row] = truth[row]
            kept = promise.n_kept(answers)
            claims = [
                fixed.labels[i] != truth[fixed.rows[i]]
                for i in (promise.inside(j) for j in range(kept))
            ]
            if any(c.sum() > promise.allowed(j) for j, c in enumerate(claims)):
                broken += 1
                break
    assert broken <= alpha * 300


def test_shares_of_alpha_add_up_to_no_more_than_alpha():
    record = Record(np.full(50, -1), ["a", "b"])
    for _ in range(6):
        record.freeze(np.zeros(50, int), np.full(50, 0.9))
        record.freeze(np.zeros(50, int), np.full(50, 0.9), 0.1)
    assert sum(e.alpha for e in record.epochs) < 0.05
    assert sum(p.frozen.alpha for p in record.promises) < 0.05


def test_estimate_covers_at_all_times_with_labels_that_change():
    """Labels change after answers; rows for the model are chosen by an adversary."""
    n, missed = 300, 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 3])
        truth = rng.integers(0, 2, n)
        present = np.where(rng.random(n) < 0.2, 1 - truth, truth)
        record = Record(np.full(n, -1), ["0", "1"], seed=seed)
        for turn in range(150):
            row = record.next_audit(record.answers) if turn % 3 == 0 else None
            if row is None:  # an adversary's choice: a row that is right, so that errors stay
                right = np.flatnonzero((record.answers < 0) & (present == truth))
                row = int(right[0]) if len(right) else record.next_audit(record.answers)
            record.put(row, str(truth[row]))
            present[row] = truth[row]
            if turn % 10 == 5:  # the model gets a few rows better and a few worse
                flips = rng.permutation(np.flatnonzero(record.answers < 0))[:4]
                present[flips] = 1 - present[flips]
            if record.epoch_is_due():
                record.freeze(present, np.full(n, 0.8))
            found = record.estimate(present).all
            if not found.low <= np.sum(present != truth) <= found.high:
                missed += 1
                break
    assert missed <= 3 + 4  # 5 % of 60, and two standard deviations
