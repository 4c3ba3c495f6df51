"""L-BFGS for many independent functions at once: the columns of a matrix."""

from __future__ import annotations

import numpy as np

_ENOUGH = 1e-4  # of the decrease that the slope promises
_FLAT = 2e-9  # relative decrease at which a column is left as it is
_MOST_HALVINGS = 20
_TINY = 1e-300


def column_dots(A, B) -> np.ndarray:
    """Return the inner products of the columns of two matrices."""
    return np.einsum("ij,ij->j", A, B)


def minimize_columns(function, X, n_iterations: int, memory: int = 8) -> np.ndarray:
    """Minimize a function of each column of ``X``.

    Parameters
    ----------
    function : callable
        Takes (p, q) and returns the values, (q,), and the gradients, (p, q). A column's value
        must not depend on other columns.
    X : ndarray of shape (p, q)
        Where to start.
    n_iterations : int
        At most, for each column.
    memory : int
        Number of steps that the curvature is taken from.

    Returns
    -------
    ndarray of shape (p, q)

    Notes
    -----
    Each column has its own direction and step length (backtracking along a parabola), so its
    result is the one it would have alone.

    Examples
    --------
    >>> target = np.array([[1.0, -2.0], [3.0, 0.5]])
    >>> scale = np.array([[1.0, 50.0], [9.0, 2.0]])
    >>> def squares(X):
    ...     gap = X - target
    ...     return np.sum(scale * gap**2, axis=0), 2 * scale * gap
    >>> minimize_columns(squares, np.zeros((2, 2)), 30).round(4).tolist()
    [[1.0, -2.0], [3.0, 0.5]]
    """
    value, slope = function(X)
    steps, moves = [], np.ones(X.shape[1])
    for _ in range(n_iterations):
        along = _direction(slope, steps)
        promised = column_dots(along, slope)
        length = moves.copy()
        for _ in range(_MOST_HALVINGS):
            new = X + length * along
            new_value, new_slope = function(new)
            excess = new_value - value - length * promised
            is_short = new_value > value + _ENOUGH * length * promised + 1e-12 * np.abs(value)
            if not is_short.any():
                break
            best = -promised * length**2 / (2 * np.where(is_short, excess, 1.0))
            length = np.where(is_short, np.clip(best, 0.1 * length, 0.5 * length), length)
        step, turn = new - X, new_slope - slope
        product = column_dots(step, turn)
        is_convex = product > 1e-10 * column_dots(turn, turn)
        inverse = np.where(is_convex, 1 / np.where(is_convex, product, 1.0), 0.0)
        steps = [*steps[-(memory - 1) :], (step, turn, inverse)]
        moves[value - new_value <= _FLAT * np.maximum(np.abs(value), 1)] = 0
        X, value, slope = new, new_value, new_slope
        if not moves.any():
            break
    return X


def _direction(slope, steps):
    """The two loops of L-BFGS; steps of negative curvature have a weight of 0."""
    along = -slope
    if not steps:
        return along / np.maximum(np.sqrt(column_dots(slope, slope)), 1.0)
    parts = []
    for step, turn, inverse in reversed(steps):
        parts.append(inverse * column_dots(step, along))
        along -= parts[-1] * turn
    _, turn, inverse = steps[-1]
    scale = 1 / np.maximum(inverse * column_dots(turn, turn), _TINY)
    along *= np.where(inverse > 0, scale, 1.0)
    for (step, turn, inverse), part in zip(steps, reversed(parts)):
        along += (part - inverse * column_dots(turn, along)) * step
    return along
