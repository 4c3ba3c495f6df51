"""The deformed kernel: closed form, dense formula, positive semidefinite, low rank, graphs."""

from dataclasses import replace

import numpy as np
import pytest
from _deformed_reference import deformed_kernel
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.invariance.blocks import block_factors, block_system
from fewfold.methods.invariance.deformed import (
    BaseKernel,
    lowrank_root,
    sparse_coefficients,
)
from fewfold.methods.invariance.graphs import (
    block_diagonal,
    knn_laplacian,
    neighbor_delta,
    orbit_laplacians,
)
from fewfold.methods.invariance.solver import (
    BlockSolver,
    LowRankSolver,
    Nodes,
    SparseSolver,
    choose_landmarks,
    make_solver,
)
from fewfold.transforms import get_transform, virtual_samples
from fewfold.transforms.symmetry import ring_symmetry


def ring_nodes(n=7, step=45, seed=0):
    X = np.random.default_rng(seed).random((n, 25))
    ring = get_transform("rotation", step=step)
    copies = virtual_samples(X, (5, 5), ring)
    keep = np.arange(n) * ring.n_copies + ring.identity
    return Nodes(copies.reshape(-1, 25), keep, orbit_laplacians(copies, ring.edges()))


def dense(nodes, kernel, strength, points, data_strength=0.0):
    """Eq. 4 between some points and the kept nodes."""
    M = strength * nodes.copies_laplacian().toarray()
    if nodes.data is not None:
        M = M + data_strength * nodes.data.toarray()
    V, kept = nodes.V, nodes.V[nodes.keep]
    K = kernel(V, V).astype(float)
    return deformed_kernel(K, M, kernel(V, points), kernel(V, kept), kernel(points, kept))


def test_two_joined_nodes_have_the_closed_form():
    # K = I, M = g (1 -1; -1 1): (K^-1 + M)^-1 by hand.
    for g in (0.0, 0.5, 3.0):
        M = g * np.array([[1.0, -1.0], [-1.0, 1.0]])
        K = np.eye(2)
        expected = np.array([[1 + g, g], [g, 1 + g]]) / (1 + 2 * g)
        np.testing.assert_allclose(deformed_kernel(K, M, K, K, K), expected)
        np.testing.assert_allclose(
            sparse_coefficients(K, sparse.csr_array(M), np.arange(2)), expected
        )


def test_a_strong_deformation_makes_functions_constant_along_copies():
    nodes = ring_nodes()
    kernel = BaseKernel("rbf", 0.3)
    rows = BlockSolver(nodes, kernel).deform(1e6).rows(nodes.V)
    spread = rows.reshape(7, 8, 7).std(axis=1).max()
    plain = kernel(nodes.V, nodes.V[nodes.keep]).reshape(7, 8, 7).std(axis=1).max()
    assert spread < 1e-3 * plain


@pytest.mark.parametrize("strength", [0.0, 0.7, 100.0])
@pytest.mark.parametrize("kind", ["rbf", "linear", lambda A, B: (1 + A @ B.T) ** 2])
def test_block_solver_is_the_dense_formula(strength, kind):
    nodes, kernel = ring_nodes(), BaseKernel(kind, 0.3)
    points = np.random.default_rng(1).random((11, 25)).astype(np.float32)
    deformed = BlockSolver(nodes, kernel).deform(strength)
    scale = np.abs(kernel(points, points)).max()
    np.testing.assert_allclose(
        deformed.rows(points) / scale, dense(nodes, kernel, strength, points) / scale, atol=2e-4
    )
    np.testing.assert_allclose(
        deformed.gram / scale,
        dense(nodes, kernel, strength, nodes.V[nodes.keep]) / scale,
        atol=2e-4,
    )


@pytest.mark.parametrize("solver", [BlockSolver, SparseSolver, LowRankSolver])
def test_without_deformation_it_is_the_plain_kernel(solver):
    nodes, kernel = ring_nodes(), BaseKernel("rbf", 0.3)
    points = np.random.default_rng(1).random((4, 25)).astype(np.float32)
    np.testing.assert_allclose(
        solver(nodes, kernel).deform(0.0).rows(points),
        kernel(points, nodes.V[nodes.keep]),
        atol=1e-6,
    )


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
@pytest.mark.parametrize("strength", [1.0, 1000.0])
def test_the_deformed_kernel_is_positive_semidefinite_and_below_the_plain_one(solver, strength):
    nodes, kernel = ring_nodes(12), BaseKernel("rbf", 0.3)
    gram = make_solver(nodes, kernel, solver=solver, n_landmarks=40).deform(strength).gram
    plain = kernel(nodes.V[nodes.keep], nodes.V[nodes.keep])
    assert np.linalg.eigvalsh(gram).min() > -1e-5
    assert np.linalg.eigvalsh(plain - gram).min() > -1e-5
    assert np.trace(gram) < 0.9 * np.trace(plain)


def test_sparse_solver_takes_any_graph_and_a_data_graph():
    nodes, kernel = ring_nodes(), BaseKernel("rbf", 0.3)
    L = knn_laplacian(nodes.V, 4)
    points = np.random.default_rng(2).random((5, 25)).astype(np.float32)
    data = sparse.csr_array(np.zeros(L.shape))
    a, b = nodes.keep[:2]
    data = sparse.csr_array(
        (np.array([1.0, 1.0, -1.0, -1.0]), ([a, b, a, b], [a, b, b, a])), shape=L.shape
    )
    both = Nodes(nodes.V, nodes.keep, L=L, data=data)
    np.testing.assert_allclose(
        SparseSolver(both, kernel).deform(5.0, 50.0).rows(points),
        dense(both, kernel, 5.0, points, 50.0),
        atol=1e-5,
    )
    block = SparseSolver(nodes, kernel).deform(5.0).rows(points)
    np.testing.assert_allclose(
        block, BlockSolver(nodes, kernel).deform(5.0).rows(points), atol=1e-5
    )


def test_low_rank_with_all_nodes_as_landmarks_is_nearly_exact_and_fewer_are_worse():
    nodes, kernel = ring_nodes(20), BaseKernel("rbf", 0.3)
    points = np.random.default_rng(2).random((30, 25)).astype(np.float32)
    exact = BlockSolver(nodes, kernel).deform(50.0).rows(points)
    plain = kernel(points, nodes.V[nodes.keep])
    error = [
        np.abs(LowRankSolver(nodes, kernel, p).deform(50.0).rows(points) - exact).max()
        for p in (160, 80, 10)
    ]
    assert error[0] < 1e-3 < np.abs(exact - plain).max()
    assert 5 * error[0] < min(error[1:])


def test_auto_turns_to_low_rank_above_its_limits(monkeypatch):
    monkeypatch.setattr("fewfold.methods.invariance.solver.EXACT_BLOCKS", 40)
    monkeypatch.setattr("fewfold.methods.invariance.solver.EXACT_SPARSE", 30)
    kernel = BaseKernel("rbf", 0.3)
    few, many = ring_nodes(5), ring_nodes(6)  # 40 and 48 nodes
    assert isinstance(make_solver(few, kernel), BlockSolver)
    assert isinstance(make_solver(many, kernel), LowRankSolver)
    assert isinstance(make_solver(replace(many, order=4), kernel), BlockSolver)
    assert isinstance(make_solver(many, kernel, solver="exact"), BlockSolver)
    for nodes, expected in ((ring_nodes(3), SparseSolver), (few, LowRankSolver)):
        joined = replace(nodes, data=knn_laplacian(nodes.V, 4))
        assert isinstance(make_solver(joined, kernel), expected)


def test_low_rank_with_a_data_graph_is_the_dense_formula():
    nodes, kernel = ring_nodes(), BaseKernel("rbf", 0.3)
    nodes = Nodes(nodes.V, nodes.keep, nodes.blocks, data=knn_laplacian(nodes.V, 4))
    points = np.random.default_rng(2).random((5, 25)).astype(np.float32)
    np.testing.assert_allclose(
        LowRankSolver(nodes, kernel, 56).deform(5.0, 20.0).rows(points),
        dense(nodes, kernel, 5.0, points, 20.0),
        atol=1e-3,
    )


def test_block_pieces_agree_with_their_dense_forms():
    nodes, kernel = ring_nodes(5), BaseKernel("rbf", 0.5)
    L = nodes.blocks
    factors = block_factors(L)
    assert factors.shape == (5, 8, 7)  # the constant vector of each ring is left out
    np.testing.assert_allclose(factors @ factors.transpose(0, 2, 1), L, atol=1e-9)
    G = np.zeros((40, 35))
    for i in range(5):
        G[8 * i : 8 * i + 8, 7 * i : 7 * i + 7] = factors[i]
    K = kernel(nodes.V, nodes.V).astype(float)
    made = block_system(kernel, nodes.V, L, nodes.keep, K[nodes.keep])
    np.testing.assert_allclose(np.tril(made.systems[0]), np.tril(G.T @ K @ G), atol=1e-6)
    expected = np.linalg.inv(np.eye(40) + 3 * G @ G.T @ K)[:, nodes.keep]
    np.testing.assert_allclose(made.coefficients(3.0), expected, atol=1e-5)
    taken = (K - K @ expected_all(G, K))[np.ix_(nodes.keep, nodes.keep)]
    np.testing.assert_allclose(made.correction(3.0), taken, atol=1e-5)


def expected_all(G, K):
    return np.linalg.inv(np.eye(len(K)) + 3 * G @ G.T @ K)


@pytest.mark.parametrize(("step", "order"), [(15, 4), (45, 4), (90, 2), (60, 2)])
@pytest.mark.parametrize("identity", [0.0, 180.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sectors_of_a_ring_give_what_the_whole_gives(step, order, identity, dtype):
    X = np.random.default_rng(3).random((6, 25))
    ring = get_transform("rotation", step=step)
    copies = virtual_samples(X, (5, 5), ring)
    assert ring_symmetry(copies, (5, 5)) % order == 0
    m = ring.n_copies
    keep = np.arange(6) * m + ring.grid.index(identity)
    L, V = orbit_laplacians(copies, ring.edges()), copies.reshape(-1, 25)
    kernel = BaseKernel("rbf", 0.4)
    K_keep = kernel(V[keep], V)
    whole = block_system(kernel, V, L, keep, K_keep)
    parted = block_system(kernel, V, L, keep, K_keep, order=order, dtype=dtype)
    assert parted.order == order and len(parted.systems[0]) <= len(whole.systems[0]) / order
    for strength in (0.0, 5.0, 300.0):
        np.testing.assert_allclose(
            parted.coefficients(strength), whole.coefficients(strength), atol=1e-4
        )
        np.testing.assert_allclose(
            parted.correction(strength), whole.correction(strength), atol=1e-5
        )


def test_a_kernel_of_ones_own_is_not_taken_for_symmetric():
    nodes = ring_nodes(4)
    weights = np.arange(25.0)
    nodes = replace(nodes, order=4)
    kernel = BaseKernel(lambda A, B: (A * weights) @ (B * weights).T)
    rows = BlockSolver(nodes, kernel).deform(10.0).rows(nodes.V)
    wanted = dense(nodes, kernel, 10.0, nodes.V)
    np.testing.assert_allclose(rows, wanted, atol=1e-3 * np.abs(wanted).max())


def test_float32_systems_are_close_to_float64():
    nodes, kernel = ring_nodes(10), BaseKernel("rbf", 0.3)
    K_keep = kernel(nodes.V[nodes.keep], nodes.V)
    single, double = (
        block_system(kernel, nodes.V, nodes.blocks, nodes.keep, K_keep, dtype=t).coefficients(100.0)
        for t in (np.float32, np.float64)
    )
    np.testing.assert_allclose(single, double, atol=1e-3 * np.abs(double).max())


def test_orbit_laplacian_weights_and_delta():
    copies = np.array([[[0.0], [1.0], [3.0]]])
    L = orbit_laplacians(copies, [[0, 1], [1, 2]])[0]
    delta = 1 / 2.5  # mean of the squared distances 1 and 4
    np.testing.assert_allclose(-L[0, 1], np.exp(-delta))
    np.testing.assert_allclose(-L[1, 2], np.exp(-4 * delta))
    assert L[0, 2] == 0 and np.allclose(L.sum(axis=1), 0) and np.allclose(L, L.T)
    assert neighbor_delta(np.zeros(3)) == 1.0
    whole = block_diagonal(np.stack([L, 2 * L])).toarray()
    np.testing.assert_allclose(whole[:3, :3], L)
    np.testing.assert_allclose(whole[3:, 3:], 2 * L)
    assert not whole[:3, 3:].any()


def test_copies_that_do_not_move_leave_finite_kernels():
    ring = get_transform("rotation", step=90)
    copies = virtual_samples(np.ones((3, 9)), (3, 3), ring)
    nodes = Nodes(copies.reshape(-1, 9), np.arange(3) * 4, orbit_laplacians(copies, ring.edges()))
    for solver in (BlockSolver, SparseSolver, LowRankSolver):
        assert np.isfinite(solver(nodes, BaseKernel("rbf", 1.0)).deform(100.0).gram).all()


def test_landmarks_are_spread_and_seeded():
    chosen = choose_landmarks(1000, 100, 3)
    assert len(np.unique(chosen)) == len(chosen) == 100
    assert np.all(np.bincount(chosen // 10, minlength=100) == 1)
    np.testing.assert_array_equal(chosen, choose_landmarks(1000, 100, 3))
    assert (choose_landmarks(1000, 100, 4) != chosen).any()
    np.testing.assert_array_equal(choose_landmarks(5, 9, 0), np.arange(5))


def test_wrong_input_is_refused():
    nodes = ring_nodes(3)
    with pytest.raises(InputError, match="solver='quick'"):
        make_solver(nodes, BaseKernel(), solver="quick")
    with pytest.raises(InputError, match="n_landmarks=0"):
        LowRankSolver(nodes, BaseKernel(), 0)
    with pytest.raises(InputError, match="one value per pair"):
        BaseKernel(lambda A, B: np.ones(3))(np.ones((2, 1)), np.ones((2, 1)))
    with pytest.raises(InputError, match="allowed: 1 to 23"):
        knn_laplacian(nodes.V, 24)
    with pytest.raises(InputError, match="not positive semidefinite"):
        lowrank_root(np.array([[1.0, 9.0], [9.0, 1.0]]))
