"""Averaging answers over the neighbor graph."""

from __future__ import annotations

import numpy as np
from scipy import sparse

N_STEPS = 5
SHARE = 0.5


def row_normalized(W) -> sparse.csr_array:
    """Return weights with rows that sum to 1; a row without neighbors has itself."""
    W = sparse.csr_array(W, dtype=np.float64)
    total = np.asarray(W.sum(axis=1)).ravel()
    alone = total <= 0
    scaled = sparse.diags_array(1 / np.where(alone, 1, total)) @ W
    return sparse.csr_array(scaled + sparse.diags_array(alone.astype(float)))


def graph_average(W, values, *, n_steps: int = N_STEPS, share: float = SHARE) -> np.ndarray:
    """Mix each row's answer with the mean of its neighbors', several times.

    Parameters
    ----------
    W : sparse array of shape (n, n)
        Non-negative weights.
    values : ndarray of shape (n, k) or (n,)
        Probabilities (rows keep their sum) or numbers.
    n_steps : int
    share : float in [0, 1]
        Of the neighbors in each step.

    Examples
    --------
    >>> W = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> graph_average(W, np.array([[1.0, 0.0], [0.0, 1.0]]), n_steps=1).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    S = row_normalized(W)
    values = np.asarray(values, dtype=np.float64)
    for _ in range(n_steps):
        values = (1 - share) * values + share * (S @ values)
    return values


def average_new(
    weights, values, own, *, n_steps: int = N_STEPS, share: float = SHARE
) -> np.ndarray:
    """Mix the answers of new rows with those of their neighbors among the training rows.

    Parameters
    ----------
    weights : sparse array of shape (n_new, n)
    values : ndarray of shape (n, k) or (n,)
        The averaged answers of the training rows.
    own : ndarray of shape (n_new, k) or (n_new,)
    n_steps, share : as in `graph_average`
    """
    kept = (1 - share) ** n_steps
    W = sparse.csr_array(weights, dtype=np.float64)
    total = np.asarray(W.sum(axis=1)).ravel()
    alone = total <= 0
    near = sparse.diags_array(1 / np.where(alone, 1, total)) @ W @ values
    mixed = kept * own + (1 - kept) * near
    return np.where(alone if own.ndim == 1 else alone[:, None], own, mixed)
