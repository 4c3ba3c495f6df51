"""The class terms of the Mbed cost and their gradients, for K classes ([mbed-2005] Eqs. 11-19).

Every term returns ``(value, gradient)``. The embedding term is in `gradient` and `sampled`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, xlogy


def simplex_directions(n_classes: int, n_components: int) -> np.ndarray:
    """Return unit vectors with equal mutual angles, one per class, shape (K, d).

    With ``d >= K`` they are the normalized rows of ``I - 1/K``; with ``d = K - 1`` the same
    simplex turned into its own subspace.

    Examples
    --------
    >>> simplex_directions(3, 3) @ simplex_directions(3, 3)[0]
    array([ 1. , -0.5, -0.5])
    """
    K, d = n_classes, n_components
    if K == 1:
        return np.zeros((1, d))  # no boundary
    W = np.eye(K) - 1 / K
    if d < K:
        W = W @ np.linalg.svd(W)[2][: K - 1].T
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    return np.hstack([W, np.zeros((K, max(0, d - W.shape[1])))])


def log_memberships(Y: np.ndarray, directions: np.ndarray, lam: float) -> np.ndarray:
    """Return ``log m_ik`` of Eq. 15, shape (n, K)."""
    logits = Y @ directions.T / lam
    return log_softmax(logits, axis=1)


def _margin(log_m):
    m = np.exp(log_m)
    entropy = -(m * log_m).sum(axis=1, keepdims=True)
    return float(entropy.mean()), -m * (log_m + entropy) / len(m)


def _balance(m, prior):
    mean = m.mean(axis=0)
    log_mean = np.log(np.maximum(mean, 1e-300))
    pull = -log_mean if prior is None else np.log(prior) - log_mean
    return float(mean @ pull), m * (pull - (m @ pull)[:, None]) / len(m)


def _labels(log_m, m, labeled, targets):
    slope = np.zeros_like(m)
    value = float((xlogy(targets, targets) - targets * log_m[labeled]).sum())
    slope[labeled] = m[labeled] - targets
    return value, slope


def class_terms(
    Y: np.ndarray,
    directions: np.ndarray,
    lam: float,
    labeled: np.ndarray,
    targets: np.ndarray,
    prior: np.ndarray | None = None,
    weight: float = 1.0,
) -> tuple[float, np.ndarray]:
    """``-weight * JS + D`` of Eq. 14 with its gradient, memberships computed once."""
    log_m = log_memberships(Y, directions, lam)
    m = np.exp(log_m)
    margin, slope = _margin(log_m)
    balance, balance_slope = _balance(m, prior)
    slope = weight * (slope - balance_slope)
    value = weight * (margin - balance)
    if len(labeled):
        fit, fit_slope = _labels(log_m, m, labeled, targets)
        value, slope = value + fit, slope + fit_slope
    return value, slope @ directions / lam
