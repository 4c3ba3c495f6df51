"""Other packages' label spreading, under one signature, for comparisons on the same draws.

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


def scikit_learn_spreading(X, y):
    """Return a function (labelled rows) -> labels of all rows; LabelSpreading, 7-NN."""
    from scipy import sparse
    from sklearn.semi_supervised import LabelSpreading

    found, _ = exact_neighbors(X, 7)
    n = len(X)
    graph = sparse.csr_matrix(
        (np.ones(found.size), found.ravel(), np.arange(0, found.size + 1, 7)), shape=(n, n)
    )

    def label(labeled):
        known = np.full(n, -1)
        known[labeled] = y[labeled]
        model = LabelSpreading(kernel=lambda a, b: graph, max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, known)
        return model.transduction_

    return label


def graphlearning(X, y, learner="poisson", n_neighbors=10):
    """Return a function (labelled rows) -> labels of all rows; graphlearning's Gaussian graph.

    ``learner`` is ``poisson``, ``laplace`` or ``randomwalk``; ten neighbours as in its examples.
    """
    import graphlearning as gl

    W = gl.weightmatrix.knn(X, n_neighbors, knn_data=exact_neighbors(X, n_neighbors))

    def label(labeled):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(gl.ssl, learner)(W).fit_predict(labeled, y[labeled])

    return label


def error_table(label, y, order, budgets, evaluated):
    """Return the error in % per budget and trial on the evaluated rows that are not labelled."""
    table = np.empty((len(budgets), len(order)))
    for b, budget in enumerate(budgets):
        for t, rows in enumerate(order):
            wrong = label(rows[:budget]) != y
            mask = evaluated.copy()
            mask[rows[:budget]] = False
            table[b, t] = 100 * np.mean(wrong[mask])
    return table
