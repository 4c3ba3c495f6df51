"""Nearest neighbors against brute force, with ties, duplicates and tiles."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from fewfold.exceptions import InputError
from fewfold.graph import lists, neighbors, settings
from fewfold.graph.neighbors import Neighbors, nearest_neighbors


def brute_force(X, k, query=None, metric="euclidean"):
    D = cdist(X if query is None else query, X, metric)
    if query is None:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, 1)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("k", [1, 5, 59])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_equals_brute_force(points, metric, k, kind):
    X = sparse.csr_array(points) if kind == "sparse" else points
    found = nearest_neighbors(X, k, metric=metric)
    indices, distances = brute_force(points, k, metric=metric)
    np.testing.assert_allclose(found.distances, distances, atol=2e-3, rtol=1e-4)
    assert np.mean(found.indices == indices) > 0.99  # near ties may swap in float32
    assert found.indices.dtype == np.int64 and found.distances.dtype == np.float32
    assert found.recall is None


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_new_rows_may_be_their_own_neighbors(points, kind):
    X = sparse.csr_array(points) if kind == "sparse" else points
    found = nearest_neighbors(X, 3, query=X[:7])
    assert found.indices[:, 0].tolist() == list(range(7))
    np.testing.assert_allclose(found.distances[:, 0], 0, atol=2e-3)
    _, distances = brute_force(points, 3, query=points[:7])
    np.testing.assert_allclose(found.distances, distances, atol=2e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse", "precomputed"])
@pytest.mark.parametrize("cuts", [[0, 60], [0, 1, 30, 60], [0, 59, 60]])
def test_tiles_give_the_whole_search(points, kind, cuts):
    X = {"dense": points, "sparse": sparse.csr_array(points), "precomputed": cdist(points, points)}
    options = {"metric": "precomputed"} if kind == "precomputed" else {}
    whole = nearest_neighbors(X[kind], 4, **options)
    parts = [
        nearest_neighbors(X[kind], 4, rows=slice(a, b), **options) for a, b in zip(cuts, cuts[1:])
    ]
    np.testing.assert_array_equal(np.concatenate([p.indices for p in parts]), whole.indices)
    np.testing.assert_array_equal(np.concatenate([p.distances for p in parts]), whole.distances)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_row_is_never_its_own_neighbor_even_among_duplicates(kind):
    X = np.zeros((9, 3), np.float32)
    X[7:] = 1
    X = sparse.csr_array(X) if kind == "sparse" else X
    found = nearest_neighbors(X, 3)
    assert not (found.indices == np.arange(9)[:, None]).any()
    assert all(len(set(row)) == 3 for row in found.indices.tolist())
    np.testing.assert_allclose(found.distances[:7], 0)
    assert (found.distances[7:, 0] == 0).all() and (found.distances[7:, 1] > 1.7).all()


def test_equal_distances_are_ordered_by_row_number():
    # A cross: the center has four neighbors at distance 1.
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert nearest_neighbors(X, 4).indices[2].tolist() == [0, 1, 3, 4]


def test_cosine_of_zero_rows_is_distance_one_half_turn():
    X = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [-1.0, 0.0]])
    found = nearest_neighbors(X, 1, metric="cosine")
    assert found.indices[0, 0] == 2 and found.indices[2, 0] == 0
    assert found.distances[0, 0] == 0
    everything = nearest_neighbors(X, 3, metric="cosine")
    opposite = everything.distances[0][everything.indices[0] == 3]
    np.testing.assert_allclose(opposite, 2)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_zero_rows_are_at_cosine_distance_one_from_everything(kind):
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    X = sparse.csr_array(X) if kind == "sparse" else X
    found = nearest_neighbors(X, 3, metric="cosine")
    np.testing.assert_allclose(found.distances[1], 1)


def test_precomputed_equals_the_metric_and_takes_query_distances(points):
    D = cdist(points, points)
    a, b = nearest_neighbors(D, 5, metric="precomputed"), nearest_neighbors(points, 5)
    np.testing.assert_array_equal(a.indices, b.indices)
    new = cdist(points[:3] + 0.01, points)
    found = nearest_neighbors(D, 2, query=new, metric="precomputed")
    np.testing.assert_array_equal(found.indices, np.argsort(new, axis=1)[:, :2])
    with pytest.raises(InputError, match="square matrix"):
        nearest_neighbors(D[:, :10], 3, metric="precomputed")


def test_large_offsets_do_not_destroy_small_distances():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 3))
    near, far = nearest_neighbors(X, 3), nearest_neighbors(X + 1000, 3)
    assert np.mean(near.indices == far.indices) > 0.95


def test_approximate_measures_its_recall():
    X = np.random.default_rng(1).normal(size=(3000, 8)).astype(np.float32)
    found = nearest_neighbors(X, 10, method="approximate", n_probes=6)
    again = nearest_neighbors(X, 10, method="approximate", n_probes=6)
    np.testing.assert_array_equal(found.indices, again.indices)
    true = nearest_neighbors(X, 10).indices
    real = np.mean([len(np.intersect1d(a, b)) for a, b in zip(true, found.indices)]) / 10
    assert 0.3 < found.recall < 1 and abs(found.recall - real) < 0.05
    wide = nearest_neighbors(X, 10, method="approximate", n_probes=219)
    assert wide.recall == 1 and (wide.indices == true).mean() > 0.999


def test_the_search_visits_as_many_lists_as_the_least_recall_takes(monkeypatch):
    X = np.random.default_rng(1).normal(size=(3000, 12)).astype(np.float32)
    true = nearest_neighbors(X, 10, method="exact").indices

    def real(found):
        return np.mean([len(np.intersect1d(a, b)) for a, b in zip(true, found.indices)]) / 10

    few = nearest_neighbors(X, 10, method="approximate", min_recall=0.7)
    many = nearest_neighbors(X, 10, method="approximate")
    assert 0.7 <= few.recall < 0.95 and many.recall >= 0.99
    assert real(few) == pytest.approx(few.recall, abs=0.03)
    assert real(many) >= 0.985
    # A sample that chose too few lists is corrected by what is measured.
    monkeypatch.setattr(lists, "choose_probes", lambda *args, **options: 1)
    assert nearest_neighbors(X, 10, method="approximate").recall >= 0.99


def test_the_default_compares_all_pairs_of_few_rows_only(monkeypatch):
    X = np.random.default_rng(2).normal(size=(1500, 3)).astype(np.float32)
    assert nearest_neighbors(X, 4).recall is None
    monkeypatch.setattr(settings, "EXACT_ROWS", 1499)
    assert nearest_neighbors(X, 4).recall >= 0.99
    assert nearest_neighbors(X, 4, query=X[:1000]).recall is None
    assert nearest_neighbors(X, 4, query=X[:1001]).recall >= 0.99
    assert nearest_neighbors(X, 4, method="exact").recall is None


def test_approximate_of_few_rows_is_exact(points):
    found = nearest_neighbors(points, 3, method="approximate")
    assert found.recall is None
    np.testing.assert_array_equal(found.indices, nearest_neighbors(points, 3).indices)


def test_approximate_never_returns_a_row_that_does_not_exist():
    # More neighbors asked for than the visited lists hold.
    X = np.random.default_rng(1).normal(size=(900, 2)).astype(np.float32)
    found = nearest_neighbors(X, 300, method="approximate", n_probes=2)
    assert found.indices.min() >= 0 and np.isfinite(found.distances).all()
    assert all(len(set(row)) == 300 for row in found.indices[:50].tolist())


@pytest.mark.parametrize("k", [0, -1, 60, 61])
def test_impossible_counts(points, k):
    with pytest.raises(InputError, match=f"n_neighbors={k} with 60 samples; allowed: 1 to 59"):
        nearest_neighbors(points, k)


def test_as_many_as_there_are_for_new_rows(points):
    assert nearest_neighbors(points, 60, query=points[:2]).indices.shape == (2, 60)
    with pytest.raises(InputError, match="allowed: 1 to 60"):
        nearest_neighbors(points, 61, query=points[:2])


@pytest.mark.parametrize("bad", [{"metric": "manhattan"}, {"method": "magic"}])
def test_unknown_choices(points, bad):
    with pytest.raises(InputError, match="is unknown. Choose one of"):
        nearest_neighbors(points, 3, **bad)


def test_progress_counts_every_row(points):
    counted = []
    nearest_neighbors(points, 3, progress=counted.append)
    nearest_neighbors(sparse.csr_array(points), 3, rows=slice(0, 10), progress=counted.append)
    assert sum(counted) == 70


def test_first_keeps_the_closest():
    found = Neighbors(np.array([[3, 1, 2]]), np.array([[0.1, 0.2, 0.3]]), 0.9)
    assert found.first(2).indices.tolist() == [[3, 1]] and found.first(2).recall == 0.9
    with pytest.raises(InputError, match="kept 3"):
        found.first(4)


@pytest.mark.parametrize("copies", [1, 2000])
def test_recall_with_own_rows_new_rows_and_duplicates(copies):
    rng = np.random.default_rng(3)
    X = (100 + rng.normal(size=(3000, 8))).astype(np.float32)
    X[:copies] = X[0]  # far from the origin, where rounding is worst
    query = rng.normal(size=(50, 8)).astype(np.float32) + 100
    assert nearest_neighbors(X, 5, method="approximate", n_probes=10_000).recall > 0.98
    found = nearest_neighbors(X, 5, query=query, method="approximate", n_probes=1)
    true = nearest_neighbors(X, 5, query=query).indices
    real = np.mean([len(np.intersect1d(a, b)) / 5 for a, b in zip(true, found.indices)])
    assert found.recall == pytest.approx(real, abs=0.01) and found.recall < 1


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    ("n", "dims", "k"), [(1300, 7, 9), (1111, 40, 3), (513, 3, 512), (40, 2, 4)]
)
def test_pairs_compared_once_equal_the_search_of_new_rows(monkeypatch, metric, n, dims, k):
    X = np.random.default_rng(n).normal(3, 1, (n, dims)).astype(np.float32)
    plain = nearest_neighbors(X, k, metric=metric)
    monkeypatch.setattr(neighbors, "_MANY_ROWS", 0)
    once = nearest_neighbors(X, k, metric=metric)
    assert np.mean(once.indices == plain.indices) > 0.995  # near ties may swap in float32
    np.testing.assert_allclose(once.distances, plain.distances, atol=2e-3 * plain.distances.max())
    part = nearest_neighbors(X, k, metric=metric, rows=slice(5, 30))
    assert np.mean(part.indices == once.indices[5:30]) > 0.99


def test_pairs_compared_once_with_duplicates_and_far_from_the_origin(monkeypatch):
    monkeypatch.setattr(neighbors, "_MANY_ROWS", 0)
    rng = np.random.default_rng(0)
    X = (1e4 + np.repeat(rng.integers(0, 50, (300, 2)), 4, axis=0)).astype(np.float32)
    found = nearest_neighbors(X, 3)
    assert np.all(found.distances == 0)
    assert np.all(found.indices != np.arange(len(X))[:, None])
    assert np.all(X[found.indices] == X[:, None])
    assert np.all(np.diff(found.indices, axis=1) > 0)


def test_threads_do_not_change_pairs_compared_once(monkeypatch):
    import faiss

    monkeypatch.setattr(neighbors, "_MANY_ROWS", 0)
    X = np.random.default_rng(1).normal(size=(3000, 12)).astype(np.float32)
    before, found = faiss.omp_get_max_threads(), []
    done = []
    for threads in (1, 3):
        faiss.omp_set_num_threads(threads)
        found.append(nearest_neighbors(X, 6, progress=done.append))
    faiss.omp_set_num_threads(before)
    assert sum(done) == 2 * len(X)
    np.testing.assert_array_equal(found[0].indices, found[1].indices)
    np.testing.assert_array_equal(found[0].distances, found[1].distances)


def test_rows_that_fill_all_dimensions_are_compared_in_pairs(monkeypatch):
    monkeypatch.setattr(settings, "EXACT_ROWS", 2000)
    X = np.random.default_rng(0).standard_normal((4000, 30), np.float32)
    found = nearest_neighbors(X, 5)
    np.testing.assert_array_equal(found.indices, nearest_neighbors(X, 5, method="exact").indices)
    assert found.recall is None
    assert nearest_neighbors(X, 5, method="approximate").recall >= 0.99
    # A curve is found in few lists.
    curve = np.sin(np.linspace(0, 20, 4000)[:, None] * np.arange(1, 31) / 30).astype(np.float32)
    assert nearest_neighbors(curve, 5).recall is not None
