"""One map of all rows by LLE or LTSA."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.graph.neighbors import nearest_neighbors

METHODS = ("lle", "ltsa")
# Share of the trace added to a neighborhood's Gram matrix, as in scikit-learn.
_RIDGE = 1e-3
# Above this many rows the map is found through a Cholesky factor. Its cost is n^3 / 3, that of a
# dense eigensolver 4 n^3 / 3 at a fraction of the speed, and a sparse factor fills in.
_FACTOR_ROWS = 3000
# Rows whose neighborhoods are in memory at once.
_BLOCK_ROWS = 1024


def embed(X, method: str, n_dims: int, n_neighbors: int, seed: int = 0) -> np.ndarray:
    """Map rows to few dimensions by their neighborhoods.

    Parameters
    ----------
    X : array or sparse array of shape (n, n_features)
    method : {"lle", "ltsa"}
        Locally linear embedding, or local tangent space alignment.
    n_dims : int
    n_neighbors : int
        More than ``n_dims`` for "ltsa", whose neighborhoods hold the row itself as well.
    seed : int
        Start of the eigensolver.

    Returns
    -------
    float64 ndarray of shape (n, n_dims)
        Columns of length 1.

    Notes
    -----
    Takes 8 n^2 bytes, and n^3 / 3 operations above 3000 rows.
    """
    if method not in METHODS:
        raise InputError(f"method={method!r} is unknown. Choose one of {', '.join(METHODS)}.")
    least = n_dims + 1 if method == "ltsa" else 1
    if not least <= n_neighbors < X.shape[0] or not 1 <= n_dims < X.shape[0]:
        raise InputError(
            f"n_neighbors={n_neighbors}, n_dims={n_dims} for {X.shape[0]} rows: {method} needs "
            f"n_neighbors from {least} to {X.shape[0] - 1}. Change one of them."
        )
    X = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)
    near = nearest_neighbors(X.astype(np.float32), n_neighbors).indices
    if method == "lle":
        return smallest_vectors(lle_matrix(X, near), n_dims, seed)
    # The row itself belongs to its neighborhood: otherwise rows that are nobody's neighbor are
    # in none, and each takes an eigenvector of eigenvalue 0.
    near = np.column_stack([np.arange(len(X)), near])
    return smallest_vectors(ltsa_matrix(X, near, n_dims), n_dims, seed)


def lle_matrix(X: np.ndarray, near: np.ndarray) -> sparse.csr_array:
    """Return ``(I - W)^T (I - W)`` for the weights W that rebuild rows from their nearest ones.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    near : int ndarray of shape (n, n_neighbors)

    Returns
    -------
    csr_array of shape (n, n)
    """
    n, k = near.shape
    weights = np.empty((n, k))
    for start in range(0, n, _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        weights[part] = _rebuild(X[part], X[near[part]])
    W = sparse.csr_array((weights.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    left = sparse.eye_array(n, format="csr") - W
    return (left.T @ left).tocsr()


def ltsa_matrix(X: np.ndarray, near: np.ndarray, n_dims: int) -> sparse.csr_array:
    """Return the sum over neighborhoods of what their tangent spaces do not explain.

    Each adds ``I - G G^T`` on its members, G the constant and the first principal components.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    near : int ndarray of shape (n, n_neighbors)
    n_dims : int

    Returns
    -------
    csr_array of shape (n, n)
    """
    n, k = near.shape
    total = sparse.csr_array((n, n))
    for start in range(0, n, _BLOCK_ROWS):
        members = near[start : start + _BLOCK_ROWS]
        around = X[members]
        around -= around.mean(axis=1, keepdims=True)
        G = np.full((len(members), k, n_dims + 1), 1 / np.sqrt(k))
        gram = np.einsum("bkd,bld->bkl", around, around, optimize=True)
        G[:, :, 1:] = np.linalg.eigh(gram)[1][:, :, -n_dims:]
        blocks = np.eye(k) - G @ G.transpose(0, 2, 1)
        rows = np.repeat(members, k, axis=1).ravel()
        columns = np.tile(members, (1, k)).ravel()
        total = total + sparse.coo_array((blocks.ravel(), (rows, columns)), shape=(n, n)).tocsr()
    return total


def smallest_vectors(M: sparse.csr_array, n_dims: int, seed: int = 0) -> np.ndarray:
    """Return eigenvectors of a positive semidefinite matrix after its constant one.

    Up to 3000 rows by LAPACK; above, inverse iteration (ARPACK) with one dense Cholesky factor:
    neighbor graphs of many dimensions fill a sparse factor anyway.

    Parameters
    ----------
    M : csr_array of shape (n, n)
    n_dims : int
    seed : int
        Start of the iteration.

    Returns
    -------
    float64 ndarray of shape (n, n_dims)
        By growing eigenvalue; columns of length 1.
    """
    from scipy.linalg import cho_factor, cho_solve, eigh
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = M.shape[0]
    dense = M.toarray(order="F")
    if n <= _FACTOR_ROWS:
        vectors = eigh(dense, subset_by_index=[1, n_dims], overwrite_a=True)[1]
    else:
        # The shift moves no eigenvector. It must be more than rounding and less than the gaps.
        shift = 1e-9 * M.diagonal().mean()
        dense[np.arange(n), np.arange(n)] += shift
        factor = cho_factor(dense, lower=True, overwrite_a=True, check_finite=False)
        inverse = LinearOperator((n, n), matvec=lambda v: cho_solve(factor, v, check_finite=False))
        start = np.random.default_rng(seed).uniform(-1, 1, n)
        values, vectors = eigsh(M, n_dims + 1, sigma=-shift, OPinv=inverse, v0=start, tol=1e-6)
        vectors = vectors[:, np.argsort(values)[1:]]
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, np.arange(n_dims)])


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
    weights = _rebuild(dense[1].astype(np.float64), dense[0][near])
    return np.einsum("mk,mkd->md", weights, embedding[near])


def _rebuild(rows, around):
    """Return weights of sum 1, of shape (m, k), by which ``around`` rebuilds rows."""
    k = around.shape[1]
    away = around - rows[:, None, :]
    gram = np.einsum("mkd,mld->mkl", away, away, optimize=True)
    trace = np.trace(gram, axis1=1, axis2=2)
    gram[:, np.arange(k), np.arange(k)] += _RIDGE * np.where(trace > 0, trace, 1.0)[:, None]
    weights = np.linalg.solve(gram, np.ones((len(rows), k, 1)))[:, :, 0]
    return weights / weights.sum(axis=1, keepdims=True)
