"""The eigenbasis as a manifold stage."""

from __future__ import annotations

from fewfold.eigenbasis import compute_basis


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
