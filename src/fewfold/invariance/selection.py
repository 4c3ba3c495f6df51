"""Choosing kernel width, deformation and C by cross-validation on the labelled points only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fewfold.learners import folds_for

# Multiples of one over the median squared distance; C is over the centred kernel's mean diagonal.
WIDTHS = (1.0, 2.0, 4.0)
PENALTIES = (1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Choice:
    """Settings of a machine on a deformed kernel.

    Attributes
    ----------
    gamma : float
        Width of the base kernel.
    deformation, data_deformation : float
        Strengths of the graphs of copies and of the data.
    C : float
    error : float
        Mean error over the folds; NaN where nothing was chosen.
    """

    gamma: float
    deformation: float
    data_deformation: float
    C: float
    error: float = float("nan")


def penalty_scale(gram) -> float:
    """Return one over the mean of a centred kernel's diagonal: the scale of C.

    Centred, since a strong deformation leaves a kernel mostly its constant part, which the
    machine's bias makes worthless.
    """
    return 1.0 / max(float(np.mean(np.diag(gram)) - np.mean(gram)), 1e-12)


def cross_validate(gram, targets, penalties, folds) -> np.ndarray:
    """Return the mean fold error of an SVM on a kernel matrix for each C."""
    from sklearn.svm import SVC

    errors = np.zeros((len(folds), len(penalties)))
    for f, (train, test) in enumerate(folds):
        inner = np.ascontiguousarray(gram[np.ix_(train, train)])
        outer = gram[np.ix_(test, train)]
        for c, C in enumerate(penalties):
            machine = SVC(C=C, kernel="precomputed", cache_size=500).fit(inner, targets[train])
            errors[f, c] = np.mean(machine.predict(outer) != targets[test])
    return errors.mean(axis=0)


def search(
    solver_for: Callable, targets, grid: dict, *, n_folds: int, seed: int
) -> tuple[Choice, object] | None:
    """Try every combination; one deformed kernel serves all folds and all C.

    Parameters
    ----------
    solver_for : callable
        ``solver_for(gamma)`` returns a solver (`fewfold.invariance.solver.make_solver`).
    targets : int array of shape (n_labelled,)
    grid : dict
        Lists ``gamma``, ``deformation``, ``data_deformation``; ``C`` absolute, or None for
        `PENALTIES` over the centred mean diagonal.
    n_folds, seed : int

    Returns
    -------
    Choice and its Deformed, or None if a class has a single labelled point.

    Notes
    -----
    The copies of the points left out stay nodes of the graph, without a label, as those of
    unlabelled points would. The first of equals wins: grids run from smooth to wiggly.
    """
    folds = folds_for(targets, seed, n_folds)
    if folds is None:
        return None
    best, kernel = None, None
    for gamma in grid["gamma"]:
        solver = solver_for(gamma)
        for strength in grid["deformation"]:
            for data_strength in grid["data_deformation"]:
                deformed = solver.deform(strength, data_strength)
                scale = penalty_scale(deformed.gram)
                penalties = grid["C"] or [c * scale for c in PENALTIES]
                errors = cross_validate(deformed.gram, targets, penalties, folds)
                i = int(np.argmin(errors))
                if best is None or errors[i] < best.error - 1e-12:
                    best = Choice(gamma, strength, data_strength, penalties[i], float(errors[i]))
                    kernel = deformed
    return best, kernel
