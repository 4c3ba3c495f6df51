"""Formulas and constants of the eigenbasis, changed one by one: each is caught.

A line of `MUTATIONS` replaces one piece of a module's source, which must occur once, and runs the
check of that module on the result. Checks write the paper's formulas out with loops and dense
matrices, and use nothing of the module but what they check.
"""

import importlib

import numpy as np
import pytest
from _source_mutations import assert_refused, mutated, rng
from numpy.testing import assert_allclose
from scipy import sparse

EIGEN = "fewfold.methods.eigenbasis."


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
    fitted = m.EigenbasisClassifier()
    fitted.vectors_, fitted.eigenvalues_, fitted.degrees_ = V[:, :5], np.arange(5) / 8, np.ones(30)
    fitted.coefficients_, fitted.laplacian_ = model.fitted.coefficients, "random_walk"
    fitted.is_reached_ = np.ones(30, bool)
    found = fitted._responses(None, weights)[0]
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


CHECKS = {
    EIGEN + "regression": check_regression,
    EIGEN + "estimator": check_eigenbasis_model,
    "fewfold.linalg.laplacian": check_laplacian,
}

MUTATIONS = [
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
    (EIGEN + "estimator", "return scale * (E @", "return (E @"),
    ("fewfold.linalg.laplacian", "sparse.diags_array(d) - W", "sparse.diags_array(d) + W"),
    ("fewfold.linalg.laplacian", 'np.sqrt(d) if kind == "symmetric"', 'd if kind == "symmetric"'),
    ("fewfold.linalg.laplacian", "data *= inverse[W.indices]", "data *= 1"),
    (
        "fewfold.linalg.laplacian",
        "sparse.csr_array(identity - scaled)",
        "sparse.csr_array(identity + scaled)",
    ),
]


@pytest.mark.parametrize("name", CHECKS)
def test_what_is_there_passes(name):
    CHECKS[name](importlib.import_module(name))


@pytest.mark.parametrize(("name", "old", "new"), MUTATIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_change_is_caught(name, old, new):
    assert_refused(CHECKS[name], mutated(name, old, new))
