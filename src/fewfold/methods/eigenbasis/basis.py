"""The manifold model: the smoothest functions on a graph."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.graph.build import NeighborGraph
from fewfold.linalg.eigensolver import laplacian_eigenpairs
from fewfold.linalg.laplacian import components, degrees


def compute_basis(
    graph: NeighborGraph | sparse.csr_array,
    n_vectors: int,
    laplacian: str = "random_walk",
    *,
    tol: float = 1e-5,
    random_state: int = 0,
    n_jobs: int | None = None,
    dtype: str = "float32",
) -> dict[str, np.ndarray]:
    """Compute the manifold model: the smoothest functions on a graph ([eigenbasis-2002] Step 2).

    Parameters
    ----------
    graph : NeighborGraph, or csr_array of weights of shape (n, n)
    n_vectors : int
        The largest number any learner will use; learners take the first ones. More than n
        means n.
    laplacian : {"random_walk", "symmetric", "unnormalized"}
    tol, random_state, n_jobs : see `fewfold.linalg.eigensolver.laplacian_eigenpairs`
    dtype : {"float32", "float64"}
        Of the stored eigenvectors; they are computed, and their residuals measured, in float64.

    Returns
    -------
    dict of arrays
        ``eigenvalues`` (p,), ``eigenvectors`` (n, p), ``residuals`` (p,), ``components`` (n,),
        ``degrees`` (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from fewfold.graph.build import build_graph
    >>> basis = compute_basis(build_graph(np.arange(50.0)[:, None], n_neighbors=2), 3)
    >>> basis["eigenvectors"].shape, bool(basis["residuals"].max() < 1e-5)
    ((50, 3), True)
    """
    W = graph.W if isinstance(graph, NeighborGraph) else sparse.csr_array(graph)
    component = graph.component if isinstance(graph, NeighborGraph) else components(W)[1]
    pairs = laplacian_eigenpairs(
        W,
        min(n_vectors, W.shape[0]),
        laplacian,
        tol=tol,
        random_state=random_state,
        n_jobs=n_jobs,
        component=component,
    )
    return {
        "eigenvalues": pairs.eigenvalues,
        "eigenvectors": pairs.eigenvectors.astype(dtype),
        "residuals": pairs.residuals,
        "components": np.asarray(component),
        "degrees": degrees(W),
    }


def fit_manifold(features, graph, options: dict, *, seed: int):
    """Return the arrays and notes of the eigenbasis of a graph; ``features`` are not used."""
    basis = compute_basis(
        graph,
        int(options.get("n_vectors", 200)),
        options.get("laplacian", "random_walk"),
        tol=float(options.get("tolerance", 1e-5)),
        random_state=seed,
    )
    largest = float(basis["residuals"].max())
    print(f"{len(basis['eigenvalues'])} eigenvectors, largest residual {largest:.1e}")
    return basis, {"largest_residual": largest, "n_components": int(basis["components"].max()) + 1}
