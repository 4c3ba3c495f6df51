"""Dissimilarities, neighborhood probabilities, and starts."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from fewfold.exceptions import InputError
from fewfold.methods.mbed import similarities as sim
from fewfold.methods.mbed.cost import simplex_directions
from fewfold.methods.mbed.neighborhoods import (
    DiffusedNeighborhoods,
    GlobalNeighborhoods,
    LocalNeighborhoods,
    SparseNeighborhoods,
)
from fewfold.methods.mbed.selection import left_out_hits, prefer
from fewfold.methods.mbed.starts import (
    label_walk,
    spectral_coordinates,
    turn_to_clusters,
    turn_to_labels,
)


def _rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_dissimilarities_match_scipy_dense_and_sparse(metric):
    X, other = _rows(), _rows(7, seed=1)
    np.testing.assert_allclose(
        sim.dissimilarities(X, metric=metric), cdist(X, X, metric), atol=1e-5
    )
    np.testing.assert_allclose(
        sim.dissimilarities(X, other, metric), cdist(X, other, metric), atol=1e-5
    )
    S = sparse.csr_array(X)
    np.testing.assert_allclose(
        sim.dissimilarities(S, metric=metric), cdist(X, X, metric), atol=1e-5
    )


def test_unknown_metric_is_refused():
    with pytest.raises(InputError, match="metric='manhattan'"):
        sim.dissimilarities(_rows(), metric="manhattan")


def test_global_probabilities_by_hand():
    D = cdist(_rows(9), _rows(9))
    scale = sim.quantile_scale(D, 1 / 3)
    off = D[~np.eye(9, dtype=bool)]
    assert np.mean(off <= scale) == pytest.approx(1 / 3, abs=0.05)
    E = np.exp(-((D / scale) ** 2))
    np.fill_diagonal(E, 0)
    expected = E / E.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(sim.global_probabilities(D, scale), expected, atol=1e-6)


def test_scale_of_duplicated_rows_is_positive():
    assert sim.quantile_scale(np.zeros((4, 4)), 0.5) == 1
    D = np.zeros((5, 5))
    D[4, :4] = D[:4, 4] = 2.0
    assert sim.quantile_scale(D, 0.1) == 2


def test_rows_reach_the_perplexity_asked_for():
    D = cdist(_rows(), _rows())
    P, precision = sim.perplexity_probabilities(D, 7.0)
    assert np.diag(P).max() == 0
    entropy = -np.where(P > 0, P * np.log(np.where(P > 0, P, 1)), 0).sum(axis=1)
    np.testing.assert_allclose(np.exp(entropy), 7, rtol=1e-2)
    assert (precision > 0).all()


def test_perplexity_of_duplicates_and_of_far_points_is_finite():
    D = np.zeros((6, 6))
    D[5, :5] = D[:5, 5] = 1e6
    P, _ = sim.perplexity_probabilities(D, 2.0)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    "rule",
    [GlobalNeighborhoods(0.5), LocalNeighborhoods(8.0), DiffusedNeighborhoods(8.0, 0.8)],
)
def test_a_held_out_point_is_pulled_as_if_it_had_been_there(rule):
    X = _rows(150, 3)
    full = rule.fit(sim.dissimilarities(X))
    assert np.diag(full).max() == 0
    np.testing.assert_allclose(full.sum(axis=1), 1, rtol=1e-4)
    expected = (full + full.T)[-1, :-1]
    rule.fit(sim.dissimilarities(X[:-1]))
    found = rule.extend(sim.dissimilarities(X[-1:], X[:-1]))[0]
    assert np.corrcoef(found, expected)[0, 1] > 0.98
    assert found.sum() == pytest.approx(expected.sum(), rel=0.1)


def test_diffused_probabilities_by_the_series():
    D = sim.dissimilarities(_rows(30))
    P = LocalNeighborhoods(5.0).fit(D).astype(np.float64)
    T = P + P.T
    T /= T.sum(axis=1, keepdims=True)
    R = sum(0.4 * 0.6**t * np.linalg.matrix_power(T, t) for t in range(80))
    np.fill_diagonal(R, 0)
    expected = R / R.sum(axis=1, keepdims=True)
    found = DiffusedNeighborhoods(5.0, 0.6).fit(D)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_sparse_neighborhoods_match_dense_ones_with_all_neighbors():
    X = _rows(40).astype(np.float32)
    found = SparseNeighborhoods(39, 5.0).fit(X).toarray()
    expected = LocalNeighborhoods(5.0).fit(sim.dissimilarities(X))
    np.testing.assert_allclose(found, expected, atol=2e-3)
    rule = SparseNeighborhoods(10, 5.0)
    P = rule.fit(X)
    assert (np.diff(P.indptr) == 10).all()
    S = rule.extend(X, X[:3] + 1e-3)
    assert S.shape == (3, 40)
    assert np.array_equal(S.toarray().argmax(axis=1), [0, 1, 2])


def _three_groups():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(3), 40)
    X = rng.normal(size=(120, 4)) + 6 * np.eye(3, 4)[codes]
    return LocalNeighborhoods(10.0).fit(sim.dissimilarities(X)), codes


@pytest.mark.parametrize("as_sparse", [False, True])
def test_spectral_start_turned_to_labels_separates_groups(as_sparse):
    P, codes = _three_groups()
    P = sparse.csr_array(P) if as_sparse else P
    V = spectral_coordinates(P, 3)
    W = simplex_directions(3, 3)
    np.testing.assert_allclose(V.std(axis=0), 1, rtol=1e-6)
    labeled = np.array([0, 1, 40, 41, 80, 81])
    Y = turn_to_labels(V, W, labeled, np.eye(3)[codes[labeled]])
    np.testing.assert_allclose(Y @ Y.T, V @ V.T, atol=1e-8)  # a rotation
    assert np.mean((Y @ W.T).argmax(axis=1) == codes) > 0.97


def test_spectral_start_turned_to_clusters_separates_groups():
    P, codes = _three_groups()
    V = spectral_coordinates(P, 3)
    Y = turn_to_clusters(V, simplex_directions(3, 3), np.random.default_rng(0))
    found = (Y @ simplex_directions(3, 3).T).argmax(axis=1)
    table = np.array([[np.sum((codes == a) & (found == b)) for b in range(3)] for a in range(3)])
    assert sorted(table.argmax(axis=1)) == [0, 1, 2]
    assert table.max(axis=1).sum() > 115


def test_leaving_one_out_is_fair_where_neighborhoods_say_nothing():
    P = np.full((20, 20), 1 / 19)
    np.fill_diagonal(P, 0)
    noise = np.random.default_rng(0).uniform(0.99, 1.01, P.shape)
    hits = left_out_hits(P * noise, np.arange(20), np.eye(2)[np.arange(20) % 2])
    assert 0.2 < hits.mean() < 0.8  # not 0, as it is when a point makes its own class rare
    groups, codes = _three_groups()
    assert left_out_hits(groups, np.arange(0, 120, 7), np.eye(3)[codes[::7]]).mean() > 0.9


def test_a_choice_needs_more_than_a_standard_error():
    right, wrong = np.ones(9, bool), np.zeros(9, bool)
    assert prefer(right, right) == -1
    one = right.copy()
    one[0] = False
    assert prefer(right, one) == -1
    assert prefer(right, wrong) == 0
    assert prefer(wrong, right) == 1


def test_label_walk_on_a_chain_follows_the_nearer_end():
    chain = np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1)
    P = sparse.csr_array(chain / chain.sum(axis=1, keepdims=True))
    labeled, targets = np.array([0, 9]), np.eye(2)
    shares = label_walk(P, labeled, targets, 0.95, n_rounds=400)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares, shares[::-1, ::-1], atol=1e-6)
    assert (np.diff(shares[:, 0]) < 0).all()
    assert np.array_equal(shares.argmax(axis=1), np.repeat([0, 1], 5))


def test_points_that_no_label_reaches_get_equal_shares():
    P = sparse.csr_array(np.kron(np.eye(2), [[0, 1.0], [1.0, 0]]))
    shares = label_walk(P, np.array([0]), np.array([[1.0, 0.0]]), 0.9)
    np.testing.assert_allclose(shares, [[1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5]])
