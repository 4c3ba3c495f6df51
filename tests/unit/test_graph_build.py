"""Weights, symmetry, components, extension to new rows, and graphs as files."""

import os
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from fewfold.exceptions import ArtifactError, GraphWarning, InputError
from fewfold.graph.build import (
    GraphSettings,
    build_graph,
    extend_graph,
    extension_weights,
    find_neighbors,
    graph_from_neighbors,
)
from fewfold.graph.neighbors import Neighbors, nearest_neighbors
from fewfold.graph.weights import (
    SYMMETRIES,
    WEIGHTS,
    as_matrix,
    directed_weights,
    heat_bandwidth,
    local_scales,
    symmetrize,
)
from fewfold.pipeline.graph_files import read_graph, read_neighbors, write_graph, write_neighbors


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(40, 3))


def brute_weights(X, k, weights, bandwidth=None):
    """Directed weights by loops over the definitions."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1)[:, :k]
    last = np.array([D[i, near[i, -1]] for i in range(len(X))])
    chosen = np.array([D[i, near[i]] for i in range(len(X))])
    width = bandwidth or np.sqrt(np.mean(chosen**2))
    W = np.zeros(D.shape)
    for i in range(len(X)):
        for j in near[i]:
            W[i, j] = {
                "binary": 1.0,
                "heat": np.exp(-(D[i, j] ** 2) / (2 * width**2)),
                "self_tuning": np.exp(-(D[i, j] ** 2) / (last[i] * last[j])),
                "relative": np.exp(-4 * D[i, j] / last[i]),
            }[weights]
    return W


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("how", SYMMETRIES)
def test_against_the_definitions(points, weights, how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)  # mutual neighbours leave some isolated
        graph = build_graph(points, n_neighbors=5, weights=weights, symmetrize=how)
    W = brute_weights(points, 5, weights)
    expected = {
        "union": np.maximum(W, W.T),
        "mutual": np.minimum(W, W.T),
        "mean": (W + W.T) / 2,
    }[how]
    np.testing.assert_allclose(graph.W.toarray(), expected, atol=1e-5)
    assert (graph.W != graph.W.T).nnz == 0 and not graph.W.diagonal().any()
    assert graph.W.has_sorted_indices and (graph.W.data > 0).all()


def test_bandwidth_is_used(points):
    graph = build_graph(points, n_neighbors=4, weights="heat", bandwidth=0.3)
    W = brute_weights(points, 4, "heat", 0.3)
    np.testing.assert_allclose(graph.W.toarray(), np.maximum(W, W.T), atol=1e-5)
    assert graph.bandwidth == 0.3
    own = build_graph(points, n_neighbors=4, weights="heat")
    assert own.bandwidth == pytest.approx(heat_bandwidth(nearest_neighbors(points, 4)))


@pytest.mark.parametrize("scale", [1e-4, 1e4])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_default_weights_do_not_depend_on_the_unit(points, scale, weights):
    a = build_graph(points, n_neighbors=5, weights=weights).W
    b = build_graph(points * scale, n_neighbors=5, weights=weights).W
    np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-3, atol=1e-6)


def test_two_far_groups_are_two_components():
    X = np.concatenate([np.arange(5.0), 1000 + np.arange(8.0)])[:, None]
    graph = build_graph(X, n_neighbors=2)
    assert graph.n_components == 2
    assert graph.component.tolist() == [1] * 5 + [0] * 8
    assert len(graph.isolated) == 0


def test_isolated_points_are_told():
    X = np.concatenate([np.arange(10.0), [100.0, 300.0]])[:, None]
    with pytest.warns(GraphWarning, match="2 of 12 samples have no neighbor.*first: row 10"):
        graph = build_graph(X, n_neighbors=2, symmetrize="mutual")
    assert graph.isolated.tolist() == [10, 11]
    assert graph.n_components == 3


@pytest.mark.parametrize("weights", WEIGHTS)
def test_all_rows_equal(weights):
    graph = build_graph(np.ones((6, 2)), n_neighbors=3, weights=weights)
    np.testing.assert_allclose(graph.W.data, 1)
    assert np.isfinite(graph.scales).all() and (graph.scales > 0).all()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_some_duplicates(weights):
    X = np.concatenate([np.zeros((5, 2)), np.random.default_rng(0).normal(size=(10, 2))])
    graph = build_graph(X, n_neighbors=3, weights=weights)
    assert np.isfinite(graph.W.data).all() and graph.W.data.max() <= 1


def test_two_rows():
    graph = build_graph(np.array([[0.0], [1.0]]), n_neighbors=1, weights="binary")
    assert graph.W.toarray().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(InputError, match="allowed: 1 to 1"):
        build_graph(np.array([[0.0], [1.0]]), n_neighbors=2)


def test_local_scales_are_never_zero():
    neighbors = Neighbors(np.zeros((3, 1), int), np.array([[0.0], [2.0], [0.5]], np.float32))
    assert local_scales(neighbors).tolist() == [0.5, 2.0, 0.5]
    nothing = Neighbors(np.zeros((2, 1), int), np.zeros((2, 1), np.float32))
    assert local_scales(nothing).tolist() == [1.0, 1.0] and heat_bandwidth(nothing) == 1.0


def test_as_matrix_and_symmetrize_on_a_tiny_graph():
    neighbors = Neighbors(np.array([[1], [2], [1]]), np.zeros((3, 1), np.float32))
    W = as_matrix(neighbors, np.array([[0.5], [0.25], [0.75]]), 3)
    assert W.toarray().tolist() == [[0, 0.5, 0], [0, 0, 0.25], [0, 0.75, 0]]
    assert symmetrize(W, "union").toarray()[1].tolist() == [0.5, 0, 0.75]
    assert symmetrize(W, "mutual").toarray()[1].tolist() == [0, 0, 0.25]
    assert symmetrize(W, "mean").toarray()[1].tolist() == [0.25, 0, 0.5]
    with pytest.raises(InputError, match="symmetrize='max' is unknown"):
        symmetrize(W, "max")
    with pytest.raises(InputError, match="weights='cubic' is unknown"):
        directed_weights(neighbors, "cubic")


@pytest.mark.parametrize("weights", WEIGHTS)
def test_extension_of_a_graph_row_by_row(points, weights):
    graph = build_graph(points, n_neighbors=4, weights=weights)
    new = np.random.default_rng(5).normal(size=(6, 3))
    E = extend_graph(graph, points, new)
    D = cdist(new, points)
    assert E.shape == (6, 40) and (np.diff(E.indptr) == 4).all()
    for i in range(6):
        near = np.argsort(D[i])[:4]
        assert sorted(E.indices[E.indptr[i] : E.indptr[i + 1]]) == sorted(near)
        d, last = D[i, near], D[i, near[-1]]
        expected = {
            "binary": np.ones(4),
            "heat": np.exp(-(d**2) / (2 * graph.bandwidth**2)),
            "self_tuning": np.exp(-(d**2) / (last * graph.scales[near])),
            "relative": np.exp(-4 * d / last),
        }[weights]
        np.testing.assert_allclose(E.toarray()[i, near], expected, rtol=1e-3)


def test_a_new_row_does_not_depend_on_the_others(points):
    graph = build_graph(points, n_neighbors=4)
    new = np.random.default_rng(5).normal(size=(6, 3)).astype(np.float32)
    new[3] = new[3] * 1e-3 + points[0]  # one of them almost a duplicate
    whole = extend_graph(graph, points, new).toarray()
    single = np.vstack([extend_graph(graph, points, row[None]).toarray() for row in new])
    np.testing.assert_allclose(whole, single, rtol=1e-5)


def test_a_new_row_far_from_everything_still_has_neighbours(points):
    with pytest.warns(GraphWarning):  # so narrow a kernel that weights vanish
        graph = build_graph(points, n_neighbors=4, weights="heat", bandwidth=0.01)
    E = extend_graph(graph, points, np.full((1, 3), 1e3))
    assert E.nnz == 4 and (E.data > 0).all()


def test_settings_refuse_unknown_keys():
    with pytest.raises(InputError, match=r"Unknown graph settings \['neighbours'\]"):
        GraphSettings.from_dict({"neighbours": 3})
    settings = GraphSettings(n_neighbors=3, canonicalize=["center"])
    assert GraphSettings.from_dict(settings.to_dict()) == settings
    assert not settings.is_plain and GraphSettings().is_plain
    assert settings.for_images((8, 8)).image_shape == [8, 8]
    assert GraphSettings().for_images((8, 8)).image_shape is None


@pytest.mark.parametrize("recall", [None, 0.75])
def test_files_come_back(tmp_path, points, recall):
    found = nearest_neighbors(points, 4)
    neighbors = Neighbors(found.indices, found.distances, recall)
    for i, rows in enumerate((slice(0, 30), slice(30, 40))):
        tile = Neighbors(neighbors.indices[rows], neighbors.distances[rows], recall)
        write_neighbors(tmp_path / f"n{i}.h5", tile)
    joined = read_neighbors([tmp_path / "n0.h5", tmp_path / "n1.h5"])
    np.testing.assert_array_equal(joined.indices, neighbors.indices)
    assert joined.recall == recall
    graph = graph_from_neighbors(joined, GraphSettings(n_neighbors=4, weights="heat"))
    write_graph(tmp_path / "g.h5", graph)
    back = read_graph(tmp_path / "g.h5")
    assert (back.W != graph.W).nnz == 0 and back.settings == graph.settings
    assert back.bandwidth == graph.bandwidth and back.neighbors.recall == recall
    new = points[:3] + 0.1
    assert (extend_graph(back, points, new) != extend_graph(graph, points, new)).nnz == 0
    with pytest.raises(ArtifactError, match="stage 'search_neighbors', expected was 'build_graph'"):
        read_graph(tmp_path / "n0.h5")
    assert sorted(os.listdir(tmp_path)) == ["g.h5", "n0.h5", "n1.h5"]


def test_sparse_rows_give_the_graph_of_the_same_dense_rows():
    X = np.random.default_rng(2).random((30, 8)) * (np.random.default_rng(3).random((30, 8)) < 0.4)
    X[0] = 0
    for metric in ("euclidean", "cosine"):
        a = build_graph(X, n_neighbors=4, metric=metric)
        b = build_graph(sparse.csr_array(X), n_neighbors=4, metric=metric)
        assert a.n_components == b.n_components
        same = np.isclose(a.W.toarray(), b.W.toarray(), atol=1e-3).mean()
        assert same > 0.97  # ties may fall otherwise


def test_precomputed_distances(points):
    a = build_graph(points, n_neighbors=4)
    b = build_graph(cdist(points, points), n_neighbors=4, metric="precomputed")
    np.testing.assert_allclose(a.W.toarray(), b.W.toarray(), atol=1e-5)


def test_find_neighbors_passes_everything_on(points):
    settings = GraphSettings(n_neighbors=3, metric="cosine")
    a = find_neighbors(points, settings, rows=slice(5, 9))
    b = nearest_neighbors(points, 3, metric="cosine", rows=slice(5, 9))
    np.testing.assert_array_equal(a.indices, b.indices)
    assert extension_weights(build_graph(points, settings), b).shape == (4, 40)


def test_the_neighbors_of_a_graph_keep_their_distances():
    X = np.random.default_rng(0).normal(size=(60, 3))
    found = build_graph(X, n_neighbors=5).neighbors
    apart = np.linalg.norm(X[:, None] - X[found.indices], axis=2)
    np.testing.assert_allclose(found.distances, apart, rtol=1e-5)
