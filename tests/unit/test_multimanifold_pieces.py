"""The pieces of the partition: closed forms, brute force, invariants."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from fewfold.datasets.synthetic import generate
from fewfold.exceptions import InputError
from fewfold.methods.multimanifold import covariances as cov
from fewfold.methods.multimanifold.clustering import (
    assign_with_bounds,
    constrained_kmeans,
    cut_value,
    ratio_cut_embedding,
)
from fewfold.methods.multimanifold.cover import greedy_cover, starting_points
from fewfold.methods.multimanifold.decision import gaussian_parts, refined_parts, voronoi_parts
from fewfold.methods.multimanifold.hellinger import (
    connecting_links,
    mahalanobis_neighbors,
    squared_hellinger,
    undirected,
    weighted_graph,
)
from fewfold.methods.multimanifold.n_parts import choose_parts
from fewfold.methods.multimanifold.named_graph import contract, nearest_along, nearest_candidates
from fewfold.methods.multimanifold.partition import partition
from fewfold.methods.multimanifold.rules import (
    PartitionSettings,
    candidate_parts,
    default_parts,
    resolve_bounds,
)


def hellinger_graph(X, covariances, n_neighbors, sigma=0.2, **options):
    found = mahalanobis_neighbors(X, covariances, n_neighbors)
    edges = undirected(np.repeat(np.arange(len(X)), found.shape[1]), found.ravel())
    h2 = squared_hellinger(covariances, *edges)
    return weighted_graph(X, covariances, edges, h2, sigma, **options)


def random_covariances(rng, n, d):
    A = rng.normal(size=(n, d, d))
    return A @ A.transpose(0, 2, 1) + 0.1 * np.eye(d)


# --- covariances ---------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 12])
def test_neighborhoods_match_brute_force(d):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(80, d)) + 1e4, rng.normal(size=(15, d)) + 1e4
    expected = np.argsort(cdist(Q, X), axis=1)[:, :6]
    assert (np.sort(cov.neighborhoods(X, 6, Q)) == np.sort(expected)).all()
    own = cov.neighborhoods(X, 3)
    assert all(i in row for i, row in enumerate(own))


def test_neighborhoods_are_cut_to_the_number_of_rows():
    assert cov.neighborhoods(np.array([[0.0], [1.0]]), 9).shape == (2, 2)


def test_local_covariances_are_numpys():
    rng = np.random.default_rng(1)
    X, rows = rng.normal(size=(40, 3)), rng.integers(0, 40, (7, 9))
    found = cov.local_covariances(X, rows)
    for i in range(7):
        np.testing.assert_allclose(found[i], np.cov(X[rows[i]].T), atol=1e-12)


def test_regularize_adds_a_share_of_the_mean_variance():
    S = np.stack([np.diag([3.0, 1.0]), np.zeros((2, 2))])
    out = cov.regularize(S, 0.1)
    np.testing.assert_allclose(out[0], np.diag([3.2, 1.2]))
    assert np.linalg.eigvalsh(out[1]).min() > 0
    with pytest.raises(InputError, match="ridge"):
        cov.regularize(S, 0.0)


def test_projection_keeps_distances_of_data_that_fit_its_components():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 30)) + 5
    Z = cov.fit_projection(X, 4).apply(X)
    assert Z.shape == (60, 4)
    np.testing.assert_allclose(cdist(Z, Z), cdist(X, X), atol=1e-8)


def test_projection_of_sparse_rows_keeps_their_products():
    rng = np.random.default_rng(3)
    X = (rng.random((50, 3)) @ rng.random((3, 40))) * 1.0
    Z = cov.fit_projection(sparse.csr_array(X), 3).apply(sparse.csr_array(X))
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-6)


def test_steering_turns_a_mixed_neighborhood_towards_its_own_line():
    t = np.linspace(-1, 1, 101)
    line, other = np.c_[t, 0 * t], np.c_[0 * t, t + 0.005]
    X = np.r_[line, other]
    point = np.array([[0.06, 0.0]])
    around = cov.neighborhoods(X, 40, point)
    plain = cov.steered_covariances(X, point, around, 20, 0.01, 0)[0]
    steered = cov.steered_covariances(X, point, around, 20, 0.01, 10)[0]
    assert plain[1, 1] / plain[0, 0] > 0.2
    assert steered[1, 1] / steered[0, 0] < 0.05


# --- cover ---------------------------------------------------------------------------------


def cover_by_scanning(X, neighbors, start):
    alive, row, kept = np.ones(len(X), bool), start, []
    while True:
        kept.append(row)
        alive[row] = False
        alive[neighbors[row]] = False
        if not alive.any():
            return kept
        left = np.flatnonzero(alive)
        row = left[((X[left] - X[row]) ** 2).sum(axis=1).argmin()]


@pytest.mark.parametrize("n, d, size", [(5, 2, 2), (300, 1, 7), (500, 3, 12), (400, 15, 10)])
def test_cover_equals_a_plain_scan(n, d, size):
    X = np.random.default_rng(n).normal(size=(n, d))
    neighbors = cov.neighborhoods(X, size)
    for start in (0, n // 2, n - 1):
        kept = greedy_cover(X, neighbors, start)
        assert kept.tolist() == cover_by_scanning(X, neighbors, start)
        assert set(neighbors[kept].ravel()) == set(range(n))


def test_cover_of_duplicates_ends():
    X = np.zeros((50, 2))
    kept = greedy_cover(X, cov.neighborhoods(X, 10), 0)
    assert len(set(kept.tolist())) == len(kept) <= 50


def test_starting_points_do_not_depend_on_the_row_order():
    rng = np.random.default_rng(4)
    X, order = rng.normal(size=(100, 3)), rng.permutation(100)
    assert (order[starting_points(X[order], 5)] == starting_points(X, 5)).all()
    assert len(set(starting_points(X, 5))) == 5


# --- graph ---------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 6])
def test_mahalanobis_neighbors_match_brute_force(d):
    rng = np.random.default_rng(5)
    X, S = rng.normal(size=(60, d)), random_covariances(rng, 60, d)
    found = mahalanobis_neighbors(X, S, 5)
    for i in range(60):
        diff = X - X[i]
        d2 = np.einsum("ij,jk,ik->i", diff, np.linalg.inv(S[i]), diff)
        d2[i] = np.inf
        assert found[i].tolist() == np.argsort(d2)[:5].tolist()


def test_hellinger_against_numerical_integration_in_one_dimension():
    S = np.array([[[0.5]], [[3.0]]])
    x = np.linspace(-60, 60, 400_001)
    p, q = (np.exp(-(x**2) / (2 * v)) / np.sqrt(2 * np.pi * v) for v in (0.5, 3.0))
    expected = 1 - np.sqrt(p * q).sum() * (x[1] - x[0])
    assert squared_hellinger(S, [0], [1])[0] == pytest.approx(expected, abs=1e-6)


def test_hellinger_is_a_symmetric_distance_blind_to_common_maps():
    rng = np.random.default_rng(6)
    S = random_covariances(rng, 10, 3)
    i, j = np.triu_indices(10, 1)
    h2 = squared_hellinger(S, i, j)
    assert ((h2 > 0) & (h2 < 1)).all()
    np.testing.assert_allclose(h2, squared_hellinger(S, j, i))
    A = rng.normal(size=(3, 3))
    np.testing.assert_allclose(squared_hellinger(A @ S @ A.T, i, j), h2, atol=1e-10)
    assert squared_hellinger(S, np.arange(10), np.arange(10)) == pytest.approx(np.zeros(10))


def test_hellinger_survives_determinants_that_underflow():
    S = np.stack([1e-60 * np.eye(12), 2e-60 * np.eye(12)])
    expected = 1 - (2 * np.sqrt(2) / 3) ** 6
    assert squared_hellinger(S, [0], [1])[0] == pytest.approx(expected)


def test_graph_is_symmetric_connected_and_weighted_by_hellinger():
    rng = np.random.default_rng(7)
    X = np.r_[rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 50]
    S = random_covariances(rng, 80, 2)
    W = hellinger_graph(X, S, 4, 0.3)
    assert abs(W - W.T).max() == 0 and W.diagonal().max() == 0 and W.max() == 1.0
    assert sparse.csgraph.connected_components(W)[0] == 1
    edges = W.tocoo()
    raw = np.exp(-squared_hellinger(S, edges.row, edges.col) / (2 * 0.3**2))
    np.testing.assert_allclose(edges.data, raw / raw.max())
    assert set(hellinger_graph(X, S, 4, unit_weights=True).data) == {1.0}


def test_links_join_components_by_their_shortest_distance():
    X = np.array([[0.0], [1.0], [3.0], [3.5], [10.0]])
    links = connecting_links(X, np.array([0, 2]), np.array([1, 3]))
    assert sorted(map(tuple, links)) == [(1, 2), (3, 4)]


# --- clustering ----------------------------------------------------------------------------


def test_embedding_of_two_cliques_separates_them():
    block = np.ones((150, 150)) - np.eye(150)
    W = sparse.block_diag([block, block]).tolil()
    W[0, 299] = W[299, 0] = 1e-3
    V = ratio_cut_embedding(sparse.csr_array(W), 2)
    assert (np.sign(V[:150, 1]) == -np.sign(V[150:, 1])).all()
    np.testing.assert_allclose(V[:, 0], 1 / np.sqrt(300), rtol=1e-6)


def test_sparse_embedding_solves_the_same_problem_as_a_dense_one():
    rng = np.random.default_rng(8)
    X = rng.random((400, 2)) * [3, 1]
    W = hellinger_graph(X, np.tile(np.eye(2), (400, 1, 1)), 8)
    V = ratio_cut_embedding(W, 4)
    L = np.diag(W.sum(axis=1)) - W.toarray()
    values, vectors = np.linalg.eigh(L)
    np.testing.assert_allclose(np.einsum("ij,ij->j", V, L @ V), values[:4], atol=1e-8)
    overlap = np.linalg.svd(vectors[:, :4].T @ V, compute_uv=False)
    np.testing.assert_allclose(overlap, 1, atol=1e-6)


def test_assignment_meets_both_bounds():
    rng = np.random.default_rng(9)
    squared = rng.random((60, 3)) + np.array([0, 5, 5])
    labeled = np.arange(60) < 12
    part = assign_with_bounds(squared, labeled, 3, 10)
    assert np.bincount(part[labeled]).tolist() == [6, 3, 3]
    assert np.bincount(part[~labeled]).tolist() == [28, 10, 10]


def test_constrained_kmeans_finds_the_best_of_all_partitions():
    import itertools

    rng = np.random.default_rng(10)
    V, labeled = rng.normal(size=(9, 2)), np.arange(9) < 3
    best = np.inf
    for choice in itertools.product(range(2), repeat=9):
        part = np.array(choice)
        if np.bincount(part[:3], minlength=2).min() < 1 or np.bincount(part[3:]).min() < 3:
            continue
        if len(np.bincount(part[3:])) < 2:
            continue
        means = np.stack([V[part == p].mean(axis=0) for p in range(2)])
        best = min(best, ((V - means[part]) ** 2).sum())
    found = constrained_kmeans(V, 2, labeled, 1, 3, n_restarts=40)
    assert found.objective == pytest.approx(best)


def test_constrained_kmeans_of_identical_points_meets_its_bounds():
    found = constrained_kmeans(np.zeros((12, 2)), 3, np.zeros(12, bool), 0, 4)
    assert np.bincount(found.part).tolist() == [4, 4, 4]


def test_cut_value_by_hand():
    W = sparse.csr_array(np.array([[0, 2, 1], [2, 0, 0], [1, 0, 0]], float))
    assert cut_value(W, np.array([0, 0, 1])) == pytest.approx(1 / 2 + 1)


# --- rules and decision sets ---------------------------------------------------------------


def test_the_rules_of_the_paper():
    bounds = resolve_bounds(80, 1500, default_parts(80))
    log2 = np.log(80) ** 2
    assert (bounds.n_parts, bounds.min_labeled) == (3, int(1.25 * 80 / log2))
    assert bounds.min_unlabeled == int(1.25 * 1500 / log2)


def test_rules_give_way_and_say_so_but_numbers_do_not():
    bounds = resolve_bounds(2, 3, n_parts=2)
    assert bounds.min_labeled * 2 <= 2 and bounds.min_unlabeled * 2 <= 3
    assert any("min_labeled lowered" in note for note in bounds.notes)
    with pytest.raises(InputError, match="min_labeled=11 with 2 parts needs 22"):
        resolve_bounds(20, 1500, 2, min_labeled=11)


def test_the_published_variant_takes_the_papers_settings():
    paper = PartitionSettings(variant="published").resolved()
    taken = (paper.n_parts, paper.n_refits, paper.n_covers, paper.restart_choice, paper.cells)
    assert taken == ("rule", 0, 1, "objective", "euclidean") and paper.sigma == 0.2
    ours = PartitionSettings().resolved()
    taken = (ours.n_parts, ours.n_refits, ours.n_covers, ours.restart_choice, ours.cells)
    assert taken == ("labels", 15, 3, "ratio_cut", "gaussian") and ours.sigma == "auto"
    mixed = PartitionSettings(variant="published", n_covers=2, n_parts=7, sigma=0.3).resolved()
    assert (mixed.n_covers, mixed.n_parts, mixed.sigma, mixed.n_refits) == (2, 7, 0.3, 0)
    with pytest.raises(InputError, match="variant='new'"):
        PartitionSettings(variant="new").resolved()


def test_numbers_of_parts_that_the_labels_may_choose():
    ours = PartitionSettings().resolved()
    assert candidate_parts(80, 1500, ours) == [3, 1, 2, 4, 5, 6]
    few = candidate_parts(80, 1500, replace(ours, min_labeled=20))
    assert few == [3, 1, 2, 4]  # 80 labels fill four parts of 20
    assert candidate_parts(80, 1500, PartitionSettings(variant="published").resolved()) == [3]
    assert candidate_parts(80, 1500, replace(ours, n_parts=9)) == [9]


def test_parts_are_chosen_by_the_nearest_label_of_the_part():
    # Two interleaved combs: the nearest label is of the other one, unless parts separate them.
    X = np.arange(40.0)[:, None]
    y = np.arange(40) % 2
    whole, combs = np.zeros(40, int), y.copy()
    kept, labeled = np.arange(40)[::-1], np.ones(40, bool)

    def candidate(part, k):
        found = SimpleNamespace(kept=kept, labeled=labeled, bounds=SimpleNamespace(n_parts=k))
        return found, part[kept]

    both = [candidate(whole, 1), candidate(combs, 2)]
    assert choose_parts(both, X, y, is_classifier=True) == (1, {1: 1.0, 2: 0.0})
    assert choose_parts(both[::-1], X, y, is_classifier=True)[0] == 0
    # One point of forty is a standard error, which is not enough.
    far = X.copy()
    far[0] = -99.0  # no other point's nearest
    values = np.r_[1, y[1:]]
    alone = np.r_[1, combs[1:]]
    pair = [candidate(combs, 2), candidate(alone, 3)]
    best, losses = choose_parts(pair, far, values, is_classifier=True)
    assert best == 0 and losses == {2: 1 / 40, 3: 0.0}


def test_the_choice_of_the_restart_can_be_the_papers():
    X = generate("density_change", n_samples=1500, seed=4).X
    labeled = np.arange(1500) < 40
    found = [
        partition(X, labeled, PartitionSettings(n_covers=1, n_parts=3, restart_choice=choice))
        for choice in ("ratio_cut", "objective")
    ]
    assert found[0].ratio_cut <= found[1].ratio_cut


def test_voronoi_parts_match_brute_force():
    rng = np.random.default_rng(11)
    X, Q, part = rng.normal(size=(50, 3)), rng.normal(size=(200, 3)), rng.integers(0, 3, 50)
    assert (voronoi_parts(X, part, Q) == part[cdist(Q, X).argmin(axis=1)]).all()


def test_gaussian_parts_match_summed_densities():
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(12)
    X, S, part = rng.normal(size=(18, 2)), random_covariances(rng, 18, 2), np.arange(18) % 3
    Q = rng.normal(size=(100, 2))
    density = np.stack([multivariate_normal(x, s).pdf(Q) for x, s in zip(X, S)], axis=1)
    expected = np.stack([density[:, part == p].sum(axis=1) for p in range(3)]).argmax(axis=0)
    assert (gaussian_parts(X, S, part, Q) == expected).all()


def test_a_left_out_point_does_not_vote_for_itself():
    points = np.array([[0.0], [1.0], [1.1]])
    S, part = np.full((3, 1, 1), 0.04), np.array([0, 1, 0])
    assert gaussian_parts(points, S, part, points).tolist() == [0, 1, 0]
    assert gaussian_parts(points, S, part, points, np.arange(3))[1:].tolist() == [0, 1]


def test_refinement_gives_crossing_points_to_the_line_they_follow():
    along = np.linspace(-1, 1, 21)
    points = np.r_[np.c_[along, 0 * along], np.c_[0 * along, along]]
    flat, steep = np.diag([0.02, 1e-5]), np.diag([1e-5, 0.02])
    S = np.r_[np.tile(flat, (21, 1, 1)), np.tile(steep, (21, 1, 1))]
    truth = np.repeat([0, 1], 21)
    part = truth.copy()
    part[[9, 10, 11, 30]] = 1, 1, 1, 0  # around the crossing, where both lines meet
    assert (refined_parts(points, S, S, part, 0.2) == truth).all()


def test_thin_gaussians_only_where_covariances_have_full_rank():
    assert cov.default_cell_ridge(3, 0.01) < 1e-5
    assert cov.default_cell_ridge(15, 0.3) == 0.3


def test_contraction_counts_edges_between_the_cells_along_the_graph():
    from scipy.sparse.csgraph import dijkstra

    rng = np.random.default_rng(13)
    Z, kept = rng.normal(size=(60, 2)), np.array([3, 17, 40, 59])
    # Two halves without a link: the kept points 3 and 17 reach the first only.
    joined = rng.random((60, 60)) < 0.15
    joined[:30, 30:] = joined[30:, :30] = False
    W = sparse.csr_array(np.triu(joined, 1).astype(float))
    lengths = np.where(np.triu(joined, 1), cdist(Z, Z), 0.0)
    cell = dijkstra(sparse.csr_array(lengths), directed=False)[:, kept].argmin(axis=1)
    assert (nearest_along(W, Z, kept) == cell).all()
    expected = np.zeros((4, 4))
    for i, j in zip(*W.nonzero()):
        if cell[i] != cell[j]:
            expected[cell[i], cell[j]] += 1
    assert (contract(W, Z, kept).toarray() == expected + expected.T).all()
    assert not expected[:2, 2:].any()


def test_candidates_are_ranked_by_the_metric_of_their_own_point():
    rng = np.random.default_rng(14)
    X, S = rng.normal(size=(12, 2)), random_covariances(rng, 12, 2)
    allowed = rng.random((12, 12)) < 0.6
    np.fill_diagonal(allowed, False)
    rows, columns = nearest_candidates(X, S, sparse.csr_array(allowed.astype(float)), 3)
    for i in range(12):
        offset = X - X[i]
        d2 = np.einsum("ij,jk,ik->i", offset, np.linalg.inv(S[i]), offset)
        expected = sorted(np.flatnonzero(allowed[i]), key=lambda j, d2=d2: d2[j])[:3]
        assert columns[rows == i].tolist() == expected


# --- choices among restarts, covers and settings ----------------------------------------------


def test_restarts_are_ranked_by_the_score_given():
    V = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    free = np.zeros(6, bool)
    by_distance = constrained_kmeans(V, 2, free, n_restarts=20).part
    by_score = constrained_kmeans(V, 2, free, n_restarts=20, score=lambda p: p[2] != p[0]).part
    assert by_distance[2] == by_distance[4] and by_score[2] == by_score[0] != by_score[4]


def test_a_cover_that_cuts_through_a_dense_region_is_not_chosen():
    from types import SimpleNamespace

    from fewfold.methods.multimanifold.consensus import consensus

    Z = np.arange(100.0)[:, None]
    cuts = ((30, 0.1), (48, 0.9), (70, 0.11))  # the middle one agrees most with the others
    found = [
        SimpleNamespace(points=Z, part=(Z[:, 0] >= at).astype(int), ratio_cut=cut)
        for at, cut in cuts
    ]
    assert consensus(Z, found)[0] != 1
    for one in found:
        one.ratio_cut = 0.1
    assert consensus(Z, found)[0] == 1


def test_the_neutral_kernel_follows_the_nearest_point():
    from fewfold.methods.multimanifold.tuned_svm import choose_setting

    equal = np.zeros((3, 2))
    assert choose_setting(equal, (0.1, 1.0, 10.0), 12, neutral=8.0) == (2, 1)
    worse = np.array([[0.0, 0.0], [0.0, 0.0], [0.1, 0.13]])  # 1.2 and 1.56 of 12 points
    assert choose_setting(worse, (0.1, 1.0, 10.0), 12, neutral=8.0) == (2, 0)
