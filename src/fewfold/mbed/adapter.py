"""Mbed as a workflow method: one labelled draw in, labels of all rows out."""

from __future__ import annotations

import time

import numpy as np

from fewfold.mbed.classifier import MbedClassifier
from fewfold.training import Outcome


def fit_predict(inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """Embed the rows of ``inputs.X`` and place those of ``inputs.X_new``.

    Parameters
    ----------
    inputs : fewfold.training.Inputs
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
    y = np.full(inputs.X.shape[0], -1)
    y[labeled] = targets
    model = MbedClassifier(n_classes, random_state=seed, **settings).fit(inputs.X, y)
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
        outcome.proba_new = model.predict_proba(inputs.X_new)
        outcome.labels_new = outcome.proba_new.argmax(axis=1)
        outcome.predict_s = time.perf_counter() - started
    return outcome
