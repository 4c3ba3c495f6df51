"""Size-constrained spectral clustering: ratio cut, bounded k-means ([multimanifold-2009] Eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.graph.flows import constrained_assignment
from fewfold.linalg.laplacian import laplacian

# Up to this size a dense eigenproblem is quicker than setting up a sparse one.
_DENSE_SIZE = 200


@dataclass(frozen=True)
class Clustering:
    """Parts of a size-constrained k-means.

    Attributes
    ----------
    part : ndarray of shape (n_points,), int64
    centers : ndarray of shape (n_parts, n_dimensions)
    objective : float
        Sum of squared distances to the centers.
    n_iterations : int
    """

    part: np.ndarray
    centers: np.ndarray
    objective: float
    n_iterations: int


def ratio_cut_embedding(W: sparse.csr_array, n_vectors: int) -> np.ndarray:
    """Take the eigenvectors of the smallest eigenvalues of the unnormalized Laplacian.

    Parameters
    ----------
    W : csr_array of shape (n_points, n_points)
        Symmetric weights, one component.
    n_vectors : int

    Returns
    -------
    V : ndarray of shape (n_points, n_vectors)
        Unit columns by growing eigenvalue; the largest entry of each is positive.

    Examples
    --------
    >>> from scipy import sparse
    >>> W = sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> ratio_cut_embedding(W, 2).round(3).tolist()
    [[0.707, 0.707], [0.707, -0.707]]
    """
    n = W.shape[0]
    L = laplacian(W, "unnormalized")
    if n <= _DENSE_SIZE or n_vectors >= n - 1:
        _, V = np.linalg.eigh(L.toarray())
        V = V[:, :n_vectors]
    else:
        from scipy.sparse.linalg import eigsh

        # Graphs of few neighbors in few dimensions factorize with little fill. The shift lies
        # below the spectrum, so the matrix is definite, and far below any cut worth finding.
        shift = -1e-7 * float(W.sum(axis=1).mean())
        # ARPACK's own start vector is random; a fixed one makes the result repeatable.
        start = np.cos(np.arange(n, dtype=np.float64))
        values, V = eigsh(L.tocsc(), k=n_vectors, sigma=shift, which="LM", v0=start)
        V = V[:, np.argsort(values)]
    return V * np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)


def assign_with_bounds(
    squared: np.ndarray, labeled: np.ndarray, min_labeled: int, min_unlabeled: int
) -> np.ndarray:
    """Assign points to centers at least cost, with enough labeled and unlabeled points in each.

    Labeled and unlabeled points share no capacity in the network of the paper, so it falls
    into two flows.

    Parameters
    ----------
    squared : ndarray of shape (n_points, n_parts)
        Squared distances to the centers.
    labeled : bool ndarray of shape (n_points,)
    min_labeled, min_unlabeled : int
        The bounds a and b.

    Returns
    -------
    part : ndarray of shape (n_points,), int64

    Examples
    --------
    >>> import numpy as np
    >>> costs = np.array([[0.0, 9.0], [0.0, 4.0], [0.0, 1.0]])
    >>> assign_with_bounds(costs, np.array([True, True, False]), 1, 0).tolist()
    [0, 1, 0]
    """
    part = np.empty(len(squared), np.int64)
    for kind, bound in ((labeled, min_labeled), (~labeled, min_unlabeled)):
        if kind.any():
            part[kind] = constrained_assignment(squared[kind], bound)
    return part


def constrained_kmeans(
    V: np.ndarray,
    n_parts: int,
    labeled: np.ndarray,
    min_labeled: int = 0,
    min_unlabeled: int = 0,
    *,
    n_restarts: int = 10,
    max_iterations: int = 100,
    random_state: int | np.random.Generator = 0,
    score=None,
) -> Clustering:
    """Cluster with a least number of labeled and unlabeled points in each part.

    Parameters
    ----------
    V : ndarray of shape (n_points, n_dimensions)
    n_parts : int
    labeled : bool ndarray of shape (n_points,)
    min_labeled, min_unlabeled : int
        The bounds a and b; each times n_parts is at most the number of such points.
    n_restarts : int
        Starts by k-means++; the lowest score is kept.
    max_iterations : int
        Most assignments per start; each lowers the objective or ends the run.
    random_state : int or Generator
    score : callable, optional
        Takes the parts of a start and returns a number, the lower the better; without it the
        sum of squared distances.

    Returns
    -------
    Clustering

    Examples
    --------
    >>> import numpy as np
    >>> V = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> found = constrained_kmeans(V, 2, np.zeros(4, bool), 0, 1)
    >>> bool(found.part[0] == found.part[1] != found.part[2])
    True
    """
    rng = np.random.default_rng(random_state)
    best, lowest = None, np.inf
    for _ in range(n_restarts):
        centers = plusplus_centers(V, n_parts, rng)
        found = _lloyd(V, centers, labeled, min_labeled, min_unlabeled, max_iterations)
        value = found.objective if score is None else score(found.part)
        if best is None or value < lowest * (1 - 1e-12):
            best, lowest = found, value
    return best


def plusplus_centers(V: np.ndarray, n_parts: int, rng: np.random.Generator) -> np.ndarray:
    """Draw starting centers among the points, far ones more likely (k-means++).

    Parameters
    ----------
    V : ndarray of shape (n_points, n_dimensions)
    n_parts : int
    rng : Generator

    Returns
    -------
    centers : ndarray of shape (n_parts, n_dimensions)
    """
    chosen = [rng.integers(len(V))]
    d2 = ((V - V[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n_parts:
        total = d2.sum()
        # Fewer different points than parts: any further point serves.
        pick = rng.choice(len(V), p=d2 / total) if total > 0 else rng.integers(len(V))
        chosen.append(pick)
        d2 = np.minimum(d2, ((V - V[pick]) ** 2).sum(axis=1))
    return V[chosen]


def _lloyd(V, centers, labeled, a, b, max_iterations):
    part, n_iterations = None, 0
    while n_iterations < max_iterations:
        n_iterations += 1
        squared = ((V[:, None, :] - centers) ** 2).sum(axis=2)
        new = assign_with_bounds(squared, labeled, a, b)
        if part is not None and (new == part).all():
            break
        part = new
        centers = _means(V, part, centers)
    objective = float(((V - centers[part]) ** 2).sum())
    return Clustering(part, centers, objective, n_iterations)


def _means(V, part, centers):
    counts = np.bincount(part, minlength=len(centers))
    sums = np.zeros_like(centers)
    np.add.at(sums, part, V)
    # A part left empty (only without bounds) keeps its center.
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)


def cut_value(W: sparse.csr_array, part: np.ndarray) -> float:
    """Ratio cut of a partition: for each part, the weight leaving it over its size, summed.

    Parameters
    ----------
    W : csr_array of shape (n_points, n_points)
    part : ndarray of shape (n_points,), int

    Returns
    -------
    value : float

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> cut_value(sparse.csr_array([[0.0, 2.0], [2.0, 0.0]]), np.array([0, 1]))
    4.0
    """
    edges = W.tocoo()
    across = part[edges.row] != part[edges.col]
    leaving = np.bincount(part[edges.row[across]], edges.data[across], minlength=part.max() + 1)
    sizes = np.bincount(part, minlength=part.max() + 1)
    return float((leaving / np.maximum(sizes, 1)).sum())
