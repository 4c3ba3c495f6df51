"""Logistic regression for classes; ridge and kernel ridge for numbers."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import softmax

from fewfold.methods.candidate import CandidateClassifier, CandidateRegressor
from fewfold.methods.cluster_kernel.estimator import median_squared, squared
from fewfold.methods.cluster_kernel.logistic import two_columns
from fewfold.methods.parameters import number, one_of
from fewfold.methods.state import Field, Setting

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

    _learned = (Field("A_", "float", ("d", "p")), Field("b_", "float", ("p",)))

    def __init__(self, C=1.0):
        self.C = C

    def _learn(self, X, shared, rows, codes):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=self.C, max_iter=300, tol=1e-3).fit(X[rows], codes)
        self.A_, self.b_ = two_columns(model.coef_.T), two_columns(model.intercept_)

    def _proba(self, X, shared, rows):
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

    _learned = (
        Field("base_", "float", ("m", "d")),
        Field("dual_", "float", ("m",)),
        Field("center_", "float", ("d",)),
        Setting("kernel_", one_of("linear", "rbf")),
        Setting("gamma_", number(0)),
        Setting("mean_", number()),
    )

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
            self.base_, dual = dual[None] @ (X - self.center_), np.ones(1)
        self.dual_ = dual

    def _kernel_to(self, X):
        if self.kernel_ == "linear":
            return (X - self.center_) @ (self.base_ - self.center_).T
        return np.exp(-self.gamma_ * squared(X, self.base_))

    def _values(self, X):
        if self.kernel_ == "linear":
            return ((X - self.center_) @ self.base_.T) @ self.dual_ + self.mean_
        return self._kernel_to(X) @ self.dual_ + self.mean_
