"""The candidates that ``fewfold label`` combines for numbers, and the combined answer."""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import clone

from fewfold.labeling.combination import Evidence, Member
from fewfold.labeling.intervals import cv_plus, regression_weights
from fewfold.methods.linear.estimator import RidgeRegressor
from fewfold.methods.trees.estimator import TreesRegressor

EMPHASIS = {"trees": 3.0}
LEAST_WEIGHT = 0.005


def default_regressors(seed: int = 0) -> list[Member]:
    """Return the candidates that are combined for numbers.

    >>> len(default_regressors())
    11
    """
    members = [
        Member("extra trees", "trees", TreesRegressor("extra", random_state=seed)),
        Member("forest", "trees", TreesRegressor("forest", random_state=seed)),
        Member("boosting", "boosting", TreesRegressor("boosting", random_state=seed)),
    ]
    for target in ("value", "log"):
        suffix = "" if target == "value" else " of logarithms"
        members.append(Member(f"ridge{suffix}", "linear", RidgeRegressor(target=target)))
        for width in (1.0, 4.0, 16.0):
            model = RidgeRegressor("rbf", width=width, target=target)
            members.append(Member(f"kernel ridge width={width:g}{suffix}", "rbf", model))
    return members


def value_folds(values, n_folds: int, rng) -> np.ndarray:
    """Assign labels to folds: of each run of neighboring values, every fold gets one."""
    order = np.argsort(values, kind="stable")
    fold = np.empty(len(values), dtype=np.int64)
    n_folds = min(n_folds, len(values))
    for start in range(0, len(values), n_folds):
        part = order[start : start + n_folds]
        fold[part] = rng.permutation(n_folds)[: len(part)]
    return fold


def examine_numbers(member: Member, X, rows, values, fold) -> Evidence:
    """Fit a candidate without each fold, and to all labels.

    Returns
    -------
    Evidence
        ``held_out`` has the answers for all rows without each fold, (n_folds, n).
    """
    start = time.process_time()
    held_out = []
    for held in range(fold.max() + 1):
        kept = fold != held
        held_out.append(clone(member.model).fit(X[rows[kept]], values[kept]).predict(X))
    answer = member.model.fit(X[rows], values).predict(X)
    return Evidence(np.array(held_out), answer, time.process_time() - start)


def combine_numbers(members, evidence, rows, values, fold, *, coverage=0.9) -> dict:
    """Combine what the candidates say.

    Parameters
    ----------
    members : list of Member
    evidence : list of Evidence
        From `examine_numbers`.
    rows, values, fold : ndarray of shape (m,)
    coverage : float
        Of the intervals (`fewfold.labeling.intervals.cv_plus`).

    Returns
    -------
    dict
        ``answer``, ``lower``, ``upper`` of all rows; ``weights`` of the candidates. Nothing is
        negative where no given value is.
    """
    families = [m.family for m in members]
    first = np.array([EMPHASIS.get(f, 1.0) / families.count(f) for f in families])
    said = np.array([e.held_out[fold, rows] for e in evidence])
    weights = regression_weights(said, values, first / first.sum())
    weights = np.where(weights < LEAST_WEIGHT, 0, weights)
    weights /= weights.sum()
    low = 0.0 if values.min() >= 0 else None
    answer = sum(w * e.answer for w, e in zip(weights, evidence) if w > 0)
    by_fold = sum(w * e.held_out for w, e in zip(weights, evidence) if w > 0)
    lower, upper = cv_plus(by_fold, fold, (rows, values), coverage=coverage, low=low)
    answer = answer if low is None else np.maximum(answer, low)
    return {"answer": answer, "lower": lower, "upper": upper, "weights": weights}
