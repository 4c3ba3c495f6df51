"""Exact leave-out predictions of diffusion, from one solve per label.

Poisson learning and label spreading are linear in their sources. With G the responses to a unit
source at each labeled row, the prediction for any subset of the labels is a product with G: every
leave-one-out and fold prediction, and each label's share in each row's prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.methods.diffusion.solver import MANY_ROWS, Solver


@dataclass(frozen=True)
class Responses:
    """Responses of a diffusion to a unit source at each of some rows.

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
            # Labels of one class only: the sources are zero.
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


def solve_responses(W, rows, method: str = "poisson", *, alpha: float = 0.99) -> Responses:
    """Solve a diffusion for a unit source at each of some rows; see `Solver`."""
    rows = np.asarray(rows, dtype=np.int64)
    # With many rows each digit of precision costs seconds; two digits are shown.
    solver = Solver(W, method, alpha=alpha, tol=1e-8 if W.shape[0] <= MANY_ROWS else 1e-5)
    return Responses(solver.solve(rows), rows, solver.component, method)
