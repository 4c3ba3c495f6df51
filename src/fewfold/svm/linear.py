"""Linear SVMs of each class against the rest, or of each pair, as plain arrays."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
from scipy import sparse

from fewfold.svm.folds import stratified_folds
from fewfold.svm.probability import pair_scores
from fewfold.svm.search import choose

PENALTIES = (0.1, 1.0, 10.0, 100.0)


def mean_norm(X) -> float:
    """Return the root mean square length of rows: divided by it, one grid of C fits any scale."""
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X, dtype=float)
    return float(np.sqrt(squares / X.shape[0])) or 1.0


def fit_linear_svm(
    X, targets, C: float, seed: int, scheme: str = "rest"
) -> tuple[np.ndarray, np.ndarray]:
    """Train a linear SVM for each class against the rest, or for each pair of classes.

    Parameters
    ----------
    X : array or sparse array of shape (m, n_features)
    targets : array of shape (m,)
        At least two classes.
    C : float
        Penalty of the margin errors.
    seed : int
    scheme : {"rest", "pairs"}
        One SVM either way for two classes.

    Returns
    -------
    weights : ndarray of shape (n_features, n_decisions)
    intercepts : ndarray of shape (n_decisions,)
        Positive decisions are for the class; of a pair, and of two classes, for the second.
    """
    classes = np.unique(targets)
    if scheme == "rest" or len(classes) == 2:
        return _fit(X, targets, C, seed)
    found = []
    for pair in combinations(classes, 2):
        rows = np.flatnonzero(np.isin(targets, pair))
        found.append(_fit(X[rows], targets[rows], C, seed))
    weights, intercepts = zip(*found)
    return np.concatenate(weights, axis=1), np.concatenate(intercepts)


def _fit(X, targets, C, seed):
    from sklearn import config_context
    from sklearn.svm import LinearSVC

    fast = config_context(assume_finite=True, skip_parameter_validation=True)
    with fast, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slow convergence at large C; errors decide
        svm = LinearSVC(C=C, random_state=seed % 2**31, max_iter=2000).fit(X, targets)
    return svm.coef_.T, svm.intercept_


def decide_linear(X, weights, intercepts, scheme: str = "rest") -> np.ndarray:
    """Return decisions of shape (n, n_classes), or (n,) for the second of two classes.

    Examples
    --------
    >>> X = np.array([[-1.0], [0.0], [1.0]])
    >>> svm = fit_linear_svm(X, np.array([0, 1, 2]), 100.0, 0, "pairs")
    >>> decide_linear(X, *svm, "pairs").argmax(axis=1).tolist()
    [0, 1, 2]
    """
    decisions = X @ weights + intercepts
    if decisions.shape[1] == 1:
        return decisions[:, 0]
    if scheme == "rest":
        return decisions
    n_classes = round((1 + np.sqrt(1 + 8 * len(intercepts))) / 2)
    return pair_scores(-decisions, np.array(list(combinations(range(n_classes), 2))))


def choose_penalty(X, targets, penalties, seed: int, scheme: str = "rest") -> float:
    """Return the penalty of least error over folds of the labeled rows; see `choose`."""
    names = np.unique(targets)

    def fold_error(train, test):
        errors = []
        for C in penalties:
            svm = fit_linear_svm(X[train], targets[train], C, seed, scheme)
            decisions = decide_linear(X[test], *svm, scheme)
            wins = decisions.argmax(axis=1) if decisions.ndim > 1 else (decisions > 0).astype(int)
            errors.append(np.mean(names[wins] != targets[test]))
        return errors

    return choose(list(penalties), fold_error, stratified_folds(targets, seed), default=1.0)
