"""Estimators that split a fit into what needs labels and what does not.

The candidates of ``fewfold label`` are fitted many times to the same rows with other labels
(folds), so what does not depend on the labels is prepared once and shared.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError
from fewfold.labels import known_mask
from fewfold.methods.estimators import (
    CLASSES,
    SemiSupervisedClassifier,
    SemiSupervisedRegressor,
)
from fewfold.methods.parameters import count
from fewfold.methods.state import Field, Setting, check_state

_BLOCK_ROWS = 32_768
_COLUMNS = Setting("n_features_in_", count())
# Of every candidate; one that has seen labels of a single class has no other state.
HEAD = (CLASSES, Field("present_", "int", ("p",), below="k"), _COLUMNS)


class _Candidate:
    """What candidates for classes and for numbers share: a declared state, dense rows."""

    _learned: tuple = ()
    _head: tuple = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls._state = (*cls._head, *cls._learned)

    def _check(self) -> None:
        """Raise `InputError` for a state that the declaration alone does not exclude."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class CandidateClassifier(_Candidate, SemiSupervisedClassifier):
    """Base of classifiers that share preparations between fits.

    A subclass declares ``_learned`` (see `fewfold.methods.state`; sizes "k" classes, "p" classes
    with a label, "d" columns) and has three methods: ``_prepare(X)`` returns what does not depend
    on the labels, as a dict; ``_learn(X, shared, rows, codes)`` fits to codes of the classes that
    have a label; ``_proba(X, shared, rows)`` gives the probabilities of those classes for training
    rows, or for new rows (``shared`` and ``rows`` None).
    """

    _head = HEAD

    def prepare(self, X) -> dict:
        """Compute what does not depend on the labels, to be given to `fit` as ``shared``."""
        return self._prepare(np.asarray(X, dtype=np.float64))

    def fit(self, X, y, *, shared=None):
        """Learn from all rows, and label them.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; unlabeled rows as in `fewfold.labels`.
        shared : dict, optional
            From `prepare`; computed here by default.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        labels = self._read_labels(y, len(X))
        shared = self.prepare(X) if shared is None else shared
        self.fit_codes(X, shared, labels.rows, labels.codes, labels.n_classes)
        proba = self.decide_rows(X, shared, np.arange(len(X)))
        return self._finish(labels, proba, details=self._details())

    def fit_codes(self, X, shared, rows, codes, n_classes: int):
        """Fit to class codes of some rows; classes without a label get probability 0."""
        codes = self._begin(X, codes, n_classes)
        if len(self.present_) > 1:
            self._learn(X, shared, rows, codes)
        return self

    def _begin(self, X, codes, n_classes):
        self.present_ = np.unique(codes)
        self.n_classes_, self.n_features_in_ = int(n_classes), X.shape[1]
        return np.searchsorted(self.present_, codes)

    def decide_rows(self, X, shared, rows) -> np.ndarray:
        """Return probabilities of training rows, (n_rows, n_classes)."""
        return self._all_classes(len(rows), lambda part: self._proba(X, shared, rows[part]))

    def _decide(self, X):
        check_is_fitted(self, "present_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._all_classes(len(X), lambda part: self._proba(X[part], None, None))

    def _all_classes(self, n, decide):
        proba = np.zeros((n, self.n_classes_))
        if len(self.present_) == 1:
            proba[:, self.present_] = 1.0
            return proba
        # In blocks: kernels between all rows and the labeled ones would not fit into memory.
        for start in range(0, n, _BLOCK_ROWS):
            part = slice(start, min(start + _BLOCK_ROWS, n))
            proba[part, self.present_] = decide(part)
        return proba

    def _details(self) -> dict:
        return {}

    def _prepare(self, X) -> dict:
        return {}

    def to_arrays(self):
        """Return what prediction needs: arrays by name, and values that JSON can hold."""
        check_is_fitted(self, "present_")
        if not hasattr(self, "classes_"):
            self.classes_ = np.arange(self.n_classes_)
        return super().to_arrays()

    def _pack(self):
        declared = self._state if len(self.present_) > 1 else HEAD
        found = {f.name: getattr(self, f.name) for f in declared}
        return {f.name: found.get(f.name) for f in self._state}

    @classmethod
    def from_arrays(cls, arrays: dict, notes: dict):
        """Return an estimator that predicts as the one whose state this is.

        Raises
        ------
        InputError
            Where a value is missing or is not what the method's declaration allows.
        """
        head = check_state(cls.__name__, HEAD, arrays, notes)
        present = np.asarray(head["present_"])
        if len(present) == 0 or np.any(np.diff(present) <= 0):
            raise InputError(f"{cls.__name__}: 'present_' does not name each class once, in order.")
        declared = cls._state if len(present) > 1 else HEAD
        sizes = {"d": head["n_features_in_"]}
        values = check_state(cls.__name__, declared, arrays, notes, sizes)
        model = cls()
        model._unpack(values)
        model.n_classes_ = len(model.classes_)
        if len(present) > 1:
            model._check()
        return model


class CandidateRegressor(_Candidate, SemiSupervisedRegressor):
    """Base of the candidates for numbers: a subclass has ``_learn(X, y)`` and ``_values(X)``.

    It declares ``_learned`` as a `CandidateClassifier` does.
    """

    _head = (_COLUMNS,)

    def fit(self, X, y):
        """Learn from the rows whose ``y`` is not NaN, and predict all of them."""
        X = validate_data(self, X, dtype=np.float64)
        y = self._read_values(y, len(X))
        known = known_mask(y)
        self._learn(X[known], y[known])
        return self._finish(np.where(known, y, self._values(X)))

    def _decide(self, X):
        check_is_fitted(self)
        return self._values(validate_data(self, X, dtype=np.float64, reset=False))

    def _unpack(self, values):
        found = getattr(self, "n_features_in_", values["n_features_in_"])
        if found != values["n_features_in_"]:
            raise InputError(
                f"{type(self).__name__}: rows of {found} where "
                f"{values['n_features_in_']} columns are needed."
            )
        super()._unpack(values)
        self._check()
