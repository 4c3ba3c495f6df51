"""Linear SVMs of each class against the rest, as plain arrays."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from fewfold.svm.folds import stratified_folds
from fewfold.svm.search import choose

PENALTIES = (0.1, 1.0, 10.0, 100.0)


def mean_norm(X) -> float:
    """Return the root mean square length of rows: divided by it, one grid of C fits any scale."""
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X, dtype=float)
    return float(np.sqrt(squares / X.shape[0])) or 1.0


def fit_linear_svm(X, targets, C: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Train a linear SVM for each class against the rest; one for two classes.

    Parameters
    ----------
    X : array or sparse array of shape (m, n_features)
    targets : array of shape (m,)
        At least two classes.
    C : float
        Penalty of the margin errors.
    seed : int

    Returns
    -------
    weights : ndarray of shape (n_features, n_decisions)
    intercepts : ndarray of shape (n_decisions,)
    """
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slow convergence at large C; errors decide
        svm = LinearSVC(C=C, random_state=seed % 2**31, max_iter=2000).fit(X, targets)
    return svm.coef_.T, svm.intercept_


def decide_linear(X, weights, intercepts) -> np.ndarray:
    """Return decisions of shape (n, n_classes), or (n,) for the second of two classes."""
    decisions = X @ weights + intercepts
    return decisions[:, 0] if decisions.shape[1] == 1 else decisions


def choose_penalty(X, targets, penalties, seed: int) -> float:
    """Return the penalty of least error over folds of the labeled rows; see `choose`."""
    names = np.unique(targets)

    def fold_error(train, test):
        errors = []
        for C in penalties:
            decisions = decide_linear(X[test], *fit_linear_svm(X[train], targets[train], C, seed))
            wins = decisions.argmax(axis=1) if decisions.ndim > 1 else (decisions > 0).astype(int)
            errors.append(np.mean(names[wins] != targets[test]))
        return errors

    return choose(list(penalties), fold_error, stratified_folds(targets, seed), default=1.0)
