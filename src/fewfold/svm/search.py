"""Choosing settings by folds of the labeled rows."""

from __future__ import annotations

import numpy as np

from fewfold.svm.folds import stratified_folds
from fewfold.svm.kernel_svm import fit_kernel_svm


def grid_of(value, default: list) -> list:
    """Return the values to try: those of the grid for None or "cv", else the one that is set."""
    return default if value in (None, "cv") else [float(value)]


def choose(grid: list, fold_error, folds, default):
    """Return the grid's entry of least mean fold error (the first of equals), or the default.

    Parameters
    ----------
    grid : list
    fold_error : callable
        ``fold_error(train, test)`` returns the errors of all entries of the grid on one fold.
    folds : list of (train, test) or None
    default : entry used where there are too few points for folds
    """
    if folds is None or len(grid) == 1:
        return default if folds is None and len(grid) > 1 else grid[0]
    errors = np.mean([fold_error(train, test) for train, test in folds], axis=0)
    return grid[int(np.argmin(errors))]


def count_errors(
    K, K_test, targets, targets_test, penalties, *, break_ties: bool = False
) -> np.ndarray:
    """Return how many held-out rows an SVM labels wrongly, for each penalty.

    Parameters
    ----------
    K : ndarray of shape (n_train, n_train)
    K_test : ndarray of shape (n_test, n_train)
    targets, targets_test : arrays of shape (n_train,) and (n_test,)
        A training part of a single class labels every row with it.
    penalties : sequence of float
    break_ties : see `fewfold.svm.kernel_svm.KernelSVM.predict`

    Returns
    -------
    int ndarray of shape (n_penalties,)
    """
    if (targets == targets[0]).all():
        return np.full(len(penalties), np.sum(targets_test != targets[0]))
    wrong, largest = [], np.inf
    for before, C in zip((np.inf, *penalties), penalties):
        if largest < min(before, C):  # no coefficient at its bound: the same SVM
            wrong.append(wrong[-1])
            continue
        svm = fit_kernel_svm(K, targets, C)
        largest = np.abs(svm.coefficients).max()
        found = svm.predict(K_test[:, svm.support], break_ties=break_ties)
        wrong.append(np.sum(found != targets_test))
    return np.array(wrong)


def choose_width(square, targets, gammas, penalties, seed: int) -> tuple:
    """Return the width and penalty of an RBF SVM of least error over folds of labeled rows.

    Parameters
    ----------
    square : ndarray of shape (m, m)
        Squared distances between labeled rows; the kernel itself where the width is None.
    targets : array of shape (m,)
    gammas : list of float or None
    penalties : list of float
    seed : int

    Returns
    -------
    gamma : float or None
    C : float
    """

    def fold_error(train, test):
        errors = []
        within, across = square[np.ix_(train, train)], square[np.ix_(test, train)]
        for gamma in gammas:  # one kernel serves all penalties
            K, K_test = rbf_values(within, gamma), rbf_values(across, gamma)
            wrong = count_errors(K, K_test, targets[train], targets[test], penalties)
            errors.extend(wrong / len(test))
        return errors

    grid = [(gamma, C) for gamma in gammas for C in penalties]
    # Without folds: the second of a grid, which is its middle, or the one that is set.
    default = tuple(values[min(1, len(values) - 1)] for values in (gammas, penalties))
    return choose(grid, fold_error, stratified_folds(targets, seed), default=default)


def rbf_values(square, gamma: float | None):
    """Return the RBF kernel of squared distances; a kernel stays as it is for None."""
    return square if gamma is None else np.exp(-gamma * square)
