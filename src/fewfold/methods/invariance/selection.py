"""Choosing kernel width, deformation and C by cross-validation on the labeled points only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fewfold.svm.folds import stratified_folds
from fewfold.svm.search import count_errors

# Multiples of one over the median squared distance; C is over the centered kernel's mean diagonal.
WIDTHS = (1.0, 2.0, 4.0)
PENALTIES = (1.0, 10.0, 100.0)
# Strengths of the copies' graphs, gamma of Eq. 4.
STRENGTHS = (10.0, 100.0, 1000.0)
# The paper has one, and does not print it.
VARIANTS = {"default": {"deformation": STRENGTHS}, "published": {"deformation": 100.0}}


@dataclass(frozen=True)
class Choice:
    """Settings of an SVM on a deformed kernel.

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
    """Return one over the mean of a centered kernel's diagonal: the scale of C.

    Centered, since a strong deformation leaves a kernel mostly its constant part, which the
    SVM's bias makes worthless.
    """
    return 1.0 / max(float(np.mean(np.diag(gram)) - np.mean(gram)), 1e-12)


def cross_validate(gram, targets, penalties, folds) -> np.ndarray:
    """Return the mean fold error of an SVM on a kernel matrix for each C."""
    errors = []
    for train, test in folds:
        inner, outer = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
        wrong = count_errors(inner, outer, targets[train], targets[test], penalties)
        errors.append(wrong / len(test))
    return np.mean(errors, axis=0)


def middle(values):
    """Return the middle of a grid: where a search starts, and ends if there are no folds."""
    return values[len(values) // 2]


def search(
    solver_for: Callable, targets, grid: dict, *, n_folds: int, seed: int
) -> tuple[Choice, object] | None:
    """Choose by cross-validation; one deformed kernel serves all folds and all C.

    Parameters
    ----------
    solver_for : callable
        ``solver_for(gamma)`` returns a solver (`fewfold.methods.invariance.solver.make_solver`).
    targets : int array of shape (n_labeled,)
    grid : dict
        Lists ``gamma``, ``deformation``, ``data_deformation``; ``C`` absolute, or None for
        `PENALTIES` over the centered mean diagonal.
    n_folds, seed : int

    Returns
    -------
    Choice and its Deformed, or None if a class has a single labeled point.

    Notes
    -----
    The width is chosen at the middle strengths, then each strength at what was found so far, C
    again with each: the product of all grids would cost a factorization per combination.
    The copies of the points left out stay nodes of the graph, without a label, as those of
    unlabeled points would. The first of equals wins.
    """
    folds = stratified_folds(targets, seed, n_folds)
    if folds is None:
        return None
    trial = _Trial(solver_for, targets, folds, grid["C"])
    start = {"deformation": middle(grid["deformation"])}
    start["data_deformation"] = middle(grid["data_deformation"])
    best = None
    for gamma in grid["gamma"]:
        best = _better(best, trial(Choice(gamma, **start, C=0.0)))
    for axis, tried in start.items():
        for value in grid[axis]:
            if value != tried:
                best = _better(best, trial(replace(best, **{axis: value})))
    solver = trial.solver(best.gamma)
    return best, solver.deform(best.deformation, best.data_deformation)


def _better(best, candidate):
    return candidate if best is None or candidate.error < best.error - 1e-12 else best


class _Trial:
    """Fold errors of settings; holds the solver of one width at a time."""

    def __init__(self, solver_for, targets, folds, penalties):
        self._solver_for, self._targets, self._folds = solver_for, targets, folds
        self._penalties = penalties
        self._gamma = self._solver = None

    def solver(self, gamma):
        if self._gamma != gamma:
            self._solver = None  # its memory is needed by the next
            self._gamma, self._solver = gamma, self._solver_for(gamma)
        return self._solver

    def __call__(self, choice: Choice) -> Choice:
        """Return the choice with its best C and that one's error."""
        gram = self.solver(choice.gamma).gram(choice.deformation, choice.data_deformation)
        penalties = self._penalties or [c * penalty_scale(gram) for c in PENALTIES]
        errors = cross_validate(gram, self._targets, penalties, self._folds)
        i = int(np.argmin(errors))
        return replace(choice, C=penalties[i], error=float(errors[i]))
