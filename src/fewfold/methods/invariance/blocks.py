"""Eq. 4 where each sample is joined to its own copies only: Cholesky, quartered by symmetry.

With ``M = G G^T`` block diagonal, ``(I + M K)^-1 M = G (I + G^T K G)^-1 G^T``: the matrix to
factor is symmetric, its eigenvalues are at least 1, and K need not be held.

A ring of turned images has a symmetry: a quarter turn only moves pixels, so the kernel of two
copies stays as it is if both go a quarter of the ring on. Nodes then fall into ``order`` sectors,
``K[(p, s), (q, t)] = k_(t-s)[p, q]``, and a Fourier transform over the sectors splits the system
into ``order`` ones of a fraction of its size: with ``w = exp(2 pi i / order)``,
``K_f = sum_u k_u w^(f u)``, the same for L. Frequencies ``f`` and ``order - f`` are conjugate: one
of each pair is solved. With 24 turns this is exact, and a tenth of the work. Order 1 is the
general case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

# Kernel values held at once while rows are computed in blocks.
_BLOCK_VALUES = 2**24


def over_sectors(values, order: int, frequency: int) -> np.ndarray:
    """Return one Fourier coefficient over the sectors.

    Parameters
    ----------
    values : ndarray of shape (a, n, order, q)
    order, frequency : int

    Returns
    -------
    ndarray of shape (a, n q)
        Real for frequencies 0 and ``order / 2``.
    """
    real = np.zeros((values.shape[0], values.shape[1], values.shape[3]), values.dtype)
    imaginary = None if 2 * frequency % order == 0 else np.zeros_like(real)
    for u in range(order):
        angle = 2 * np.pi * frequency * u / order
        _add(real, values[:, :, u], np.cos(angle))
        if imaginary is not None:
            _add(imaginary, values[:, :, u], np.sin(angle))
    whole = real if imaginary is None else real + 1j * imaginary
    return whole.reshape(len(values), -1)


def _add(total, part, weight):
    """Add ``weight * part``; of 4 sectors, all weights are 0, 1 or -1."""
    if abs(weight) < 1e-12:
        return
    if abs(abs(weight) - 1) < 1e-12:
        (np.add if weight > 0 else np.subtract)(total, part, out=total)
    else:
        total += total.dtype.type(weight) * part


def frequencies(order: int) -> list[tuple[int, float]]:
    """Return the frequencies to solve, and the share of each in the result's real part."""
    half = range(order // 2 + 1)
    return [(f, (1 if 2 * f % order == 0 else 2) / order) for f in half]


def block_factors(L) -> np.ndarray:
    """Factor each sample's Laplacian, ``L_i = G_i G_i^H``.

    Parameters
    ----------
    L : ndarray of shape (n, m, m)
        Symmetric, or Hermitian.

    Returns
    -------
    ndarray of shape (n, m, r)
        The null vectors of every block are left out: ``r = m - 1`` for connected graphs.
    """
    if L.shape[1] == 0 or len(L) == 0:
        return np.zeros(L.shape)
    values, vectors = np.linalg.eigh(L)
    values = np.where(values > 1e-10 * max(values.max(), 1e-300), values, 0)
    factors = vectors * np.sqrt(values)[:, None, :]
    return factors[:, :, values.any(axis=0)]


def times_blocks(A, factors) -> np.ndarray:
    """Return ``A @ blockdiag(factors)`` for A of shape (a, n m), without forming the blocks."""
    n, m, r = factors.shape
    product = np.matmul(A.reshape(len(A), n, m).transpose(1, 0, 2), factors)
    return product.transpose(1, 0, 2).reshape(len(A), n * r)


def blocks_times(factors, B) -> np.ndarray:
    """Return ``blockdiag(factors) @ B`` for B of shape (n r, b)."""
    n, m, r = factors.shape
    return np.matmul(factors, B.reshape(n, r, B.shape[1])).reshape(n * m, B.shape[1])


def sector_factors(L, order: int) -> list[np.ndarray]:
    """Return the factors of each frequency's Laplacian blocks, (n, m / order, r) each."""
    n, m, _ = L.shape
    q = m // order
    rows = L[:, :q].reshape(n * q, 1, order, q)
    found = []
    for frequency, _share in frequencies(order):
        block = over_sectors(rows, order, frequency).reshape(n, q, q)
        found.append(block_factors((block + np.swapaxes(block.conj(), 1, 2)) / 2))
    return found


def block_systems(kernel, nodes, factors, n_copies: int, dtype=np.float64) -> list[np.ndarray]:
    """Return the lower blocks of ``G^H K G`` of each frequency, never holding K.

    Parameters
    ----------
    kernel : callable
    nodes : ndarray of shape (n m, n_features)
        Copies of sample 0, of sample 1, ...
    factors : list of ndarrays of shape (n, m / order, r)
        `sector_factors`.
    n_copies : int
        ``m``.
    dtype : float32 or float64

    Returns
    -------
    list of ndarrays of shape (n r, n r)
        Fortran order, for a Cholesky factorization in place; only the lower half is meant.
    """
    n, q = factors[0].shape[:2]
    order = n_copies // max(q, 1)
    complex_type = np.result_type(dtype, np.complex64)
    factors = [G.astype(complex_type if np.iscomplexobj(G) else dtype) for G in factors]
    out = [np.zeros((n * G.shape[2],) * 2, G.dtype, order="F") for G in factors]
    sectors = nodes.reshape(n, order, q, -1)
    step = max(1, _BLOCK_VALUES // max(1, n * n_copies * q))
    for first in range(0, n, step):
        last = min(first + step, n)
        rows = sectors[first:last, 0].reshape((last - first) * q, -1)
        K = kernel(rows, nodes[: last * n_copies]).astype(dtype, copy=False)
        K = K.reshape(len(rows), last, order, q)
        for system, G, (frequency, _) in zip(out, factors, frequencies(order)):
            r = G.shape[2]
            half = times_blocks(over_sectors(K, order, frequency), G[:last])
            left = np.swapaxes(G[first:last].conj(), 1, 2)
            system[first * r : last * r, : last * r] = blocks_times(left, half)
    return out


@dataclass(frozen=True)
class BlockSystem:
    """The systems of all frequencies, for strength 1, and what is solved for.

    Attributes
    ----------
    systems, factors : lists
        `block_systems`, `sector_factors`.
    right : list of ndarrays of shape (n r, n_keep)
        ``G^H`` times the base kernel between nodes and kept nodes, per frequency.
    n_copies : int
    keep : int ndarray
        The kept nodes: one copy of each sample, the same of all.
    """

    systems: list
    factors: list
    right: list
    n_copies: int
    keep: np.ndarray

    @property
    def order(self) -> int:
        """Number of sectors."""
        return self.n_copies // max(self.factors[0].shape[1], 1)

    def correction(self, strength: float) -> np.ndarray:
        """Return what the deformation takes from the kernel among the kept points."""
        total = np.zeros((len(self.keep),) * 2)
        for part, (_, share) in enumerate(frequencies(self.order)):
            root = self._root(part, strength)
            half = linalg.solve_triangular(root, self.right[part], lower=True, check_finite=False)
            total += strength * share * (half.conj().T @ half).real
        return total

    def coefficients(self, strength: float) -> np.ndarray:
        """Return the columns ``keep`` of ``(I + M K)^-1``, (n m, n_keep)."""
        n, q = self.factors[0].shape[:2]
        T = np.zeros((n, self.order, q, len(self.keep)))
        # The kept copies lie in this sector: phases are counted from there.
        own = int(self.keep[0] % self.n_copies) // q if strength > 0 else 0
        for part, (frequency, share) in enumerate(frequencies(self.order)):
            if not strength > 0:
                break
            root = self._root(part, strength)
            right = self.right[part]
            solved = linalg.cho_solve((root, True), strength * right, check_finite=False)
            columns = blocks_times(self.factors[part], solved).reshape(n, q, -1)
            for s in range(self.order):
                phase = np.exp(2j * np.pi * frequency * (s - own) / self.order)
                T[:, s] -= share * (phase * columns).real
        T = T.reshape(n * self.n_copies, len(self.keep))
        T[self.keep, np.arange(len(self.keep))] += 1
        return T

    def _root(self, part, strength):
        """Return the Cholesky factor of ``I + strength * system``."""
        system = self.systems[part]
        A = np.multiply(system, system.real.dtype.type(strength), order="F")
        A.ravel(order="K")[:: len(A) + 1] += 1
        return linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)


def block_system(kernel, nodes, L, keep, K_keep, *, order=1, dtype=np.float64) -> BlockSystem:
    """Prepare Eq. 4 for graphs of each sample's own copies.

    Parameters
    ----------
    kernel : callable
        With ``order`` above 1 it must not change under the symmetry.
    nodes : ndarray of shape (n m, n_features)
    L : ndarray of shape (n, m, m)
        Laplacians of the samples' copies.
    keep : int array of shape (n_keep,)
        Kept nodes: the same copy of several samples.
    K_keep : ndarray of shape (n_keep, n m)
        Base kernel between the kept nodes and all nodes.
    order : int
        Sectors, `fewfold.transforms.symmetry.ring_symmetry`.
    dtype : float32 or float64

    Returns
    -------
    BlockSystem
    """
    n, m, _ = L.shape
    factors = sector_factors(L, order)
    systems = block_systems(kernel, nodes, factors, m, dtype)
    own = int(keep[0] % m) // (m // order)
    seen = np.asarray(K_keep, dtype).reshape(len(keep), n, order, m // order)
    seen = np.roll(seen, -own, axis=2)
    right = []
    for system, G, (frequency, _) in zip(systems, factors, frequencies(order)):
        rows = times_blocks(over_sectors(seen, order, frequency), G.astype(system.dtype))
        right.append(np.asfortranarray(rows.conj().T))
    return BlockSystem(systems, factors, right, m, np.asarray(keep))
