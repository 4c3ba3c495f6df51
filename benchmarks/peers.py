"""Other packages' methods, under one signature, for comparisons on the same draws.

Each peer gets its own usual settings; its k-NN search is replaced by an exact one, once per
dataset, which can only help it. Install: ``pip install -e '.[peers]'``.
"""

from __future__ import annotations

import warnings

import numpy as np


def exact_neighbors(X, n_neighbors):
    """Return indices and distances (n, n_neighbors) by brute force, the row itself first."""
    import faiss

    X = np.ascontiguousarray(X, np.float32)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    squared, found = index.search(X, n_neighbors)
    return found, np.sqrt(np.maximum(squared, 0))


def scikit_learn_spreading(X, y, neighbors=None, propagation=False):
    """Return a function (labeled rows) -> labels of all rows; 7-NN graph, the row counted.

    ``propagation`` takes LabelPropagation instead of LabelSpreading. ``neighbors`` are as from
    `exact_neighbors`, where they are known already.
    """
    from scipy import sparse
    from sklearn.semi_supervised import LabelPropagation, LabelSpreading

    found = (exact_neighbors(X, 7) if neighbors is None else neighbors)[0][:, :7]
    n = X.shape[0]
    graph = sparse.csr_matrix(
        (np.ones(found.size), found.ravel(), np.arange(0, found.size + 1, 7)), shape=(n, n)
    )
    kind = LabelPropagation if propagation else LabelSpreading

    def label(labeled):
        known = np.full(n, -1)
        known[labeled] = y[labeled]
        model = kind(kernel=lambda a, b: graph, max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, known)
        return model.transduction_

    return label


def graphlearning(X, y, learner="poisson", n_neighbors=10, neighbors=None):
    """Return a function (labeled rows) -> labels of all rows; graphlearning's Gaussian graph.

    ``learner`` is ``poisson``, ``laplace`` or ``randomwalk``; ten neighbors as in its examples.
    """
    import graphlearning as gl

    from fewfold.linalg.laplacian import components

    if neighbors is None:
        neighbors = exact_neighbors(X, n_neighbors + 1)
    found, distances = neighbors[0], neighbors[1].copy()
    # Ten copies of a row would give it a width of zero, and weights that are no numbers.
    distances[:, -2:] = np.maximum(distances[:, -2:], 1e-6)
    W = gl.weightmatrix.knn(X, n_neighbors, knn_data=(found, distances))
    options = {}
    if learner == "poisson" and components(W)[0] > 1:
        # The equation has no solution on a graph in several parts, and conjugate gradients, its
        # default, run away (95 % error on LETTER, after minutes). Its other solver ends.
        options["solver"] = "gradient_descent"

    def label(labeled):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(gl.ssl, learner)(W, **options).fit_predict(labeled, y[labeled])

    return label


# ---------------------------------------------------------------- supervised peers


def _folds(targets, most=3):
    from sklearn.model_selection import StratifiedKFold

    fewest = np.bincount(np.unique(targets, return_inverse=True)[1]).min()
    return StratifiedKFold(min(most, fewest), shuffle=True, random_state=0) if fewest > 1 else None


def _searched(model, grid, X, targets):
    """Choose by cross-validation on the labeled rows where every class has two."""
    from sklearn.model_selection import GridSearchCV

    folds = _folds(targets)
    if folds is None:
        return model.fit(X, targets)
    return GridSearchCV(model, grid, cv=folds).fit(X, targets)


def rbf_svm(X, y, rows):
    """Return a function (labeled rows) -> labels; only the given rows are predicted."""
    from sklearn.svm import SVC

    variance = X.multiply(X).mean() - X.mean() ** 2 if hasattr(X, "multiply") else X.var()
    scale = 1 / (X.shape[1] * variance)
    grid = {"gamma": [0.3 * scale, scale, 3 * scale], "C": [1, 10, 100]}

    def label(labeled):
        model = _searched(SVC(gamma=scale, C=10, cache_size=500), grid, X[labeled], y[labeled])
        return _at(rows, model.predict(X[rows]), len(y))

    return label


def nearest(X, y, rows):
    """Return a function (labeled rows) -> labels; k of 1, 3, 5 and 9 by cross-validation."""
    from sklearn.neighbors import KNeighborsClassifier

    def label(labeled):
        most = max(1, len(labeled) // 3)
        grid = {"n_neighbors": [k for k in (1, 3, 5, 9) if k <= most]}
        model = _searched(KNeighborsClassifier(1), grid, X[labeled], y[labeled])
        return _at(rows, model.predict(X[rows]), len(y))

    return label


def self_training(X, y, rows, most, seed=0):
    """Return a function (labeled rows) -> labels; SVC labels what it is sure of, ten rounds.

    It learns from the labeled rows and ``most`` others; only the given rows are predicted.
    """
    from sklearn.semi_supervised import SelfTrainingClassifier
    from sklearn.svm import SVC

    others = np.random.default_rng(seed).permutation(len(y))[:most]

    def label(labeled):
        known = np.full(len(y), -1)
        known[labeled] = y[labeled]
        seen = np.union1d(labeled, others)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            base = SVC(C=10, probability=True, random_state=0, cache_size=500)
            model = SelfTrainingClassifier(base).fit(X[seen], known[seen])
        return _at(rows, model.predict(X[rows]), len(y))

    return label


def _at(rows, labels, n):
    out = np.full(n, -1)
    out[rows] = labels
    return out


def error_table(label, y, order, budgets, evaluated):
    """Return the error in % per budget and trial on the evaluated rows that are not labeled."""
    table = np.empty((len(budgets), len(order)))
    for b, budget in enumerate(budgets):
        for t, rows in enumerate(order):
            wrong = label(rows[:budget]) != y
            mask = evaluated.copy()
            mask[rows[:budget]] = False
            table[b, t] = 100 * np.mean(wrong[mask])
    return table
