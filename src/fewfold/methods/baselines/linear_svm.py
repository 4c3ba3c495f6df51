"""A linear SVM on the labeled rows."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier
from fewfold.methods.parameters import positive
from fewfold.methods.state import Field, Setting
from fewfold.svm.linear import (
    PENALTIES,
    choose_penalty,
    decide_linear,
    fit_linear_svm,
    mean_norm,
)
from fewfold.svm.probability import decisions_to_proba
from fewfold.svm.search import grid_of


class LinearSVM(SemiSupervisedClassifier):
    """Linear SVM, one class against the rest.

    Features are divided by their mean row norm first, so that the same grid of C fits any scale.

    Parameters
    ----------
    C : float or "cv"
        Penalty of margin errors, or chosen by cross-validation on the labeled rows.
    random_state : int

    Examples
    --------
    >>> LinearSVM().fit([[0.0], [1.0], [9.0]], [0, -1, 1]).transduction_.tolist()
    [0, 0, 1]
    """

    _state = (
        CLASSES,
        Field("weights_", "float", ("d", "p")),
        Field("intercepts_", "float", ("p",)),
        Setting("scale_", positive()),
    )

    def __init__(self, C="cv", *, random_state=0):
        self.C = C
        self.random_state = random_state

    def fit(self, X, y):
        """Train on the labeled rows, and label all rows."""
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        labels = self._read_labels(y, X.shape[0], min_classes=2)
        self.scale_, codes, seed = mean_norm(X), labels.codes, self.random_state
        L = X[labels.rows] / self.scale_
        C = choose_penalty(L, codes, grid_of(self.C, list(PENALTIES)), seed)
        self.weights_, self.intercepts_ = fit_linear_svm(L, codes, C, seed)
        return self._finish(None, self._proba(X), details={"C": C})

    def _proba(self, X):
        return decisions_to_proba(decide_linear(X / self.scale_, self.weights_, self.intercepts_))

    def _decide(self, X):
        check_is_fitted(self, "weights_")
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        return self._proba(X), np.ones(X.shape[0], bool)

    def _unpack(self, values: dict) -> None:
        super()._unpack(values)
        self.n_features_in_ = self.weights_.shape[0]
