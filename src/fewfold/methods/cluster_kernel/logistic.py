"""Logistic regression on a kernel of the labeled rows."""

from __future__ import annotations

import warnings

import numpy as np

_SMALLEST = 1e-8


def fit_kernel_logistic(K, codes, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Fit multinomial logistic regression with the penalty of the kernel's space.

    Parameters
    ----------
    K : ndarray of shape (m, m)
    codes : int ndarray of shape (m,)
        0 to k - 1, each present.
    C : float
        Inverse strength of the penalty.

    Returns
    -------
    A : ndarray of shape (m, k)
        Coefficients: scores of rows are ``K(rows, labeled) @ A + b``.
    b : ndarray of shape (k,)
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = values > _SMALLEST * values[-1]
    axes = vectors[:, kept] / np.sqrt(values[kept])
    with warnings.catch_warnings():
        # The penalty makes the last digits of the optimum irrelevant.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=C, max_iter=200, tol=1e-3).fit(K @ axes, codes)
    return two_columns(axes @ model.coef_.T), two_columns(model.intercept_)


def two_columns(scores) -> np.ndarray:
    """Return one score per class where scikit-learn keeps one for two classes."""
    if scores.shape[-1] != 1:
        return scores
    return np.concatenate([np.zeros_like(scores), scores], axis=-1)
