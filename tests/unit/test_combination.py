"""The combined answer of all candidates."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from fewfold.labeling.combination import Task, combine, default_members, examine
from fewfold.labeling.intervals import error_estimate
from fewfold.labeling.numbers import (
    combine_numbers,
    default_regressors,
    examine_numbers,
    value_folds,
)

FAST = (
    "extra trees",
    "logistic C=1",
    "low density",
    "low density, equal classes",
    "diffusion, labels",
)


def test_combined_answer_is_as_good_as_its_members_and_shares_preparations():
    X, kind = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = np.sort(np.random.default_rng(0).choice(len(X), 30, replace=False))
    members = [m for m in default_members() if m.name in FAST]
    assert len(members) == len(FAST)
    task = Task(X, rows, kind[rows], 3)
    evidence = [examine(m, task) for m in members]
    assert "low density" in task.prepared and "low density, equal classes" not in task.prepared
    proba, stack = combine(members, evidence, kind[rows])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    hidden = np.setdiff1d(np.arange(len(X)), rows)
    errors = [np.mean(e.answer.argmax(axis=1)[hidden] != kind[hidden]) for e in evidence]
    assert np.mean(proba.argmax(axis=1)[hidden] != kind[hidden]) <= np.median(errors)
    assert stack.log_loss[-1] <= stack.log_loss[:-1].min() + 0.05
    again, _ = combine(
        members, [examine(m, Task(X, rows, kind[rows], 3)) for m in members], kind[rows]
    )
    assert np.array_equal(proba, again)


def test_below_twenty_labels_each_is_left_out_alone():
    X = np.random.default_rng(0).normal(size=(40, 2))
    codes = np.array([0, 1] * 4)
    assert sorted(Task(X, np.arange(8), codes, 2).folds[0]) == list(range(8))


def test_known_sizes_of_classes_are_kept_for_new_rows():
    X, kind = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = np.sort(np.random.default_rng(0).choice(len(X), 30, replace=False))
    members = [m for m in default_members() if m.name in FAST]
    task = Task(X, rows, kind[rows], 3)
    evidence = [examine(m, task) for m in members]
    given = {"0": 0.2, "1": 0.2, "2": 0.6}
    proba, stack = combine(members, evidence, kind[rows], task=task, priors=given)
    np.testing.assert_allclose(proba.mean(axis=0), [0.2, 0.2, 0.6], atol=1e-4)
    part = [e.answer[:5] for e in evidence]
    np.testing.assert_allclose(stack.combine(part), proba[:5])
    equal, _ = combine(members, evidence, kind[rows], task=task, priors="equal")
    np.testing.assert_allclose(equal.mean(axis=0), 1 / 3, atol=1e-4)
    _, free = combine(members, evidence, kind[rows], task=task, priors="labels")
    assert free.factors is None


def test_numbers_are_combined_with_intervals_and_never_negative():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.exp(X[:, 0] + 0.5 * X[:, 1]) + 0.1 * rng.random(150)
    rows = np.arange(60)
    fold = value_folds(y[rows], 10, rng)
    assert np.bincount(fold).tolist() == [6] * 10
    members = [m for m in default_regressors() if m.family in ("linear", "rbf")]
    evidence = [examine_numbers(m, X, rows, y[rows], fold) for m in members]
    found = combine_numbers(members, evidence, rows, y[rows], fold)
    assert found["weights"].sum() == pytest.approx(1)
    hidden = np.arange(60, 150)
    errors = [np.mean((e.answer - y)[hidden] ** 2) for e in evidence]
    assert np.mean((found["answer"] - y)[hidden] ** 2) < np.median(errors)
    assert (found["lower"] >= 0).all() and (found["answer"] >= 0).all()
    inside = (found["lower"] <= y) & (y <= found["upper"])
    assert 0.8 < inside[hidden].mean() <= 1


def test_the_error_interval_holds_both_estimates_and_narrows():
    rng = np.random.default_rng(0)
    widths = []
    for m in (20, 100, 500):
        codes = rng.integers(0, 2, m)
        combined = np.eye(2)[np.where(rng.random(m) < 0.1, 1 - codes, codes)]
        cross = np.eye(2)[np.where(rng.random(m) < 0.15, 1 - codes, codes)]
        found = error_estimate(combined, cross, codes)
        optimistic = np.mean(combined.argmax(axis=1) != codes)
        assert found.low <= min(optimistic, found.value) <= found.value <= found.high
        assert found.n_labels == m and 0 < found.trivial <= 0.5
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]
