"""Formulas and constants of atlas, changed one by one: each is caught.

A line of `MUTATIONS` replaces one piece of a module's source, which must occur once, and runs the
check of that module on the result. Checks write the paper's formulas out with loops and dense
matrices, and use nothing of the module but what they check.
"""

import importlib
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from _source_mutations import assert_refused, mutated, rng
from numpy.testing import assert_allclose

ATLAS = "fewfold.methods.atlas."


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
]


@pytest.mark.parametrize("name", CHECKS)
def test_what_is_there_passes(name):
    CHECKS[name](importlib.import_module(name))


@pytest.mark.parametrize(("name", "old", "new"), MUTATIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_change_is_caught(name, old, new):
    assert_refused(CHECKS[name], mutated(name, old, new))
