"""What the candidates of ``fewfold label`` share: reading labels, naming answers, plain state."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted

from fewfold.exceptions import InputError
from fewfold.labels import read_labels, read_values


class _Plain:
    """Fitted state as arrays and JSON values, named by ``_arrays`` and ``_notes``."""

    _arrays: tuple[str, ...] = ()
    _notes: tuple[str, ...] = ()

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what prediction needs: arrays by name, and values that JSON can hold."""
        check_is_fitted(self)
        arrays = {name: np.asarray(getattr(self, name)) for name in self._arrays}
        return arrays, {name: getattr(self, name) for name in self._notes}

    @classmethod
    def from_arrays(cls, arrays: dict, notes: dict):
        """Return an estimator that predicts as the one whose state this is."""
        missing = [n for n in cls._arrays if n not in arrays]
        missing += [n for n in cls._notes if n not in notes]
        if missing:
            raise InputError(f"{cls.__name__}: {missing[0]!r} is missing. Write the model again.")
        model = cls()
        for name in cls._arrays:
            setattr(model, name, np.asarray(arrays[name]))
        for name in cls._notes:
            setattr(model, name, notes[name])
        return model


class CandidateClassifier(_Plain, ClassifierMixin, BaseEstimator):
    """Base of the candidates: a subclass has ``_prepare``, ``_learn`` and ``_decide``.

    ``_prepare(X, graph)`` returns what does not depend on the labels, as a dict of arrays;
    ``_learn(X, shared, rows, codes)`` fits to labeled rows, with all classes in ``classes_``;
    ``_decide(X, shared, rows)`` gives the probabilities of training rows (``rows``), or of new
    ones (``shared`` None).
    """

    def prepare(self, X, *, graph=None) -> dict:
        """Compute what does not depend on the labels, to be given to `fit` as ``manifold``."""
        return self._prepare(np.asarray(X, dtype=np.float64), graph)

    def fit(self, X, y, *, graph=None, manifold=None, kernel=None):
        """Learn from all rows, and label them.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; unlabeled rows as in `fewfold.labels`.
        graph : csr_array of shape (n_samples, n_samples), optional
            Lengths of the edges of a neighbor graph, nearest first in each row.
        manifold : dict, optional
            From `prepare`; computed here by default.
        kernel : None
            Not used.
        """
        X = check_array(X, dtype=np.float64)
        labels = read_labels(y, len(X), name=type(self).__name__)
        self.classes_ = labels.classes
        self.n_features_in_ = X.shape[1]
        shared = self.prepare(X, graph=graph) if manifold is None else manifold
        self.fit_codes(X, shared, labels.rows, labels.codes, labels.n_classes)
        self.label_distributions_ = self.decide_rows(X, shared, np.arange(len(X)))
        answer = self.label_distributions_.argmax(axis=1)
        self.transduction_ = labels.complete(self.classes_[answer])
        return self

    def fit_codes(self, X, shared, rows, codes, n_classes: int):
        """Fit to class codes of some rows; classes without a label get probability 0."""
        self.present_ = np.unique(codes)
        self.n_classes_ = int(n_classes)
        if len(self.present_) > 1:
            self._learn(X, shared, rows, np.searchsorted(self.present_, codes))
        return self

    def decide_rows(self, X, shared, rows) -> np.ndarray:
        """Return probabilities of training rows, (n_rows, n_classes)."""
        return self._all_classes(len(rows), lambda: self._decide(X, shared, rows))

    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities of new rows, (n_rows, n_classes)."""
        check_is_fitted(self, "present_")
        X = check_array(X, dtype=np.float64)
        return self._all_classes(len(X), lambda: self._decide(X, None, None))

    def _all_classes(self, n, decide):
        proba = np.zeros((n, self.n_classes_))
        proba[:, self.present_] = decide() if len(self.present_) > 1 else 1.0
        return proba

    def predict(self, X) -> np.ndarray:
        """Return the classes of new rows."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def to_arrays(self):
        """Return what prediction needs: arrays by name, and values that JSON can hold."""
        if len(self.present_) > 1:
            arrays, notes = super().to_arrays()
        else:
            arrays, notes = {}, {}
        return arrays | {"classes_": self.classes_, "present_": self.present_}, notes

    @classmethod
    def from_arrays(cls, arrays: dict, notes: dict):
        """Return an estimator that predicts as the one whose state this is."""
        model = super().from_arrays(arrays, notes) if len(arrays["present_"]) > 1 else cls()
        model.classes_, model.present_ = arrays["classes_"], arrays["present_"]
        model.n_classes_ = len(model.classes_)
        return model

    def _prepare(self, X, graph) -> dict:
        return {}


class CandidateRegressor(_Plain, RegressorMixin, BaseEstimator):
    """Base of the candidates for numbers: a subclass has ``_learn(X, y)`` and ``_decide(X)``."""

    def fit(self, X, y, *, graph=None, manifold=None, kernel=None):
        """Learn from the rows whose ``y`` is not NaN, and predict all of them."""
        X = check_array(X, dtype=np.float64)
        y = read_values(y, len(X), name=type(self).__name__)
        known = ~np.isnan(y)
        self.n_features_in_ = X.shape[1]
        self._learn(X[known], y[known])
        self.transduction_ = np.where(known, y, self._decide(X))
        return self

    def predict(self, X) -> np.ndarray:
        """Return the values of new rows."""
        return self._decide(check_array(X, dtype=np.float64))
