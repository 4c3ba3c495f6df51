import numpy as np
import pytest

from fewfold.graph import lists
from fewfold.graph.neighbors import nearest_neighbors


@pytest.fixture
def clusters():
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 4, (12, 30))
    return (centers[rng.integers(0, 12, 1500)] + rng.normal(size=(1500, 30))).astype(np.float32)


def brute_force(base, query, k, own=None):
    d2 = ((query[:, None].astype(float) - base[None]) ** 2).sum(axis=2)
    if own is not None:
        d2[np.arange(len(query)), own] = np.inf
    return np.argsort(d2, axis=1, kind="stable")[:, :k], np.sort(d2, axis=1)[:, :k]


def search(base, query, k, own, probes, **options):
    index = lists.build_index(base, n_lists=options.pop("n_lists", 20))
    return lists.search_index(index, base, query, k, own, n_probes=probes, **options)


def test_visiting_all_lists_is_exact(clusters):
    own = np.arange(300, 500)
    found, squared = search(clusters, clusters[own], 6, own, 20)
    true, d2 = brute_force(clusters, clusters[own], 6, own)
    np.testing.assert_array_equal(found, true)
    np.testing.assert_allclose(squared, d2, rtol=1e-4)


def test_visiting_more_lists_finds_more(clusters):
    own = np.arange(1500)
    true, _ = brute_force(clusters, clusters, 6, own)
    shares = []
    for probes in (1, 3, 60):
        found, _ = search(clusters, clusters, 6, own, probes, n_lists=60)
        shares.append(np.mean([len(np.intersect1d(a, b)) for a, b in zip(true, found)]) / 6)
    assert shares[0] < shares[1] < shares[2] == 1


def test_wide_rows_are_searched_in_principal_directions_and_compared_in_full(clusters):
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(400, 30)))[0].T
    wide = (clusters @ turn + 0.05 * rng.normal(size=(1500, 400)) + 7).astype(np.float32)
    found, squared = search(wide, wide[:100], 5, np.arange(100), 20)
    true, d2 = brute_force(wide, wide[:100], 5, np.arange(100))
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(true, found)]) / 5 > 0.99
    np.testing.assert_allclose(squared[:, 0], d2[:, 0], rtol=1e-3)


def test_tiles_of_own_rows_are_the_search_in_one_job_to_the_bit(clusters, monkeypatch):
    monkeypatch.setattr(lists, "_QUERIES", 200)
    index = lists.build_index(clusters, n_lists=20)
    whole = lists.search_own(index, 6, n_probes=3, base=clusters)
    chunks = lists.own_chunks(1500)
    assert [c.start for c in chunks] + [1500] == [1500 * i // 8 for i in range(9)]
    for first, last in ((0, 3), (3, 8)):
        part = lists.search_own(index, 6, n_probes=3, chunks=slice(first, last))
        rows = index.rows[chunks[first].start : chunks[last - 1].stop]
        for ours, of_all in zip(part, whole):
            np.testing.assert_array_equal(ours, of_all[rows])
    true, _ = brute_force(clusters, clusters, 6, np.arange(1500))
    assert (whole[0] == true).mean() > 0.9


def test_queries_in_several_chunks_and_threads_give_the_same(clusters, monkeypatch):
    whole = search(clusters, clusters, 4, np.arange(1500), 5)
    monkeypatch.setattr(lists, "_QUERIES", 400)
    seen = []
    parts = search(clusters, clusters, 4, np.arange(1500), 5, progress=seen.append)
    np.testing.assert_array_equal(whole[0], parts[0])
    assert sum(seen) == 1500 and len(seen) == 4


def test_where_the_visited_lists_hold_too_few_rows_all_are_visited(clusters):
    found, squared = search(clusters, clusters[:5], 1400, None, 1)
    true, d2 = brute_force(clusters, clusters[:5], 1400)
    assert (found == true).mean() > 0.99  # rounding swaps rows that are equally far
    np.testing.assert_allclose(squared, d2, rtol=1e-4, atol=1e-4)


def test_duplicates_are_ordered_by_row_number():
    X = np.repeat(np.arange(700, dtype=np.float32), 3)[:, None] * np.ones(4, np.float32)
    found = nearest_neighbors(X, 2, method="approximate")
    np.testing.assert_array_equal(found.indices[300:303], [[301, 302], [300, 302], [300, 301]])


def test_centers_in_groups_find_as_much(clusters, monkeypatch):
    own, probes = np.arange(1500), 4
    true, _ = brute_force(clusters, clusters, 6, own)

    def recall():
        found, _ = search(clusters, clusters, 6, own, probes, n_lists=60)
        return np.mean([len(np.intersect1d(a, b)) for a, b in zip(true, found)]) / 6

    flat = recall()
    monkeypatch.setattr(lists, "_MANY_LISTS", 40)
    index = lists.build_index(clusters, n_lists=60)
    assert len(index.groups) == 8 and index.groups[-1] == index.n_lists
    assert np.bincount(index.rows).tolist() == [1] * 1500
    assert recall() == pytest.approx(flat, abs=0.08) and flat > 0.8


def test_many_nearest_centers_are_the_nearest(clusters, monkeypatch):
    index = lists.build_index(clusters, n_lists=30)
    V = index.points[:50]
    d2 = ((V[:, None] - index.centers[None]) ** 2).sum(axis=2)
    monkeypatch.setattr(lists, "_MANY_PROBES", 5)
    many = index.nearest_lists(V, 12)
    np.testing.assert_array_equal(many[:, 0], d2.argmin(axis=1))
    np.testing.assert_array_equal(np.sort(many), np.sort(np.argsort(d2, axis=1)[:, :12]))


@pytest.mark.parametrize("goal", [0.8, 0.95, 0.99])
def test_the_lists_chosen_reach_the_goal(goal):
    X = np.random.default_rng(2).normal(size=(2000, 10)).astype(np.float32)
    index = lists.build_index(X, n_lists=40)
    probes = lists.choose_probes(index, 6, goal)
    true, _ = brute_force(X, X, 6, np.arange(2000))
    shares = []
    for number in (probes, probes - 1):
        found, _ = lists.search_index(index, X, X, 6, np.arange(2000), n_probes=number)
        shares.append(np.mean([len(np.intersect1d(a, b)) for a, b in zip(true, found)]) / 6)
    assert 1 < probes < 40 and shares[0] >= goal - 0.02 and shares[1] < goal + 0.02
