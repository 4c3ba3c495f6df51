"""Folds, weights, estimates, calibration, advice and warnings."""

import numpy as np
import pytest
from _labeling_material import CLASSES, answered

from fewfold.exceptions import InputError
from fewfold.labeling import estimates, warnings_
from fewfold.labeling.advice import crowding, rows_to_label
from fewfold.labeling.answering import answer
from fewfold.labeling.calibration import calibrate, calibration_error, fit_calibration
from fewfold.labeling.estimates import class_estimate, error_interval, value_estimate
from fewfold.labeling.examining import Evidence, Task, examine, make_folds
from fewfold.labeling.weighing import cross_fitted, unweighed, weigh, weights_before
from fewfold.methods.members import DataShape, Member, members_for, named_members
from fewfold.methods.registry import methods


def test_folds_are_stratified_and_single_below_twenty_labels():
    codes = np.repeat([0, 1, 2], [30, 20, 1])
    fold = make_folds(codes, "classification", seed=3)
    assert fold.max() == 9 and set(np.bincount(fold)) <= {5, 6}
    for c, size in ((0, 3), (1, 2)):
        assert set(np.bincount(fold[codes == c], minlength=10)) == {size}
    assert np.array_equal(fold, make_folds(codes, "classification", seed=3))
    assert not np.array_equal(fold, make_folds(codes, "classification", seed=4))
    assert make_folds(codes[:19], "classification").tolist() == list(range(19))
    values = np.arange(47.0)
    fold = make_folds(values, "regression")
    assert set(np.bincount(fold)) <= {4, 5}
    assert all(len(set(fold[start : start + 10])) == 10 for start in (0, 10, 20, 30))
    assert len(make_folds(codes, "classification", 0)) == 0


def test_candidates_follow_the_data():
    def names(*shape, **more):
        return {m.name for m in members_for(DataShape("classification", *shape, **more))}

    table = names(300, 30)
    assert {"extra_trees", "logistic_1", "low_density", "clusters_2", "diffusion"} <= table
    assert not any("image" in name for name in table) and "knn" not in table
    assert "image_diffusion" in names(300, 30, has_images=True)
    assert "knn" in names(300, 30, is_sparse=True) and "forest" not in names(
        300, 30, is_sparse=True
    )
    assert "low_density" not in names(10**5, 30) and "extra_trees" in names(10**5, 30)
    quick = members_for(DataShape("classification", 300, 30), quick=True)
    assert {m.name for m in quick} == {"extra_trees", "diffusion"}
    shape = DataShape("classification", 300, 30)
    assert [m.name for m in members_for(shape, ["trees"])] == ["extra_trees", "forest"]
    assert [m.name for m in members_for(shape, ["diffusion"])] == ["diffusion"]
    assert [m.name for m in members_for(shape, ["atlas_svm"])] == ["atlas_svm"]  # only if asked for
    (alone,) = members_for(shape, ["low_density_equal"])
    assert alone.prepared_like is None
    with pytest.raises(InputError, match="Did you mean 'diffusion'"):
        members_for(shape, ["difusion"])
    with pytest.raises(InputError, match="needs --image-shape"):
        members_for(shape, ["image_diffusion"])
    assert {m.name for m in members_for(DataShape("regression", 300, 30))} >= {"forest", "ridge"}


def fake(name, family="f", trusted=False):
    return Member(name, family, methods()["knn"], trusted=trusted)


def held_out(codes, right, sure=0.8):
    said = np.where(right, codes, 1 - codes)
    proba = np.full((len(codes), 2), 1 - sure)
    proba[np.arange(len(codes)), said] = sure
    return proba


def test_weights_follow_held_out_answers_and_a_trusted_candidate_yields_to_clear_evidence():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=200)
    good, poor = (held_out(codes, rng.random(200) > e) for e in (0.05, 0.5))
    members = [fake("good"), fake("poor")]
    half = np.full(2, 0.5)
    assert weigh(members, np.array([good, poor]), codes, half, True).weights[0] > 0.9
    members = [fake("good"), fake("poor", trusted=True)]
    assert weigh(members, np.array([good, poor]), codes, half, True).weights[0] > 0.9
    almost = good.copy()
    almost[:2] = almost[:2, ::-1]
    members = [fake("a"), fake("b", trusted=True)]
    weights = weigh(members, np.array([good, almost]), codes, half, True)
    assert weights.weights.tolist() == [0, 1]
    assert unweighed(members, half).weights.tolist() == [0, 1]


def test_of_two_trusted_candidates_the_one_of_less_loss_answers_in_any_order():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=40)
    better, worse = (held_out(codes, rng.random(40) > e) for e in (0.05, 0.15))
    members, half = [fake("a", trusted=True), fake("b", trusted=True)], np.full(2, 0.5)
    assert weigh(members, np.array([better, worse]), codes, half, True).weights.tolist() == [1, 0]
    assert weigh(members, np.array([worse, better]), codes, half, True).weights.tolist() == [0, 1]


def test_labels_whose_class_has_no_other_do_not_choose_among_trusted_candidates():
    """Without its only label a class cannot be named: the loss is chance, however large."""
    members, half = [fake("a", trusted=True), fake("b", trusted=True)], np.full(2, 0.5)
    codes = np.array([0, 0, 0, 1, 1, 1, *range(2, 12)])
    sure = np.eye(12)[codes] * 0.9 + 0.1 / 12
    better, worse = sure.copy(), sure.copy()
    worse[:3] = 1 / 12
    better[6:] = np.eye(12)[0]
    worse[6:] = 0.6 * np.eye(12)[0] + 0.4 * np.eye(12)[codes[6:]]  # wrong, and less sure
    said = np.array([better, worse])
    assert weigh(members, said, codes, half, True).weights.tolist() == [1, 0]
    # One label per class: the last, as where nothing is held out.
    alone = said[:, 6:], codes[6:]
    assert weigh(members, *alone, half, True).weights.tolist() == [0, 1]
    assert weigh(members, alone[0][::-1], alone[1], half, True).weights.tolist() == [0, 1]


def test_the_expected_error_is_free_of_selection_bias():
    """Among 20 candidates that all guess, the best looks good; cross-fitted weights do not."""
    rng = np.random.default_rng(0)
    ours, least = [], []
    for seed in range(10):
        codes = rng.integers(2, size=60)
        said = np.array([held_out(codes, rng.random(60) > 0.5, 0.9) for _ in range(20)])
        members = [fake(f"c{i}", f"f{i}") for i in range(20)]
        fold = make_folds(codes, "classification", seed=seed)
        joined = cross_fitted(members, said, codes, weights_before(members, 60), fold, True)
        ours.append(np.mean(joined.argmax(axis=1) != codes))
        least.append(min(np.mean(one.argmax(axis=1) != codes) for one in said))
    assert np.mean(least) < 0.42 and abs(np.mean(ours) - 0.5) < 0.06


def test_cross_fitted_answers_have_not_seen_their_label():
    rng = np.random.default_rng(3)
    codes, fold = rng.integers(2, size=30), np.arange(30) % 5
    said = np.array([held_out(codes, rng.random(30) > e, 0.7) for e in (0.1, 0.3, 0.5)])
    members, first = [fake(f"c{i}", f"f{i}") for i in range(3)], np.full(3, 1 / 3)
    found = cross_fitted(members, said, codes, first, fold, True)
    changed = np.where(fold == 2, 1 - codes, codes)
    again = cross_fitted(members, said, changed, first, fold, True)
    assert np.array_equal(found[fold == 2], again[fold == 2])
    assert not np.array_equal(found[fold != 2], again[fold != 2])


def test_the_answer_with_everything_it_says_of_itself():
    task, members, evidence, (combination, arrays, notes) = answered()
    said = notes["comparison"]
    expected = said["estimate"]
    assert 0 <= expected["low"] <= expected["value"] <= expected["high"] <= 1
    assert np.sum(said["confusion"]) == 30 == expected["n_labels"]
    assert said["trivial"]["beaten"] and 0.5 < said["trivial"]["value"] < 0.8
    assert sum(m["weight"] for m in said["members"]) == pytest.approx(1, abs=1e-4)
    assert np.allclose(arrays["proba"].sum(axis=1), 1)
    new = ~arrays["given"]
    assert len(np.unique(arrays["confidence"][new].round(6))) > 200
    assert (arrays["second"] != arrays["label"]).all()
    assert not [w for w in notes["warnings"] if w["kind"] == "suspected labels"]


def test_the_trivial_answer_is_not_beaten_by_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(np.arange(200) < 60, (rng.random(200) < 0.2).astype(int), -1)
    task = Task(X, y, "classification", 2)
    members = named_members("classification", ["logistic_1"])
    found = answer(members, [examine(m, task) for m in members], task, ["no", "yes"])[2]
    assert not found["comparison"]["trivial"]["beaten"]


def test_other_class_shares():
    rng = np.random.default_rng(0)
    code = np.arange(400) % 2
    X = rng.normal(size=(400, 1)) + 1.2 * code[:, None]
    y = np.where(np.arange(400) < 80, code, -1)
    task = Task(X, y, "classification", 2)
    members = named_members("classification", ["logistic_1"])
    evidence = [examine(m, task) for m in members]
    shares = {
        str(priors): (answer(members, evidence, task, ["a", "b"], priors)[1]["label"] == 0).mean()
        for priors in ("labels", "equal", {"a": 0.9, "b": 0.1})
    }
    assert abs(shares["labels"] - shares["equal"]) < 0.1
    assert shares["{'a': 0.9, 'b': 0.1}"] > 0.75


def test_few_labels_are_held_out_one_by_one():
    task, members, evidence, (_, _, notes) = answered(labeled=9)
    assert notes["comparison"]["n_folds"] == 9 and notes["comparison"]["estimate"]["high"] < 1.001
    # Without the label: as a fit without it says.
    member, row = members[1], 4
    y = task.y.copy()
    y[task.rows[row]] = -1
    left_out = examine(member, Task(task.X, y, "classification", 3, n_folds=0))
    expected = left_out.answer[task.rows[row]]
    assert np.allclose(evidence[1].held_out[row], expected, atol=1e-9)


def test_a_candidate_that_fails_takes_no_part():
    task, members, evidence, _ = answered()
    broken = [evidence[0], Evidence(None, None, status="failed: no")]
    combination, _, notes = answer(members, broken, task, CLASSES)
    assert combination.weights.tolist() == [1, 0]
    assert notes["comparison"]["failed"] == {"logistic_1": "failed: no"}
    with pytest.raises(InputError, match="No candidate could learn"):
        answer(members, [broken[1]] * 2, task, CLASSES)


def test_numbers_have_ranges_and_stay_positive_where_the_target_is():
    task, members, evidence, (combination, arrays, notes) = answered(
        ("ridge", "kernel_ridge_1"), labeled=60, numbers=True
    )
    truth = task.X[:, 0] + task.X[:, 1] ** 2
    new = ~arrays["given"]
    assert ((arrays["low"] <= truth) & (truth <= arrays["high"]))[new].mean() > 0.8
    assert notes["comparison"]["trivial"]["beaten"]
    task = Task(task.X, np.abs(task.y), "regression")
    found = answer(members, [examine(m, task) for m in members], task)[1]
    assert found["label"].min() >= 0 and found["low"].min() >= 0


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for truth, n in ((0.02, 100), (0.1, 60), (0.3, 200)):
        errors = rng.binomial(n, truth, size=2000) / n
        hits = [low <= truth <= high for low, high in (error_interval(e, n) for e in errors)]
        assert 0.945 <= np.mean(hits) <= 0.999
    low, high = error_interval(0.0, 50)
    assert low == 0 and 0.05 < high < 0.2


def test_estimates_of_numbers_and_of_unequal_weights():
    errors = np.random.default_rng(0).normal(size=300)
    found = value_estimate(errors)
    assert found["value"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert found["low"] < found["value"] < found["high"]
    wrong = np.arange(100) < 10
    even = class_estimate(wrong, np.ones(100), 10, 2)
    skewed = class_estimate(wrong, np.where(wrong, 1.0, 5.0), 10, 2)
    assert even["value"] == 0.1 and skewed["value"] == pytest.approx(10 / 460)
    assert estimates.beats([0, 0, 0, 1], [1, 1, 1, 1]) and not estimates.beats([0, 1], [0, 1])


def test_calibration_corrects_overconfidence_and_keeps_the_order():
    rng = np.random.default_rng(0)
    true = rng.uniform(0.4, 1, 3000)
    right = rng.random(3000) < true
    said = 1 / (1 + np.exp(-3 * np.log(true / (1 - true + 1e-9))))
    slope, shift = fit_calibration(said[:1500], right[:1500])
    calibrated = calibrate(said[1500:], slope, shift)
    before = calibration_error(said[1500:], right[1500:])
    assert before > 0.08 and calibration_error(calibrated, right[1500:]) < 0.04
    assert slope >= 0 and (np.diff(calibrated[np.argsort(said[1500:])]) >= -1e-12).all()


def test_calibration_without_mistakes_or_rows():
    assert fit_calibration([], []) == (1.0, 0.0)
    slope, shift = fit_calibration([0.9] * 30, [True] * 30)
    assert 0.9 < calibrate([0.9], slope, shift)[0] < 1
    assert np.isnan(calibrate([np.nan], 1, 0)[0])
    slope, _ = fit_calibration(np.linspace(0.1, 0.9, 50), np.arange(50) < 25)
    assert 0 < slope < 0.2  # the surer, the more often wrong: hardly any trust, but no reversal


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
    assert warnings_.unlabeled_components(part, y)[0]["rows"] == [3, 4]
    assert warnings_.unlabeled_components(np.zeros(7), y) == []


def test_rows_off_the_labeled_ones_are_named_only_if_they_are_many():
    rng = np.random.default_rng(0)
    scales, y = rng.uniform(1, 2, 1000), np.full(1000, -1)
    y[:100] = 0
    assert warnings_.off_the_labeled(scales, y) == []  # drawn alike
    scales[900:] += 5
    found = warnings_.off_the_labeled(scales, y)
    assert set(found[0]["rows"]) >= set(range(900, 1000))
    assert "drifted" in found[0]["text"]
    scales[0] = 20  # a labeled row lies farther out still
    assert warnings_.off_the_labeled(scales, y) == []
    assert warnings_.off_the_labeled(scales, np.full(1000, -1)) == []
    skew = warnings_.skewed_labels(np.repeat([0, 1], 50), np.repeat([0, 1], [95, 5]), ["a", "b"])
    assert len(skew) == 1


def test_a_class_that_no_row_is_given_is_named():
    y = np.concatenate([np.repeat([0, 1], [19, 3]), np.full(100, -1)])
    (found,) = warnings_.classes_not_answered(y, np.zeros(122, int), ["healthy", "ill"])
    assert found["text"].startswith("No row without label is labeled 'ill' (3 labels):")
    some = np.where(np.arange(122) == 121, 1, 0)  # one row is
    assert warnings_.classes_not_answered(y, some, ["healthy", "ill"]) == []
    few = y[: 22 + 30]  # of 30 rows, 4 are expected
    assert warnings_.classes_not_answered(few, np.zeros(52, int), ["healthy", "ill"]) == []
    groups = np.full(122, -1)
    assert warnings_.classes_not_answered(groups, np.zeros(122, int), ["a", "b"]) == []


def test_evenly_picked_labels_do_not_make_unequal_classes_equal():
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(6), [200, 40, 40, 40, 40, 40])
    X = (rng.normal(size=(400, 6)) + 5 * np.eye(6)[code]).astype(np.float32)
    y = np.full(400, -1)
    for c in range(6):  # ten of each class, by hand
        y[rng.permutation(np.flatnonzero(code == c))[:10]] = c
    members = named_members("classification", ["logistic_1", "extra_trees"])

    def error(rows):
        task = Task(X[rows], y[rows], "classification", 6)
        evidence = [examine(member, task) for member in members]
        combination, arrays, _ = answer(members, evidence, task, list("abcdef"))
        return np.mean(arrays["label"] != code[rows]), combination.factors

    wrong, factors = error(np.arange(400))
    assert wrong < 0.05 and factors is None
    even = np.sort(
        np.concatenate(
            [
                np.flatnonzero(y >= 0),
                *[rng.permutation(np.flatnonzero((code == c) & (y < 0)))[:30] for c in range(6)],
            ]
        )
    )
    assert error(even)[1] is not None  # where they are equal, that is used


def test_leakage():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    columns = {"id": np.arange(90), "noise": rng.normal(size=90), "weak": y + rng.normal(size=90)}
    found = warnings_.leaking_columns(columns, y, ["id"])
    assert [w["text"].split("'")[1] for w in found] == ["id"]
    columns["id"] = rng.permutation(90)
    assert warnings_.leaking_columns(columns, y, ["id"]) == []


def test_suspected_labels_are_few_on_clean_data_and_found_where_wrong():
    rng = np.random.default_rng(0)
    warned = 0
    for _ in range(200):
        # Calibrated answers about right labels: the given class has the probability stated.
        top = rng.uniform(0.6, 0.999, 50)
        right = rng.random(50) < top
        probability, said = np.where(right, top, 1 - top), np.where(right, 0, 1)
        found = warnings_.suspected_labels(np.arange(50), np.zeros(50, int), probability, said,
                                           said != 0, ["a", "b"])  # fmt: skip
        warned += bool(found)
    assert warned / 200 <= 0.13
    probability[7], said[7] = 1e-5, 1
    (found,) = warnings_.suspected_labels(np.arange(50), np.zeros(50, int), probability, said,
                                          said != 0, ["a", "b"])  # fmt: skip
    assert found["rows"] == [7] and "looks like 'b'" in found["text"]


def test_uneven_scales_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [1, 1, 50, 1]
    (found,) = warnings_.uneven_scales(X, list("abcd"))
    assert "'c'" in found["text"] and found["kind"] == "scales"
    assert "number 3" in warnings_.uneven_scales(X)[0]["text"]
    assert warnings_.uneven_scales(X / [1, 1, 50, 1]) == []
    assert warnings_.uneven_scales(np.ones((5, 3))) == []


def test_the_best_cuts_of_a_column_against_all_cuts():
    from itertools import combinations

    rng = np.random.default_rng(0)
    for _ in range(10):
        values, codes = rng.normal(size=8).round(1), rng.integers(0, 3, 8)
        order, edges = np.argsort(values), np.sort(values)
        allowed = [c for c in range(1, 8) if edges[c] != edges[c - 1]]
        errors = [
            sum(len(part) - np.bincount(part).max() for part in np.split(codes[order], cuts))
            for cuts in combinations(allowed, 2)
        ]
        assert warnings_._fewest_errors(values, codes, 3) == min(errors)


def test_starting_the_command_imports_no_learner():
    """Reading a file and planning the run take a second less without scikit-learn."""
    import subprocess
    import sys

    code = (
        "import sys, fewfold.labeling.command as c\n"
        "from fewfold.methods.members import DataShape, members_for\n"
        "assert len(members_for(DataShape('classification', 300, 30))) > 10\n"
        "assert not {'sklearn', 'scipy.stats'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_interval_reaches_from_the_optimistic_to_the_pessimistic_error():
    wrong, seen = np.arange(100) < 20, np.arange(100) < 12
    alone, both = (class_estimate(wrong, np.ones(100), 10, 2, o) for o in (None, seen))
    assert both["value"] == alone["value"] == 0.2 and both["high"] == alone["high"]
    assert both["low"] == class_estimate(seen, np.ones(100), 10, 2)["low"] < alone["low"]
