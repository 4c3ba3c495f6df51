"""Sindhwani's semi-supervised kernel: a base kernel deformed by the graph of the data."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import ConfigError, InputError
from fewfold.methods.invariance.deformed import (
    lowrank_coefficients,
    lowrank_middle,
    lowrank_root,
    solve_columns,
    sparse_factor,
)
from fewfold.methods.invariance.graphs import data_laplacian, powered
from fewfold.methods.invariance.selection import penalty_scale
from fewfold.methods.invariance.solver import choose_landmarks, diffused_columns
from fewfold.svm.kernels import KernelRows

# Up to this many rows the matrix over all of them is factored; above, landmarks are used.
EXACT_ROWS = 10_000
_BLOCK_ROWS = 2048
# Rows from which the kernel's scale is taken; the same for every tile.
_PROBES = 200


class DeformedKernel(KernelRows):
    """A base kernel deformed by ``M = deformation * L`` of a data graph, row by row.

    Parameters
    ----------
    features : fewfold.pipeline.stage_files.Features
    stages : dict
        ``graph``: a `NeighborGraph`. ``kernel``, optional: a matrix of the kernel stage, the base
        kernel (of the atlas, for instance); if it lacks rows, those it has are the landmarks.
    settings : dict
        ``deformation`` (1000), ``power`` of the Laplacian (2), ``base`` ("rbf", "linear"),
        ``gamma`` of rbf ("median" or a number; 2 / median squared distance by default),
        ``n_landmarks`` (3000).

    Attributes
    ----------
    n, n_new, n_columns : int
    kind : "kernel"
    gamma : float or None
    is_sparse : bool

    Notes
    -----
    Exact up to 10 000 rows: one LU factorization, ``2/3 n^3`` operations and ``12 n^2`` bytes.
    Above, or where rows of the base kernel are missing, the part of it that landmarks (diffused
    over the graph, where all rows can be had) span is taken: ``n^2`` kernel values, ``n p^2``
    operations and ``8 n p`` bytes for ``p`` landmarks.
    The result is multiplied by one number, so that a centered kernel's mean diagonal is 1 and the
    same penalties suit every strength.
    New rows are not nodes: they see the graph through the base kernel only.
    """

    def __init__(self, features, stages: dict, settings: dict):
        if stages.get("graph") is None:
            raise ConfigError("A deformed kernel needs a graph: name one as 'graph' in its entry.")
        self.strength = float(settings.get("deformation", 1000.0))
        if not self.strength >= 0:
            raise ConfigError(f"deformation={self.strength}; allowed: numbers from 0.")
        self._base = base = stages.get("kernel") or _of_features(features, settings)
        self.n, self.n_new, self.gamma = base.n, base.n_new, base.gamma
        # All rows of features can be computed, of a matrix only some may be stored.
        self._available = np.asarray(getattr(base, "row_numbers", np.arange(self.n)))
        self._is_whole = len(self._available) == self.n
        W = stages["graph"].W
        if W.shape[0] != self.n:
            raise InputError(
                f"The graph has {W.shape[0]} nodes, the base kernel {self.n} rows. "
                "Build both from the same dataset."
            )
        # Landmarks are diffused by the first power: higher ones fill the columns, to no gain.
        self._walk = data_laplacian(W).astype(np.float32)
        self._L = powered(self._walk, settings.get("power", 2))
        self._n_landmarks = int(settings.get("n_landmarks", 3000))
        self._exact = self._is_whole and self.n <= EXACT_ROWS
        self._scale = None

    def rows(self, indices) -> np.ndarray:
        """Return the deformed kernel's rows of some of the dataset's rows.

        Parameters
        ----------
        indices : int array of shape (m,)

        Returns
        -------
        ndarray of shape (m, n + n_new), float32
        """
        indices = np.asarray(indices)
        if self.strength == 0 or not len(indices):
            return self._base_rows(indices)
        if self._scale is None:
            self._prepare()
            probe = self._available[choose_landmarks(len(self._available), _PROBES, seed=1)]
            self._scale = penalty_scale(self._deformed_rows(probe)[:, probe])
        return np.float32(self._scale) * self._deformed_rows(indices)

    def _base_rows(self, indices):
        values = self._base.all_rows(indices)
        is_kernel = self._base.kind == "kernel"
        return values if is_kernel else np.exp(-2 * self.gamma * values)

    def _prepare(self):
        """Compute what all rows share: the factorization, or the subspace."""
        if self._exact:
            self._whole = self._all_base_rows()
            dtype = np.float64 if self.n <= 6000 else np.float32
            K = self._whole[:, : self.n].astype(dtype)
            self._factor = sparse_factor(K, sparse.csr_array(self.strength * self._L))
            return
        z = self._available[choose_landmarks(len(self._available), self._n_landmarks, seed=0)]
        if self._is_whole:
            U = diffused_columns(self._walk, z)
            self._values = self._basis_values(U)
            gram = U.T @ self._values[:, : self.n].T
        else:
            self._values = self._base_rows(z)
            gram = self._values[:, z]
        self._root = lowrank_root((gram + gram.T) / 2)
        middle = lowrank_middle(self._root, self._values[:, : self.n].T, self._L)
        self._seminorm = self.strength * middle

    def _deformed_rows(self, indices):
        if self._exact:
            T = solve_columns(self._factor, indices)
            return T.T.astype(np.float32) @ self._whole
        low = lowrank_coefficients(self._root, self._seminorm, self._values[:, indices])
        return low.T.astype(np.float32) @ self._values

    def _all_base_rows(self):
        whole = np.empty((self.n, self.n_columns), np.float32)
        for first in range(0, self.n, _BLOCK_ROWS):
            block = np.arange(first, min(first + _BLOCK_ROWS, self.n))
            whole[block] = self._base_rows(block)
        return whole

    def _basis_values(self, U):
        """Return ``U^T K`` over all columns, a block of base rows at a time."""
        U = sparse.csr_array(U.astype(np.float32))
        out = np.zeros((U.shape[1], self.n_columns), np.float32)
        for first in range(0, self.n, _BLOCK_ROWS):
            block = np.arange(first, min(first + _BLOCK_ROWS, self.n))
            out += sparse.csr_array(U[block]).T @ self._base_rows(block)
        return out


def _of_features(features, settings):
    """Return the kernel of the features, by default twice as narrow as the typical distance."""
    from fewfold.svm.kernels import FeatureKernel, median_gamma

    kind, gamma = settings.get("base", "rbf"), settings.get("gamma")
    if kind not in ("rbf", "linear"):
        raise ConfigError(f"base={kind!r} is unknown. Choose rbf or linear, or name a kernel.")
    if gamma is None and kind == "rbf":
        gamma = 2 * median_gamma(features.X)
    return FeatureKernel(features, {}, {"type": kind, "gamma": gamma or "median"})
