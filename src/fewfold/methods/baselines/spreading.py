"""scikit-learn's LabelSpreading, as a user of it would run it."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np

from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier, as_float
from fewfold.methods.parameters import count
from fewfold.methods.state import Field, Setting


@dataclass(eq=False, repr=False)
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

    n_neighbors: int = 7
    _: KW_ONLY
    alpha: float = 0.2
    max_iter: int = 100
    _dtype = None

    def fit(self, X, y):
        """Spread the labels over the k-NN graph."""
        from sklearn.semi_supervised import LabelSpreading

        X = self._rows(X)
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

        X = self._rows(X, reset=False)
        search = NearestNeighbors(n_neighbors=self.n_neighbors_).fit(self.rows_)
        around = search.kneighbors(X, return_distance=False)
        votes = self.label_distributions_[around].sum(axis=1)
        total = votes.sum(axis=1, keepdims=True)
        return votes / np.where(total > 0, total, 1), total.ravel() > 0
