"""`FeatureSVC`: linear and RBF SVMs on the features themselves, for any number of labels.

The method ``svm`` reads a stored kernel and searches its settings on all labels. Here kernel
rows are computed for each draw and forgotten, and the search may see a sample of the labels. Where
labels are many, only one pair of classes has its kernel in memory.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError
from fewfold.methods.baselines import FEATURE_SVM_PARAMETERS
from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier
from fewfold.methods.parameters import check_parameters, one_of, positive
from fewfold.methods.state import Field, Setting
from fewfold.svm.kernel_svm import KernelSVM, fit_kernel_svm
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


class FeatureSVC(SemiSupervisedClassifier):
    """Classify rows by an SVM on their features, fitted to the labeled ones only.

    Parameters
    ----------
    kernel : {"rbf", "linear"}
        Pairs of classes, or each class against the rest.
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

    _state = (
        CLASSES,
        Field("support_", "float", ("s", "d"), may_be_sparse=True, optional=True),
        Field("coefficients_", "float", ("s", "c"), optional=True),
        Field("weights_", "float", ("d", "c"), optional=True),
        Field("intercepts_", "float", ("c",)),
        Setting("kernel_", one_of("rbf", "linear")),
        Setting("coupling_", one_of("scores", "product")),
        Setting("scale_", positive()),
        Setting("gamma_", positive(), optional=True),
    )

    def __init__(
        self, kernel="rbf", *, C="cv", gamma="cv", choose_rows=CHOOSE_ROWS, random_state=0
    ):
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.choose_rows = choose_rows
        self.random_state = random_state

    def fit(self, X, y) -> FeatureSVC:
        """Fit the SVM to the labeled rows, and label all rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; see `fewfold.labels` for what marks an unlabeled row.
        """
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_min_samples=2
        )
        labels = self._read_labels(y, X.shape[0], min_classes=2)
        self.fit_codes(X, labels.rows, labels.codes)
        # Labels that the SVM does not agree with are not kept: a draw is judged by its answers.
        return self._finish(None, self.proba(X), details=self.details_)

    def fit_codes(self, X, rows, codes) -> FeatureSVC:
        """Fit the SVM to some rows with codes of ``classes_``; all rows set the scale."""
        own = {p.keyword: getattr(self, p.keyword) for p in FEATURE_SVM_PARAMETERS}
        check_parameters(type(self).__name__, FEATURE_SVM_PARAMETERS, own)
        self.kernel_, self.coupling_ = self.kernel, "scores"
        self.support_ = self.coefficients_ = self.weights_ = self.gamma_ = None
        self.scale_ = mean_norm(X) if self.kernel == "linear" else 1.0
        L, seed, some = X[rows], int(self.random_state or 0), slice(None)
        if len(rows) > self.choose_rows:
            some = np.random.default_rng(seed).permutation(len(rows))[: self.choose_rows]
            some = some if len(np.unique(codes[some])) > 1 else slice(None)
        if self.kernel == "linear":
            self._fit_linear(L, codes, some, seed)
        else:
            self._fit_rbf(L, codes, some, seed, median_gamma(X))
        return self

    def _fit_linear(self, L, codes, some, seed):
        few = L[some]
        few = few / (mean_norm(few) if few.shape[0] < L.shape[0] else self.scale_)
        C = choose_penalty(few, codes[some], grid_of(self.C, list(PENALTIES)), seed)
        self.weights_, self.intercepts_ = fit_linear_svm(L / self.scale_, codes, C, seed)
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

            svm = fit_kernel_svm(kernel, codes, C)
        else:
            square = squared_distances(L, L).astype(np.float64)
            svm = fit_kernel_svm(rbf_values(square, gamma), codes, C)
        self.support_, self.gamma_ = L[svm.support], float(gamma)
        self.coefficients_, self.intercepts_ = svm.coefficients, svm.intercepts
        self.details_ = {"C": C, "n_support": len(svm.support), "gamma": float(gamma)}

    def _decide(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        return self.proba(X), np.ones(X.shape[0], bool)

    def proba(self, X) -> np.ndarray:
        """Return class probabilities of rows that were checked, (n, n_classes)."""
        if self.kernel_ == "linear":
            return decisions_to_proba(
                decide_linear(X / self.scale_, self.weights_, self.intercepts_)
            )
        rows, codes = np.arange(self.support_.shape[0]), np.arange(len(self.classes_))
        pairs = np.array(list(combinations(codes, 2)))
        svm = KernelSVM(codes, rows, self.coefficients_, self.intercepts_, pairs)
        factor = 5.0 if self.coupling_ == "product" else 1.0
        parts = [
            svm.proba(
                kernel_block("rbf", X[part], self.support_, gamma=self.gamma_),
                factor,
                self.coupling_,
            )
            for part in blocks_of(0, X.shape[0], len(rows))
        ]
        return np.concatenate(parts)

    def _unpack(self, values: dict) -> None:
        super()._unpack(values)
        names = ["intercepts_", "kernel_", "coupling_", "scale_"]
        n = len(self.classes_)
        if values["kernel_"] == "linear":
            names, needed = [*names, "weights_"], 1 if n == 2 else n
        else:
            names, needed = [*names, "support_", "coefficients_", "gamma_"], n * (n - 1) // 2
        missing = [name for name in names if values[name] is None]
        if missing:
            raise InputError(f"FeatureSVC: {missing[0]!r} is missing. Write the model again.")
        if len(self.intercepts_) != needed:
            raise InputError(
                f"FeatureSVC: 'intercepts_' has a size of {len(self.intercepts_)} where {needed} "
                f"are needed for {n} classes. Write the model again."
            )
        rows = self.weights_ if self.kernel_ == "linear" else self.support_.T
        self.n_features_in_ = rows.shape[0]
