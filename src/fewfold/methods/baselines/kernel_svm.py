"""An SVM on the matrix of the kernel stage, alone or with its answers averaged over a graph."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError
from fewfold.graph.averaging import SMOOTHING, smooth, smooth_new
from fewfold.graph.build import GraphSettings
from fewfold.methods.estimators import (
    CLASSES,
    PLACED,
    GraphClassifier,
    SemiSupervisedClassifier,
    as_float,
    unpack_graph,
)
from fewfold.methods.parameters import number, one_of, positive
from fewfold.methods.state import Field, Setting
from fewfold.svm.kernel_svm import KernelSVM, fit_kernel_svm
from fewfold.svm.kernels import FeatureKernel, kernel_block
from fewfold.svm.search import choose_width, grid_of, rbf_values

_BLOCK = 4096

SVM_STATE = (
    CLASSES,
    Field("support_rows_", "float", ("s", "d"), may_be_sparse=True),
    Field("coefficients_", "float", ("s", "p")),
    Field("intercepts_", "float", ("p",)),
    Field("pairs_", "int", ("p", 2), low=-1),
    Setting("kernel_type_", one_of("rbf", "linear")),
    Setting("gamma_", positive(), optional=True),
)


class KernelSVC(SemiSupervisedClassifier):
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

    _state = SVM_STATE

    def __init__(self, C="cv", *, gamma="cv", random_state=0):
        self.C = C
        self.gamma = gamma
        self.random_state = random_state

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
            X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
            return X, FeatureRows(X)
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
        self.labeled_rows_, self._X_support = rows, X[rows[svm.support]]
        self._details = {"C": C, "n_support": len(svm.support)}
        if gammas != [None]:
            self._details["gamma"] = self.gamma_
        self._stored_gamma = self.gamma_ if gammas != [None] else None
        return self._stored_proba(stored[svm.support][:, : kernel.n])

    def _stored_proba(self, block):
        parts = [
            self.svm_.proba(
                rbf_values(block[:, s : s + _BLOCK].T.astype(float), self._stored_gamma)
            )
            for s in range(0, block.shape[1], _BLOCK)
        ]
        return np.concatenate(parts)

    def _own_proba(self, X, kernel=None):
        """Return the probabilities of new rows, by a kernel file's columns or from features."""
        check_is_fitted(self, "svm_")
        if kernel is not None:
            return self._stored_proba(kernel.new_rows(self.labeled_rows_[self.svm_.support]))
        X = validate_data(self, X, accept_sparse="csr", dtype=None, reset=False)
        self._check_type()
        parts = [
            self.svm_.proba(self._kernel_to_support(X[s : s + _BLOCK]))
            for s in range(0, X.shape[0], _BLOCK)
        ]
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def _kernel_to_support(self, X):
        K = kernel_block(self.kernel_type_, X, self._X_support, gamma=self.gamma_)
        return K.astype(np.float64)

    def _check_type(self):
        if self.kernel_type_ not in ("rbf", "linear"):
            raise InputError(
                f"The SVM was trained on a kernel matrix of type {self.kernel_type_!r}, which has "
                "no values for other rows. Use a kernel of the features (rbf, linear), or the "
                "inductive protocol, whose matrix holds the new rows."
            )

    def _decide(self, X, kernel=None):
        proba = self._own_proba(X, kernel)
        return proba, np.ones(len(proba), bool)

    def expose(self) -> None:
        """Set the attributes that describe the fitted SVM as plain arrays."""
        self._check_type()
        self.support_rows_ = as_float(self._X_support)
        self.coefficients_, self.intercepts_ = self.svm_.coefficients, self.svm_.intercepts
        self.pairs_ = self.svm_.pairs

    def _pack(self) -> dict:
        self.expose()
        return super()._pack()

    def _unpack(self, values: dict) -> None:
        super()._unpack(values)
        if len(self.pairs_) and self.pairs_.max() >= len(self.classes_):
            raise InputError("The model's pairs name classes that it does not have.")
        n_support, self.n_features_in_ = self.support_rows_.shape
        self._X_support = self.support_rows_
        self.svm_ = KernelSVM(
            np.arange(len(self.classes_)),
            np.arange(n_support),
            self.coefficients_,
            self.intercepts_,
            self.pairs_,
        )


class GraphSVC(KernelSVC):
    """SVM on a kernel matrix, its answers averaged over a neighbor graph.

    Parameters
    ----------
    C, gamma, random_state : see `KernelSVC`; chosen before averaging
    smoothing : float
        Share of the neighbors in a row's answer.
    """

    _state = (
        *SVM_STATE,
        *PLACED,
        Field("label_distributions_", "float", ("n", "k"), low=0, high=1.0001),
        Setting("smoothing", number(0, below=1)),
    )
    _extension = GraphClassifier._extension
    metric = "euclidean"

    def __init__(self, C="cv", *, gamma="cv", smoothing=SMOOTHING, random_state=0):
        super().__init__(C, gamma=gamma, random_state=random_state)
        self.smoothing = smoothing

    def graph_settings(self) -> GraphSettings:
        """Return the settings of the graph that `fit` builds where none is given."""
        return GraphSettings()

    def fit(self, X, y, *, kernel=None, graph=None):
        """Train as `KernelSVC.fit`, and average over ``graph`` (by default of 10 neighbors)."""
        X, kernel = self._read_kernel(X, kernel)
        labels = self._read_labels(y, X.shape[0], min_classes=2)
        W = GraphClassifier._read_graph(self, X, graph)
        proba = self._train(X, labels, kernel, kernel.all_rows(labels.rows))
        F = smooth(W, proba, labels.rows, labels.codes, self.smoothing)
        details = {**self._details, "smoothing": self.smoothing}
        return self._finish(None, F, details=details)

    def _decide(self, X, kernel=None, extension=None):
        own = self._own_proba(X, kernel)
        weights = self._extension(X, extension)
        new = smooth_new(weights, self.label_distributions_, own, self.smoothing)
        return new, np.ones(len(new), bool)

    def _pack(self) -> dict:
        self.expose()
        return GraphClassifier._pack(self)

    def _unpack(self, values: dict) -> None:
        self.graph_ = unpack_graph(values)
        KernelSVC._unpack(self, values)
        self.is_reached_ = np.ones(len(self.label_distributions_), bool)


class FeatureRows:
    """Squared distances of some rows to all rows, computed when asked for."""

    kind, type = "squared_distances", "rbf"

    def __init__(self, X, X_new=None):
        source = FeatureKernel(_Rows(X, X_new), {}, {"type": "rbf", "gamma": "cv"})
        self._source, self.n, self.n_new = source, source.n, source.n_new
        self.gamma = source.gamma

    def all_rows(self, indices) -> np.ndarray:
        """Return the rows of some labeled rows."""
        return self._source.rows(indices)


class _Rows:
    def __init__(self, X, X_new):
        self.X, self.X_new = X, X_new
