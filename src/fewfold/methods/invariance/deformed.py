"""The deformed kernel of [invariance-2006] Eq. 4, for any base kernel and graph Laplacian.

With nodes ``v`` (copies of samples, or rows of a data graph) and ``M = strength * L`` on them,

    k~(x, x') = k(x, x') - k_x^T (I + M K)^-1 M k_x'.

For points ``x'`` that are nodes this is ``k_x^T t`` with ``t`` a column of ``(I + M K)^-1``, so
that the deformed kernel against training points is the plain kernel against the nodes times a
matrix of coefficients. Each function here finds those coefficients by one factorization.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from fewfold.exceptions import InputError

# Kernel values held at once while rows are computed in blocks.
_BLOCK_VALUES = 2**24


@dataclass(frozen=True)
class BaseKernel:
    """The kernel that is deformed.

    Attributes
    ----------
    kind : {"rbf", "linear"} or callable
        ``exp(-gamma d^2)``, the dot product, or a function ``(A, B) -> (len(A), len(B))``.
    gamma : float

    Examples
    --------
    >>> BaseKernel("rbf", 0.5)(np.zeros((1, 2)), np.zeros((3, 2))).tolist()
    [[1.0, 1.0, 1.0]]
    """

    kind: str | Callable = "rbf"
    gamma: float = 1.0

    def __call__(self, A, B) -> np.ndarray:
        """Return the kernel values between rows."""
        if callable(self.kind):
            values = np.asarray(self.kind(A, B))
            if values.shape != (A.shape[0], B.shape[0]):
                raise InputError(
                    f"The kernel function returned shape {values.shape} for {A.shape[0]} and "
                    f"{B.shape[0]} rows. It must return one value per pair of rows."
                )
            return values
        from fewfold.svm.kernels import kernel_block

        return kernel_block(self.kind, A, B, gamma=self.gamma)


def sparse_coefficients(K, M, keep) -> np.ndarray:
    """Return the columns ``keep`` of ``(I + M K)^-1`` for any graph, by one LU factorization.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    M : csr_array of shape (n, n)
    keep : int array of shape (n_keep,)

    Returns
    -------
    ndarray of shape (n, n_keep)
    """
    return solve_columns(sparse_factor(K, M), keep)


def sparse_factor(K, M) -> tuple:
    """Return the LU factorization of ``(I + M K)^T``; ``2/3 n^3`` operations."""
    A = np.ascontiguousarray(M.astype(K.dtype) @ K)
    A.ravel()[:: len(K) + 1] += 1
    # LAPACK works on columns: it is given the transpose, which needs no copy, and solves back.
    return linalg.lu_factor(A.T, overwrite_a=True, check_finite=False)


def solve_columns(factor, keep) -> np.ndarray:
    """Return the columns ``keep`` of ``(I + M K)^-1`` from `sparse_factor`."""
    right = np.zeros((len(factor[0]), len(keep)), factor[0].dtype, order="F")
    right[keep, np.arange(len(keep))] = 1
    return linalg.lu_solve(factor, right, trans=1, overwrite_b=True, check_finite=False)


def lowrank_root(K_zz) -> np.ndarray:
    """Return the upper triangular ``R`` with ``R^T R = K_zz``, a little added to its diagonal.

    The least addition (from 1e-6 of the mean diagonal) that makes it positive definite.
    """
    mean = float(np.mean(np.diag(K_zz))) or 1.0
    for power in range(-6, 1):
        ridged = K_zz.astype(np.float64)
        ridged.ravel()[:: len(ridged) + 1] += mean * 10.0**power
        try:
            return linalg.cholesky(ridged, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue
    raise InputError(
        "The base kernel of the landmarks is not positive semidefinite. Use a valid kernel."
    )


def lowrank_middle(root, K_vz, L, block_nodes: int = 4096) -> np.ndarray:
    """Return ``F^T L F`` of the features ``F = K_vz R^-1``: the seminorm in the subspace.

    Parameters
    ----------
    root : ndarray of shape (p, p)
    K_vz : ndarray of shape (n_nodes, p)
        Values of the subspace's functions at the nodes.
    L : csr_array of shape (n_nodes, n_nodes)

    Returns
    -------
    ndarray of shape (p, p), positive semidefinite
    """
    features = np.empty(K_vz.shape, np.float32)
    for first in range(0, len(K_vz), block_nodes):
        block = K_vz[first : first + block_nodes].T
        features[first : first + block_nodes] = linalg.solve_triangular(
            root, block, trans="T", check_finite=False
        ).T
    L = L.astype(np.float32)
    out = np.zeros(root.shape)
    for first in range(0, len(K_vz), block_nodes):
        rows = L[first : first + block_nodes]
        if rows.nnz:
            out += features[first : first + block_nodes].T @ (rows @ features)
    return (out + out.T) / 2


def lowrank_coefficients(root, seminorm, K_zk) -> np.ndarray:
    """Return the subspace's coefficients of the deformed kernel against the kept points.

    With the features ``phi(x) = R^-T k_z(x)`` of the subspace's functions ``z``,

        k~(x, x') = phi(x)^T (I + seminorm)^-1 phi(x'),

    Eq. 4 for the base kernel's part in the subspace. The part outside is dropped: it would stay
    undeformed, and an SVM would learn its training points by heart from it.

    Parameters
    ----------
    root : ndarray of shape (p, p)
        `lowrank_root`.
    seminorm : ndarray of shape (p, p)
        Strengths times `lowrank_middle`.
    K_zk : ndarray of shape (p, n_keep)
        Values of the subspace's functions at the kept points.

    Returns
    -------
    ndarray of shape (p, n_keep)
    """
    phi = linalg.solve_triangular(root, K_zk, trans="T", check_finite=False)
    inner = np.array(seminorm, dtype=np.float64)
    inner.ravel()[:: len(inner) + 1] += 1
    factor = linalg.cho_factor(inner, overwrite_a=True, check_finite=False)
    return linalg.solve_triangular(
        root, linalg.cho_solve(factor, phi, check_finite=False), check_finite=False
    )


@dataclass(frozen=True)
class Expansion:
    """Functions that are sums of a base kernel at anchors: all that prediction needs.

    Attributes
    ----------
    anchors : ndarray of shape (n_anchors, n_features)
    weights : ndarray of shape (n_anchors, n_functions)
    kernel : callable
        The base kernel.
    """

    anchors: np.ndarray
    weights: np.ndarray
    kernel: Callable

    def __call__(self, X) -> np.ndarray:
        """Return the values of the functions at rows, (len(X), n_functions) float64."""
        step = max(1, _BLOCK_VALUES // max(1, len(self.anchors)))
        out = np.empty((X.shape[0], self.weights.shape[1]))
        for first in range(0, X.shape[0], step):
            block = self.kernel(X[first : first + step], self.anchors)
            out[first : first + step] = block @ self.weights
        return out


@dataclass(frozen=True)
class Deformed:
    """A deformed kernel between any points and the points kept.

    Attributes
    ----------
    anchors : ndarray of shape (n_anchors, n_features)
    coefficients : ndarray of shape (n_anchors, n_keep)
    gram : ndarray of shape (n_keep, n_keep)
        The deformed kernel among the points kept.
    kernel : callable
        The base kernel.
    """

    anchors: np.ndarray
    coefficients: np.ndarray
    gram: np.ndarray
    kernel: Callable

    def rows(self, X) -> np.ndarray:
        """Return the deformed kernel between rows of X and the kept points, (len(X), n_keep)."""
        return Expansion(self.anchors, self.coefficients, self.kernel)(X)

    def expansion(self, weights) -> Expansion:
        """Return sums of the deformed kernel at the kept points as sums of the base kernel.

        Parameters
        ----------
        weights : ndarray of shape (n_keep, n_functions)
            Coefficients of SVMs, for instance.
        """
        return Expansion(self.anchors, self.coefficients @ weights, self.kernel)
