"""The metric of classes and neighbors, and the SVM in it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from fewfold.graph.build import build_graph, extend_graph
from fewfold.methods.baselines.metric import (
    class_scatter,
    neighbor_scatter,
    principal_map,
    project,
    whitening,
)
from fewfold.pipeline.training import Inputs, fit_draw


def stretched(n, seed):
    """Three classes told apart by two faint directions beside six loud ones that mean nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    centers = np.array([[0, 0], [2.5, 0], [0, 2.5]])
    loud = rng.normal(size=(n, 6)) * 6
    X = np.hstack([centers[y] + 0.5 * rng.normal(size=(n, 2)), loud])
    mix = np.linalg.qr(np.random.default_rng(5).normal(size=(8, 8)))[0]
    return X @ mix, y


def test_the_scatter_of_classes():
    Z = np.array([[0.0, 1], [2, 1], [10, 0], [10, 4]])
    scatter, free = class_scatter(Z, np.array([0, 0, 3, 3]))
    assert free == 2 and np.allclose(scatter, [[1, 0], [0, 4]])


def test_the_rounded_scatter_is_round():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(5, 5))
    S = M @ M.T
    A = whitening(S, 10**9, np.eye(5), ridge=0)
    assert np.allclose(A.T @ S @ A, np.eye(5), atol=1e-6)
    # Without rows of one class only the neighbors speak.
    B = whitening(np.zeros((5, 5)), 0, S, ridge=0)
    assert np.allclose(B.T @ S @ B, np.eye(5), atol=1e-6)


def test_edges_are_drawn_and_an_empty_graph_is_plain(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 2)) * [3, 1]
    graph = build_graph(Z)
    all_edges = neighbor_scatter(Z, graph.W)
    monkeypatch.setattr("fewfold.methods.baselines.metric.MOST_EDGES", 2000)
    assert np.allclose(neighbor_scatter(Z, graph.W), all_edges, rtol=0.3, atol=0.02)
    assert np.allclose(neighbor_scatter(Z, sparse.csr_array((400, 400))), np.eye(2))


def test_principal_rows_of_sparse_and_dense_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 80)) * (rng.random((50, 80)) < 0.2)
    dense, thin = (project(rows, *principal_map(rows, 10)) for rows in (X, sparse.csr_array(X)))
    assert dense.shape == (50, 10) and np.allclose(dense, thin, atol=1e-8)


def test_it_sees_what_the_loud_directions_hide_and_labels_new_rows():
    X, y = stretched(600, 0)
    X_new, y_new = stretched(300, 1)
    graph = build_graph(X)
    inputs = Inputs(X=X, X_new=X_new, graph=graph, extension=extend_graph(graph, X, X_new))
    labeled = np.arange(60)
    settings = {"C": "cv", "gamma": "cv", "smoothing": 0.3}
    found = fit_draw(
        "metric_svm", inputs, labeled, y[labeled], n_classes=3, seed=0, settings=settings
    )
    plain = SVC(C=10).fit(X[labeled], y[labeled])
    rest = np.arange(60, 600)
    error = np.mean(found.labels[rest] != y[rest])
    assert error < 0.6 * np.mean(plain.predict(X[rest]) != y[rest])
    assert np.mean(found.labels_new != y_new) < 0.6 * np.mean(plain.predict(X_new) != y_new)
    assert np.allclose(found.proba.sum(axis=1), 1) and found.details["axes"] == 8
    again = fit_draw(
        "metric_svm", inputs, labeled, y[labeled], n_classes=3, seed=0, settings=settings
    )
    assert np.array_equal(again.proba, found.proba)


@pytest.mark.parametrize("codes", [[0, 1], [0, 0, 2], [1, 1, 1]])
def test_very_few_labels(codes):
    X, _ = stretched(80, 2)
    graph = build_graph(X)
    codes = np.array(codes)
    found = fit_draw("metric_svm", Inputs(X=X, graph=graph), np.arange(len(codes)), codes,
                     n_classes=3, seed=0, settings={})  # fmt: skip
    assert set(np.unique(found.labels)) <= set(codes.tolist()) and np.isfinite(found.proba).all()
