"""Smallest eigenpairs of graph Laplacians against closed forms and dense solvers."""

import numpy as np
import pytest
from scipy import sparse

from fewfold.exceptions import ConvergenceError, InputError
from fewfold.graph.build import build_graph
from fewfold.linalg import eigensolver
from fewfold.linalg._chebyshev import BlockOperator, spectrum_sketch
from fewfold.linalg.eigensolver import laplacian_eigenpairs, smallest_eigenpairs
from fewfold.linalg.laplacian import components, laplacian


def ring(n):
    i = np.arange(n)
    ones = np.ones(n)
    half = sparse.csr_array((ones, (i, (i + 1) % n)), shape=(n, n))
    return sparse.csr_array(half + half.T)


def path(n):
    half = sparse.csr_array(sparse.diags_array(np.ones(n - 1), offsets=1, shape=(n, n)))
    return sparse.csr_array(half + half.T)


def grid(a, b):
    W = sparse.kron(path(a), sparse.eye_array(b)) + sparse.kron(sparse.eye_array(a), path(b))
    return sparse.csr_array(W)


def hypercube(dimension):
    W = sparse.csr_array((1, 1))
    edge = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    for _ in range(dimension):
        m = W.shape[0]
        W = sparse.kron(W, sparse.eye_array(2)) + sparse.kron(sparse.eye_array(m), edge)
    return sparse.csr_array(W)


def random_graph(n, seed=0, k=6, weighted=True):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), k)
    near = (rows + rng.integers(1, 40, n * k)) % n
    data = rng.uniform(0.5, 1.5, n * k) if weighted else np.ones(n * k)
    half = sparse.csr_array((data, (rows, near)), shape=(n, n))
    return sparse.csr_array(half.maximum(half.T))


def assert_eigenpairs(L, pairs, tol):
    V = pairs.eigenvectors
    assert np.all(np.diff(pairs.eigenvalues) >= -1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-6)
    own = np.linalg.norm(L @ V - V * pairs.eigenvalues, axis=0)
    np.testing.assert_allclose(own, pairs.residuals, atol=1e-9)
    assert own.max() <= tol


@pytest.mark.parametrize("method", ["dense", "filtered"])
def test_ring_spectrum(method):
    n, p = 600, 15
    L = laplacian(ring(n), "unnormalized")
    kernel = sparse.csr_array(np.full((n, 1), n**-0.5))
    pairs = smallest_eigenpairs(L, p, kernel=kernel, method=method, tol=1e-6)
    expected = np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(n) / n))[:p]
    np.testing.assert_allclose(pairs.eigenvalues, expected, atol=1e-8)
    assert_eigenpairs(L, pairs, 1e-6)


@pytest.mark.parametrize("method", ["dense", "filtered"])
def test_path_spectrum_without_known_kernel(method):
    n, p = 500, 9
    L = laplacian(path(n), "unnormalized")
    pairs = smallest_eigenpairs(L, p, method=method, tol=1e-6)
    expected = 2 - 2 * np.cos(np.pi * np.arange(p) / n)
    np.testing.assert_allclose(pairs.eigenvalues, expected, atol=1e-8)
    # The second vector is a half cosine over the path.
    cosine = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    cosine /= np.linalg.norm(cosine)
    assert abs(pairs.eigenvectors[:, 1] @ cosine) == pytest.approx(1, abs=1e-4)


def test_grid_spectrum_filtered():
    a, b, p = 60, 50, 40
    pairs = laplacian_eigenpairs(grid(a, b), p, "unnormalized", tol=1e-5)
    assert pairs.method == "filtered"
    first = 2 - 2 * np.cos(np.pi * np.arange(a) / a)
    second = 2 - 2 * np.cos(np.pi * np.arange(b) / b)
    expected = np.sort(np.add.outer(first, second).ravel())[:p]
    np.testing.assert_allclose(pairs.eigenvalues, expected, atol=1e-7)
    assert_eigenpairs(laplacian(grid(a, b), "unnormalized"), pairs, 1e-5)


def test_eigenspace_wider_than_a_block():
    # Eigenvalue 2k of the 11-cube has C(11, k) vectors: 11 of 2, then 55 of 4.
    pairs = laplacian_eigenpairs(hypercube(11), 50, "unnormalized")
    assert pairs.method == "filtered"
    np.testing.assert_allclose(pairs.eigenvalues, [0] + 11 * [2] + 38 * [4], atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2, 7])
def test_late_vectors_go_on_until_they_find_nothing_new(seed):
    # 40 paths from one node: the first eigenvalue has 39 vectors, zero at that node. Late vectors
    # come out well converged here, so small residuals alone do not say that none is missing.
    arms, length = 40, 60
    ends = 1 + np.arange(arms * length).reshape(arms, length)
    before = np.hstack([np.zeros((arms, 1), int), ends[:, :-1]])
    W = sparse.coo_array((np.ones(ends.size), (before.ravel(), ends.ravel())), shape=[2401] * 2)
    pairs = laplacian_eigenpairs(sparse.csr_array(W + W.T), 41, "unnormalized", random_state=seed)
    first = 2 - 2 * np.cos(np.pi / (2 * length + 1))
    np.testing.assert_allclose(pairs.eigenvalues[:40], [0] + 39 * [first], atol=1e-7)


@pytest.mark.parametrize("kind", ["unnormalized", "symmetric", "random_walk"])
@pytest.mark.parametrize("p", [6, 120])
def test_filtered_equals_dense(kind, p, monkeypatch):
    monkeypatch.setattr(eigensolver, "_DENSE_NODES", 100)
    W = random_graph(700)
    pairs = laplacian_eigenpairs(W, p, kind, tol=1e-5)
    assert pairs.method == "filtered"
    assert pairs.residuals.max() <= 1e-5
    d = np.asarray(W.sum(axis=1)).ravel()
    if kind == "unnormalized":
        exact = np.linalg.eigvalsh(laplacian(W, kind).toarray())
    else:
        M = laplacian(W, "unnormalized").toarray()
        exact = np.linalg.eigvalsh(M / np.sqrt(np.outer(d, d)))
    np.testing.assert_allclose(pairs.eigenvalues, exact[:p], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(pairs.eigenvectors, axis=0), 1, atol=1e-9)
    if kind == "random_walk":  # orthogonal under the degrees, constant first
        gram = pairs.eigenvectors.T @ (d[:, None] * pairs.eigenvectors)
        scale = np.sqrt(np.diag(gram))
        np.testing.assert_allclose(gram / np.outer(scale, scale), np.eye(p), atol=1e-6)
        assert np.ptp(pairs.eigenvectors[:, 0]) < 1e-12


@pytest.mark.parametrize("sizes", [(300, 200, 100), (500, 300, 12, 1)])
@pytest.mark.parametrize("kind", ["unnormalized", "symmetric", "random_walk"])
def test_components_get_exact_null_vectors(sizes, kind, monkeypatch):
    monkeypatch.setattr(eigensolver, "_DENSE_NODES", 700)
    blocks = [random_graph(n, seed=n) if n > 1 else sparse.csr_array((1, 1)) for n in sizes]
    W = sparse.csr_array(sparse.block_diag(blocks))
    shuffle = np.random.default_rng(1).permutation(W.shape[0])
    W = W[shuffle][:, shuffle]
    c = len(sizes)
    pairs = laplacian_eigenpairs(W, c + 5, kind)
    _, component = components(W)
    assert (pairs.eigenvalues[:c] == 0).all() and pairs.eigenvalues[c] > 1e-4
    for j in range(c):
        assert (pairs.eigenvectors[component != j, j] == 0).all()
    L = laplacian(W, "symmetric" if kind == "random_walk" else kind)
    np.testing.assert_allclose(
        pairs.eigenvalues[c:], np.linalg.eigvalsh(L.toarray())[c : c + 5], atol=1e-7
    )


def test_fewer_vectors_than_components():
    W = sparse.csr_array(sparse.block_diag([ring(5)] * 4))
    pairs = laplacian_eigenpairs(W, 3, "symmetric")
    assert (pairs.eigenvalues == 0).all() and pairs.eigenvectors.shape == (20, 3)


def test_all_vectors():
    pairs = laplacian_eigenpairs(ring(12), 12, "unnormalized")
    expected = np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(12) / 12))
    np.testing.assert_allclose(pairs.eigenvalues, expected, atol=1e-12)


@pytest.mark.parametrize("n", [400, 2500])
def test_relabeling_changes_nothing(n):
    W, p = random_graph(n), 20
    shuffle = np.random.default_rng(3).permutation(n)
    one = laplacian_eigenpairs(W, p, "symmetric", tol=1e-6)
    two = laplacian_eigenpairs(W[shuffle][:, shuffle], p, "symmetric", tol=1e-6)
    np.testing.assert_allclose(one.eigenvalues, two.eigenvalues, atol=1e-9)
    overlap = np.abs(np.sum(one.eigenvectors[shuffle] * two.eigenvectors, axis=0))
    gaps = np.diff(one.eigenvalues)
    alone = np.minimum(np.r_[1, gaps], np.r_[gaps, 0]) > 1e-4  # not part of a cluster
    assert alone.sum() > 5 and overlap[alone].min() > 1 - 1e-3


def test_seed_and_threads_do_not_change_the_answer():
    W = random_graph(2500)
    one = laplacian_eigenpairs(W, 12, random_state=0, n_jobs=1)
    same = laplacian_eigenpairs(W, 12, random_state=0, n_jobs=3)
    np.testing.assert_array_equal(one.eigenvectors, same.eigenvectors)
    other = laplacian_eigenpairs(W, 12, random_state=9)
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, atol=1e-8)


def test_signs_are_fixed():
    V = laplacian_eigenpairs(random_graph(300), 8).eigenvectors
    assert (V[np.abs(V).argmax(axis=0), np.arange(8)] > 0).all()


def test_tight_tolerance_is_met_in_double():
    pairs = laplacian_eigenpairs(random_graph(3000), 10, "symmetric", tol=1e-10)
    assert pairs.method == "filtered" and pairs.residuals.max() <= 1e-10


def test_unreachable_tolerance_fails_loudly():
    with pytest.raises(ConvergenceError, match="did not converge.*Raise tol"):
        laplacian_eigenpairs(random_graph(3000), 10, "symmetric", tol=1e-18)


def test_bad_arguments():
    with pytest.raises(InputError, match="allowed: 1 to 12"):
        laplacian_eigenpairs(ring(12), 13)
    with pytest.raises(InputError, match="laplacian='up' is unknown"):
        laplacian_eigenpairs(ring(12), 3, "up")
    with pytest.raises(InputError, match="needs a dense solver"):
        smallest_eigenpairs(laplacian(ring(30_000)), 10_000)


def test_a_fifth_of_all_vectors_reaches_past_the_middle_of_the_spectrum():
    half = sparse.random_array((700, 700), density=0.03, rng=np.random.default_rng(0))
    L = laplacian(sparse.csr_array(half.maximum(half.T)), "symmetric")
    pairs = smallest_eigenpairs(L, 139, method="filtered")
    exact = np.linalg.eigvalsh(L.toarray())
    assert exact[138] > exact[-1] / 2
    np.testing.assert_allclose(pairs.eigenvalues, exact[:139], atol=1e-8)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 31, 32, 61])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_product_of_any_width_with_empty_rows(dtype, width):
    rng = np.random.default_rng(width)
    A = sparse.random_array((90, 90), density=0.05, rng=rng, format="csr")
    A = sparse.csr_array(sparse.block_diag([A, sparse.csr_array((3, 3))]))
    assert np.diff(A.indptr).min() == 0
    Y = rng.standard_normal((93, width)).astype(dtype)
    atol = 1e-5 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(BlockOperator(A, n_jobs=2).product(Y), A @ Y, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_block_products_and_filter(dtype):
    A = laplacian(random_graph(300), "symmetric")
    op = BlockOperator(A, n_jobs=2)
    Y = np.random.default_rng(0).standard_normal((300, 5)).astype(dtype)
    atol = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(op.product(Y), A @ Y, atol=atol)
    values, U = np.linalg.eigh(A.toarray())
    lifted = np.polynomial.chebyshev.chebval((1.25 - values) / 0.75, np.eye(7)[6])
    exact = U @ (lifted[:, None] * (U.T @ Y))
    np.testing.assert_allclose(op.filtered(Y, 6, 0.5, 2.0), exact, atol=1e3 * atol)
    assert op.n_products == 5 + 6 * 5


def test_spectrum_sketch_counts_and_bounds():
    A = laplacian(random_graph(1000), "symmetric")
    exact = np.linalg.eigvalsh(A.toarray())
    values, counts, top = spectrum_sketch(BlockOperator(A), np.random.default_rng(0))
    assert top >= exact[-1] - 1e-6
    cut = np.interp(100, counts, values)
    assert 70 <= np.sum(exact < cut) <= 130


@pytest.mark.parametrize("seed", range(4))
def test_cut_of_the_filter_is_raised_where_the_sketch_puts_it_too_low(seed):
    # Points of a square: eigenvalues crowd at zero, where a short look at the spectrum is coarse.
    X = np.random.default_rng(seed).uniform(size=(20_000, 2)).astype(np.float32)
    W = build_graph(X, n_neighbors=8, weights="binary").W
    found = laplacian_eigenpairs(W, 20, random_state=seed)
    more = laplacian_eigenpairs(W, 60, random_state=seed)
    assert found.residuals.max() <= 1e-5
    np.testing.assert_allclose(found.eigenvalues, more.eigenvalues[:20], atol=1e-8)
