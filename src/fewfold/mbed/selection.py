"""Which neighbourhoods suit the labels: leave-one-out, before anything is embedded."""

from __future__ import annotations

import numpy as np


def left_out_hits(P: np.ndarray, labeled: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Tell which labelled points the other labelled ones would label rightly by P.

    Parameters
    ----------
    P : ndarray of shape (n, n)
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)

    Returns
    -------
    ndarray of bool, shape (l,)

    Notes
    -----
    A point's score for a class is the class's share of its neighbourhood, divided by the class's
    share of all neighbourhoods; the point itself is left out of both. (Left out of the first
    alone, a point would make its own class look rare.)

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0, 0.9, 0.1], [0.9, 0, 0.1], [0.5, 0.5, 0]])
    >>> left_out_hits(P, np.arange(3), np.eye(2)[[0, 0, 1]]).tolist()
    [True, True, False]
    """
    mass = P[:, labeled].sum(axis=0, dtype=np.float64)
    total = mass @ targets - mass[:, None] * targets
    between = P[np.ix_(labeled, labeled)].astype(np.float64)
    np.fill_diagonal(between, 0)
    scores = np.where(total > 1e-300, between @ targets / np.maximum(total, 1e-300), -1)
    return scores.argmax(axis=1) == targets.argmax(axis=1)


def prefer(first: np.ndarray, second: np.ndarray) -> int:
    """Return 0 or 1 where one list of hits is better by more than a standard error, else -1.

    Only points on which the two differ count (as in McNemar's test): with b and c of them in
    favour of either, the standard error of b - c is sqrt(b + c).
    """
    b, c = int(np.sum(first & ~second)), int(np.sum(~first & second))
    if abs(b - c) <= np.sqrt(b + c):
        return -1
    return 0 if b > c else 1
