"""Calibration of confidences on held-out labels."""

from __future__ import annotations

import numpy as np

# Strength of the prior that slope and shift are 1 and 0 (unchanged confidences): with few labels
# the level of the confidences can be far off, while their spread is mostly right.
SLOPE_PRIOR, SHIFT_PRIOR = 10.0, 0.5
LEAST_SLOPE = 0.05  # keeps different confidences apart


def log_odds(confidence, floor: float = 1e-4) -> np.ndarray:
    """Return log(c / (1 - c)), with c kept off 0 and 1."""
    c = np.clip(np.asarray(confidence, dtype=np.float64), floor, 1 - floor)
    return np.log(c / (1 - c))


def fit_calibration(confidence, correct) -> tuple[float, float]:
    """Fit ``P(right) = sigmoid(slope * log_odds(c) + shift)`` on held-out rows.

    Platt scaling, with a prior on slope and shift instead of smoothed targets.

    Parameters
    ----------
    confidence : array of shape (m,)
        In [0, 1]; NaN rows are left out.
    correct : bool array of shape (m,)

    Returns
    -------
    slope, shift : float
        (1, 0), no change, without rows. The slope is positive, so the order of the
        rows is preserved.

    Examples
    --------
    >>> slope, shift = fit_calibration([0.9] * 100, [True] * 60 + [False] * 40)
    >>> round(float(calibrate([0.9], slope, shift)[0]), 1)
    0.6
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    confidence, correct = np.asarray(confidence, float), np.asarray(correct, bool)
    known = np.isfinite(confidence)
    score, right = log_odds(confidence[known]), correct[known]
    if not len(right):
        return 1.0, 0.0

    def loss(parameters):
        slope, shift = parameters
        z = slope * score + shift
        value = np.sum(np.logaddexp(0, z) - right * z)
        value += SLOPE_PRIOR * (slope - 1) ** 2 + SHIFT_PRIOR * shift**2
        gap = expit(z) - right
        return value, 2 * np.array(
            [gap @ score / 2 + SLOPE_PRIOR * (slope - 1), gap.sum() / 2 + SHIFT_PRIOR * shift]
        )

    found = minimize(loss, [1.0, 0.0], jac=True, bounds=[(LEAST_SLOPE, 20.0), (-20.0, 20.0)])
    return float(found.x[0]), float(found.x[1])


def calibrate(confidence, slope: float, shift: float) -> np.ndarray:
    """Apply a fitted calibration; NaN stays NaN."""
    z = slope * log_odds(confidence) + shift
    return np.where(np.isfinite(np.asarray(confidence, float)), 1 / (1 + np.exp(-z)), np.nan)


def calibration_error(confidence, correct, n_bins: int = 10) -> float:
    """Return the expected calibration error over equal-sized bins.

    Examples
    --------
    >>> calibration_error([1.0, 1.0], [True, False], n_bins=1)
    0.5
    """
    confidence, correct = np.asarray(confidence, float), np.asarray(correct, float)
    order = np.argsort(confidence, kind="stable")
    bins = [part for part in np.array_split(order, n_bins) if len(part)]
    gaps = [len(part) * abs(confidence[part].mean() - correct[part].mean()) for part in bins]
    return float(sum(gaps) / len(confidence))
