"""Transductive SVM by gradient descent in the primal (Chapelle, Zien 2005).

Minimized over w, per class against the rest, with labeled rows l and unlabeled rows u:

    |w|^2 / 2 + C sum_l max(0, 1 - y f)^2 + C* sum_u exp(-3 f^2),   f = z.w + b,

with C* raised in steps from nearly nothing, and b such that the mean of f over the unlabeled
rows is ``2 share - 1``: with features that have mean zero over those rows, b is that number.

The same rows are often labeled in several ways (folds). All classes of all of them are trained at
once, one matrix product per step; each descends by itself, so its result does not depend on
which others are there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.methods.lds.descent import column_dots, minimize_columns

STEEPNESS = 3.0
N_STEPS = 8
_CELLS = 500_000  # rows times hyperplanes trained at once


@dataclass(frozen=True)
class Labeling:
    """Labels of some rows.

    Attributes
    ----------
    rows : int ndarray of shape (m,)
    signs : ndarray of shape (m, c)
        1 or -1: for each class against the rest.
    shares : ndarray of shape (c,)
        Share of each class among the unlabeled rows.
    """

    rows: np.ndarray
    signs: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True)
class Hyperplanes:
    """What is minimized, a column for each class of each labeling.

    Attributes
    ----------
    rows, columns, signs : ndarray of shape (n_pairs,)
        Labeled rows, in which column, and with which sign.
    means : ndarray of shape (p, n_columns)
        Of the features over the unlabeled rows.
    shift : ndarray of shape (n_columns,)
    last : ndarray of shape (n_columns,)
        C* in the end.
    """

    rows: np.ndarray
    columns: np.ndarray
    signs: np.ndarray
    means: np.ndarray
    shift: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, Z, labelings, C: float, unlabeled_weight: float) -> Hyperplanes:
        """Return the hyperplanes of some labelings of the rows of ``Z``."""
        n, rows, columns, signs, means, shift, last = len(Z), [], [], [], [], [], []
        for labeling in labelings:
            m, c = labeling.signs.shape
            rows.append(np.repeat(labeling.rows, c))
            columns.append(np.tile(len(shift) + np.arange(c), m))
            signs.append(labeling.signs.ravel())
            means += [unlabeled_mean(Z, labeling.rows)] * c
            shift += list(2 * np.asarray(labeling.shares, dtype=float) - 1)
            last += [C * unlabeled_weight * m / max(n - m, 1)] * c
        joined = (np.concatenate(parts) for parts in (rows, columns, signs))
        return cls(*joined, np.array(means).T, np.array(shift), np.array(last))

    def objective(self, W, Z, C: float, part: float) -> tuple[np.ndarray, np.ndarray]:
        """Return each column's objective and gradient, with ``part`` of the last C*."""
        F = Z @ W
        F += self.shift - column_dots(self.means, W)
        at = self.rows, self.columns
        slack = np.maximum(0, 1 - self.signs * F[at])
        bump = np.exp(-STEEPNESS * F**2)
        bump[at] = 0
        C_star = part * self.last
        value = 0.5 * column_dots(W, W) + C_star * bump.sum(axis=0)
        value += C * np.bincount(self.columns, slack**2, W.shape[1])
        F *= bump
        F *= -2 * STEEPNESS * C_star
        F[at] = -2 * C * self.signs * slack
        return value, W + Z.T @ F - self.means * F.sum(axis=0)


def unlabeled_mean(Z, labeled) -> np.ndarray:
    """Return the mean of the features over the unlabeled rows; of all, if there are none."""
    is_unlabeled = np.ones(len(Z), bool)
    is_unlabeled[labeled] = False
    return Z[is_unlabeled].mean(axis=0) if is_unlabeled.any() else Z.mean(axis=0)


def fit_tsvms(
    Z: np.ndarray,
    labelings: list[Labeling],
    *,
    C: float = 10.0,
    unlabeled_weight: float = 1.0,
    n_steps: int = N_STEPS,
    max_iter: int = 20,
) -> list[np.ndarray]:
    """Train one transductive SVM per class of each labeling.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Features. Scores are ``(Z - unlabeled_mean(Z, rows)) @ W + 2 shares - 1``.
    labelings : list of Labeling
    C : float
        Weight of a labeled row's squared hinge.
    unlabeled_weight : float
        What all unlabeled rows weigh together in the end, relative to all labeled ones.
    n_steps, max_iter : int
        Steps of the annealing (C* doubles twice in each), L-BFGS iterations per step.

    Returns
    -------
    list of ndarray of shape (p, c)

    Notes
    -----
    Costs about ``n_steps * max_iter * n * p * c`` multiplications for each labeling.
    """
    most = max(1, _CELLS // max(len(Z) * labelings[0].signs.shape[1], 1))
    if len(labelings) > most:
        options = {"C": C, "unlabeled_weight": unlabeled_weight,
                   "n_steps": n_steps, "max_iter": max_iter}  # fmt: skip
        parts = range(0, len(labelings), most)
        return [
            W for start in parts for W in fit_tsvms(Z, labelings[start : start + most], **options)
        ]
    planes = Hyperplanes.of(Z, labelings, C, unlabeled_weight)
    W = np.zeros(planes.means.shape)
    for part in (0.0, *(4.0 ** np.arange(1 - n_steps, 1))):
        W = minimize_columns(lambda V, part=part: planes.objective(V, Z, C, part), W, max_iter)
    ends = np.cumsum([labeling.signs.shape[1] for labeling in labelings])[:-1]
    return np.split(W, ends, axis=1)
