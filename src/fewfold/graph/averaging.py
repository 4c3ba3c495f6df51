"""Predictions of a classifier, averaged over the neighbor graph.

Any classifier sees one row at a time; the graph knows which rows belong together. With P the
class probabilities of all rows (one-hot where the label is given) and S the row-normalized
weights, F = (1 - a) P + a S F has one solution for 0 <= a < 1.
"""

from __future__ import annotations

import numpy as np

SMOOTHING = 0.9  # the share that neighbors have in a row's answer
_TOLERANCE = 1e-6


def row_normalized(W):
    """Return the weights with rows that sum to 1, and which rows have none."""
    from scipy import sparse

    W = sparse.csr_array(W)
    total = np.asarray(W.sum(axis=1)).ravel()
    alone = total <= 0
    return sparse.csr_array(sparse.diags_array(1 / np.where(alone, 1, total)) @ W), alone


def smooth(W, proba, labeled, targets, share: float = SMOOTHING) -> np.ndarray:
    """Average class probabilities over a graph.

    Parameters
    ----------
    W : sparse array of shape (n, n)
        Weights; a row without neighbors keeps its own answer.
    proba : ndarray of shape (n, n_classes)
    labeled : int ndarray of shape (m,)
        Rows whose class is given.
    targets : int ndarray of shape (m,)
    share : float
        0 keeps the answers; towards 1 only the neighbors count.

    Returns
    -------
    ndarray of shape (n, n_classes)
        The solution to about 1e-6, rows summing to 1 where those of ``proba`` do.

    Examples
    --------
    A doubtful row between two that are sure:

    >>> from scipy import sparse
    >>> W = sparse.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> P = np.array([[1.0, 0], [0.4, 0.6], [0.9, 0.1]])
    >>> smooth(W, P, np.array([0]), np.array([0])).argmax(axis=1).tolist()
    [0, 0, 0]
    """
    P = np.array(proba, dtype=np.float64)
    P[labeled] = 0
    P[labeled, targets] = 1
    if share <= 0:
        return P
    S, alone = row_normalized(W)
    F = P
    # S averages, so each round shrinks what is left of the error by the share at least.
    for _ in range(int(np.ceil(np.log(_TOLERANCE) / np.log(share)))):
        F = (1 - share) * P + share * (S @ F)
    return np.where(alone[:, None], P, F)


def smooth_new(extension, F, proba_new, share: float = SMOOTHING) -> np.ndarray:
    """Average the predictions for new rows with the smoothed ones of their neighbors.

    Parameters
    ----------
    extension : sparse array of shape (n_new, n)
        Weights of the new rows over the old; an empty row keeps its own answer.
    F : ndarray of shape (n, n_classes)
        From `smooth`.
    proba_new : ndarray of shape (n_new, n_classes)
    """
    S, alone = row_normalized(extension)
    return np.where(alone[:, None], proba_new, (1 - share) * proba_new + share * (S @ F))
