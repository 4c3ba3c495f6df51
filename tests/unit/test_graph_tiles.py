"""A neighbor search cut into tiles, through files, is the search in one job to the bit."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from fewfold.exceptions import ArtifactError, InputError
from fewfold.graph import all_pairs, lists, neighbors
from fewfold.graph.build import GraphSettings, find_neighbors
from fewfold.graph.neighbors import nearest_neighbors
from fewfold.graph.tiles import build_search_index, search_tile
from fewfold.pipeline import artifacts
from fewfold.pipeline.graph_files import read_neighbors, write_neighbors
from fewfold.pipeline.index_files import reading_index, write_index

ROOT = Path(__file__).resolve().parents[2]


def rows_of(n, d, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 4, (12, d))
    return (centers[rng.integers(0, 12, n)] + rng.normal(size=(n, d))).astype(np.float32)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(lists, "_QUERIES", 300)


def through_files(X, settings, n_tiles, folder):
    """Build, store and read an index, search its tiles, store and join them."""
    search = settings.to_dict()
    write_index(folder / "index.h5", build_search_index(X, settings), settings=search)
    tiles = []
    for tile in range(n_tiles):
        with reading_index(folder / "index.h5", search) as index:
            rows, found = search_tile(index, settings, tile, n_tiles)
            tiles.append(folder / f"neighbors_{tile}.h5")
            write_neighbors(tiles[-1], found, rows)
    return read_neighbors(tiles)


@pytest.mark.parametrize("d", [20, 300])  # wide rows are searched in principal directions
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("n_tiles", [2, 5, 20])  # 20: more than there are chunks
def test_approximate_tiles_are_the_search_in_one_job(d, metric, n_tiles, small_chunks, tmp_path):
    X = rows_of(1500, d)
    settings = GraphSettings(n_neighbors=6, metric=metric, method="approximate")
    whole = find_neighbors(X, settings)
    joined = through_files(X, settings, n_tiles, tmp_path)
    np.testing.assert_array_equal(joined.indices, whole.indices)
    np.testing.assert_array_equal(joined.distances, whole.distances)
    assert joined.recall == whole.recall >= 0.99


def test_rows_without_direction_are_the_same_in_tiles(small_chunks, tmp_path):
    X = rows_of(1500, 20)
    X[[3, 4, 700]] = 0
    settings = GraphSettings(n_neighbors=3, metric="cosine", method="approximate")
    whole, joined = find_neighbors(X, settings), through_files(X, settings, 3, tmp_path)
    np.testing.assert_array_equal(joined.indices, whole.indices)
    np.testing.assert_array_equal(joined.distances, whole.distances)
    assert joined.indices[3].tolist() == [0, 1, 2] and (joined.distances[3] == 1).all()
    assert not np.isin(joined.indices[5:700], [3, 4, 700]).any()


def test_rows_that_lists_save_nothing_for_are_compared_in_tiles(monkeypatch, tmp_path):
    monkeypatch.setattr(neighbors, "_WORTH_ALL", 0.0)
    monkeypatch.setattr(neighbors, "_MANY_ROWS", 700)
    monkeypatch.setattr("fewfold.graph.settings.EXACT_ROWS", 700)
    X, settings = rows_of(1500, 20), GraphSettings(n_neighbors=6)
    whole = find_neighbors(X, settings)
    joined = through_files(X, settings, 4, tmp_path)
    np.testing.assert_array_equal(joined.indices, whole.indices)
    np.testing.assert_array_equal(joined.distances, whole.distances)
    assert joined.recall is whole.recall is None


KINDS = {
    "clusters": lambda rng: rows_of(2000, 20),
    "plane": lambda rng: rng.normal(size=(2000, 2)),
    "counts": lambda rng: rng.integers(0, 3, (2000, 6)),  # equal distances everywhere
    "one place": lambda rng: np.zeros((2000, 3)),
    "far away": lambda rng: 1e4 + rng.normal(size=(2000, 10)),
}


@pytest.mark.parametrize("many", [True, False])  # all pairs, or a search by faiss
@pytest.mark.parametrize("kind", KINDS)
def test_exact_tiles_are_the_search_in_one_job(kind, many, monkeypatch):
    monkeypatch.setattr(neighbors, "_MANY_ROWS", 1000 if many else 10**6)
    monkeypatch.setattr(all_pairs, "_CANDIDATES", 500)
    X = KINDS[kind](np.random.default_rng(0)).astype(np.float32)
    whole = nearest_neighbors(X, 7, method="exact")
    edges = [0, 1, 700, 1999, 2000]
    tiles = [
        nearest_neighbors(X, 7, method="exact", rows=slice(a, b))
        for a, b in zip(edges[:-1], edges[1:])
    ]
    np.testing.assert_array_equal(np.concatenate([t.indices for t in tiles]), whole.indices)
    np.testing.assert_array_equal(np.concatenate([t.distances for t in tiles]), whole.distances)
    gaps = ((X[:100, None].astype(float) - X[None]) ** 2).sum(axis=2)
    gaps[np.arange(100), np.arange(100)] = np.inf
    true = np.sqrt(np.sort(gaps, axis=1)[:, :7])
    np.testing.assert_allclose(whole.distances[:100], true, rtol=1e-3, atol=0.02)
    if many and kind == "counts":  # all are compared in float64 without an error: ties by number
        np.testing.assert_array_equal(
            whole.indices[:100], np.argsort(gaps, axis=1, kind="stable")[:, :7]
        )


def test_a_search_that_finds_too_little_visits_more_lists_before_the_tiles(monkeypatch):
    monkeypatch.setattr(lists, "choose_probes", lambda *args, **options: 1)
    X = np.random.default_rng(1).normal(size=(3000, 12))
    index = build_search_index(X, GraphSettings(method="approximate"))
    assert index.recall >= 0.99 and index.probes > 1


@pytest.fixture
def stored(tmp_path):
    settings = GraphSettings(n_neighbors=4, method="approximate")
    index = build_search_index(rows_of(900, 5), settings)
    write_index(tmp_path / "index.h5", index, settings=settings.to_dict())
    return tmp_path / "index.h5", settings


def test_large_arrays_of_an_index_are_mapped_not_read(stored):
    path, settings = stored
    with reading_index(path, settings.to_dict()) as index:
        assert isinstance(index.lists.points.base, np.memmap)
        index.lists.points[0] = 0  # a private map: the file stays as it is
    with reading_index(path, settings.to_dict()) as index:
        assert index.lists.points[0].any()


def test_an_index_of_other_settings_is_refused(stored):
    path, settings = stored
    with pytest.raises(ArtifactError, match="was made with the settings"):
        with reading_index(path, {**settings.to_dict(), "n_neighbors": 5}):
            pass


@pytest.mark.parametrize("name", ["points", "rows"])
def test_a_flipped_bit_of_an_index_is_noticed(stored, name):
    import h5py

    path, settings = stored
    with h5py.File(path) as file:
        place = file[name].id.get_offset()
    content = bytearray(path.read_bytes())
    content[place + 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=f"the array '{name}' is not what was written"):
        with reading_index(path, settings.to_dict()):
            pass


@pytest.mark.parametrize(
    "change, words",
    [
        ({"rows": np.zeros(900, np.int64)}, "rows does not name each row once"),
        ({"rows": np.arange(900) + 1}, "rows holds 1 to 900"),
        ({"starts": np.full(8, 900)}, "starts does not lead from 0 up to 900"),
        ({"starts": np.array([0, 900, 100, 200, 300, 400, 500, 900])}, "starts does not lead"),
        ({"starts": np.array([0, 900])}, "it has 2 edges of 7 lists"),
        ({"groups": np.array([0, 9])}, "groups holds 0 to 9"),
        ({"centers": np.zeros((7, 4), np.float32)}, "centers has shape"),
        ({"points": np.full((900, 5), np.nan, np.float32)}, "points holds numbers"),
        ({"middle": None}, "lacks the arrays middle"),
        ({"full": np.zeros((900, 5), np.float32)}, "wide rows need both"),
        ({"all_rows": np.zeros((900, 5), np.float32)}, "in lists and all rows"),
        ({"probes": 0}, "how many lists are visited"),
    ],
)  # fmt: skip
def test_an_index_whose_contents_make_no_sense_is_refused(stored, change, words):
    """A right seal does not make contents right: compiled loops must not leave their arrays."""
    path, settings = stored
    with artifacts.read(path, "index_neighbors") as file:
        arrays = {name: file[name] for name in file.names()}
        notes = {name: file.note(name) for name in ("probes", "spare", "recall")}
    assert len(arrays["starts"]) == 8
    for key, value in change.items():
        (notes if key in notes else arrays)[key] = value
    with artifacts.writing(path, "index_neighbors", settings=settings.to_dict()) as out:
        for key, value in arrays.items():
            if value is not None:
                out.add(key, value)
        for key, value in notes.items():
            out.note(key, value)
    with pytest.raises(ArtifactError, match=words):
        with reading_index(path, settings.to_dict()):
            pass


@pytest.mark.parametrize("rows", [[0, 1, 1], [0, 1, 2], [3, 4, 9]])
def test_tiles_that_are_not_all_rows_once_are_refused(rows, tmp_path):
    tiles = []
    for number, own in enumerate(([0, 1, 2], rows)):
        found = neighbors.Neighbors(np.zeros((3, 2), np.int64), np.zeros((3, 2), np.float32))
        tiles.append(tmp_path / f"{number}.h5")
        write_neighbors(tiles[-1], found, np.array(own))
    with pytest.raises(ArtifactError, match="another tile has, or a row twice|names row 9"):
        read_neighbors(tiles)


def test_more_neighbors_than_rows_are_refused_before_any_tile():
    with pytest.raises(InputError, match="n_neighbors=10 with 8 samples; allowed: 1 to 7"):
        build_search_index(np.zeros((8, 2)), GraphSettings())


def test_the_stages_make_the_graph_of_one_job(tmp_path, small_chunks):
    """The scripts of the workflow: index, tiles, join, against a graph that searches itself."""
    X = rows_of(1500, 20)
    with artifacts.writing(tmp_path / "features.h5", "prepare_features") as out:
        out.add("X", X)
    search = {"method": "approximate", "n_neighbors": 6}
    index, tiles = tmp_path / "index.h5", [tmp_path / f"neighbors_{t}.h5" for t in range(3)]
    script = {p.stem: runpy.run_path(str(p)) for p in (ROOT / "scripts").glob("*_*.py")
              if p.stem in ("index_neighbors", "search_neighbors", "build_graph")}  # fmt: skip
    script["index_neighbors"]["main"](tmp_path / "features.h5", index, search=search)
    (tmp_path / "features.h5").rename(tmp_path / "away.h5")  # tiles need the index alone
    for number, tile in enumerate(tiles):
        script["search_neighbors"]["search_index"](
            index, tile, search=search, tile=number, n_tiles=3
        )
    settings = {"graph_settings": {**search, "symmetrize": "mean"}}
    script["build_graph"]["main"](tiles, tmp_path / "tiled.h5", **settings)
    script["build_graph"]["main"](
        [], tmp_path / "whole.h5", features=tmp_path / "away.h5", **settings
    )
    with (
        artifacts.read(tmp_path / "tiled.h5", "build_graph") as one,
        artifacts.read(tmp_path / "whole.h5", "build_graph") as two,
    ):
        assert one.names() == two.names() and one.note("recall") == two.note("recall")
        for name in set(one.names()) - {"W"}:
            np.testing.assert_array_equal(one[name], two[name])
        assert (one["W"] != two["W"]).nnz == 0
