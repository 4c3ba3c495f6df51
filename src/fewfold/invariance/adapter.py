"""The invariant machines as learners of the workflow."""

from __future__ import annotations

import time

import numpy as np

from fewfold.exceptions import InputError
from fewfold.learners import scores_to_proba
from fewfold.training import Inputs, Outcome

_OPTIONS = (
    "transform", "deformation", "kernel", "gamma", "C", "graph", "n_neighbors", "cv",
    "data_deformation", "data_power", "solver", "n_landmarks",
)  # fmt: skip
_BASELINE_OPTIONS = ("transform", "gamma", "C", "cv")


def fit_predict(inputs: Inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """Train `InvariantSVC` on one labelled draw.

    Parameters
    ----------
    inputs : Inputs
        Pixels (``images`` where there are any, else ``X``) and ``image_shape``; ``copies``, if the
        stage made them; a ``graph``, if the chain names one, joins the unlabelled rows.
    labeled, targets : int arrays
    n_classes, seed : int
    settings : dict
        Parameters of `InvariantSVC`; ``cv`` is 5. ``data_deformation`` is chosen of 10, 100 and
        1000 with a graph, and is 0 without.

    Returns
    -------
    Outcome
    """
    from fewfold.invariance.classifier import InvariantSVC
    from fewfold.invariance.selection import STRENGTHS

    X, X_new, image_shape = _rows(inputs)
    options = {"cv": 5, **_known(settings, _OPTIONS)}
    use_graph = inputs.graph is not None
    if use_graph:
        options.setdefault("data_deformation", list(STRENGTHS))
    else:
        options["data_deformation"] = 0.0
    model = InvariantSVC(
        image_shape=image_shape,
        data_graph=inputs.graph.W if use_graph else None,
        random_state=seed % 2**31,
        **options,
    )
    present = np.unique(targets)
    if len(present) < 2:
        return _one_class(X, X_new, present[0], n_classes)
    if use_graph:
        y = np.full(len(X), -1)
        y[labeled] = targets
        model.fit(X, y, _copies(inputs, np.sort(labeled)))
    else:
        model.fit(X[labeled], targets, _copies(inputs, labeled))
    choice = model.choice_
    details = {
        "gamma": choice.gamma,
        "deformation": choice.deformation,
        "data_deformation": choice.data_deformation,
        "C": choice.C,
        "n_nodes": model.n_nodes_,
        "n_support": len(model.machine_.support),
    }
    return _outcome(model.predict_proba, X, X_new, present, n_classes, labeled, targets, details)


def fit_predict_vsv(inputs: Inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """Train `VirtualSupportVectorSVC` on one labelled draw; arguments as in `fit_predict`."""
    from fewfold.invariance.baselines import VirtualSupportVectorSVC

    return _baseline(VirtualSupportVectorSVC, inputs, labeled, targets, n_classes, seed, settings)


def fit_predict_all_virtual(
    inputs: Inputs, labeled, targets, *, n_classes, seed, settings
) -> Outcome:
    """Train `AllVirtualSVC` on one labelled draw; arguments as in `fit_predict`."""
    from fewfold.invariance.baselines import AllVirtualSVC

    return _baseline(AllVirtualSVC, inputs, labeled, targets, n_classes, seed, settings)


def _baseline(estimator, inputs, labeled, targets, n_classes, seed, settings):
    X, X_new, image_shape = _rows(inputs)
    present = np.unique(targets)
    if len(present) < 2:
        return _one_class(X, X_new, present[0], n_classes)
    options = {"cv": 5, **_known(settings, _BASELINE_OPTIONS)}
    model = estimator(image_shape=image_shape, random_state=seed % 2**31, **options)
    model.fit(X[labeled], targets, _copies(inputs, labeled))

    def proba(rows):
        scores = model.decision_function(rows)
        return scores_to_proba(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)

    details = {"gamma": model.gamma_, "C": model.C_, "n_train": model.n_train_}
    return _outcome(proba, X, X_new, present, n_classes, labeled, targets, details)


def _rows(inputs):
    """Return the rows to transform: pixels where the features are components of them."""
    if inputs.images is not None:
        X, X_new = inputs.images, inputs.images_new
    else:
        X, X_new = inputs.X, inputs.X_new
    X = X.toarray() if hasattr(X, "toarray") else X
    X_new = X_new.toarray() if hasattr(X_new, "toarray") else X_new
    return X, X_new, inputs.image_shape


def _copies(inputs, rows):
    return None if inputs.copies is None else inputs.copies.of(rows)


def _known(settings, names):
    """Return the options among the settings; "cv" as a value leaves the choice to folds."""
    unknown = sorted(set(settings) - set(names) - {"learner", "manifold"})
    if unknown:
        raise InputError(f"Unknown settings {unknown}. Allowed: {', '.join(names)}.")
    return {k: v for k, v in settings.items() if k in names and not (k != "cv" and v == "cv")}


def _outcome(proba_of, X, X_new, present, n_classes, labeled, targets, details):
    start = time.perf_counter()
    labels, proba = _widen(proba_of(X), present, n_classes)
    labels[labeled] = targets
    new = (None, None)
    if X_new is not None and len(X_new):
        new = _widen(proba_of(X_new), present, n_classes)
    seconds = time.perf_counter() - start
    return Outcome(labels, proba, *new, predict_s=seconds, details=details)


def _widen(shares, present, n_classes):
    proba = np.zeros((len(shares), n_classes))
    proba[:, present] = shares
    return present[shares.argmax(axis=1)].astype(np.int64), proba


def _one_class(X, X_new, label, n_classes):
    def constant(n):
        return np.full(n, label, np.int64), np.tile(np.eye(n_classes)[label], (n, 1))

    new = (None, None) if X_new is None else constant(len(X_new))
    return Outcome(*constant(len(X)), *new, status="one class only")
