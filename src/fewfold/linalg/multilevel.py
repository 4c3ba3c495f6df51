"""Systems ``(I - S) V = B`` of large graphs: conjugate gradients with a multigrid preconditioner.

Nodes are put together with their neighbors, again and again until some hundred are left; what
single edges smooth out slowly is solved on the coarser graphs (aggregation multigrid, Notay 2010).
That precedes each step of conjugate gradients, for a block of columns at once and in float32;
the residual is that of float64, and what is left of it is solved again (in float64 where float32
gets no further).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.linalg._chebyshev import BlockOperator

# Graphs of at most this many nodes are solved by a dense inverse.
_FEW_NODES = 800
# Where coarser graphs do not shrink to that (thousands of parts), so many steps of smoothing do.
_SMOOTHINGS = 10
# Part of the residual that one step of smoothing takes off.
_DAMPING = 0.75
# Columns solved at once: 24 were no faster, and took three times the memory.
_COLUMNS = 8
# A solution is carried this far before the residual is computed again in float64.
_REDUCTION = {np.float32: 1e-4, np.float64: 1e-8}
# Steps without halving the residual after which a solution gets no further.
_PATIENCE = {np.float32: 25, np.float64: 200}


class Ladder:
    """A graph and its coarser graphs, as an approximate inverse of ``I - S``.

    Parameters
    ----------
    S : csr_array of shape (n, n)
        Symmetric, non-negative, empty diagonal, eigenvalues within [-1, 1].
    smooth : ndarray of shape (n,)
        What ``I - S`` hardly changes: the square root of the degrees.

    Attributes
    ----------
    order : int64 ndarray of shape (n,)
        The rows so that those put together lie together, on every level: a product then reads
        nearby memory. All vectors given are in this order.
    """

    def __init__(self, S: sparse.csr_array, smooth: np.ndarray):
        graphs, groups = [(sparse.csr_array(S), np.asarray(smooth, np.float64))], []
        while graphs[-1][0].shape[0] > _FEW_NODES:
            coarser = _coarser(*graphs[-1])
            if coarser[0].shape[0] > 0.7 * graphs[-1][0].shape[0]:
                break
            graphs.append(coarser[:2])
            groups.append(coarser[2:])
        orders = [np.arange(graphs[-1][0].shape[0])]
        for group, _ in reversed(groups):
            place = np.append(np.empty(orders[0].size, np.int64), orders[0].size)  # -1: the end
            place[orders[0]] = np.arange(orders[0].size)
            orders.insert(0, np.argsort(place[group], kind="stable"))
        self.order, self.levels, self.inverse = orders[0], [], None
        for level, order in enumerate(orders):
            inside = graphs[level][0][order][:, order]
            self.levels.append([BlockOperator(inside), None, None])
            if level < len(groups):
                group, shares = groups[level]
                sizes = np.bincount(group[group >= 0], minlength=orders[level + 1].size)
                starts = np.concatenate([[0], np.cumsum(sizes[orders[level + 1]])])
                self.levels[-1][1:] = shares[order].astype(np.float32), starts
            graphs[level] = None
        if orders[-1].size <= _FEW_NODES:
            values, U = np.linalg.eigh(np.eye(orders[-1].size) - inside.toarray())
            known = values > 1e-10
            self.inverse = ((U[:, known] / values[known]) @ U[:, known].T).astype(np.float32)

    @property
    def finest(self) -> BlockOperator:
        """Products with ``S`` itself."""
        return self.levels[0][0]

    def correct(self, R: np.ndarray, level: int = 0) -> np.ndarray:
        """Return about ``(I - S)^-1 R`` for a float32 block, symmetric in ``R``."""
        from fewfold.linalg._aggregates import prolong, restrict

        op, shares, starts = self.levels[level]
        if shares is None and self.inverse is not None:
            return self.inverse @ R
        V = np.float32(_DAMPING) * R
        if shares is None:
            for _ in range(_SMOOTHINGS):
                V += np.float32(_DAMPING) * _residual(op, V, R)
            return V
        left = _residual(op, V, R)
        coarse = np.empty((len(starts) - 1, R.shape[1]), np.float32)
        restrict(left, shares, starts, coarse)
        found = self.correct(coarse, level + 1)
        if self.levels[level + 1][1] is not None:
            # Once more: a correction by sums of nodes falls short of the smooth part.
            found += self.correct(_residual(self.levels[level + 1][0], found, coarse), level + 1)
        prolong(found, shares, starts, V)
        left[:] = R
        op.step(V, left, 1.0, -1.0, -1.0)
        left *= np.float32(_DAMPING)
        V += left
        return V


def _residual(op, V, R):
    left = R.copy()
    op.step(V, left, 1.0, -1.0, -1.0)  # R - (V - S V)
    return left


def _coarser(S, smooth):
    """Return the graph of aggregates, its smooth vector, each node's aggregate and share."""
    from fewfold.linalg._aggregates import aggregate

    group, count = aggregate(S.indptr, S.indices, S.data)
    lengths = np.sqrt(np.bincount(group, smooth**2, count))
    shares = smooth / np.maximum(lengths, 1e-300)[group]
    n = len(group)
    P = sparse.csr_array((shares, group, np.arange(n + 1)), shape=(n, count))
    coarse = sparse.csr_array(P.T @ (S @ P))
    own = coarse.diagonal()
    # A whole component is one node, or a node has no edge: nothing is left to correct there.
    is_kept = (1 - own > 1e-9) & (lengths > 0)
    number = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
    scale = 1 / np.sqrt(1 - own[is_kept])
    coarse = sparse.csr_array(coarse[is_kept][:, is_kept])
    coarse.setdiag(0)
    coarse.eliminate_zeros()
    coarse.data *= np.repeat(scale, np.diff(coarse.indptr)) * scale[coarse.indices]
    group = number[group]
    shares = np.where(group >= 0, shares * np.append(scale, 0)[group], 0)
    return coarse, lengths[is_kept] / scale, group, shares


def solve(S, smooth, B, *, tol: float, max_iter: int, project=None, ladder=None):
    """Solve ``(I - S) V = B`` for all columns.

    Parameters
    ----------
    S, smooth : see `Ladder`
    B : ndarray of shape (n, m)
        In the range of ``I - S``.
    tol : float
        Largest norm of the residual of a column relative to that of ``B``.
    max_iter : int
    project : callable, optional
        Removes null vectors of ``I - S`` from a block of all rows, in place.
    ladder : Ladder, optional
        Of ``S`` and ``smooth``, if it was made before.

    Returns
    -------
    V : ndarray of shape (n, m)
    n_iterations : int
    residual : float
        Of the worst column, computed in float64.
    """
    ladder = Ladder(S, smooth) if ladder is None else ladder
    V, n_iterations, worst = np.zeros_like(B), 0, 0.0
    for start in range(0, B.shape[1], _COLUMNS):
        part = slice(start, min(start + _COLUMNS, B.shape[1]))
        width = part.stop - part.start
        # Columns beyond a multiple of eight would be multiplied one by one.
        right = np.zeros((len(B), width + -width % 8))
        right[:, :width] = B[ladder.order, part]
        found, iterations, residual = _solve_block(ladder, right, tol, max_iter, project)
        V[ladder.order, part] = found[:, :width]
        n_iterations, worst = max(n_iterations, iterations), max(worst, residual)
    return V, n_iterations, worst


def _solve_block(ladder, B, tol, max_iter, project):
    V, R, n_iterations = np.zeros_like(B), B.copy(), 0
    goal = np.sqrt(np.einsum("ij,ij->j", B, B))
    goal[goal == 0] = 1
    residual, dtype = 1.0, np.float32
    while residual > tol and n_iterations < max_iter:
        norms = np.sqrt(np.einsum("ij,ij->j", R, R))
        scale = np.where(norms > 0, norms, 1)
        wanted = max(_REDUCTION[dtype], 0.3 * tol / residual)
        step, count = _block_cg(ladder, (R / scale).astype(dtype), wanted, max_iter - n_iterations)
        n_iterations += count
        before, residual = residual, _take(ladder, V, step * scale, B, R, goal, project)
        if residual > before:  # worse than nothing
            residual = _take(ladder, V, -step * scale, B, R, goal, project)
        if residual > before / 10:
            # Parts that hang together by a thread are beyond float32; and float64 has its limits.
            if dtype == np.float64:
                break
            dtype = np.float64
    return V, n_iterations, residual


def _take(ladder, V, step, B, R, goal, project):
    """Take a step, set R to what is left and return its norm relative to the goal."""
    V += step
    R[:] = B
    ladder.finest.step(V, R, 1.0, -1.0, -1.0)
    if project is not None:
        project(R, ladder.order)
    return float((np.sqrt(np.einsum("ij,ij->j", R, R)) / goal).max())


def _block_cg(ladder, R, tol, max_iter):
    """Return about ``(I - S)^-1 R``, and the steps taken; columns of R have length 1."""
    from fewfold.linalg._aggregates import column_products, descend, turn

    def corrected(R):
        return ladder.correct(R.astype(np.float32, copy=False)).astype(R.dtype, copy=False)

    X, P = np.zeros_like(R), corrected(R)
    AP, along = np.empty_like(R), column_products(R, P)
    n_iterations, least, latest = 0, 1.0, 0
    while n_iterations - latest < _PATIENCE[R.dtype.type] and n_iterations < max_iter:
        AP[:] = P
        ladder.finest.step(P, AP, -1.0, 0.0, -1.0)  # P - S P
        curved = column_products(P, AP)
        steps = np.divide(along, curved, out=np.zeros_like(along), where=curved > 0)
        squares = descend(X, R, P, AP, steps.astype(R.dtype))
        n_iterations += 1
        if squares.max() <= tol**2:
            break
        if squares.max() < least / 4:
            least, latest = squares.max(), n_iterations
        Z = corrected(R)
        fresh = column_products(R, Z)
        factors = np.divide(fresh, along, out=np.zeros_like(along), where=along > 0)
        turn(P, Z, factors.astype(R.dtype))
        along = fresh
    return X, n_iterations
