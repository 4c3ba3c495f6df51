"""Formulas and constants of atlas, eigenbasis and invariance, changed one by one: each is caught.

A line of `MUTATIONS` replaces one piece of a module's source, which must occur once, and runs the
check of that module on the result. Checks write the papers' formulas out with loops and dense
matrices, and use nothing of the module but what they check.
"""

import importlib
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from _source_mutations import mutated
from numpy.testing import assert_allclose
from scipy import sparse

ATLAS, EIGEN, INVARIANT = (f"fewfold.methods.{n}." for n in ("atlas", "eigenbasis", "invariance"))


def rng():
    return np.random.default_rng(0)


def check_charts(m):
    points = rng().normal(size=(12, 4)) * [5, 3, 1, 0.2] + [1, 2, 3, 4]
    mean, C = m.fit_chart(points, 2)
    left = np.linalg.svd(points - points.mean(axis=0))[2][:2]
    assert_allclose(mean, points.mean(axis=0))
    assert_allclose(C.T @ C, left.T @ left, atol=1e-9)
    assert len(m.fit_chart(points[:3], 4)[1]) == 2  # three points span a plane
    charts = m.fit_charts(points, [np.arange(6), np.arange(6, 12)], 2, np.float64)
    X = rng().normal(size=(5, 4)) + [3, 0, 0, 0]
    planes = list(zip(charts.means, charts.directions))
    expected = [[np.sum((x - (c.T @ (c @ (x - mu)) + mu)) ** 2) for mu, c in planes] for x in X]
    assert_allclose(m.reconstruction_errors(X, charts), expected, atol=1e-9)
    assert m.cheapest(np.array([[3.0, 1.0, 2.0]]), 2).tolist() == [[1, 2]]


def atlas_problem():
    g = rng()
    indices = np.array([g.choice(np.delete(np.arange(7), q), 2, replace=False) for q in range(7)])
    return indices, g.exponential(1.0, (7, 3)), g.integers(0, 3, 7)


def energy_by_definition(y, indices, errors, mdl, potts):
    hoods = [{q, *indices[q].tolist()} for q in range(len(y))]
    total = mdl * len(set(y.tolist()))
    total += sum(
        errors[p, c]
        for p in range(len(y))
        for c in range(errors.shape[1])
        if any(y[q] == c and p in hoods[q] for q in range(len(y)))
    )
    edges = {tuple(sorted((q, int(p)))) for q in range(len(y)) for p in indices[q]}
    return total + potts * sum(y[p] != y[q] for p, q in edges)


def check_energy(m):
    indices, errors, y = atlas_problem()
    hoods = m.Neighborhoods.from_neighbors(indices)
    for labels in (y, np.zeros(7, int)):
        found = m.total_energy(labels, hoods, errors, 0.9, 0.3)
        assert_allclose(found, energy_by_definition(labels, indices, errors, 0.9, 0.3))
    other = y.copy()
    other[[1, 4]] = (y[[1, 4]] + 1) % 3
    part = [m.energy_around(np.array([1, 4]), z, hoods, errors, 0.3) for z in (y, other)]
    whole = [energy_by_definition(z, indices, errors, 0.0, 0.3) for z in (y, other)]
    assert_allclose(part[1] - part[0], whole[1] - whole[0])


def check_expansion(m):
    from fewfold.methods.atlas.energy import Neighborhoods

    for seed in range(4):
        g = np.random.default_rng(seed)
        indices = np.array([g.choice(np.delete(np.arange(7), q), 2, False) for q in range(7)])
        hoods = Neighborhoods.from_neighbors(indices)
        errors = g.exponential(3.0, (7, 4))
        one = np.zeros(7, int)  # all in one chart: neighbors that part cost the Potts term
        y = g.integers(0, 3, 7)  # chart 3 is not in use
        for start, alpha in ((one, 1), (y, seed % 3), (y, 3)):
            for mdl, potts in ((0.1, 0.2), (0.1, 1.5), (2.0, 0.0)):
                check_move(m, start, alpha, indices, hoods, errors, mdl, potts)
        sizes = np.bincount(y, minlength=4)
        order = np.argsort(errors, axis=1)
        rows, labels, change = m.removal_move(1, y, sizes, order, hoods, errors, 99.0, 0.5)
        trial = y.copy()
        trial[rows] = labels
        before, after = (energy_by_definition(z, indices, errors, 99.0, 0.5) for z in (y, trial))
        assert len(rows) == sizes[1]
        assert_allclose(after - before, change, atol=1e-9)


def check_move(m, y, alpha, indices, hoods, errors, mdl, potts):
    """The move found is the best of all, and its change of the energy is exact."""
    sizes, cost = np.bincount(y, minlength=4), (indices, errors, mdl, potts)
    best = start = energy_by_definition(y, *cost)
    for switch in itertools.product([False, True], repeat=6):
        trial = y.copy()
        trial[:6][list(switch)] = alpha
        best = min(best, energy_by_definition(trial, *cost))
    rows, change = m.expansion_move(alpha, np.arange(6), y, sizes, hoods, errors, mdl, potts)
    trial = y.copy()
    trial[rows] = alpha
    assert_allclose([start + change, energy_by_definition(trial, *cost)], best, atol=1e-9)


def check_proposals(m):
    from fewfold.methods.atlas.settings import AtlasSettings

    X = rng().normal(size=(400, 12)) * np.r_[np.full(6, 3.0), np.full(6, 0.1)]
    charts = m.propose_charts(X, AtlasSettings(), rng())
    assert len(charts) == min(80, round(6 * np.sqrt(400)))
    assert len(m.propose_charts(X[:100], AtlasSettings(n_dims=2), rng())) == 20
    assert len(m.propose_charts(X[:401], AtlasSettings(n_proposals=7), rng())) == 7
    assert charts.directions.shape[1] == 6  # 95 % of the variance
    many = rng().normal(size=(4000, 2))
    assert len(m.propose_charts(many, AtlasSettings(n_dims=1), rng())) == round(6 * np.sqrt(4000))
    deep = SimpleNamespace(directions=np.zeros((3, 30, 40)))
    assert m.default_neighbors(deep) == 4 and m.default_neighbors(charts) == 2
    errors = rng().exponential(1.0, (50, 4))
    mdl = m.default_mdl(errors, deep, AtlasSettings())
    assert_allclose(mdl, 12 * 31 * np.mean([min(row) for row in errors]))
    assert m._local_dims(rng().normal(size=(300, 60)), np.arange(300)[None]) == 30


def code_of(n=6, q=2, d=3, seed=0):
    g = np.random.default_rng(seed)
    return {
        "charts": np.array([g.choice(4, q, replace=False) for _ in range(n)]),
        "errors": np.sort(g.exponential(1.0, (n, q)), axis=1),
        "projections": g.normal(size=(n, q, d)),
        "member": g.random((n, q)) < 0.5,
    }


def local(kind, a, b):
    if kind == "rbf":
        return np.exp(-np.sum((a - b) ** 2))
    if kind == "linear":
        return a @ b
    if kind == "affine":
        return 1 + a @ b
    pairs = [(i, j) for i in range(len(a)) for j in range(i + 1 if kind == "quadcross" else 0)]
    pairs = pairs or [(i, i) for i in range(len(a))]
    return 1 + a @ b + sum(a[i] * a[j] * b[i] * b[j] for i, j in pairs)


def check_kernels(m):
    code, gamma, sigma = code_of(), 1.3, 0.7
    code["member"][0] = False  # in none of its charts: then in the cheapest
    a, b = code["projections"][:2]
    alone = [[local("rbf", x / sigma, y / sigma) for y in b] for x in a]
    assert_allclose(m.local_kernel(a, b, "rbf", sigma), alone)
    for kind, assignment in itertools.product(
        ("rbf", "linear", "affine", "quad", "quadcross"), ("soft", "hard")
    ):
        K = np.zeros((6, 6))
        for (x, i), (y, j) in itertools.product(itertools.product(range(6), range(2)), repeat=2):
            if code["charts"][x, i] != code["charts"][y, j]:
                continue
            if assignment == "soft":
                w = np.exp(-(code["errors"][x, i] + code["errors"][y, j]) / gamma**2)
            else:
                own = [code["member"][p, k] or (k == 0 and not code["member"][p].any())
                       for p, k in ((x, i), (y, j))]  # fmt: skip
                w = float(all(own))
            P = code["projections"]
            K[x, y] += w * local(kind, P[x, i] / sigma, P[y, j] / sigma)
        found = m.atlas_kernel_rows(code, code, gamma, sigma, kind, False, assignment)
        assert_allclose(found, K, atol=1e-9)
        assert_allclose(m.kernel_diagonal(code, gamma, sigma, kind, assignment), np.diag(K))
        root = np.sqrt(np.where(np.diag(K) > 0, np.diag(K), 1))
        unit = m.atlas_kernel_rows(code, code, gamma, sigma, kind, True, assignment)
        assert_allclose(unit, K / np.outer(root, root), atol=1e-9)
    wide = code_of(40, 4, seed=1)
    first = wide["projections"][:, 0]
    base = np.sqrt(2 * np.mean(np.sum(first**2, axis=1)))
    for n_charts, place in ((0, 1), (149, 1), (250, 2), (2000, 3)):
        gamma, sigma = m.kernel_scales(wide, n_charts)
        assert_allclose((gamma, sigma), (np.sqrt(wide["errors"][:, place].mean()), base))
    assert_allclose(m.kernel_scales(wide, 50, 100)[1], base * np.sqrt(1 + 8 * 50 / 100))


def check_features(m):
    code = code_of()
    for kind, kernel in (("linear", "affine"), ("quad", "quad"), ("quadcross", "quadcross")):
        F = m.atlas_features(code, 4, 1.3, 0.7, kind, False).toarray()
        P, w = code["projections"] / 0.7, np.exp(-code["errors"] / 1.3**2)
        K = [
            [
                sum(
                    w[x, i] * w[y, j] * local(kernel, P[x, i], P[y, j])
                    for i, j in itertools.product(range(2), repeat=2)
                    if code["charts"][x, i] == code["charts"][y, j]
                )
                for y in range(6)
            ]
            for x in range(6)
        ]
        assert_allclose(F @ F.T, K, rtol=1e-5)
    assert m.local_features(np.array([2.0, 3.0]), "quad").tolist() == [1, 2, 3, 4, 9]


def check_encoding(m):
    g = rng()
    atlas = {
        "means": g.normal(size=(3, 4)),
        "directions": np.linalg.qr(g.normal(size=(3, 4, 2)))[0].transpose(0, 2, 1),
        "dims": np.full(3, 2), "origin": g.normal(size=4), "basis": np.zeros((0, 0)),
    }  # fmt: skip
    X = g.normal(size=(9, 4)) * 2
    code = m.encode(X, atlas, 2)
    for row, x in enumerate(X - atlas["origin"]):
        back = [C.T @ (C @ (x - mu)) + mu for mu, C in zip(atlas["means"], atlas["directions"])]
        errors = [np.sum((x - b) ** 2) for b in back]
        order = np.argsort(errors)[:2]
        assert code["charts"][row].tolist() == order.tolist()
        assert_allclose(code["errors"][row], np.array(errors)[order], atol=1e-9)
        best = order[0]
        P = atlas["directions"][best] @ (x - atlas["means"][best])
        assert_allclose(code["projections"][row, 0], P, atol=1e-9)
        assert_allclose(m.back_project(code, atlas)[row], back[best], atol=1e-9)
    assert code["member"].sum(axis=1).tolist() == [1] * 9 and code["member"][:, 0].all()


def check_learners(m):
    assert_allclose([m.default_penalty(0.5, s) for s in (0.0, 0.5, 1.0)], [2, 11, 20])
    code = code_of()
    both = {**code, **{f"finer_{k}": v for k, v in code_of(seed=1).items()}}
    options = m.KernelOptions(
        kernel="linear", normalize=False, gamma=1.3, sigma=0.7, n_charts=4,
        finer=m.KernelOptions(kernel="linear", normalize=False, gamma=0.9, sigma=1.1, n_charts=4),
    )  # fmt: skip
    from fewfold.methods.atlas.kernels import atlas_kernel_rows, kernel_scales

    parts = [(code, 1.3, 0.7), (code_of(seed=1), 0.9, 1.1)]
    K = sum(atlas_kernel_rows(c, c, g, s, "affine", False) for c, g, s in parts) / 2
    F = options.features(both).toarray()
    assert_allclose(options.matrix(both, both), K)
    assert_allclose(F @ F.T, K, rtol=1e-5)
    assert_allclose(options.penalty(both), 1 / np.mean(np.diag(K)))
    found = m.scaled_options(code, None, None, kernel="linear")
    n_charts = int(code["charts"].max()) + 1
    assert_allclose(found.sigma, kernel_scales(code, n_charts)[1] / 2)
    wider = options.scaled(2.0, 3.0)
    assert_allclose((wider.gamma, wider.sigma, wider.finer.sigma), (2.6, 2.1, 3.3))


def check_atlas_settings(m):
    s = m.AtlasSettings()
    found = s.mdl_factor, s.finer, s.n_candidates, s.potts, s.max_rounds, s.max_features
    assert found == (12.0, 0.25, 20, 0.0, 4, 150)


def check_atlas_selection(m):
    assert m.PUBLISHED_GRID == {
        "gamma": (2.0**-1, 1, 2), "sigma": (2.0**-1, 1, 2, 4, 8), "C": (1, 10),
    }  # fmt: skip
    assert m.GRID == {"gamma": (0.7, 1, 1.4), "sigma": (0.5, 1, 2), "C": (0.5, 1, 5)}
    assert m.CHOOSE_ROWS == 2000


def check_atlas_variants(m):
    assert m.VARIANTS["published"] == {
        "normalize": False, "scheme": "pairs", "balanced": False, "solver": "sgd", "cv": 5,
    }  # fmt: skip
    assert m.VARIANTS["default"] == {
        "normalize": True, "scheme": "auto", "balanced": True, "solver": "auto", "cv": None,
    }  # fmt: skip


def check_regression(m):
    g = rng()
    assert [m.vector_count(0.2, n, 500, 3) for n in (20, 103, 1000)] == [4, 21, 200]
    assert m.vector_count(0.2, 3, 500, 10, 1) == 1 and m.vector_count(0.2, 30, 500, 10) == 10
    assert m.vector_count(0.2, 1000, 500, 3, None, 90) == 90
    assert m.many_vectors(0.2, 5, 10_000, None) == 200 and m.many_vectors(0.2, 5, 300, None) == 60
    targets = m.signed_targets(np.array([0, 2, 1]), 3)
    assert targets.tolist() == [[1, -1, -1], [-1, -1, 1], [-1, 1, -1]]
    E, values = g.normal(size=(12, 4)), np.array([0.0, 0.5, 1.0, 3.0])
    t = g.normal(size=(12, 2))
    assert_allclose(m.fit_basis(E, t, values).coefficients, np.linalg.lstsq(E, t, rcond=None)[0])
    penalty = np.diag(values**2 / np.mean(values**2))

    def solved(rows, ridge):
        A, n = E[rows], 12  # the penalty of the whole
        return np.linalg.solve(A.T @ A + ridge * n * penalty, A.T @ t[rows])

    fit = m.fit_basis(E, t, values, 0.3)
    assert_allclose(fit.coefficients, solved(np.arange(12), 0.3), rtol=1e-6)
    left = [E[i] @ solved(np.delete(np.arange(12), i), 0.3) for i in range(12)]
    assert_allclose(fit.left_out, left, rtol=1e-6)
    tried = [m.fit_basis(E, t, values, r) for r in (0.0, *10.0 ** np.arange(-6, 1.5, 0.5))]
    errors = [np.mean((f.left_out - t) ** 2) for f in tried]
    assert_allclose(m.fit_basis(E, t, values, "loo").ridge, tried[int(np.argmin(errors))].ridge)
    assert_allclose(m.left_out_error(fit, t), np.mean((fit.left_out - t) ** 2))
    W = sparse.csr_array(g.random((3, 5)))
    V, lam = g.normal(size=(5, 2)), np.array([0.1, 0.95])
    mean = (W @ V) / W.sum(axis=1)[:, None]
    assert_allclose(m.extend_vectors(lam, V, W, "random_walk", "harmonic"), mean)
    assert_allclose(m.extend_vectors(lam, V, W, "random_walk"), mean / (1 - np.array([0.1, 0.9])))
    share = lam / W.sum(axis=1)[:, None]
    assert_allclose(
        m.extend_vectors(lam, V, W, "unnormalized"), mean / (1 - np.minimum(share, 0.9))
    )
    vectors = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert m.reached_columns(vectors, np.array([True, False, True]), 2).tolist() == [0, 2]
    assert m.response_scale(np.zeros((4, 2)), np.zeros(4, int)) == 2.0
    sure = np.array([[1.0, -1], [-1, 1]] * 5)
    assert_allclose(m.response_scale(sure, np.array([0, 1] * 5)), 10, rtol=1e-3)
    assert_allclose(m.response_scale(sure, np.array([1, 0] * 5)), 0.1, rtol=1e-3)


def check_eigenbasis_model(m):
    assert m.CLEARLY_LESS == 0.9 and m.MOST_VECTORS == 200
    assert m.VARIANTS["published"] == {
        "laplacian": "unnormalized", "weights": "binary", "ridge": 0.0, "min_vectors": 1,
    }  # fmt: skip
    assert m.VARIANTS["default"] == {
        "laplacian": "random_walk", "weights": "self_tuning", "ridge": "loo", "min_vectors": None,
    }  # fmt: skip
    g = rng()
    V = np.linalg.qr(g.normal(size=(30, 8)))[0]
    basis = {
        "eigenvectors": V, "eigenvalues": np.arange(8) / 8, "components": np.zeros(30, int),
        "degrees": np.ones(30),
    }  # fmt: skip
    rows, codes = np.arange(20), g.integers(0, 3, 20)
    model = m.EigenbasisModel(basis, rows, codes, n_vectors=5, ridge=0.0)
    targets = 2.0 * np.eye(3)[codes] - 1
    expected = V[:, :5] @ np.linalg.lstsq(V[:20, :5], targets, rcond=None)[0]
    assert_allclose(model.responses(), expected, atol=1e-8)
    weights = sparse.csr_array(g.random((4, 30)))
    found = model.new_responses(weights, "random_walk", "nystrom")[0]
    mean = (weights @ V[:, :5]) / weights.sum(axis=1)[:, None] / (1 - np.arange(5) / 8)
    coefficients = np.linalg.lstsq(V[:20, :5], targets, rcond=None)[0]
    assert_allclose(found, mean @ coefficients, atol=1e-8)


def check_laplacian(m):
    g = rng()
    W = np.triu(g.random((5, 5)), 1)
    W += W.T
    d = W.sum(axis=1)
    expected = {
        "unnormalized": np.diag(d) - W,
        "symmetric": np.eye(5) - W / np.sqrt(np.outer(d, d)),
        "random_walk": np.eye(5) - W / d[:, None],
    }
    for kind, L in expected.items():
        assert_allclose(m.laplacian(sparse.csr_array(W), kind).toarray(), L, atol=1e-12)


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
    ATLAS + "charts": check_charts,
    ATLAS + "energy": check_energy,
    ATLAS + "expansion": check_expansion,
    ATLAS + "proposals": check_proposals,
    ATLAS + "kernels": check_kernels,
    ATLAS + "features": check_features,
    ATLAS + "encoding": check_encoding,
    ATLAS + "learners": check_learners,
    ATLAS + "settings": check_atlas_settings,
    ATLAS + "selection": check_atlas_selection,
    ATLAS + "estimator": check_atlas_variants,
    EIGEN + "regression": check_regression,
    EIGEN + "estimator": check_eigenbasis_model,
    "fewfold.linalg.laplacian": check_laplacian,
    INVARIANT + "graphs": check_graphs,
    INVARIANT + "deformed": check_deformed,
    INVARIANT + "blocks": check_blocks,
    INVARIANT + "selection": check_invariance_selection,
}

MUTATIONS = [
    (ATLAS + "charts", "mean = points.mean(axis=0)", "mean = points[0]"),
    (ATLAS + "charts", "min(n_dims, n - 1, D)", "min(n_dims, n - 2, D)"),
    (ATLAS + "charts", "[size - wanted, size - 1]", "[0, wanted - 1]"),
    (ATLAS + "charts", "(-2 * means.T)", "(-1 * means.T)"),
    (ATLAS + "charts", "errors += mean_sq", "errors -= mean_sq"),
    (ATLAS + "charts", "errors[:, first:last] -= np", "errors[:, first:last] += np"),
    (ATLAS + "charts", "stacked[D] = -np", "stacked[D] = np"),
    (
        ATLAS + "charts",
        "np.take_along_axis(errors, part, 1)",
        "-np.take_along_axis(errors, part, 1)",
    ),
    (ATLAS + "energy", "+ mdl * len(np.unique(y))", "+ mdl * y.max()"),
    (
        ATLAS + "energy",
        "np.column_stack([np.arange(n), indices])",
        "np.column_stack([indices[:, 0], indices])",
    ),
    (
        ATLAS + "energy",
        "np.unique(hoods.members * width + y[:, None])",
        "np.sort((hoods.members * width + y[:, None]).ravel())",
    ),
    (ATLAS + "energy", "np.unique(np.sort(pairs, axis=1), axis=0)", "pairs"),
    (ATLAS + "energy", "potts * np.count_nonzero(y[hoods", "-potts * np.count_nonzero(y[hoods"),
    (ATLAS + "energy", "np.unique(position * width + y[owner])", "position * width + y[owner]"),
    (
        ATLAS + "expansion",
        "errors[touched[keys[free] // width], keys[free] % width]",
        "errors[touched[keys[free] // width], alpha]",
    ),
    (ATLAS + "expansion", "joins = (slot >= 0) & ~in_alpha[position]", "joins = slot >= 0"),
    (ATLAS + "expansion", "if sizes[alpha] == 0:", "if sizes[alpha] < 0:"),
    (ATLAS + "expansion", "whole = count == sizes[labels]", "whole = count >= 0"),
    (ATLAS + "expansion", "np.maximum(-own, 0)", "np.maximum(own, 0)"),
    (
        ATLAS + "expansion",
        "capacities.append(np.full(2 * len(pairs), float(potts)))",
        "capacities.append(np.zeros(2 * len(pairs)))",
    ),
    (ATLAS + "expansion", "+ potts * torn)", "- potts * torn)"),
    (ATLAS + "expansion", "(one & (labels[:, fixed] == alpha), savings)", "(one & same, savings)"),
    (ATLAS + "expansion", "- before - mdl", "- before"),
    (ATLAS + "proposals", "round(6 * np.sqrt(n))", "round(5 * np.sqrt(n))"),
    (ATLAS + "proposals", "n // 5", "n // 6"),
    (ATLAS + "proposals", "share=0.95", "share=0.5"),
    (ATLAS + "proposals", "most=30", "most=40"),
    (ATLAS + "proposals", "directions.shape[1] / 8)", "directions.shape[1] / 16)"),
    (ATLAS + "proposals", "k = max(2, round", "k = max(1, round"),
    (ATLAS + "proposals", "(1 + charts.directions.shape[1])", "charts.directions.shape[1]"),
    (ATLAS + "proposals", "errors.min(axis=1)", "errors.max(axis=1)"),
    (ATLAS + "kernels", "np.exp(-errors / float(gamma) ** 2)", "np.exp(-errors / float(gamma))"),
    (
        ATLAS + "kernels",
        "member[~member.any(axis=1), 0] = True",
        "member[~member.any(axis=1), 0] = False",
    ),
    (ATLAS + "kernels", "inner *= 2", "inner *= 1"),
    (ATLAS + "kernels", "x if side else 2 * x", "x if side else x"),
    (ATLAS + "kernels", "return 1 + inner + squares", "return inner + squares"),
    (
        ATLAS + "kernels",
        "1 + inner + (inner**2 + squares) / 2\n    raise",
        "1 + inner + inner**2\n    raise",
    ),
    (ATLAS + "kernels", "weights / np.sqrt(np.where", "weights / (np.where"),
    (ATLAS + "kernels", "weights**2, _local", "weights, _local"),
    (ATLAS + "kernels", "n_charts / 100", "n_charts / 50"),
    (ATLAS + "kernels", "max(1, round(n_charts", "max(0, round(n_charts"),
    (ATLAS + "kernels", "np.sqrt(2 * np.einsum", "np.sqrt(1 * np.einsum"),
    (ATLAS + "kernels", "np.sqrt(1 + 8 * n_charts", "np.sqrt(1 + 4 * n_charts"),
    (ATLAS + "features", "np.concatenate([one, P, P**2]", "np.concatenate([one, P, P]"),
    (ATLAS + "features", "np.tril_indices(P.shape[-1])", "np.tril_indices(P.shape[-1], -1)"),
    (
        ATLAS + "features",
        'code["projections"] / np.float32(sigma)',
        'code["projections"] * np.float32(sigma)',
    ),
    (ATLAS + "encoding", "(Z[who] - charts.means[chart])", "Z[who]"),
    (ATLAS + "encoding", "@ directions[chart] + means[chart]", "@ directions[chart]"),
    (ATLAS + "encoding", 'code["charts"][:, :1]', 'code["charts"][:, 1:2]'),
    (ATLAS + "encoding", 'code["member"][:, 0] = True', 'code["member"][:] = True'),
    (ATLAS + "learners", "(1 + 9 * min", "(1 + 8 * min"),
    (ATLAS + "learners", "            K /= 2", "            K /= 1"),
    (ATLAS + "learners", "np.sqrt(0.5)", "0.5"),
    (ATLAS + "learners", "own_sigma /= 2", "own_sigma /= 1"),
    (ATLAS + "learners", "own = (own + float(fine)) / 2", "own = own"),
    (ATLAS + "learners", "sigma=sigma * self.sigma", "sigma=self.sigma"),
    (ATLAS + "settings", "mdl_factor: float = 12.0", "mdl_factor: float = 11.0"),
    (ATLAS + "settings", "finer: float | None = 0.25", "finer: float | None = 0.5"),
    (ATLAS + "settings", "n_candidates: int = 20", "n_candidates: int = 10"),
    (ATLAS + "settings", "max_rounds: int = 4", "max_rounds: int = 3"),
    (ATLAS + "settings", "max_features: int | None = 150", "max_features: int | None = 100"),
    (ATLAS + "selection", '"gamma": (0.5, 1.0, 2.0)', '"gamma": (0.5, 1.0, 4.0)'),
    (ATLAS + "selection", "CHOOSE_ROWS = 2000", "CHOOSE_ROWS = 200"),
    (
        ATLAS + "estimator",
        '"normalize": False, "scheme": "pairs"',
        '"normalize": True, "scheme": "pairs"',
    ),
    (ATLAS + "estimator", '"balanced": False', '"balanced": True'),
    (ATLAS + "estimator", '"solver": "sgd"', '"solver": "batch"'),
    (EIGEN + "regression", "round(n_vectors * n_labeled)", "int(n_vectors * n_labeled)"),
    (EIGEN + "regression", "n_classes if minimum is None", "2 if minimum is None"),
    (EIGEN + "regression", "MANY_VECTORS = 200", "MANY_VECTORS = 100"),
    (EIGEN + "regression", "n_points // 5", "n_points // 4"),
    (EIGEN + "regression", "SMOOTHNESS = 2.0", "SMOOTHNESS = 1.0"),
    (EIGEN + "regression", "np.logspace(-6, 1, 15)", "np.logspace(-6, -1, 11)"),
    (EIGEN + "regression", "n_classes), -1.0)", "n_classes), 0.0)"),
    (EIGEN + "regression", "stretch / stretch.mean()", "stretch / stretch.max()"),
    (EIGEN + "regression", "self.s**2 / (self.s**2 + strength)", "self.s / (self.s + strength)"),
    (EIGEN + "regression", "strength * len(E)", "strength"),
    (
        EIGEN + "regression",
        "response - leverage * self.targets",
        "response + leverage * self.targets",
    ),
    (
        EIGEN + "regression",
        "mean / (1 - np.minimum(relative, 0.9))",
        "mean / (1 - np.minimum(relative, 0.8))",
    ),
    (
        EIGEN + "regression",
        "eigenvalues / np.where(d > 0, d, 1)[:, None]",
        "eigenvalues * np.where(d > 0, d, 1)[:, None]",
    ),
    (EIGEN + "regression", "_DEFAULT_SCALE = 2.0", "_DEFAULT_SCALE = 1.0"),
    (EIGEN + "regression", "np.log(0.1), np.log(10.0)", "np.log(0.5), np.log(10.0)"),
    (EIGEN + "regression", "1e-6 * total", "2 * total"),
    (EIGEN + "estimator", "CLEARLY_LESS = 0.9", "CLEARLY_LESS = 1.0"),
    (EIGEN + "estimator", "MOST_VECTORS = 200", "MOST_VECTORS = 100"),
    (EIGEN + "estimator", '"ridge": 0.0', '"ridge": 0.1'),
    (EIGEN + "estimator", '"weights": "binary"', '"weights": "heat"'),
    (EIGEN + "estimator", '"laplacian": "unnormalized"', '"laplacian": "symmetric"'),
    (EIGEN + "estimator", '"min_vectors": 1', '"min_vectors": 2'),
    (EIGEN + "estimator", "coefficients = self.unit * self.fitted", "coefficients = self.fitted"),
    (EIGEN + "estimator", "return self.unit * (E @", "return (E @"),
    ("fewfold.linalg.laplacian", "sparse.diags_array(d) - W", "sparse.diags_array(d) + W"),
    ("fewfold.linalg.laplacian", 'np.sqrt(d) if kind == "symmetric"', 'd if kind == "symmetric"'),
    ("fewfold.linalg.laplacian", "data *= inverse[W.indices]", "data *= 1"),
    (
        "fewfold.linalg.laplacian",
        "sparse.csr_array(identity - scaled)",
        "sparse.csr_array(identity + scaled)",
    ),
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
    module = mutated(name, old, new)
    with pytest.raises(Exception):  # noqa: B017 - a wrong result, or none at all
        CHECKS[name](module)
