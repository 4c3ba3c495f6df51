"""The algorithm of [multimanifold], constant by constant: each change of the code is noticed.

The checks are written from the paper and from the values in docs/methods/multimanifold.md.
"""
# ruff: noqa: E501 - a change is read best on one line

import numpy as np
import pytest
from _source_mutations import assert_caught
from scipy import sparse

from fewfold.methods.multimanifold.clustering import constrained_kmeans, ratio_cut_embedding
from fewfold.methods.multimanifold.rules import PartitionSettings

ROOM = "fewfold.methods.multimanifold."
RNG = np.random.default_rng(0)


def random_covariances(n, d):
    A = RNG.normal(size=(n, d, d + 2))
    return A @ A.transpose(0, 2, 1) / 3


COVARIANCES = random_covariances(12, 3)
POINTS = RNG.normal(size=(12, 3))


# ---------------------------------------------------------------- sizes


def check_rules(module):
    log = np.log
    assert [module.default_parts(n) for n in (20, 80, 640)] == [2, 3, 4]  # ceil(0.5 log n)
    assert module.default_neighborhood(20_000) == int(3 * log(20_000))
    assert module.default_degree(1500) == int(1.5 * log(1500))
    assert module.default_minimum(640, 80) == int(1.25 * 640 / log(80) ** 2)
    bounds = module.resolve_bounds(80, 1500, 3)
    assert (bounds.n_parts, bounds.min_labeled) == (3, int(1.25 * 80 / log(80) ** 2))
    assert bounds.min_unlabeled == int(1.25 * 1500 / log(80) ** 2)
    published = module.PartitionSettings(variant="published").resolved()
    assert (published.n_parts, published.n_refits, published.n_covers) == ("rule", 0, 1)
    assert (published.restart_choice, published.cells) == ("objective", "euclidean")
    assert (published.sigma, published.n_restarts) == (0.2, 10)
    assert module.candidate_parts(80, 1500, published) == [3]


@pytest.mark.parametrize(
    "old, new",
    [
        ("np.ceil(0.5 * np.log(max(1, n_labeled)))", "np.ceil(np.log(max(1, n_labeled)))"),
        ("np.ceil(0.5 * np.log", "np.floor(0.5 * np.log"),
        ("int(3 * np.log(", "int(2 * np.log("),
        ("int(1.5 * np.log(", "int(np.log("),
        ("int(1.25 * n_points /", "int(n_points /"),
        ("/ np.log(n_labeled) ** 2)", "/ np.log(n_labeled))"),
        ("/ np.log(n_labeled) ** 2)", "/ np.log(n_points) ** 2)"),
        ('("min_unlabeled", min_unlabeled, n_unlabeled_kept)', '("min_unlabeled", min_unlabeled, n_labeled)'),
        ('        "n_parts": "rule",', '        "n_parts": "labels",'),
        ('        "n_refits": 0,', '        "n_refits": 1,'),
        ('        "n_covers": 1,', '        "n_covers": 2,'),
        ('        "restart_choice": "objective",', '        "restart_choice": "ratio_cut",'),
        ('        "cells": "euclidean",', '        "cells": "gaussian",'),
        ('        "sigma": 0.2,', '        "sigma": 0.15,'),
        ("n_restarts: int = 10", "n_restarts: int = 1"),
    ],
)  # fmt: skip
def test_changes_of_the_rules_are_noticed(old, new):
    assert_caught(check_rules, ROOM + "rules", old, new)


# ---------------------------------------------------------------- cover and covariances


def check_covariances(module):
    X = np.random.default_rng(1).normal(size=(30, 3))
    around = module.neighborhoods(X, 7)
    d2 = ((X[:, None] - X) ** 2).sum(axis=2)
    assert (np.sort(around) == np.sort(np.argsort(d2, axis=1)[:, :7])).all()
    plain = module.local_covariances(X, around)
    for i in (0, 9):
        np.testing.assert_allclose(plain[i], np.cov(X[around[i]].T), atol=1e-12)
    full = module.regularize(plain, 0.1)
    for S, R in zip(plain, full):
        np.testing.assert_allclose(R, S + 0.1 * np.trace(S) / 3 * np.eye(3), atol=1e-12)
    assert (module.default_ridge(3), module.default_ridge(15)) == (0.01, 0.3)
    published = module.steered_covariances(X, X, module.neighborhoods(X, 14), 7, 0.1, 0)
    np.testing.assert_allclose(published, full, atol=1e-12)


@pytest.mark.parametrize(
    "old, new",
    [
        ("return out / max(1, size - 1)", "return out / max(1, size)"),
        ("block = block - block.mean(axis=1, keepdims=True)", "pass"),
        ("np.trace(covariances, axis1=1, axis2=2) / d", "np.trace(covariances, axis1=1, axis2=2)"),
        ("np.maximum(ridge * spread,", "np.maximum(spread,"),
        ("return 0.01 if n_features <= FEW_DIMENSIONS else 0.3", "return 0.01"),
        ("return 0.01 if", "return 0.1 if"),
        ("for _ in range(n_refits):", "for _ in range(n_refits + 1):"),
        ("regularize(local_covariances(X, neighbors[:, :size]), ridge)", "local_covariances(X, neighbors)"),
    ],
)  # fmt: skip
def test_changes_of_the_covariances_are_noticed(old, new):
    assert_caught(check_covariances, ROOM + "covariances", old, new)


def check_shape(module):
    """Neighborhoods of floor(3 log M) rows, a cover of unlabeled ones, floor(1.5 log m) edges."""
    X = np.random.default_rng(2).normal(size=(300, 2))
    shape = module.fit_shape(X, PartitionSettings(variant="published"))
    assert shape.size == int(3 * np.log(300)) and len(shape.covers) == 1 and shape.n_refits == 0
    rows, alive, walk = shape.covers[0].rows, np.ones(300, bool), []
    here = int(((X - X.mean(axis=0)) ** 2).sum(axis=1).argmax())
    while True:
        walk.append(here)
        d2 = ((X - X[here]) ** 2).sum(axis=1)
        alive[np.argsort(d2)[: shape.size]] = False
        if not alive.any():
            break
        here = int(np.where(alive, d2, np.inf).argmin())
    assert rows.tolist() == walk
    S, points, degree = shape.covers[0].covariances, X[rows], int(1.5 * np.log(len(rows)))
    wanted = set()
    for i, x in enumerate(points):
        around = np.argsort(((X - x) ** 2).sum(axis=1))[: shape.size]
        plain = np.cov(X[around].T)
        np.testing.assert_allclose(S[i], plain + 0.01 * np.trace(plain) / 2 * np.eye(2))
        d2 = [(p - x) @ np.linalg.solve(S[i], p - x) for p in points]
        wanted |= {tuple(sorted((i, int(j)))) for j in np.argsort(d2)[1 : degree + 1]}
    assert set(map(tuple, shape.covers[0].edges.T.tolist())) == wanted
    for (i, j), h2 in list(zip(shape.covers[0].edges.T, shape.covers[0].squared_hellinger))[:20]:
        assert h2 == pytest.approx(hellinger(S[i], S[j]) ** 2, abs=1e-9)


def hellinger(A, B):
    """The paper's formula, D the dimension."""
    det, d = np.linalg.det, len(A)
    affinity = 2 ** (d / 2) * det(A) ** 0.25 * det(B) ** 0.25 / det(A + B) ** 0.5
    return np.sqrt(max(0.0, 1 - affinity))


@pytest.mark.parametrize(
    "old, new",
    [
        ("default_neighborhood(len(Z)) if auto_size", "default_degree(len(Z)) if auto_size"),
        ("default_degree(len(rows)) if shape.degree is None", "2 if shape.degree is None"),
        ("starting_points(Z, settings.n_covers)", "starting_points(Z, 2)"),
        ("found = mahalanobis_neighbors(points, S, degree)", "found = mahalanobis_neighbors(points, S[::-1], degree)"),
        ("h2 = squared_hellinger(S, *edges)", "h2 = squared_hellinger(2 * S[::-1], *edges)"),
        ("int(settings.n_refits)", "15"),
        ("around = cov.neighborhoods(Z, shape.size)", "around = cov.neighborhoods(Z, 2 * shape.size)"),
        ("return cov.steered_covariances(Z, points", "return cov.steered_covariances(Z / 2, points"),
    ],
)  # fmt: skip
def test_changes_of_the_shape_are_noticed(old, new):
    assert_caught(check_shape, ROOM + "shape", old, new)


# ---------------------------------------------------------------- the graph


def check_graph(module):
    i, j = np.triu_indices(12, 1)
    expected = [hellinger(COVARIANCES[a], COVARIANCES[b]) ** 2 for a, b in zip(i, j)]
    np.testing.assert_allclose(module.squared_hellinger(COVARIANCES, i, j), expected, atol=1e-10)
    near = module.mahalanobis_neighbors(POINTS, COVARIANCES, 4)
    for row in range(12):
        gap = POINTS - POINTS[row]
        d2 = np.einsum("ij,jk,ik->i", gap, np.linalg.inv(COVARIANCES[row]), gap)
        assert set(near[row]) == set(np.argsort(d2)[1:5])
    some = np.array([7, 2])
    assert (module.mahalanobis_neighbors(POINTS, COVARIANCES, 4, some) == near[some]).all()
    h2 = np.array(expected)
    W = module.weighted_graph(POINTS, COVARIANCES, (i, j), h2, 0.2).toarray()
    wanted = np.exp(-h2 / (2 * 0.2**2))
    np.testing.assert_allclose(W[i, j], wanted / wanted.max(), rtol=1e-9)
    np.testing.assert_allclose(W, W.T)
    links = module.connecting_links(
        np.array([[0.0], [1], [4], [5]]), np.array([0, 2]), np.array([1, 3])
    )
    assert links.tolist() == [[1, 2]]  # fmt: skip


@pytest.mark.parametrize(
    "old, new",
    [
        ("d / 2 * np.log(2.0)", "d * np.log(2.0)"),
        ("(own[rows] + own[columns]) / 4", "(own[rows] + own[columns]) / 2"),
        ("/ 4 - joint / 2", "/ 4 - joint / 4"),
        ("covariances[i] + covariances[j]", "covariances[i]"),
        ("np.exp(-h2 / (2 * sigma**2))", "np.exp(-h2 / sigma**2)"),
        ("np.exp(-h2 / (2 * sigma**2))", "np.exp(-np.sqrt(h2) / (2 * sigma**2))"),
        ("np.linalg.inv(covariances[rows])", "covariances[rows]"),
        ("distances[row] = np.inf", "pass"),
        ("sparse.csr_array(half + half.T)", "sparse.csr_array(half)"),
        ("a = own[distance.argmin()]", "a = own[distance.argmax()]"),
    ],
)  # fmt: skip
def test_changes_of_the_graph_are_noticed(old, new):
    assert_caught(check_graph, ROOM + "hellinger", old, new)


# ---------------------------------------------------------------- the cut


def check_cut(module):
    rng = np.random.default_rng(4)
    W = rng.random((9, 9)) ** 4
    W = W + W.T - 2 * np.diag(np.diag(W))
    L = np.diag(W.sum(axis=1)) - W
    values, vectors = np.linalg.eigh(L)
    V = module.ratio_cut_embedding(sparse.csr_array(W), 3)
    np.testing.assert_allclose(np.abs(V.T @ vectors[:, :3]), np.eye(3), atol=1e-8)
    part = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])
    ratio = sum(W[part == p][:, part != p].sum() / (part == p).sum() for p in range(3))
    assert module.cut_value(sparse.csr_array(W), part) == pytest.approx(ratio)
    points = np.r_[rng.normal(0, 1, (30, 2)), rng.normal(3, 1, (10, 2))]
    labeled = np.arange(40) % 4 == 0
    found = module.constrained_kmeans(points, 2, labeled, 4, 12, random_state=1)
    counts = [np.bincount(found.part[kind], minlength=2).min() for kind in (labeled, ~labeled)]
    assert counts[0] >= 4 and counts[1] >= 12
    means = np.array([points[found.part == p].mean(axis=0) for p in range(2)])
    np.testing.assert_allclose(found.centers, means, atol=1e-9)
    assert found.objective == pytest.approx(((points - means[found.part]) ** 2).sum())
    # Ten k-means++ starts, of which the lowest objective is kept.
    many = rng.normal(size=(60, 2))
    none = np.zeros(60, bool)
    stream = np.random.default_rng(1)
    starts = [
        module.constrained_kmeans(many, 5, none, 0, 6, n_restarts=1, random_state=stream)
        for _ in range(10)
    ]
    best = module.constrained_kmeans(many, 5, none, 0, 6, random_state=1)
    assert best.objective == pytest.approx(min(one.objective for one in starts))
    spread = [one.objective for one in starts]
    assert min(spread) < min(spread[0], np.median(spread)) - 1e-6  # else nothing is chosen
    by_score = module.constrained_kmeans(many, 5, none, 0, 6, random_state=1, score=lambda p: -p[0])
    assert by_score.part[0] == max(one.part[0] for one in starts)  # fmt: skip
    free = module.constrained_kmeans(many, 5, none, random_state=1)
    d2 = ((many[:, None] - free.centers) ** 2).sum(axis=2)
    assert (free.part == d2.argmin(axis=1)).all()
    for seed in range(5):  # the one far point is drawn, however many others there are
        far = module.plusplus_centers(
            np.r_[np.zeros((50, 1)), [[9.0]]], 2, np.random.default_rng(seed)
        )
        assert far.max() == 9
    costs = np.array([[0.0, 2.0], [0.0, 3.0], [0.0, 1.0]])
    assert module.assign_with_bounds(costs, np.array([True, True, False]), 1, 0).tolist() == [
        1,
        0,
        0,
    ]
    assert module.assign_with_bounds(costs, np.zeros(3, bool), 0, 1).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "old, new",
    [
        ('laplacian(W, "unnormalized")', 'laplacian(W, "symmetric")'),
        ("V = V[:, :n_vectors]", "V = V[:, 1 : n_vectors + 1]"),
        ("(labeled, min_labeled), (~labeled, min_unlabeled)", "(labeled, min_unlabeled), (~labeled, min_labeled)"),
        ("((V[:, None, :] - centers) ** 2).sum(axis=2)", "np.abs(V[:, None, :] - centers).max(axis=2)"),
        ("float(((V - centers[part]) ** 2).sum())", "float(np.abs(V - centers[part]).sum())"),
        ("n_restarts: int = 10,", "n_restarts: int = 1,"),
        ("value < lowest * (1 - 1e-12)", "value > lowest"),
        ("found.objective if score is None else score(found.part)", "found.objective"),
        ("centers = _means(V, part, centers)", "pass"),
        ("(leaving / np.maximum(sizes, 1)).sum()", "leaving.sum()"),
        ("p=d2 / total)", ")"),
    ],
)  # fmt: skip
def test_changes_of_the_clustering_are_noticed(old, new):
    assert_caught(check_cut, ROOM + "clustering", old, new)


# ---------------------------------------------------------------- decision sets, parts


def check_partition(module):
    """The published cut of a cloud, which has many local optima, by the pieces checked above."""
    X = np.random.default_rng(5).normal(size=(600, 2))
    labeled = np.arange(600) % 20 == 0
    settings = PartitionSettings(variant="published", n_parts=5)
    found = module.partition(X, labeled, settings, random_state=2)
    assert found.bounds.n_parts == 5 and found.agreement == 1
    low, m = found.bounds, int((~found.labeled).sum())
    assert low.min_labeled == int(1.25 * 30 / np.log(30) ** 2)
    assert low.min_unlabeled == int(1.25 * m / np.log(30) ** 2) != low.min_labeled
    assert set(np.flatnonzero(labeled)) == set(found.kept[found.labeled])
    rows, columns = found.W.nonzero()
    S = found.covariances
    h2 = np.array([hellinger(S[i], S[j]) ** 2 for i, j in zip(rows, columns)])
    weights = np.exp(-h2 / (2 * 0.2**2))
    np.testing.assert_allclose(found.W[rows, columns], weights / weights.max(), rtol=1e-6)
    V, bounds = ratio_cut_embedding(found.W, 5), found.bounds
    expected = constrained_kmeans(
        V, 5, found.labeled, bounds.min_labeled, bounds.min_unlabeled, random_state=2
    )
    assert (expected.part == found.part).all()
    near = module.mahalanobis_neighbors(found.points, S, int(1.5 * np.log(len(S))))
    own = np.flatnonzero(found.labeled)
    assert all(found.W[i, j] > 0 for i in own for j in near[i])


@pytest.mark.parametrize(
    "old, new",
    [
        ("V = ratio_cut_embedding(W, n_parts)", "V = ratio_cut_embedding(W, n_parts + 1)"),
        ('by_cut = settings.restart_choice == "ratio_cut"', "by_cut = True"),
        ("n_restarts=settings.n_restarts,", "n_restarts=1,"),
        ("            bounds.min_unlabeled,\n            n_restarts", "            0,\n            n_restarts"),
        ("degree = self.shape.degree or default_degree(len(self.kept))", "degree = 1"),
        ("return (settings.sigma,)", "return (2 * settings.sigma,)"),
        ("self.kept, self.counts = np.r_[own, path], (len(own), len(path))", "self.kept, self.counts = np.r_[own, path], (len(path), len(own))"),
    ],
)  # fmt: skip
def test_changes_of_the_partition_are_noticed(old, new):
    assert_caught(check_partition, ROOM + "partition", old, new)


def check_decision(module):
    queries = np.random.default_rng(6).normal(size=(40, 3))
    part = np.arange(12) % 3
    nearest = ((queries[:, None] - POINTS) ** 2).sum(axis=2).argmin(axis=1)
    assert (module.voronoi_parts(POINTS, part, queries) == part[nearest]).all()
    gap = queries[:, None] - POINTS
    density = np.exp(-np.einsum("qij,ijk,qik->qi", gap, np.linalg.inv(COVARIANCES), gap) / 2)
    density /= np.sqrt(np.linalg.det(COVARIANCES))
    wanted = np.stack([density[:, part == p].sum(axis=1) for p in range(3)]).argmax(axis=0)
    assert (module.gaussian_parts(POINTS, COVARIANCES, part, queries) == wanted).all()


@pytest.mark.parametrize(
    "old, new",
    [
        ("part[cov.neighborhoods(points, 1, queries)[:, 0]]", "part[cov.neighborhoods(points, 2, queries)[:, 1]]"),
        ("height[around] - (z**2).sum(axis=2) / 2", "height[around] - (z**2).sum(axis=2)"),
        ("height[around] - (z**2).sum(axis=2) / 2", "-(z**2).sum(axis=2) / 2"),
        ("np.where(part == p, weight, 0.0).sum(axis=1)", "np.where(part == p, weight, 0.0).max(axis=1)"),
    ],
)  # fmt: skip
def test_changes_of_the_decision_sets_are_noticed(old, new):
    assert_caught(check_decision, ROOM + "decision", old, new)
