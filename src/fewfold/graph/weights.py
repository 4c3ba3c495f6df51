"""Edge weights of neighbor graphs, for the points in the graph and for new ones."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.graph.neighbors import Neighbors

WEIGHTS = ("binary", "heat", "self_tuning", "relative")
SYMMETRIES = ("union", "mutual", "mean")


def local_scales(neighbors: Neighbors) -> np.ndarray:
    """Return each row's distance to its last neighbor, never zero.

    Rows whose neighbors are all duplicates get the smallest positive scale of the others.
    """
    scales = neighbors.distances[:, -1].astype(np.float64)
    positive = scales[scales > 0]
    floor = positive.min() if len(positive) else 1.0
    return np.maximum(scales, floor)


def heat_bandwidth(neighbors: Neighbors) -> float:
    """Return the root mean square neighbor distance: the heat kernel's default width."""
    mean_square = float(np.mean(neighbors.distances.astype(np.float64) ** 2))
    return float(np.sqrt(mean_square)) if mean_square > 0 else 1.0


def directed_weights(
    neighbors: Neighbors,
    weights: str = "self_tuning",
    *,
    bandwidth: float | None = None,
    scales: np.ndarray | None = None,
) -> np.ndarray:
    """Weigh each neighbor of each row.

    Parameters
    ----------
    neighbors : Neighbors
    weights : {"binary", "heat", "self_tuning", "relative"}
        1; ``exp(-d^2 / (2 bandwidth^2))``; ``exp(-d^2 / (s_i s_j))`` with ``s`` the local
        scales (Zelnik-Manor and Perona 2004); ``exp(-4 d / s_i)``.
    bandwidth : float, optional
        Width of the heat kernel; by default `heat_bandwidth`.
    scales : ndarray of shape (n_samples,), optional
        Local scales of the rows of the graph, for "self_tuning" and new query rows.

    Returns
    -------
    ndarray of shape (n_queries, n_neighbors), float64, in (0, 1]
    """
    if weights not in WEIGHTS:
        raise InputError(f"weights={weights!r} is unknown. Choose one of {', '.join(WEIGHTS)}.")
    d = neighbors.distances.astype(np.float64)
    if weights == "binary":
        return np.ones_like(d)
    if weights == "heat":
        width = heat_bandwidth(neighbors) if bandwidth is None else bandwidth
        return np.exp(-(d**2) / (2 * width**2))
    own = local_scales(neighbors)
    if weights == "relative":
        return np.exp(-4 * d / own[:, None])
    other = own if scales is None else scales
    return np.exp(-(d**2) / (own[:, None] * other[neighbors.indices]))


def as_matrix(neighbors: Neighbors, values: np.ndarray, n_samples: int) -> sparse.csr_array:
    """Lay directed neighbor weights out as a sparse matrix."""
    m, k = neighbors.indices.shape
    indptr = np.arange(0, m * k + 1, k)
    # A copy: sorting must not reorder the caller's neighbors, whose distances stay as they are.
    parts = values.ravel(), neighbors.indices.ravel(), indptr
    matrix = sparse.csr_array(parts, shape=(m, n_samples), copy=True)
    matrix.sort_indices()
    return matrix


def symmetrize(W: sparse.csr_array, how: str = "union") -> sparse.csr_array:
    """Make a directed weight matrix symmetric.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    how : {"union", "mutual", "mean"}
        Keep an edge if either end, or only if both ends, chose it (at the larger, or the
        smaller, of the two weights); or take the mean of the two, an absent one counting 0.
    """
    if how not in SYMMETRIES:
        raise InputError(f"symmetrize={how!r} is unknown. Choose one of {', '.join(SYMMETRIES)}.")
    Wt = sparse.csr_array(W.T)
    if how == "union":
        out = W.maximum(Wt)
    elif how == "mutual":
        out = W.minimum(Wt)
    else:
        out = (W + Wt) / 2
    out = sparse.csr_array(out)
    out.setdiag(0)
    out.eliminate_zeros()
    out.sort_indices()
    return out
