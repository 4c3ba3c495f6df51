"""The SNE term for large n: sparse P, and normalizers from near neighbors plus a sample.

    Z_i = sum_{j near i} E_ij + w_i sum_{k sampled, not near} E_ik,   w_i = far / sampled far

Near means: joined to i in ``S = P + P^T``. These pairs, which carry most of Z, are exact; the far
ones are estimated from m sampled points. The repulsion on i is estimated over the same columns,

    sum_j (y_i - y_j) E_ij (1 / Z_i + 1 / Z_j),

so that sampled points are pushed no more than others. It is an estimate of the true gradient, not
the exact gradient of the estimated value; `conjugate_gradients` therefore trusts slopes only.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from fewfold.methods.mbed.gradient import _BLOCK_BYTES, row_chunks


class SampledSNE:
    """Estimated value and gradient of ``sum_i KL(P_i || Q_i)`` for a sparse P.

    Parameters
    ----------
    P : csr_array of shape (n, n)
        Rows sum to 1, empty diagonal.
    pool : ThreadPoolExecutor
        From `fewfold.methods.mbed.gradient.workers`.
    n_samples : int
        Columns sampled; with ``n_samples >= n`` the result is exact.
    rng : numpy Generator
        Draws the sample, again at each `resample`.

    Notes
    -----
    O(n (n_samples + neighbors) d) a call.
    """

    def __init__(self, P, pool: ThreadPoolExecutor, n_samples: int, rng: np.random.Generator):
        self.pool, self.rng = pool, rng
        self.n = P.shape[0]
        self.n_samples = min(n_samples, self.n)
        S = sparse.csr_array(P + P.T).astype(np.float32)
        S.sort_indices()
        self.S = S
        self.strength = np.asarray(S.sum(axis=1), np.float64).ravel()
        self.entropy = float(xlogy(P.data, P.data).sum(dtype=np.float64))
        self.n_near = np.diff(S.indptr)
        marks = sparse.csr_array((np.ones(S.nnz, bool), S.indices, S.indptr), shape=S.shape)
        self.marks = sparse.csr_array(marks + sparse.eye_array(self.n, dtype=bool, format="csr"))
        self.row_of = np.repeat(np.arange(self.n), self.n_near)
        rows = max(8, min(512, _BLOCK_BYTES // (4 * self.n_samples)))
        self.rows = min(rows, self.n)
        self.resample()

    def resample(self) -> None:
        """Draw a new sample of columns."""
        self.sample = np.sort(self.rng.choice(self.n, self.n_samples, replace=False))
        # Entries of the sampled columns that are near (or the point itself), and so counted apart.
        self.apart = sparse.csr_array(self.marks[:, self.sample])
        self.apart_sampled = sparse.csr_array(self.apart[self.sample])
        far_sampled = self.n_samples - np.diff(self.apart.indptr)
        far = self.n - 1 - self.n_near
        self.weight = np.where(far_sampled > 0, far / np.maximum(far_sampled, 1), 0)

    def __call__(self, Y: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the estimated value and gradient (n, d), both float64."""
        d = Y.shape[1]
        Y = Y - Y.mean(axis=0)
        Y32 = Y.astype(np.float32)
        near = self._near(Y32)
        Z_near = np.asarray(near.sum(axis=1), np.float64).ravel()
        picked = self.sample
        Y1 = np.column_stack([Y32, np.ones(self.n, np.float32)])
        first = self._far(Y32[picked], Y32[picked], self.apart_sampled, Y1[picked, d:])
        Z = Z_near[picked] + self.weight[picked] * first[:, 0]
        inverse = (1 / np.maximum(Z, 1e-30)).astype(np.float32)
        far = self._far(Y32, Y32[picked], self.apart, Y1[picked], inverse)
        far *= self.weight[:, None]
        Z = np.maximum(Z_near + far[:, d], 1e-30)
        close = near @ Y1
        near.data *= (1 / Z).astype(np.float32)[self.S.indices]
        sums = far + np.hstack([close, near @ Y1])
        pulled = (self.S @ Y32).astype(np.float64)
        norms = np.einsum("ij,ij->i", Y, Y)
        value = self.entropy + float(self.strength @ norms - np.einsum("ij,ij->", Y, pulled))
        value += float(np.log(Z).sum())
        EY, EYZ, EZ = sums[:, :d], sums[:, d + 1 : 2 * d + 1], sums[:, 2 * d + 1]
        gradient = (self.strength - sums[:, d] / Z - EZ)[:, None] * Y
        gradient += EY / Z[:, None] + EYZ - pulled
        return value, 2 * gradient

    def _near(self, Y32):
        """Kernel between near points, in the structure of S."""
        values = np.empty(self.S.nnz, np.float32)

        def part(span):
            difference = Y32[self.row_of[span]]
            difference -= Y32[self.S.indices[span]]
            np.exp(-np.einsum("ij,ij->i", difference, difference), out=values[span])

        list(self.pool.map(part, row_chunks(self.S.nnz, size=2**15, most=256)))
        return sparse.csr_array((values, self.S.indices, self.S.indptr), shape=self.S.shape)

    def _far(self, left, right, apart, values, inverse=None):
        """Sum ``E @ values`` over sampled columns, those in ``apart`` left out; float64.

        With ``inverse`` (1 / Z of the columns) also ``(E / Z) @ values``, the columns' own
        neighbor probabilities, held to at most 1: a lonely column whose Z was
        estimated from few points must not push like many.
        """
        left_norms = np.einsum("ij,ij->i", left, left)
        right_norms = np.einsum("ij,ij->i", right, right)
        ones = np.ones((len(left), 1), np.float32)
        A = np.hstack([2 * left, -left_norms[:, None], ones])
        B = np.ascontiguousarray(np.column_stack([right, ones[: len(right)], -right_norms]).T)
        width = values.shape[1]
        sums = np.empty((len(left), width if inverse is None else 2 * width))

        def part(chunk):
            buffer = np.empty((self.rows, len(right)), np.float32)
            for start in range(chunk.start, chunk.stop, self.rows):
                stop = min(start + self.rows, chunk.stop)
                E = np.matmul(A[start:stop], B, out=buffer[: stop - start])
                np.exp(np.minimum(E, 0, out=E), out=E)
                span = slice(apart.indptr[start], apart.indptr[stop])
                counts = np.diff(apart.indptr[start : stop + 1])
                E[np.repeat(np.arange(stop - start), counts), apart.indices[span]] = 0
                sums[start:stop, :width] = E @ values
                if inverse is not None:
                    E *= inverse
                    sums[start:stop, width:] = np.minimum(E, 1, out=E) @ values

        list(self.pool.map(part, row_chunks(len(left), most=256)))
        return sums
