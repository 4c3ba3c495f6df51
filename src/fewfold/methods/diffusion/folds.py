"""Diffusion without each fold of the labels, all from one block of solves.

Poisson learning and label spreading are linear in their sources. With the responses to the labels
of each fold and class, the answer without a fold is a sum of those of the others: as many solves as
(fold, class) pairs instead of as many fits as folds, and settings that only concern what follows
the equation (class shares) share them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.methods.diffusion.solver import Solver
from fewfold.methods.diffusion.spreading import Scores, check_labels

# Scale and class shares of an answer without a fold are found on this many rows.
SAMPLE = 20_000
_BLOCK = 8  # columns that the solver takes at once


@dataclass(frozen=True)
class FoldScores:
    """Scores with all labels, and with all but those of each fold at some rows.

    Attributes
    ----------
    whole : Scores
        Of all rows, with all labels.
    rows : int ndarray of shape (s,)
        A sample of the rows, and all labeled ones; sorted.
    without : list of (values, is_reached), one for each fold
        Scores at ``rows`` with the labels of the other folds.
    """

    whole: Scores
    rows: np.ndarray
    without: list


def fold_scores(W, labeled, targets, n_classes: int, fold, *, method="poisson", alpha=0.995,
                tol=1e-5, max_iter=2000, seed=0) -> FoldScores:  # fmt: skip
    """Diffuse labels, and diffuse them again without each fold.

    Parameters
    ----------
    W, labeled, targets, n_classes, tol, max_iter : see `poisson_scores`
    fold : int ndarray of shape (m,)
        0 to the number of folds less one.
    method : {"poisson", "spreading"}
    alpha : float
        Of label spreading.
    seed : int
        Of the sample of rows.
    """
    labeled, targets = check_labels(W, labeled, targets, n_classes)
    solver = Solver(W, method, alpha=alpha, tol=tol, max_iter=max_iter)
    n, n_folds = solver.n_rows, int(fold.max()) + 1
    some = np.random.default_rng(seed).permutation(n)[:SAMPLE]
    rows = np.union1d(some, labeled)
    total = np.zeros((n, n_classes))
    parts = np.zeros((len(rows), n_folds, n_classes))
    pairs = np.unique(np.stack([fold, targets], axis=1), axis=0)
    for start in range(0, len(pairs), _BLOCK):
        chosen = pairs[start : start + _BLOCK]
        B = np.zeros((n, len(chosen)))
        for column, (g, c) in enumerate(chosen):
            B[labeled[(fold == g) & (targets == c)], column] = 1.0
        V = solver.respond(B)
        for column, (g, c) in enumerate(chosen):
            total[:, c] += V[:, column]
            parts[:, g, c] = V[rows, column]
    # Counts of labels in each part of the graph that has one; the last row stands for all others.
    known, place = np.unique(solver.component[labeled], return_inverse=True)
    counts = np.zeros((len(known) + 1, n_folds, n_classes))
    np.add.at(counts, (place, fold, targets), 1.0)
    number = np.full(solver.component.max() + 1, len(known))
    number[known] = np.arange(len(known))
    number = number[solver.component]
    everything, inside = parts.sum(axis=1), counts.sum(axis=1)
    without = [
        _finished(everything - parts[:, g], inside - counts[:, g], number[rows], method)
        for g in range(n_folds)
    ]
    values, reached = _finished(total, inside, number, method)
    is_converged = solver.residual <= max(2 * tol, 1e-13)
    whole = Scores(values, reached, solver.n_iterations, solver.residual, is_converged)
    return FoldScores(whole, rows, without)


def _finished(values, counts, number, method):
    """Return the scores that belong to sums of responses, and which rows a label reaches.

    ``counts``: labels of each class in each part; ``number``: the part of each row.
    """
    size = counts.sum(axis=1)
    reached = size[number] > 0
    if method == "spreading":
        return np.maximum(values, 0, out=values), reached
    # Sources of Poisson learning are the labels less their mean in the part.
    means = counts / np.maximum(size, 1)[:, None]
    everywhere = values.sum(axis=1)
    for c in range(values.shape[1]):  # by column: with many rows each copy counts
        values[:, c] -= everywhere * means[number, c]
    # Labels of one class only: the sources vanish, and so does the equation.
    is_single = (size > 0) & (counts.max(axis=1) == size)
    if is_single.any():
        alone = is_single[number]
        values[alone] = means[number[alone]] * max(np.abs(values).max(), 1.0)
    return values, reached
