"""Choosing, estimating, calibrating, advising and warning."""

import numpy as np
import pytest

from fewfold.labeling import warnings_
from fewfold.labeling.advice import crowding, rows_to_label
from fewfold.labeling.calibration import calibrate, calibration_error, fit_calibration
from fewfold.labeling.choosing import (
    error_interval,
    estimate,
    expected_loss,
    held_out_losses,
    make_folds,
    mean_losses,
    pick,
    too_few,
)
from fewfold.labeling.results import compare
from fewfold.labeling.voting import combine, held_out_vote


def labels(counts, n=500, seed=0):
    y = np.full(n, -1)
    rows = np.random.default_rng(seed).permutation(n)
    y[rows[: sum(counts)]] = np.repeat(np.arange(len(counts)), counts)
    return y


def test_folds_are_stratified_of_one_size_and_hold_each_row_out_once_per_repeat():
    y = labels([30, 20, 1])
    plan = make_folds(y, "classification", seed=3)
    rows = np.flatnonzero(y >= 0)
    assert plan.splits.shape == (30, 51 - 5) and plan.n_folds == 10 and plan.n_repeats == 3
    single = rows[y[rows] == 2][0]
    for repeat in range(3):
        held_out = [np.setdiff1d(rows, s) for s in plan.splits[10 * repeat : 10 * repeat + 10]]
        assert single not in np.concatenate(held_out)
        assert len(np.unique(np.concatenate(held_out))) == 50
        assert all(np.bincount(y[h]).tolist() == [3, 2] for h in held_out)
    assert np.array_equal(plan.splits, make_folds(y, "classification", seed=3).splits)
    assert not np.array_equal(plan.splits, make_folds(y, "classification", seed=4).splits)


def test_folds_of_numbers():
    y = np.full(100, np.nan)
    y[:47] = np.arange(47)
    plan = make_folds(y, "regression")
    assert plan.splits.shape == (30, 43)


def test_too_few_labels_are_said_to_be():
    assert "5 labels are too few" in too_few(labels([3, 2]), "classification")
    assert "only one of their class" in too_few(labels([15] + [1] * 10), "classification")
    assert too_few(labels([15, 10]), "classification") is None
    assert too_few(np.full(5, -1), "clustering") == "there are no labels"


def test_held_out_losses_by_hand():
    y = np.array([0, 1, 0, -1])
    splits = np.array([[0, 1], [1, 2], [0, 2]])
    said = [np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), np.array([0, 0, 0, 0])]
    rows, losses = held_out_losses(y, splits, said, "classification")
    assert rows.tolist() == [0, 1, 2] and losses == [[0.0], [1.0], [1.0]]
    assert mean_losses([[0.0, 1.0], []])[0] == 0.5 and np.isnan(mean_losses([[]])[0])


def test_the_least_error_is_chosen_and_a_vote_only_if_clearly_better():
    rng = np.random.default_rng(0)
    first = (rng.random(200) < 0.30).astype(float)
    slightly = first.copy()  # two mistakes less, one more: within chance
    slightly[np.flatnonzero(first)[:2]] = 0
    slightly[np.flatnonzero(first == 0)[:1]] = 1
    clearly = np.where(rng.random(200) < 0.5, 0, first)
    assert pick(np.array([first, slightly])) == 1
    assert pick(np.array([first, first])) == 0
    assert pick(np.array([first, slightly]), vote=1) == 0
    assert pick(np.array([first, slightly, clearly]), vote=2) == 2
    # A trusted method gives way only to one that is clearly better.
    assert pick(np.array([first, slightly]), trusted=0) == 0
    assert pick(np.array([first, clearly]), trusted=0) == 1
    assert pick(np.array([slightly, first]), trusted=0) == 0


def test_expected_loss_is_not_flattered_by_choosing():
    """Among 20 methods that all err 30 % by chance, the least is too low; ours is not."""
    rng = np.random.default_rng(0)
    least, ours = [], []
    for seed in range(15):
        losses = (rng.random((20, 60)) < 0.3).astype(float)
        least.append(losses.mean(axis=1).min())
        ours.append(expected_loss(losses, seed=seed, n=100))
    assert np.mean(least) < 0.22
    assert abs(np.mean(ours) - 0.3) < 0.035


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for truth, n in ((0.02, 100), (0.1, 60), (0.3, 200)):
        errors = rng.binomial(n, truth, size=2000) / n
        hits = [low <= truth <= high for low, high in (error_interval(e, n) for e in errors)]
        assert 0.945 <= np.mean(hits) <= 0.999
    low, high = error_interval(0.0, 50)
    assert low == 0 and 0.05 < high < 0.2


def test_the_interval_of_a_chosen_method_covers_its_true_error():
    """Choose between real methods on 50 draws of few labels; the truth is known from many rows."""
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

    methods = {"near": KNeighborsClassifier(1), "nb": GaussianNB(), "centre": NearestCentroid()}
    hits, stated, true, widths = [], [], [], []
    for seed in range(50):
        rng = np.random.default_rng([seed, 3])
        code = rng.integers(5, size=1560)
        X = rng.normal(size=(1560, 4)) + 1.6 * np.eye(5)[code][:, :4]
        y = np.where(np.arange(1560) < 60, code, -1)
        folds, found = make_folds(y, "classification", seed=seed, n_repeats=1), {}
        for name, method in methods.items():
            said = [method.fit(X[t], code[t]).predict(X[:60]) for t in folds.splits]
            losses = held_out_losses(y, folds.splits, said, "classification")[1]
            found[name] = {"losses": losses, "seconds": 0.0, "failed": []}
        comparison = compare(found, "classification", folds.n_folds, seed, n_classes=5)
        expected = comparison["estimate"]
        chosen = methods[comparison["chosen"]].fit(X[:60], code[:60])
        true.append(np.mean(chosen.predict(X[60:]) != code[60:]))
        hits.append(expected["low"] <= true[-1] <= expected["high"])
        stated.append(expected["value"])
        widths.append(expected["high"] - expected["low"])
    assert sum(hits) >= 44  # 95 % of 50; fewer than 44 would come once in 500 times
    assert abs(np.mean(stated) - np.mean(true)) < 0.03 and np.mean(widths) < 0.35


def test_estimate_for_numbers_is_a_root():
    losses = np.random.default_rng(0).exponential(4.0, size=(1, 300))
    found = estimate(losses, 0, None, "regression", 10)
    assert found.value == pytest.approx(np.sqrt(losses.mean()))
    assert found.low < found.value < found.high


def test_calibration_mends_overconfidence_and_keeps_the_order():
    rng = np.random.default_rng(0)
    true = rng.uniform(0.4, 1, 3000)
    right = rng.random(3000) < true
    said = 1 / (1 + np.exp(-3 * np.log(true / (1 - true + 1e-9))))
    slope, shift = fit_calibration(said[:1500], right[:1500])
    mended = calibrate(said[1500:], slope, shift)
    before = calibration_error(said[1500:], right[1500:])
    assert before > 0.08 and calibration_error(mended, right[1500:]) < 0.04
    assert slope >= 0 and (np.diff(mended[np.argsort(said[1500:])]) >= -1e-12).all()


def test_calibration_without_mistakes_or_rows():
    assert fit_calibration([], []) == (1.0, 0.0)
    slope, shift = fit_calibration([0.9] * 30, [True] * 30)
    assert 0.9 < calibrate([0.9], slope, shift)[0] < 1
    assert np.isnan(calibrate([np.nan], 1, 0)[0])
    slope, _ = fit_calibration(np.linspace(0.1, 0.9, 50), np.arange(50) < 25)
    assert slope == 0  # the surer, the more often wrong: no trust at all, but no reversal


def test_advice_is_uncertain_central_spread_and_new():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.3, size=(50, 2)) for c in (0, 10, 20)])
    doubt = np.concatenate([np.full(50, 0.9), np.full(50, 0.8), np.full(50, 0.01)])
    rows = rows_to_label(X, doubt, np.ones(150), known=[0, 1], count=6)
    groups = rows // 50
    assert set(groups[:2]) == {0, 1} and not {0, 1} & set(rows)
    assert len(rows_to_label(X, doubt, np.ones(150), known=np.arange(148))) == 2
    assert crowding([1.0, 5.0, 2.0]).argmax() == 0


def test_warnings():
    y = np.array([0, 0, 1, -1, -1, 2, 2])
    assert "'b'" in warnings_.single_examples(y, ["a", "b", "c"])[0]["text"]
    X = np.array([[0.0], [1.0], [1.0], [1.0], [3.0], [4.0], [5.0]])
    found = warnings_.contradicting_duplicates(X, y)
    assert found[0]["rows"] == [1, 2] and "rows 2, 3" in found[0]["text"]
    assert warnings_.contradicting_duplicates(np.arange(7.0)[:, None], y) == []
    part = np.array([0, 0, 0, 1, 1, 0, 0])
    assert warnings_.unlabelled_components(part, y)[0]["rows"] == [3, 4]
    assert warnings_.unlabelled_components(np.zeros(7), y) == []


def test_rows_off_the_labelled_ones_are_named_only_if_they_are_many():
    rng = np.random.default_rng(0)
    scales, y = rng.uniform(1, 2, 1000), np.full(1000, -1)
    y[:100] = 0
    assert warnings_.off_the_labelled(scales, y) == []  # drawn alike
    scales[900:] += 5
    found = warnings_.off_the_labelled(scales, y)
    assert set(found[0]["rows"]) >= set(range(900, 1000))
    assert "drifted" in found[0]["text"]
    scales[0] = 20  # a labelled row lies farther out still
    assert warnings_.off_the_labelled(scales, y) == []
    assert warnings_.off_the_labelled(scales, np.full(1000, -1)) == []
    wrong = warnings_.suspected_labels(
        [0, 1, 2],
        y,
        [[1, 1], [0, 0], [2, 0]],
        [[0.95, 0.97], [0.9, 0.9], [0.99, 0.99]],
        list("abc"),
    )
    assert wrong[0]["rows"] == [0] and "looks like 'b'" in wrong[0]["text"]
    skew = warnings_.skewed_labels(np.repeat([0, 1], 50), np.repeat([0, 1], [95, 5]), ["a", "b"])
    assert len(skew) == 1


def test_leakage():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    columns = {"id": np.arange(90), "noise": rng.normal(size=90), "weak": y + rng.normal(size=90)}
    found = warnings_.leaking_columns(columns, y, ["id"])
    assert [w["text"].split("'")[1] for w in found] == ["id"]
    columns["id"] = rng.permutation(90)
    assert warnings_.leaking_columns(columns, y, ["id"]) == []


def test_a_vote_of_independent_methods_beats_each():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    found = {}
    for m, error in (("a", 0.2), ("b", 0.22), ("c", 0.24), ("bad", 0.7)):
        wrong = rng.random(400) < error
        said = np.where(wrong, (y + rng.integers(1, 4, 400)) % 4, y)
        found[m] = {
            "rows": np.arange(400),
            "losses": [[float(v)] for v in wrong],
            "labels": [[float(v)] for v in said],
            "confidence": [[0.9 - 0.2 * v * rng.random()] for v in wrong],
            "seconds": 1.0,
            "failed": [],
        }
    entry, chosen, calibrations = held_out_vote(found, y, 4)
    assert chosen == ["a", "b", "c"] and set(calibrations) == set(chosen)
    assert np.mean(entry["losses"]) < 0.15
    proba = combine([[0, -1], [0, 1]], [[0.9, 0.9], [0.9, 0.6]], 3)
    assert proba.argmax(axis=1).tolist() == [0, 1] and np.allclose(proba.sum(axis=1), 1)
    found["b"]["failed"] = ["no"]
    del found["c"], found["bad"]
    assert held_out_vote(found, y, 4) == ({}, [], {})


def test_uneven_scales_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1, 1, 50, 1]
    (found,) = warnings_.uneven_scales(X, list("abcd"))
    assert "'c'" in found["text"] and found["kind"] == "scales"
    assert "number 3" in warnings_.uneven_scales(X)[0]["text"]
    assert warnings_.uneven_scales(X / [1, 1, 50, 1]) == []
    assert warnings_.uneven_scales(np.ones((5, 3))) == []
