"""From nodes and graphs to a deformed kernel: which factorization, and for which sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.invariance.blocks import block_system
from fewfold.methods.invariance.deformed import (
    Deformed,
    lowrank_coefficients,
    lowrank_middle,
    lowrank_root,
    sparse_coefficients,
)
from fewfold.methods.invariance.graphs import block_diagonal

SOLVERS = ("auto", "exact", "lowrank")
# Above these many nodes "auto" turns to landmarks: a Cholesky (LU) factorization of that size
# takes about a minute and 3 GB on two cores.
EXACT_BLOCKS = 20_000
EXACT_SPARSE = 15_000
# With so many sectors the same time and memory suffice for more nodes.
_GAIN = {1: 1.0, 2: 1.5, 4: 2.0}
# Larger systems are held in float32: half the time, and on rotated digits the same decisions to
# four digits. Base kernels come in float32 anyway.
_DOUBLE = 2000


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
    order : int
        Sectors of the rings of copies that kernels of pixels cannot tell apart
        (`fewfold.transforms.symmetry.ring_symmetry`).
    """

    V: np.ndarray
    keep: np.ndarray
    blocks: np.ndarray | None = None
    L: sparse.csr_array | None = None
    data: sparse.csr_array | None = None
    order: int = 1

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
        "auto" takes "exact" up to about 20 000 nodes (40 000 with four sectors, 15 000 if a graph
        joins the samples).
    n_landmarks : int
    seed : int
        Of the choice of landmarks.
    """
    if solver not in SOLVERS:
        raise InputError(f"solver={solver!r} is unknown. Choose one of {', '.join(SOLVERS)}.")
    limit = EXACT_SPARSE
    if nodes.is_block_diagonal:
        limit = EXACT_BLOCKS * _GAIN[_sectors(nodes, kernel)]
    if solver == "lowrank" or (solver == "auto" and len(nodes.V) > limit):
        return LowRankSolver(nodes, kernel, n_landmarks, seed)
    return BlockSolver(nodes, kernel) if nodes.is_block_diagonal else SparseSolver(nodes, kernel)


def _sectors(nodes, kernel):
    """Return the symmetry that a kernel keeps; of a user's function nothing is known."""
    return nodes.order if getattr(kernel, "kind", None) in ("rbf", "linear") else 1


class BlockSolver:
    """Exact, for graphs that join each sample to its own copies only: Cholesky."""

    def __init__(self, nodes: Nodes, kernel):
        self.nodes, self.kernel = nodes, kernel
        self.K_keep = kernel(nodes.V[nodes.keep], nodes.V)
        self.system = block_system(
            kernel,
            nodes.V,
            nodes.blocks,
            nodes.keep,
            self.K_keep,
            order=_sectors(nodes, kernel),
            dtype=np.float64 if len(nodes.V) <= _DOUBLE else np.float32,
        )

    def gram(self, strength: float, data_strength: float = 0.0) -> np.ndarray:
        """Return the deformed kernel among the kept points."""
        plain = self.K_keep[:, self.nodes.keep].astype(np.float64)
        if not strength > 0:
            return plain
        deformed = plain - self.system.correction(strength)
        return (deformed + deformed.T) / 2

    def deform(self, strength: float, data_strength: float = 0.0) -> Deformed:
        """Return the deformed kernel of one strength."""
        T = self.system.coefficients(strength)
        return _deformed(self.nodes.V, T, self.K_keep, self.kernel)


class SparseSolver:
    """Exact, for any graph: LU."""

    def __init__(self, nodes: Nodes, kernel):
        self.nodes, self.kernel = nodes, kernel
        dtype = np.float64 if len(nodes.V) <= _DOUBLE else np.float32
        self.K = kernel(nodes.V, nodes.V).astype(dtype, copy=False)
        self.L = nodes.copies_laplacian()

    def gram(self, strength: float, data_strength: float = 0.0) -> np.ndarray:
        """Return the deformed kernel among the kept points."""
        return self.deform(strength, data_strength).gram

    def deform(self, strength: float, data_strength: float = 0.0) -> Deformed:
        """Return the deformed kernel of one pair of strengths."""
        M = strength * self.L
        if self.nodes.data is not None:
            M = M + data_strength * self.nodes.data
        T = sparse_coefficients(self.K, sparse.csr_array(M), self.nodes.keep)
        return _deformed(self.nodes.V, T, self.K[self.nodes.keep], self.kernel)


class LowRankSolver:
    """In a subspace of functions that can be smooth: Cholesky of its dimension.

    The subspace is spanned by sums of kernel functions over each sample's copies with smooth
    weights (the first eigenvectors of its graph), and over nodes near drawn nodes of a data
    graph. Plain landmarks would not do: a few bumps add up to no function that is constant along
    the copies. Without deformation it is the plain kernel.
    """

    def __init__(self, nodes: Nodes, kernel, n_landmarks: int = 3000, seed: int = 0):
        if not n_landmarks >= 1:
            raise InputError(f"n_landmarks={n_landmarks}; allowed: numbers from 1.")
        self.nodes, self.kernel = nodes, kernel
        self.U = smooth_basis(nodes, n_landmarks, seed)
        KU = _times_basis(kernel, nodes.V, self.U)
        gram = self.U.T @ KU
        self.root = lowrank_root((gram + gram.T) / 2)
        self.middle = lowrank_middle(self.root, KU, nodes.copies_laplacian())
        self.data_middle = None
        if nodes.data is not None:
            self.data_middle = lowrank_middle(self.root, KU, nodes.data)
        self.KU_keep = KU[nodes.keep].T.astype(np.float64)
        self.K_keep = kernel(nodes.V[nodes.keep], nodes.V)

    def gram(self, strength: float, data_strength: float = 0.0) -> np.ndarray:
        """Return the deformed kernel among the kept points."""
        return self.deform(strength, data_strength).gram

    def deform(self, strength: float, data_strength: float = 0.0) -> Deformed:
        """Return the deformed kernel of one pair of strengths."""
        seminorm = strength * self.middle
        if self.data_middle is not None:
            seminorm += data_strength * self.data_middle
        if not seminorm.any():
            T = _unit_columns(self.nodes.keep, len(self.nodes.V)).toarray()
        else:
            T = self.U @ lowrank_coefficients(self.root, seminorm, self.KU_keep)
        return _deformed(self.nodes.V, T, self.K_keep, self.kernel)


def smooth_basis(nodes: Nodes, n_landmarks: int, seed: int) -> sparse.csr_array:
    """Return weights over the nodes, a column per function of the low-rank subspace.

    Parameters
    ----------
    nodes : Nodes
    n_landmarks : int
        Columns: of each sample as many eigenvectors as fit, at least one; diffused nodes where
        there are no copies.
    seed : int

    Returns
    -------
    csr_array of shape (n_nodes, n_columns)
    """
    n_nodes = len(nodes.V)
    if nodes.blocks is None:
        return diffused_columns(nodes.L, choose_landmarks(n_nodes, n_landmarks, seed))
    n, m, _ = nodes.blocks.shape
    loose = n_nodes - n * m
    # Nodes without copies get their share of the columns, but no more than half.
    singles = min(loose, n_landmarks // 2)
    q = int(np.clip((n_landmarks - singles) // max(n, 1), 1, m))
    modes = np.linalg.eigh(nodes.blocks)[1][:, :, :q]
    rows = np.arange(n * m).reshape(n, m, 1).repeat(q, axis=2)
    columns = np.arange(n * q).reshape(n, 1, q).repeat(m, axis=1)
    U = sparse.csr_array((modes.ravel(), (rows.ravel(), columns.ravel())), shape=(n_nodes, n * q))
    if not loose:
        return U
    drawn = n * m + choose_landmarks(loose, singles, seed)
    return sparse.hstack([U, diffused_columns(nodes.data, drawn)], format="csr")


def diffused_columns(L, rows, steps: int = 3) -> sparse.csr_array:
    """Return unit columns at some nodes after steps of a lazy random walk on a graph.

    Parameters
    ----------
    L : csr_array of shape (n, n)
        A graph Laplacian.
    rows : int array of shape (p,)
    steps : int

    Returns
    -------
    csr_array of shape (n, p)
    """
    out = _unit_columns(rows, L.shape[0])
    d = L.diagonal()
    with np.errstate(divide="ignore"):
        half = sparse.diags_array(np.where(d > 0, 0.5 / d, 0.0))
    for _ in range(steps):
        out = sparse.csr_array(out - L @ (half @ out))
    return out


def _unit_columns(rows, n_nodes):
    return sparse.csr_array(
        (np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(n_nodes, len(rows))
    )


def choose_landmarks(n: int, n_landmarks: int, seed: int) -> np.ndarray:
    """Return sorted nodes drawn one from each of ``n_landmarks`` equal stretches of 0 .. n - 1."""
    p = max(0, min(n, n_landmarks))
    edges = np.linspace(0, n, p + 1)
    rng = np.random.default_rng(seed)
    drawn = (edges[:-1] + rng.random(p) * np.diff(edges)).astype(np.int64)
    return np.unique(np.minimum(drawn, n - 1))  # neighboring stretches may share a node


def _times_basis(kernel, V, U, block_values: int = 2**25) -> np.ndarray:
    """Return ``K U`` as float32, a block of rows of K at a time."""
    out = np.empty((len(V), U.shape[1]), np.float32)
    across = sparse.csr_array(U.T.astype(np.float32))
    step = max(1, block_values // len(V))
    for first in range(0, len(V), step):
        block = kernel(V, V[first : first + step]).astype(np.float32, copy=False)
        out[first : first + step] = (across @ block).T
    return out


def _deformed(anchors, T, K_keep, kernel):
    gram = K_keep @ T
    return Deformed(anchors, T, (gram + gram.T) / 2, kernel)
