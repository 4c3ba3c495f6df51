"""Exact answers of diffusion without some labels, from one solve per label.

Poisson learning and label spreading are linear in their sources. With G the responses to a unit
source at each labeled row, the answer for any subset of the labels is a product with G: every
leave-one-out and every fold answer, and each label's share in each row's answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.linalg.laplacian import components, degrees
from fewfold.methods.diffusion.spreading import conjugate_gradients

METHODS = ("poisson", "spreading")
_TOL, _MAX_ITER = 1e-8, 3000


@dataclass(frozen=True)
class Responses:
    """Answers of a diffusion to a unit source at each of some rows.

    Attributes
    ----------
    G : ndarray of shape (n, m)
    rows : int ndarray of shape (m,)
    component : int ndarray of shape (n,)
    method : str
    """

    G: np.ndarray
    rows: np.ndarray
    component: np.ndarray
    method: str

    def scores(self, kept, codes, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the diffusion's scores with some of the labels, and which rows they reach.

        Parameters
        ----------
        kept : bool ndarray of shape (m,)
        codes : int ndarray of shape (m,)
            Of all m labels.
        n_classes : int

        Returns
        -------
        values : ndarray of shape (n, n_classes)
        is_reached : bool ndarray of shape (n,)
        """
        strength = self.sources(kept, codes, n_classes)
        values = self.G[:, kept] @ strength[kept]
        place = self.component[self.rows[kept]]
        counts = np.zeros((self.component.max() + 1, n_classes))
        np.add.at(counts, (place, codes[kept]), 1.0)
        total = counts.sum(axis=1)
        if self.method == "poisson":
            # Labels of one class only: the sources vanish, and so does the equation.
            is_single = (total > 0) & (counts.max(axis=1) == total)
            inside = is_single[self.component]
            shares = counts[self.component[inside]] / total[self.component[inside], None]
            values[inside] = shares * max(np.abs(values).max(), 1.0)
        else:
            values = np.maximum(values, 0)
        return values, total[self.component] > 0

    def sources(self, kept, codes, n_classes: int) -> np.ndarray:
        """Return the sources at the labels, (m, n_classes); 0 where a label is left out."""
        Y = np.zeros((len(self.rows), n_classes))
        Y[kept, codes[kept]] = 1.0
        if self.method == "poisson":
            place = self.component[self.rows]
            for part in np.unique(place[kept]):
                inside = kept & (place == part)
                Y[inside] -= Y[inside].mean(axis=0)
        return Y

    def label_shares(self, row: int, codes, n_classes: int, answer: int) -> np.ndarray:
        """Return what each label adds to a row's score for a class; they sum to the score."""
        everything = np.ones(len(self.rows), bool)
        return self.G[row] * self.sources(everything, codes, n_classes)[:, answer]


class Solver:
    """Solves a diffusion on one graph for unit sources at any rows.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    method : {"poisson", "spreading"}
    alpha : float
        Of label spreading.
    tol : float
        Relative residual that counts as solved.

    Notes
    -----
    Responses are symmetric: that of row j to a source at i is that of i to a source at j.
    """

    def __init__(self, W, method: str = "poisson", *, alpha: float = 0.99, tol: float = _TOL):
        if method not in METHODS:
            raise InputError(f"method={method!r}: allowed are {', '.join(METHODS)}.")
        W = sparse.csr_array(W, dtype=np.float64)
        self.method, self.alpha, self.tol, self.n_rows = method, alpha, tol, W.shape[0]
        _, self.component = components(W)
        d = degrees(W)
        self._inverse = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)[:, None]
        scale = sparse.diags_array(self._inverse[:, 0])
        self._S = sparse.csr_array(scale @ W @ scale)
        self._null = np.sqrt(d)
        self._volume = np.maximum(np.bincount(self.component, weights=d), 1e-300)[:, None]
        self._sums = sparse.csr_array(
            (self._null, (self.component, np.arange(len(d)))), shape=(len(self._volume), len(d))
        )

    def _project(self, R):
        R -= self._null[:, None] * ((self._sums @ R) / self._volume)[self.component]

    def solve(self, rows) -> np.ndarray:
        """Return the responses of all rows to a unit source at each of some, (n, m).

        Costs about 100 products of the graph with an (n, m) array.
        """
        m = len(rows)
        B = np.zeros((self.n_rows, m))
        B[rows, np.arange(m)] = 1.0
        return self.respond(B)

    def respond(self, B) -> np.ndarray:
        """Return the responses to sources of any strength, (n, m); ``B`` is overwritten."""
        options = {"tol": self.tol, "max_iter": _MAX_ITER}
        if self.method == "spreading":
            B *= 1 - self.alpha
            return conjugate_gradients(lambda P: P - self.alpha * (self._S @ P), B, **options)[0]
        B *= self._inverse
        self._project(B)
        V, *_ = conjugate_gradients(lambda P: P - self._S @ P, B, project=self._project, **options)
        self._project(V)
        return self._inverse * V


def solve_responses(W, rows, method: str = "poisson", *, alpha: float = 0.99) -> Responses:
    """Solve a diffusion for a unit source at each of some rows; see `Solver`."""
    rows = np.asarray(rows, dtype=np.int64)
    solver = Solver(W, method, alpha=alpha)
    return Responses(solver.solve(rows), rows, solver.component, method)
