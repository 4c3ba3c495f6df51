"""One supervised learner per part: by name, and as plain arrays."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from sklearn.base import clone

from fewfold.exceptions import InputError
from fewfold.labels import class_columns
from fewfold.methods.base import load
from fewfold.methods.state import nested, take_nested
from fewfold.svm.probability import decisions_to_proba

LEARNERS = {
    "classification": ("svm", "logistic", "nearest"),
    "regression": ("kernel", "ridge", "nearest"),
}
_LEARNERS = "fewfold.methods.multimanifold.part_learners:"
# The class of each learner, imported when it is used.
_TARGETS = {
    "constant": _LEARNERS + "Constant",
    "svm": "fewfold.methods.multimanifold.tuned_svm:TunedSVC",
    "kernel": "fewfold.methods.baselines.kernel_regression:KernelRegressor",
    "logistic": _LEARNERS + "Logistic",
    "ridge": _LEARNERS + "Ridge",
    "nearest": _LEARNERS + "Nearest",
}
KINDS = tuple(_TARGETS)


def learner_class(kind: str, task: str) -> type:
    """Return the class of a learner of `KINDS`."""
    ending = {"classification": "Classifier", "regression": "Regressor"}[task]
    return load(_TARGETS[kind] + (ending if kind == "nearest" else ""))


@dataclass(frozen=True)
class PartReport:
    """Contents of one part and how its learner was trained.

    Attributes
    ----------
    part, n_labeled : int
    n_kept : int
        Points of the graph in the part, labeled ones included.
    n_classes : int or None
        Classes among its labels; None for regression.
    learner : str
        "fitted", "constant" (one label or class), or "borrowed" (no label: the learner of all).
    """

    part: int
    n_labeled: int
    n_kept: int
    n_classes: int | None
    learner: str

    def as_dict(self) -> dict:
        """Return plain values for a metrics file."""
        return asdict(self)


def fit_one(base, X, y, *, is_classifier: bool):
    """Train a copy of ``base`` on the labels of a part.

    Parameters
    ----------
    base : estimator
    X : array of shape (n_labeled, n_features)
        At least one row.
    y : ndarray of shape (n_labeled,)
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
        return load(_TARGETS["constant"])(y[0]), "constant"
    return clone(base).fit(X, y), "fitted"


def fit_parts(base, X, y, part, n_parts, n_kept, *, is_classifier: bool):
    """Train one learner per part on the labeled points in it.

    Parameters
    ----------
    base : estimator
    X : array of shape (n_labeled, n_features)
    y : ndarray of shape (n_labeled,)
    part : ndarray of shape (n_labeled,), int
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


def make_learner(base, task: str, seed: int):
    """Return a supervised learner: an estimator as it is, or one by its name in a config.

    Parameters
    ----------
    base : str, estimator or None
        None and "auto" are "svm" for classes and "kernel" for regression; see ``LEARNERS``.
    task : {"classification", "regression"}
    seed : int

    Returns
    -------
    estimator

    Examples
    --------
    >>> make_learner("auto", "regression", 0)
    KernelRegressor()
    """
    allowed = LEARNERS[task]
    name = allowed[0] if base is None or isinstance(base, str) and base == "auto" else base
    if not isinstance(name, str):
        return name
    if name not in allowed:
        raise InputError(
            f"base={name!r} is not a learner for {task}. Choose one of auto, {', '.join(allowed)}."
        )
    learner = learner_class(name, task)()
    takes_seed = "random_state" in learner.get_params()
    return learner.set_params(random_state=seed) if takes_seed else learner


def store_learners(learners, task: str) -> dict:
    """Return the kinds of the learners of all parts as ``learners``, and the state of each.

    Raises
    ------
    InputError
        For one that is not of a kind of ours: a file holds no code.
    """
    values = {"learners": []}
    for p, learner in enumerate(learners):
        allowed = ("constant", *LEARNERS[task])
        kind = next((k for k in allowed if type(learner) is learner_class(k, task)), None)
        if kind is None:
            raise InputError(
                f"MultiManifold with {type(learner).__name__} in its parts cannot be stored: a "
                f"file holds no code. Choose one of {', '.join(LEARNERS[task])}."
            )
        values["learners"].append(kind)
        values |= {f"part{p}_{name}": value for name, value in learner._pack().items()}
    return values


def learner_state(kinds, task: str) -> list:
    """Return the declaration of what `store_learners` gives for learners of these kinds."""
    if not isinstance(kinds, list | tuple) or any(kind not in KINDS for kind in kinds):
        return []  # errors are raised when the kinds themselves are checked
    found = []
    for p, kind in enumerate(kinds):
        found += nested(f"part{p}_", learner_class(kind, task)._state, shared=("d",))
    return found


def restore_learners(kinds: list, task: str, values: dict, n_classes: int) -> list:
    """Take the states of learners out of ``values`` and return the learners.

    Raises
    ------
    InputError
        Where a learner is one for another task, or answers classes that the model does not have.
    """
    found = []
    for p, kind in enumerate(kinds):
        state = take_nested(f"part{p}_", values)
        if kind not in ("constant", *LEARNERS[task]):
            raise InputError(f"A learner of kind {kind!r} is not one for {task}.")
        learner = learner_class(kind, task).from_arrays(state, state)
        named = getattr(learner, "classes_", getattr(learner, "value", None))
        if task == "classification" and not (
            len(named) and 0 <= min(named) <= max(named) < n_classes
        ):
            raise InputError(f"The learner of part {p} names classes that the model does not have.")
        found.append(learner)
    return found
