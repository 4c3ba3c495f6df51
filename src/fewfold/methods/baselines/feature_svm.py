"""`FeatureSVC`: linear and RBF SVMs on the features themselves, for any number of labels.

The method ``svm`` reads a stored kernel and searches its settings on all labels. Here kernel
rows are computed for each draw and forgotten, and the search may see a sample of the labels. Where
labels are many, only one pair of classes has its kernel in memory.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier
from fewfold.methods.parameters import one_of, positive
from fewfold.methods.state import Field, PlainState, Setting
from fewfold.methods.svm_state import SVM_STATE, HoldsSVM
from fewfold.svm.kernel_svm import fit_kernel_svm
from fewfold.svm.kernels import blocks_of, kernel_block, median_gamma, squared_distances
from fewfold.svm.linear import (
    PENALTIES,
    choose_penalty,
    decide_linear,
    fit_linear_svm,
    mean_norm,
)
from fewfold.svm.probability import decisions_to_proba
from fewfold.svm.search import choose_width, grid_of, rbf_values

# Above this many labels, their distances are not kept: libsvm would need 30 GB for 60 000 of
# MNIST; one pair of classes takes 2 GB.
SLICE_ROWS = 6000
# Labeled rows that C and gamma are chosen on.
CHOOSE_ROWS = 3000
# The widths tried, in units of 1 / median squared distance, and the penalties.
_WIDTHS, _PENALTIES = (0.3, 1, 3, 10), [1.0, 10.0, 100.0]


_KERNEL = Setting("kernel_", one_of("rbf", "linear"))
_LINEAR = (
    Field("weights_", "float", ("d", "p")),
    Field("intercept_", "float", ("p",)),
    Setting("scale_", positive()),
    Setting("scheme", one_of("rest", "pairs")),
)
_RBF = (
    Field("support_rows_", "float", ("s", "d"), may_be_sparse=True),
    *SVM_STATE,
    Setting("gamma_", positive()),
    Setting("coupling_", one_of("scores", "product")),
)


@dataclass(eq=False, repr=False)
class FeatureSVC(HoldsSVM, SemiSupervisedClassifier):
    """Classify rows by an SVM on their features, fitted to the labeled ones only.

    Parameters
    ----------
    kernel : {"rbf", "linear"}
        "rbf" tells pairs of classes apart.
    scheme : {"rest", "pairs"}
        Of linear SVMs: each class against the rest, or each pair of classes.
    C, gamma : float or "cv"
        Penalty of the margin errors, and width of the RBF kernel; "cv" chooses by folds of the
        labeled rows.
    choose_rows : int
        How many of the labeled rows, drawn at random, choose what is "cv".
    random_state : int

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, kind = load_iris(return_X_y=True)
    >>> y = np.where(np.arange(150) % 5 == 0, kind, -1)
    >>> bool(np.mean(FeatureSVC().fit(X, y).transduction_ == kind) > 0.9)
    True
    """

    _state = (CLASSES, _KERNEL)

    kernel: str = "rbf"
    _: KW_ONLY
    scheme: str = "rest"
    C: float | str = "cv"
    gamma: float | str = "cv"
    choose_rows: int = CHOOSE_ROWS
    random_state: int = 0

    @classmethod
    def _declare(cls, notes: dict) -> tuple:
        return (*cls._state, *(_LINEAR if notes.get("kernel_") == "linear" else _RBF))

    def _pack(self) -> dict:
        return {f.name: getattr(self, f.name) for f in self._declare(vars(self))}

    def fit(self, X, y) -> FeatureSVC:
        """Fit the SVM to the labeled rows, and label all rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; see `fewfold.labels` for what marks an unlabeled row.
        """
        X = self._rows(X, ensure_min_samples=2)
        labels = self._read_labels(y, X.shape[0], min_classes=2)
        self.learn(X, labels.rows, labels.codes)
        # Labels that the SVM does not agree with are not kept: a draw is judged by its answers.
        return self._finish(None, self.proba(X), details=self.details_)

    def learn(self, X, rows, codes) -> FeatureSVC:
        """Fit the SVM to some rows with codes of ``classes_``; all rows set the scale."""
        self.kernel_, self.coupling_ = self.kernel, "scores"
        L, seed, some = X[rows], int(self.random_state or 0), slice(None)
        if len(rows) > self.choose_rows:
            some = np.random.default_rng(seed).permutation(len(rows))[: self.choose_rows]
            some = some if len(np.unique(codes[some])) > 1 else slice(None)
        if self.kernel == "linear":
            self.scale_ = mean_norm(X)
            self._fit_linear(L, codes, some, seed)
        else:
            self._fit_rbf(L, codes, some, seed, median_gamma(X))
        return self

    def _fit_linear(self, L, codes, some, seed):
        few = L[some]
        few = few / (mean_norm(few) if few.shape[0] < L.shape[0] else self.scale_)
        how = seed, self.scheme
        C = choose_penalty(few, codes[some], grid_of(self.C, list(PENALTIES)), *how)
        self.weights_, self.intercept_ = fit_linear_svm(L / self.scale_, codes, C, *how)
        self.details_ = {"C": C}

    def _fit_rbf(self, L, codes, some, seed, width):
        gammas = grid_of(self.gamma, [width * factor for factor in _WIDTHS])
        penalties = grid_of(self.C, _PENALTIES)
        gamma, C = gammas[0], penalties[0]
        if len(gammas) * len(penalties) > 1:
            square = squared_distances(L[some], L[some]).astype(np.float64)
            gamma, C = choose_width(square, codes[some], gammas, penalties, seed)
        if L.shape[0] > SLICE_ROWS:
            self.coupling_ = "product"

            def kernel(rows, columns):
                return kernel_block("rbf", L[rows], L[columns], gamma=gamma)

            self.svm_ = svm = fit_kernel_svm(kernel, codes, C)
        else:
            square = squared_distances(L, L).astype(np.float64)
            self.svm_ = svm = fit_kernel_svm(rbf_values(square, gamma), codes, C)
        self.support_rows_, self.gamma_ = L[svm.support], float(gamma)
        self.details_ = {"C": C, "n_support": len(svm.support), "gamma": float(gamma)}

    def _decide(self, X):
        return self.proba(self._rows(X, reset=False))

    def proba(self, X) -> np.ndarray:
        """Return class probabilities of rows that were checked, (n, n_classes)."""
        if self.kernel_ == "linear":
            svm = self.weights_, self.intercept_, self.scheme
            return decisions_to_proba(decide_linear(X / self.scale_, *svm))
        factor = 5.0 if self.coupling_ == "product" else 1.0

        def kernel(part):
            return kernel_block("rbf", X[part], self.support_rows_, gamma=self.gamma_)

        slices = blocks_of(0, X.shape[0], self.support_rows_.shape[0])
        return self._proba_by_blocks(slices, kernel, factor, self.coupling_)

    def _unpack(self, values: dict) -> None:
        if values["kernel_"] == "rbf":
            return super()._unpack(values)
        PlainState._unpack(self, values)
        n, found = len(self.classes_), len(values["intercept_"])
        needed = 1 if n == 2 else n if values["scheme"] == "rest" else n * (n - 1) // 2
        if found != needed:
            raise InputError(
                f"{type(self).__name__}: {found} intercepts for {n} classes. Write the model again."
            )
        return None
