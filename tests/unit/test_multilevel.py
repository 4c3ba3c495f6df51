import numpy as np
import pytest
from scipy import sparse

from fewfold import DiffusionClassifier
from fewfold.graph import settings as graph_settings
from fewfold.graph.build import build_graph
from fewfold.linalg import multilevel
from fewfold.methods.diffusion import solver, spreading
from fewfold.methods.diffusion.estimator import diffuse


@pytest.fixture
def rings():
    """Three parts of which two are joined by one weak edge, and a row without any edge."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 900)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.02 * rng.normal(size=(900, 2))
    X[300:600] += 10
    X[600:] += 20
    W = build_graph(X, n_neighbors=8).W.tolil()
    W[5, 305] = W[305, 5] = 1e-4
    W = sparse.csr_array(sparse.block_diag([W, np.zeros((1, 1))]))
    labeled = np.array([0, 100, 310, 400, 650, 700])
    return W, labeled, np.array([0, 1, 1, 2, 0, 2])


@pytest.fixture
def laddered(monkeypatch):
    monkeypatch.setattr(solver, "MANY_ROWS", 10)
    monkeypatch.setattr(multilevel, "_FEW_NODES", 12)


METHODS = [spreading.poisson_scores, spreading.spreading_scores, spreading.propagation_scores]


@pytest.mark.parametrize("scores", METHODS)
def test_the_ladder_solves_what_plain_conjugate_gradients_solve(rings, scores, request):
    plain = scores(*rings, 3, tol=1e-12, max_iter=20_000)
    request.getfixturevalue("laddered")
    found = scores(*rings, 3, tol=1e-10)
    assert found.is_converged and found.residual <= 1e-10
    assert found.n_iterations < plain.n_iterations / 3
    np.testing.assert_allclose(found.values, plain.values, atol=1e-6 * np.abs(plain.values).max())
    np.testing.assert_array_equal(found.is_reached, plain.is_reached)


def test_columns_in_blocks_and_of_any_number(rings, laddered, monkeypatch):
    W, labeled, targets = rings
    parts = spreading.poisson_scores(W, labeled, targets, 11)
    monkeypatch.setattr(multilevel, "_COLUMNS", 32)
    whole = spreading.poisson_scores(W, labeled, targets, 11)
    np.testing.assert_allclose(whole.values, parts.values, atol=2e-5 * np.abs(whole.values).max())
    assert not whole.values[:, 3:].any()


def test_levels_keep_what_is_smooth_and_lie_together(rings):
    W = rings[0]
    S, _ = solver.normalized(W)
    smooth = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    coarse, smooth_coarse, group, shares = multilevel._coarser(S, smooth)
    assert coarse.shape[0] < 901 / 4
    # The smooth vector of the aggregates stands for that of the nodes.
    inside = group >= 0
    np.testing.assert_allclose((shares * smooth_coarse[group])[inside], smooth[inside])
    P = sparse.csr_array(
        (shares[inside], (np.flatnonzero(inside), group[inside])), (901, len(smooth_coarse))
    )
    exact = (P.T @ (sparse.eye_array(901) - S) @ P).toarray()
    np.testing.assert_allclose(np.eye(len(exact)) - coarse.toarray(), exact, atol=1e-12)
    assert sorted(multilevel.Ladder(S, smooth).order.tolist()) == list(range(901))


def test_too_many_parts_to_shrink_are_solved_too(laddered, monkeypatch):
    monkeypatch.setattr(multilevel, "_FEW_NODES", 2)
    pairs = sparse.block_diag([np.array([[0, 1, 0.1], [1, 0, 1], [0.1, 1, 0]])] * 40)
    found = spreading.spreading_scores(sparse.csr_array(pairs), [0, 3], [0, 1], 2, alpha=0.9)
    assert found.is_converged and found.values[1].argmax() == 0 and found.values[4].argmax() == 1


def test_few_iterations_are_not_called_converged(rings, laddered):
    W, labeled, targets = rings
    found = spreading.poisson_scores(W, labeled, targets, 3, tol=1e-12, max_iter=1)
    assert not found.is_converged and found.n_iterations == 1


def test_default_settings_on_more_rows_than_are_compared_exactly(monkeypatch, laddered):
    monkeypatch.setattr(graph_settings, "EXACT_ROWS", 1000)
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 3000)
    X = rng.normal(size=(3000, 6)) + 4 * np.eye(3, 6)[truth]
    y = np.where(np.arange(3000) < 30, truth, -1)
    model = DiffusionClassifier().fit(X, y)
    assert model.recall_ >= 0.99 and model.details_["recall"] == model.recall_
    assert np.mean(model.transduction_ == truth) > 0.97
    exact = DiffusionClassifier(graph_options={"method": "exact"}).fit(X, y)
    assert exact.recall_ is None and np.mean(exact.transduction_ == model.transduction_) > 0.99
    known = np.flatnonzero(y >= 0)
    proba, _ = diffuse(model.graph_.W, known, y[known], 3)
    np.testing.assert_allclose(proba, model.label_distributions_, atol=1e-9)
