"""Laplacians of graphs whose spectrum is known."""

import numpy as np
import pytest
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.linalg.laplacian import LAPLACIANS, components, degrees, laplacian


def path_graph(n):
    return sparse.csr_array(np.eye(n, k=1) + np.eye(n, k=-1))


def cycle(n):
    W = np.eye(n, k=1) + np.eye(n, k=-1)
    W[0, -1] = W[-1, 0] = 1
    return sparse.csr_array(W)


def random_graph(seed, n=12):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return sparse.csr_array(A + A.T)


def test_path_spectrum():
    values = np.linalg.eigvalsh(laplacian(path_graph(7), "unnormalized").toarray())
    np.testing.assert_allclose(values, 2 - 2 * np.cos(np.pi * np.arange(7) / 7), atol=1e-12)


def test_cycle_spectrum_of_all_kinds():
    expected = np.sort(1 - np.cos(2 * np.pi * np.arange(8) / 8))
    for kind, factor in (("unnormalized", 2), ("symmetric", 1), ("random_walk", 1)):
        values = np.sort(np.linalg.eigvals(laplacian(cycle(8), kind).toarray()).real)
        np.testing.assert_allclose(values, factor * expected, atol=1e-12)


def test_complete_graph():
    W = sparse.csr_array(np.ones((5, 5)) - np.eye(5))
    values = np.linalg.eigvalsh(laplacian(W, "symmetric").toarray())
    np.testing.assert_allclose(values, [0, 1.25, 1.25, 1.25, 1.25], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_against_the_definitions(seed):
    W = random_graph(seed)
    A, d = W.toarray(), W.toarray().sum(1)
    safe = np.where(d > 0, d, 1)
    present = np.diag((d > 0).astype(float))
    np.testing.assert_allclose(degrees(W), d)
    np.testing.assert_allclose(laplacian(W, "unnormalized").toarray(), np.diag(d) - A)
    np.testing.assert_allclose(
        laplacian(W, "symmetric").toarray(), present - A / np.sqrt(np.outer(safe, safe))
    )
    np.testing.assert_allclose(laplacian(W, "random_walk").toarray(), present - A / safe[:, None])
    # f' L f is the sum of squared differences over the edges.
    f = np.random.default_rng(seed).normal(size=len(d))
    edges = 0.5 * (A * (f[:, None] - f) ** 2).sum()
    np.testing.assert_allclose(f @ laplacian(W, "unnormalized") @ f, edges)


@pytest.mark.parametrize("kind", LAPLACIANS)
def test_zero_eigenvalues_count_the_components(kind):
    blocks = [path_graph(4), cycle(5), sparse.csr_array((1, 1)), sparse.csr_array((1, 1))]
    W = sparse.csr_array(sparse.block_diag(blocks))
    values = np.linalg.eigvals(laplacian(W, kind).toarray()).real
    assert np.sum(np.abs(values) < 1e-9) == 4
    count, label = components(W)
    assert count == 4
    assert label.tolist() == [1] * 4 + [0] * 5 + [2, 3]
    assert np.isfinite(laplacian(W, kind).toarray()).all()


def test_empty_and_single():
    for n in (1, 3):
        W = sparse.csr_array((n, n))
        for kind in LAPLACIANS:
            assert laplacian(W, kind).nnz == 0 or not laplacian(W, kind).toarray().any()
        assert components(W)[0] == n


def test_unknown_kind():
    with pytest.raises(InputError, match="laplacian='cubic' is unknown"):
        laplacian(cycle(4), "cubic")
