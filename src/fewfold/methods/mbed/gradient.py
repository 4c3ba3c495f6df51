"""Fast SNE term: float32, cache-sized tiles, all cores, each pair of points once.

Write ``D_ij = |y_i - y_j|^2``, ``E = exp(-D)``, ``Z_i = sum_j E_ij`` and ``S = P + P^T``. Then

    value      = sum p log p + sum_{i<j} S_ij D_ij + sum_i log Z_i
    gradient_i = 2 sum_j R_ij (y_i - y_j),    R_ij = S_ij - E_ij (1 / Z_i + 1 / Z_j)

D, E, S and R are symmetric, so only the tiles on and above the diagonal are kept and computed. The
first pass makes E with the sums of its rows and columns; once all Z are known, the second turns
each tile of E into R and multiplies it by Y from both sides: two products where ``S Y``, ``E Y``
and ``E (Y / Z)`` taken apart would be six.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import xlogy

from fewfold.linalg._chebyshev import thread_count

# Bytes of one row block of E: two blocks fit the level-2 cache of current processors.
_BLOCK_BYTES = 2**19
# Rows of a tile: three tiles (E, S, 1 / Z_i + 1 / Z_j) fit the level-2 cache.
_TILE_ROWS = 250
# Tiles of fewer rows than this in all are not worth a second thread.
_MIN_SHARED = 800
# A point farther than 8 units from all others gets no repulsion instead of a division by 0.
_TINY = 1e-30


class _Pool(ThreadPoolExecutor):
    """A thread pool with a known size; with one thread, work runs in the caller's thread.

    Handing tiles of a tenth of a millisecond to a thread and back costs a third of their time.
    """

    def __init__(self, count):
        super().__init__(count)
        self.count = count

    def map(self, task, *items):
        return super().map(task, *items) if self.count > 1 else map(task, *items)


@contextmanager
def workers(n_jobs: int | None = None):
    """Yield a thread pool for gradients, with BLAS held to one thread per worker.

    The work is cut by n alone and summed in a fixed order, so results do not depend on ``n_jobs``.
    """
    from threadpoolctl import threadpool_limits

    with (
        threadpool_limits(1, user_api="blas"),
        _Pool(thread_count(n_jobs)) as pool,
    ):
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
    pool : thread pool
        From `workers`.

    Notes
    -----
    O(n^2 d) a call, 4 n^2 bytes kept (the upper halves of P + P^T and of E in float32).

    Examples
    --------
    >>> import numpy as np
    >>> with workers(1) as pool:
    ...     value, gradient = DenseSNE(1 - np.eye(2), pool)(np.array([[0.0], [1.0]]))
    >>> abs(value) < 1e-6
    True
    """

    def __init__(self, P: np.ndarray, pool: _Pool):
        self.pool = pool
        self.n = len(P)
        self.entropy = float(xlogy(P, P).sum(dtype=np.float64))
        chunks = row_chunks(self.n, _TILE_ROWS, most=1000)
        self.tiles = [_Tile(P, a, b) for a, b in combinations_with_replacement(chunks, 2)]
        # Consecutive tiles share rows; a job of several tiles costs one dispatch. Sums are
        # made tile by tile, so the number of jobs does not change them.
        jobs = 1 if self.n < _MIN_SHARED else min(4 * pool.count, len(self.tiles))
        edges = np.linspace(0, len(self.tiles), jobs + 1).astype(int)
        self.jobs = [self.tiles[a:b] for a, b in zip(edges[:-1], edges[1:])]

    def __call__(self, Y: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient (n, d), both float64."""
        d = Y.shape[1]
        Y = Y - Y.mean(axis=0)  # distances do not change, rounding errors do
        points = _Points(Y)
        stretch, Z = 0.0, np.full(self.n, float(self.n) if points.shift else _TINY)
        for tile, (stretched, rows, columns) in self._all(_Tile.exponentiate, points):
            stretch += stretched
            Z[tile.rows] += rows
            if columns is not None:
                Z[tile.columns] += columns
        inverse = (1 / Z).astype(np.float32)
        pulled = np.zeros((self.n, d + 1))
        for tile, (rows, columns) in self._all(_Tile.pull, points.Y1, inverse):
            pulled[tile.rows] += rows
            if columns is not None:
                pulled[tile.columns] += columns
        value = self.entropy + stretch + float(np.log(Z).sum())
        return value, 2 * (pulled[:, d:] * Y - pulled[:, :d])

    def _all(self, task, *args):
        """Run a task on every tile; yield (tile, result) in the order of the tiles."""

        def run(tiles):
            return [(tile, task(tile, *args)) for tile in tiles]

        parts = self.pool.map(run, self.jobs) if len(self.jobs) > 1 else map(run, self.jobs)
        for part in parts:
            yield from part


class _Points:
    """Float32 copies of Y in the shapes that the products need."""

    def __init__(self, Y):
        norms = np.einsum("ij,ij->i", Y, Y)
        # Near the collapsed start E is close to 1 everywhere, and sums of E in float32 would
        # lose the small differences that matter: there E - 1 is summed instead. (Not with a point
        # far out, whose own small sum would be lost in turn.)
        self.shift = bool(norms.mean() < 0.25 and norms.max() < 4)
        Y = Y.astype(np.float32)
        norms = np.einsum("ij,ij->i", Y, Y)
        ones = np.ones(len(Y), np.float32)
        # left @ right = 2 y_i.y_j - |y_i|^2 - |y_j|^2: minus the squared distance in one product.
        self.left = np.column_stack([2 * Y, -norms, ones])
        self.right = np.ascontiguousarray(np.column_stack([Y, ones, -norms]).T)
        self.Y1 = np.column_stack([Y, ones])


class _Tile:
    """The pairs of two ranges of points: S, and E that becomes R."""

    def __init__(self, P, rows, columns):
        self.rows, self.columns = rows, columns
        self.diagonal = rows == columns
        self.S = np.add(P[rows, columns], P[columns, rows].T, dtype=np.float32)
        self.E = np.empty_like(self.S)

    def exponentiate(self, points):
        """Make E; return sum S D and the sums of the rows and columns of E (or of E - 1)."""
        from fewfold.methods.mbed._tiles import LOWEST, exponentiate

        E = np.matmul(points.left[self.rows], points.right[:, self.columns], out=self.E)
        rows, columns = np.empty((2, max(E.shape)), np.float32)
        rows, columns = rows[: E.shape[0]], columns[: E.shape[1]]
        if self.diagonal:
            np.fill_diagonal(E, LOWEST)  # no point is its own neighbor
        stretched = exponentiate(E, self.S, np.float32(points.shift), rows, columns)
        return (stretched / 2, rows, None) if self.diagonal else (stretched, rows, columns)

    def pull(self, Y1, inverse):
        """Turn E into R; return its products with (Y, 1) for the rows and for the columns."""
        from fewfold.methods.mbed._tiles import repel

        R = self.E
        repel(R, self.S, inverse[self.rows], inverse[self.columns])
        rows = R @ Y1[self.columns]
        return rows, None if self.diagonal else R.T @ Y1[self.rows]
