"""Answers averaged over a graph, against the direct solution."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from fewfold.graph.averaging import row_normalized, smooth, smooth_new
from fewfold.graph.build import build_graph, extend_graph
from fewfold.pipeline.training import Inputs, fit_draw


@pytest.fixture
def ring():
    n = 12
    W = np.zeros((n, n))
    for i in range(n - 1):  # the last node has no neighbor
        W[i, (i + 1) % (n - 1)] = W[(i + 1) % (n - 1), i] = 1 + i % 3
    return sparse.csr_array(W)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 0.99])
def test_smoothing_solves_its_equation(ring, share):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 12)
    F = smooth(ring, P, np.array([2, 7]), np.array([1, 0]), share)
    P[2], P[7] = [0, 1, 0], [1, 0, 0]
    S = row_normalized(ring)[0].toarray()
    S[11, 11] = 1
    direct = np.linalg.solve(np.eye(12) - share * S, (1 - share) * P)
    assert np.allclose(F, direct, atol=3e-6)
    assert np.allclose(F.sum(axis=1), 1)
    assert np.allclose(F[11], P[11])  # alone: its own answer


def test_new_rows_mix_their_own_answer_with_the_neighbors():
    F = np.array([[1.0, 0.0], [0.0, 1.0]])
    extension = sparse.csr_array([[3.0, 1.0], [0.0, 0.0]])
    own = np.array([[0.5, 0.5], [0.2, 0.8]])
    expected = [[0.2 * 0.5 + 0.8 * 0.75, 0.2 * 0.5 + 0.8 * 0.25], [0.2, 0.8]]
    assert np.allclose(smooth_new(extension, F, own, share=0.8), expected)


class _Distances:
    """A kernel stage's matrix of squared distances, in memory."""

    kind = "squared_distances"

    def __init__(self, X, X_new):
        self.X, self.n, self.all = X, len(X), np.vstack([X, X_new])
        self.gamma = 1 / float(np.median(cdist(X, X, "sqeuclidean")))

    def all_rows(self, rows):
        return cdist(self.X[rows], self.all, "sqeuclidean")

    def new_rows(self, rows):
        return self.all_rows(rows)[:, self.n :]


def test_smoothing_helps_the_svm_and_reaches_new_rows():
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = X[:900] / 16, X[900:1500] / 16, y[:900], y[900:1500]
    graph = build_graph(X)
    inputs = Inputs(
        X=X, X_new=X_new, graph=graph, kernel=_Distances(X, X_new),
        extension=extend_graph(graph, X, X_new),
    )  # fmt: skip
    labeled = np.arange(60)

    def errors(share):
        settings = {"C": 10.0, "gamma": inputs.kernel.gamma, "smoothing": share}
        found = fit_draw(
            "graph_svm", inputs, labeled, y[labeled], n_classes=10, seed=0, settings=settings
        )
        return np.mean(found.labels != y), np.mean(found.labels_new != y_new)

    plain, smoothed = errors(0), errors(0.9)
    assert smoothed[0] < 0.8 * plain[0] and smoothed[1] < 0.9 * plain[1]
