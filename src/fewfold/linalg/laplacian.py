"""Graph Laplacians, degrees and connected components."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from fewfold.exceptions import InputError

LAPLACIANS = ("unnormalized", "symmetric", "random_walk")


def degrees(W: sparse.csr_array) -> np.ndarray:
    """Return the sum of the weights at each node."""
    return np.asarray(W.sum(axis=1)).ravel()


def laplacian(W: sparse.csr_array, kind: str = "symmetric") -> sparse.csr_array:
    """Build a graph Laplacian.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric, non-negative, empty diagonal.
    kind : {"unnormalized", "symmetric", "random_walk"}
        ``D - W``, ``I - D^-1/2 W D^-1/2`` or ``I - D^-1 W``. Isolated nodes have an empty row
        in all three, so each contributes one zero eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> pair = sparse.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> laplacian(pair, "unnormalized").toarray().tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """
    if kind not in LAPLACIANS:
        raise InputError(f"laplacian={kind!r} is unknown. Choose one of {', '.join(LAPLACIANS)}.")
    d = degrees(W)
    if kind == "unnormalized":
        return sparse.csr_array(sparse.diags_array(d) - W)
    with np.errstate(divide="ignore"):
        inverse = np.where(d > 0, 1 / (np.sqrt(d) if kind == "symmetric" else d), 0)
    W = sparse.csr_array(W)
    # Entry by entry: products with sparse diagonal matrices take several times as long.
    data = np.repeat(inverse, np.diff(W.indptr)) * W.data
    if kind == "symmetric":
        data *= inverse[W.indices]
    scaled = sparse.csr_array((data, W.indices, W.indptr), shape=W.shape)
    identity = sparse.diags_array((d > 0).astype(float))
    return sparse.csr_array(identity - scaled)


def components(W: sparse.csr_array) -> tuple[int, np.ndarray]:
    """Return the number of connected components and each node's component.

    Components are numbered by size, largest first, so that a report can refer to "the first".
    """
    n = W.shape[0]
    if n and len(csgraph.breadth_first_order(W, 0, return_predecessors=False)) == n:
        return 1, np.zeros(n, dtype=np.int64)  # several times faster, and the usual case
    count, label = csgraph.connected_components(W, directed=False)
    order = np.argsort(-np.bincount(label, minlength=count), kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return count, rank[label]
