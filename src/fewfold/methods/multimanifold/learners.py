"""One supervised learner per part: by name, and as plain arrays."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
from sklearn.base import clone

from fewfold.exceptions import InputError
from fewfold.labels import class_columns
from fewfold.methods.parameters import positive
from fewfold.methods.state import Field, Setting
from fewfold.svm.kernel_svm import KernelSVM
from fewfold.svm.probability import decisions_to_proba

LEARNERS = {
    "classification": ("svm", "logistic", "nearest"),
    "regression": ("kernel", "ridge", "nearest"),
}
_ROWS = Field("rows", "float", ("s", "d"), may_be_sparse=True)
_CLASSES = Field("classes", "int", ("c",), low=0)
# What each kind of learner is stored as.
_STATES = {
    "constant": (Field("value", "float", (1,)),),
    "svm": (
        _ROWS,
        _CLASSES,
        Field("coefficients", "float", ("s", "p")),
        Field("intercepts", "float", ("p",)),
        Field("pairs", "int", ("p", 2), low=-1),
        Setting("gamma", positive()),
    ),
    "kernel": (_ROWS, Field("values", "float", ("s",)), Setting("bandwidth", positive())),
    "logistic": (
        _CLASSES,
        Field("weights", "float", ("o", "d")),
        Field("intercepts", "float", ("o",)),
    ),
    "ridge": (Field("weights", "float", ("d",)), Field("intercepts", "float", (1,))),
    "nearest": (_ROWS, Field("values", "float", ("s",))),
}
KINDS = tuple(_STATES)


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
    if name == "svm":
        from fewfold.methods.multimanifold.tuned_svm import TunedSVC

        return TunedSVC(random_state=seed)
    if name == "kernel":
        from fewfold.methods.baselines.kernel_regression import KernelRegressor

        return KernelRegressor(random_state=seed)
    if name == "nearest":
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        kind = KNeighborsClassifier if task == "classification" else KNeighborsRegressor
        return kind(n_neighbors=1)
    from sklearn.linear_model import LogisticRegression, RidgeCV

    return LogisticRegression(max_iter=1000) if name == "logistic" else RidgeCV()


def stored_learner(learner) -> tuple[str, dict]:
    """Return the kind of a fitted learner and its state as plain values.

    Raises
    ------
    InputError
        For an estimator of the user's own: a file holds no code.
    """
    kind = type(learner).__name__
    if kind == "Constant":
        return "constant", {"value": np.array([learner.value], np.float64)}
    if kind == "TunedSVC":
        svm = learner.svm_
        return "svm", {
            "rows": learner.support_vectors_,
            "classes": learner.classes_,
            "coefficients": svm.coefficients,
            "intercepts": svm.intercepts,
            "pairs": svm.pairs,
            "gamma": learner.gamma_,
        }
    if kind == "KernelRegressor":
        values = {"rows": learner.X_fit_, "values": learner.y_fit_}
        return "kernel", values | {"bandwidth": learner.bandwidth_}
    if kind in ("KNeighborsClassifier", "KNeighborsRegressor") and learner.n_neighbors == 1:
        values = getattr(learner, "classes_", None)
        values = learner._y if values is None else values[learner._y]
        return "nearest", {"rows": learner._fit_X, "values": np.asarray(values, np.float64)}
    if kind == "LogisticRegression":
        return "logistic", {
            "classes": learner.classes_,
            "weights": learner.coef_,
            "intercepts": learner.intercept_,
        }
    if kind == "RidgeCV":
        intercept = np.atleast_1d(np.float64(learner.intercept_))
        return "ridge", {"weights": learner.coef_, "intercepts": intercept}
    raise InputError(
        f"MultiManifold with {kind} in its parts cannot be stored: a file holds no code. Choose "
        f"one of {', '.join(k for k in KINDS if k != 'constant')}."
    )


def learner_state(kinds) -> list:
    """Declare the state of the learners of all parts, of the kinds that a state names."""
    if not isinstance(kinds, list | tuple) or any(kind not in _STATES for kind in kinds):
        return []  # what is wrong is said when the kinds themselves are checked
    return [
        replace(field, name=f"part{p}_{field.name}", **_own_sizes(field, p))
        for p, kind in enumerate(kinds)
        for field in _STATES[kind]
    ]


def _own_sizes(field, p):
    """Sizes of a part's arrays are its own, but for the number of features."""
    if isinstance(field, Setting):
        return {}
    sizes = (s if s == "d" or isinstance(s, int) else f"part{p}_{s}" for s in field.shape)
    return {"shape": tuple(sizes)}


def restore_learners(kinds: list, values: dict, n_classes: int) -> list:
    """Take the states of all parts out of checked values and return the learners.

    Parameters
    ----------
    kinds : list of str
    values : dict
        What `learner_state` declared, already checked; its names are taken out.
    n_classes : int
        0 for regression.
    """
    found = []
    for p, kind in enumerate(kinds):
        state = {f.name: values.pop(f"part{p}_{f.name}") for f in _STATES[kind]}
        classes = state.get("classes")
        if classes is None and n_classes and kind in ("constant", "nearest"):
            classes = np.asarray(state["value" if kind == "constant" else "values"])
        if classes is not None and (len(classes) == 0 or max(classes) >= n_classes):
            raise InputError(f"The learner of part {p} names classes that the model has not got.")
        found.append(_restored(kind, state, n_classes))
    return found


def _restored(kind, state, n_classes):
    if kind == "constant":
        value = state["value"][0]
        return Constant(int(value) if n_classes else value)
    task = "classification" if n_classes else "regression"
    if kind not in LEARNERS[task]:
        raise InputError(f"A learner of kind {kind!r} is not one for {task}.")
    learner = make_learner(kind, task, 0)
    if kind == "nearest":
        values = state["values"].astype(np.int64) if n_classes else state["values"]
        return learner.fit(state["rows"], values)
    if kind == "kernel":
        learner.X_fit_, learner.y_fit_ = state["rows"], state["values"]
        learner.bandwidth_, learner.n_features_in_ = state["bandwidth"], state["rows"].shape[1]
        return learner
    if kind == "svm":
        learner.support_vectors_, learner.gamma_ = state["rows"], state["gamma"]
        pairs, n_own = state["pairs"], len(state["classes"])
        if not len(pairs) or pairs.max() >= n_own:
            raise InputError("An SVM's pairs name classes that it does not have.")
        support = np.arange(state["rows"].shape[0])
        learner.svm_ = KernelSVM(
            np.arange(n_own), support, state["coefficients"], state["intercepts"], pairs
        )
    else:
        learner.coef_, learner.intercept_ = state["weights"], state["intercepts"]
        if kind == "ridge":
            learner.intercept_ = float(state["intercepts"][0])
    if "classes" in state:
        learner.classes_ = state["classes"]
    learner.n_features_in_ = state["weights" if "weights" in state else "rows"].shape[-1]
    return learner
