"""scikit-learn's LabelSpreading, as a user of it would run it."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier, as_float
from fewfold.methods.parameters import count
from fewfold.methods.state import Field, Setting


class KNNLabelSpreading(SemiSupervisedClassifier):
    """scikit-learn's LabelSpreading with its k-NN kernel; parameters as there.

    Rows that no label reaches are marked -1 instead of the first class.
    """

    _state = (
        CLASSES,
        Field("rows_", "float", ("n", "d"), may_be_sparse=True),
        Field("label_distributions_", "float", ("n", "k"), low=0, high=1.0001),
        Setting("n_neighbors_", count()),
    )

    def __init__(self, n_neighbors=7, *, alpha=0.2, max_iter=100):
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.max_iter = max_iter

    def fit(self, X, y):
        """Spread the labels over the k-NN graph."""
        from sklearn.semi_supervised import LabelSpreading

        X = validate_data(self, X, accept_sparse="csr", dtype=None)
        labels = self._read_labels(y, X.shape[0])
        codes = np.full(X.shape[0], -1)
        codes[labels.rows] = labels.codes
        self.rows_, self.n_neighbors_ = as_float(X), min(int(self.n_neighbors), X.shape[0])
        model = LabelSpreading(
            kernel="knn",
            n_neighbors=self.n_neighbors_,
            alpha=float(self.alpha),
            max_iter=int(self.max_iter),
        )
        with np.errstate(invalid="ignore"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, codes)
        self.n_iter_ = model.n_iter_
        slow = any("max_iter" in str(w.message) for w in caught)
        proba = np.nan_to_num(model.label_distributions_)
        status = "not converged" if slow else "ok"
        reached = proba.sum(axis=1) > 0
        return self._finish(None, proba, reached, details={"n_iter": model.n_iter_}, status=status)

    def _decide(self, X):
        from sklearn.neighbors import NearestNeighbors

        check_is_fitted(self, "rows_")
        X = validate_data(self, X, accept_sparse="csr", dtype=None, reset=False)
        search = NearestNeighbors(n_neighbors=self.n_neighbors_).fit(self.rows_)
        around = search.kneighbors(X, return_distance=False)
        votes = self.label_distributions_[around].sum(axis=1)
        total = votes.sum(axis=1, keepdims=True)
        return votes / np.where(total > 0, total, 1), total.ravel() > 0

    def _unpack(self, values: dict) -> None:
        super()._unpack(values)
        self.n_features_in_ = self.rows_.shape[1]
