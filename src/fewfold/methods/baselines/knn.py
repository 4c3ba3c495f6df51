"""Nearest labeled rows vote, or are averaged."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.graph.neighbors import nearest_neighbors
from fewfold.labels import known_mask, read_values
from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier, as_float
from fewfold.methods.parameters import count, one_of
from fewfold.methods.state import Field, PlainState, Setting
from fewfold.svm.folds import plain_folds, stratified_folds
from fewfold.svm.search import choose

_STATE = (
    Field("rows_", "float", ("m", "d"), may_be_sparse=True),
    Setting("n_neighbors_", count()),
    Setting("metric", one_of("euclidean", "cosine")),
)


class KNNClassifier(SemiSupervisedClassifier):
    """k-nearest-neighbor vote among the labeled rows, ties to the nearer.

    Parameters
    ----------
    n_neighbors : int or "cv"
        "cv" chooses among 1, 3, 5, ... by cross-validation on the labeled rows.
    metric : {"euclidean", "cosine"}
    random_state : int
        Of the folds.

    Examples
    --------
    >>> model = KNNClassifier(1).fit([[0.0], [1.0], [9.0]], [0, -1, 1])
    >>> model.transduction_.tolist()
    [0, 0, 1]
    """

    _state = (CLASSES, *_STATE, Field("codes_", "int", ("m",), below="k"))

    def __init__(self, n_neighbors="cv", *, metric="euclidean", random_state=0):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.random_state = random_state

    def fit(self, X, y):
        """Keep the labeled rows, choose the number of neighbors, and label all rows."""
        X = validate_data(self, X, accept_sparse="csr", dtype=None)
        labels = self._read_labels(y, X.shape[0])
        self.rows_, self.codes_ = as_float(X[labels.rows]), labels.codes
        self.n_neighbors_ = self._choose()
        proba = self._votes(self.rows_, self.codes_, X, self.n_neighbors_)
        return self._finish(None, proba, details={"n_neighbors": self.n_neighbors_})

    def _choose(self):
        L, codes, most = self.rows_, self.codes_, len(self.codes_)
        if self.n_neighbors != "cv":
            return min(int(self.n_neighbors), most)
        grid = [k for k in (1, 3, 5, 7, 9, 13, 17, 25) if k <= max(1, most // 2)]

        def fold_error(train, test):
            found = [
                self._votes(L[train], codes[train], L[test], min(k, len(train))).argmax(axis=1)
                for k in grid
            ]
            return [np.mean(guess != codes[test]) for guess in found]

        return choose(grid, fold_error, stratified_folds(codes, self.random_state), default=1)

    def _votes(self, base, codes, query, k):
        found = nearest_neighbors(base, k, query=query, metric=self.metric)
        # A vote worth slightly less for each place in the ranking breaks ties to the nearer.
        worth = 1 + 1e-3 * (k - np.arange(k)) / k
        out = np.zeros((len(found.indices), len(self.classes_)))
        for place in range(k):
            np.add.at(out, (np.arange(len(out)), codes[found.indices[:, place]]), worth[place])
        return out / out.sum(axis=1, keepdims=True)

    def _decide(self, X):
        check_is_fitted(self, "rows_")
        X = validate_data(self, X, accept_sparse="csr", dtype=None, reset=False)
        proba = self._votes(self.rows_, self.codes_, X, self.n_neighbors_)
        return proba, np.ones(len(proba), bool)

    def _unpack(self, values: dict) -> None:
        super()._unpack(values)
        self.n_features_in_ = self.rows_.shape[1]


class KNNRegressor(PlainState, RegressorMixin, BaseEstimator):
    """Mean of the nearest rows with a value; parameters as of `KNNClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> KNNRegressor(1).fit([[0.0], [1.0], [9.0]], [5.0, np.nan, 7.0]).transduction_.tolist()
    [5.0, 5.0, 7.0]
    """

    _state = (*_STATE, Field("values_", "float", ("m",)))

    def __init__(self, n_neighbors="cv", *, metric="euclidean", random_state=0):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.random_state = random_state

    def fit(self, X, y):
        """Keep the rows with a value, choose the number of neighbors, and predict all rows."""
        X = validate_data(self, X, accept_sparse="csr", dtype=None)
        y = read_values(y, X.shape[0], name=type(self).__name__)
        known = np.flatnonzero(known_mask(y))
        self.rows_, self.values_ = as_float(X[known]), y[known]
        self.n_neighbors_ = self._choose()
        self.transduction_ = self._mean(self.rows_, self.values_, X, self.n_neighbors_)
        self.details_, self.status_ = {"n_neighbors": self.n_neighbors_}, "ok"
        return self

    def _choose(self):
        L, values, most = self.rows_, self.values_, len(self.values_)
        if self.n_neighbors != "cv":
            return min(int(self.n_neighbors), most)
        grid = [k for k in (1, 3, 5, 7, 9) if k <= max(1, most // 2)]

        def fold_error(train, test):
            found = [self._mean(L[train], values[train], L[test], min(k, len(train))) for k in grid]
            return [np.mean((guess - values[test]) ** 2) for guess in found]

        return choose(grid, fold_error, plain_folds(most, self.random_state), default=1)

    def _mean(self, base, values, query, k):
        found = nearest_neighbors(base, k, query=query, metric=self.metric)
        return values[found.indices].mean(axis=1)

    def predict(self, X) -> np.ndarray:
        """Return the mean value of each row's nearest rows."""
        check_is_fitted(self, "rows_")
        X = validate_data(self, X, accept_sparse="csr", dtype=None, reset=False)
        return self._mean(self.rows_, self.values_, X, self.n_neighbors_)

    def answer(self, X) -> tuple[np.ndarray, None]:
        """Return the values of new rows; there are no probabilities."""
        return self.predict(X), None

    def _unpack(self, values: dict) -> None:
        super()._unpack(values)
        self.n_features_in_ = self.rows_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
