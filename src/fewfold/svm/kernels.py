"""Linear and RBF kernels of rows of features, block by block."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.linalg.distances import precision

# Rows of a tile computed and written at once: bounds the memory of a tile job to about
# block x (n + n_new) floats, whatever the number of rows in the tile.
BLOCK_BYTES = 128 * 2**20


def squared_distances(A, B) -> np.ndarray:
    """Return the squared Euclidean distances between rows, never negative.

    Centring on the mean of ``B`` first keeps the cancellation of large norms away.
    """
    dtype = precision(A, B)
    if sparse.issparse(A) or sparse.issparse(B):
        A, B = sparse.csr_array(A), sparse.csr_array(B)
        a = np.asarray(A.multiply(A).sum(axis=1)).ravel()
        b = np.asarray(B.multiply(B).sum(axis=1)).ravel()
        out = (A @ B.T).toarray().astype(dtype)
    else:
        center = B.mean(axis=0, dtype=np.float64)
        A = (A - center).astype(dtype)
        B = (B - center).astype(dtype)
        a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        out = A @ B.T
    out *= -2
    out += a[:, None].astype(dtype)
    out += b.astype(dtype)
    return np.maximum(out, 0, out=out)


def median_gamma(X) -> float:
    """Return ``1 / median squared distance`` of a sample of rows: RBF's default width."""
    return 1.0 / typical_squared(X, sample=1000)


def typical_squared(X, random_state: int = 0, sample: int = 500) -> float:
    """Return the median squared distance between different rows of a sample."""
    rng = np.random.default_rng(random_state)
    rows = rng.choice(X.shape[0], min(sample, X.shape[0]), replace=False)
    d2 = squared_distances(X[rows], X[rows])
    positive = d2[np.triu_indices(len(rows), 1)]
    positive = positive[positive > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def kernel_block(kind: str, A, B, *, gamma: float | None = None) -> np.ndarray:
    """Return the kernel values between the rows of A and of B.

    Parameters
    ----------
    kind : {"linear", "rbf"}
    A : array of shape (m, n_features)
    B : array of shape (n, n_features)
    gamma : float or None
        ``exp(-gamma d^2)``; None leaves the squared distances, for the learner to choose gamma.
    """
    if kind == "linear":
        product = A @ B.T
        return (product.toarray() if sparse.issparse(product) else product).astype(precision(A, B))
    if kind != "rbf":
        raise InputError(f"kernel type {kind!r} is unknown. Choose linear or rbf.")
    d2 = squared_distances(A, B)
    if gamma is None:
        return d2
    d2 *= -gamma
    return np.exp(d2, out=d2)


def tile_bounds(n_rows: int, n_tiles: int, tile: int) -> tuple[int, int]:
    """Return the first and the past-the-last of the rows that a tile holds."""
    return n_rows * tile // n_tiles, n_rows * (tile + 1) // n_tiles


def blocks_of(start: int, stop: int, n_columns: int, multiple: int = 1):
    """Cut rows start..stop into slices of equal length that stay within `BLOCK_BYTES`.

    The length is a multiple of a number of rows.
    """
    step = max(1, BLOCK_BYTES // (4 * max(1, n_columns)) // multiple) * multiple
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


class KernelRows:
    """Base of kernels that fill a matrix row by row: ``n`` rows, and ``n_new`` new ones after them.

    A subclass has ``rows(indices)``.
    """

    is_sparse = False
    kind = "kernel"

    @property
    def n_columns(self) -> int:
        """Columns of the matrix: rows of the dataset, then new rows."""
        return self.n + self.n_new


class FeatureKernel(KernelRows):
    """The linear or RBF kernel of a dataset's features, row by row.

    Attributes
    ----------
    n, n_new : int
    kind : {"kernel", "squared_distances"}
    gamma : float or None
    is_sparse : bool
    """

    def __init__(self, features, stages: dict, settings: dict):
        self.X, self.X_new = features.X, features.X_new
        self.type = settings["type"]
        self.n = self.X.shape[0]
        self.n_new = 0 if self.X_new is None else self.X_new.shape[0]
        self.gamma = median_gamma(self.X) if self.type == "rbf" else None
        wanted = settings.get("gamma", "cv")
        searched = self.type == "rbf" and wanted == "cv"
        self.kind = "squared_distances" if searched else "kernel"
        if self.type == "rbf" and not searched and wanted != "median":
            self.gamma = float(wanted)

    def rows(self, indices) -> np.ndarray:
        """Return the kernel rows of some of the dataset's rows."""
        gamma = None if self.kind == "squared_distances" else self.gamma
        parts = [kernel_block(self.type, self.X[indices], self.X, gamma=gamma)]
        if self.n_new:
            parts.append(kernel_block(self.type, self.X[indices], self.X_new, gamma=gamma))
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    all_rows = rows  # as a stored matrix names it
