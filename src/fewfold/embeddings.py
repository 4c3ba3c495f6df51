"""One map of all rows by LLE or LTSA, and machines on it: the rivals of an atlas of many maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from fewfold.exceptions import ConvergenceError, InputError
from fewfold.feature_machines import feature_svm
from fewfold.graph.neighbors import nearest_neighbors
from fewfold.learners import knn
from fewfold.training import Inputs, Outcome

METHODS = ("lle", "ltsa")
# Share of the trace added to a neighbourhood's Gram matrix, as in scikit-learn.
_RIDGE = 1e-3


def embed(X, method: str, n_dims: int, n_neighbors: int, seed: int = 0) -> np.ndarray:
    """Map rows to few dimensions by their neighbourhoods, with scikit-learn.

    Parameters
    ----------
    X : array or sparse array of shape (n, n_features)
    method : {"lle", "ltsa"}
        Locally linear embedding, or local tangent space alignment.
    n_dims : int
    n_neighbors : int
        More than ``n_dims`` for "ltsa".
    seed : int
        Start of the eigensolver.

    Returns
    -------
    float64 ndarray of shape (n, n_dims)
        Columns of length 1.
    """
    from sklearn.manifold import LocallyLinearEmbedding

    if method not in METHODS:
        raise InputError(f"method={method!r} is unknown. Choose one of {', '.join(METHODS)}.")
    least = n_dims + 1 if method == "ltsa" else 1
    if not least <= n_neighbors < X.shape[0] or not 1 <= n_dims < X.shape[0]:
        raise InputError(
            f"n_neighbors={n_neighbors}, n_dims={n_dims} for {X.shape[0]} rows: {method} needs "
            f"n_neighbors from {least} to {X.shape[0] - 1}. Change one of them."
        )
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    model = LocallyLinearEmbedding(
        n_neighbors=n_neighbors,
        n_components=n_dims,
        method="standard" if method == "lle" else "ltsa",
        reg=_RIDGE,
        random_state=seed % 2**31,
    )
    # The sparse solver factors the matrix, and fails where it is exactly singular.
    for solver in ("auto", "dense"):
        try:
            return model.set_params(eigen_solver=solver).fit_transform(X.astype(np.float64))
        except (ValueError, RuntimeError, np.linalg.LinAlgError) as error:
            reason = error
    raise ConvergenceError(
        f"{method} found no map of {X.shape[0]} rows with {n_neighbors} neighbours ({reason}). "
        "Raise n_neighbors, or remove duplicate rows."
    ) from reason


def place_rows(X_new, X, embedding: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Place new rows by the weights that rebuild them from their nearest rows.

    Parameters
    ----------
    X_new, X : arrays of shapes (m, n_features) and (n, n_features)
    embedding : ndarray of shape (n, n_dims)
    n_neighbors : int

    Returns
    -------
    ndarray of shape (m, n_dims)

    Examples
    --------
    >>> X = np.arange(5.0)[:, None]
    >>> place_rows(np.array([[1.5]]), X, 10 * X, 2).round(2).tolist()
    [[15.0]]
    """
    near = nearest_neighbors(X, n_neighbors, query=X_new).indices
    dense = [A.toarray() if sparse.issparse(A) else np.asarray(A) for A in (X, X_new)]
    away = dense[0][near].astype(np.float64) - dense[1][:, None, :]
    gram = np.einsum("mkd,mld->mkl", away, away)
    trace = np.trace(gram, axis1=1, axis2=2)
    ridge = _RIDGE * np.where(trace > 0, trace, 1.0)
    gram[:, np.arange(n_neighbors), np.arange(n_neighbors)] += ridge[:, None]
    weights = np.linalg.solve(gram, np.ones((len(near), n_neighbors, 1)))[:, :, 0]
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("mk,mkd->md", weights, embedding[near])


def fit_manifold(features, graph, options: dict, *, seed: int):
    """Return the arrays and notes of the manifold stage: one map of all rows, without labels."""
    method = options.get("method", "lle")
    n_dims = int(options.get("n_dims", 10))
    n_neighbors = int(options.get("n_neighbors", n_dims + 2))
    embedding = embed(features.X, method, n_dims, n_neighbors, seed)
    arrays = {"embedding": embedding, "n_neighbors": np.int64(n_neighbors)}
    return arrays, {"method": method, "n_dims": n_dims}


def fit_predict(
    inputs: Inputs, labeled, targets, *, n_classes: int, seed: int, settings: dict
) -> Outcome:
    """Classify on the map of the manifold stage.

    Settings: ``kind`` ("linear" or "rbf": support vector machines as `feature_svm` trains them,
    with its settings; "nearest": the nearest labelled point).
    """
    settings = dict(settings)
    embedding = np.asarray(inputs.manifold["embedding"])
    new = None
    if inputs.X_new is not None:
        k = int(inputs.manifold["n_neighbors"])
        new = place_rows(inputs.X_new, inputs.X, embedding, k)
    # Columns have length 1: scaled so that rows have, and float32 keeps all digits it can.
    scale = np.sqrt(embedding.shape[0] / embedding.shape[1])
    mapped = replace(
        inputs,
        X=(scale * embedding).astype(np.float32),
        X_new=None if new is None else (scale * new).astype(np.float32),
    )
    options = {"n_classes": n_classes, "seed": seed}
    if settings.get("kind", "linear") == "nearest":
        return knn(mapped, labeled, targets, settings={"n_neighbors": 1}, **options)
    return feature_svm(mapped, labeled, targets, settings=settings, **options)
