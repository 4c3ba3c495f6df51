"""Cross-validation where most rows have no label: folds of the labeled rows, and scores of them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import BaseEstimator

from fewfold.exceptions import InputError
from fewfold.labels import labeled_mask, read_labels, read_values


@dataclass(eq=False, repr=False)
class LabeledKFold(BaseEstimator):
    """Folds over the labeled rows; unlabeled rows are in every training part.

    For scikit-learn's ``GridSearchCV``, ``cross_validate`` and the like, with any y of
    `fewfold.labels`. Classes are spread evenly over the folds. The only label of a class is never
    held out: nothing could be learned of its class without it.

    Parameters
    ----------
    n_splits : int, default=5
        Folds, of at most as many as there are rows to hold out.
    random_state : int, RandomState or None, default=0
        Seed of the order in which rows are held out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from fewfold import DiffusionClassifier
    >>> X, species = load_iris(return_X_y=True)
    >>> y = np.where(np.arange(150) % 5 == 0, species, -1)
    >>> grid = {"n_neighbors": [5, 10, 20]}
    >>> folds = {"cv": LabeledKFold(), "scoring": labeled_accuracy}
    >>> search = GridSearchCV(DiffusionClassifier(), grid, **folds)
    >>> bool(search.fit(X, y).best_score_ > 0.85)
    True
    """

    n_splits: int = 5
    _: KW_ONLY
    random_state: int = 0

    def split(self, X, y, groups=None):
        """Yield the rows of each training and test part.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels, or values to predict; unlabeled rows as in `fewfold.labels`.
        groups : ignored
            For scikit-learn.

        Yields
        ------
        train, test : int ndarrays
            All rows but those held out; the labeled rows held out.
        """
        from sklearn.utils import check_random_state

        order, n_splits = self._order(y, check_random_state(self.random_state))
        every = np.arange(_length(y))
        for fold in range(n_splits):
            test = np.sort(order[fold::n_splits])
            yield np.setdiff1d(every, test), test

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, groups : ignored
            For scikit-learn.
        y : array of shape (n_samples,), optional
            Without it the number asked for; with few labels there may be fewer.

        Returns
        -------
        int
        """
        return self.n_splits if y is None else self._order(y, np.random.RandomState(0))[1]

    def _order(self, y, rng):
        """Return the rows that may be held out, class by class, and the number of folds."""
        if not isinstance(self.n_splits, int | np.integer) or self.n_splits < 2:
            raise InputError(f"n_splits={self.n_splits!r} is not allowed. Give at least 2.")
        rows, kinds = _kinds(y)
        if kinds is not None:
            counts = np.bincount(kinds)
            repeated = counts[kinds] > 1
            rows, kinds = rows[repeated], kinds[repeated]
        n_splits = min(int(self.n_splits), len(rows))
        if n_splits < 2:
            raise InputError(
                f"{len(rows)} labeled rows can be held out, 2 are needed: a class's only label "
                "must stay in training. Label more rows."
            )
        order = rng.permutation(len(rows))
        if kinds is not None:
            order = order[np.argsort(kinds[order], kind="stable")]
        return rows[order], n_splits


def _length(y):
    return np.asarray(y).shape[0]


def _kinds(y):
    """Return the labeled rows and their class codes, or None in place of codes for values."""
    from sklearn.utils.multiclass import type_of_target

    n = _length(y)
    known = np.asarray(y)
    if known.dtype.kind == "f" and type_of_target(known[~np.isnan(known)]) == "continuous":
        return np.flatnonzero(~np.isnan(read_values(y, n, name="LabeledKFold"))), None
    labels = read_labels(y, n, name="LabeledKFold")
    return labels.rows, labels.codes


def labeled_accuracy(estimator, X, y) -> float:
    """Score a fitted classifier: the share of labeled rows that it predicts rightly.

    Like ``estimator.score``, for any y of `fewfold.labels`: unlabeled rows do not count, and
    labels may be numbers in an object array. Give it as ``scoring`` to ``GridSearchCV``.

    Parameters
    ----------
    estimator : classifier
        A fitted one.
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Classes; see `fewfold.labels` for what marks an unlabeled row.

    Returns
    -------
    float
        NaN if no row is labeled.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from fewfold import DiffusionClassifier
    >>> X, species = load_iris(return_X_y=True)
    >>> y = np.where(np.arange(150) % 5 == 0, species, -1)
    >>> model = DiffusionClassifier().fit(X, y)
    >>> labeled_accuracy(model, X, y) > 0.9
    True
    """
    from sklearn.utils import _safe_indexing

    y = np.asarray(y)
    rows = np.flatnonzero(labeled_mask(y))
    if not len(rows):
        return float("nan")
    found = np.asarray(estimator.predict(_safe_indexing(X, rows)))
    return float(np.mean([a == b for a, b in zip(found.tolist(), y[rows].tolist(), strict=True)]))
