from dataclasses import replace

import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.graph import candidates, rerank
from fewfold.graph.build import GraphSettings, build_graph, extend_graph, find_neighbors
from fewfold.graph.candidates import principal_components
from fewfold.graph.neighbors import nearest_neighbors
from fewfold.linalg import preparation
from fewfold.transforms import images as im
from fewfold.transforms.canonical import canonicalize
from fewfold.transforms.deformation import DeformationMetric
from fewfold.transforms.metrics import get_metric


def l1(row, rows):
    return np.abs(rows - row).sum(axis=1)


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    return load_digits().data[:300].astype(np.float32)


def settings(**changes):
    base = GraphSettings(n_neighbors=5, metric="deformation", image_shape=[8, 8])
    return replace(base, **changes)


def brute_force(X, metric, k):
    everyone = np.broadcast_to(np.arange(len(X)), (len(X), len(X)))
    base = metric.prepare(X)
    D = metric.distances(base, base, everyone)
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, :k], np.sort(D, axis=1)[:, :k]


def test_all_rows_as_candidates_give_the_true_neighbors(digits):
    got = find_neighbors(digits, settings(candidates=299))
    indices, distances = brute_force(digits, get_metric("deformation", (8, 8)), 5)
    assert got.recall == 1
    np.testing.assert_allclose(got.distances, distances, rtol=1e-5)
    assert np.mean(got.indices == indices) > 0.99


def test_a_finer_metric_ranks_the_best_again(digits):
    finer = {"displacement": 2, "window": 5}
    options = {"fine": finer, "fine_candidates": 299}
    got = find_neighbors(digits, settings(candidates=299, metric_options=options))
    _, distances = brute_force(digits, get_metric("deformation", (8, 8), finer), 5)
    np.testing.assert_allclose(got.distances, distances, rtol=1e-5)
    few = find_neighbors(digits, settings(metric_options={**options, "fine_candidates": 5}))
    plain = find_neighbors(digits, settings())
    np.testing.assert_array_equal(np.sort(few.indices), np.sort(plain.indices))
    assert few.recall < got.recall == 1  # of the neighbors under the finer metric


def test_recall_is_that_of_brute_force(digits):
    got = find_neighbors(digits, settings(candidates=8, metric_options={"recall_sample": 300}))
    indices, _ = brute_force(digits, get_metric("deformation", (8, 8)), 5)
    expected = np.mean([len(np.intersect1d(a, b)) / 5 for a, b in zip(indices, got.indices)])
    assert 0.3 < expected < 1
    assert got.recall == pytest.approx(expected, abs=0.01)
    none = find_neighbors(digits, settings(metric_options={"recall_sample": 0}))
    assert none.recall is None


def test_tiles_give_the_whole_search(digits):
    s = settings(canonicalize=["center"])
    whole = find_neighbors(digits, s)
    tiles = [find_neighbors(digits, s, rows=slice(a, a + 100)) for a in (0, 100, 200)]
    np.testing.assert_array_equal(np.vstack([t.indices for t in tiles]), whole.indices)
    np.testing.assert_allclose(np.vstack([t.distances for t in tiles]), whole.distances, rtol=1e-5)
    assert not np.any(whole.indices == np.arange(300)[:, None])


def test_new_rows_find_their_copies(digits):
    got = find_neighbors(digits, settings(), query=digits[40:50])
    np.testing.assert_array_equal(got.indices[:, 0], np.arange(40, 50))
    np.testing.assert_allclose(got.distances[:, 0], 0, atol=1e-5)


def test_canonical_forms_with_a_plain_metric(digits):
    got = find_neighbors(digits, settings(metric="euclidean", canonicalize=["deskew"]))
    expected = nearest_neighbors(canonicalize(digits, (8, 8), ["deskew"]), 5)
    np.testing.assert_array_equal(got.indices, expected.indices)


@pytest.mark.parametrize("metric", [l1, f"{__name__}:l1"])
def test_a_users_function(digits, metric):
    given = settings(metric=metric, image_shape=None, candidates=59).with_user_functions()
    got = find_neighbors(digits[:60], given)
    D = np.abs(digits[:60, None] - digits[None, :60]).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(got.distances, np.sort(D, axis=1)[:, :5], rtol=1e-5)


def test_tangent_distance_is_blind_to_small_turns(digits):
    X = digits[:40]
    turned = im.rotate(X.reshape(-1, 8, 8), 8).reshape(40, -1)
    metric = get_metric("tangent", (8, 8))
    everyone = np.broadcast_to(np.arange(40), (40, 40))
    D = metric.distances(metric.prepare(turned), metric.prepare(X), everyone)
    plain = get_metric("tangent", (8, 8), {"ridge": 1e9})
    E = plain.distances(plain.prepare(turned), plain.prepare(X), everyone)
    assert np.all(D <= E * (1 + 1e-4) + 1e-3)
    assert np.median(np.diag(D) / np.diag(E)) < 0.3
    assert np.all(D.argmin(axis=1) == np.arange(40))
    itself = metric.distances(metric.prepare(X), metric.prepare(X), everyone)
    np.testing.assert_allclose(np.diag(itself), 0, atol=1e-3)
    np.testing.assert_allclose(itself, itself.T, rtol=1e-3, atol=1e-2)


def test_tangent_distance_equals_least_squares():
    rng = np.random.default_rng(0)
    X = rng.random((2, 30)).astype(np.float32)
    options = {"smoothing": 0, "ridge": 0.1}
    metric = get_metric("tangent", (30,), options)
    (x, y), (tx, ty) = metric.prepare(X)
    # Least squares over both slides, the ridge as extra rows.
    A = np.vstack([np.hstack([tx.T, -ty.T]), np.sqrt(0.1) * np.eye(4)])
    b = np.concatenate([y - x, np.zeros(4)])
    expected = np.sum((A @ np.linalg.lstsq(A, b, rcond=None)[0] - b) ** 2)
    base = metric.prepare(X)
    got = metric.distances(metric.take(base, [0]), base, np.array([[1]]))
    assert got[0, 0] == pytest.approx(expected, rel=1e-4)


def test_orbit_metric_finds_turned_images(digits):
    turned = im.rotate(digits[:20].reshape(-1, 8, 8), 90).reshape(20, -1)
    s = settings(metric="orbit", metric_options={"transforms": {"name": "rotation", "step": 90}})
    got = find_neighbors(digits[:100], s, query=turned)
    np.testing.assert_array_equal(got.indices[:, 0], np.arange(20))
    np.testing.assert_allclose(got.distances[:, 0], 0, atol=1e-4)
    both = find_neighbors(np.vstack([digits[:100], turned]), s)
    np.testing.assert_array_equal(both.indices[100:, 0], np.arange(20))


def test_graph_and_extension_on_series():
    rng = np.random.default_rng(3)
    t = np.linspace(0, 1, 64)
    kinds = rng.integers(0, 2, 80)
    delay = rng.integers(-2, 3, 80)
    series = np.array([np.sin((6 + 3 * k) * np.pi * (t - d / 63)) for k, d in zip(kinds, delay)])
    s = settings(image_shape=[64], metric_options={"displacement": 4}, candidates=40)
    graph = build_graph(series[:60], s)
    weights = extend_graph(graph, series[:60], series[60:])
    votes = weights @ np.eye(2)[kinds[:60]]
    assert weights.shape == (20, 60)
    np.testing.assert_array_equal(votes.argmax(axis=1), kinds[60:])


def test_principal_components_keep_the_distances(digits):
    points, new = principal_components(digits, 40, query=digits[:5])
    assert points.shape == (300, 40) and new.shape == (5, 40)
    np.testing.assert_allclose(new, points[:5], atol=1e-2)
    full = np.linalg.norm(digits[0] - digits[1:50], axis=1)
    np.testing.assert_allclose(np.linalg.norm(points[0] - points[1:50], axis=1), full, rtol=0.02)
    same, _ = principal_components(digits, 0)
    np.testing.assert_array_equal(same, digits)


def test_progress_counts_every_query_once(digits):
    seen = []
    find_neighbors(digits, settings(), progress=seen.append)
    assert sum(seen) == 300


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric": "wobble"}, "Choose one of"),
        ({"image_shape": None}, "needs image_shape"),
        ({"image_shape": None, "canonicalize": ["center"]}, "needs image_shape"),
        ({"image_shape": [9, 9]}, "64 features"),
        ({"metric_options": {"speed": 2}}, "do not fit"),
        ({"metric": "no.such.module:f"}, "cannot be imported"),
        ({"metric": lambda a, b: -np.ones(len(b))}, "non-negative"),
        ({"metric": lambda a, b: 1.0}, "one non-negative number per row"),
        ({"n_neighbors": 300}, "allowed: 1 to 299"),
    ],
)
def test_wrong_settings_are_refused(digits, changes, message):
    with pytest.raises(InputError, match=message):
        find_neighbors(digits, settings(**changes).with_user_functions())


def test_few_rows_are_prepared_at_a_time_and_the_result_is_the_same(digits, monkeypatch):
    s = settings(canonicalize=["deskew"], metric_options={"fine": {"window": 5}})
    s = replace(s, method="approximate", candidates=20)
    cases = ({}, {"rows": slice(50, 250)}, {"query": digits[:120] + 1})
    monkeypatch.setattr(candidates, "MIN_ROWS_TO_INDEX", 0)
    monkeypatch.setattr(rerank, "WIDER", 1)
    whole = [find_neighbors(digits, s, **case) for case in cases]
    prepared = []
    prepare = DeformationMetric.prepare
    monkeypatch.setattr(
        DeformationMetric, "prepare", lambda m, X: prepared.append(len(X)) or prepare(m, X)
    )
    monkeypatch.setattr(candidates, "TILE_QUERIES", 100)
    row = prepare(get_metric("deformation", (8, 8)), digits[:1]).nbytes
    monkeypatch.setattr(rerank, "PREPARED_BYTES", 60 * row)
    for case, expected in zip(cases, whole):
        got = find_neighbors(digits, s, **case)
        np.testing.assert_array_equal(got.indices, expected.indices)
        np.testing.assert_array_equal(got.distances, expected.distances)
        assert got.recall == expected.recall
    assert 1 < max(prepared) <= 60


def in_fifties(X):
    return (X[start : start + 50] for start in range(0, X.shape[0], 50))


def test_principal_axes_of_blocks_are_those_of_all_rows(digits, monkeypatch):
    def form(X):
        return canonicalize(X, (8, 8), ["deskew"])

    points, new = principal_components(digits, 20, query=digits[:7], form=form)
    monkeypatch.setattr(candidates, "_BLOCK_BYTES", 4 * 64 * 50)
    for module in (candidates, preparation):
        monkeypatch.setattr(module, "row_blocks", in_fifties)
    sizes = []

    def counted(X):
        sizes.append(len(X))
        return form(X)

    blocks, few = principal_components(digits, 20, query=digits[:7], form=counted)
    assert max(sizes) == 50
    gaps = np.linalg.norm(points[:1] - points, axis=1)
    np.testing.assert_allclose(np.linalg.norm(blocks[:1] - blocks, axis=1), gaps, atol=1e-3)
    np.testing.assert_allclose(few, blocks[:7], atol=1e-3)
    np.testing.assert_allclose(new, points[:7], atol=1e-3)
