"""Baselines of the deformed kernel: SVMs trained on the copies themselves."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.estimators import CLASSES, seed_of
from fewfold.methods.invariance.samples import (
    LearnsFromCopies,
    copies_of,
    default_transform,
    with_transform,
)
from fewfold.methods.invariance.selection import PENALTIES, WIDTHS, middle
from fewfold.methods.parameters import positive
from fewfold.methods.state import Field, Setting
from fewfold.methods.svm_state import SVM_STATE, HoldsSVM
from fewfold.svm.folds import stratified_folds
from fewfold.svm.kernel_svm import fit_kernel_svm
from fewfold.svm.kernels import kernel_block, median_gamma
from fewfold.transforms.symmetry import ring_symmetry

_BLOCK_VALUES = 2**24
# The kernel of this many copies (sums over sectors, if there are any) is held as a whole (800 MB).
_WHOLE = 10_000


def rbf(A, B, gamma) -> np.ndarray:
    """Return the RBF kernel in float64, as the solver wants it."""
    return kernel_block("rbf", A, B, gamma=gamma).astype(np.float64)


@with_transform
@dataclass(eq=False, repr=False)
class AllVirtualSVC(HoldsSVM, LearnsFromCopies):
    """RBF support vector machine (SVM) trained on all transformed copies of the labeled rows.

    Parameters
    ----------
    transform, image_shape, random_state
        As for `fewfold.InvariantSVC`.
    gamma : float, optional
        Default: twice one over the median squared distance of the copies.
    C : float, optional
        Default: 10.
    cv : int or None
        Choose ``gamma`` and ``C``, where None, by this many folds of the labeled rows; the
        copies of a row stay in its fold. None takes the middle of each.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training rows; given labels are kept.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        What `predict_proba` says of the training rows: a softmax of the scores, not calibrated.
    gamma_, C_ : float
    identity_ : int
        Which copy is the row itself.
    n_train_ : int
        Copies that the SVM was trained on.
    svm_ : fewfold.svm.kernel_svm.KernelSVM
    support_vectors_ : ndarray of shape (n_support, n_sectors, n_features)
        The copies that support it; those of one support vector's sectors have one coefficient.

    Notes
    -----
    Where a ring of turns falls into sectors that the kernel cannot tell apart
    (`fewfold.transforms.symmetry.ring_symmetry`), the SVM's problem is the same for each: its
    solution has equal coefficients there, those of an SVM on one sector with the kernel summed
    over all. That quarter of the problem is solved, with the same result.

    Examples
    --------
    >>> X = np.vstack([np.eye(8, 16), 2 + np.eye(8, 16)])
    >>> model = AllVirtualSVC({"name": "rotation", "step": 90}, (4, 4))
    >>> model.fit(X, np.repeat([0, 1], 8)).n_train_
    64
    """

    _state = (
        CLASSES,
        Field("support_vectors_", "float", ("s", "sectors", "d")),
        *SVM_STATE,
        Setting("gamma_", positive()),
    )

    transform: object = None
    image_shape: tuple | None = None
    _: KW_ONLY
    gamma: float | None = None
    C: float | None = None
    cv: int | None = 5
    random_state: int = 0

    def fit(self, X, y, *, copies=None):
        """Fit to the copies of the labeled rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; unlabeled rows, marked as in `fewfold.labels`, are left out.
        copies : fewfold.pipeline.copies_files.CopiesFile, optional
            Copies of the labeled rows, if they were made already.

        Returns
        -------
        self
        """
        X = self._rows(X, ensure_min_samples=2)
        labels = self._read_labels(y, len(X), min_classes=2)
        codes = labels.codes
        transform = default_transform(vars(self)["transform"], self.image_shape)
        self.identity_ = transform.identity
        copies = copies_of(X, labels.rows, self.image_shape, transform, copies)
        order = ring_symmetry(copies, self.image_shape, transform.topology)
        sectors = _Sectors(copies, self.identity_, order)
        width = median_gamma(copies.reshape(-1, copies.shape[2]))
        gammas = [f * width for f in WIDTHS] if self.gamma is None else [self.gamma]
        penalties = list(PENALTIES) if self.C is None else [self.C]
        self.gamma_, self.C_ = middle(gammas), middle(penalties)
        if self.cv is not None and len(gammas) * len(penalties) > 1:
            self._search(sectors, codes, gammas, penalties)
        kernel = _Kernel(sectors, self.gamma_)
        self.svm_, rows = self._train(kernel, np.arange(len(codes)), codes, self.C_)
        self.n_train_ = len(rows) * order
        self.support_vectors_ = sectors.copies_of_nodes(rows[self.svm_.support])
        details = {"gamma": self.gamma_, "C": self.C_, "n_train": self.n_train_}
        return self._finish(labels, self._in_blocks(X, self.svm_.proba), details=details)

    def _search(self, sectors, codes, gammas, penalties):
        folds = stratified_folds(codes, seed_of(self.random_state) % 2**31, self.cv)
        if folds is None:
            return
        best = np.inf
        for gamma in gammas:
            kernel = _Kernel(sectors, gamma)
            errors = np.zeros(len(penalties))
            for train, test in folds:
                for c, C in enumerate(penalties):
                    svm, rows = self._train(kernel, train, codes, C)
                    K = kernel(sectors.own[test], rows[svm.support])
                    predicted = svm.predict(K, break_ties=False)
                    errors[c] += np.mean(predicted != codes[test])
            c = int(np.argmin(errors))
            if errors[c] < best - 1e-12:
                best, self.gamma_, self.C_ = errors[c], gamma, penalties[c]

    def _train(self, kernel, train, codes, C):
        """Return an SVM on all copies of some samples, and the copies it was trained on."""
        rows = kernel.nodes_of(train)
        return _svm(kernel(rows, rows), np.repeat(codes[train], kernel.n_copies), C), rows

    def decision_function(self, X) -> np.ndarray:
        """Return scikit-learn's one-versus-rest scores (or the binary one)."""
        scores = self._in_blocks(self._rows(X, reset=False), self.svm_.scores)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def _decide(self, X):
        return self._in_blocks(self._rows(X, reset=False), self.svm_.proba)

    def _in_blocks(self, X, function):
        n_support, n_sectors, d = self.support_vectors_.shape
        support = self.support_vectors_.reshape(n_support * n_sectors, d)
        step = max(1, _BLOCK_VALUES // len(support))
        parts = []
        for first in range(0, len(X), step):
            block = X[first : first + step]
            values = rbf(block, support, self.gamma_)
            parts.append(function(values.reshape(len(block), n_support, n_sectors).sum(axis=2)))
        return np.concatenate(parts)


class VirtualSupportVectorSVC(AllVirtualSVC):
    """The virtual-support-vector SVM (Scholkopf, Burges, Vapnik 1996).

    Train on the labeled rows, train again on the support vectors and their transformed copies.
    Parameters and attributes are those of `AllVirtualSVC`.

    Examples
    --------
    >>> X = np.vstack([np.eye(8, 16), 2 + np.eye(8, 16)])
    >>> model = VirtualSupportVectorSVC({"name": "rotation", "step": 90}, (4, 4))
    >>> model.fit(X, np.repeat([0, 1], 8)).n_train_ <= 64
    True
    """

    def _train(self, kernel, train, codes, C):
        first = _svm(kernel.among_samples(train), codes[train], C)
        return super()._train(kernel, train[first.support], codes, C)


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


def _svm(gram, targets, C):
    if len(np.unique(targets)) < 2:
        raise InputError("A fold's training part holds one class only. Lower cv.")
    return fit_kernel_svm(gram, targets, C)
