"""The SNE term fast: float32, row blocks that stay in cache, all cores, one pass over n^2 pairs.

Write ``E_ij = exp(-|y_i - y_j|^2)``, ``Z_i = sum_j E_ij`` and ``S = P + P^T``. Then

    value      = sum p log p + sum_i |y_i|^2 s_i - y_i . (S Y)_i + sum_i log Z_i
    gradient_i = 2 [ s_i y_i - (S Y)_i ] - 2 [ y_i (1 + c_i) - (E Y)_i / Z_i - (E (Y / Z))_i ]

with ``c = E (1 / Z)``. Since E is symmetric, ``E (Y / Z)`` is a sum over row blocks of
``E_block^T (Y / Z)_block``: the block's own Z is known as soon as the block is, so each entry of E
is computed once, used three times in matrix products, and never leaves the cache.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from scipy.special import xlogy

# Bytes of one row block of E: two blocks fit the level-2 cache of current processors.
_BLOCK_BYTES = 2**19
# A point farther than 8 units from all others gets no repulsion instead of a division by 0.
_TINY = 1e-30


@contextmanager
def workers(n_jobs: int | None = None):
    """Yield a thread pool for gradients, with BLAS held to one thread per worker.

    The work is cut by n alone and summed in a fixed order, so results do not depend on ``n_jobs``.
    """
    from threadpoolctl import threadpool_limits

    count = n_jobs if n_jobs and n_jobs > 0 else len(os.sched_getaffinity(0))
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(count) as pool:
        yield pool


def row_chunks(n: int, size: int = 256, most: int = 32) -> list[slice]:
    """Cut n rows into chunks, by n alone."""
    count = max(1, min(most, round(n / size)))
    edges = np.linspace(0, n, count + 1).astype(int)
    return [slice(a, b) for a, b in zip(edges[:-1], edges[1:])]


class DenseSNE:
    """Value and gradient of ``sum_i KL(P_i || Q_i)`` for a dense P.

    Parameters
    ----------
    P : ndarray of shape (n, n)
        Rows sum to 1, diagonal 0.
    pool : ThreadPoolExecutor
        From `workers`.

    Notes
    -----
    O(n^2 d) a call, 4 n^2 bytes kept (P + P^T in float32).

    Examples
    --------
    >>> import numpy as np
    >>> with workers(1) as pool:
    ...     value, gradient = DenseSNE(1 - np.eye(2), pool)(np.array([[0.0], [1.0]]))
    >>> abs(value) < 1e-6
    True
    """

    def __init__(self, P: np.ndarray, pool: ThreadPoolExecutor):
        self.pool = pool
        self.n = len(P)
        self.S = np.add(P, P.T, dtype=np.float32)
        self.strength = self.S.sum(axis=1, dtype=np.float64)
        self.entropy = float(xlogy(P, P).sum(dtype=np.float64))
        self.chunks = row_chunks(self.n)
        rows = max(8, min(256, _BLOCK_BYTES // (4 * self.n)))
        longest = max(c.stop - c.start for c in self.chunks)
        self.rows = min(rows, longest)
        self._buffers = [np.empty((self.rows, self.n), np.float32) for _ in self.chunks]

    def __call__(self, Y: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient (n, d), both float64."""
        n, d = Y.shape
        Y = Y - Y.mean(axis=0)  # distances do not change, rounding errors do
        norms = np.einsum("ij,ij->i", Y, Y)
        work = _Work(Y, norms, n, d)
        jobs = [(self, work, i) for i in range(len(self.chunks))]
        parts = list(self.pool.map(_chunk, jobs)) if len(jobs) > 1 else [_chunk(jobs[0])]
        back = parts[0].astype(np.float64)
        for part in parts[1:]:
            back += part
        if work.shift:
            back += (work.Y1 / work.Z[:, None]).sum(axis=0, dtype=np.float64)
        pulled = work.SY.astype(np.float64)
        value = self.entropy + float(self.strength @ norms - np.einsum("ij,ij->", Y, pulled))
        value += float(np.log(work.Z).sum(dtype=np.float64))
        # back holds E (Y / Z) and, in its last column, E (1 / Z).
        gradient = (self.strength - 1 - back[:, d])[:, None] * Y
        gradient += work.EY / work.Z[:, None] + back[:, :d] - pulled
        return value, 2 * gradient


class _Work:
    """Float32 copies of Y in the shapes that the products need, and the outputs by row."""

    def __init__(self, Y, norms, n, d):
        # Near the collapsed start E is close to 1 everywhere, and sums of E in float32 would
        # drown the small differences that matter: there E - 1 is summed instead. (Not with a point
        # far out, whose own small sum would drown in turn.)
        self.shift = bool(norms.mean() < 0.25 and norms.max() < 4)
        Y32 = Y.astype(np.float32)
        norms = np.einsum("ij,ij->i", Y32, Y32)
        ones = np.ones(n, np.float32)
        # left @ right = 2 y_i.y_j - |y_i|^2 - |y_j|^2: minus the squared distance in one product.
        self.left = np.column_stack([2 * Y32, -norms, ones])
        self.right = np.ascontiguousarray(np.column_stack([Y32, ones, -norms]).T)
        self.Y1 = np.column_stack([Y32, ones])
        self.SY = np.empty((n, d), np.float32)
        self.EY = np.empty((n, d), np.float32)
        self.Z = np.empty(n)


def _chunk(job):
    sne, work, number = job
    chunk, buffer = sne.chunks[number], sne._buffers[number]
    d = work.SY.shape[1]
    np.matmul(sne.S[chunk], work.Y1[:, :d], out=work.SY[chunk])
    back = np.zeros((sne.n, d + 1), np.float32)
    for start in range(chunk.start, chunk.stop, sne.rows):
        rows = slice(start, min(start + sne.rows, chunk.stop))
        E = buffer[: rows.stop - rows.start]
        np.matmul(work.left[rows], work.right, out=E)
        np.exp(E, out=E)
        E.reshape(-1)[start :: sne.n + 1][: len(E)] = 0  # no point is its own neighbour
        if work.shift:
            E -= 1
        sums = E @ work.Y1
        work.EY[rows] = sums[:, :d]  # the rows of Y sum to 0, so the shift does not change it
        work.Z[rows] = sums[:, d] + (float(sne.n) if work.shift else _TINY)
        back += E.T @ (work.Y1[rows] / work.Z[rows, None]).astype(np.float32)
    return back
