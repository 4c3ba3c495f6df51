"""The kernel stage deformed by the data graph."""

import numpy as np
import pytest
from _deformed_reference import deformed_kernel

from fewfold.exceptions import ConfigError, InputError
from fewfold.graph.build import build_graph
from fewfold.linalg.laplacian import degrees, laplacian
from fewfold.methods.invariance import kernel_stage as stage
from fewfold.methods.invariance.kernel_stage import DeformedKernel
from fewfold.pipeline.kernel_files import KernelMatrix, join_tiles, write_tile
from fewfold.pipeline.stage_files import Features
from fewfold.svm.kernels import FeatureKernel, kernel_block


@pytest.fixture
def made(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)).astype(np.float32)
    features = Features(X, rng.random((9, 3)).astype(np.float32), None, None, None, None)
    graph = build_graph(X, n_neighbors=5)
    return features, {"graph": graph}, graph, tmp_path


def expected(features, graph, strength, gamma):
    X, X_all = features.X, np.vstack([features.X, features.X_new])
    K = kernel_block("rbf", X, X, gamma=gamma).astype(float)
    K_all = kernel_block("rbf", X, X_all, gamma=gamma).astype(float)
    M = strength * laplacian(graph.W, "unnormalized") / degrees(graph.W).mean()
    out = deformed_kernel(K, M, K, K_all, K_all)
    return out / (out.diagonal().mean() - out[:, :60].mean())


def test_rows_are_the_dense_formula(made):
    features, stages, graph, _ = made
    kernel = DeformedKernel(features, stages, {"power": 1, "deformation": 20.0, "gamma": 2.0})
    assert (kernel.n, kernel.n_new, kernel.n_columns, kernel.kind) == (60, 9, 69, "kernel")
    rows = kernel.rows([5, 0, 33])
    assert rows.dtype == np.float32 and rows.shape == (3, 69)
    np.testing.assert_allclose(rows, expected(features, graph, 20.0, 2.0)[[5, 0, 33]], rtol=1e-4)
    square = kernel.rows(np.arange(60))[:, :60]
    np.testing.assert_allclose(square, square.T, atol=1e-5)
    assert np.linalg.eigvalsh(square).min() > -1e-5


def test_the_second_power_is_the_product_of_the_laplacian_with_itself(made):
    features, stages, graph, _ = made
    L = laplacian(graph.W, "unnormalized") / degrees(graph.W).mean()
    X = features.X
    K = kernel_block("rbf", X, X, gamma=2.0).astype(float)
    wanted = deformed_kernel(K, 5.0 * (L @ L), K, K, K)
    wanted /= wanted.diagonal().mean() - wanted.mean()
    kernel = DeformedKernel(features, stages, {"power": 2, "deformation": 5.0, "gamma": 2.0})
    np.testing.assert_allclose(kernel.rows([3, 4])[:, :60], wanted[[3, 4]], rtol=1e-3)


def test_no_deformation_is_the_base_kernel(made):
    features, stages, _, _ = made
    kernel = DeformedKernel(features, stages, {"deformation": 0.0, "gamma": 2.0})
    plain = FeatureKernel(features, {}, {"type": "rbf", "gamma": 2.0})
    np.testing.assert_array_equal(kernel.rows([1, 2]), plain.rows([1, 2]))
    by_default = DeformedKernel(features, stages, {})
    assert by_default.gamma > 0 and by_default.strength == 1000.0


def test_landmarks_take_over_above_the_limit(made, monkeypatch):
    features, stages, graph, _ = made
    monkeypatch.setattr(stage, "EXACT_ROWS", 50)
    settings = {"power": 1, "deformation": 20.0, "gamma": 2.0}
    wanted = expected(features, graph, 20.0, 2.0)[:10]
    plain = FeatureKernel(features, {}, {"type": "rbf", "gamma": 2.0}).rows(np.arange(10))
    errors = []
    for p in (60, 20):
        kernel = DeformedKernel(features, stages, {**settings, "n_landmarks": p})
        errors.append(np.abs(kernel.rows(np.arange(10)) - wanted).max())
    assert errors[0] < 0.02 <= errors[1] < np.abs(plain - wanted).max()


@pytest.mark.parametrize("has", [60, 25])
def test_a_joined_kernel_is_a_base(made, has):
    features, stages, graph, folder = made
    source = FeatureKernel(features, {}, {"type": "rbf", "gamma": 2.0})
    rows = np.sort(np.random.default_rng(1).permutation(60)[:has])
    write_tile(folder / "tile.h5", source, rows, settings={})
    join_tiles(folder / "kernel.h5", [folder / "tile.h5"], settings={})
    stages = {**stages, "kernel": KernelMatrix(folder / "kernel.h5")}
    kernel = DeformedKernel(features, stages, {"power": 1, "deformation": 20.0})
    some = rows[:7]
    wanted = expected(features, graph, 20.0, 2.0)[some]
    plain = source.rows(some)
    found = kernel.rows(some)
    limit = 1e-3 if has == 60 else 0.5 * np.abs(plain - wanted).max()
    assert np.abs(found - wanted).max() < limit
    # Its own tile can be written and read back like any kernel's.
    write_tile(folder / "deformed_tile.h5", kernel, some, settings={})
    join_tiles(folder / "deformed.h5", [folder / "deformed_tile.h5"], settings={})
    np.testing.assert_allclose(
        KernelMatrix(folder / "deformed.h5").all_rows(some), found, atol=1e-6
    )


def test_what_is_missing_is_named(made):
    features, stages, _, _ = made
    with pytest.raises(ConfigError, match="needs a graph"):
        DeformedKernel(features, {}, {})
    with pytest.raises(ConfigError, match="deformation=-1"):
        DeformedKernel(features, stages, {"deformation": -1})
    with pytest.raises(ConfigError, match="base='atlas'"):
        DeformedKernel(features, stages, {"base": "atlas"})
    with pytest.raises(ConfigError, match="power=0"):
        DeformedKernel(features, stages, {"power": 0})
    with pytest.raises(InputError, match="30 nodes"):
        DeformedKernel(features, {"graph": build_graph(features.X[:30], n_neighbors=5)}, {})
