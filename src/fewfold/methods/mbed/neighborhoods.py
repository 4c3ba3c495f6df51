"""Rules that give embedded and new points their neighborhood probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.special import logsumexp

from fewfold.exceptions import InputError
from fewfold.methods.mbed.similarities import (
    global_probabilities,
    perplexity_probabilities,
    perplexity_weights,
    quantile_scale,
)


def _shares(logits, log_totals):
    """Weight of a new point in each embedded point's neighborhood, once it joins it."""
    return np.exp(logits - np.logaddexp(log_totals, logits))


@dataclass
class GlobalNeighborhoods:
    """One length scale, a quantile of all dissimilarities; the paper's rule with 1/K.

    `fit` returns P (n, n) for dissimilarities D (n, n); `extend` returns, for new points with
    dissimilarities (m, n) to the embedded ones, the sum of their probabilities and their shares in
    the embedded points' neighborhoods (see `fewfold.methods.mbed.placement`).
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
    """A length scale per point, such that each has the same effective number of neighbors."""

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
    """Distribution of a random walk over local neighborhoods after a geometric number of steps.

    With T the walk on ``S = P_local + P_local^T``, ``R = (1 - a) (I - a T)^-1``; P is R without its
    diagonal, rows summing to 1. Points joined by a chain of near neighbors become
    neighbors, which is what curved classes need and what an embedding into K dimensions loses.

    Parameters
    ----------
    perplexity : float
        Effective neighbors of one step.
    walk : float
        ``a`` in (0, 1): the walk takes ``1 / (1 - a)`` steps on average.
    local : rule, optional
        Rule for the neighborhoods of one step; `LocalNeighborhoods` by default.

    Notes
    -----
    O(n^3) by a Cholesky factorization, small beside the embedding for n <= 5000.
    """

    perplexity: float
    walk: float
    local: LocalNeighborhoods | GraphNeighborhoods | None = None

    def fit(self, D) -> np.ndarray:
        """Return P, shape (n, n)."""
        self.local = self.local or LocalNeighborhoods(self.perplexity)
        P = _dense(self.local.fit(D))
        S = np.add(P, P.T, dtype=np.float64)
        self.strength = S.sum(axis=1)
        root = np.sqrt(self.strength)
        S *= -self.walk / root[:, None] / root
        S.flat[:: len(S) + 1] += 1
        self.R = (_inverse(S) * ((1 - self.walk) * root / root[:, None])).astype(np.float32)
        return probabilities_of_walk(self.R)

    def extend(self, D) -> np.ndarray:
        """Return the pull of the embedded points on new ones, shape (m, n)."""
        return self._walk_on(_dense(self.local.extend(D)))

    def extend_weights(self, weights, degrees) -> np.ndarray:
        """Return the same for new points given by weights (`GraphNeighborhoods`)."""
        return self._walk_on(_dense(self.local.extend_weights(weights, degrees)))

    def _walk_on(self, S):
        strength = S.sum(axis=1, keepdims=True)
        P = (S / strength) @ self.R
        # The walk is reversible: strength_j R[j, new] = strength_new R[new, j].
        return P * (1 + strength / self.strength)


def probabilities_of_walk(R: np.ndarray) -> np.ndarray:
    """Return P from the walk's distribution R: without its diagonal, rows summing to 1."""
    P = R.copy()
    np.fill_diagonal(P, 0)
    return P / P.sum(axis=1, keepdims=True)


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


def _dense(P):
    return P.toarray() if sparse.issparse(P) else P


class _Lists:
    """Local probabilities over lists of neighbors, closest first or not."""

    perplexity: float

    def _fit_lists(self, indices, distances):
        self.perplexity_ = min(self.perplexity, max(1.0, 0.9 * indices.shape[1]))
        P, self.precision = perplexity_weights(distances, self.perplexity_)
        logits = -self.precision[:, None] * np.square(distances, dtype=np.float64)
        self.log_totals = logsumexp(logits, axis=1)
        return _csr(P.astype(np.float32), indices, np.isfinite(distances), len(indices))

    def _extend_lists(self, indices, distances):
        P = perplexity_weights(distances, self.perplexity_)[0]
        logits = -self.precision[indices] * np.square(distances, dtype=np.float64)
        P += _shares(logits, self.log_totals[indices])
        return _csr(P, indices, np.isfinite(distances), len(self.precision))


@dataclass
class SparseNeighborhoods(_Lists):
    """Local probabilities over the nearest neighbors only, for large n.

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

        self.k = min(self.n_neighbors, X.shape[0] - 1)
        found = nearest_neighbors(X, self.k, metric=self.metric)
        return self._fit_lists(found.indices, found.distances)

    def extend(self, X, X_new) -> sparse.csr_array:
        """Return the pull of the embedded points on new ones, csr of shape (m, n)."""
        from fewfold.graph.neighbors import nearest_neighbors

        found = nearest_neighbors(X, self.k, query=X_new, metric=self.metric)
        return self._extend_lists(found.indices, found.distances)


@dataclass
class GraphNeighborhoods(_Lists):
    """Local probabilities over the neighbors that a graph names.

    `fit` takes the distances to each point's neighbors, csr of shape (n, n); `extend` those of
    new points to their neighbors, csr of shape (m, n). Entries that are not stored are no
    neighbors; a stored 0 is a neighbor at distance 0.
    """

    perplexity: float

    def fit(self, D) -> sparse.csr_array:
        """Return P, csr of shape (n, n)."""
        return self._fit_lists(*_lists(D, own=np.arange(D.shape[0])))

    def extend(self, D) -> sparse.csr_array:
        """Return the pull of the embedded points on new ones, csr of shape (m, n)."""
        return self._extend_lists(*_lists(D))

    def extend_weights(self, weights, degrees) -> sparse.csr_array:
        """Return the same for new points of which only weights over the graph are known.

        Parameters
        ----------
        weights : csr_array of shape (m, n)
        degrees : ndarray of shape (n,)
            Each embedded point's sum of weights in the graph.

        Notes
        -----
        ``p`` are the weights scaled to sum 1, and the new point's share in the neighborhood of j
        is its weight beside j's degree.
        """
        W = sparse.csr_array(weights, dtype=np.float64)
        total = np.repeat(W.sum(axis=1), np.diff(W.indptr))
        values = W.data / np.maximum(total, 1e-300)
        values += W.data / np.maximum(degrees[W.indices] + W.data, 1e-300)
        return sparse.csr_array((values, W.indices, W.indptr), shape=W.shape)


def _lists(D, own=None):
    """Neighbors and distances as dense arrays; shorter lists are padded with infinity."""
    D = sparse.csr_array(D)
    rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    keep = np.ones(D.nnz, bool) if own is None else D.indices != own[rows]
    rows, columns, values = rows[keep], D.indices[keep], D.data[keep]
    counts = np.bincount(rows, minlength=D.shape[0])
    if not counts.all():
        raise InputError(
            f"{np.sum(counts == 0)} of {len(counts)} points have no neighbor in the sparse "
            f"distances (first: row {counts.argmin()}). Give each point at least one."
        )
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    indices = np.zeros((len(counts), counts.max()), np.int64)
    distances = np.full(indices.shape, np.inf)
    indices[rows, place], distances[rows, place] = columns, values
    return indices, distances


def _csr(values, columns, kept, n):
    """Lists of neighbors as csr of shape (m, n), without the padding."""
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    matrix = sparse.csr_array((values[kept], columns[kept], starts), shape=(len(values), n))
    matrix.sort_indices()
    return matrix
