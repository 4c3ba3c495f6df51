"""The fast and the sampled SNE term against the plain one."""

import numpy as np
import pytest
from mbed_reference import sne_term
from scipy import sparse

from fewfold.methods.mbed._tiles import LOWEST, exponentiate, repel
from fewfold.methods.mbed.gradient import DenseSNE, row_chunks, workers
from fewfold.methods.mbed.neighborhoods import SparseNeighborhoods
from fewfold.methods.mbed.sampled import SampledSNE


def _random_p(n, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.random((n, n)) ** 4
    np.fill_diagonal(P, 0)
    return P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n, d, scale", [(3, 2, 1.0), (40, 2, 1e-3), (700, 3, 0.1), (700, 5, 1.5)])
def test_dense_matches_plain(n, d, scale):
    P = _random_p(n)
    # An offset of the whole embedding must not cost precision.
    Y = np.random.default_rng(1).normal(0, scale, (n, d)) + 5
    value, gradient = sne_term(Y, P)
    with workers(2) as pool:
        fast_value, fast_gradient = DenseSNE(P, pool)(Y)
    assert fast_value == pytest.approx(value, rel=1e-6, abs=1e-4)
    np.testing.assert_allclose(fast_gradient, gradient, atol=3e-6 * np.abs(gradient).max())


def test_a_lonely_point_keeps_its_small_normalizer():
    # exp(-D) of the last point sums to about 1e-9: nothing of size 1 may be added in between.
    P = _random_p(600)
    Y = np.random.default_rng(1).normal(0, 0.5, (600, 3))
    Y[-1] = [5, 0, 0]
    value, gradient = sne_term(Y, P)
    with workers(1) as pool:
        fast_value, fast_gradient = DenseSNE(P, pool)(Y)
    assert fast_value == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(fast_gradient, gradient, atol=3e-6 * np.abs(gradient).max())


def test_compiled_tile_passes_match_numpy():
    rng = np.random.default_rng(0)
    D = rng.uniform(-1e-7, 1, (37, 53)) * 10.0 ** rng.integers(-3, 3, (37, 53))
    D, S = D.astype(np.float32), rng.random((37, 53), np.float32)
    E, rows, columns = -D, np.empty(37, np.float32), np.empty(53, np.float32)
    stretched = exponentiate(E, S, np.float32(0), rows, columns)
    exact = np.exp(-np.minimum(D, -LOWEST).astype(np.float64))
    np.testing.assert_allclose(E, exact, rtol=2e-7)
    np.testing.assert_allclose(rows, exact.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(columns, exact.sum(axis=0), rtol=1e-6)
    assert stretched == pytest.approx(np.vdot(S.astype(np.float64), D), rel=1e-6)
    left, right = rng.random(37, np.float32), rng.random(53, np.float32)
    repel(E, S, left, right)
    np.testing.assert_allclose(E, S - exact * np.add.outer(left, right), atol=1e-6)


def test_results_do_not_depend_on_the_number_of_threads():
    P = _random_p(900)
    Y = np.random.default_rng(1).normal(size=(900, 4))
    near = SparseNeighborhoods(10, 5.0).fit(np.random.default_rng(2).normal(size=(900, 6)))
    results = []
    for n_jobs in (1, 2, 5):
        with workers(n_jobs) as pool:
            dense = DenseSNE(P, pool)(Y)
            sampled = SampledSNE(near, pool, 200, np.random.default_rng(0))(Y)
        results.append((dense, sampled))
    for dense, sampled in results[1:]:
        assert dense[0] == results[0][0][0]
        assert np.array_equal(dense[1], results[0][0][1])
        assert sampled[0] == results[0][1][0]
        assert np.array_equal(sampled[1], results[0][1][1])


def test_far_apart_points_give_finite_numbers():
    Y = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 300.0]])
    with workers(1) as pool:
        value, gradient = DenseSNE(_random_p(3), pool)(Y)
        near = sparse.csr_array(_random_p(3))
        sampled = SampledSNE(near, pool, 3, np.random.default_rng(0))(Y)
    assert np.isfinite(value) and np.isfinite(gradient).all()
    assert np.isfinite(sampled[0]) and np.isfinite(sampled[1]).all()
    # Attraction alone is left: the outer points are drawn inwards.
    assert gradient[1, 0] > 0 and gradient[2, 1] > 0


def _clustered(n=1200, K=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(K, size=n)
    X = rng.normal(size=(n, 6)) + 4 * np.eye(K, 6)[codes]
    return X, X[:, :K] * 0.5


def test_sampled_is_exact_with_every_column():
    X, Y = _clustered(400)
    P = SparseNeighborhoods(12, 6.0).fit(X)
    value, gradient = sne_term(Y, P.toarray().astype(np.float64))
    with workers(2) as pool:
        found = SampledSNE(P, pool, 400, np.random.default_rng(0))(Y)
    assert found[0] == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(found[1], gradient, atol=1e-5 * np.abs(gradient).max())


def test_sampled_gradient_approaches_the_exact_one():
    X, Y = _clustered()
    P = SparseNeighborhoods(12, 6.0).fit(X)
    _, exact = sne_term(Y, P.toarray().astype(np.float64))
    cosines = []
    with workers(2) as pool:
        for size in (100, 600):
            _, gradient = SampledSNE(P, pool, size, np.random.default_rng(0))(Y)
            cosines.append(np.vdot(exact, gradient) / np.linalg.norm(exact))
            cosines[-1] /= np.linalg.norm(gradient)
    assert 0.9 < cosines[0] < cosines[1]
    assert cosines[1] > 0.99


def test_sampled_estimates_are_unbiased_in_the_normalizer():
    X, Y = _clustered(500)
    P = SparseNeighborhoods(12, 6.0).fit(X)
    exact = sne_term(Y, P.toarray().astype(np.float64))[0]
    with workers(1) as pool:
        sne = SampledSNE(P, pool, 100, np.random.default_rng(0))
        values = []
        for _ in range(30):
            sne.resample()
            values.append(sne(Y)[0])
    # The log of an unbiased estimate is a little low; far less than its spread here.
    assert np.mean(values) == pytest.approx(exact, rel=0.02)
    assert np.std(values) > 0


def test_chunks_cover_all_rows_once():
    for n in (1, 7, 256, 5000):
        rows = np.concatenate([np.arange(n)[chunk] for chunk in row_chunks(n)])
        assert np.array_equal(rows, np.arange(n))
