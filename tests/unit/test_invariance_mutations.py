"""Formulas and constants of the invariance kernels, changed one by one: each is caught.

A line of `MUTATIONS` replaces one piece of a module's source, which must occur once, and runs the
check of that module on the result. Checks write the paper's formulas out with loops and dense
matrices, and use nothing of the module but what they check.
"""

import importlib
import itertools

import numpy as np
import pytest
from _source_mutations import assert_refused, mutated, rng
from numpy.testing import assert_allclose
from scipy import sparse

INVARIANT = "fewfold.methods.invariance."


def ring(n=3, copies=4, d=5):
    return rng().normal(size=(n, copies, d)), np.array([[0, 1], [1, 2], [2, 3], [3, 0]])


def check_graphs(m):
    copies, edges = ring()
    squared = [[np.sum((x[a] - x[b]) ** 2) for a, b in edges] for x in copies]
    delta = 1 / np.mean(squared)
    distances = [
        np.linalg.norm(x[a] - x[b]) for x in copies for a, b in itertools.combinations(range(4), 2)
    ]
    assert_allclose(m.neighbor_delta(squared), delta)
    assert_allclose(m.node_delta(copies), 1 / np.mean(distances) ** 2)
    for given in (None, 0.2):
        for x, L in zip(copies, m.orbit_laplacians(copies, edges, given)):
            W = np.zeros((4, 4))
            for a, b in edges:
                w = np.exp(-(delta if given is None else given) * np.sum((x[a] - x[b]) ** 2))
                W[a, b] = W[b, a] = w
            assert_allclose(L, np.diag(W.sum(axis=1)) - W, atol=1e-9)
    V = copies.reshape(-1, 5)
    square = np.sum((V[:, None] - V[None]) ** 2, axis=2)
    near = np.argsort(square, axis=1)[:, 1:4]
    chosen = np.take_along_axis(square, near, 1)
    W = np.zeros((12, 12))
    np.put_along_axis(W, near, np.exp(-chosen / chosen.mean()), 1)
    W = np.maximum(W, W.T)
    L = np.diag(W.sum(axis=1)) - W
    assert_allclose(m.knn_laplacian(V.astype(np.float32), 3).toarray(), L, atol=1e-4)
    mean_degree = W.sum() / 12
    assert_allclose(m.data_laplacian(sparse.csr_array(W)).toarray(), L / mean_degree, atol=1e-9)
    assert_allclose(m.powered(sparse.csr_array(L), 3).toarray(), L @ L @ L, atol=1e-9)


def deformed_by_definition(strength, gamma=0.3):
    from fewfold.methods.invariance.graphs import block_diagonal, orbit_laplacians

    copies, edges = ring()
    V = copies.reshape(-1, 5)
    K = np.exp(-gamma * np.sum((V[:, None] - V[None]) ** 2, axis=2))
    blocks = orbit_laplacians(copies, edges)
    M = strength * block_diagonal(blocks).toarray()
    return V, blocks, M, K, K - K @ np.linalg.inv(np.eye(12) + M @ K) @ M @ K


def kernel_03(A, B):
    return np.exp(-0.3 * np.sum((A[:, None] - B[None]) ** 2, axis=2))


def check_deformed(m):
    V, _, M, K, expected = deformed_by_definition(3.0)
    keep = np.array([0, 4, 8])
    T = m.sparse_coefficients(K, sparse.csr_array(M), keep)
    assert_allclose(K @ T, expected[:, keep], atol=1e-9)
    assert_allclose(m.Expansion(V, T, kernel_03)(V), expected[:, keep], atol=1e-9)
    root = m.lowrank_root(K)
    assert_allclose(root.T @ root, K + 1e-6 * np.eye(12), atol=1e-9)
    seminorm = m.lowrank_middle(root, K, sparse.csr_array(M))
    T = m.lowrank_coefficients(root, seminorm, K[:, keep])
    assert_allclose(K @ T, expected[:, keep], atol=1e-3)  # all functions: the same
    image = np.random.default_rng(1).normal(size=(2, 5)).astype(np.float32)
    found = m.BaseKernel("rbf", 0.3)(image, image)
    assert_allclose(found, kernel_03(image, image), rtol=1e-5)


def check_blocks(m):
    keep = np.array([0, 4, 8])
    for strength in (0.7, 50.0):
        V, blocks, _, K, expected = deformed_by_definition(strength)
        system = m.block_system(kernel_03, V, blocks, keep, K[keep])
        plain = K[np.ix_(keep, keep)]
        assert_allclose(
            plain - system.correction(strength), expected[np.ix_(keep, keep)], atol=1e-9
        )
        assert_allclose(K @ system.coefficients(strength), expected[:, keep], atol=1e-9)
    # A ring that turns into itself: four sectors of one copy, by a Fourier transform.
    turn = np.array([[np.cos(a), np.sin(a)] for a in np.arange(4) * np.pi / 2])
    radius = np.array([1.0, 1.7, 0.4])
    phase = np.array([0.1, 0.9, 2.0])
    rotate = np.array([[[np.cos(p), -np.sin(p)], [np.sin(p), np.cos(p)]] for p in phase])
    copies = np.einsum("nij,mj->nmi", radius[:, None, None] * rotate, turn)
    V, L = (
        copies.reshape(-1, 2),
        np.diag([2.0] * 4) - np.roll(np.eye(4), 1, 0) - np.roll(np.eye(4), -1, 0),
    )
    blocks = np.stack([L, 2 * L, 0.5 * L])
    M = np.zeros((12, 12))
    for i, block in enumerate(blocks):
        M[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] = 2.0 * block
    K, keep = kernel_03(V, V), np.array([1, 5, 9])
    expected = K - K @ np.linalg.inv(np.eye(12) + M @ K) @ M @ K
    system = m.block_system(kernel_03, V, blocks, keep, K[keep], order=4)
    plain = K[np.ix_(keep, keep)]
    assert_allclose(plain - system.correction(2.0), expected[np.ix_(keep, keep)], atol=1e-9)
    assert_allclose(K @ system.coefficients(2.0), expected[:, keep], atol=1e-9)


def check_invariance_selection(m):
    assert (m.WIDTHS, m.PENALTIES, m.STRENGTHS) == ((1, 2, 4), (1, 10, 100), (10, 100, 1000))
    assert m.VARIANTS["published"]["deformation"] == 100
    assert m.VARIANTS["default"]["deformation"] == (10, 100, 1000)
    A = rng().normal(size=(6, 3))
    gram = A @ A.T + 7
    centered = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    assert_allclose(m.penalty_scale(gram), 1 / np.mean(np.diag(centered)))
    assert m.middle([1, 2, 3]) == 2


CHECKS = {
    INVARIANT + "graphs": check_graphs,
    INVARIANT + "deformed": check_deformed,
    INVARIANT + "blocks": check_blocks,
    INVARIANT + "selection": check_invariance_selection,
}

MUTATIONS = [
    (INVARIANT + "graphs", "return 1.0 / mean", "return 2.0 / mean"),
    (INVARIANT + "graphs", "L[:, b, a] -= w", "L[:, b, a] += w"),
    (INVARIANT + "graphs", "L[:, b, b] += w", "L[:, b, b] += 0"),
    (INVARIANT + "graphs", ".mean() ** 2)", ".mean())"),
    (
        INVARIANT + "graphs",
        "np.triu_indices(copies.shape[1], 1)",
        "np.triu_indices(copies.shape[1], 0)",
    ),
    (INVARIANT + "graphs", "laplacian(W.maximum(W.T)", "laplacian(W.minimum(W.T)"),
    (INVARIANT + "graphs", "float(np.mean(degrees(W)))", "float(np.max(degrees(W)))"),
    (INVARIANT + "graphs", "range(power - 1)", "range(power)"),
    (INVARIANT + "deformed", "A.ravel()[:: len(K) + 1] += 1", "A.ravel()[:: len(K) + 1] += 2"),
    (INVARIANT + "deformed", "M.astype(K.dtype) @ K", "K @ M.astype(K.dtype).toarray()"),
    (INVARIANT + "deformed", "range(-6, 1)", "range(-3, 1)"),
    (
        INVARIANT + "deformed",
        "inner.ravel()[:: len(inner) + 1] += 1",
        "inner.ravel()[:: len(inner) + 1] += 2",
    ),
    (INVARIANT + "deformed", "@ (rows @ features)", "@ features[first : first + block_nodes]"),
    (INVARIANT + "blocks", "total += strength * share", "total += share"),
    (INVARIANT + "blocks", "strength * right", "right"),
    (
        INVARIANT + "blocks",
        'A.ravel(order="K")[:: len(A) + 1] += 1',
        'A.ravel(order="K")[:: len(A) + 1] += 2',
    ),
    (
        INVARIANT + "blocks",
        "T[self.keep, np.arange(len(self.keep))] += 1",
        "T[self.keep, np.arange(len(self.keep))] += 0",
    ),
    (INVARIANT + "blocks", "vectors * np.sqrt(values)", "vectors * values"),
    (INVARIANT + "blocks", "(1 if 2 * f % order == 0 else 2) / order", "1 / order"),
    (INVARIANT + "blocks", "frequency * (s - own)", "frequency * s"),
    (INVARIANT + "blocks", "np.roll(seen, -own, axis=2)", "seen"),
    (INVARIANT + "selection", "WIDTHS = (1.0, 2.0, 4.0)", "WIDTHS = (1.0, 2.0, 8.0)"),
    (INVARIANT + "selection", "PENALTIES = (1.0, 10.0, 100.0)", "PENALTIES = (1.0, 10.0, 50.0)"),
    (
        INVARIANT + "selection",
        "STRENGTHS = (10.0, 100.0, 1000.0)",
        "STRENGTHS = (1.0, 100.0, 1000.0)",
    ),
    (
        INVARIANT + "selection",
        '"published": {"deformation": 100.0}',
        '"published": {"deformation": 10.0}',
    ),
    (INVARIANT + "selection", "np.mean(np.diag(gram)) - np.mean(gram)", "np.mean(np.diag(gram))"),
]


@pytest.mark.parametrize("name", CHECKS)
def test_what_is_there_passes(name):
    CHECKS[name](importlib.import_module(name))


@pytest.mark.parametrize(("name", "old", "new"), MUTATIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_change_is_caught(name, old, new):
    assert_refused(CHECKS[name], mutated(name, old, new))
