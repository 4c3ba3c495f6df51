"""The three learners of the paper's experiments, as the workflow calls them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import ConfigError
from fewfold.methods.multimanifold.decision import voronoi_parts
from fewfold.methods.multimanifold.estimators import MultiManifoldClassifier, MultiManifoldRegressor
from fewfold.methods.multimanifold.learners import class_scores, fit_parts, predict_parts
from fewfold.pipeline.training import Outcome

MODES = ("ssl", "global", "clairvoyant")
LEARNERS = {
    "classification": ("svm", "logistic", "nearest"),
    "regression": ("kernel", "ridge", "nearest"),
}


def make_learner(name: str, task: str, seed: int):
    """Build a supervised learner by its name in a config.

    Parameters
    ----------
    name : str
        "auto" is "svm" for classes and "kernel" for regression; see ``LEARNERS``.
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
    name = allowed[0] if name == "auto" else name
    if name not in allowed:
        raise ConfigError(
            f"learner={name!r} is not one for {task}. Choose one of auto, {', '.join(allowed)}."
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


def fit_predict(inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """Train one of the three learners on a labelled draw and predict all rows.

    Parameters
    ----------
    inputs : Inputs
        ``X``, ``X_new`` and ``task``; a ``graph``, if the config names one, says which kept
        points may be joined; with ``mode: clairvoyant`` also ``groups`` (and
        ``groups_new``; without it new rows take the set of the nearest row).
    labeled : int ndarray of shape (n_labeled,)
    targets : ndarray of shape (n_labeled,)
        Class codes or values.
    n_classes : int or None
    seed : int
    settings : dict
        ``mode`` (ssl, global, clairvoyant), ``learner`` and, for ssl, the parameters of
        :class:`MultiManifoldClassifier`.

    Returns
    -------
    Outcome
    """
    settings = dict(settings)
    mode = settings.pop("mode", "ssl")
    if mode not in MODES:
        raise ConfigError(f"mode={mode!r} is unknown. Choose one of {', '.join(MODES)}.")
    base = make_learner(settings.pop("learner", "auto"), inputs.task, seed)
    if mode == "ssl":
        return _ssl(inputs, labeled, targets, n_classes, seed, base, settings)
    if settings or inputs.graph is not None:
        named = sorted([*settings, *(["graph"] if inputs.graph is not None else [])])
        raise ConfigError(f"settings {named} mean nothing with mode={mode!r}. Leave them out.")
    if mode == "global":
        parts = np.zeros(inputs.X.shape[0], np.int64)
        parts_new = None if inputs.X_new is None else np.zeros(inputs.X_new.shape[0], np.int64)
    else:
        parts, parts_new = _true_sets(inputs)
    return _with_parts(inputs, labeled, targets, n_classes, base, parts, parts_new)


def _ssl(inputs, labeled, targets, n_classes, seed, base, settings):
    is_classifier = inputs.task == "classification"
    kind = MultiManifoldClassifier if is_classifier else MultiManifoldRegressor
    try:
        model = kind(base, data_graph=inputs.graph, random_state=seed, **settings)
    except TypeError as problem:
        allowed = sorted(
            set(kind().get_params(deep=False)) - {"base_estimator", "data_graph", "random_state"}
        )
        raise ConfigError(
            f"unknown setting of the multi-manifold method: {problem}. Allowed are mode, learner, "
            f"{', '.join(allowed)}."
        ) from problem
    X = inputs.X if sparse.issparse(inputs.X) else np.asarray(inputs.X, np.float64)
    y = np.full(X.shape[0], -1 if is_classifier else np.nan)
    y = y.astype(np.int64) if is_classifier else y
    y[labeled] = targets
    # Not fit: all rows are predicted below, with scores, so fit's own predictions are not needed.
    model._learn(X, y, np.isin(np.arange(X.shape[0]), labeled))
    found = model.partition_
    details = {
        "n_parts": int(model.n_parts_),
        "n_kept": int(len(found.kept)),
        "min_labelled": int(found.bounds.min_labelled),
        "min_unlabelled": int(found.bounds.min_unlabelled),
        "sizes": found.sizes().tolist(),
        "agreement": float(found.agreement),
        "notes": list(found.bounds.notes),
        "parts": model.part_reports_,
    }
    parts = model._parts(X)
    parts_new = None if inputs.X_new is None else model._parts(inputs.X_new)
    outcome = _predict(inputs, model.learners_, n_classes, parts, parts_new, details)
    outcome.labels[labeled] = targets
    return outcome


def _true_sets(inputs):
    if inputs.groups is None:
        raise ConfigError(
            "mode='clairvoyant' needs the true sets, which this dataset does not have. Use it "
            "with a generated dataset, or list the method under skip for this one."
        )
    groups = np.asarray(inputs.groups, np.int64)
    if inputs.X_new is None:
        return groups, None
    if inputs.groups_new is not None:
        return groups, np.asarray(inputs.groups_new, np.int64)
    return groups, voronoi_parts(inputs.X, groups, inputs.X_new)


def _with_parts(inputs, labeled, targets, n_classes, base, parts, parts_new):
    n_parts = int(max(parts.max(), -1 if parts_new is None else parts_new.max())) + 1
    learners, reports = fit_parts(
        base,
        inputs.X[labeled],
        np.asarray(targets),
        parts[labeled],
        n_parts,
        np.bincount(parts, minlength=n_parts),
        is_classifier=inputs.task == "classification",
    )
    details = {"n_parts": n_parts, "parts": [report.as_dict() for report in reports]}
    return _predict(inputs, learners, n_classes, parts, parts_new, details)


def _predict(inputs, learners, n_classes, parts, parts_new, details):
    classes = np.arange(n_classes) if inputs.task == "classification" else None
    labels, proba = _all_rows(learners, inputs.X, parts, classes)
    outcome = Outcome(labels=labels, proba=proba, details=details)
    if inputs.X_new is not None:
        outcome.labels_new, outcome.proba_new = _all_rows(
            learners, inputs.X_new, parts_new, classes
        )
    return outcome


def _all_rows(learners, X, parts, classes):
    if classes is None:
        return predict_parts(learners, X, parts), None
    proba = np.zeros((X.shape[0], len(classes)))
    for p in np.unique(parts):
        inside = np.flatnonzero(parts == p)
        proba[inside] = class_scores(learners[p], X[inside], classes)
    return proba.argmax(axis=1), proba
