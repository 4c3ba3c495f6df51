"""Distances along a neighbor graph that grow where the data are sparse (Chapelle, Zien 2005).

An edge of length d costs ``exp(rho d) - 1``, so that for large ``rho`` a path is judged by its
longest edge: two rows of one dense region are close however long the way between them is.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

# An exponent above this would overflow exp in a path of many edges.
_MOST_EXPONENT = 50.0


def edge_unit(distances: sparse.csr_array) -> float:
    """Return the mean length of an edge: the unit in which ``rho`` is given."""
    return float(distances.data.mean()) or 1.0


def edge_costs(lengths, rho: float) -> np.ndarray:
    """Return ``(exp(rho d) - 1) / rho``, which is ``d`` for ``rho = 0``."""
    lengths = np.asarray(lengths, dtype=np.float64)
    if rho == 0:
        return lengths
    return np.expm1(np.minimum(rho * lengths, _MOST_EXPONENT)) / rho


def path_lengths(costs: np.ndarray, rho: float) -> np.ndarray:
    """Turn summed edge costs back into lengths: the inverse of `edge_costs`."""
    return costs if rho == 0 else np.log1p(rho * costs) / rho


def geodesic_distances(
    distances: sparse.csr_array, sources: np.ndarray, rho: float, *, unit: float | None = None
) -> np.ndarray:
    """Return the density-sensitive distances of some rows to all rows.

    Parameters
    ----------
    distances : csr_array of shape (n, n)
        Lengths of the edges; read as undirected.
    sources : int ndarray of shape (s,)
    rho : float
        0: shortest paths; the larger, the more does the longest edge decide.
    unit : float, optional
        Length that counts as 1, by default `edge_unit`.

    Returns
    -------
    ndarray of shape (s, n)
        Rows of another component are as far as 1.5 times the largest distance found.

    Examples
    --------
    A long way of short steps is shorter than one jump of the same length:

    >>> D = sparse.csr_array(np.array([[0, 1, 0, 3.0], [1, 0, 1, 0], [0, 1, 0, 1], [3, 0, 1, 0]]))
    >>> geodesic_distances(D, np.array([0]), rho=4.0, unit=1.0).round(2).tolist()
    [[0.0, 1.0, 1.17, 1.27]]
    """
    unit = edge_unit(distances) if unit is None else unit
    costs = sparse.csr_matrix(
        (edge_costs(distances.data / unit, rho), distances.indices, distances.indptr),
        shape=distances.shape,
    )
    found = path_lengths(dijkstra(costs, directed=False, indices=sources), rho)
    missing = ~np.isfinite(found)
    if missing.any():
        found[missing] = 1.5 * (found[~missing].max() or 1.0)
    return found
