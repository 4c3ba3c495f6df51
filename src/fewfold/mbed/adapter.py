"""Mbed as a workflow method: one labelled draw in, labels of all rows out."""

from __future__ import annotations

import time

import numpy as np

from fewfold.graph.weights import as_matrix
from fewfold.mbed.classifier import MbedClassifier
from fewfold.training import Outcome


def fit_model(inputs, labeled, targets, *, n_classes, seed, settings) -> MbedClassifier:
    """Embed the rows of ``inputs.X``, or of ``inputs.graph`` where the chain names one."""
    y = np.full(inputs.X.shape[0], -1)
    y[labeled] = targets
    if inputs.graph is None:
        return MbedClassifier(n_classes, random_state=seed, **settings).fit(inputs.X, y)
    found = inputs.graph.neighbors
    distances = as_matrix(found, found.distances, len(y))
    model = MbedClassifier(n_classes, metric="precomputed", random_state=seed, **settings)
    return model.fit(distances, y)


def fit_predict(inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """Embed the rows of ``inputs.X`` and place those of ``inputs.X_new``.

    Parameters
    ----------
    inputs : fewfold.training.Inputs
        With a ``graph``, its neighbours and distances are embedded and the features are not
        looked at; new rows come by their weights over it (``extension``).
    labeled : ndarray of int, shape (l,)
    targets : ndarray of int, shape (l,)
        Class codes; with no labelled rows the rows are clustered.
    n_classes : int
    seed : int
    settings : dict
        Arguments of `MbedClassifier`.

    Returns
    -------
    Outcome
        ``details`` holds the annealing: lambda, cost and criterion of each step, the step kept.
    """
    model = fit_model(inputs, labeled, targets, n_classes=n_classes, seed=seed, settings=settings)
    path = model.path_
    details = {
        "similarity": model.similarity_,
        "radius": path.radius,
        "n_gradients": path.n_gradients,
        "step_kept": path.best,
        "lambda": [step.lam for step in path.steps],
        "cost": [step.cost for step in path.steps],
        "criterion": [step.criterion for step in path.steps],
    }
    outcome = Outcome(labels=model.transduction_, proba=model.label_distributions_, details=details)
    if inputs.X_new is not None:
        started = time.perf_counter()
        outcome.proba_new = _predict_new(model, inputs)
        outcome.labels_new = outcome.proba_new.argmax(axis=1)
        outcome.predict_s = time.perf_counter() - started
    return outcome


def _predict_new(model, inputs):
    if inputs.graph is None:
        return model.predict_proba(inputs.X_new)
    degrees = np.asarray(inputs.graph.W.sum(axis=1)).ravel()
    return model.predict_proba_by_weights(inputs.extension, degrees)
