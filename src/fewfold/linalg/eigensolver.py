"""The smallest eigenpairs of graph Laplacians: hundreds of vectors of 10^5 points in seconds.

Shift-and-invert fails on neighbor graphs of high-dimensional data, whose factors fill in, and
plain Lanczos crawls at the crowded lower end of their spectrum. Here a Chebyshev polynomial of the
Laplacian lifts the wanted end out of the crowd, a block Krylov space of that polynomial is
built in float32, and Rayleigh-Ritz with the Laplacian itself, in float64, extracts the pairs and
measures their residuals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from fewfold.exceptions import ConvergenceError, InputError
from fewfold.linalg._chebyshev import BlockOperator, bandwidth_order
from fewfold.linalg._krylov import KrylovSpace, block_width
from fewfold.linalg.laplacian import LAPLACIANS, components, degrees, laplacian

# Up to this many nodes a dense solver is faster than setting up the filter.
_DENSE_NODES = 1500
# A dense solver beyond this would need more memory (n^2 doubles, twice) than a stage may take.
_DENSE_LIMIT = 20_000
_ROUNDS = 12


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenpairs in increasing order of eigenvalue.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_vectors,)
    eigenvectors : ndarray of shape (n, n_vectors)
        Unit columns; the largest entry of each is positive.
    residuals : ndarray of shape (n_vectors,)
        ``|A v - lambda v|``, computed with the matrix itself.
    method : {"dense", "filtered"}
    n_products : int
        Products of the matrix with one vector (0 for "dense").
    """

    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    residuals: np.ndarray
    method: str
    n_products: int = 0


def laplacian_eigenpairs(
    W: sparse.csr_array,
    n_vectors: int,
    kind: str = "symmetric",
    *,
    tol: float = 1e-5,
    random_state: int = 0,
    n_jobs: int | None = None,
    component: np.ndarray | None = None,
) -> Eigenpairs:
    """Find the smallest eigenpairs of a graph's Laplacian.

    Each connected component has one eigenvector of eigenvalue zero. These are written down
    exactly, largest component first, and only the others are computed.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric, non-negative weights with an empty diagonal.
    n_vectors : int
    kind : {"unnormalized", "symmetric", "random_walk"}
        Vectors of "random_walk" are those of "symmetric" divided by the root of the degrees,
        then scaled to unit length.
    tol : float
        Largest residual allowed (of the symmetric problem, for "random_walk").
    random_state : int
        Seed of the starting block.
    n_jobs : int, optional
        Threads for sparse products; by default the cores allowed to this process.
    component : ndarray of shape (n,), optional
        Each node's component, if known already.

    Returns
    -------
    Eigenpairs

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> ring = sparse.csr_array(np.roll(np.eye(6), 1, 0) + np.roll(np.eye(6), -1, 0))
    >>> laplacian_eigenpairs(ring, 4, "unnormalized").eigenvalues.round(6).tolist()
    [0.0, 1.0, 1.0, 3.0]
    """
    if kind not in LAPLACIANS:
        raise InputError(f"laplacian={kind!r} is unknown. Choose one of {', '.join(LAPLACIANS)}.")
    n = W.shape[0]
    if not 1 <= n_vectors <= n:
        raise InputError(
            f"n_vectors={n_vectors} of a graph with {n} nodes; allowed: 1 to {n}. Lower n_vectors."
        )
    if component is None:
        component = components(W)[1]
    d = degrees(W)
    L = laplacian(W, "symmetric" if kind == "random_walk" else kind)
    kernel = _null_vectors(component, None if kind == "unnormalized" else d)
    pairs = smallest_eigenpairs(
        L, n_vectors, kernel=kernel, tol=tol, random_state=random_state, n_jobs=n_jobs
    )
    if kind != "random_walk":
        return pairs
    V = pairs.eigenvectors
    V /= np.sqrt(np.where(d > 0, d, 1))[:, None]
    V /= np.linalg.norm(V, axis=0)
    R = _residual_norms(laplacian(W, kind), V, pairs.eigenvalues)
    return Eigenpairs(pairs.eigenvalues, V, R, pairs.method, pairs.n_products)


def _null_vectors(component, d):
    """Return one unit vector per component, as sparse columns: constant, or root of degree."""
    n, count = len(component), int(component.max()) + 1
    value = np.ones(n) if d is None else np.sqrt(np.where(d > 0, d, 1))
    norm = np.sqrt(np.bincount(component, value**2, minlength=count))
    data = value / norm[component]
    return sparse.csr_array((data, component, np.arange(n + 1)), shape=(n, count))


def smallest_eigenpairs(
    A: sparse.csr_array,
    n_vectors: int,
    *,
    kernel: sparse.csr_array | None = None,
    tol: float = 1e-5,
    random_state: int = 0,
    n_jobs: int | None = None,
    method: str = "auto",
) -> Eigenpairs:
    """Find the smallest eigenpairs of a sparse positive semi-definite matrix.

    Parameters
    ----------
    A : csr_array of shape (n, n)
    n_vectors : int
    kernel : csr_array of shape (n, n_null), optional
        An orthonormal basis of the null space. It is returned first and projected out.
    tol : float
        Largest residual norm allowed.
    random_state, n_jobs : see `laplacian_eigenpairs`
    method : {"auto", "dense", "filtered"}
        "auto" is dense for small matrices, or when a large share of the vectors is asked for.

    Returns
    -------
    Eigenpairs

    Raises
    ------
    ConvergenceError
        If a residual stays above ``tol``; unconverged vectors are never returned.
    """
    n = A.shape[0]
    kernel = sparse.csr_array((n, 0)) if kernel is None else sparse.csr_array(kernel)
    kernel = kernel[:, :n_vectors] if kernel.shape[1] > n_vectors else kernel
    wanted = n_vectors - kernel.shape[1]
    if method == "auto":
        method = "dense" if n <= _DENSE_NODES or 5 * n_vectors >= n else "filtered"
    if method == "dense" and n > _DENSE_LIMIT:
        raise InputError(
            f"n_vectors={n_vectors} of a matrix with {n} rows needs a dense solver, allowed "
            f"up to {_DENSE_LIMIT} rows. Ask for at most {n // 5} vectors."
        )
    products, order = 0, slice(None)
    values, found, residuals = np.zeros(0), np.zeros((n, 0)), np.zeros(0)
    if wanted and method == "dense":
        values, found = _dense(A, wanted, kernel)
        residuals = _residual_norms(A, found, values)
    elif wanted:
        values, found, residuals, products, order = _filtered(
            A, wanted, kernel, tol, random_state, n_jobs
        )
    null = kernel.toarray()
    zeros = np.zeros(kernel.shape[1])
    residuals = np.concatenate([_residual_norms(A, null, zeros), residuals])
    values = np.concatenate([zeros, values])
    V = np.empty((n, n_vectors))  # of a million rows and 200 vectors 1.6 GB: no copy is to spare
    V[:, : null.shape[1]] = null
    V[order, null.shape[1] :] = found
    del found
    V = _fix_signs(V)
    if not residuals.max() <= max(tol, 1e-13 * n):
        _refuse(residuals, tol)
    return Eigenpairs(values, V, residuals, method, products)


def _refuse(residuals, tol):
    bad = int(np.sum(~(residuals <= tol)))
    raise ConvergenceError(
        f"{bad} of {len(residuals)} eigenvectors did not converge: largest residual "
        f"{np.max(residuals):.1e}, allowed {tol:.1e}. Raise tol, or ask for fewer vectors."
    )


def _fix_signs(V):
    largest = np.array([np.abs(column).argmax() for column in V.T], dtype=np.int64)
    V *= np.where(V[largest, np.arange(V.shape[1])] < 0, -1.0, 1.0)
    return V


def _residual_norms(A, V, values):
    out = np.empty(len(values))
    for start in range(0, len(values), 32):
        part = slice(start, start + 32)
        block = np.ascontiguousarray(V[:, part])
        out[part] = np.linalg.norm(A @ block - block * values[part], axis=0)
    return out


def _dense(A, wanted, kernel):
    M = A.toarray()
    top = np.abs(M).sum(axis=1).max()
    # The known null vectors move above everything else, so the rest comes first.
    M += (2 * top + 1) * (kernel @ kernel.T).toarray()
    last = min(wanted, M.shape[0] - kernel.shape[1]) - 1
    values, V = linalg.eigh(M, subset_by_index=[0, last], overwrite_a=True, check_finite=False)
    return np.maximum(values, 0), V


def _filtered(A, wanted, kernel, tol, seed, n_jobs):
    """Return eigenvalues, vectors, residuals, products, and the order of the vectors' rows."""
    order = bandwidth_order(A, block_width(wanted))
    op = BlockOperator(_reordered(A, order), n_jobs)
    space = KrylovSpace(op, kernel[order], wanted, tol, np.random.default_rng(seed))
    space.grow()
    for _ in range(_ROUNDS):
        space.add_late_block()
        values, V, residuals = space.ritz()
        if space.is_complete and residuals.max() <= 0.9 * tol:
            return values, V, residuals, op.n_products, order
        space.restart(V, residuals)
    if not space.is_complete and residuals.max() <= tol:
        raise ConvergenceError(
            f"After {_ROUNDS} rounds more vectors of the {wanted} smallest eigenvalues are found: "
            "the graph repeats one piece very often. Ask for fewer vectors."
        )
    _refuse(residuals, tol)


def _reordered(A, order):
    """Return A with rows and columns in another order; three times faster than by indexing."""
    A = sparse.csr_array(A)[order]
    place = np.empty(len(order), A.indices.dtype)
    place[order] = np.arange(len(order))
    return sparse.csr_array((A.data, place[A.indices], A.indptr), shape=A.shape)
