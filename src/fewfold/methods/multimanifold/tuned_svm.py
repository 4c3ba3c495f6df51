"""An SVM with a Gaussian kernel whose settings are cross-validated, also from a dozen points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from fewfold.exceptions import InputError
from fewfold.linalg.distances import nearest_squared, row_blocks, squared_distances
from fewfold.methods.estimators import Learner
from fewfold.methods.parameters import positive
from fewfold.methods.state import Field, Setting
from fewfold.methods.svm_state import SVM_STATE, HoldsSVM
from fewfold.svm.folds import repeated_folds
from fewfold.svm.kernel_svm import fit_kernel_svm
from fewfold.svm.search import count_errors

# Kernel widths over the median squared distance between the labeled points, and penalties.
GAMMA_GRID = tuple(2.0**p for p in range(-4, 7, 2))
PENALTY_GRID = (10.0, 1000.0)

# Setting that wins among equals: a hard margin and a kernel that falls to exp(-0.2) at the
# nearest other point. In many dimensions that is near the median distance, in few far below it.
_NEUTRAL_FALL = 0.2

# Settings this many held-out points worse than the best count as equal to it.
_EQUAL_POINTS = 1.5


@dataclass(eq=False, repr=False, kw_only=True)
class TunedSVC(HoldsSVM, ClassifierMixin, Learner):
    """SVM with a Gaussian kernel, bandwidth and penalty chosen by 5-fold cross-validation.

    Distances are computed once and shared by the whole grid. ``gamma`` is searched relative to
    the median squared distance, so the grid follows the scale of the data. With fewer points
    than folds each is left out once, and with few points the split is repeated: one
    split of a dozen points was seen to choose a useless setting in one trial of twelve. Folds whose
    training part lacks a class still count.
    Settings within 1.5 held-out points of the best count as equal, and of those the one with the
    largest penalty is taken whose kernel is nearest to falling to ``exp(-0.2)`` at the nearest
    other point (median over the points): with a dozen points most settings are equal, and the
    smallest penalty or kernel width among them was measured to be a bad choice.

    Parameters
    ----------
    n_folds : int, default=5
        The split is repeated where points are few, see `fewfold.svm.folds.repeated_folds`.
    gammas, penalties : tuple of float
        The grid; gammas are divided by the median squared distance.
    random_state : int, RandomState or None, default=0
        Splits the points into the folds.

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

    n_folds: int = 5
    gammas: tuple = GAMMA_GRID
    penalties: tuple = PENALTY_GRID
    random_state: int = 0
    _dtype = np.float64
    _state = (
        Field("classes_", "int", ("c",), low=0),
        Field("support_rows_", "float", ("s", "d"), may_be_sparse=True),
        *SVM_STATE,
        Setting("gamma_", positive()),
    )

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
        if len(self.classes_) == 1:
            raise InputError(
                "TunedSVC needs 2 classes to separate, got 1 class. Give points of another class."
            )
        d2 = squared_distances(X, X)
        scale = np.median(d2[d2 > 0]) if (d2 > 0).any() else 1.0
        rng = check_random_state(self.random_state)
        folds = repeated_folds(len(codes), self.n_folds, rng)
        self.cv_errors_ = self._errors(d2 / scale, codes, folds)
        neutral = _NEUTRAL_FALL * scale / nearest_squared(d2)
        g, p = choose_setting(self.cv_errors_, self.gammas, len(codes), neutral)
        self.gamma_ = float(self.gammas[g] / scale)
        self.penalty_ = float(self.penalties[p])
        self.svm_ = fit_kernel_svm(np.exp(-self.gamma_ * d2), codes, self.penalty_)
        self.support_rows_ = X[self.svm_.support]
        return self

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
        inner, outer = K[np.ix_(train, train)], K[np.ix_(test, train)]
        return count_errors(
            inner, outer, codes[train], codes[test], self.penalties, break_ties=True
        )

    def decision_function(self, X) -> np.ndarray:
        """Signed scores: one column for two classes, else one per class.

        Parameters
        ----------
        X : array or sparse array of shape (n_queries, n_features)

        Returns
        -------
        scores : ndarray of shape (n_queries,) or (n_queries, n_classes)
        """
        X = self._rows(X, reset=False)
        scores = [
            self.svm_.scores(np.exp(-self.gamma_ * d2))
            for _, d2 in row_blocks(X, self.support_rows_)
        ]
        scores = np.concatenate(scores)
        return scores[:, 1] if len(self.classes_) == 2 else scores

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


def choose_setting(
    errors: np.ndarray, gammas, n_samples: int, neutral: float = 0.5
) -> tuple[int, int]:
    """Choose a cell of the grid: the most neutral of those as good as the best.

    Parameters
    ----------
    errors : ndarray of shape (n_gammas, n_penalties)
        Cross-validated error rates, penalties growing along the columns.
    gammas : sequence of float of length n_gammas
    n_samples : int
        1.5 points more count as equal.
    neutral : float
        The gamma that wins among equals.

    Returns
    -------
    row, column : int

    Examples
    --------
    >>> choose_setting(np.array([[0.1, 0.1], [0.4, 0.4]]), (0.5, 8.0), 10)
    (0, 1)
    """
    close = errors <= errors.min() + _EQUAL_POINTS / n_samples + 1e-12
    distance = np.abs(np.log2(np.asarray(gammas) / neutral))[:, None]
    # The penalty decides only between equal bandwidths.
    distance = distance - 1e-6 * np.arange(errors.shape[1])
    row, column = np.unravel_index(np.where(close, distance, np.inf).argmin(), errors.shape)
    return int(row), int(column)
