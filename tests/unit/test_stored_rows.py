"""Rows of stage files that are read block by block, and features prepared from them."""

import importlib.util
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import sparse

from fewfold.exceptions import ArtifactError
from fewfold.linalg.preparation import fit_preparation, row_blocks
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stored_rows import chosen_rows

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/prepare_features.py"
SETTINGS = {"scale": "standard", "divide_by": 1.0, "pca": None, "protocol": "transductive",
            "holdout": 0.2, "seed": 0}  # fmt: skip


@pytest.fixture(scope="module")
def prepare():
    spec = importlib.util.spec_from_file_location("prepare_features", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def raw_file(folder, X):
    path = folder / "raw.h5"
    with writing(path, "fetch_dataset") as out:
        out.add("X", X)
        out.add("y", np.zeros(X.shape[0], np.int64))
        out.add("classes", ["one"])
        out.note("task", "classification")
        out.note("image_shape", None)
    return path


def test_slices_are_the_rows_of_the_array(tmp_path):
    X = np.random.default_rng(0).standard_normal((20_000, 3)).astype(np.float32)
    with read(raw_file(tmp_path, X), "fetch_dataset") as file:
        rows = file.stored("X")
        assert rows.shape == X.shape and rows.dtype == X.dtype and len(rows) == len(X)
        assert (rows[5:9] == X[5:9]).all() and (rows[:0] == X[:0]).all()
        assert (np.concatenate(list(row_blocks(rows))) == X).all()
        chosen = np.random.default_rng(1).random(len(X)) < 0.3
        view = chosen_rows(rows, chosen)
        assert (np.concatenate(list(row_blocks(view))) == X[chosen]).all()
        assert (view[7:11] == X[chosen][7:11]).all() and len(view[:0]) == 0
        assert chosen_rows(rows, np.ones(len(X), bool)) is rows


@pytest.mark.parametrize("in_blocks", [False, True])
def test_a_changed_byte_is_noticed_before_any_row_is_used(tmp_path, in_blocks):
    path = tmp_path / "features.h5"
    X = np.arange(40_000.0).reshape(10_000, 4)
    with writing(path, "prepare_features") as out:
        out.add_rows("X", len(X), row_blocks(X)) if in_blocks else out.add("X", X)
    with h5py.File(path, "r+") as file:
        assert ("block_rows" in file["X"].attrs) == in_blocks
        file["X"][9_999, 3] += 1
    with pytest.raises(ArtifactError, match="is damaged: the array 'X'"):
        read_features(path)
    with read(path, "prepare_features") as file, pytest.raises(ArtifactError, match="damaged"):
        file.stored("X")


@pytest.mark.parametrize("scale", ["standard", "minmax", "unit", "divide", "none"])
@pytest.mark.parametrize("pca", [None, 3, 0.9])
@pytest.mark.parametrize("holdout", [None, 0.2])
def test_blocks_give_what_the_whole_matrix_gives(prepare, tmp_path, scale, pca, holdout):
    X = np.random.default_rng(2).gamma(2.0, 3.0, (20_000, 6))
    more = {"scale": scale, "divide_by": 4.0, "pca": pca}
    if holdout:
        more |= {"protocol": "inductive", "holdout": holdout}
    prepare(raw_file(tmp_path, X), tmp_path / "features.h5", **SETTINGS | more)
    found = read_features(tmp_path / "features.h5")
    n_new = 4000 if holdout else 0
    assert found.X.shape[0] == 20_000 - n_new
    new = np.zeros(len(X), bool)
    if holdout:
        assert found.X_new.shape[0] == n_new
        new[np.random.default_rng(0).permutation(len(X))[:n_new]] = True
    own = X[~new]
    expected = fit_preparation(own, scale=scale, divide_by=4.0, pca=pca)
    if scale == "standard" and pca is None:  # by NumPy alone
        plain = (own - own.mean(axis=0)) / own.std(axis=0)
        np.testing.assert_allclose(found.X, plain, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found.X, expected.transform(own))
    if holdout:
        np.testing.assert_array_equal(found.X_new, expected.transform(X[new]))


def test_sparse_rows_stay_sparse(prepare, tmp_path):
    X = sparse.random_array((20_000, 50), density=0.3, rng=np.random.default_rng(3), format="csr")
    prepare(raw_file(tmp_path, X), tmp_path / "features.h5", **SETTINGS | {"scale": "unit"})
    found = read_features(tmp_path / "features.h5").X
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    plain = X.toarray() / np.where(norms > 0, norms, 1)[:, None]
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), plain, rtol=1e-5)


def test_memory_is_that_of_blocks(prepare, tmp_path):
    X = np.random.default_rng(4).random((200_000, 40), np.float32)  # 32 MB
    path = raw_file(tmp_path, X)
    small = raw_file(tmp_path / "small", X[:8192])
    prepare(small, tmp_path / "first.h5", **SETTINGS | {"pca": 5})  # imports
    tracemalloc.start()
    prepare(path, tmp_path / "features.h5", **SETTINGS | {"pca": 5})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 33 bytes of digest for a row, 32 MB while digests are compared; never the scaled matrix.
    assert peak < 50e6
    # Mapped rows take nothing of the job's own memory.
    tracemalloc.start()
    mapped = read_features(path.with_name("features.h5")).X
    assert tracemalloc.get_traced_memory()[0] < 1e6 and mapped.shape == (200_000, 5)
    tracemalloc.stop()
