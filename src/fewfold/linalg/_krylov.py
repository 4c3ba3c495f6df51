"""Block Krylov spaces of a Chebyshev-filtered matrix, with Rayleigh-Ritz on the matrix itself."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from fewfold.linalg._chebyshev import BlockOperator, spectrum_sketch

# Filter degree in units of sqrt(top / cut), the natural scale of Chebyshev growth. A low degree
# makes for a larger space, whose orthogonalisation costs little only while vectors are few.
_DEGREE_FEW, _DEGREE = 5.0, 7.0
# Eigenvalues expected below the cut: so many times those wanted, and so many more.
_CUT_SHARE, _CUT_MORE = 1.2, 16
# The estimate of the residuals is of the space before the last block, which lowers them 20 to
# 1000 times (measured on MNIST, 10 to 200 vectors): near enough is this many times the tolerance.
_NEAR = 10.0
_FEW = 40  # vectors for which narrow blocks and a short look at the spectrum do
_LATE, _LATE_MOST = 8, 64  # fresh vectors that look for what the blocks have missed
_DENSE_NULL = 8  # so many null vectors stand in the basis, which is faster than sparse columns
_TURNS = 4  # of orthogonalisation: two do, unless little but rounding is left after the first
_ROWS = 8192  # rows handled at once where float32 is widened to float64


def block_width(wanted: int) -> int:
    """Return the block size: wide blocks use memory well, narrow ones make deeper spaces.

    For few vectors, ARPACK on the same filter was measured too: no faster in all (10 or 20 vectors
    of 60 000 points), and single vectors can miss copies of a multiple eigenvalue.
    """
    return 8 if wanted <= _FEW else 16 if wanted < 100 else 32


class KrylovSpace:
    """A growing basis that comes to hold the smallest eigenvectors of a matrix.

    Parameters
    ----------
    op : BlockOperator
    kernel : csr_array of shape (n, n_null)
        Known null vectors, kept out of the space.
    wanted : int
    tol : float
        Residual aimed at.
    rng : numpy Generator
    """

    def __init__(self, op: BlockOperator, kernel, wanted: int, tol: float, rng):
        self.op, self.wanted, self.tol, self.rng = op, wanted, tol, rng
        self.kernel = kernel
        n, null = kernel.shape
        values, counts, top = spectrum_sketch(op, rng, steps=30 if wanted <= _FEW else 60)
        # A little room: eigenvalues above `top` would be lifted together with the wanted ones.
        self.top = 1.01 * top
        self.aim = _CUT_SHARE * wanted + _CUT_MORE
        self._set_cut(float(np.interp(self.aim + null, counts, values)))
        self.width = min(block_width(wanted), n - null)
        # float32 rounding leaves residuals near 1e-6 of the largest eigenvalue.
        self.dtype = np.dtype(np.float32 if tol > 3e-6 * self.top else np.float64)
        self.n_restarts, self.n_late = 0, _LATE
        self.is_complete = False
        self._allocate(2 * wanted + 8 * self.width)

    def _set_cut(self, cut):
        """Set the end of the wanted part of the spectrum, and the degree that lifts it well."""
        self.cut = min(max(cut, 1e-5 * self.top), 0.9 * self.top)
        degree = _DEGREE_FEW if self.wanted <= _FEW else _DEGREE
        self.degree = int(np.clip(degree * np.sqrt(self.top / self.cut), 8, 400))

    def _allocate(self, capacity):
        n, null = self.kernel.shape
        self._fixed = null if null <= _DENSE_NULL else 0
        self._sparse_null = None if self._fixed == null else self.kernel.astype(self.dtype)
        # Columns are contiguous, so the leading part is one matrix; memory is taken as it fills.
        self.capacity, self.size = min(capacity + self.n_late, n - null), 0
        self.room = min(capacity, n - null)  # the rest is for late vectors
        self._basis = np.empty((n, self._fixed + self.capacity), self.dtype, order="F")
        if self._fixed:
            self._basis[:, :null] = self.kernel.toarray()
        self.Q = self._basis[:, self._fixed :]
        self._late = None

    def grow(self) -> None:
        """Add filtered blocks until the wanted vectors look converged, or the space is full."""
        while (n_lifted := self._grow_once()) is not None:
            # The sketch put the cut below vectors that are wanted. How fast eigenvalues become
            # more depends on the dimension of the data: as the cut to the power of half of it.
            factor = (self.aim / max(n_lifted, 1)) ** 1.5
            self._set_cut(self.cut * float(np.clip(factor, 1.3, 4.0)))
            self._allocate(self.room)

    def _grow_once(self):
        """Grow the space; stop early, with the number of vectors lifted, if those are too few."""
        T = np.zeros((self.capacity + self.width,) * 2)  # the filter within the space
        # The late vectors take part in the first two products: one wide one costs less than two.
        Y, late = self._apart(self._filtered(self._random(self.width + self.n_late)))
        Y, _, _ = self._orthonormalized(Y)
        self._append(Y)
        late, _, _ = self._orthonormalized(late)
        Z, self._late = self._apart(self._filtered(np.hstack([Y, late])))
        check, grown = int(1.15 * self.wanted), 1.5 * self.wanted + 2 * self.width
        while True:
            block = slice(self.size - Y.shape[1], self.size)
            Y, inside, beyond = self._orthonormalized(Z)
            T[: self.size, block] = inside
            is_near = False
            if self.size >= check:
                residual, n_lifted = self._estimate(T, beyond, block)
                is_near = residual <= _NEAR * self.tol
                if n_lifted < self.wanted and self.size >= grown and self.cut < 0.9 * self.top:
                    return n_lifted
                check = self.size + max(self.width, self.size // 12)
            if self.size + Y.shape[1] > self.room:
                return None
            self._append(Y)
            if is_near:
                return None
            Z = self._filtered(Y)

    def _estimate(self, T, beyond, block):
        """Bound the residuals of the wanted vectors by what the filter sends out of the space.

        Returns also how many of them the filter lifts above what it leaves below 1.
        """
        k = self.size
        upper = np.triu(T[:k, :k])
        M = upper + np.triu(upper, 1).T
        mu, U = np.linalg.eigh(M)
        mu, U = mu[-self.wanted :], U[:, -self.wanted :]
        leak = np.linalg.norm(beyond @ U[block], axis=0)
        lift = np.maximum(mu - 1, 1e-3)
        residual = float(np.max(leak / lift)) * (self.top + self.cut) / 2
        return residual, int(np.sum(mu > 1.05))

    def add_late_block(self) -> None:
        """Add fresh random vectors, well filtered.

        An eigenspace of more dimensions than a block is wide cannot be filled from one starting
        block. Whatever it lacks turns up here, as a Ritz value that was not there before.
        """
        self._n_before = self.size
        width = min(self.n_late, self.capacity - self.size)
        if width < 1:
            return
        late = self._late
        if late is None:
            Y, _, _ = self._orthonormalized(self._filtered(self._random(self.n_late)))
            late = self._filtered(Y)
        self._append(self._orthonormalized(np.ascontiguousarray(late[:, :width]))[0])

    def _random(self, width):
        return self.rng.standard_normal((self.op.shape[0], width), dtype=self.dtype)

    def _apart(self, Y):
        """Return the columns of the Krylov block and the late vectors beside them."""
        return np.ascontiguousarray(Y[:, : self.width]), np.ascontiguousarray(Y[:, self.width :])

    def ritz(self):
        """Return the smallest Ritz values, vectors (float64) and their residual norms.

        Sets `is_complete`: the late vectors have changed none of the values.
        """
        p, k = self.wanted, self._n_before
        M, root = self._projected()
        values, U = np.linalg.eigh(M)  # all: for some of many equal values LAPACK may fail
        self._ritz = linalg.solve_triangular(root, U[:, : self._kept()])
        self.is_complete = self.size == self.op.shape[0] - self.kernel.shape[1]
        if not self.is_complete and k >= p:
            before = np.linalg.eigvalsh(M[:k, :k])[:p]
            self.is_complete = bool(np.max(before - values[:p]) <= self.tol)
        V = self._vectors(self._ritz[:, :p])
        residuals = np.empty(p)
        for start in range(0, p, 64):
            part = slice(start, min(start + 64, p))
            block = np.ascontiguousarray(V[:, part])
            R = self.op.product(block)
            R -= block * values[part]
            residuals[part] = np.linalg.norm(R, axis=0)
        return values[:p], V, residuals

    def _vectors(self, U):
        V = np.empty((self.op.shape[0], U.shape[1]))
        for rows in self._row_blocks():
            V[rows] = self.Q[rows, : self.size].astype(np.float64, copy=False) @ U
        return V

    def _kept(self):
        return min(self.size, self.wanted + max(16, self.wanted // 8))

    def restart(self, V, residuals) -> None:
        """Keep the Ritz vectors, and add a short Krylov space of the worst of them."""
        bad = np.flatnonzero(residuals > 0.3 * self.tol)
        bad = bad[np.argsort(-residuals[bad], kind="stable")][: 2 * self.width]
        Y = np.ascontiguousarray(V[:, bad])
        kept = np.hstack([V, self._vectors(self._ritz[:, self.wanted :])])
        # Rounding may be what holds the residual up: after one try, compute in double.
        self.dtype = np.dtype(np.float64) if self.n_restarts else self.dtype
        self.n_restarts += 1
        if not self.is_complete:
            self.n_late = min(2 * self.n_late, _LATE_MOST)
        self._allocate(kept.shape[1] + 4 * len(bad))
        self._append(kept.astype(self.dtype))
        Y = Y.astype(self.dtype)
        while len(bad) and self.size + Y.shape[1] <= self.room:
            Y, _, _ = self._orthonormalized(self._filtered(Y))
            self._append(Y)

    def _filtered(self, Y):
        return self.op.filtered(np.ascontiguousarray(Y), self.degree, self.cut, self.top)

    def _append(self, Y):
        self.Q[:, self.size : self.size + Y.shape[1]] = Y
        self.size += Y.shape[1]

    def _orthonormalized(self, Z):
        """Make a block orthonormal to the space and in itself.

        Returns
        -------
        Z : the orthonormal block
        inside : its former coefficients in the space
        beyond : what turns the orthonormal block back into the rest
        """
        Q = self._basis[:, : self._fixed + self.size]
        inside, beyond = np.zeros((self.size, Z.shape[1])), np.eye(Z.shape[1])
        is_unit = False
        for _ in range(_TURNS):
            if self._sparse_null is not None:
                Z -= self._sparse_null @ (self._sparse_null.T @ Z)
            coefficients = Q.T @ Z
            Z -= Q @ coefficients
            inside += coefficients[self._fixed :] @ beyond
            # What a turn takes off a unit block shortens it by no more than the square of that.
            if is_unit and np.linalg.norm(coefficients) ** 2 <= np.finfo(Z.dtype).eps:
                break
            Z, back, is_unit = _unit_block(Z)
            beyond = back @ beyond
        return Z, inside, beyond

    def _row_blocks(self):
        n = self.op.shape[0]
        return [slice(a, min(a + _ROWS, n)) for a in range(0, n, _ROWS)]

    def _projected(self):
        """Return the matrix within the space made orthonormal, and the root of its Gram matrix.

        In float64. Leading parts of both are those of the space before its last vectors.
        """
        k = self.size
        H, G = np.zeros((k, k)), np.zeros((k, k))
        for start in range(0, k, 64):
            part = slice(start, min(start + 64, k))
            AX = self.op.product(np.ascontiguousarray(self.Q[:, part], dtype=np.float64))
            for rows in self._row_blocks():
                right = self.Q[rows, start:k].astype(np.float64, copy=False)
                H[start:k, part] += right.T @ AX[rows]
        for rows in self._row_blocks():
            block = self.Q[rows, :k].astype(np.float64, copy=False)
            G += block.T @ block
        root = linalg.cholesky(G)
        half = linalg.solve_triangular(root, np.tril(H) + np.tril(H, -1).T, trans="T")
        M = linalg.solve_triangular(root, half.T, trans="T")
        return (M + M.T) / 2, root


def _unit_block(Z):
    """Make columns orthonormal through their Gram matrix; return also the way back.

    Directions lost to rounding come out as noise, which serves as a new start. It is not of unit
    length yet: the last thing returned says that there are none such.
    """
    gram = (Z.T @ Z).astype(np.float64)
    norms = np.sqrt(np.diag(gram))
    norms[norms == 0] = 1
    gram /= np.outer(norms, norms)
    s, U = np.linalg.eigh((gram + gram.T) / 2)
    least = s[-1] * np.finfo(Z.dtype).eps
    is_unit = bool(s[0] > 10 * least)
    s = np.sqrt(np.maximum(s, least))
    forward = (U / s) / norms[:, None]
    back = (U * s).T * norms
    return Z @ forward.astype(Z.dtype), back, is_unit
