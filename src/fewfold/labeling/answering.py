"""Combine candidates, estimate the error, and label every row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fewfold.labeling import estimates, warnings_
from fewfold.labeling.calibration import calibration_error
from fewfold.labeling.examining import Task
from fewfold.labeling.intervals import cv_plus
from fewfold.labeling.priors import (
    SURELY_EQUAL,
    chance_of_equal_classes,
    class_shares,
    rows_contradict_equal_classes,
)
from fewfold.labeling.weighing import calibrated, cross_fitted, unweighed, weigh, weights_before
from fewfold.methods.diffusion.spreading import factors_for_shares, with_factors
from fewfold.system.wording import counted

COVERED = 0.9  # coverage of prediction intervals
QUICK = "--quick compares nothing"
FEWEST_JUDGED = 4


def answer(members, evidence, task: Task, classes=None, priors=None):
    """Combine the predictions of the candidates.

    Parameters
    ----------
    members : list of Member
    evidence : list of Evidence
    task : Task
    classes : list of str or None
    priors : "labels", "equal", dict or None
        Class proportions among all rows; None: equal where the labels clearly suggest it,
        and arbitrary otherwise.

    Returns
    -------
    combination : Combination
        Weights are 0 for members that take no part.
    arrays, notes : dict
        Of the stage file.
    """
    worked = [i for i, e in enumerate(evidence) if e.answer is not None]
    if not worked:
        return _no_member(members, evidence, task)
    chosen, found = [members[i] for i in worked], [evidence[i] for i in worked]
    fill = _classes if task.is_classes else _values
    part, arrays, notes = fill(chosen, found, task, classes, priors)
    weights, exponents = np.zeros(len(members)), np.ones(len(members))
    weights[worked], exponents[worked] = part.weights, part.exponents
    comparison = notes["comparison"]
    comparison["members"] = [
        {"name": m.name, "family": m.family, "weight": round(float(w), 6)}
        for m, w in zip(members, weights)
        if w > 0
    ]
    comparison["failed"] = {m.name: e.status for m, e in zip(members, evidence) if e.answer is None}
    return replace(part, weights=weights, exponents=exponents), arrays, notes


def _no_member(members, evidence, task):
    from fewfold.exceptions import InputError

    reasons = "; ".join(f"{m.name}: {e.status}" for m, e in zip(members, evidence))
    raise InputError(f"No candidate could learn from the {len(task.rows)} labels ({reasons}).")


def _classes(members, evidence, task, classes, priors):
    codes, k = task.targets.astype(np.int64), task.n_classes
    counts = np.bincount(codes, minlength=k)
    asked = None if priors in (None, "labels") else class_shares(priors, codes, classes)
    even = {"equal": 1.0, "labels": 0.0}.get(priors) if isinstance(priors, str) else None
    even = chance_of_equal_classes(codes, k) if even is None else even
    first = weights_before(members, len(codes), explained=task.explained, even=even)
    answers = [e.answer for e in evidence]
    comparison, warnings, quality = {"estimate": None, "table": []}, [], None
    held_out = said = None
    if not len(task.fold):
        part = unweighed(members, first)
        comparison["reason"] = QUICK if task.n_folds == 0 else "there is one label only"
    else:
        held_out = np.array([e.held_out for e in evidence])
        part = weigh(members, held_out, codes, first, True)
        said = cross_fitted(members, held_out, codes, first, task.fold, True)
    judged = counts[codes] > 1  # a class whose only label is held out cannot be predicted
    shares = asked
    if asked is None and even >= SURELY_EQUAL:
        wrong = None if said is None else (said.argmax(axis=1) != codes)[judged]
        n_folds = int(task.fold.max()) + 1 if len(task.fold) else 0
        if wrong is None or not rows_contradict_equal_classes(part.proba(answers), wrong, n_folds):
            shares = np.full(k, 1 / k)
    if shares is not None:
        part = replace(part, factors=factors_for_shares(part.proba(answers), shares))
    if said is not None:
        said = said if part.factors is None else with_factors(said, part.factors)
        if judged.sum() < FEWEST_JUDGED:
            labels = counted(int(judged.sum()), "label", "has", "have")
            comparison["reason"] = f"only {labels} another of the same class"
        else:
            fitted, sure = calibrated(part, said[judged], codes[judged])
            part = replace(part, calibration=fitted)
            both = said, part.proba(held_out)
            comparison |= _compared(members, evidence, task, both, judged, asked, classes)
            right = said.argmax(axis=1) == codes
            quality = {
                "before": calibration_error(said[judged].max(axis=1), right[judged]),
                "after": calibration_error(sure, right[judged]),
            }
            warnings = _suspected(part, members, held_out, said, judged, task, classes)
    proba = part.proba(answers)
    decided = part.decide(proba)
    given = task.y >= 0
    arrays = {
        "label": np.where(given, task.y, decided["label"]).astype(np.int64),
        "confidence": np.where(given, 1.0, decided["confidence"]),
        "second": _second(proba, task.y, decided),
        "given": given,
        "proba": proba,
    }
    notes = {
        "comparison": comparison,
        "task": task.task,
        "warnings": warnings,
        "calibration_error": quality,
    }
    return part, arrays, notes


def _second(proba, y, decided):
    """The best label other than the one shown; for labeled rows the user's label is shown."""
    given = y >= 0
    rest = proba.copy()
    rest[np.flatnonzero(given), y[given].astype(np.int64)] = -1
    other = np.where(rest.max(axis=1) > 0, rest.argmax(axis=1), -1)
    return np.where(given, other, decided["second"])


def _compared(members, evidence, task, both, judged, asked, classes):
    """Return the table of candidates, the expected error, the trivial one, the confusions.

    ``both``: combined predictions for held-out labels, by weights fitted without them and by
    weights fitted with them.
    """
    codes = task.targets.astype(np.int64)
    counts = np.bincount(codes, minlength=task.n_classes)
    weights = np.ones(len(codes)) if asked is None else asked[codes] / counts[codes]
    codes, weights = codes[judged], weights[judged]
    said, seen = (one[judged].argmax(axis=1) for one in both)
    wrong = said != codes
    trivial = estimates.trivial_classes(codes, weights, classes)
    always = codes != list(map(str, classes)).index(trivial["answer"])
    table = []
    for member, found in zip(members, evidence):
        own = found.held_out[judged].argmax(axis=1) != codes
        table.append(_row(member, found, float(np.average(own, weights=weights)),
                          own.astype(float) - wrong))  # fmt: skip
    n_folds = int(task.fold.max()) + 1
    return {
        "estimate": estimates.class_estimate(
            wrong, weights, n_folds, task.n_classes, seen != codes
        ),
        "trivial": {**trivial, "beaten": estimates.beats(wrong * weights, always * weights)},
        "table": sorted(table, key=lambda row: (row["loss"], row["method"])),
        "confusion": estimates.confusion(codes, said, task.n_classes),
        "n_folds": n_folds,
    }


def _row(member, found, loss, gaps):
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else 0.0
    return {
        "method": member.name,
        "loss": loss,
        "difference": float(gaps.mean()),
        "standard_error": error,
        "seconds": round(found.seconds, 3),
        "failed": 0,
    }


def _suspected(part, members, held_out, said, judged, task, classes):
    """Given labels that the combination and every candidate with a weight contradict."""
    codes = task.targets.astype(np.int64)
    counted = held_out[part.weights > 0]
    unanimous = (counted.argmax(axis=2) != codes).all(axis=0)
    decided = part.decide(said)
    own = said[np.arange(len(codes)), codes]
    others = np.maximum(1 - said.max(axis=1), 1e-12)
    # Probability left for classes other than the first, distributed in proportion, but at least an
    # equal share for each: small probabilities of single classes are not calibrated.
    least = 1 / max(task.n_classes - 1, 1)
    probability = (1 - decided["confidence"]) * np.clip(own / others, least, 1)
    eligible = judged & unanimous & (decided["label"] != codes)
    return warnings_.suspected_labels(
        task.rows, codes, probability, decided["label"], eligible, classes
    )


def _values(members, evidence, task, classes, priors):
    y, rows = task.targets, task.rows
    low = 0.0 if len(y) and y.min() >= 0 else None
    comparison = {"estimate": None, "table": []}
    answers = [e.answer for e in evidence]
    n, first = (
        task.X.shape[0],
        weights_before(members, len(y), explained=task.explained, numbers=True),
    )
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if not len(task.fold):
        part = replace(unweighed(members, first), low=low)
        comparison["reason"] = QUICK if task.n_folds == 0 else "there is one label only"
    else:
        by_fold = np.array([e.held_out for e in evidence])
        held_out = by_fold[:, task.fold, rows]
        part = replace(weigh(members, held_out, y, first, False), low=low)
        said = cross_fitted(members, held_out, y, first, task.fold, False)
        said = said if low is None else np.maximum(said, low)
        combined = np.array([part.values(one) for one in by_fold.transpose(1, 0, 2)])
        lower, upper = cv_plus(combined, task.fold, (rows, y), coverage=COVERED, low=low)
        trivial = estimates.trivial_values(y)
        always = (y - (y.sum() - y) / max(len(y) - 1, 1)) ** 2
        table = []
        for member, found, own in zip(members, evidence, held_out):
            loss = float(np.sqrt(np.mean((own - y) ** 2)))
            table.append(_row(member, found, loss, (own - y) ** 2 - (said - y) ** 2))
        few = len(y) < FEWEST_JUDGED  # errors of two or three labels say nothing of their spread
        if few:
            comparison["reason"] = f"{counted(len(y), 'label', 'is', 'are')} not enough"
        comparison |= (
            {}
            if few
            else {
                "estimate": estimates.value_estimate(said - y, task.seed),
                "trivial": {**trivial, "beaten": estimates.beats((said - y) ** 2, always)},
                "table": sorted(table, key=lambda row: (row["loss"], row["method"])),
                "n_folds": int(task.fold.max()) + 1,
            }
        )
    value = part.values(answers)
    given = ~np.isnan(task.y)
    arrays = {"label": np.where(given, task.y, value), "given": given}
    arrays["low"] = np.where(given, task.y, np.minimum(lower, value))
    arrays["high"] = np.where(given, task.y, np.maximum(upper, value))
    notes = {"comparison": comparison, "task": task.task, "warnings": [],
             "calibration_error": None}  # fmt: skip
    return part, arrays, notes
