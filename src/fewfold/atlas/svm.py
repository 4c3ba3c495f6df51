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
    kernel: Callable[[np.ndarray], np.ndarray],
    codes: np.ndarray,
    n_classes: int,
    C: float,
    class_weight: str | None = "balanced",
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
    class_weight : "balanced" or None
        Whether the errors of the smaller class of a pair weigh more.

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
        machine = SVC(C=C, kernel="precomputed", class_weight=class_weight, cache_size=500)
        machine.fit(K, codes[rows] == a)
        alphas[rows[machine.support_], number] = machine.dual_coef_[0]
        intercepts[number] = machine.intercept_[0]
    support = np.flatnonzero(alphas.any(axis=1))
    return PairwiseSVM(
        support, alphas[support], intercepts, np.array(pairs).reshape(-1, 2), n_classes
    )


def vote(decisions: np.ndarray, pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Turn pairwise decisions into shares of each class.

    The class with most votes wins; of equals, the one with the larger sum of decisions. Shares
    are products of the pairs' logistic probabilities ``s(5 f)``, with the largest one given to
    the winner: an ordering by confidence, not calibrated.

    Parameters
    ----------
    decisions : ndarray of shape (n, n_pairs)
        Positive for the first class of a pair.
    pairs : int ndarray of shape (n_pairs, 2)
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows sum to 1; the largest entry is the winner's.

    Examples
    --------
    >>> vote(np.array([[1.0, 2.0, 0.5]]), np.array([[0, 1], [0, 2], [1, 2]]), 3).round(2).tolist()
    [[0.99, 0.01, 0.0]]
    """
    from scipy.special import log_expit, softmax

    n = len(decisions)
    votes, sums, logs = (np.zeros((n, n_classes)) for _ in range(3))
    for number, (a, b) in enumerate(pairs):
        f = decisions[:, number]
        votes[:, a] += f > 0
        votes[:, b] += f <= 0
        sums[:, a] += f
        sums[:, b] -= f
        logs[:, a] += log_expit(5 * f)
        logs[:, b] += log_expit(-5 * f)
    # Sums squeezed into (-1/3, 1/3) decide between equal votes only, as in scikit-learn.
    winner = (votes + sums / (3 * (np.abs(sums) + 1))).argmax(axis=1)
    shares = softmax(logs, axis=1)
    rows, top = np.arange(n), shares.argmax(axis=1)
    shares[rows, winner], shares[rows, top] = shares[rows, top], shares[rows, winner]
    return shares
