"""One-versus-one support vector machines on kernels that are computed when needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

# A kernel of this many rows is computed once and sliced; above, each pair's on its own.
_WHOLE = 6000


@dataclass(frozen=True)
class PairwiseSVM:
    """Support vector machines of all pairs of classes.

    Attributes
    ----------
    support : int ndarray of shape (n_support,)
        Training rows that support any pair.
    coefficients : ndarray of shape (n_support, n_pairs)
    intercepts : ndarray of shape (n_pairs,)
    pairs : int ndarray of shape (n_pairs, 2)
        A positive decision speaks for the first class of a pair.
    n_classes : int
    """

    support: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    pairs: np.ndarray
    n_classes: int

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


def fit_pairs(
    kernel: Callable[[np.ndarray], np.ndarray], codes: np.ndarray, n_classes: int, C: float
) -> PairwiseSVM:
    """Train one SVM per pair of classes, holding one pair's kernel at a time.

    Parameters
    ----------
    kernel : callable
        ``kernel(rows)`` returns the square kernel of some training rows.
    codes : int ndarray of shape (n,)
        Class codes 0 .. n_classes - 1; every class occurs.
    n_classes : int
    C : float
        Penalty of the margin errors.

    Returns
    -------
    PairwiseSVM

    Notes
    -----
    Memory is that of the largest pair, in float32 and float64: for 60 000 rows in ten classes
    about 2 GB, where the whole kernel would take 14 GB.
    """
    from sklearn.svm import SVC

    n = len(codes)
    whole = kernel(np.arange(n)) if n <= _WHOLE else None
    pairs = list(combinations(range(n_classes), 2))
    alphas = np.zeros((n, len(pairs)))
    intercepts = np.zeros(len(pairs))
    for number, (a, b) in enumerate(pairs):
        rows = np.flatnonzero((codes == a) | (codes == b))
        K = whole[np.ix_(rows, rows)] if whole is not None else kernel(rows)
        K = K.astype(np.float64)  # libsvm would copy float32 itself, and run slower
        machine = SVC(C=C, kernel="precomputed", cache_size=500).fit(K, codes[rows] == a)
        alphas[rows[machine.support_], number] = machine.dual_coef_[0]
        intercepts[number] = machine.intercept_[0]
    support = np.flatnonzero(alphas.any(axis=1))
    return PairwiseSVM(
        support, alphas[support], intercepts, np.array(pairs).reshape(-1, 2), n_classes
    )


def vote(decisions: np.ndarray, pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Turn pairwise decisions into shares of each class.

    Every pair gives its two classes ``s(2 f)`` and ``1 - s(2 f)``, ``s`` the logistic function:
    sure pairs count as whole votes, unsure ones are split.

    Parameters
    ----------
    decisions : ndarray of shape (n, n_pairs)
    pairs : int ndarray of shape (n_pairs, 2)
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows sum to 1.

    Examples
    --------
    >>> vote(np.array([[9.0, 9.0, 0.0]]), np.array([[0, 1], [0, 2], [1, 2]]), 3).round(2).tolist()
    [[0.67, 0.17, 0.17]]
    """
    from scipy.special import expit

    shares = np.zeros((len(decisions), n_classes))
    first = expit(2 * decisions)
    for number, (a, b) in enumerate(pairs):
        shares[:, a] += first[:, number]
        shares[:, b] += 1 - first[:, number]
    return shares / len(pairs)
