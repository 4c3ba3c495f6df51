"""One map of all rows as a manifold stage."""

from __future__ import annotations

import numpy as np

from fewfold.methods.embedding.maps import embed, place_rows


def fit_manifold(features, graph, options: dict, *, seed: int):
    """Return the arrays and notes of the manifold stage: one map of all rows, without labels."""
    method = options.get("method", "lle")
    n_dims = int(options.get("n_dims", 10))
    n_neighbors = int(options.get("n_neighbors", n_dims + 2))
    embedding = embed(features.X, method, n_dims, n_neighbors, seed)
    arrays = {"embedding": embedding, "n_neighbors": np.int64(n_neighbors)}
    return arrays, {"method": method, "n_dims": n_dims}


def encode_rows(out, features, arrays: dict) -> None:
    """Write the positions of all rows and new rows on the map: the encoder of embeddings."""
    embedding = np.asarray(arrays["embedding"])
    out.add("positions", positions(embedding, embedding.shape))
    if features.X_new is not None:
        n_neighbors = int(arrays["n_neighbors"])
        placed = place_rows(features.X_new, features.X, embedding, n_neighbors)
        out.add("positions_new", positions(placed, embedding.shape))


def positions(placed: np.ndarray, shape: tuple) -> np.ndarray:
    """Return rows of a map as the features of a classifier.

    Columns of the map have length 1: scaled so that rows have, float32 keeps all digits it can.

    Parameters
    ----------
    placed : ndarray of shape (m, n_dims)
    shape : (n, n_dims)
        Of the map of all rows.

    Returns
    -------
    float32 ndarray of shape (m, n_dims)
    """
    # Row by row in memory, as they are read from a file: the same digits either way.
    return np.ascontiguousarray(np.sqrt(shape[0] / shape[1]) * placed, np.float32)
