"""Running one method over a batch of cells (trial x label budget), and scoring the result."""

from __future__ import annotations

import time

import numpy as np

from fewfold.exceptions import FewfoldError, InputError
from fewfold.labels import known_mask
from fewfold.pipeline.protocol import (
    derive_seed,
    error_rate,
    evaluated_rows,
    mean_squared_error,
    pair_error,
)
from fewfold.pipeline.training import Inputs, Outcome

# What the names of a method's arrays begin with, in a file of several methods' predictions.
METHOD_PREFIX = "{}/"


def failed_outcome(inputs: Inputs, reason: str) -> Outcome:
    """Return an outcome that knows nothing, with the reason as its status."""
    unknown = np.nan if inputs.task == "regression" else -1
    n_new = None if inputs.X_new is None else inputs.X_new.shape[0]
    return Outcome(
        labels=np.full(inputs.X.shape[0], unknown),
        labels_new=None if n_new is None else np.full(n_new, unknown),
        status=reason,
    )


def run_cells(
    fit_predict, inputs, y, splits, trials, *, n_classes, settings, clusters=False, progress=None
):
    """Yield (trial, budget, seed, outcome, seconds) for each cell of a batch.

    The learner is given the labeled rows' targets only; one that does not cluster fails cells
    without labels. A `FewfoldError` in one cell becomes
    that cell's status; the others run.
    """
    for trial in trials:
        for budget in splits.budgets:
            labeled = splits.order[trial, :budget]
            seed = derive_seed(splits.seed, trial, budget)
            start = time.perf_counter()
            try:
                if not budget and not clusters:
                    raise InputError("needs labels; budget 0 is for clustering")
                outcome = fit_predict(
                    inputs, labeled, y[labeled], n_classes=n_classes, seed=seed, settings=settings
                )
            except FewfoldError as error:
                outcome = failed_outcome(inputs, str(error))
            yield trial, budget, seed, outcome, time.perf_counter() - start
            if progress is not None:
                progress(1)


def confidence(proba, n: int) -> np.ndarray:
    """Return the largest class probability of each row, NaN where there is none."""
    if proba is None:
        return np.full(n, np.nan, dtype=np.float32)
    return proba.max(axis=1).astype(np.float32)


def score(labels, splits, trial, budget, predicted, predicted_new) -> tuple[str, float]:
    """Return the metric's name and value of one cell under the run's protocol."""
    if not budget:
        known = known_mask(labels.y)
        return "pair_error", pair_error(labels.y[known], predicted[known])
    metric = mean_squared_error if labels.task == "regression" else error_rate
    name = "mse" if labels.task == "regression" else "error"
    if splits.protocol == "inductive":
        known = known_mask(labels.y_new)
        return name, metric(labels.y_new[known], predicted_new[known])
    rows = evaluated_rows(
        labels.y, splits.order[trial, :budget], evaluate=splits.evaluate, test_mask=labels.test_mask
    )
    return name, metric(labels.y[rows], predicted[rows])


def metric_row(truth, splits, cell: dict, outcome: Outcome, dtype) -> dict:
    """Return one cell's row of metrics.csv, but for the names of dataset and method.

    Parameters
    ----------
    truth : Labels
    splits : Splits
    cell : dict
        Trial, budget, seed, seconds and status.
    outcome : Outcome
    dtype : dtype
        Of the labels that are kept: a score is that of the stored predictions.
    """
    new = None if outcome.labels_new is None else outcome.labels_new.astype(dtype)
    metric, value = score(
        truth, splits, cell["trial"], cell["budget"], outcome.labels.astype(dtype), new
    )
    return {
        "n_labeled": cell["budget"],
        "protocol": splits.protocol,
        "metric": metric,
        "value": float(value),
        **{key: cell[key] for key in ("trial", "seed", "fit_s", "predict_s", "status")},
    }
