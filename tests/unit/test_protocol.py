"""Labeled draws and metrics: counts, nesting, seeds, brute force."""

import itertools

import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.pipeline.protocol import (
    derive_seed,
    draw_order,
    error_rate,
    evaluated_rows,
    held_out_mask,
    make_draws,
    mean_squared_error,
    pair_error,
    resolve_budgets,
)

Y = np.repeat([0, 1, 2], [50, 30, 5])


def draws(y=Y, **changes):
    options = dict(draw="random", budgets=[5, 20], trials=4, seed=0, dataset="d") | changes
    return make_draws(np.asarray(y), **options)


def test_seeds_depend_on_every_axis():
    seeds = [derive_seed(s, d, t) for s in (0, 1) for d in ("a", "b") for t in range(5)]
    assert len(set(seeds)) == 20 and seeds == [
        derive_seed(s, d, t) for s in (0, 1) for d in ("a", "b") for t in range(5)
    ]
    assert all(0 <= s < 2**32 for s in seeds)


@pytest.mark.parametrize("draw", ["random", "stratified", "balanced"])
def test_draws_are_distinct_rows_and_repeatable(draw):
    order, budgets = draws(draw=draw)
    assert order.shape == (4, 20) and budgets == [5, 20]
    assert all(len(set(row)) == 20 for row in order.tolist())
    np.testing.assert_array_equal(order, draws(draw=draw)[0])
    assert not np.array_equal(order, draws(draw=draw, seed=1)[0])
    assert not np.array_equal(order, draws(draw=draw, dataset="e")[0])
    assert not np.array_equal(order[0], order[1])


@pytest.mark.parametrize("draw", ["random", "stratified", "balanced"])
def test_a_smaller_budget_is_the_beginning_of_a_larger_one(draw):
    small, large = draws(draw=draw, budgets=[5])[0], draws(draw=draw, budgets=[5, 40])[0]
    np.testing.assert_array_equal(small, large[:, :5])
    np.testing.assert_array_equal(draws(draw=draw, trials=2)[0], draws(draw=draw, trials=9)[0][:2])


def test_stratified_sees_every_class_once_before_any_twice_and_then_in_proportion():
    order, _ = draws(draw="stratified", budgets=[3, 17], trials=20)
    assert all(sorted(Y[row[:3]]) == [0, 1, 2] for row in order)
    counts = np.array([np.bincount(Y[row], minlength=3) for row in order])
    assert (np.abs(counts - 17 * np.array([50, 30, 5]) / 85) <= 1.01).all()


def test_balanced_takes_equally_many_while_they_last():
    order, _ = draws(draw="balanced", budgets=[15, 45], trials=10)
    assert all(np.bincount(Y[row[:15]]).tolist() == [5, 5, 5] for row in order)
    assert all(np.bincount(Y[row]).tolist() == [20, 20, 5] for row in order)


def test_disjoint_draws_share_no_row():
    order, budgets = draws(draw="disjoint", budgets=[5, 20], trials=len(Y) // 20)
    assert budgets == [5, 20] and len(np.unique(order)) == order.size
    assert not np.array_equal(order, draws(draw="disjoint", trials=len(Y) // 20, seed=1)[0])
    with pytest.raises(InputError, match=f"needs 1000 rows that may be labeled, found {len(Y)}"):
        draws(draw="disjoint", budgets=[20], trials=50)


def test_random_draws_are_uniform():
    order, _ = draws(budgets=[1], trials=3000)
    share = np.bincount(Y[order[:, 0]]) / 3000
    np.testing.assert_allclose(share, np.array([50, 30, 5]) / 85, atol=0.04)


def test_rows_without_label_and_test_rows_are_never_drawn():
    y = Y.copy()
    y[::3] = -1
    mask = np.zeros(len(y), bool)
    mask[1::3] = True
    order, _ = draws(y, test_mask=mask, budgets=[28], draw="random", trials=3)
    assert set(order.ravel() % 3) == {2}
    values = np.where(np.arange(20) % 2, np.nan, 1.5)
    order, _ = draws(values, budgets=[10])
    assert not (order % 2).any()


@pytest.mark.parametrize(
    ("budgets", "n", "expected"),
    [([5, 3, 5], 10, [3, 5]), ([0.5], 10, [5]), ([0.001], 10, [1]), ([1.0], 10, [10]),
     ([1], 10, [1]), ([10], 10, [10]), ([0.5, 5], 10, [5])],
)  # fmt: skip
def test_budgets(budgets, n, expected):
    assert resolve_budgets(budgets, n) == expected


@pytest.mark.parametrize("budget", [11, -3, 0.0, 1.5, float("nan")])
def test_impossible_budgets(budget):
    with pytest.raises(InputError, match="Allowed: counts from 1 to 10"):
        resolve_budgets([budget], 10)


def test_no_labels_are_for_clustering():
    assert resolve_budgets([0, 3], 10) == [0, 3]


def test_balanced_needs_a_label_of_each_class():
    with pytest.raises(InputError, match="each of the 3 classes of 'd'"):
        draws(draw="balanced", budgets=[2])


def test_unusable_labels():
    with pytest.raises(InputError, match="'d' has no labeled row"):
        draws(np.full(9, -1))
    with pytest.raises(InputError, match="one class only among the 9 rows"):
        draws(np.zeros(9, int))
    # One labeled row is one class.
    with pytest.raises(InputError, match="one class only among the 1 rows"):
        draws([0, -1, -1])


def test_a_class_seen_once_can_be_drawn():
    order, _ = draws([0] * 9 + [1], draw="stratified", budgets=[2])
    assert (order == 9).any(axis=1).all()


def test_all_rows_labeled():
    order, budgets = draws(budgets=[1.0], trials=1)
    assert budgets == [85] and sorted(order[0]) == list(range(85))
    with pytest.raises(InputError, match="No row is left to evaluate"):
        evaluated_rows(Y, order[0])


def test_given_splits():
    splits = np.array([[3, 1, 2], [60, 5, 84]])
    order, budgets = draws(draw="given", label_splits=splits, budgets=[3], trials=2)
    np.testing.assert_array_equal(order, splits)
    assert budgets == [3]
    with pytest.raises(InputError, match="has 2 label splits. Use trials up to 2"):
        draws(draw="given", label_splits=splits, budgets=[3], trials=3)
    with pytest.raises(InputError, match="comes without label splits"):
        draws(draw="given", budgets=[3])


def test_draw_order_of_nothing():
    assert len(draw_order(Y, np.array([], int), draw="stratified", size=3, seed=0)) == 0


def test_evaluated_rows():
    y = np.array([0, 1, -1, 1, 0])
    mask = np.array([False, True, True, True, False])
    assert evaluated_rows(y, [0]).tolist() == [1, 3, 4]
    assert evaluated_rows(y, [0], evaluate="test", test_mask=mask).tolist() == [1, 3]
    with pytest.raises(InputError, match="no official test rows"):
        evaluated_rows(y, [0], evaluate="test")
    assert y.tolist() == [0, 1, -1, 1, 0]


def test_holdout():
    def shared(n, share, seed):
        return held_out_mask(n, "inductive", share, seed)

    mask = shared(50, 0.2, 3)
    assert mask.sum() == 10 and (mask == shared(50, 0.2, 3)).all()
    assert shared(3, 0.001, 0).sum() == 1 and shared(3, 0.999, 0).sum() == 2
    assert not held_out_mask(9, "transductive", 0.5, 0).any()
    official = np.array([True, False])
    assert held_out_mask(2, "inductive", "official", 0, official) is official
    with pytest.raises(InputError, match="no official test rows"):
        held_out_mask(2, "inductive", "official", 0)


def test_metrics():
    assert error_rate(np.array([0, 1, 1]), np.array([0, 1, -1])) == pytest.approx(1 / 3)
    assert mean_squared_error([1.0, 2.0], [1.0, 4.0]) == 2.0


@pytest.mark.parametrize("seed", range(5))
def test_pair_error_by_counting_pairs(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, 12), rng.integers(0, 4, 12)
    pairs = list(itertools.combinations(range(12), 2))
    wrong = sum((a[i] == a[j]) != (b[i] == b[j]) for i, j in pairs)
    assert pair_error(a, b) == pytest.approx(wrong / len(pairs))
    assert pair_error(a, b) == pair_error(b, a) and pair_error(a, a) == 0
