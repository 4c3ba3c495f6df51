"""Kernel tiles: the whole equals the direct matrix, in bounded memory, and a swap is noticed."""

import shutil
import subprocess
import sys
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

import fewfold.svm.kernels as kernels
from fewfold.exceptions import ArtifactError, InputError
from fewfold.pipeline.kernel_files import KernelMatrix, join_tiles, write_tile
from fewfold.svm.kernels import (
    FeatureKernel,
    blocks_of,
    kernel_block,
    median_gamma,
    squared_distances,
    tile_bounds,
)


def features(n=40, n_new=7, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + n_new, d)).astype(np.float32)
    return SimpleNamespace(X=X[:n], X_new=X[n:] if n_new else None)


def make(folder, data, settings, rows, n_tiles):
    """Tiles and join, as the workflow makes them."""
    source = FeatureKernel(data, {}, settings)
    tiles = []
    for tile in range(n_tiles):
        first, last = tile_bounds(len(rows), n_tiles, tile)
        tiles.append(folder / f"K/tile_{tile}.h5")
        write_tile(tiles[-1], source, rows[first:last])
    join_tiles(folder / "K.h5", tiles, settings=settings)
    return folder / "K.h5"


def direct(data, settings):
    everything = data.X if data.X_new is None else np.vstack([data.X, data.X_new])
    if settings["type"] == "linear":
        return data.X.astype(float) @ everything.astype(float).T
    d2 = cdist(data.X, everything, "sqeuclidean")
    gamma = settings.get("gamma", "cv")
    return d2 if gamma == "cv" else np.exp(-gamma * d2)


SETTINGS = [{"type": "linear"}, {"type": "rbf", "gamma": 0.3}, {"type": "rbf", "gamma": "cv"}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("n_tiles", [1, 3, 11])
@pytest.mark.parametrize("n_new", [0, 7])
def test_tiles_and_join_equal_the_direct_matrix(tmp_path, settings, n_tiles, n_new):
    data = features(n_new=n_new)
    rows = np.array([0, 3, 4, 9, 17, 18, 22, 30, 31, 39])
    K = KernelMatrix(make(tmp_path, data, settings, rows, n_tiles))
    expected = direct(data, settings)
    wanted = np.array([39, 0, 17, 17, 4])
    np.testing.assert_allclose(K.all_rows(wanted), expected[wanted], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(K.rows(wanted), expected[wanted, :40], rtol=1e-5, atol=1e-5)
    assert K.new_rows(wanted).shape == (5, n_new) and K.rows(rows).dtype == np.float32
    assert (K.n, K.n_new) == (40, n_new)
    assert K.kind == ("squared_distances" if settings.get("gamma") == "cv" else "kernel")


def test_tile_size_and_block_size_do_not_change_a_bit_of_the_values(tmp_path, monkeypatch):
    data, rows, settings = features(), np.arange(0, 40, 2), {"type": "rbf", "gamma": 0.5}
    one = KernelMatrix(make(tmp_path / "one", data, settings, rows, 1)).all_rows(rows)
    many = KernelMatrix(make(tmp_path / "many", data, settings, rows, 6)).all_rows(rows)
    monkeypatch.setattr(kernels, "BLOCK_BYTES", 3 * 4 * 47)
    small = KernelMatrix(make(tmp_path / "small", data, settings, rows, 2)).all_rows(rows)
    np.testing.assert_allclose(many, one, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(small, one, rtol=1e-6, atol=1e-7)


def test_plain_h5py_reads_the_joined_matrix(tmp_path):
    data, rows, settings = features(), np.arange(1, 40, 3), {"type": "rbf", "gamma": 0.5}
    path = make(tmp_path, data, settings, rows, 3)
    with h5py.File(path) as raw:
        assert raw["K"].is_virtual and raw["K"].shape == (13, 47)
        np.testing.assert_allclose(raw["K"][()], direct(data, settings)[rows], rtol=1e-5)
        np.testing.assert_array_equal(raw["rows"][()], rows)
    assert path.stat().st_size < 30_000  # joined without a copy


def test_the_folder_can_be_moved(tmp_path):
    data, rows = features(), np.arange(5)
    path = make(tmp_path / "here", data, SETTINGS[1], rows, 2)
    expected = KernelMatrix(path).all_rows(rows)
    shutil.move(tmp_path / "here", tmp_path / "there")
    np.testing.assert_array_equal(KernelMatrix(tmp_path / "there/K.h5").all_rows(rows), expected)
    with h5py.File(tmp_path / "there/K.h5") as raw:
        np.testing.assert_array_equal(raw["K"][()], expected)


def test_a_row_that_was_not_computed(tmp_path):
    K = KernelMatrix(make(tmp_path, features(), SETTINGS[0], np.array([2, 5]), 1))
    for row in (0, 3, 6, 1000):
        with pytest.raises(InputError, match=f"Row {row} is not among the 2 rows"):
            K.rows([2, row])


def test_a_replaced_tile_is_noticed(tmp_path):
    path = make(tmp_path / "a", features(), SETTINGS[1], np.arange(6), 2)
    make(tmp_path / "b", features(seed=1), SETTINGS[1], np.arange(6), 2)
    shutil.copy(tmp_path / "b/K/tile_1.h5", tmp_path / "a/K/tile_1.h5")
    with pytest.raises(ArtifactError, match="tile_1.h5 is not the tile that its kernel was joined"):
        KernelMatrix(path)


def test_a_missing_or_damaged_tile(tmp_path):
    path = make(tmp_path, features(), SETTINGS[1], np.arange(6), 2)
    tile = tmp_path / "K/tile_0.h5"
    data = bytearray(tile.read_bytes())
    with h5py.File(tile) as raw:
        place = raw["K"].id.get_offset()
    data[place + 5] ^= 0xFF
    tile.write_bytes(data)
    K = KernelMatrix(path)
    np.testing.assert_array_equal(K.rows([4]), K.rows([4]))  # the other tile is whole
    with pytest.raises(ArtifactError, match="tile_0.h5 is damaged"):
        K.rows([0])
    tile.unlink()
    with pytest.raises(ArtifactError, match="tile_0.h5 is missing.*rule compute_kernel_tile"):
        KernelMatrix(path)


def test_tiles_outside_of_the_folder_are_refused(tmp_path):
    # A forged kernel file must not make the reader open files elsewhere.
    path = make(tmp_path / "a", features(), SETTINGS[1], np.arange(4), 1)
    from fewfold.pipeline import artifacts

    with (
        artifacts.read(path, "join_kernel") as old,
        artifacts.writing(tmp_path / "a/forged.h5", "join_kernel") as out,
    ):
        for name in ("rows", "tile_starts", "tile_digests"):
            out.add(name, old[name])
        out.add("tiles", ["../../../../etc/tile_0.h5"])
        for key in ("kind", "n", "n_new", "gamma", "sparse"):
            out.note(key, old.note(key))
    with pytest.raises(ArtifactError, match="names tiles that lie outside"):
        KernelMatrix(tmp_path / "a/forged.h5")


class SparseSource:
    is_sparse, kind, gamma, n, n_new, n_columns = True, "kernel", None, 20, 3, 23

    def __init__(self):
        rng = np.random.default_rng(0)
        self.K = (rng.random((20, 23)) * (rng.random((20, 23)) < 0.2)).astype(np.float32)

    def rows(self, indices):
        return sparse.csr_array(self.K[indices])


@pytest.mark.parametrize("n_tiles", [1, 4])
def test_sparse_tiles(tmp_path, n_tiles):
    source, rows = SparseSource(), np.arange(1, 20, 2)
    tiles = []
    for tile in range(n_tiles):
        first, last = tile_bounds(len(rows), n_tiles, tile)
        tiles.append(tmp_path / f"K/tile_{tile}.h5")
        write_tile(tiles[-1], source, rows[first:last])
    join_tiles(tmp_path / "K.h5", tiles, settings={})
    K = KernelMatrix(tmp_path / "K.h5")
    np.testing.assert_array_equal(K.all_rows([19, 3]), source.K[[19, 3]])
    np.testing.assert_array_equal(K.new_rows([3]), source.K[[3], 20:])


def test_more_tiles_than_rows(tmp_path):
    K = KernelMatrix(make(tmp_path, features(), SETTINGS[1], np.array([4, 8]), 5))
    assert K.rows([8, 4]).shape == (2, 40)


@pytest.mark.parametrize(("n_rows", "n_tiles"), [(10, 3), (3, 10), (0, 2), (7, 7), (1000, 13)])
def test_tiles_cover_every_row_once(n_rows, n_tiles):
    bounds = [tile_bounds(n_rows, n_tiles, t) for t in range(n_tiles)]
    covered = [r for first, last in bounds for r in range(first, last)]
    assert covered == list(range(n_rows))
    assert max(b - a for a, b in bounds) - min(b - a for a, b in bounds) <= 1


def test_blocks_cover_a_tile_within_the_limit():
    slices = list(blocks_of(5, 1000, 2_000_000))
    assert [i for s in slices for i in range(s.start, s.stop)] == list(range(5, 1000))
    assert all((s.stop - s.start) * 4 * 2_000_000 <= kernels.BLOCK_BYTES for s in slices)
    # A row longer than a block is still taken, one at a time.
    assert len(list(blocks_of(0, 3, 10**12))) == 3 and list(blocks_of(4, 4, 10)) == []


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_squared_distances(kind):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(9, 4)), rng.normal(size=(6, 4))
    wrap = sparse.csr_array if kind == "sparse" else np.asarray
    found = squared_distances(wrap(A), wrap(B))
    np.testing.assert_allclose(found, cdist(A, B, "sqeuclidean"), rtol=1e-5, atol=1e-5)
    assert found.dtype == np.float64
    A, B = A.astype(np.float32), B.astype(np.float32)
    assert squared_distances(wrap(A), wrap(B)).dtype == np.float32
    assert (squared_distances(wrap(A), wrap(A)).diagonal() < 1e-5).all()
    assert (squared_distances(wrap(A), wrap(A)) >= 0).all()


def test_a_large_offset_does_not_matter():
    X = np.random.default_rng(0).normal(size=(20, 3))
    near, far = squared_distances(X, X), squared_distances(X + 1e4, X + 1e4)
    np.testing.assert_allclose(near, far, atol=1e-3)


def test_median_gamma():
    X = np.array([[0.0], [1.0], [3.0]])  # squared distances 1, 4, 9
    assert median_gamma(X) == pytest.approx(1 / 4)
    assert median_gamma(np.ones((5, 2))) == 1.0
    assert median_gamma(np.ones((1, 2))) == 1.0
    X = np.random.default_rng(0).normal(size=(3000, 4))
    assert median_gamma(X) == median_gamma(X)
    assert median_gamma(10 * X) == pytest.approx(median_gamma(X) / 100, rel=1e-3)


def test_kernel_block_refuses_other_kernels():
    with pytest.raises(InputError, match="kernel type 'cosine' is unknown. Choose linear or rbf"):
        kernel_block("cosine", np.eye(2), np.eye(2))


MEASURE = """
import resource, sys
from types import SimpleNamespace
import numpy as np
from fewfold.pipeline import kernel_files
from fewfold.svm import kernels
kernels.BLOCK_BYTES = 8 * 2**20
n = 12000
X = np.random.default_rng(0).normal(size=(n, 5)).astype(np.float32)
data = SimpleNamespace(X=X, X_new=None)
source = kernels.FeatureKernel(data, {}, {"type": "rbf", "gamma": 0.1})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kernel_files.write_tile(sys.argv[1], source, np.arange(6000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_is_bounded_by_the_block_not_the_tile(tmp_path):
    # The tile is 288 MB; blocks are 8 MB.
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "tile.h5")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 80 * 1024  # KiB
