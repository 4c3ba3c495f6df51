"""Supervised learners inside the parts: tuned SVM, constants, one learner per part."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError
from fewfold.kernel_regression import deal_folds, squared_distances

# Bandwidths in units of the median distance between the labelled points, and penalties.
GAMMA_GRID = tuple(2.0**p for p in range(-4, 7, 2))
PENALTY_GRID = (10.0, 1000.0)

# Setting that wins among equals: a smooth kernel and a hard margin, which few points allow.
_NEUTRAL_GAMMA = 0.5

_BLOCK_FLOATS = 2**23


class TunedSVC(ClassifierMixin, BaseEstimator):
    """SVM with a Gaussian kernel, bandwidth and penalty chosen by 5-fold cross-validation.

    Distances are computed once and shared by the whole grid. ``gamma`` is searched relative to
    the median squared distance, so the grid follows the scale of the data. With fewer points
    than folds each is left out once, and with few points the folds are dealt several times: one
    deal of a dozen points was seen to choose a useless setting in one trial of twelve. Folds whose
    training part lacks a class still count.
    Settings within one held-out point of the best count as equal, and of those the one nearest
    to ``gamma = 0.5`` with the largest penalty is taken: with a dozen points most settings are
    equal, and the smallest penalty or bandwidth among them was measured to be a bad choice.

    Parameters
    ----------
    n_folds : int, default=5
    gammas, penalties : tuple of float
        The grid; gammas are divided by the median squared distance.
    n_repeats : int or "auto", default="auto"
        Deals of the folds: ten for 10 points, one from 100 on.
    random_state : int, RandomState or None, default=0
        Deals the points to the folds.

    Attributes
    ----------
    classes_ : ndarray
    gamma_, penalty_ : float
        What was chosen.
    cv_errors_ : ndarray of shape (n_gammas, n_penalties)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.r_[np.zeros((5, 1)), np.ones((5, 1))] + np.arange(10)[:, None] / 100
    >>> TunedSVC().fit(X, [0] * 5 + [1] * 5).predict([[0.0], [1.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        n_folds=5,
        gammas=GAMMA_GRID,
        penalties=PENALTY_GRID,
        n_repeats="auto",
        random_state=0,
    ):
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.gammas = gammas
        self.penalties = penalties
        self.random_state = random_state

    def fit(self, X, y):
        """Cross-validate, then train on all points.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.X_fit_ = X
        if len(self.classes_) == 1:
            raise InputError(
                "TunedSVC needs 2 classes to separate, got 1 class. Give points of another class."
            )
        d2 = squared_distances(X, X)
        scale = np.median(d2[d2 > 0]) if (d2 > 0).any() else 1.0
        folds = deal_folds(len(codes), self.n_folds, self.n_repeats, self._rng())
        self.cv_errors_ = self._errors(d2 / scale, codes, folds)
        g, p = choose_setting(self.cv_errors_, self.gammas, len(codes))
        self.gamma_ = float(self.gammas[g] / scale)
        self.penalty_ = float(self.penalties[p])
        self.model_ = self._svc(self.penalty_).fit(np.exp(-self.gamma_ * d2), codes)
        return self

    def _rng(self):
        return check_random_state(self.random_state)

    @staticmethod
    def _svc(penalty):
        return SVC(kernel="precomputed", C=penalty, break_ties=True)

    def _errors(self, d2, codes, folds):
        errors = np.zeros((len(self.gammas), len(self.penalties)))
        for g, gamma in enumerate(self.gammas):
            K = np.exp(-gamma * d2)
            for fold in folds:
                for held_out in range(fold.max() + 1):
                    errors[g] += self._held_out_errors(K, codes, fold == held_out)
        return errors / (len(codes) * len(folds))

    def _held_out_errors(self, K, codes, test):
        """Points of a fold that are classified wrongly, for each penalty."""
        train = ~test
        seen = np.unique(codes[train])
        if len(seen) == 1:
            return np.full(len(self.penalties), (codes[test] != seen[0]).sum())
        wrong = []
        for penalty in self.penalties:
            svc = self._svc(penalty).fit(K[np.ix_(train, train)], codes[train])
            wrong.append((svc.predict(K[np.ix_(test, train)]) != codes[test]).sum())
        return np.array(wrong)

    def decision_function(self, X) -> np.ndarray:
        """Signed scores: one column for two classes, else one per class.

        Parameters
        ----------
        X : array or sparse array of shape (n_queries, n_features)

        Returns
        -------
        scores : ndarray of shape (n_queries,) or (n_queries, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        step = max(1, _BLOCK_FLOATS // self.X_fit_.shape[0])
        blocks = []
        for start in range(0, X.shape[0], step):
            d2 = squared_distances(X[start : start + step], self.X_fit_)
            blocks.append(self.model_.decision_function(np.exp(-self.gamma_ * d2)))
        return np.concatenate(blocks)

    def predict(self, X) -> np.ndarray:
        """Return the class of the largest score.

        Parameters
        ----------
        X : array or sparse array of shape (n_queries, n_features)

        Returns
        -------
        labels : ndarray of shape (n_queries,)
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def choose_setting(errors: np.ndarray, gammas, n_samples: int) -> tuple[int, int]:
    """Choose a cell of the grid: the most neutral of those within one point of the best.

    Parameters
    ----------
    errors : ndarray of shape (n_gammas, n_penalties)
        Cross-validated error rates, penalties growing along the columns.
    gammas : sequence of float of length n_gammas
    n_samples : int

    Returns
    -------
    row, column : int

    Examples
    --------
    >>> choose_setting(np.array([[0.1, 0.1], [0.4, 0.4]]), (0.5, 8.0), 10)
    (0, 1)
    """
    close = errors <= errors.min() + 1 / n_samples + 1e-12
    distance = np.abs(np.log2(np.asarray(gammas) / _NEUTRAL_GAMMA))[:, None]
    # The penalty decides only between equal bandwidths.
    distance = distance - 1e-6 * np.arange(errors.shape[1])
    row, column = np.unravel_index(np.where(close, distance, np.inf).argmin(), errors.shape)
    return int(row), int(column)


@dataclass(frozen=True)
class PartReport:
    """What one part holds and how it was learned.

    Attributes
    ----------
    part, n_labelled : int
    n_kept : int
        Points of the graph in the part, labelled ones included.
    n_classes : int or None
        Classes among its labels; None for regression.
    learner : str
        "fitted", "constant" (one label or class), or "borrowed" (no label: the learner of all).
    """

    part: int
    n_labelled: int
    n_kept: int
    n_classes: int | None
    learner: str

    def as_dict(self) -> dict:
        """Return plain values for a metrics file."""
        return asdict(self)


class Constant:
    """Predicts one value everywhere: a part with a single class or a single label."""

    def __init__(self, value):
        self.value = value

    def predict(self, X) -> np.ndarray:
        """Return the value once per row."""
        return np.full(X.shape[0], self.value)


def fit_one(base, X, y, *, is_classifier: bool):
    """Train a copy of ``base`` on the labels of a part.

    Parameters
    ----------
    base : estimator
    X : array of shape (n_labelled, n_features)
        At least one row.
    y : ndarray of shape (n_labelled,)
    is_classifier : bool

    Returns
    -------
    learner : object with ``predict``
    how : {"fitted", "constant"}

    Examples
    --------
    >>> import numpy as np
    >>> fit_one(None, np.zeros((2, 1)), np.array([3, 3]), is_classifier=True)[1]
    'constant'
    """
    if len(y) == 1 or (is_classifier and (y == y[0]).all()):
        return Constant(y[0]), "constant"
    return clone(base).fit(X, y), "fitted"


def fit_parts(base, X, y, part, n_parts, n_kept, *, is_classifier: bool):
    """Train one learner per part on the labelled points in it.

    Parameters
    ----------
    base : estimator
    X : array of shape (n_labelled, n_features)
    y : ndarray of shape (n_labelled,)
    part : ndarray of shape (n_labelled,), int
    n_parts : int
    n_kept : ndarray of shape (n_parts,)
        Points of the graph in each part, for the report.
    is_classifier : bool

    Returns
    -------
    learners : list
        A part without labels takes the learner trained on all of them.
    reports : list of PartReport
    """
    learners, reports, shared = [], [], None
    for p in range(n_parts):
        inside = np.flatnonzero(part == p)
        if len(inside):
            learner, how = fit_one(base, X[inside], y[inside], is_classifier=is_classifier)
        else:
            if shared is None:
                shared, _ = fit_one(base, X, y, is_classifier=is_classifier)
            learner, how = shared, "borrowed"
        classes = len(np.unique(y[inside])) if is_classifier else None
        learners.append(learner)
        reports.append(PartReport(p, len(inside), int(n_kept[p]), classes, how))
    return learners, reports


def predict_parts(learners, X, part) -> np.ndarray:
    """Predict each row by the learner of its part.

    Parameters
    ----------
    learners : list of objects with ``predict``
    X : array of shape (n_queries, n_features)
    part : ndarray of shape (n_queries,), int

    Returns
    -------
    values : ndarray of shape (n_queries,)
    """
    values = None
    for p in np.unique(part):
        inside = np.flatnonzero(part == p)
        found = np.asarray(learners[p].predict(X[inside]))
        if values is None:
            values = np.empty(len(part), dtype=found.dtype)
        elif found.dtype != values.dtype:
            values = values.astype(np.result_type(values, found))
        values[inside] = found
    return values


def class_scores(learner, X, classes: np.ndarray) -> np.ndarray:
    """Give each row a share of every class: probabilities where the learner has them.

    Parameters
    ----------
    learner : fitted classifier or Constant
    X : array of shape (n_queries, n_features)
    classes : ndarray of shape (n_classes,)
        All classes; those the learner never saw get 0.

    Returns
    -------
    shares : ndarray of shape (n_queries, n_classes)
        Rows sum to 1. Without probabilities the logistic or softmax of the scores (not
        calibrated), without scores all on the predicted class.
    """
    if hasattr(learner, "predict_proba"):
        own = learner.predict_proba(X)
        seen = learner.classes_
    elif hasattr(learner, "decision_function"):
        scores = learner.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=1)
        own = np.exp(scores - scores.max(axis=1, keepdims=True))
        own /= own.sum(axis=1, keepdims=True)
        seen = learner.classes_
    else:
        seen = classes
        own = (learner.predict(X)[:, None] == classes).astype(np.float64)
    shares = np.zeros((X.shape[0], len(classes)))
    shares[:, np.searchsorted(classes, seen)] = own
    return shares
