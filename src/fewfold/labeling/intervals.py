"""What to expect of the combined answer: intervals of its error, and per row for numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from fewfold.exceptions import InputError

STRENGTH = 0.1
LEVEL = 0.95
# Labels that are missing per class and label: with few labels per class a draw that has many of
# one and few of another looks easy and labels badly.
_UNEVEN_DRAWS = 2.5


@dataclass(frozen=True)
class ErrorEstimate:
    """The error rate to expect among unlabeled rows.

    Attributes
    ----------
    value, low, high, level : float
    n_labels : int
    trivial : float
        Error of the most frequent class among the labels.
    """

    value: float
    low: float
    high: float
    level: float
    n_labels: int
    trivial: float


def error_estimate(combined, cross, codes, *, n_folds: int = 10, level: float = LEVEL):
    """Return the error rate to expect, with its interval.

    Parameters
    ----------
    combined : ndarray of shape (m, k)
        ``held_out`` of a `fewfold.labeling.stacking.Stack`: candidates have not seen the label,
        the weights have. Too optimistic.
    cross : ndarray of shape (m, k)
        From `fewfold.labeling.stacking.cross_fitted`: the weights have not seen it either, but
        are fitted to fewer labels. Too pessimistic.
    codes : int ndarray of shape (m,)
    n_folds : int
        Folds of the candidates' held-out answers; m for leave-one-out.
    level : float

    Returns
    -------
    ErrorEstimate
        The cross-fitted error, from the lower end of Wilson's interval of the optimistic one to
        the upper end of that of the pessimistic one. The number of labels is lowered to
        m / (1 + 2 / (n_folds - 1) + 2.5 k / m): the folds' models share most of their labels
        (Nadeau and Bengio, doubled because the truth varies with the labels as well).

    Examples
    --------
    >>> codes = np.arange(100) % 2
    >>> said = np.eye(2)[np.where(np.arange(100) < 10, 1 - codes, codes)]
    >>> found = error_estimate(said, said, codes)
    >>> found.value, round(found.low, 3), round(found.high, 3), found.trivial
    (0.1, 0.051, 0.186, 0.5)
    """
    codes = np.asarray(codes)
    m, k = cross.shape
    optimistic = float(np.mean(np.argmax(combined, axis=1) != codes))
    value = float(np.mean(np.argmax(cross, axis=1) != codes))
    n = m / (1 + 2 / (max(n_folds, 2) - 1) + _UNEVEN_DRAWS * k / m)
    low, high = wilson(min(optimistic, value), n, level)[0], wilson(value, n, level)[1]
    trivial = 1 - float(np.bincount(codes).max()) / m
    return ErrorEstimate(value, low, high, level, m, trivial)


def wilson(share: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's interval for a share of n trials.

    >>> [round(end, 3) for end in wilson(0.1, 100)]
    [0.055, 0.174]
    """
    from scipy.stats import norm

    z = norm.ppf(0.5 + level / 2)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def regression_weights(held_out, y, first, strength: float = STRENGTH) -> np.ndarray:
    """Return weights on the simplex by the out-of-fold squared error of the weighted mean.

    Parameters
    ----------
    held_out : ndarray of shape (n_candidates, m)
    y : ndarray of shape (m,)
    first : ndarray of shape (n_candidates,)
        Weights without evidence; positive, summing to 1.
    strength : float
        Of the Kullback-Leibler divergence from ``first``; the error is in units of the
        variance of ``y``.

    Examples
    --------
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> regression_weights(np.array([y, y[::-1]]), y, np.array([0.5, 0.5])).round(1).tolist()
    [1.0, 0.0]
    """
    held_out, y = np.asarray(held_out, dtype=float), np.asarray(y, dtype=float)
    scale = y.var() or 1.0
    log_first = np.log(first)

    def objective(a):
        w = np.exp(a - np.logaddexp.reduce(a))
        error = w @ held_out - y
        ratio = np.log(np.maximum(w, 1e-300)) - log_first
        value = np.mean(error**2) / scale + strength * (w @ ratio)
        slope = 2 * (held_out @ error) / (len(y) * scale) + strength * (ratio + 1)
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
        raise InputError(f"coverage={coverage}: allowed are values between 0 and 1.")
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
