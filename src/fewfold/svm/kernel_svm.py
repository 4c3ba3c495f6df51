"""The one kernel SVM: pairs of classes or one class against the rest, on any kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fewfold.svm.probability import decisions_to_proba, pair_scores, pair_votes

# A kernel of this many rows is computed once and sliced; above, each pair's on its own.
_WHOLE = 6000
# One-vs-rest up to this many labels, one-vs-one above: with few
# labels a pair sees too little; with many, one pair's kernel fits in memory and all do not.
_FEW = 2000
_CACHE_MB = 500


@dataclass(frozen=True)
class KernelSVM:
    """SVMs of all pairs of classes, or of each class against the rest, as plain arrays.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Targets that were seen, sorted.
    support : int ndarray of shape (n_support,)
        Training rows that support any SVM.
    coefficients : ndarray of shape (n_support, n_pairs)
    intercepts : ndarray of shape (n_pairs,)
    pairs : int ndarray of shape (n_pairs, 2)
        Positions in ``classes``. A positive decision is for the first class of a pair; the
        second is -1 for the rest.
    """

    classes: np.ndarray
    support: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    pairs: np.ndarray

    @classmethod
    def restore(cls, n_classes: int, coefficients, intercepts, pairs) -> KernelSVM:
        """Return the SVM whose support rows are all that is left of its training rows."""
        rows = np.arange(len(coefficients))
        return cls(np.arange(n_classes), rows, coefficients, intercepts, pairs)

    @property
    def is_pairwise(self) -> bool:
        """Whether there is an SVM for each pair of classes (one-vs-one)."""
        return bool(self.pairs[0, 1] >= 0)

    def all_coefficients(self, n_train: int) -> np.ndarray:
        """Return the coefficients of all training rows, (n_train, n_pairs): zero off the support.

        Parameters
        ----------
        n_train : int
            Rows that the SVM was trained on.
        """
        out = np.zeros((n_train, len(self.pairs)))
        out[self.support] = self.coefficients
        return out

    def decide(self, K: np.ndarray) -> np.ndarray:
        """Return the decisions of all pairs.

        Parameters
        ----------
        K : ndarray of shape (n, n_support)
            Kernel between points and the support rows.

        Returns
        -------
        ndarray of shape (n, n_pairs)
        """
        return K @ self.coefficients + self.intercepts

    def scores(self, K: np.ndarray) -> np.ndarray:
        """Return a score per class, of shape (n, n_classes); the largest wins."""
        decisions = self.decide(K)
        return pair_scores(decisions, self.pairs) if self.is_pairwise else decisions

    def predict(self, K: np.ndarray, *, break_ties: bool = True) -> np.ndarray:
        """Return the winning class of each row.

        Parameters
        ----------
        K : ndarray of shape (n, n_support)
        break_ties : bool
            Whether sums of decisions decide between classes with equal votes; otherwise the first
            of them wins, as in libsvm.
        """
        if break_ties or not self.is_pairwise:
            return self.classes[self.scores(K).argmax(axis=1)]
        return self.classes[pair_votes(self.decide(K), self.pairs).argmax(axis=1)]

    def proba(self, K: np.ndarray, scale: float = 1.0, coupling: str = "scores") -> np.ndarray:
        """Return class probabilities, (n, n_classes); see `decisions_to_proba`."""
        pairs = self.pairs if self.is_pairwise else None
        return decisions_to_proba(self.decide(K), scale, pairs=pairs, coupling=coupling)


def fit_kernel_svm(
    kernel: np.ndarray | Callable[[np.ndarray, np.ndarray], np.ndarray],
    targets: np.ndarray,
    C: float,
    *,
    scheme: str = "pairs",
    balanced: bool = False,
) -> KernelSVM:
    """Train one SVM per pair of classes, or one per class against the rest.

    Parameters
    ----------
    kernel : ndarray of shape (n, n), or callable
        The kernel of the training rows, or ``kernel(rows, columns)`` that returns a part of it.
    targets : ndarray of shape (n,)
        At least two classes.
    C : float
        Penalty of the margin errors.
    scheme : {"pairs", "rest", "auto"}
        "auto": the rest for up to 2000 labels of three classes or more, else pairs.
    balanced : bool
        Whether the errors of a pair's smaller class weigh more.

    Returns
    -------
    KernelSVM

    Notes
    -----
    With pairs and a callable, memory is that of the largest pair in float64 and of each class's own
    kernel in float32: for 60 000 rows in ten classes 3 GB, where the whole kernel would take 14 GB.
    A class's own kernel is computed once and not for each of its pairs, and the one between two
    classes once for both sides: a third of the work.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> svm = fit_kernel_svm(X @ X.T, np.array([0, 1, 2]), 100.0)
    >>> svm.predict(X @ X[svm.support].T).tolist()
    [0, 1, 2]
    """
    classes, codes = np.unique(targets, return_inverse=True)
    n, n_classes, every = len(codes), len(classes), np.arange(len(codes))
    is_few = scheme == "auto" and n <= _FEW
    against_rest = n_classes > 2 and (scheme == "rest" or is_few)
    if not callable(kernel):
        whole = np.asarray(kernel)
    else:
        whole = kernel(every, every) if n <= _WHOLE or against_rest else None
    if against_rest:
        pairs = np.array([(a, -1) for a in range(n_classes)])
        problems = ((every, _float64(whole), codes == a, False) for a in range(n_classes))
    else:
        pairs = np.array(list(combinations(range(n_classes), 2)))
        if whole is not None and not balanced:
            return _all_pairs(_float64(whole), classes, codes, pairs, C)
        problems = _pair_problems(kernel, whole, codes, pairs, balanced)
    alphas, intercepts = np.zeros((n, len(pairs))), np.zeros(len(pairs))
    for number, (rows, K, is_first, weighted) in enumerate(problems):
        model = _svc(C, "balanced" if weighted else None).fit(K, is_first)
        alphas[rows[model.support_], number] = model.dual_coef_[0]
        intercepts[number] = model.intercept_[0]
    support = np.flatnonzero(alphas.any(axis=1))
    return KernelSVM(classes, support, alphas[support], intercepts, pairs)


def _float64(K):
    """Contiguous float64: libsvm would copy anything else itself, and run slower."""
    return np.ascontiguousarray(K, dtype=np.float64)


def _svc(C, class_weight=None):
    from sklearn.svm import SVC

    return SVC(C=C, kernel="precomputed", class_weight=class_weight, cache_size=_CACHE_MB)


def _all_pairs(K, classes, codes, pairs, C):
    """Train all pairs in one call of libsvm, which is faster than a call for each."""
    from sklearn import config_context

    with config_context(assume_finite=True, skip_parameter_validation=True):
        model = _svc(C).fit(K, codes)
    coefficients = np.zeros((len(model.support_), len(pairs)))
    own = codes[model.support_]
    for a in range(len(classes)):
        # libsvm keeps, for a support vector of class a, its coefficients against all others.
        rows, numbers = np.flatnonzero(own == a), np.flatnonzero((pairs == a).any(axis=1))
        coefficients[np.ix_(rows, numbers)] = model.dual_coef_[:, rows].T
    # scikit-learn turns the sign for two classes: there positive is the second.
    sign = -1.0 if len(classes) == 2 else 1.0
    return KernelSVM(classes, model.support_, sign * coefficients, sign * model.intercept_, pairs)


def _pair_problems(kernel, whole, codes, pairs, balanced):
    """Yield rows, kernel, whether rows are of the first class, and whether to weigh, by pair."""
    blocks = None if whole is not None else _ClassBlocks(kernel, codes)
    for a, b in pairs:
        if whole is not None:
            rows = np.flatnonzero((codes == a) | (codes == b))
            K = _float64(whole[np.ix_(rows, rows)])
        else:
            rows, K = blocks.pair(a, b)
        yield rows, K, codes[rows] == a, balanced


class _ClassBlocks:
    """Kernels of pairs of classes, put together from those within and between classes."""

    def __init__(self, kernel, codes):
        self.kernel, self.codes = kernel, codes
        self._own = {}

    def own(self, a):
        """Return the rows of a class, and their kernel, computed when first asked for."""
        if a not in self._own:
            rows = np.flatnonzero(self.codes == a)
            self._own[a] = rows, self.kernel(rows, rows)
        return self._own[a]

    def pair(self, a, b):
        """Return the rows of two classes and their kernel in float64."""
        (first, K_first), (second, K_second) = self.own(a), self.own(b)
        m = len(first)
        K = np.empty((m + len(second),) * 2)
        K[:m, :m], K[m:, m:] = K_first, K_second
        K[:m, m:] = self.kernel(first, second)
        K[m:, :m] = K[:m, m:].T
        return np.concatenate([first, second]), K
