"""Recognize from the numbers alone that rows are images."""

from __future__ import annotations

import numpy as np

SMALLEST_SIDE, LARGEST_SIDE = 8, 64
MOST_ROWS = 2000


def guess_image_shape(X) -> tuple[int, int] | None:
    """Return the shape of square images whose pixels the columns are, or None.

    Columns are taken for pixels if their number is a square, their values share one range, and
    neighbors, beside and below each other, go together far more than columns do in general.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> guess_image_shape(rng.normal(size=(50, 64))) is None
    True
    """
    n, d = X.shape
    side = int(round(np.sqrt(d)))
    if not SMALLEST_SIDE <= side <= LARGEST_SIDE or side * side != d or n < 20:
        return None
    rows = np.asarray(X[:: max(1, n // MOST_ROWS)], dtype=np.float64)
    if not np.isfinite(rows).all():
        return None
    low, high = rows.min(axis=0), rows.max(axis=0)
    shared = (low == rows.min()).mean() > 0.5 or (high == rows.max()).mean() > 0.5
    if not shared:
        return None
    spread = rows.std(axis=0)
    centered = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
    together = centered.T @ centered / len(rows)
    grid = np.arange(d).reshape(side, side)
    live = spread > 0

    def mean_of(a, b):
        both = live[a] & live[b]
        return together[a[both], b[both]].mean() if both.any() else 0.0

    beside = mean_of(grid[:, :-1].ravel(), grid[:, 1:].ravel())
    below = mean_of(grid[:-1].ravel(), grid[1:].ravel())
    index = np.flatnonzero(live)
    block = np.abs(together[np.ix_(index, index)])
    general = (block.sum() - len(index)) / max(len(index) * (len(index) - 1), 1)
    if min(beside, below) > max(0.25, 1.5 * general):
        return side, side
    return None
