"""The live answer: diffusion and a kernel classifier, weighed by labels left out."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from fewfold.graph.build import GraphSettings, build_graph
from fewfold.session import live_kernel
from fewfold.session.live import LiveDiffusion
from fewfold.session.live_answer import LiveAnswer
from fewfold.session.live_kernel import LiveKernel
from fewfold.session.session import LabelingSession

SETTINGS = GraphSettings(symmetrize="mean")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500].astype(np.float32), y[:500]
    return X, y, build_graph(X, SETTINGS), np.random.default_rng(0).permutation(500)[:40]


def test_a_kernel_answer_left_out_is_that_of_a_fit_without_the_label(digits, monkeypatch):
    X, y, _, rows = digits
    monkeypatch.setattr(live_kernel, "WIDTHS", (2.0,))
    monkeypatch.setattr(live_kernel, "RIDGES", (0.03,))
    whole = LiveKernel(X)
    whole.fit(rows, y[rows], 10)
    for i in (0, 7, 39):
        kept = np.delete(rows, i)
        less = LiveKernel(X)
        less.fit(kept, y[kept], 10)
        np.testing.assert_allclose(less.proba()[rows[i]], whole.left_out[i], atol=1e-4)


def test_a_diffused_answer_left_out_is_that_without_the_label(digits):
    _, y, graph, rows = digits
    live = LiveDiffusion(graph.W, 10)
    live.start(rows[:15], y[rows[:15]])
    for row in rows[15:]:
        live.add(int(row), int(y[row]))
    assert live.can_leave_out(rows).all()
    found = live.left_out(rows)
    for i in (2, 20, 39):
        less = LiveDiffusion(graph.W, 10)
        less.start(np.delete(rows, i), y[np.delete(rows, i)])
        expected = np.log(less.proba()[rows[i]]) / less._scale  # the factor is that of all labels
        got = np.log(found[i]) / live._scale
        np.testing.assert_allclose(got - got.mean(), expected - expected.mean(), atol=1e-3)


def test_shares_in_a_kernel_score_sum_to_the_score(digits):
    X, y, _, rows = digits
    kernel = LiveKernel(X)
    kernel.fit(rows, y[rows], 10)
    scores = np.array([sum(part for _, part in kernel.shares(3, c)) for c in range(10)])
    expected = np.exp(live_kernel.SHARPNESS * scores)
    np.testing.assert_allclose(expected / expected.sum(), kernel.proba()[3], atol=1e-4)


def test_many_labels_keep_to_the_memory_for_distances(digits, monkeypatch):
    X, y, _, _ = digits
    monkeypatch.setattr(live_kernel, "KEPT_BYTES", 0)
    kernel = LiveKernel(X)
    for count in (50, 64, 100):
        kernel.fit(np.arange(count), y[:count], 10)
        assert len(kernel.rows) == min(count, 64) == len(kernel.left_out)
        assert kernel._d2.shape[1] <= 64


def test_the_kernel_takes_over_where_the_graph_does_not_follow_the_classes():
    """On a random graph labels say nothing of neighbors; on the features they do."""
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X).astype(np.float32)
    noise = np.random.default_rng(0).normal(size=(len(y), 5)).astype(np.float32)
    graph = build_graph(noise, SETTINGS)
    rows = np.random.default_rng(1).permutation(len(y))[:40]
    live = LiveAnswer(graph.W, 3, X)
    live.start(rows, y[rows])
    error = np.mean(live.proba().argmax(axis=1) != y)
    assert live.weights[1] > 0.8 and error < 0.1
    alone = LiveAnswer(graph.W, 3)
    alone.start(rows, y[rows])
    assert alone.weights == (1.0, 0.0) and np.mean(alone.proba().argmax(axis=1) != y) > 0.3


def test_a_session_follows_changes_undo_and_new_classes(digits):
    X, y, graph, _ = digits
    names = [str(c) for c in range(9)]
    session = LabelingSession(graph, np.full(500, -1), names, features=X)
    for _ in range(30):
        row = session.suggest().row
        if str(y[row]) not in session.classes:
            session.add_class(str(y[row]))
        session.answer(row, str(y[row]))
    before = session.live.proba()
    other = LabelingSession(graph, session.record.answers, session.classes, features=X)
    np.testing.assert_allclose(before.sum(axis=1), 1, atol=1e-6)
    row = session.suggest().row
    session.answer(row, "3")
    session.undo()
    np.testing.assert_allclose(session.live.proba(), other.live.proba(), atol=1e-3)
    because = session.because(int(np.flatnonzero(session.record.answers < 0)[0]), most=100)
    assert sum(abs(part["share"]) for part in because) <= 1 + 1e-9
    assert np.mean(np.array(session.classes)[session.labels()[0]].astype(int) == y) > 0.8


def test_reasons_are_those_of_the_label_that_is_shown(digits, monkeypatch):
    """Also where the combination of all candidates shows another class than the live answer."""
    X, y, graph, _ = digits
    session = LabelingSession(graph, np.full(500, -1), [str(c) for c in range(10)], features=X)
    for _ in range(30):
        row = session.suggest().row
        session.answer(row, str(y[row]))
    row = int(np.flatnonzero(session.record.answers < 0)[0])
    live = int(session.live.proba()[row].argmax())

    def from_labels_of_live():
        parts = session.because(row, most=100)
        return sum(part["share"] for part in parts if part["label"] == str(live))

    shown = session.labels()[0].copy(), session.labels()[1]
    monkeypatch.setattr(session, "labels", lambda: shown)
    shown[0][row] = live
    assert from_labels_of_live() > 0
    shown[0][row] = (live + 1) % 10
    assert from_labels_of_live() < 0
