"""One-versus-one support vector machines on a kernel matrix, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class PairMachines:
    """Support vector machines of all pairs of classes.

    Attributes
    ----------
    coefficients : ndarray of shape (n_train, n_pairs)
        Zero for rows that support nothing.
    intercepts : ndarray of shape (n_pairs,)
    pairs : int ndarray of shape (n_pairs, 2)
        A positive decision speaks for the second class of a pair.
    n_classes : int
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    pairs: np.ndarray
    n_classes: int

    @property
    def support(self) -> np.ndarray:
        """Training rows that support any pair."""
        return np.flatnonzero(self.coefficients.any(axis=1))

    def shares(self, scores) -> np.ndarray:
        """Return each class's share of the votes, rows summing to 1.

        Every pair splits one vote by the logistic function of twice its decision.

        Parameters
        ----------
        scores : ndarray of shape (n, n_pairs)
            Kernel to the training rows times ``coefficients``.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        second = expit(2 * (scores + self.intercepts))
        out = np.zeros((len(second), self.n_classes))
        for number, (a, b) in enumerate(self.pairs):
            out[:, a] += 1 - second[:, number]
            out[:, b] += second[:, number]
        return out / len(self.pairs)


def fit_pair_machines(gram, codes, n_classes: int, C: float) -> PairMachines:
    """Train one machine per pair of classes.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
    codes : int array of shape (n,)
        0 .. n_classes - 1, all present.
    n_classes : int
    C : float

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> machines = fit_pair_machines(X @ X.T, np.array([0, 1, 2]), 3, 100.0)
    >>> machines.shares(X @ X.T @ machines.coefficients).argmax(axis=1).tolist()
    [0, 1, 2]
    """
    from sklearn.svm import SVC

    pairs = list(combinations(range(n_classes), 2))
    coefficients = np.zeros((len(codes), len(pairs)))
    intercepts = np.zeros(len(pairs))
    for number, (a, b) in enumerate(pairs):
        rows = np.flatnonzero((codes == a) | (codes == b))
        machine = SVC(C=C, kernel="precomputed", cache_size=500)
        machine.fit(np.ascontiguousarray(gram[np.ix_(rows, rows)]), codes[rows] == b)
        coefficients[rows[machine.support_], number] = machine.dual_coef_[0]
        intercepts[number] = machine.intercept_[0]
    return PairMachines(coefficients, intercepts, np.array(pairs), n_classes)
