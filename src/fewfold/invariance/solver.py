"""From nodes and graphs to a deformed kernel: which factorisation, and for which sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.invariance.deformed import (
    Deformed,
    block_coefficients,
    block_factors,
    block_system,
    lowrank_coefficients,
    lowrank_middle,
    lowrank_root,
    sparse_coefficients,
)
from fewfold.invariance.graphs import block_diagonal

SOLVERS = ("auto", "exact", "lowrank")
# Above these many nodes "auto" turns to landmarks: a Cholesky (LU) factorisation of that size
# takes about a minute and 3 GB on two cores.
EXACT_BLOCKS = 20_000
EXACT_SPARSE = 12_000
# Larger systems are held in float32.
_DOUBLE = 8000


@dataclass(frozen=True)
class Nodes:
    """Points on which functions are to be smooth, and the graphs that say how.

    Attributes
    ----------
    V : ndarray of shape (n_nodes, n_features)
    keep : int ndarray
        The nodes that are training points.
    blocks : ndarray of shape (n, m, m) or None
        Laplacians of the samples' own copies: nodes ``0 .. n m - 1``, sample after sample.
    L : csr_array of shape (n_nodes, n_nodes) or None
        Laplacian over all nodes instead.
    data : csr_array of shape (n_nodes, n_nodes) or None
        Laplacian of the data graph, with a strength of its own.
    """

    V: np.ndarray
    keep: np.ndarray
    blocks: np.ndarray | None = None
    L: sparse.csr_array | None = None
    data: sparse.csr_array | None = None

    @property
    def is_block_diagonal(self) -> bool:
        """Whether samples are joined to nothing but their own copies."""
        return self.data is None and self.blocks is not None

    def copies_laplacian(self) -> sparse.csr_array:
        """Return the Laplacian of the copies over all nodes."""
        if self.L is not None:
            return self.L
        n = len(self.V)
        if self.blocks is None:
            return sparse.csr_array((n, n))
        L = block_diagonal(self.blocks)
        L.resize((n, n))
        return L


def make_solver(nodes: Nodes, kernel, *, solver="auto", n_landmarks=3000, seed=0):
    """Return the solver of one base kernel, whose ``deform`` serves any strengths.

    Parameters
    ----------
    nodes : Nodes
    kernel : BaseKernel or callable
    solver : {"auto", "exact", "lowrank"}
        "exact" factors a matrix as large as the number of nodes, "lowrank" works with landmarks;
        "auto" takes "exact" up to about 20 000 nodes (12 000 if a graph joins the samples).
    n_landmarks : int
    seed : int
        Of the choice of landmarks.
    """
    if solver not in SOLVERS:
        raise InputError(f"solver={solver!r} is unknown. Choose one of {', '.join(SOLVERS)}.")
    limit = EXACT_BLOCKS if nodes.is_block_diagonal else EXACT_SPARSE
    if solver == "lowrank" or (solver == "auto" and len(nodes.V) > limit):
        return LowRankSolver(nodes, kernel, n_landmarks, seed)
    return BlockSolver(nodes, kernel) if nodes.is_block_diagonal else SparseSolver(nodes, kernel)


class BlockSolver:
    """Exact, for graphs that join each sample to its own copies only: Cholesky."""

    def __init__(self, nodes: Nodes, kernel):
        self.nodes, self.kernel = nodes, kernel
        self.factors = block_factors(nodes.blocks)
        dtype = np.float64 if len(nodes.V) <= _DOUBLE else np.float32
        self.system = block_system(kernel, nodes.V, self.factors, dtype)
        self.K_keep = kernel(nodes.V[nodes.keep], nodes.V).astype(np.float64)

    def deform(self, strength: float, data_strength: float = 0.0) -> Deformed:
        """Return the deformed kernel of one strength."""
        T = block_coefficients(self.system, self.factors, self.K_keep, strength, self.nodes.keep)
        return _deformed(self.nodes.V, T, self.K_keep, self.kernel)


class SparseSolver:
    """Exact, for any graph: LU."""

    def __init__(self, nodes: Nodes, kernel):
        self.nodes, self.kernel = nodes, kernel
        dtype = np.float64 if len(nodes.V) <= _DOUBLE else np.float32
        self.K = kernel(nodes.V, nodes.V).astype(dtype, copy=False)
        self.L = nodes.copies_laplacian()

    def deform(self, strength: float, data_strength: float = 0.0) -> Deformed:
        """Return the deformed kernel of one pair of strengths."""
        M = strength * self.L
        if self.nodes.data is not None:
            M = M + data_strength * self.nodes.data
        T = sparse_coefficients(self.K, sparse.csr_array(M), self.nodes.keep)
        return _deformed(self.nodes.V, T, self.K[self.nodes.keep], self.kernel)


class LowRankSolver:
    """With landmarks: memory and time linear in the number of nodes."""

    def __init__(self, nodes: Nodes, kernel, n_landmarks: int = 3000, seed: int = 0):
        if not n_landmarks >= 1:
            raise InputError(f"n_landmarks={n_landmarks}: allowed are numbers from 1.")
        self.nodes, self.kernel = nodes, kernel
        self.landmarks = choose_landmarks(len(nodes.V), n_landmarks, seed)
        Z = nodes.V[self.landmarks]
        self.root = lowrank_root(kernel(Z, Z))
        self.middle = lowrank_middle(
            self.root, _seminorm(kernel, Z, nodes.V, nodes.copies_laplacian())
        )
        self.data_middle = None
        if nodes.data is not None:
            self.data_middle = lowrank_middle(self.root, _seminorm(kernel, Z, nodes.V, nodes.data))
        self.anchors = np.concatenate([nodes.V[nodes.keep], Z])
        self.K_keep = kernel(nodes.V[nodes.keep], self.anchors).astype(np.float64)

    def deform(self, strength: float, data_strength: float = 0.0) -> Deformed:
        """Return the deformed kernel of one pair of strengths."""
        n_keep = len(self.nodes.keep)
        seminorm = strength * self.middle
        if self.data_middle is not None:
            seminorm += data_strength * self.data_middle
        low = lowrank_coefficients(self.root, seminorm, self.K_keep[:, n_keep:].T)
        T = np.concatenate([np.eye(n_keep), low])
        return _deformed(self.anchors, T, self.K_keep, self.kernel)


def choose_landmarks(n: int, n_landmarks: int, seed: int) -> np.ndarray:
    """Return sorted nodes drawn one from each of ``n_landmarks`` equal stretches.

    Copies of a sample follow each other, so every sample gets its share, at varying parameters.
    """
    p = min(n, n_landmarks)
    edges = np.linspace(0, n, p + 1)
    rng = np.random.default_rng(seed)
    drawn = (edges[:-1] + rng.random(p) * np.diff(edges)).astype(np.int64)
    return np.unique(np.minimum(drawn, n - 1))  # neighbouring stretches may share a node


def _seminorm(kernel, Z, V, L, block_nodes: int = 4096) -> np.ndarray:
    """Return ``K_zv L K_vz``, block of nodes by block of nodes."""
    edges = L.shape[0]
    out = np.zeros((len(Z), len(Z)))
    for first in range(0, edges, block_nodes):
        rows = sparse.csr_array(L[first : first + block_nodes])
        touched = np.unique(rows.indices)
        if not len(touched):
            continue
        right = rows[:, touched] @ kernel(V[touched], Z)
        out += kernel(Z, V[first : first + block_nodes]) @ right
    return (out + out.T) / 2


def _deformed(anchors, T, K_keep, kernel):
    gram = K_keep @ T
    return Deformed(anchors, T, (gram + gram.T) / 2, kernel)
