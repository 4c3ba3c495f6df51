"""Conjugate gradients with a strong-Wolfe line search, counting every gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_DECREASE = 1e-4  # sufficient decrease
_CURVATURE = 0.4  # slope allowed at the end of a line search, relative to its start
_MAX_TRIALS = 12


@dataclass
class Minimum:
    """Result of a minimization.

    Attributes
    ----------
    Y : ndarray
    value : float
    n_steps, n_gradients : int
        Line searches made, and gradients computed.
    step : float
        Length of the last step, a guess for the next run.
    """

    Y: np.ndarray
    value: float
    n_steps: int
    n_gradients: int
    step: float | None


@dataclass
class _Point:
    step: float
    value: float
    slope: float
    Y: np.ndarray
    gradient: np.ndarray


def conjugate_gradients(
    function: Callable,
    Y: np.ndarray,
    n_steps: int,
    *,
    first_step: float | None = None,
    tolerance: float = 1e-7,
    noise: float = 0.0,
    estimated: bool = False,
) -> Minimum:
    """Minimize ``function`` by Polak-Ribiere conjugate gradients.

    Parameters
    ----------
    function : callable
        ``function(Y) -> (value, gradient)``.
    Y : ndarray
        Start; any shape.
    n_steps : int
        Line searches at most.
    first_step : float, optional
        Length of the first trial along the first direction.
    tolerance : float
        Stop when no entry of the gradient is larger.
    noise : float
        Rounding error of the value. Differences below it are not trusted: there the slope
        decides (the approximate Wolfe conditions of Hager and Zhang, 2005).
    estimated : bool
        Whether values and gradients are estimates that do not quite belong together: then step
        lengths are found from slopes alone, and values only refuse what rises beyond ``noise``.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> bowl = lambda y: (float(y @ y), 2 * y)
    >>> round(conjugate_gradients(bowl, np.ones(3), 5).value, 6)
    0.0
    """
    value, gradient = function(Y)
    used, done, step = 1, 0, first_step
    direction = -gradient
    last_slope = None
    for done in range(1, n_steps + 1):
        slope = float(np.vdot(gradient, direction))
        if slope >= 0:
            direction, slope = -gradient, -float(np.vdot(gradient, gradient))
        if not np.isfinite(slope) or np.abs(gradient).max() <= tolerance:
            return Minimum(Y, value, done - 1, used, step)
        trial = _first_trial(step, last_slope, slope, gradient)
        start = _Point(0.0, value, slope, Y, gradient)
        end, trials = _line_search(function, start, direction, trial, noise, estimated)
        used += trials
        if end is None:  # no lower point along this direction: try the plain one once
            if np.array_equal(direction, -gradient):
                return Minimum(Y, value, done - 1, used, step)
            direction, step, last_slope = -gradient, None, None
            continue
        last_slope, step = slope, end.step
        beta = np.vdot(end.gradient - gradient, end.gradient) / np.vdot(gradient, gradient)
        direction = max(0.0, float(beta)) * direction - end.gradient
        Y, value, gradient = end.Y, end.value, end.gradient
    return Minimum(Y, value, done, used, step)


def _first_trial(step, last_slope, slope, gradient):
    """Guess a step length: the same first-order change as in the last step."""
    if step is not None:
        return step if last_slope is None else step * min(10.0, max(0.1, last_slope / slope))
    return 1.0 / max(1.0, float(np.abs(gradient).max()))


def _line_search(function, start, direction, trial, noise, estimated):
    """Find a point that satisfies the strong Wolfe conditions, or the lowest one seen."""
    low, best, high = start, start, None
    guess = _secant if estimated else _cubic
    for count in range(1, _MAX_TRIALS + 1):
        Y = start.Y + trial * direction
        value, gradient = function(Y)
        here = _Point(trial, value, float(np.vdot(gradient, direction)), Y, gradient)
        if not np.isfinite(value):
            high, trial = here, (low.step + trial) / 2
            continue
        too_high = value > start.value + _DECREASE * trial * start.slope + noise
        if not too_high and _is_better(here, best, estimated):
            best = here
        if too_high or (high is not None and value >= low.value + noise):
            high = here
        elif abs(here.slope) <= -_CURVATURE * start.slope:
            return here, count
        elif high is None:
            if here.slope >= 0:
                low, high = here, low
            else:
                low, trial = here, _extrapolate(low, here, guess)
                continue
        else:
            if here.slope * (high.step - low.step) >= 0:
                high = low
            low = here
        trial = _interpolate(low, high, guess)
    return (best if best is not start else None), count


def _is_better(here, best, estimated):
    return abs(here.slope) < abs(best.slope) if estimated else here.value < best.value


def _extrapolate(a, b, minimum):
    guess, span = minimum(a, b), b.step - a.step
    if guess is None or guess <= b.step:
        return b.step + 3 * span
    return min(max(guess, b.step + 0.1 * span), b.step + 9 * span)


def _interpolate(low, high, minimum):
    left, right = sorted((low.step, high.step))
    margin = 0.1 * (right - left)
    guess = minimum(low, high) if np.isfinite(high.value) else None
    if guess is None:
        return (left + right) / 2
    return min(max(guess, left + margin), right - margin)


def _secant(a, b):
    """Zero of the line through two slopes, or None."""
    change = b.slope - a.slope
    if change * (b.step - a.step) <= 0:
        return None
    return float(a.step - a.slope * (b.step - a.step) / change)


def _cubic(a, b):
    """Minimum of the cubic through two points and their slopes, or None."""
    span = b.step - a.step
    if span == 0:
        return None
    d1 = a.slope + b.slope - 3 * (b.value - a.value) / span
    inside = d1 * d1 - a.slope * b.slope
    if inside < 0:
        return None
    d2 = np.copysign(np.sqrt(inside), span)
    bottom = b.slope - a.slope + 2 * d2
    if bottom == 0:
        return None
    guess = b.step - span * (b.slope + d2 - d1) / bottom
    return float(guess) if np.isfinite(guess) else None
