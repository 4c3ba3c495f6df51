"""Support vector machines of several classes on kernels that are computed when needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

# A kernel of this many rows is computed once and sliced; above, each pair's on its own.
_WHOLE = 6000
# Up to this many labels each class is told from all the rest, above, pairs of classes: with few
# labels a pair sees too little; with many, one pair's kernel fits in memory and all do not.
_FEW = 2000
SCHEMES = ("auto", "pairs", "rest")


@dataclass(frozen=True)
class MultiClassSVM:
    """Support vector machines of all pairs of classes, or of each class against the rest.

    Attributes
    ----------
    support : int ndarray of shape (n_support,)
        Training rows that support any machine.
    coefficients : ndarray of shape (n_support, n_pairs)
    intercepts : ndarray of shape (n_pairs,)
    pairs : int ndarray of shape (n_pairs, 2)
        A positive decision speaks for the first class of a pair; the second is -1 for the rest.
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

    def shares(self, K: np.ndarray) -> np.ndarray:
        """Return the share of each class, of shape (n, n_classes), rows summing to 1."""
        decisions = self.decide(K)
        if self.pairs[0, 1] >= 0:
            return vote(decisions, self.pairs, self.n_classes)
        from scipy.special import softmax

        return softmax(5 * decisions, axis=1)


def fit_machines(
    kernel: Callable[[np.ndarray, np.ndarray], np.ndarray],
    codes: np.ndarray,
    n_classes: int,
    C: float,
    scheme: str = "auto",
    balanced: bool = True,
) -> MultiClassSVM:
    """Train one SVM per pair of classes, or one per class against the rest.

    Parameters
    ----------
    kernel : callable
        ``kernel(rows, columns)`` returns the kernel between some training rows and others.
    codes : int ndarray of shape (n,)
        Class codes 0 .. n_classes - 1; every class occurs.
    n_classes : int
    C : float
        Penalty of the margin errors.
    scheme : {"auto", "pairs", "rest"}
        "auto": the rest for up to 2000 labels of three classes or more, else pairs.
    balanced : bool
        Whether the errors of a pair's smaller class weigh more.

    Returns
    -------
    MultiClassSVM

    Notes
    -----
    With pairs, memory is that of the largest pair in float64 and of each class's own kernel in
    float32: for 60 000 rows in ten classes 3 GB, where the whole kernel would take 14 GB. A class's
    own kernel is computed once and not for each of its pairs, and the one between two classes
    once for both sides: a third of the work.
    """
    from sklearn.svm import SVC

    n = len(codes)
    every = np.arange(n)
    whole = kernel(every, every) if n <= _WHOLE else None
    against_rest = scheme == "rest" or (scheme == "auto" and n <= _FEW)
    if against_rest and n_classes > 2:
        pairs = [(a, -1) for a in range(n_classes)]
    else:
        pairs = list(combinations(range(n_classes), 2))
    alphas = np.zeros((n, len(pairs)))
    intercepts = np.zeros(len(pairs))
    blocks = _ClassBlocks(kernel, codes)
    for number, (a, b) in enumerate(pairs):
        if whole is not None:
            rows = np.flatnonzero((codes == a) | (codes == b)) if b >= 0 else every
            K = whole[np.ix_(rows, rows)].astype(np.float64)
        elif b >= 0:
            rows, K = blocks.pair(a, b)
        else:
            rows, K = every, kernel(every, every).astype(np.float64)
        weight = "balanced" if balanced and b >= 0 else None
        machine = SVC(C=C, kernel="precomputed", class_weight=weight, cache_size=500)
        machine.fit(K, codes[rows] == a)
        alphas[rows[machine.support_], number] = machine.dual_coef_[0]
        intercepts[number] = machine.intercept_[0]
    support = np.flatnonzero(alphas.any(axis=1))
    return MultiClassSVM(
        support, alphas[support], intercepts, np.array(pairs).reshape(-1, 2), n_classes
    )


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
        """Return the rows of two classes and their kernel.

        As float64: libsvm would copy float32 itself, and run slower.
        """
        (first, K_first), (second, K_second) = self.own(a), self.own(b)
        m = len(first)
        K = np.empty((m + len(second),) * 2)
        K[:m, :m], K[m:, m:] = K_first, K_second
        K[:m, m:] = self.kernel(first, second)
        K[m:, :m] = K[:m, m:].T
        return np.concatenate([first, second]), K


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
