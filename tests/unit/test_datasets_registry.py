"""The registry, the list of datasets, and the options shared by published sets."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from versions import versions_csv

from fewfold.datasets import Dataset, available, describe, fetch, load
from fewfold.datasets.newsgroups import body, count_words, keep_words, stop_list
from fewfold.datasets.readers import parse_idx
from fewfold.datasets.registry import registry
from fewfold.datasets.subset import resize_images
from fewfold.exceptions import DownloadError, InputError

ROOT = Path(__file__).resolve().parents[2]


def test_entries_are_complete():
    for entry in registry().values():
        assert all(len(rows) == len(entry.classes) for rows in entry.counts.values())
        assert entry.license and entry.citation and entry.homepage.startswith("http")
        for file in entry.files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert re.fullmatch("[0-9a-f]{64}", file.content_sha256)
            assert file.sources and all(s.url.startswith("http") for s in file.sources)
            assert not Path(file.path).is_absolute() and ".." not in file.path


def test_versions_table_agrees_with_the_registry():
    held = (ROOT / "data" / "versions.csv").read_text(encoding="utf-8")
    assert held == versions_csv(), "write data/versions.csv again: see data/README.md"
    assert held.count("\n") == 1 + sum(len(e.files) for e in registry().values())


def test_available_and_describe_agree(monkeypatch, tmp_path):
    monkeypatch.setenv("FEWFOLD_CACHE", str(tmp_path))
    monkeypatch.delenv("FEWFOLD_MIRROR", raising=False)
    records = {r.name: r for r in available()}
    assert {"digits", "mnist", "newsgroups", "uspst", "coil20", "martini"} <= set(records)
    for name, record in records.items():
        shape = describe(name)
        assert (record.rows, record.features) == (shape.n_samples, shape.n_features)
        assert record.classes == shape.n_classes
    assert records["digits"].on_disk == "embedded"
    assert records["martini"].on_disk == "generated"
    assert records["mnist"].on_disk == "no" and records["mnist"].size == 11594722
    mat = registry()["g50c"].files[0].path
    (tmp_path / mat).parent.mkdir()
    (tmp_path / mat).write_bytes(b"x")
    assert {r.name: r.on_disk for r in available()}["g50c"] == "cached"


def test_digits():
    data = load("digits")
    assert data.X.shape == (1797, 64) and data.image_shape == (8, 8)
    assert tuple(np.bincount(data.y)) == registry()["digits"].counts["all"]
    assert fetch("digits") == [] and fetch("martini") == []


def test_selection():
    data = load("digits", classes=[3, "8"], n_samples=100, seed=1)
    assert data.classes == ["3", "8"] and set(data.y) == {0, 1} and len(data.y) == 100
    shape = describe("digits", classes=[3, "8"], n_samples=100, seed=1)
    assert (shape.n_samples, shape.n_classes) == (100, 2)
    assert not np.array_equal(data.X, load("digits", classes=[3, "8"], n_samples=100, seed=2).X)
    whole = load("digits", classes=[3, 8])
    rows = {row.tobytes() for row in whole.X}
    assert all(row.tobytes() in rows for row in data.X)
    assert describe("digits", classes=[3, 8]).n_samples == len(whole.X)
    small = load("digits", image_size=[4, 4])
    assert small.X.shape == (1797, 16) and small.image_shape == (4, 4)
    assert small.X.sum() == pytest.approx(load("digits").X.sum() / 4, rel=1e-5)


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("mnits", {}, "dataset 'mnits' is not known. Did you mean 'mnist'"),
        ("digits", {"clases": [1]}, "'clases' is not known. Did you mean 'classes'"),
        ("digits", {"classes": ["11"]}, "class of dataset digits: '11' is not known"),
        ("digits", {"part": "test"}, "no official test rows"),
        ("mnist", {"part": "tset"}, "part='tset'; allowed: all, train, test"),
        ("digits", {"n_samples": 0}, "n_samples=0; allowed"),
        ("digits", {"image_size": [0, 3]}, r"image_size=\[0, 3\]; allowed"),
        ("letter", {"image_size": [2, 2]}, "'image_size' is not known"),
    ],
)
def test_bad_options(name, options, words):
    for function in (load, describe):
        with pytest.raises(InputError, match=words):
            function(name, **options)


def test_noise_is_a_share_of_the_range():
    plain, loud = load("digits"), load("digits", noise=0.25, seed=1)
    added = loud.X - plain.X
    assert added.std() == pytest.approx(0.25 * 16, rel=0.02) and abs(added.mean()) < 0.05
    np.testing.assert_array_equal(loud.y, plain.y)
    np.testing.assert_array_equal(loud.X, load("digits", noise=0.25, seed=1).X)


def test_resize_by_area():
    image = np.arange(12.0).reshape(1, 12)
    assert np.allclose(resize_images(image, (3, 4), (3, 4)), image)
    assert np.allclose(resize_images(image, (3, 4), (1, 1)), image.mean())
    # 3 rows into 2: each new row holds one and a half old ones.
    old = image.reshape(3, 4)
    new = np.stack([(old[0] + old[1] / 2) / 1.5, (old[2] + old[1] / 2) / 1.5])
    assert np.allclose(resize_images(image, (3, 4), (2, 4)).reshape(2, 4), new, atol=1e-5)


def test_idx():
    data = b"\0\0\x08\x02" + (2).to_bytes(4, "big") + (3).to_bytes(4, "big") + bytes(range(6))
    assert parse_idx(data, "a").tolist() == [[0, 1, 2], [3, 4, 5]]
    for bad in (data[:-1], b"", b"\0\0\x0d\x02" + data[4:], data + b"x"):
        with pytest.raises(DownloadError, match="^a: "):
            parse_idx(bad, "a")


def test_words():
    assert body("From: a\nSubject: b\n\nHello\n\nthere") == "Hello\n\nthere"
    assert body("From: a\r\n\r\nHello") == "Hello" and body("no body at all") == ""
    counts, words = count_words(["The cat, the CAT; don't", "", "dog2dog \xe9cat"])
    table = dict(zip(words, counts.toarray().T.tolist()))
    assert table == {
        "the": [2, 0, 0], "cat": [2, 0, 1], "don": [1, 0, 0], "t": [1, 0, 0], "dog": [0, 0, 2]
    }  # fmt: skip
    chosen = [words[i] for i in keep_words(counts, words, 2, "smart", 0)]
    assert chosen == ["cat", "dog"]
    assert [words[i] for i in keep_words(counts, words, 2, "frequent", 1)] == ["dog", "the"]
    assert [words[i] for i in keep_words(counts, words, 9, "none", 0)][0] == "cat"
    assert 500 <= len(stop_list()) <= 600 and {"the", "don", "z"} <= stop_list()


def test_dataset_checks_and_take():
    data = Dataset("d", np.eye(4), np.array([0, 1, -1, 1]), classes=["a", "b"],
                   label_splits=np.array([[0, 3]]), ids=list("wxyz"))  # fmt: skip
    kept = data.take([3, 0])
    assert kept.ids == ["z", "w"] and kept.label_splits.tolist() == [[1, 0]]
    assert data.take([1, 2]).label_splits is None
    assert data.n_labeled == 3
    with pytest.raises(InputError, match="y has 2 entries, X has 4 rows"):
        Dataset("d", np.eye(4), np.zeros(2))
    with pytest.raises(InputError, match="task='x'"):
        Dataset("d", np.eye(4), np.zeros(4), task="x")


def test_import_is_light():
    code = (
        "import sys, fewfold.datasets; heavy = {'pandas', 'sklearn', 'scipy', 'pyarrow', 'h5py', "
        "'pooch', 'requests', 'yaml'} & set(sys.modules); sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
