"""Bad input: one clear error that names the place, what was found and what to do."""

import re
import zipfile

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fewfold.datasets import describe, load
from fewfold.exceptions import InputError

GOOD = "width,height,species\n1,2,a\n3,4,b\n5,6,\n"


def refused(path, *words, **options):
    """Loading must be refused with a message that holds each of the words."""
    with pytest.raises(InputError) as caught:
        load("file", path=path, **options)
    message = str(caught.value)
    for word in words:
        assert word in message, message
    return message


def table(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text, words",
    [
        ("", ["the file is empty"]),
        ("\n\n", ["only blank lines"]),
        ("width,height,species\n", ["header (", "no data row"]),
        ("1,2,3\n4,5,6\n", ["first line holds numbers", "name the columns"]),
        ("species,a,species\n1,x,2\n", ["'species' occurs several times", "species.1"]),
        ("a,b,species\n1,2,x\n1,2\n", ["line 3 (row 2)", "2 values found, 3 expected"]),
        ("a,b,species\n1,2,x\n\n1,2,y,z\n", ["line 4 (row 2)", "4 values found"]),
        (
            "a,b,species\n" + "1,2,x\n" * 9 + "3,wide,y\n",
            ["row 10 (line 11)", "column 'b'", "'wide'", "number", "drop=['b']"],
        ),
        (
            'a,b,species\n1,2,"x\n"\n' + "1,2,x\n" * 8 + "3,wide,y\n",
            ["row 10 (line 12)", "column 'b'", "'wide'"],
        ),
        (
            "a,b,c,species\n" + "1,2,3,x\n" * 9 + "3,wide,inf,y\n",
            ["2 columns cannot be used", "'wide'", "found inf", "drop=['b', 'c']"],
        ),
        ("a,b,species\n1,2,x\ninf,3,y\n", ["row 2 (line 3)", "column 'a'", "finite"]),
        ("a,species\n1,\n2,\n3,\n", ["'species'", "no row is labeled", "3 rows", "Label at"]),
        ("a,species\n1,x\n2,\n3,x\n", ["only one class", "'x'", "2 of 3 rows"]),
        ("a,species\n1,1\n2,-1\n3,1\n", ["only one class", "unlabeled=['']"]),
        ("species\nx\ny\n", ["no column is left"]),
    ],
)
def test_text_tables(tmp_path, text, words):
    path = table(tmp_path, text)
    refused(path, str(path), *words, target="species")


@pytest.mark.parametrize(
    "text, words",
    [
        (GOOD.encode("utf-16"), ["UTF-16", "Save it as UTF-8"]),
        ("größe,species\n1,a\n".encode("latin-1"), ["line 1", "0xf6", "encoding='latin-1'"]),
        ("a,species\n1,a\n2,é\n".encode("cp1252"), ["line 3", "0xe9", "Save the file as UTF-8"]),
    ],
)
def test_an_encoding_that_was_given_is_kept_to(tmp_path, text, words):
    path = table(tmp_path, text)
    refused(path, str(path), *words, target="species", encoding="utf-8")


def test_describe_refuses_too(tmp_path):
    for text, word in (("", "empty"), ("a,species\n", "no data row"), ("a,species\n1,\n", "label")):
        with pytest.raises(InputError, match=word):
            describe("file", path=table(tmp_path, text), target="species")


def test_ragged_row_found_with_any_delimiter(tmp_path):
    path = table(tmp_path, "a\tspecies\n1\tx\n2\n", "a.tsv")
    refused(path, "line 3 (row 2)", "1 values found, 2 expected", target="species")


def test_text_late_in_a_long_column(tmp_path):
    rows = [f"{i},{i % 3}" for i in range(200_000)]
    rows[150_000] = "12x,1"
    path = table(tmp_path, "a,y\n" + "\n".join(rows))
    refused(path, "row 150001 (line 150002)", "column 'a'", "'12x'", target="y")


def test_very_long_cells(tmp_path):
    path = table(tmp_path, "a,y\n" + "1,u\n" * 9 + f"{'x' * 200_000},v\n")
    message = refused(path, "row 10", "column 'a'", target="y")
    assert len(message) < 500
    path = table(tmp_path, f"{'x' * 200_000},y\n1,u\n2,v\n")
    assert len(refused(path, "not readable as a table", target="y")) < 500


def test_names(tmp_path):
    path = table(tmp_path, GOOD)
    refused(path, "no target column 'Spcies'", "Did you mean 'species'?", target="Spcies")
    refused(path, "no id column 'nr'", "Columns: width", target="species", ids="nr")
    refused(path, "no column 'heigth'", "'height'", target="species", drop=["heigth"])
    refused(path, "either the label column (target)")
    refused(path, "task='guess'", "allowed: auto", target="species", task="guess")
    refused(path, "delimiter=';;'", target="species", delimiter=";;")
    refused(path, "encoding='utf-99' is not known", target="species", encoding="utf-99")
    refused(path, "image_shape=[2, 2] needs 4", "found 2", target="species", image_shape=[2, 2])
    refused(tmp_path / "tabel.csv", "no such file", "Did you mean", "table.csv", target="species")
    refused(tmp_path, "the folder holds no images", target="species")
    refused(table(tmp_path, "x", "a.xlsx"), "not a whole spreadsheet", "CSV", target="y")
    refused(table(tmp_path, "x", "a.doc"), "'.doc' are not read", "CSV", target="y")
    refused(table(tmp_path, "x", "a.npy.gz"), "Decompress it first", target="y")
    with pytest.raises(InputError, match=r"option of dataset file: 'targt'.*Did you mean 'target'"):
        load("file", path=path, targt="species")
    with pytest.raises(InputError, match="option path is missing"):
        load("file", target="species")


def test_regression_target_with_text(tmp_path):
    path = table(tmp_path, "a,y\n1,2.5\n2,low\n")
    refused(path, "column 'y', row 2", "'low'", "finite number", target="y", task="regression")
    path = table(tmp_path, "a,y\n1,2.5\n2,inf\n")
    refused(path, "row 2", "'inf'", target="y", task="regression")
    path = table(tmp_path, "a,y\n1,\n2,\n")
    refused(path, "no row is labeled", target="y", task="regression")


def test_parquet(tmp_path):
    path = table(tmp_path, b"PAR1 not really", "a.parquet")
    refused(path, "not a whole Parquet file", target="y")
    whole = tmp_path / "b.parquet"
    pd.DataFrame({"a": [[1], [2, 3]], "y": ["u", "v"]}).to_parquet(whole)
    refused(whole, "row 2, column 'a': found 2, expected 1 numbers", target="y")
    pd.DataFrame({"a": [["u"], ["v"]], "y": ["u", "v"]}).to_parquet(whole)
    refused(whole, "column 'a' is of type list", target="y")
    pd.DataFrame({"a": [*"123456789", "two"], "y": [*"uv"] * 5}).to_parquet(whole)
    assert "line" not in refused(whole, "row 10", "column 'a'", "'two'", target="y")
    path.write_bytes(whole.read_bytes()[:-20])
    refused(path, "not a whole Parquet file", target="y")


def npy_bytes(shape, descr="<f8", body=b""):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + body


def test_npy(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(npy_bytes((1000, 1000), body=b"\0" * 80))
    refused(path, "announces 1000 x 1000 values (8000000 bytes)", "holds 80", target=-1)
    path.write_bytes(npy_bytes((10**12, 10**6)))
    refused(path, "8000000000000000000 bytes", "holds 0", target=-1)
    path.write_bytes(npy_bytes((10**30, 10**30)))
    refused(path, "announces", target=-1)
    path.write_bytes(npy_bytes((-1, 3)))
    refused(path, "(-1, 3)", target=-1)
    path.write_bytes(b"\x93NUMPY\x07\x00garbage")
    refused(path, "not a readable NumPy file", target=-1)
    path.write_bytes(b"not numpy")
    refused(path, "not a readable NumPy file", target=-1)
    np.save(path, np.array([[1, "a"], [2, None]], dtype=object), allow_pickle=True)
    refused(path, "type object", "unpickled", target=-1)
    np.save(path, np.eye(3, dtype=complex))
    refused(path, "complex128", "real numbers", target=-1)
    np.save(path, np.eye(3))
    refused(path, "holds no labels", "labels")
    refused(path, "target=7", "from -3 to 2", target=7)
    refused(path, "target='y'", "column number", target="y")
    refused(path, "ids is for tables", target=0, ids="id")
    np.save(path, np.arange(3.0))
    refused(path, "shape (3,)", "rows x features", target=0)


def test_npz(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"PK nothing")
    refused(path, "not a whole NPZ file")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", npy_bytes((10**9, 10**4)))
        archive.writestr("y.npy", npy_bytes((2,), body=b"\0" * 16))
    refused(path, "[X]", "announces 1000000000 x 10000", "cut short")
    np.savez(path, X=np.eye(2), labels=np.array([0, 1]))
    refused(path, "no array 'y'", "labels", "Arrays: X, labels")
    refused(path, "no array 'XX'", "Did you mean 'X'", x="XX")
    np.savez(path, X=np.eye(2), y=np.array([0, 1, 1]))
    refused(path, "[y]", "shape (3,)", "2 rows")
    np.savez(path, A=np.eye(2), B=np.eye(2), y=np.array([0, 1]))
    refused(path, "which array", "A, B, y", "option x")
    np.savez(path, X=np.eye(2), y=np.array([0, None], dtype=object))
    refused(path, "[y]", "object")
    np.savez(path, format=np.array(b"csr"), shape=np.array([2, 2]), data=np.ones(2),
             indices=np.array([0, 99]), indptr=np.array([0, 1, 2]))  # fmt: skip
    labels = table(tmp_path, "a\nb\n", "y.txt")
    refused(path, "not a sound sparse matrix", labels=labels)


def test_hdf5(tmp_path):
    path, other = tmp_path / "a.h5", tmp_path / "b.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)
    refused(path, "not a whole HDF5 file")
    with h5py.File(other, "w") as file:
        file["X"] = np.eye(3)
    with h5py.File(path, "w") as file:
        file["X"] = h5py.ExternalLink(str(other), "X")
        file["y"] = [0, 1, 0]
    refused(path, "link to another file", "copy the data", x="X")
    with h5py.File(path, "w") as file:
        layout = h5py.VirtualLayout(shape=(3, 3), dtype="f8")
        layout[:] = h5py.VirtualSource(str(other), "X", shape=(3, 3))
        file.create_virtual_dataset("X", layout)
        file["y"] = [0, 1, 0]
    refused(path, "values in other files")
    raw = tmp_path / "raw.bin"
    raw.write_bytes(np.eye(3).tobytes())
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (3, 3), "f8", external=[(str(raw), 0, 72)])
        file["y"] = [0, 1, 0]
    refused(path, "values in other files")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (10**9, 10**3), "f8", chunks=(1000, 1000))
        file["y"] = [0, 1, 0]
    refused(path, "0 of its 1000000 parts were written")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (10**9, 10**5), "f8", chunks=(1000, 1000), compression="gzip")
        file["y"] = [0, 1, 0]
    refused(path, "parts were written")
    with h5py.File(path, "w") as file:
        file["X"] = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
        file["g/y"] = [0, 1, 0]
        file["soft"] = h5py.SoftLink("/nowhere")
    refused(path, "numbers", x="X", target="g/y")
    refused(path, "is a group", x="g")
    refused(path, "leads nowhere", x="soft")
    refused(path, "no array 'Z'", x="Z")
    whole = other.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, "not a whole HDF5 file")


def test_matrix_market(tmp_path):
    labels = table(tmp_path, "a\nb\n", "y.txt")
    head = "%%MatrixMarket matrix coordinate real general\n"
    path = table(tmp_path, head + "2 2 999999999999\n1 1 1.0\n", "a.mtx")
    refused(path, "announces 2 x 2 with 999999999999 entries", "cut short", labels=labels)
    path = table(tmp_path, head + "99999999999999 2 1\n1 1 1.0\n", "a.mtx")
    refused(path, "nearly all rows would be empty", labels=labels)
    path = table(tmp_path, head + "2 2 1\n5 1 1.0\n", "a.mtx")
    refused(path, "not a sound MatrixMarket file", labels=labels)
    path = table(tmp_path, "hello\n", "a.mtx")
    refused(path, "not a MatrixMarket file", labels=labels)
    path = table(tmp_path, head + "3 2 1\n2 1 1.0\n", "a.mtx")
    refused(path, "holds no labels", "second file")
    message = refused(path, "shape (2,)", "3 rows", labels=labels)
    assert str(labels) in message
    heading = table(tmp_path, "label\na\nb\na\n", "z.txt")
    refused(path, "4 lines for 3 rows", "'label'", "heading", labels=heading)


def test_damage_anywhere_gives_an_input_error(tmp_path):
    """Cut and flipped files: a dataset or an InputError, never anything else."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 3
    np.savez(tmp_path / "a.npz", X=X, y=y)
    sparse.save_npz(tmp_path / "s.npz", sparse.random_array((30, 4), density=0.5, rng=rng).tocsr())
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["X"], file["y"] = X, y
    labels = table(tmp_path, "\n".join(map(str, y)), "y.txt")
    options = {"s.npz": {"labels": labels}, "a.csv": {"target": "y"}, "a.parquet": {"target": "y"}}
    for name in ("a.npz", "s.npz", "a.parquet", "a.csv", "a.h5"):
        whole = (tmp_path / name).read_bytes()
        for trial in range(60):
            data = bytearray(whole)
            if trial % 2:
                del data[rng.integers(1, len(data)) :]
            else:
                data[rng.integers(len(data))] ^= 1 << rng.integers(8)
            path = tmp_path / f"bad{trial}{re.sub('.*[.]', '.', name)}"
            path.write_bytes(data)
            try:
                load("file", path=path, **options.get(name, {}))
            except InputError:
                pass
