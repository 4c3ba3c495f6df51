"""Stage files: whole or absent, checked on reading, never more than arrays and JSON."""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from scipy import sparse

from _stage_files import STAGE, everything, write_small
from fewfold.exceptions import ArtifactError
from fewfold.pipeline import artifacts
from fewfold.pipeline.artifacts import atomic_path, content_digest, read, writing

# --- round trips ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "u8", "?"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 4), (2, 3, 4)])
def test_arrays_come_back_with_type_and_shape(tmp_path, dtype, shape):
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    with writing(tmp_path / "a.h5", STAGE) as out:
        out.add("v", value)
    with read(tmp_path / "a.h5", STAGE) as file:
        found = file["v"]
    assert found.dtype == value.dtype and found.shape == value.shape
    np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("order", ["C", "F"])
def test_layout_in_memory_does_not_matter(tmp_path, order):
    value = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    with writing(tmp_path / f"{order}.h5", STAGE) as out:
        out.add("v", value)
        out.add("strided", value[::2, ::2])
    with read(tmp_path / f"{order}.h5", STAGE) as file:
        np.testing.assert_array_equal(file["v"], value)
        np.testing.assert_array_equal(file["strided"], value[::2, ::2])


@pytest.mark.parametrize(
    "text", [[], [""], ["", ""], ["a", ""], ["", "a"], ["a b", "ünï", "日本"], ["x\ny", "'\";$()"]]
)
def test_text_comes_back(tmp_path, text):
    with writing(tmp_path / "t.h5", STAGE) as out:
        out.add("names", text)
    with read(tmp_path / "t.h5", STAGE) as file:
        assert file["names"] == text


def test_text_with_a_nul_is_refused(tmp_path):
    with pytest.raises(ValueError, match="NUL"), writing(tmp_path / "t.h5", STAGE) as out:
        out.add("names", ["a\0b", "c"])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("shape", [(3, 5), (0, 4), (4, 0), (1, 1)])
def test_sparse_comes_back(tmp_path, shape):
    rng = np.random.default_rng(0)
    dense = rng.random(shape) * (rng.random(shape) < 0.4)
    with writing(tmp_path / "s.h5", STAGE) as out:
        out.add("csr", sparse.csr_array(dense))
        out.add("coo", sparse.coo_array(dense))
        out.add("csc", sparse.csc_matrix(dense))
    with read(tmp_path / "s.h5", STAGE) as file:
        for name in ("csr", "coo", "csc"):
            found = file[name]
            assert found.shape == shape
            np.testing.assert_array_equal(found.toarray(), dense)


def test_sparse_with_unsorted_indices_comes_back_sorted(tmp_path):
    W = sparse.csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    with writing(tmp_path / "s.h5", STAGE) as out:
        out.add("W", W)
    with read(tmp_path / "s.h5", STAGE) as file:
        found = file["W"]
    assert found.toarray().tolist() == [[2.0, 0.0, 1.0]]
    # The reader marks the indices as sorted: they have to be.
    assert found.indices.tolist() == sorted(found.indices.tolist())


def test_attributes_are_recorded(tmp_path):
    source = tmp_path / "source.bin"
    source.write_bytes(b"abc")
    with writing(tmp_path / "a.h5", STAGE, settings={"b": 1, "a": [1, 2]}, seed=5,
                 inputs=[source]) as out:  # fmt: skip
        out.note("float", 0.25)
        out.note("none", None)
    with h5py.File(tmp_path / "a.h5") as raw:
        assert raw.attrs["fewfold_stage"] == STAGE.encode()
        assert raw.attrs["format_version"] == artifacts.FORMAT_VERSION
        assert raw.attrs["seed"] == 5
        assert json.loads(raw.attrs["inputs"]) == {"source.bin": content_digest(source)}
        assert json.loads(raw.attrs["versions"])["numpy"] == np.__version__
    with read(tmp_path / "a.h5", STAGE) as file:
        assert file.settings == {"a": [1, 2], "b": 1}
        assert file.note("float") == 0.25 and file.note("none") is None
        assert file.note("absent", 3) == 3
        assert file.get("absent") is None and "absent" not in file


def test_content_digest_sees_values_notes_and_inputs_but_not_time(tmp_path):
    base = content_digest(write_small(tmp_path / "a.h5"))
    assert content_digest(write_small(tmp_path / "b.h5")) == base
    assert content_digest(write_small(tmp_path / "c.h5", more=np.zeros(1))) != base
    with writing(tmp_path / "d.h5", STAGE) as out:
        out.note("x", 1)
    with writing(tmp_path / "e.h5", STAGE) as out:
        out.note("x", 2)
    assert content_digest(tmp_path / "d.h5") != content_digest(tmp_path / "e.h5")


def test_content_digest_sees_a_block_in_the_middle_of_many(tmp_path):
    def write(name, changed):
        blocks = (np.full((1, 1), float(i == changed)) for i in range(2500))
        with writing(tmp_path / name, STAGE) as out:
            out.add_blocks("K", (2500, 1), np.float32, blocks)
        return content_digest(tmp_path / name)

    assert write("a.h5", 1200) != write("b.h5", 1300)


# --- blocks --------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 3, 4, 10, 25])
def test_rows_across_blocks(tmp_path, block):
    value = np.random.default_rng(1).random((10, 3)).astype(np.float32)
    with writing(tmp_path / "k.h5", STAGE) as out:
        out.add_blocks(
            "K", (10, 3), np.float32, [value[s : s + block] for s in range(0, 10, block)]
        )
    with read(tmp_path / "k.h5", STAGE) as file:
        for rows in ([0], [9, 0, 5], [3, 3, 4], list(range(10)), []):
            np.testing.assert_array_equal(file.rows("K", np.array(rows, int)), value[rows])
        np.testing.assert_array_equal(file["K"], value)


@pytest.mark.parametrize("rows", [[10], [-1], [0, 99]])
def test_rows_outside_are_refused(tmp_path, rows):
    with writing(tmp_path / "k.h5", STAGE) as out:
        out.add_blocks("K", (10, 1), np.float32, [np.zeros((10, 1))])
    with read(tmp_path / "k.h5", STAGE) as file, pytest.raises(IndexError, match="10 rows"):
        file.rows("K", rows)


def test_empty_blocks(tmp_path):
    with writing(tmp_path / "k.h5", STAGE) as out:
        out.add_blocks("K", (0, 3), np.float32, [])
    with read(tmp_path / "k.h5", STAGE) as file:
        assert file["K"].shape == (0, 3)
        assert file.rows("K", []).shape == (0, 3)


@pytest.mark.parametrize("blocks", [[2], [2, 3], [1, 2, 1]])
def test_blocks_that_do_not_fit_leave_nothing(tmp_path, blocks):
    made = [np.zeros((rows, 2)) for rows in blocks]
    with pytest.raises(ValueError), writing(tmp_path / "k.h5", STAGE) as out:
        out.add_blocks("K", (4, 2), np.float32, made)
    assert os.listdir(tmp_path) == []


def test_a_damaged_block_is_found_only_when_its_rows_are_read(tmp_path):
    path = tmp_path / "k.h5"
    value = np.arange(40, dtype=np.float32).reshape(10, 4) + 1000
    with writing(path, STAGE) as out:
        out.add_blocks("K", (10, 4), np.float32, [value[:5], value[5:]])
    data = bytearray(path.read_bytes())
    place = data.find(value[7].tobytes())
    data[place] ^= 1
    path.write_bytes(data)
    with read(path, STAGE) as file:
        np.testing.assert_array_equal(file.rows("K", [4, 0]), value[[4, 0]])
        with pytest.raises(ArtifactError, match="damaged: the array 'K'"):
            file.rows("K", [9])
        with pytest.raises(ArtifactError, match="damaged"):
            file["K"]


# --- atomic --------------------------------------------------------------------------------


def test_an_exception_while_writing_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), writing(tmp_path / "deep/a.h5", STAGE) as out:
        out.add("X", np.zeros(3))
        raise ZeroDivisionError
    assert os.listdir(tmp_path / "deep") == []


def test_an_exception_keeps_the_old_file(tmp_path):
    path = write_small(tmp_path / "a.h5")
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt), writing(path, STAGE) as out:
        out.add("X", np.zeros(3))
        raise KeyboardInterrupt
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.h5"]


def test_the_file_appears_only_when_complete(tmp_path):
    path = tmp_path / "a.h5"
    with writing(path, STAGE) as out:
        out.add("X", np.zeros(3))
        assert not path.exists()
    assert path.exists() and os.listdir(tmp_path) == ["a.h5"]


def test_a_reader_of_the_old_file_is_not_disturbed(tmp_path):
    path = write_small(tmp_path / "a.h5")
    with read(path, STAGE) as old:
        with writing(path, STAGE) as out:
            out.add("X", np.full(3, 9.0))
        assert old["X"].shape == (2, 3)
    with read(path, STAGE) as new:
        assert new["X"].tolist() == [9.0, 9.0, 9.0]


@pytest.mark.parametrize("value", [["a", 1], np.array(["a"], dtype=object), np.array([1j]), None])
def test_objects_are_never_written(tmp_path, value):
    with pytest.raises(TypeError, match="store numbers or strings"):
        with writing(tmp_path / "a.h5", STAGE) as out:
            out.add("X", value)
    assert os.listdir(tmp_path) == []


FILL_DISK = """
import sys, numpy as np
from fewfold.pipeline.artifacts import writing, atomic_path
from fewfold.exceptions import ArtifactError
path, how = sys.argv[1:]
try:
    if how == "text":
        with atomic_path(path) as part:
            part.write_bytes(b"x" * (3 << 20))
    else:
        with writing(path, "demo") as out:
            if how == "array":
                out.add("X", np.random.default_rng(0).random((512, 1024)))
            else:
                blocks = (np.random.default_rng(i).random((64, 1024)) for i in range(16))
                out.add_blocks("K", (1024, 1024), np.float32, blocks)
except ArtifactError as error:
    print("caught:", error)
"""


@pytest.mark.parametrize("how", ["array", "blocks", "text"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(small_disk, how):
    # In a process of its own: HDF5 must neither crash it nor complain at its end.
    command = [sys.executable, "-c", FILL_DISK, str(small_disk / "a.h5"), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "caught: Could not write" in done.stdout and "No space left" in done.stdout
    assert "Check free space" in done.stdout
    assert os.listdir(small_disk) == []


def test_a_full_disk_keeps_the_old_file(small_disk):
    path = write_small(small_disk / "a.h5")
    with pytest.raises(ArtifactError, match="No space left"):
        with writing(path, STAGE) as out:
            out.add("X", np.random.default_rng(0).random((512, 1024)))
    assert everything(path)[2] == {"k": 3, "name": "é"}
    assert os.listdir(small_disk) == ["a.h5"]


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "here").write_text("not a folder")
    with pytest.raises(ArtifactError, match="Could not write"):
        with writing(tmp_path / "here/a.h5", STAGE) as out:
            out.add("X", np.zeros(1))


def test_atomic_path(tmp_path):
    target = tmp_path / "deep" / "table.csv"
    with atomic_path(target) as part:
        part.write_text("one")
        assert not target.exists() and part.parent == target.parent
    assert target.read_text() == "one"
    with pytest.raises(RuntimeError), atomic_path(target) as part:
        part.write_text("two")
        raise RuntimeError
    assert target.read_text() == "one" and os.listdir(target.parent) == ["table.csv"]
