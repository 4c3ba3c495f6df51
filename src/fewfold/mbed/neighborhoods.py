"""Rules that give embedded and new points their neighbourhood probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.special import logsumexp

from fewfold.exceptions import InputError
from fewfold.mbed.similarities import (
    global_probabilities,
    perplexity_probabilities,
    perplexity_weights,
    quantile_scale,
)


def _shares(logits, log_totals):
    """Weight of a new point in each embedded point's neighbourhood, once it joins it."""
    return np.exp(logits - np.logaddexp(log_totals, logits))


@dataclass
class GlobalNeighborhoods:
    """One length scale, a quantile of all dissimilarities; the paper's rule with 1/K.

    `fit` returns P (n, n) for dissimilarities D (n, n); `extend` returns, for new points with
    dissimilarities (m, n) to the embedded ones, the sum of their probabilities and their shares in
    the embedded points' neighbourhoods (see `fewfold.mbed.placement`).
    """

    quantile: float
    scale: float = field(init=False, default=1.0)

    def fit(self, D: np.ndarray) -> np.ndarray:
        """Return P, shape (n, n)."""
        self.scale = quantile_scale(D, self.quantile)
        logits = -np.square(D / self.scale, dtype=np.float64)
        np.fill_diagonal(logits, -np.inf)
        self.log_totals = logsumexp(logits, axis=1)
        return global_probabilities(D, self.scale)

    def extend(self, D: np.ndarray) -> np.ndarray:
        """Return the pull of the embedded points on new ones, shape (m, n)."""
        logits = -np.square(D / self.scale, dtype=np.float64)
        P = global_probabilities(D, self.scale, drop_self=False)
        return P + _shares(logits, self.log_totals)


@dataclass
class LocalNeighborhoods:
    """A length scale per point, such that each has the same effective number of neighbours."""

    perplexity: float

    def fit(self, D: np.ndarray) -> np.ndarray:
        """Return P, shape (n, n)."""
        self.perplexity_ = min(self.perplexity, max(1.0, (len(D) - 1) / 3))
        P, self.precision = perplexity_probabilities(D, self.perplexity_)
        logits = -self.precision[:, None] * np.square(D, dtype=np.float64)
        np.fill_diagonal(logits, -np.inf)
        self.log_totals = logsumexp(logits, axis=1)
        return P

    def extend(self, D: np.ndarray) -> np.ndarray:
        """Return the pull of the embedded points on new ones, shape (m, n)."""
        P = perplexity_weights(D, self.perplexity_)[0]
        logits = -self.precision * np.square(D, dtype=np.float64)
        return P + _shares(logits, self.log_totals)


@dataclass
class DiffusedNeighborhoods:
    """Where a random walk over local neighbourhoods is found after a geometric number of steps.

    With T the walk on ``S = P_local + P_local^T``, ``R = (1 - a) (I - a T)^-1``; P is R without its
    diagonal, rows summing to 1. Points joined by a chain of near neighbours become
    neighbours, which is what curved classes need and what an embedding into K dimensions loses.

    Parameters
    ----------
    perplexity : float
        Effective neighbours of one step.
    walk : float
        ``a`` in (0, 1): the walk takes ``1 / (1 - a)`` steps on average.

    Notes
    -----
    O(n^3) by a Cholesky factorisation, small beside the embedding for n <= 5000.
    """

    perplexity: float
    walk: float

    def fit(self, D: np.ndarray) -> np.ndarray:
        """Return P, shape (n, n)."""
        self.local = LocalNeighborhoods(self.perplexity)
        P = self.local.fit(D)
        S = np.add(P, P.T, dtype=np.float64)
        self.strength = S.sum(axis=1)
        root = np.sqrt(self.strength)
        S *= -self.walk / root[:, None] / root
        S.flat[:: len(S) + 1] += 1
        self.R = (_inverse(S) * ((1 - self.walk) * root / root[:, None])).astype(np.float32)
        P = self.R.copy()
        np.fill_diagonal(P, 0)
        return P / P.sum(axis=1, keepdims=True)

    def extend(self, D: np.ndarray) -> np.ndarray:
        """Return the pull of the embedded points on new ones, shape (m, n)."""
        S = self.local.extend(D)
        strength = S.sum(axis=1, keepdims=True)
        P = (S / strength) @ self.R
        # The walk is reversible: strength_j R[j, new] = strength_new R[new, j].
        return P * (1 + strength / self.strength)


def _inverse(A):
    """Inverse of a symmetric positive definite matrix."""
    factor, status = lapack.dpotrf(A, lower=1, overwrite_a=1)
    inverse, status_i = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if status or status_i:
        raise InputError(
            "The random walk of similarity='diffused' is singular: its walk must be below 1. "
            "Lower walk, or use similarity='local'."
        )
    lower = np.tril(inverse, -1)
    return lower + lower.T + np.diag(np.diag(inverse))


@dataclass
class SparseNeighborhoods:
    """Local probabilities over the nearest neighbours only, for large n.

    Parameters
    ----------
    n_neighbors : int
    perplexity : float
    metric : {"euclidean", "cosine", "precomputed"}
    """

    n_neighbors: int
    perplexity: float
    metric: str = "euclidean"

    def fit(self, X) -> sparse.csr_array:
        """Return P, csr of shape (n, n), for rows X (n, D)."""
        from fewfold.graph.neighbors import nearest_neighbors

        k = min(self.n_neighbors, X.shape[0] - 1)
        return self.fit_neighbors(nearest_neighbors(X, k, metric=self.metric))

    def fit_neighbors(self, found) -> sparse.csr_array:
        """Return P for neighbours found before (`fewfold.graph.neighbors.Neighbors`)."""
        n, k = found.indices.shape
        self.k = k
        self.perplexity_ = min(self.perplexity, max(1.0, 0.9 * k))
        P, self.precision = perplexity_weights(found.distances, self.perplexity_)
        logits = -self.precision[:, None] * np.square(found.distances, dtype=np.float64)
        self.log_totals = logsumexp(logits, axis=1)
        return _csr(P.astype(np.float32), found.indices, n)

    def extend(self, X, X_new) -> sparse.csr_array:
        """Return the pull of the embedded points on new ones, csr of shape (m, n)."""
        from fewfold.graph.neighbors import nearest_neighbors

        found = nearest_neighbors(X, self.k, query=X_new, metric=self.metric)
        P = perplexity_weights(found.distances, self.perplexity_)[0]
        logits = -self.precision[found.indices] * np.square(found.distances, dtype=np.float64)
        P += _shares(logits, self.log_totals[found.indices])
        return _csr(P, found.indices, X.shape[0])


def _csr(values, columns, n):
    m, k = columns.shape
    starts = np.arange(0, m * k + 1, k)
    matrix = sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=(m, n))
    matrix.sort_indices()
    return matrix
