"""The combined answer of all candidates."""

import numpy as np
from sklearn.datasets import load_wine

from fewfold.labeling.combination import Task, combine, default_members, examine

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
