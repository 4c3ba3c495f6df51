"""What the deformed kernel is measured against: machines trained on the copies themselves."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError
from fewfold.invariance.samples import (
    LearnsFromCopies,
    copies_of,
    default_transform,
    read_labels,
)
from fewfold.invariance.selection import PENALTIES, WIDTHS, middle
from fewfold.kernels import median_gamma, squared_distances
from fewfold.learners import folds_for
from fewfold.transforms.symmetry import ring_symmetry

_BLOCK_VALUES = 2**24
# The kernel of this many copies (sums over sectors, if there are any) is held as a whole (800 MB).
_WHOLE = 10_000


def rbf(A, B, gamma) -> np.ndarray:
    """Return the RBF kernel in float64, as the solver wants it."""
    squared = squared_distances(A, B)
    squared *= -gamma
    return np.exp(squared, out=squared).astype(np.float64)


class AllVirtualSVC(LearnsFromCopies, ClassifierMixin, BaseEstimator):
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

    Notes
    -----
    Where a ring of turns falls into sectors that the kernel cannot tell apart
    (`fewfold.transforms.symmetry.ring_symmetry`), the machine's problem is the same for each: its
    solution has equal coefficients there, those of a machine on one sector with the kernel summed
    over all. That quarter of the problem is solved, with the same result.

    Examples
    --------
    >>> X = np.vstack([np.eye(8, 16), 2 + np.eye(8, 16)])
    >>> model = AllVirtualSVC({"name": "rotation", "step": 90}, (4, 4))
    >>> model.fit(X, np.repeat([0, 1], 8)).n_train_
    64
    """

    def __init__(
        self, transform=None, image_shape=None, *, gamma=None, C=None, cv=None, random_state=0
    ):
        self.transform = transform
        self.image_shape = image_shape
        self.gamma = gamma
        self.C = C
        self.cv = cv
        self.random_state = random_state

    def fit(self, X, y, copies=None):
        """Fit to the copies of the labelled rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels; -1 = unlabelled, left out.
        copies : array of shape (n_labelled, n_copies, n_features), optional
            What `fewfold.transforms.virtual_samples` returned for the labelled rows, if it was
            called already.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        self.classes_, labelled, codes = read_labels(y, type(self).__name__)
        transform = default_transform(vars(self)["transform"], self.image_shape)
        self.identity_ = transform.identity
        copies = copies_of(X[labelled], self.image_shape, transform, copies)
        order = ring_symmetry(copies, self.image_shape, transform.topology)
        sectors = _Sectors(copies, self.identity_, order)
        width = median_gamma(copies.reshape(-1, copies.shape[2]))
        gammas = [f * width for f in WIDTHS] if self.gamma is None else [self.gamma]
        penalties = list(PENALTIES) if self.C is None else [self.C]
        self.gamma_, self.C_ = middle(gammas), middle(penalties)
        if self.cv is not None and len(gammas) * len(penalties) > 1:
            self._search(sectors, codes, gammas, penalties)
        kernel = _Kernel(sectors, self.gamma_)
        machine, rows = self._train(kernel, np.arange(len(codes)), codes, self.C_)
        self.n_train_ = len(rows) * order
        self._keep(machine, sectors.copies_of_nodes(rows[machine.support_]))
        self.transduction_ = self.predict(X)
        self.transduction_[labelled] = self.classes_[codes]
        return self

    def _keep(self, machine, support):
        """Keep the machine, and the copies (n_support, order, n_features) it rests on."""
        self._machine, self._n_nodes = machine, machine.shape_fit_[0]
        self._n_sectors = support.shape[1]
        self.support_vectors_ = support.reshape(-1, support.shape[2])

    def _search(self, sectors, codes, gammas, penalties):
        folds = folds_for(codes, int(self.random_state or 0), self.cv)
        if folds is None:
            return
        best = np.inf
        for gamma in gammas:
            kernel = _Kernel(sectors, gamma)
            errors = np.zeros(len(penalties))
            for train, test in folds:
                for c, C in enumerate(penalties):
                    machine, rows = self._train(kernel, train, codes, C)
                    predicted = machine.predict(kernel(sectors.own[test], rows))
                    errors[c] += np.mean(predicted != codes[test])
            c = int(np.argmin(errors))
            if errors[c] < best - 1e-12:
                best, self.gamma_, self.C_ = errors[c], gamma, penalties[c]

    def _train(self, kernel, train, codes, C):
        """Return a machine on all copies of some samples, and the copies it was trained on."""
        rows = kernel.nodes_of(train)
        return _machine(kernel(rows, rows), np.repeat(codes[train], kernel.n_copies), C), rows

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
        step = max(1, _BLOCK_VALUES // max(self._n_nodes, len(self.support_vectors_)))
        support = self._machine.support_
        parts = []
        for first in range(0, len(X), step):
            block = X[first : first + step]
            values = rbf(block, self.support_vectors_, self.gamma_)
            # The machine reads the columns of its support vectors only.
            K = np.zeros((len(block), self._n_nodes))
            K[:, support] = values.reshape(len(block), -1, self._n_sectors).sum(axis=2)
            parts.append(function(K))
        return np.concatenate(parts)


class VirtualSupportVectorSVC(AllVirtualSVC):
    """The virtual-support-vector machine (Scholkopf, Burges, Vapnik 1996).

    Train on the labelled rows, train again on the support vectors and their transformed copies.
    Parameters and attributes are those of `AllVirtualSVC`.

    Examples
    --------
    >>> X = np.vstack([np.eye(8, 16), 2 + np.eye(8, 16)])
    >>> model = VirtualSupportVectorSVC({"name": "rotation", "step": 90}, (4, 4))
    >>> model.fit(X, np.repeat([0, 1], 8)).n_train_ <= 64
    True
    """

    def _train(self, kernel, train, codes, C):
        first = _machine(kernel.among_samples(train), codes[train], C)
        return super()._train(kernel, train[first.support_], codes, C)


class _Sectors:
    """Copies by sample and sector; a node is one of the first sector, and its turns with it."""

    def __init__(self, copies, identity, order):
        n, m, d = copies.shape
        self.order, self.n_copies = order, m // order
        self.copies = copies.reshape(n, order, self.n_copies, d)
        self.samples = copies[:, identity]
        # The kernel summed over sectors is the same for all turns of a node.
        self.own = np.arange(n) * self.n_copies + identity % self.n_copies

    def copies_of_nodes(self, nodes):
        """Return the copies that nodes stand for, (len(nodes), order, n_features)."""
        return self.copies[nodes // self.n_copies, :, nodes % self.n_copies]


class _Kernel:
    """The RBF kernel of nodes, summed over sectors: computed once where it fits in memory."""

    def __init__(self, sectors, gamma):
        self.sectors, self.gamma, self.n_copies = sectors, gamma, sectors.n_copies
        n = len(sectors.samples) * self.n_copies
        self.whole = self._values(np.arange(n), np.arange(n)) if n <= _WHOLE else None

    def nodes_of(self, samples):
        """Return the nodes of some samples."""
        return (samples[:, None] * self.n_copies + np.arange(self.n_copies)).ravel()

    def among_samples(self, samples):
        """Return the plain kernel of the samples themselves."""
        rows = self.sectors.samples[samples]
        return rbf(rows, rows, self.gamma)

    def _values(self, a, b):
        rows = self.sectors.copies_of_nodes(a)[:, 0]
        others = self.sectors.copies_of_nodes(b)
        total = np.zeros((len(a), len(b)))
        for sector in range(self.sectors.order):
            total += rbf(rows, others[:, sector], self.gamma)
        return total

    def __call__(self, a, b):
        if self.whole is None:
            return self._values(a, b)
        return self.whole[a[:, None], b]


def _machine(gram, targets, C):
    from sklearn.svm import SVC

    if len(np.unique(targets)) < 2:
        raise InputError("A fold's training part holds one class only. Lower cv.")
    return SVC(C=C, kernel="precomputed", cache_size=1000).fit(gram, targets)
