"""Choosing the scales and the penalty of an atlas SVM by folds of the labeled points."""

from __future__ import annotations

from itertools import product

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.atlas.encoding import take_rows
from fewfold.methods.atlas.features import KERNEL_OF
from fewfold.methods.atlas.learners import LEARNERS, KernelOptions
from fewfold.svm.folds import stratified_folds

# Factors tried around the default scales and penalty.
GRID = {"gamma": (0.7, 1.0, 1.4), "sigma": (0.5, 1.0, 2.0), "C": (0.5, 1.0, 5.0)}
# As published: powers of two. The paper's range, 2 to 2^7, is of its own scale of gray values, so
# ours is around that of the data.
PUBLISHED_GRID = {"gamma": (0.5, 1.0, 2.0), "sigma": (0.5, 1.0, 2.0, 4.0, 8.0), "C": (1.0, 10.0)}
# Labeled points that choose.
CHOOSE_ROWS = 2000


def choose_options(
    code: dict[str, np.ndarray],
    codes: np.ndarray,
    options: KernelOptions,
    free: list[str],
    n_folds: int,
    grid: dict[str, tuple] = GRID,
) -> KernelOptions:
    """Choose scales and penalty by cross-validation on labeled points only.

    Parameters
    ----------
    code : dict of ndarrays
        Encoding of the labeled points.
    codes : int ndarray of shape (n_labeled,)
    options : KernelOptions
        Values that stay, and the middle of the grid.
    free : list of str
        Which of "gamma", "sigma" and "C" to choose.
    n_folds : int
        At most the size of the smallest class is used.
    grid : dict
        Factors tried of each.

    Returns
    -------
    KernelOptions
        Those of least error; of equals, the nearest to the middle of the grid.
    """
    if n_folds < 2:
        raise InputError(f"cv={n_folds}; allowed: numbers from 2 up, or None.")
    if len(codes) > CHOOSE_ROWS:
        some = np.random.default_rng(0).permutation(len(codes))[:CHOOSE_ROWS]
        if len(np.unique(codes[some])) == len(np.unique(codes)):
            code, codes = take_rows(code, some), codes[some]
    folds = stratified_folds(codes, 0, n_folds)
    if folds is None or options.kernel == "nearest":
        return options  # a class seen once leaves nothing to validate on
    middle = options.replace(C=options.penalty(code))
    tried = []
    for factors in product(*(grid[name] for name in free)):
        by = dict(zip(free, factors))
        trial = middle.scaled(by.get("gamma", 1.0), by.get("sigma", 1.0))
        trial = trial.replace(C=middle.C * by.get("C", 1.0))
        away = sum(abs(np.log(f)) for f in factors)
        tried.append((_wrong(trial, code, codes, folds), away, len(tried), trial))
    return min(tried)[3] if tried else options


def _wrong(trial, code, codes, folds):
    """Return how many left-out points are labeled wrongly."""
    wrong = 0
    is_dual = trial.kernel not in KERNEL_OF
    K = trial.matrix(code, code) if is_dual else None  # serves all folds
    learner_of = LEARNERS[trial.kernel]
    for train, test in folds:
        part = take_rows(code, train)
        if is_dual:
            svm = learner_of(trial).fit(part, codes[train], K[np.ix_(train, train)]).svm
            found = svm.predict(K[np.ix_(test, train[svm.support])])
        else:  # gradient steps take longer than an exact solution where labels are this few
            learner = learner_of(trial.replace(solver="batch")).fit(part, codes[train])
            found = learner.shares(take_rows(code, test)).argmax(axis=1)
        wrong += np.count_nonzero(found != codes[test])
    return wrong
