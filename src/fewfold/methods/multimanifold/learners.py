"""One supervised learner per part."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from sklearn.base import clone

from fewfold.labels import class_columns
from fewfold.svm.probability import decisions_to_proba


@dataclass(frozen=True)
class PartReport:
    """What one part holds and how it was learned.

    Attributes
    ----------
    part, n_labelled : int
    n_kept : int
        Points of the graph in the part, labelled ones included.
    n_classes : int or None
        Classes among its labels; None for regression.
    learner : str
        "fitted", "constant" (one label or class), or "borrowed" (no label: the learner of all).
    """

    part: int
    n_labelled: int
    n_kept: int
    n_classes: int | None
    learner: str

    def as_dict(self) -> dict:
        """Return plain values for a metrics file."""
        return asdict(self)


class Constant:
    """Predicts one value everywhere: a part with a single class or a single label."""

    def __init__(self, value):
        self.value = value

    def predict(self, X) -> np.ndarray:
        """Return the value once per row."""
        return np.full(X.shape[0], self.value)


def fit_one(base, X, y, *, is_classifier: bool):
    """Train a copy of ``base`` on the labels of a part.

    Parameters
    ----------
    base : estimator
    X : array of shape (n_labelled, n_features)
        At least one row.
    y : ndarray of shape (n_labelled,)
    is_classifier : bool

    Returns
    -------
    learner : object with ``predict``
    how : {"fitted", "constant"}

    Examples
    --------
    >>> import numpy as np
    >>> fit_one(None, np.zeros((2, 1)), np.array([3, 3]), is_classifier=True)[1]
    'constant'
    """
    if len(y) == 1 or (is_classifier and (y == y[0]).all()):
        return Constant(y[0]), "constant"
    return clone(base).fit(X, y), "fitted"


def fit_parts(base, X, y, part, n_parts, n_kept, *, is_classifier: bool):
    """Train one learner per part on the labelled points in it.

    Parameters
    ----------
    base : estimator
    X : array of shape (n_labelled, n_features)
    y : ndarray of shape (n_labelled,)
    part : ndarray of shape (n_labelled,), int
    n_parts : int
    n_kept : ndarray of shape (n_parts,)
        Points of the graph in each part, for the report.
    is_classifier : bool

    Returns
    -------
    learners : list
        A part without labels takes the learner trained on all of them.
    reports : list of PartReport
    """
    learners, reports, shared = [], [], None
    for p in range(n_parts):
        inside = np.flatnonzero(part == p)
        if len(inside):
            learner, how = fit_one(base, X[inside], y[inside], is_classifier=is_classifier)
        else:
            if shared is None:
                shared, _ = fit_one(base, X, y, is_classifier=is_classifier)
            learner, how = shared, "borrowed"
        classes = len(np.unique(y[inside])) if is_classifier else None
        learners.append(learner)
        reports.append(PartReport(p, len(inside), int(n_kept[p]), classes, how))
    return learners, reports


def predict_parts(learners, X, part) -> np.ndarray:
    """Predict each row by the learner of its part.

    Parameters
    ----------
    learners : list of objects with ``predict``
    X : array of shape (n_queries, n_features)
    part : ndarray of shape (n_queries,), int

    Returns
    -------
    values : ndarray of shape (n_queries,)
    """
    values = None
    for p in np.unique(part):
        inside = np.flatnonzero(part == p)
        found = np.asarray(learners[p].predict(X[inside]))
        if values is None:
            values = np.empty(len(part), dtype=found.dtype)
        elif found.dtype != values.dtype:
            values = values.astype(np.result_type(values, found))
        values[inside] = found
    return values


def class_scores(learner, X, classes: np.ndarray) -> np.ndarray:
    """Give each row a share of every class: probabilities where the learner has them.

    Parameters
    ----------
    learner : fitted classifier or Constant
    X : array of shape (n_queries, n_features)
    classes : ndarray of shape (n_classes,)
        All classes; those the learner never saw get 0.

    Returns
    -------
    shares : ndarray of shape (n_queries, n_classes)
        Rows sum to 1. Without probabilities the logistic or softmax of the scores (not
        calibrated), without scores all on the predicted class.
    """
    if hasattr(learner, "predict_proba"):
        own = learner.predict_proba(X)
        seen = learner.classes_
    elif hasattr(learner, "decision_function"):
        own = decisions_to_proba(learner.decision_function(X))
        seen = learner.classes_
    else:
        seen = classes
        own = (learner.predict(X)[:, None] == classes).astype(np.float64)
    return class_columns(own, np.searchsorted(classes, seen), len(classes))
