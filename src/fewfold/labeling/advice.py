"""Which rows to label next."""

from __future__ import annotations

import numpy as np
from scipy import sparse

COUNT = 20
POOL = 2000  # candidates of the greedy step


def crowding(scales: np.ndarray) -> np.ndarray:
    """Return each row's centrality: the share of rows that lie in less dense regions.

    ``scales`` holds each row's distance to its last neighbor in the graph.
    """
    order = np.argsort(np.argsort(-np.asarray(scales), kind="stable"), kind="stable")
    return (order + 0.5) / len(order)


def rows_to_label(X, uncertainty, scales, *, known=(), count: int = COUNT) -> np.ndarray:
    """Choose the most informative rows: uncertain, central, and spread over the data.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    uncertainty : array of shape (n,)
        For example 1 - confidence; 1 where nothing is known.
    scales : array of shape (n,)
        Each row's distance to its last neighbor.
    known : int array
        Rows already labeled, never chosen.
    count : int

    Returns
    -------
    int array of shape (<= count,)
        Best first. Each choice lowers the score of nearby rows, on the scale of the data's
        own neighborhoods.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> scales = [1.0, 1.1, 1.2, 1.3, 1.4]
    >>> rows_to_label(X, [0.9, 0.8, 0.5, 0.4, 0.0], scales, known=[4], count=2).tolist()
    [0, 2]
    """
    uncertainty = np.nan_to_num(np.asarray(uncertainty, dtype=np.float64), nan=1.0)
    score = np.maximum(uncertainty, 1e-6) * np.sqrt(crowding(scales))
    score[np.asarray(known, dtype=np.int64)] = -1
    pool = np.argsort(-score, kind="stable")[:POOL]
    pool = pool[score[pool] > 0]
    rows = X[pool]
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    worth, chosen = score[pool].copy(), []
    # Several neighborhoods wide: labels spread further than one step of the graph.
    width = 2.0 * float(np.median(scales)) or 1.0
    for _ in range(min(count, len(pool))):
        best = int(np.argmax(worth))
        if worth[best] <= 0:
            break
        chosen.append(best)
        squared = ((rows - rows[best]) ** 2).sum(axis=1)
        worth *= 1 - np.exp(-squared / (2 * width**2))
        worth[best] = -1
    return pool[chosen]
