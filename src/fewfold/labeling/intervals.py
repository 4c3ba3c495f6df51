"""Regression: weights of the candidates, and a prediction interval for each row."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from fewfold.exceptions import InputError
from fewfold.labeling.stacking import pull

_LEAST = 1e-4  # share of the variance; smaller errors count as zero


def regression_weights(held_out, y, first, strength: float | None = None) -> np.ndarray:
    """Return weights on the simplex by the out-of-fold squared error of the weighted mean.

    Minimized is half of its logarithm (the log-loss of a normal distribution), so that the first
    weights count as the same number of labels whether the columns explain much or little of y.

    Parameters
    ----------
    held_out : ndarray of shape (n_candidates, m)
    y : ndarray of shape (m,)
    first : ndarray of shape (n_candidates,)
        Weights without evidence; positive, summing to 1.
    strength : float, optional
        Of the Kullback-Leibler divergence from ``first``, by default
        `fewfold.labeling.stacking.pull`.

    Examples
    --------
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> regression_weights(np.array([y, y[::-1]]), y, np.array([0.5, 0.5])).round(1).tolist()
    [1.0, 0.0]
    """
    held_out, y = np.asarray(held_out, dtype=float), np.asarray(y, dtype=float)
    strength = pull(len(y)) if strength is None else strength
    least = _LEAST * (y.var() or 1.0)
    log_first = np.log(first)

    def objective(a):
        w = np.exp(a - np.logaddexp.reduce(a))
        error = w @ held_out - y
        ratio = np.log(np.maximum(w, 1e-300)) - log_first
        mean = np.mean(error**2) + least
        value = 0.5 * np.log(mean) + strength * (w @ ratio)
        slope = held_out @ error / (len(y) * mean) + strength * (ratio + 1)
        return value, w * (slope - w @ slope)

    found = minimize(objective, log_first, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    w = np.exp(found.x - np.logaddexp.reduce(found.x))
    return w / w.sum()


def cv_plus(by_fold, fold, y, *, coverage: float = 0.9, low: float | None = None):
    """Return prediction intervals by CV+ (jackknife+ with one label per fold; Barber et al. 2021).

    Parameters
    ----------
    by_fold : ndarray of shape (n_folds, n)
        Predictions of all rows by the model that did not see fold f.
    fold : int ndarray of shape (m,)
        Of each labeled row.
    y : tuple (rows, values)
        Labeled rows (columns of ``by_fold``) and their values.
    coverage : float
        Wanted share of rows inside; at least ``2 * coverage - 1`` holds for any data.
    low : float, optional
        Smallest possible value (0 where the target is never negative).

    Returns
    -------
    lower, upper : ndarray of shape (n,)
        Infinite where the labels are too few for the coverage.

    Notes
    -----
    Costs ``m log m`` per row.
    """
    if not 0 < coverage < 1:
        raise InputError(f"coverage={coverage}; allowed: values between 0 and 1.")
    rows, values = np.asarray(y[0]), np.asarray(y[1], dtype=float)
    m = len(rows)
    residual = np.abs(values - by_fold[fold, rows])
    at = int(np.ceil(coverage * (m + 1) - 1e-12))
    n = by_fold.shape[1]
    if at > m:
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    else:
        centers = by_fold[fold]
        upper = np.partition(centers + residual[:, None], at - 1, axis=0)[at - 1]
        lower = -np.partition(residual[:, None] - centers, at - 1, axis=0)[at - 1]
    if low is not None:
        lower, upper = np.maximum(lower, low), np.maximum(upper, low)
    return lower, upper
