"""An SVM on the matrix of the kernel stage, alone or with its predictions averaged over a graph."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace

import numpy as np

from fewfold.exceptions import InputError
from fewfold.graph.averaging import SMOOTHING, smooth, smooth_new
from fewfold.methods.estimators import (
    CLASSES,
    PLACED,
    GraphClassifier,
    SemiSupervisedClassifier,
    as_float,
)
from fewfold.methods.parameters import number, one_of, positive
from fewfold.methods.state import Field, Setting
from fewfold.methods.svm_state import SVM_STATE, HoldsSVM, slices_of
from fewfold.svm.kernel_svm import fit_kernel_svm
from fewfold.svm.kernels import FeatureKernel, kernel_block
from fewfold.svm.search import choose_width, grid_of, rbf_values

_STATE = (
    CLASSES,
    Field("support_rows_", "float", ("s", "d"), may_be_sparse=True),
    *SVM_STATE,
    Setting("kernel_type_", one_of("rbf", "linear")),
    Setting("gamma_", positive(), optional=True),
)


@dataclass(eq=False, repr=False)
class KernelSVC(HoldsSVM, SemiSupervisedClassifier):
    """SVM on a kernel matrix; without one, on the RBF kernel of the features.

    Parameters
    ----------
    C, gamma : float or "cv"
        Penalty of margin errors, and width of the RBF kernel (for stored squared distances); "cv"
        chooses them on folds of the labeled rows, gamma among multiples of 1 / median squared
        distance.
    random_state : int
        Of the folds.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.r_[np.zeros((5, 2)), np.ones((5, 2))] + np.arange(10)[:, None] / 100
    >>> KernelSVC().fit(X, [0, *[-1] * 8, 1]).transduction_.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    _state = _STATE

    C: float | str = "cv"
    _: KW_ONLY
    gamma: float | str = "cv"
    random_state: int = 0

    def fit(self, X, y, *, kernel=None):
        """Train on the labeled rows' part of the kernel, and label all rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        kernel : fewfold.pipeline.kernel_files.KernelMatrix, optional
            Rows of the kernel, or of the squared distances, of the labeled rows to all rows.
        """
        X, kernel = self._read_kernel(X, kernel)
        labels = self._read_labels(y, X.shape[0], min_classes=2)
        stored = kernel.all_rows(labels.rows)
        return self._finish(None, self._train(X, labels, kernel, stored), details=self._details)

    def _read_kernel(self, X, kernel):
        if kernel is None:
            X = self._rows(X)
            rows = SimpleNamespace(X=X, X_new=None)
            return X, FeatureKernel(rows, {}, {"type": "rbf"})
        self.n_features_in_ = X.shape[1]
        return X, kernel

    def _train(self, X, labels, kernel, stored):
        """Choose the settings, train, and return the class probabilities of all rows."""
        codes, rows = labels.codes, labels.rows
        square = stored[:, rows].astype(np.float64)
        gammas = [None]
        if kernel.kind == "squared_distances":
            gammas = grid_of(self.gamma, [kernel.gamma * f for f in (0.3, 1, 3, 10)])
        penalties = grid_of(self.C, [1.0, 10.0, 100.0])

        self.gamma_, C = choose_width(square, codes, gammas, penalties, self.random_state)
        self.svm_ = svm = fit_kernel_svm(rbf_values(square, self.gamma_), codes, C)
        self.kernel_type_ = getattr(kernel, "type", None)
        if self.gamma_ is None and self.kernel_type_ == "rbf":
            self.gamma_ = float(kernel.gamma)
        self.labeled_rows_, self.support_rows_ = rows, as_float(X[rows[svm.support]])
        self._details = {"C": C, "n_support": len(svm.support)}
        if gammas != [None]:
            self._details["gamma"] = self.gamma_
        self._stored_gamma = self.gamma_ if gammas != [None] else None
        return self._stored_proba(stored[svm.support][:, : kernel.n])

    def _stored_proba(self, block):
        """Return probabilities from stored kernel values, (n_support, n)."""

        def kernel(part):
            return rbf_values(block[:, part].T.astype(float), self._stored_gamma)

        return self._proba_by_blocks(slices_of(block.shape[1]), kernel)

    def _own_proba(self, X, kernel=None):
        if kernel is not None:
            return self._stored_proba(kernel.new_rows(self.labeled_rows_[self.svm_.support]))
        X = self._rows(X, reset=False)
        self._check_type()

        def to_support(part):
            K = kernel_block(self.kernel_type_, X[part], self.support_rows_, gamma=self.gamma_)
            return K.astype(np.float64)

        return self._proba_by_blocks(slices_of(X.shape[0]), to_support)

    def _check_type(self):
        if self.kernel_type_ not in ("rbf", "linear"):
            raise InputError(
                f"The SVM was trained on a kernel matrix of type {self.kernel_type_!r}, which has "
                "no values for other rows. Use a kernel of the features (rbf, linear), or the "
                "inductive protocol, whose matrix holds the new rows."
            )

    def _decide(self, X, kernel=None):
        return self._own_proba(X, kernel)

    def _pack(self) -> dict:
        self._check_type()
        return super()._pack()


@dataclass(eq=False, repr=False)
class GraphSVC(KernelSVC, GraphClassifier):
    """SVM on a kernel matrix, its predictions averaged over a neighbor graph.

    Parameters
    ----------
    C, gamma, random_state : see `KernelSVC`; chosen before averaging
    smoothing : float
        Share of the neighbors in a row's answer.
    """

    _state = (
        *_STATE,
        *PLACED,
        Field("label_distributions_", "float", ("n", "k"), low=0, high=1.0001),
        Setting("smoothing", number(0, below=1)),
    )
    smoothing: float = field(default=SMOOTHING, kw_only=True)
    _dtype = KernelSVC._dtype

    def fit(self, X, y, *, kernel=None, graph=None):
        """Train as `KernelSVC.fit`, and average over ``graph`` (by default of 10 neighbors)."""
        X, kernel = self._read_kernel(X, kernel)
        labels = self._read_labels(y, X.shape[0], min_classes=2)
        W = self._read_graph(X, graph)
        proba = self._train(X, labels, kernel, kernel.all_rows(labels.rows))
        F = smooth(W, proba, labels.rows, labels.codes, self.smoothing)
        details = {**self._details, "smoothing": self.smoothing}
        return self._finish(None, F, details=details)

    def _decide(self, X, kernel=None, extension=None):
        own = self._own_proba(X, kernel)
        weights = self._extension(X, extension)
        return smooth_new(weights, self.label_distributions_, own, self.smoothing)
