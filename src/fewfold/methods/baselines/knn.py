"""Nearest labeled rows vote, or are averaged."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fewfold.graph.neighbors import nearest_neighbors
from fewfold.labels import known_mask
from fewfold.methods.estimators import (
    CLASSES,
    SemiSupervisedClassifier,
    SemiSupervisedRegressor,
    as_float,
)
from fewfold.methods.parameters import count, one_of
from fewfold.methods.state import Field, Setting
from fewfold.svm.folds import plain_folds, stratified_folds
from fewfold.svm.search import choose

_STATE = (
    Field("rows_", "float", ("m", "d"), may_be_sparse=True),
    Setting("n_neighbors_", count()),
    Setting("metric", one_of("euclidean", "cosine")),
)


@dataclass(eq=False, repr=False)
class _KNN:
    """Options, and the choice of the number of neighbors.

    A subclass has ``_combine(targets, indices)``, what neighbors of these targets answer, and
    ``_error(answer, targets)``.
    """

    n_neighbors: int | str = "cv"
    _: KW_ONLY
    metric: str = "euclidean"
    random_state: int = 0
    _dtype = None

    def _learn(self, X, rows, targets, grid, folds):
        """Keep the labeled rows, choose the number of neighbors, and predict all rows."""
        self.rows_, most = as_float(X[rows]), len(rows)
        self.n_neighbors_ = most
        if self.n_neighbors != "cv":
            self.n_neighbors_ = min(int(self.n_neighbors), most)
        else:
            grid = [k for k in grid if k <= max(1, most // 2)]
            self.n_neighbors_ = choose(grid, self._fold_error(targets, grid), folds(), default=1)
        return self._answer(self.rows_, targets, X, self.n_neighbors_)

    def _fold_error(self, targets, grid):
        def fold_error(train, test):
            base, query = self.rows_[train], self.rows_[test]
            found = [self._answer(base, targets[train], query, min(k, len(train))) for k in grid]
            return [np.mean(self._error(answer, targets[test])) for answer in found]

        return fold_error

    def _answer(self, base, targets, query, k):
        found = nearest_neighbors(base, k, query=query, metric=self.metric)
        return self._combine(targets, found.indices)

    @property
    def _details(self):
        return {"n_neighbors": self.n_neighbors_}


class KNNClassifier(_KNN, SemiSupervisedClassifier):
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

    def fit(self, X, y):
        """Keep the labeled rows, choose the number of neighbors, and label all rows."""
        X = self._rows(X)
        labels = self._read_labels(y, X.shape[0])
        self.codes_ = codes = labels.codes

        def folds():
            return stratified_folds(codes, self.random_state)

        proba = self._learn(X, labels.rows, codes, (1, 3, 5, 7, 9, 13, 17, 25), folds)
        return self._finish(None, proba, details=self._details)

    def _combine(self, codes, indices):
        k = indices.shape[1]
        # A vote worth slightly less for each place in the ranking breaks ties to the nearer.
        worth = 1 + 1e-3 * (k - np.arange(k)) / k
        out = np.zeros((len(indices), len(self.classes_)))
        for place in range(k):
            np.add.at(out, (np.arange(len(out)), codes[indices[:, place]]), worth[place])
        return out / out.sum(axis=1, keepdims=True)

    def _error(self, proba, codes):
        return proba.argmax(axis=1) != codes

    def _decide(self, X):
        X = self._rows(X, reset=False)
        return self._answer(self.rows_, self.codes_, X, self.n_neighbors_)


class KNNRegressor(_KNN, SemiSupervisedRegressor):
    """Mean of the nearest rows with a value; parameters as of `KNNClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> KNNRegressor(1).fit([[0.0], [1.0], [9.0]], [5.0, np.nan, 7.0]).transduction_.tolist()
    [5.0, 5.0, 7.0]
    """

    _state = (*_STATE, Field("values_", "float", ("m",)))

    def fit(self, X, y):
        """Keep the rows with a value, choose the number of neighbors, and predict all rows."""
        X = self._rows(X)
        y = self._read_values(y, X.shape[0])
        known = np.flatnonzero(known_mask(y))
        self.values_ = y[known]

        def folds():
            return plain_folds(len(known), self.random_state)

        return self._finish(
            self._learn(X, known, self.values_, (1, 3, 5, 7, 9), folds), self._details
        )

    def _combine(self, values, indices):
        return values[indices].mean(axis=1)

    def _error(self, found, values):
        return (found - values) ** 2

    def _decide(self, X):
        X = self._rows(X, reset=False)
        return self._answer(self.rows_, self.values_, X, self.n_neighbors_)
