"""What the deformed kernel is measured against: machines trained on the copies themselves."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError
from fewfold.invariance.classifier import HiddenParameter, default_transform, read_labels
from fewfold.invariance.selection import PENALTIES, WIDTHS
from fewfold.kernels import median_gamma, squared_distances
from fewfold.learners import folds_for
from fewfold.transforms import virtual_samples

_BLOCK_VALUES = 2**24
# The kernel of this many copies is held as a whole (800 MB).
_WHOLE = 10_000


def rbf(A, B, gamma) -> np.ndarray:
    """Return the RBF kernel in float64, as the solver wants it."""
    squared = squared_distances(A, B)
    squared *= -gamma
    return np.exp(squared, out=squared).astype(np.float64)


class AllVirtualSVC(ClassifierMixin, BaseEstimator):
    """RBF support vector machine trained on all transformed copies of the labelled rows.

    Parameters
    ----------
    transform, image_shape, random_state
        As for `fewfold.InvariantSVC`.
    gamma : float, optional
        Default: twice one over the median squared distance of the copies.
    C : float, optional
        Default: 10.
    cv : int, optional
        Choose ``gamma`` and ``C``, where None, by this many folds of the labelled rows; the
        copies of a row stay in its fold.

    Attributes
    ----------
    classes_ : ndarray
    gamma_, C_ : float
    identity_ : int
        Which copy is the row itself.
    n_train_ : int
        Rows of the last machine's training set.
    support_vectors_ : ndarray of shape (n_support, n_features)

    Examples
    --------
    >>> X = np.vstack([np.eye(8, 16), 2 + np.eye(8, 16)])
    >>> model = AllVirtualSVC({"name": "rotation", "step": 90}, (4, 4))
    >>> model.fit(X, np.repeat([0, 1], 8)).n_train_
    64
    """

    transform = HiddenParameter()

    def __init__(
        self, transform=None, image_shape=None, *, gamma=None, C=None, cv=None, random_state=0
    ):
        self.transform = transform
        self.image_shape = image_shape
        self.gamma = gamma
        self.C = C
        self.cv = cv
        self.random_state = random_state

    def get_params(self, deep=True) -> dict:
        """Return the constructor's arguments."""
        return {name: vars(self)[name] for name in self._get_param_names()}

    def fit(self, X, y):
        """Fit to the copies of the labelled rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels; -1 = unlabelled, left out.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        self.classes_, labelled, codes = read_labels(y, type(self).__name__)
        transform = default_transform(vars(self)["transform"], self.image_shape)
        self.identity_ = transform.identity
        copies = virtual_samples(X[labelled], self.image_shape, transform)
        width = median_gamma(copies.reshape(-1, copies.shape[2]))
        gammas = [f * width for f in WIDTHS] if self.gamma is None else [self.gamma]
        penalties = list(PENALTIES) if self.C is None else [self.C]
        self.gamma_, self.C_ = gammas[len(gammas) // 2], penalties[len(penalties) // 2]
        if self.cv is not None and len(gammas) * len(penalties) > 1:
            self._search(copies, codes, gammas, penalties)
        kernel = _Kernel(copies, self.gamma_)
        machine, rows = self._train(kernel, np.arange(len(codes)), codes, self.C_)
        self.n_train_ = len(rows)
        self.support_vectors_ = kernel.nodes[rows[machine.support_]]
        self._machine = machine
        self.transduction_ = self.predict(X)
        self.transduction_[labelled] = self.classes_[codes]
        return self

    def _search(self, copies, codes, gammas, penalties):
        folds = folds_for(codes, int(self.random_state or 0), self.cv)
        if folds is None:
            return
        best = np.inf
        own = np.arange(len(copies)) * copies.shape[1] + self.identity_
        for gamma in gammas:
            kernel = _Kernel(copies, gamma)
            for C in penalties:
                errors = []
                for train, test in folds:
                    machine, rows = self._train(kernel, train, codes, C)
                    predicted = machine.predict(kernel(own[test], rows))
                    errors.append(np.mean(predicted != codes[test]))
                if np.mean(errors) < best - 1e-12:
                    best, self.gamma_, self.C_ = np.mean(errors), gamma, C

    def _train(self, kernel, train, codes, C):
        """Return a machine on all copies of some samples, and the copies it was trained on."""
        rows = (train[:, None] * kernel.n_copies + np.arange(kernel.n_copies)).ravel()
        return _machine(kernel, rows, np.repeat(codes[train], kernel.n_copies), C), rows

    def decision_function(self, X) -> np.ndarray:
        """Return scikit-learn's one-versus-rest scores (or the binary one)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return self._in_blocks(X, self._machine.decision_function)

    def predict(self, X) -> np.ndarray:
        """Return the label of each row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return self.classes_[self._in_blocks(X, self._machine.predict)]

    def _in_blocks(self, X, function):
        step = max(1, _BLOCK_VALUES // self.n_train_)
        support = self._machine.support_
        parts = []
        for first in range(0, len(X), step):
            # The machine reads the columns of its support vectors only.
            K = np.zeros((len(X[first : first + step]), self.n_train_))
            K[:, support] = rbf(X[first : first + step], self.support_vectors_, self.gamma_)
            parts.append(function(K))
        return np.concatenate(parts)


class VirtualSupportVectorSVC(AllVirtualSVC):
    """The virtual-support-vector machine (Scholkopf, Burges, Vapnik 1996).

    Train on the labelled rows, add the transformed copies of the support vectors, train again.
    Parameters and attributes are those of `AllVirtualSVC`.

    Examples
    --------
    >>> X = np.vstack([np.eye(8, 16), 2 + np.eye(8, 16)])
    >>> model = VirtualSupportVectorSVC({"name": "rotation", "step": 90}, (4, 4))
    >>> model.fit(X, np.repeat([0, 1], 8)).n_train_ <= 64
    True
    """

    def _train(self, kernel, train, codes, C):
        own = train * kernel.n_copies + self.identity_
        support = train[_machine(kernel, own, codes[train], C).support_]
        others = np.delete(np.arange(kernel.n_copies), self.identity_)
        rows = np.concatenate([own, (support[:, None] * kernel.n_copies + others).ravel()])
        targets = np.concatenate([codes[train], np.repeat(codes[support], len(others))])
        return _machine(kernel, rows, targets, C), rows


class _Kernel:
    """The RBF kernel among copies, by their numbers: computed once where it fits in memory."""

    def __init__(self, copies, gamma):
        self.n_copies = copies.shape[1]
        self.nodes = copies.reshape(-1, copies.shape[2])
        self.gamma = gamma
        self.whole = rbf(self.nodes, self.nodes, gamma) if len(self.nodes) <= _WHOLE else None

    def __call__(self, a, b):
        if self.whole is None:
            return rbf(self.nodes[a], self.nodes[b], self.gamma)
        return self.whole[np.ix_(a, b)]


def _machine(kernel, rows, targets, C):
    from sklearn.svm import SVC

    if len(np.unique(targets)) < 2:
        raise InputError("A fold's training part holds one class only. Lower cv.")
    return SVC(C=C, kernel="precomputed", cache_size=1000).fit(kernel(rows, rows), targets)
