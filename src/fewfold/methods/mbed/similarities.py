"""From rows or dissimilarities to neighborhood probabilities P ([mbed-2005] Eq. 1)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.svm.kernels import squared_distances

METRICS = ("euclidean", "cosine", "precomputed")


def dissimilarities(X, other=None, metric: str = "euclidean") -> np.ndarray:
    """Return the dissimilarities of the rows of ``X`` (to those of ``other``).

    Parameters
    ----------
    X : array or sparse array of shape (n, D)
        With ``metric="precomputed"``, the dissimilarities themselves: returned as they are, not
        symmetrised, since the method needs no metric.
    other : array of shape (m, D), optional
    metric : {"euclidean", "cosine", "precomputed"}

    Returns
    -------
    ndarray of shape (n, n), float32, or (n, m), float64
        New rows keep double precision: their place must not depend on the batch they came with.

    Examples
    --------
    >>> import numpy as np
    >>> dissimilarities(np.array([[0.0], [3.0]]))
    array([[0., 3.],
           [3., 0.]], dtype=float32)
    """
    if metric not in METRICS:
        raise InputError(f"metric={metric!r} is unknown. Choose one of {', '.join(METRICS)}.")
    if metric == "precomputed":
        return np.asarray(X, np.float32 if other is None else np.float64)
    A, B = _rows(X, metric), None if other is None else _rows(other, metric)
    D = squared_distances(A, A if B is None else B)
    if B is None:
        np.fill_diagonal(D, 0)
    D = D / 2 if metric == "cosine" else np.sqrt(D, out=D)
    return D.astype(np.float32) if B is None else D


def _rows(X, metric):
    X = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else np.asarray(X, np.float64)
    if metric != "cosine":
        return X
    from sklearn.preprocessing import normalize  # not for the map of a report

    return normalize(X)


def quantile_scale(D: np.ndarray, quantile: float) -> float:
    """Return the ``quantile`` of all dissimilarities between different points.

    The paper's length scale is the 1/K quantile for K classes.
    """
    n = len(D)
    off = D[~np.eye(n, dtype=bool)]
    scale = float(np.quantile(off, quantile))
    if scale > 0:
        return scale
    positive = off[off > 0]
    return float(positive.min()) if len(positive) else 1.0


def global_probabilities(D: np.ndarray, scale: float, drop_self: bool = True) -> np.ndarray:
    """``p_ij`` proportional to ``exp(-d_ij**2 / scale**2)``: one length scale for all points.

    Parameters
    ----------
    D : ndarray of shape (m, n)
    scale : float
    drop_self : bool
        Whether row i is point i, which is not its own neighbor.

    Returns
    -------
    ndarray of shape (m, n), rows sum to 1; float32, or float64 without ``drop_self``

    Examples
    --------
    >>> import numpy as np
    >>> global_probabilities(np.array([[0.0, 1, 9], [1, 0, 9], [9, 9, 0]]), 1.0).round(2)
    array([[0. , 1. , 0. ],
           [1. , 0. , 0. ],
           [0.5, 0.5, 0. ]], dtype=float32)
    """
    logits = -np.square(D / scale, dtype=np.float64)
    if drop_self:
        np.fill_diagonal(logits, -np.inf)
    logits -= logits.max(axis=1, keepdims=True)
    P = np.exp(logits, out=logits)
    P /= P.sum(axis=1, keepdims=True)
    return P.astype(np.float32) if drop_self else P


def perplexity_weights(
    D: np.ndarray, perplexity: float, tolerance: float = 1e-4, max_rounds: int = 60
) -> tuple[np.ndarray, np.ndarray]:
    """Give each row its own width, such that its entropy is ``log(perplexity)``.

    Parameters
    ----------
    D : ndarray of shape (m, k)
        Dissimilarities of each row's candidates; infinite ones get no weight.
    perplexity : float
        Effective number of neighbors; at least 1, below the number of candidates.

    Returns
    -------
    P : ndarray of shape (m, k), rows sum to 1
    precision : ndarray of shape (m,)
        ``p_ij`` is proportional to ``exp(-precision_i * d_ij**2)``.

    Notes
    -----
    Bisection on all rows at once, O(m k) a round. Rows whose nearest candidates tie cannot
    reach a smaller perplexity than the number of ties; they keep equal weights.

    Examples
    --------
    >>> import numpy as np
    >>> perplexity_weights(np.array([[1.0, 1.0, 2.0]]), 2.0)[0].round(2)
    array([[0.5, 0.5, 0. ]])
    """
    D2 = np.square(D, dtype=np.float64)
    D2 -= D2.min(axis=1, keepdims=True)
    finite = np.isfinite(D2)
    D2[~finite] = 0
    wanted = np.log(np.minimum(perplexity, np.maximum(1.0, finite.sum(axis=1) - 1e-3)))
    positive = np.where((D2 > 0) & finite, D2, 0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    beta = 1 / np.where(positive > 0, positive, 1)
    low, high = np.zeros(len(D2)), np.full(len(D2), np.inf)
    for _ in range(max_rounds):
        P = np.exp(-beta[:, None] * D2) * finite
        total = P.sum(axis=1)
        entropy = np.log(total) + beta * (P * D2).sum(axis=1) / total
        excess = entropy - wanted
        open_ = np.abs(excess) >= tolerance  # the others keep their width, whatever the batch
        if not open_.any():
            break
        wide = excess > 0
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        middle = np.where(np.isinf(high), beta * 2, (low + high) / 2)
        beta = np.where(open_, np.minimum(middle, 1e200), beta)
    return P / total[:, None], beta


def perplexity_probabilities(D: np.ndarray, perplexity: float) -> tuple[np.ndarray, np.ndarray]:
    """`perplexity_weights` of a square matrix whose row i is point i: P (n, n) and precisions."""
    D = np.array(D, dtype=np.float64)
    np.fill_diagonal(D, np.inf)
    P, precision = perplexity_weights(D, perplexity)
    return P.astype(np.float32), precision
