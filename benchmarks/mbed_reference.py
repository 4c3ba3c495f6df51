"""The Mbed cost written out in plain float64 NumPy: what the library's faster forms are held to.

`sne_term` and `mbed_cost` are the definition ([mbed] Eqs. 2-19) that `fewfold.methods.mbed`
computes faster; the single terms, and the binary form of the paper (boundary y_1 = 0),
are used by tests only. Every term returns ``(value, gradient)``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp, xlogy

from fewfold.methods.mbed.cost import _balance, _labels, _margin, class_terms, log_memberships


def squared_distances(Y: np.ndarray) -> np.ndarray:
    """Return the squared distances between the rows of ``Y``, shape (n, n)."""
    norms = np.einsum("ij,ij->i", Y, Y)
    D = norms[:, None] + norms - 2 * (Y @ Y.T)
    return np.maximum(D, 0, out=D)


def sne_term(Y: np.ndarray, P: np.ndarray) -> tuple[float, np.ndarray]:
    """Sum of KL(P_i || Q_i) and its gradient ([mbed] Eqs. 2-4).

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Positions.
    P : ndarray of shape (n, n)
        Neighborhood probabilities: rows sum to 1, diagonal 0.

    Returns
    -------
    value : float
    gradient : ndarray of shape (n, d)

    Notes
    -----
    Eq. 4 of the paper lacks the factor 2 that Eq. 3 implies; it is here.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> sne_term(np.array([[0.0], [1.0]]), P)[0]
    0.0
    """
    D = squared_distances(Y)
    np.fill_diagonal(D, np.inf)
    log_Z = logsumexp(-D, axis=1)
    Q = np.exp(-D - log_Z[:, None])
    np.fill_diagonal(D, 0)
    value = float(xlogy(P, P).sum() + (P * D).sum() + (P.sum(axis=1) * log_Z).sum())
    R = P - P.sum(axis=1, keepdims=True) * Q
    R = R + R.T
    return value, 2 * (R.sum(axis=1)[:, None] * Y - R @ Y)


def mbed_cost(
    Y: np.ndarray,
    P: np.ndarray,
    directions: np.ndarray,
    lam: float,
    labeled: np.ndarray,
    targets: np.ndarray,
    prior: np.ndarray | None = None,
    weight: float = 1.0,
) -> tuple[float, np.ndarray]:
    """The whole cost of Eq. 14 and its gradient, the plain way.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
    P : ndarray of shape (n, n)
    directions : ndarray of shape (K, d)
    lam : float
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)
    prior : ndarray of shape (K,), optional
    weight : float
        Factor of the Jensen-Shannon term; 1 in the paper.

    Returns
    -------
    value : float
    gradient : ndarray of shape (n, d)
    """
    sne, gradient = sne_term(Y, P)
    rest, rest_gradient = class_terms(Y, directions, lam, labeled, targets, prior, weight)
    return sne + rest, gradient + rest_gradient


def binary_membership(Y: np.ndarray, lam: float) -> np.ndarray:
    """Probability of class +1, Eq. 5, shape (n,)."""
    return expit(Y[:, 0] / lam)


def binary_margin_term(Y, lam) -> tuple[float, np.ndarray]:
    """Mean negative entropy ``A`` and its gradient (Eqs. 7 and 9, without Eq. 9's extra sum)."""
    m = binary_membership(Y, lam)
    value = float((xlogy(m, m) + xlogy(1 - m, 1 - m)).mean())
    return value, _first(Y, m * (1 - m) * Y[:, 0] / (len(Y) * lam**2))


def binary_balance_term(Y, lam, prior=None) -> tuple[float, np.ndarray]:
    """``B`` of Eqs. 8 and 10; with ``prior`` (of class +1), ``-KL(mean || prior)``."""
    m = binary_membership(Y, lam)
    mean = m.mean()
    pull = np.log((1 - mean) / mean)
    value = -xlogy(mean, mean) - xlogy(1 - mean, 1 - mean)
    if prior is not None:
        value += mean * np.log(prior) + (1 - mean) * np.log(1 - prior)
        pull += np.log(prior / (1 - prior))
    return float(value), _first(Y, pull * m * (1 - m) / (len(Y) * lam))


def binary_label_term(Y, lam, labeled, targets) -> tuple[float, np.ndarray]:
    """``D`` of Eqs. 12-13; ``targets`` are the probabilities of class +1, shape (l,)."""
    logits = Y[labeled, 0] / lam
    # log m = -log(1 + exp(-z)): finite where m itself would round to 0 or 1.
    log_m, log_rest = -np.logaddexp(0, -logits), -np.logaddexp(0, logits)
    entropy = -xlogy(targets, targets) - xlogy(1 - targets, 1 - targets)
    value = float((-entropy - targets * log_m - (1 - targets) * log_rest).sum())
    slope = np.zeros(len(Y))
    slope[labeled] = (expit(logits) - targets) / lam
    return value, _first(Y, slope)


def _first(Y, slope):
    gradient = np.zeros_like(Y)
    gradient[:, 0] = slope
    return gradient


def margin_term(Y, directions, lam) -> tuple[float, np.ndarray]:
    """Mean entropy of the memberships, ``-A`` of Eqs. 6 and 17: small when classes are clear."""
    value, slope = _margin(log_memberships(Y, directions, lam))
    return value, slope @ directions / lam


def balance_term(Y, directions, lam, prior=None) -> tuple[float, np.ndarray]:
    """Entropy of the mean membership, ``B`` of Eqs. 8 and 18.

    With ``prior`` (shape (K,)) it is ``-KL(mean membership || prior)`` instead.
    """
    value, slope = _balance(np.exp(log_memberships(Y, directions, lam)), prior)
    return value, slope @ directions / lam


def label_term(Y, directions, lam, labeled, targets) -> tuple[float, np.ndarray]:
    """Sum of KL(T_i || M_i) over labeled points, ``D`` of Eqs. 12 and 19.

    Parameters
    ----------
    Y, directions, lam : as in `log_memberships`
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)
        Class probabilities of the labeled points.
    """
    log_m = log_memberships(Y, directions, lam)
    value, slope = _labels(log_m, np.exp(log_m), labeled, targets)
    return value, slope @ directions / lam
