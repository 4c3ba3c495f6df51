"""Logistic regression for classes; ridge, kernel ridge and nearest neighbors for numbers."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import softmax

from fewfold.methods.candidate import CandidateClassifier, CandidateRegressor
from fewfold.methods.cluster_kernel.estimator import median_squared, squared
from fewfold.methods.cluster_kernel.logistic import two_columns

_PENALTIES = np.logspace(-4, 2, 13)


class LogisticClassifier(CandidateClassifier):
    """Multinomial logistic regression with an L2 penalty.

    Parameters
    ----------
    C : float
        Inverse strength of the penalty.

    Notes
    -----
    A fit costs about ``100 m n_features n_classes`` multiplications.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, kind = load_iris(return_X_y=True)
    >>> y = np.where(np.arange(150) % 5 == 0, kind, -1)
    >>> bool(np.mean(LogisticClassifier().fit(X, y).transduction_ == kind) > 0.9)
    True
    """

    _arrays = ("A_", "b_")

    def __init__(self, C=1.0):
        self.C = C

    def _learn(self, X, shared, rows, codes):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=self.C, max_iter=300, tol=1e-3).fit(X[rows], codes)
        self.A_, self.b_ = two_columns(model.coef_.T), two_columns(model.intercept_)

    def _decide(self, X, shared, rows):
        return softmax((X if rows is None else X[rows]) @ self.A_ + self.b_, axis=1)


def ridge_by_left_out(K, y) -> tuple[np.ndarray, float]:
    """Solve kernel ridge regression, the penalty chosen by the exact leave-one-out error.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Kernel of the centered features.
    y : ndarray of shape (m,)
        Centered values.

    Returns
    -------
    dual : ndarray of shape (m,)
    penalty : float
        In units of the mean of the kernel's diagonal.
    """
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    values = np.maximum(values, 0)
    scale = float(np.mean(np.diag(K))) or 1.0
    turned = vectors.T @ y
    best = None
    for penalty in _PENALTIES:
        inverse = 1 / (values + penalty * scale)
        dual = vectors @ (inverse * turned)
        # y - prediction without the row itself = dual / diagonal of the inverse.
        left_out = dual / np.maximum((vectors**2) @ inverse, 1e-300)
        loss = float(np.mean(left_out**2))
        if best is None or loss < best[0]:
            best = (loss, dual, float(penalty))
    return best[1], best[2]


class RidgeRegressor(CandidateRegressor):
    """Ridge regression, on the features or on a Gaussian kernel of them.

    Parameters
    ----------
    kernel : {"linear", "rbf"}
    width : float
        Of the Gaussian, in medians of the squared distance between labeled rows.

    Notes
    -----
    The penalty is chosen by exact leave-one-out. A fit costs ``m^3``.
    """

    _arrays = ("base_", "dual_", "center_")
    _notes = ("kernel_", "gamma_", "mean_")

    def __init__(self, kernel="linear", *, width=1.0):
        self.kernel = kernel
        self.width = width

    def _learn(self, X, y):
        self.kernel_, self.mean_ = self.kernel, float(y.mean())
        self.gamma_ = float(1 / (self.width * median_squared(X)))
        self.center_ = X.mean(axis=0)
        self.base_ = X
        dual, self.penalty_ = ridge_by_left_out(self._kernel_to(X), y - self.mean_)
        if self.kernel == "linear":
            # The coefficients say the same in fewer numbers.
            self.base_, dual = (X - self.center_).T @ dual[:, None], np.ones(1)
        self.dual_ = dual

    def _kernel_to(self, X):
        if self.kernel_ == "linear":
            return (X - self.center_) @ (self.base_ - self.center_).T
        return np.exp(-self.gamma_ * squared(X, self.base_))

    def _decide(self, X):
        if self.kernel_ == "linear":
            return ((X - self.center_) @ self.base_)[:, 0] + self.mean_
        return self._kernel_to(X) @ self.dual_ + self.mean_


class NeighborsRegressor(CandidateRegressor):
    """Mean of the nearest labeled rows, weighted by inverse distances; k by leave-one-out."""

    _arrays = ("base_", "y_")
    _notes = ("n_neighbors_",)

    def __init__(self, n_neighbors=(1, 2, 3, 5, 8, 12)):
        self.n_neighbors = n_neighbors

    def _learn(self, X, y):
        self.base_, self.y_ = X, y
        D = squared(X, X)
        np.fill_diagonal(D, np.inf)
        fitting = [k for k in self.n_neighbors if k < len(X)] or [1]
        losses = [np.mean((neighbor_mean(D, y, k) - y) ** 2) for k in fitting]
        self.n_neighbors_ = int(fitting[int(np.argmin(losses))])

    def _decide(self, X):
        return neighbor_mean(squared(X, self.base_), self.y_, self.n_neighbors_)


def neighbor_mean(D, y, k: int) -> np.ndarray:
    """Return the mean of ``y`` over the k nearest, weighted by inverse distances.

    Parameters
    ----------
    D : ndarray of shape (n, m)
        Squared distances.
    y : ndarray of shape (m,)
    k : int
    """
    k = min(k, D.shape[1])
    found = np.argpartition(D, k - 1, axis=1)[:, :k]
    near = np.take_along_axis(D, found, axis=1)
    weights = np.where(np.isfinite(near), 1 / np.sqrt(np.maximum(near, 1e-18)), 0.0)
    return (weights * y[found]).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-300)
