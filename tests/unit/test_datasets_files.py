"""The user's own files: every format gives the same dataset."""

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from fewfold.datasets import describe, load
from fewfold.datasets.table.loading import load_file as read_table
from fewfold.datasets.targets import encode_target

N = 12
LABELS = ["ä", "", "b", None] * 3


@pytest.fixture
def frame():
    X = np.random.default_rng(0).normal(size=(N, 3)).round(3)
    data = pd.DataFrame(X, columns=["größe", "b", "c d"])
    data["art"] = LABELS
    data["id"] = [f"r{i}" for i in range(N)]
    return data


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("name", ["daten für mich.csv", "a.tsv", "a.parquet"])
def test_tables(frame, tmp_path, name):
    path = write(frame, tmp_path / name)
    data = load("file", path=path, target="art", ids="id")
    assert np.array_equal(data.X, frame[["größe", "b", "c d"]].to_numpy())
    assert data.classes == ["b", "ä"]
    assert data.y.tolist() == [1, -1, 0, -1] * 3
    assert data.y.dtype == np.int64
    assert data.ids[1] == "r1"
    assert data.feature_names == ["größe", "b", "c d"]
    assert data.name == path.stem
    shape = describe("file", path=path, target="art", ids="id")
    assert (shape.n_samples, shape.n_features, shape.n_classes) == (N, 3, 2)


@pytest.mark.parametrize("sep", [";", "|", "\t"])
def test_delimiter_is_found(frame, tmp_path, sep):
    frame.to_csv(tmp_path / "a.csv", sep=sep, index=False)
    assert read_table(tmp_path / "a.csv", "art", drop=["id"]).X.shape == (N, 3)


def test_quotes_blank_lines_bom_and_crlf(tmp_path):
    text = '\ufeff\r\n"a, long",b,y\r\n1,2,"p\nq"\r\n\r\n3,4,r\r\n'
    (tmp_path / "a.csv").write_bytes(text.encode())
    data = read_table(tmp_path / "a.csv", "y")
    assert data.feature_names == ["a, long", "b"]
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.classes == ["p\nq", "r"]


def test_old_line_ends(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,y\r1,u\r2,v\r")
    assert read_table(tmp_path / "a.csv", "y").y.tolist() == [0, 1]


def test_encoding(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False, encoding="utf-16")
    data = read_table(tmp_path / "a.csv", "art", ids="id", encoding="utf-16")
    assert data.classes == ["b", "ä"]


def test_class_names_keep_their_spelling(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,007\n2,7\n3,\n4,007\n")
    assert read_table(tmp_path / "a.csv", "y").classes == ["007", "7"]


def test_integer_classes_are_spelt_alike_in_every_format(tmp_path):
    y = [1.0, 2.0, np.nan, 10.0]
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "y": y})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.savez(tmp_path / "a.npz", X=frame[["x"]].to_numpy(), y=np.array(y))
    for name in ("a.parquet", "a.npz"):
        data = read_table(tmp_path / name, "y")
        assert (data.classes, data.y.tolist()) == (["1", "2", "10"], [0, 1, -1, 2])
    # The text says 1.0, and text is kept as it stands; the order is that of the numbers.
    assert read_table(tmp_path / "a.csv", "y").classes == ["1.0", "2.0", "10.0"]


def test_types_that_change_late_and_rows_longer_than_a_block(tmp_path, monkeypatch):
    rows = [f"{i},{i % 2}" for i in range(3000)]
    rows[2900] = "2.5,1"
    (tmp_path / "a.csv").write_text("a,y\n" + "\n".join(rows))
    wide = 400
    (tmp_path / "b.csv").write_text(
        ",".join([*(f"c{i}" for i in range(wide)), "y"])
        + "".join("\n" + "0.125," * wide + label for label in "uv")
    )
    monkeypatch.setattr("fewfold.datasets.text_tables._BLOCK", 1024)
    data = read_table(tmp_path / "a.csv", "y")
    assert data.X[2900, 0] == 2.5 and data.X[2999, 0] == 2999
    assert np.all(read_table(tmp_path / "b.csv", "y").X == 0.125)


def test_parquet_types(tmp_path):
    frame = pd.DataFrame(
        {
            "a": pd.Categorical([3, 1, 3]),
            "b": pd.array([1, None, 3], dtype="Int64"),
            "c": pd.Categorical(["1.5", "2", "2"]),
            "y": pd.Categorical(["u", None, "v"]),
            "k": [3, 4, 3],
            "t": [True, False, True],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    data = read_table(tmp_path / "a.parquet", "y")
    # The empty cell of b has the column's middle value.
    assert data.X.tolist() == [[3, 1, 1.5, 3, 1], [1, 2, 2, 4, 0], [3, 3, 2, 3, 1]]
    assert (data.classes, data.y.tolist()) == (["u", "v"], [0, -1, 1])
    for target, classes in (("k", ["3", "4"]), ("t", ["False", "True"]), ("a", ["1", "3"])):
        assert read_table(tmp_path / "a.parquet", target, features=["b"]).classes == classes


def test_hdf5_filters_and_links_inside_the_file(tmp_path):
    X = np.zeros((500, 8))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=X, chunks=(100, 8), scaleoffset=3)
        file["X"] = h5py.SoftLink("/data")
        file["codes"] = np.arange(500) % 2
        file["y"] = h5py.SoftLink("/codes")
    assert np.array_equal(load("file", path=tmp_path / "a.h5", x="X").X, X)
    assert describe("file", path=tmp_path / "a.h5", x="X").n_samples == 500


def test_missing_features_are_filled_and_booleans_are_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c,d,y\n1,true,,5,u\n,false,,5,v\n4,true,,5,u\n")
    data = read_table(tmp_path / "a.csv", "y")
    assert data.feature_names == ["a", "b", "d"]  # c is empty; d never changes, but is a number
    assert data.X.tolist() == [[1, 1, 5], [2.5, 0, 5], [4, 1, 5]]
    assert any(
        "1 empty cell is filled with the column's median, in 'a'" in note for note in data.notes
    )


@pytest.mark.parametrize("kind", ["npy", "npz", "h5", "chunked", "mtx", "sparse"])
def test_arrays(tmp_path, kind):
    X = np.random.default_rng(1).normal(size=(N, 4))
    X[X < 0] = 0
    y = np.array([0, -1, 2, -1] * 3)
    options = {}
    (tmp_path / "y.txt").write_text("".join(f"{v if v >= 0 else ''}\n" for v in y))
    if kind == "npy":
        np.save(tmp_path / "a.npy", np.column_stack([y, X]))
        path, options = tmp_path / "a.npy", {"target": 0}
    elif kind == "npz":
        path = tmp_path / "a.npz"
        np.savez_compressed(path, data=X, y=y)
    elif kind in ("h5", "chunked"):
        path = tmp_path / "a.h5"
        with h5py.File(path, "w") as file:
            more = {"compression": "gzip"} if kind == "chunked" else {}
            file.create_dataset("in/X", data=X, **more)
            file["in/y"] = y
        options = {"x": "in/X", "target": "in/y"}
    elif kind == "mtx":
        path, options = tmp_path / "a.mtx", {"labels": tmp_path / "y.txt"}
        io.mmwrite(path, sparse.csr_array(X))
    else:
        path, options = tmp_path / "a.npz", {"labels": tmp_path / "y.txt"}
        sparse.save_npz(path, sparse.csr_array(X))
    data = load("file", path=path, **options)
    dense = data.X.toarray() if sparse.issparse(data.X) else data.X
    assert np.allclose(dense, X, rtol=1e-12)
    assert data.y.tolist() == [0, -1, 1, -1] * 3
    assert data.classes == ["0", "2"]
    shape = describe("file", path=path, **options)
    assert (shape.n_samples, shape.n_features, shape.n_classes) == (N, 4, 2)
    assert shape.sparse == sparse.issparse(data.X) == (kind in ("mtx", "sparse"))


def test_stack_of_images(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((4, 5, 6), np.uint8), y=np.array(["a", "b", "", "a"]))
    data = load("file", path=tmp_path / "a.npz", x="X", image_shape=[5, 6])
    assert data.X.shape == (4, 30) and data.X.dtype == np.uint8 and data.image_shape == (5, 6)


def test_text_labels_in_hdf5(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["X"] = np.eye(3)
        file["y"] = np.array(["ü", "", "v"], dtype=h5py.string_dtype())
    data = load("file", path=tmp_path / "a.h5")
    assert (data.classes, data.y.tolist()) == (["v", "ü"], [1, -1, 0])


@pytest.mark.parametrize(
    "values, y, classes, task",
    [
        ([1.5, np.nan, -1], [1.5, np.nan, -1], None, "regression"),
        ([1, 2, -1], [0, 1, -1], ["1", "2"], "classification"),
        (["b", "?", "a"], [1, -1, 0], ["a", "b"], "classification"),
        (["10", "9", "NA"], [1, 0, -1], ["9", "10"], "classification"),
        ([True, False, None], [1, 0, -1], ["False", "True"], "classification"),
        (list(range(30)), list(range(30)), None, "regression"),
    ],
)
def test_target(values, y, classes, task):
    got = encode_target(np.array(values, dtype=object))
    assert np.array_equal(got[0], np.array(y, dtype=float), equal_nan=True)
    assert got[1:3] == (classes, task)


def test_minus_one_as_a_class():
    values = np.array([-1, 1, -1, 1])
    y, classes, *_ = encode_target(values, unlabeled=[""])
    assert y.tolist() == [0, 1, 0, 1] and classes == ["-1", "1"]


def test_regression_by_request(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,5\n2,-1\n3,\n")
    data = read_table(tmp_path / "a.csv", "y", task="regression")
    assert data.classes is None
    assert np.array_equal(data.y, [5, -1, np.nan], equal_nan=True)
    assert data.n_labeled == 2
