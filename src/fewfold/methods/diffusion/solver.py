"""The equations of diffusion on one graph, solved for any sources."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.linalg.laplacian import components, degrees

LINEAR = ("poisson", "spreading")
# Beyond this many rows preconditioning by coarser graphs saves time.
MANY_ROWS = 20_000


def conjugate_gradients(apply, B, *, tol: float, max_iter: int, project=None):
    """Solve ``apply(X) = B`` for all columns at once, ``apply`` symmetric, positive semidefinite.

    Parameters
    ----------
    apply : callable
        Takes and returns arrays of the shape of ``B``.
    B : ndarray of shape (n, m)
        In the range of the operator.
    tol : float
        Largest norm of the residual of a column relative to that of ``B``.
    max_iter : int
    project : callable, optional
        Removes null vectors of the operator in place, against rounding errors.

    Returns
    -------
    X : ndarray of shape (n, m)
    n_iterations : int
    residual : float
        Of the worst column, from ``B - apply(X)`` itself and not from the recursion.
    """
    X = np.zeros_like(B)
    goal = np.einsum("ij,ij->j", B, B)
    active = goal > 0
    R = B.copy()
    P = R.copy()
    squares = goal.copy()
    step = np.empty_like(B)
    n_iterations = 0
    while n_iterations < max_iter and np.any(squares > tol**2 * goal):
        AP = apply(P)
        curvature = np.einsum("ij,ij->j", P, AP)
        alpha = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0)
        X += np.multiply(P, alpha, out=step)
        R -= np.multiply(AP, alpha, out=step)
        if project is not None and n_iterations % 25 == 24:
            project(R)
        fresh = np.einsum("ij,ij->j", R, R)
        P *= np.divide(fresh, squares, out=np.zeros_like(fresh), where=squares > 0)
        P += R
        squares = fresh
        n_iterations += 1
    left = B - apply(X)
    if project is not None:
        project(left)
    found = np.sqrt(np.einsum("ij,ij->j", left, left)[active] / goal[active])
    return X, n_iterations, float(found.max()) if len(found) else 0.0


def solve_system(S, smooth, right, *, tol, max_iter, project=None, ladder=None):
    """Solve ``(I - S) V = right``; arguments as for `fewfold.linalg.multilevel.solve`."""
    if len(right) > MANY_ROWS:
        from fewfold.linalg.multilevel import solve

        return solve(S, smooth, right, tol=tol, max_iter=max_iter, project=project, ladder=ladder)
    return conjugate_gradients(
        lambda P: P - S @ P, right, tol=tol, max_iter=max_iter, project=project
    )


def normalized(W):
    """Return ``D^-1/2 W D^-1/2`` and ``D^-1/2`` (0 at isolated nodes)."""
    d = degrees(W)
    inverse = np.zeros(len(d))
    np.divide(1.0, np.sqrt(d, where=d > 0, out=np.ones(len(d))), out=inverse, where=d > 0)
    return scaled(W, inverse), inverse


def scaled(W, scale):
    """Scale rows and columns, entry by entry: several times faster than diagonal matrices."""
    data = np.repeat(scale, np.diff(W.indptr)) * W.data
    data *= scale[W.indices]
    return sparse.csr_array((data, W.indices, W.indptr), shape=W.shape)


def by_component(values, component):
    """Sum rows within each component."""
    n_components = component.max() + 1
    if n_components == 1:
        return values.sum(axis=0, keepdims=True)
    ones = sparse.csr_array(
        (np.ones(len(component)), (component, np.arange(len(component)))),
        shape=(n_components, len(component)),
    )
    return ones @ values


class Solver:
    """Solves a diffusion on one graph for sources at any rows.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    method : {"poisson", "spreading"}
    alpha : float
        Of label spreading.
    tol, max_iter : see `conjugate_gradients`

    Attributes
    ----------
    component : int ndarray of shape (n,)
    n_iterations : int
    residual : float
        The largest of all solves so far.

    Notes
    -----
    Responses are symmetric: that of row j to a source at i is that of i to a source at j. What
    speeds up solves on many rows is made once and kept.
    """

    def __init__(self, W, method="poisson", *, alpha=0.99, tol=1e-8, max_iter=3000):
        if method not in LINEAR:
            raise InputError(f"method={method!r}; allowed: {', '.join(LINEAR)}.")
        if not 0 < alpha < 1:
            raise InputError(f"alpha={alpha}; allowed: values between 0 and 1, both excluded.")
        W = sparse.csr_array(W, dtype=np.float64)
        self.method, self.alpha, self.tol, self.max_iter = method, alpha, tol, max_iter
        self.n_rows, self.n_iterations, self.residual = W.shape[0], 0, 0.0
        _, self.component = components(W)
        d = degrees(W)
        self._S, self._inverse = normalized(W)
        if method == "spreading":
            self._S.data *= alpha
        self._null = np.sqrt(d)
        self._volume = np.maximum(np.bincount(self.component, weights=d), 1e-300)
        self._ladder = None

    def _project(self, R, order=slice(None)):
        parts, along = self.component[order], self._null[order, None]
        along = along * (by_component(along * R, parts) / self._volume[:, None])[parts]
        R -= along

    def solve(self, rows) -> np.ndarray:
        """Return the responses of all rows to a unit source at each of some, (n, m)."""
        B = np.zeros((self.n_rows, len(rows)))
        B[rows, np.arange(len(rows))] = 1.0
        return self.respond(B)

    def respond(self, B) -> np.ndarray:
        """Return the responses to sources of any strength, (n, m); ``B`` is overwritten."""
        if self.method == "spreading":
            B *= 1 - self.alpha
            return self._solve(B)
        B *= self._inverse[:, None]
        self._project(B)
        V = self._solve(B, self._project)
        self._project(V)
        V *= self._inverse[:, None]
        return V

    def _solve(self, B, project=None):
        if self._ladder is None and self.n_rows > MANY_ROWS:
            from fewfold.linalg.multilevel import Ladder

            self._ladder = Ladder(self._S, self._null)
        V, n_iterations, residual = solve_system(
            self._S, self._null, B, tol=self.tol, max_iter=self.max_iter, project=project,
            ladder=self._ladder,
        )  # fmt: skip
        self.n_iterations = max(self.n_iterations, n_iterations)
        self.residual = max(self.residual, residual)
        return V
