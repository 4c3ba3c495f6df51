"""The atlas as stages: manifold file, encoding, kernel rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fewfold.exceptions import InputError
from fewfold.graph.build import build_graph
from fewfold.graph.neighbors import nearest_neighbors
from fewfold.methods.atlas import encoding
from fewfold.methods.atlas.arrays import finer_part
from fewfold.methods.atlas.encoding import encode, encode_rows
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.atlas.kernel_stage import AtlasKernel
from fewfold.methods.atlas.kernels import atlas_kernel_rows
from fewfold.methods.atlas.stage import fit_manifold
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.chain_files import load_stages
from fewfold.pipeline.stage_files import Features


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(150, 4)), rng.normal(size=(20, 4))
    features = Features(X, X_new, None, None, None, None)
    atlas, notes = fit_manifold(features, build_graph(X), {"n_dims": 2}, seed=0)
    assert notes["n_charts"] == len(atlas["means"])
    path = tmp_path_factory.mktemp("atlas") / "points.h5"
    with writing(path, "encode_points") as out:
        for name, value in encode(X, atlas, 3, rows=range(150)).items():
            out.add(name, value)
        for name, value in encode(X_new, atlas, 3).items():
            out.add(f"{name}_new", value)
    return features, load_stages({"points": path}), encode(X, atlas, 3, rows=range(150))


def test_kernel_rows_are_the_mean_of_both_atlases(points):
    features, stages, code = points
    kernel = AtlasKernel(features, stages, {"gamma": 0.8, "sigma": 2.0})
    rows = np.array([3, 77])
    got = kernel.rows(rows)
    assert got.shape == (2, 170)
    assert finer_part(code) is not None
    parts = []
    for level in (code, finer_part(code)):
        some = {k: v[rows] for k, v in level.items()}
        parts.append(atlas_kernel_rows(some, level, 0.8, 2.0))
    np.testing.assert_allclose(got[:, :150], (parts[0] + parts[1]) / 2, rtol=1e-5, atol=1e-7)


def test_kernel_is_positive_semidefinite_and_normalized(points):
    features, stages, _ = points
    kernel = AtlasKernel(features, stages, {})
    K = kernel.rows(np.arange(150))[:, :150].astype(float)
    np.testing.assert_allclose(np.diag(K), 1, rtol=1e-5)
    assert np.linalg.eigvalsh((K + K.T) / 2).min() > -1e-5


def test_a_file_written_in_blocks_holds_the_encoding(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    X, X_new = rng.normal(size=(150, 4)), rng.normal(size=(20, 4))
    atlas = fit_atlas(X, {"n_dims": 2})
    monkeypatch.setattr(encoding, "_BLOCK_ROWS", 64)
    path = tmp_path / "points.h5"
    with writing(path, "encode_points") as out:
        encode_rows(out, Features(X, X_new, None, None, None, None), atlas, q=3)
    whole = encode(X, atlas, 3, rows=range(150))
    new = {f"{name}_new": value for name, value in encode(X_new, atlas, 3).items()}
    with read(path, "encode_points") as file:
        assert sorted(file.names()) == sorted([*whole, *new]) and "finer_charts" in whole
        for name, value in (whole | new).items():
            assert file[name].dtype == value.dtype
            np.testing.assert_array_equal(file[name], value)
        rows = np.array([3, 70, 149])
        np.testing.assert_array_equal(file.rows("projections", rows), whole["projections"][rows])


def test_the_neighbors_of_a_named_graph_share_the_charts():
    digits = load_digits()
    X = (digits.data[:250] / 16).astype(np.float32)
    features = Features(X, None, None, None, None, None)
    invariant = {"metric": "deformation", "image_shape": (8, 8), "candidates": 20}
    graph = build_graph(X, n_neighbors=4, **invariant)
    plain = build_graph(X, n_neighbors=4)
    near, others = (
        np.take_along_axis(g.neighbors.indices, g.neighbors.distances.argsort(axis=1)[:, :2], 1)
        for g in (graph, plain)
    )
    assert np.mean(near != others) > 0.1  # else the test shows nothing
    options = {"n_dims": 5, "n_neighbors": 2, "finer": None}
    atlas, _ = fit_manifold(features, graph, options, seed=0)
    belongs = set(zip(atlas["member_rows"].tolist(), atlas["member_charts"].tolist()))
    assert all(
        (int(p), int(c)) in belongs for q, c in enumerate(atlas["interior"]) for p in near[q]
    )
    other, _ = fit_manifold(features, plain, options, seed=0)
    assert len(other["member_rows"]) != len(atlas["member_rows"]) or np.any(
        other["interior"] != atlas["interior"]
    )


def test_the_stage_with_a_plain_graph_is_the_atlas_alone():
    X = np.random.default_rng(0).normal(size=(250, 6))  # no two distances are equal
    features = Features(X, None, None, None, None, None)
    staged, _ = fit_manifold(features, build_graph(X, n_neighbors=10), {}, seed=0)
    for name, value in fit_atlas(X, random_state=0).items():
        np.testing.assert_array_equal(staged[name], value)
    with pytest.raises(InputError, match="n_neighbors from 12, or lower n_neighbors of the atlas"):
        fit_manifold(features, build_graph(X, n_neighbors=10), {"n_neighbors": 12}, seed=0)


@pytest.mark.parametrize(("n_dims", "k"), [(1, 2), (10, 2), (22, 3), (30, 4)])
def test_more_neighbors_share_a_chart_of_more_dimensions(n_dims, k):
    X = np.random.default_rng(0).normal(size=(300, 40))
    atlas = fit_atlas(X, {"n_dims": n_dims, "max_rounds": 1})
    assert atlas["n_neighbors"] == k
    assert fit_atlas(X, {"n_dims": n_dims, "n_neighbors": 6, "max_rounds": 1})["n_neighbors"] == 6


def test_a_graph_of_few_neighbors_serves_as_it_is():
    X = np.random.default_rng(0).normal(size=(300, 40))
    found = nearest_neighbors(X, 3)
    assert fit_atlas(X, {"n_dims": 30, "max_rounds": 1}, neighbors=found)["n_neighbors"] == 3
    with pytest.raises(InputError, match=r"\(300, 3\); needed: \(300, 4 or more\)"):
        fit_atlas(X, {"n_neighbors": 4}, neighbors=found)
