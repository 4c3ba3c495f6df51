"""Logistic regression for classes; ridge and kernel ridge for numbers."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.special import softmax

from fewfold.methods.candidate import CandidateClassifier, CandidateRegressor
from fewfold.methods.cluster_kernel.logistic import two_columns
from fewfold.methods.parameters import list_of, number, one_of
from fewfold.methods.state import Field, Setting
from fewfold.svm.kernels import kernel_block, typical_squared

_PENALTIES = np.logspace(-4, 2, 13)
_FACTOR = np.log(3.0)


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

    The intercept is free of the penalty, and fitted again without each row.

    Parameters
    ----------
    K : ndarray of shape (m, m)
    y : ndarray of shape (m,)

    Returns
    -------
    dual : ndarray of shape (m,)
        Sums to 0; the prediction is ``k @ dual + mean(y) - mean(K @ dual)``.
    penalty : float
        In units of the mean of the centered kernel's diagonal.
    """
    from scipy.linalg import helmert

    # In the space of differences between rows there is no intercept.
    differences = helmert(len(y))
    centered = differences @ ((K + K.T) / 2) @ differences.T
    values, vectors = np.linalg.eigh(centered)
    values, vectors = np.maximum(values, 0), differences.T @ vectors
    scale = float(np.trace(centered)) / len(y) or 1.0
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


@dataclass(eq=False, repr=False)
class RidgeRegressor(CandidateRegressor):
    """Ridge regression, on the features or on a Gaussian kernel of them.

    Parameters
    ----------
    kernel : {"linear", "rbf"}
    width : float
        Of the Gaussian, in medians of the squared distance between labeled rows.
    target : {"value", "log"}
        "log" learns logarithms where all given values are positive; its answers stay within a
        factor of 3 of them.

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
        Setting("log_range_", list_of(number(), 2), optional=True),
    )

    kernel: str = "linear"
    _: KW_ONLY
    width: float = 1.0
    target: str = "value"

    def _learn(self, X, y):
        self.kernel_, self.log_range_ = self.kernel, None
        if self.target == "log" and y.min() > 0:
            y = np.log(y)
            self.log_range_ = [float(y.min() - _FACTOR), float(y.max() + _FACTOR)]
        self.gamma_ = float(1 / (self.width * typical_squared(X)))
        self.center_ = X.mean(axis=0)
        self.base_ = X
        K = self._kernel_to(X)
        dual, self.penalty_ = ridge_by_left_out(K, y)
        self.mean_ = float(y.mean() - np.mean(K @ dual))
        if self.kernel == "linear":
            # The coefficients say the same in fewer numbers.
            self.base_, dual = dual[None] @ (X - self.center_), np.ones(1)
        self.dual_ = dual

    def _kernel_to(self, X):
        if self.kernel_ == "linear":
            return (X - self.center_) @ (self.base_ - self.center_).T
        return kernel_block("rbf", X, self.base_, gamma=self.gamma_)

    def _values(self, X):
        if self.kernel_ == "linear":
            found = ((X - self.center_) @ self.base_.T) @ self.dual_ + self.mean_
        else:
            found = self._kernel_to(X) @ self.dual_ + self.mean_
        return found if self.log_range_ is None else np.exp(np.clip(found, *self.log_range_[:2]))
