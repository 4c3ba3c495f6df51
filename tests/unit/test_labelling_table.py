"""Understanding tables: kinds of columns, encoding, and sentences for files that cannot be used."""

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from _cells import write_h5ad
from fewfold.datasets import describe, load
from fewfold.datasets.table.dates import read_dates
from fewfold.datasets.table.encoding import encode_table
from fewfold.datasets.table.images import guess_image_shape
from fewfold.datasets.table.messages import Place
from fewfold.datasets.table.plan import choose_scaling, understand_table
from fewfold.exceptions import InputError
from fewfold.labeling import label
from fewfold.labeling.intake import check_spellings, read_input
from fewfold.labeling.sizes import check_rows, count_rows


def flowers(n=40, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.where(np.arange(n) % 2, "rose", "tulip").astype(object)
    kind[n // 2 :] = ""
    return pd.DataFrame(
        {
            "plant_id": [f"p{i}" for i in range(n)],
            "height": rng.normal(30, 5, n),
            "weight": rng.normal(2000, 300, n),
            "soil": rng.choice(["clay", "sand", "peat"], n),
            "species": kind,
        }
    )


def write(tmp_path, frame, name="my.csv"):
    path = tmp_path / name
    frame.to_csv(path, index=False)
    return path


def test_columns_are_told_apart(tmp_path):
    found = read_input(write(tmp_path, flowers()), "species")
    assert found.id_name == "plant_id" and found.ids[:2] == ["p0", "p1"]
    assert found.feature_names == ["height", "weight", "soil=clay", "soil=peat", "soil=sand"]
    assert found.classes == ["rose", "tulip"] and len(found.labeled) == 20
    # Numbers are standardized; the columns of a category vary as much as one number.
    assert np.allclose(found.X[:, :2].mean(axis=0), 0, atol=1e-5)
    assert np.allclose(found.X[:, :2].std(axis=0), 1, atol=1e-5)
    assert all(len(np.unique(column)) == 2 for column in found.X[:, 2:].T)
    assert np.isclose(found.X[:, 2:].var(axis=0).sum(), 1, atol=1e-5)
    words = " ".join(found.sentences)
    assert "2 number columns" in words and "1 category column" in words and "20 of 40" in words


@pytest.mark.parametrize("name", ["my.csv", "my.tsv", "my.parquet"])
def test_a_run_reads_what_label_reads(tmp_path, name):
    frame = flowers()
    frame.loc[3, "height"] = np.nan
    frame.loc[4, "soil"] = "?"
    path = tmp_path / name
    if name == "my.parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if name == "my.tsv" else ",")
    found = read_input(path, "species", scale="standard")
    data = load("file", path=path, target="species", scale="standard")
    assert data.X.dtype == np.float64 and np.array_equal(data.X.astype(np.float32), found.X)
    assert data.feature_names == found.feature_names and data.ids == found.ids
    assert data.classes == found.classes and data.y.tolist() == found.y.tolist()
    assert list(data.notes) == found.sentences[:-1]  # the last one is about the labels
    plain = load("file", path=path, target="species")
    assert plain.X[0, 0] == pytest.approx(frame["height"][0])
    shape = describe("file", path=path, target="species")
    assert (shape.n_samples, shape.n_features) == plain.X.shape == (40, 5)


def test_even_scales_are_left_alone_and_uneven_ones_are_not():
    rng = np.random.default_rng(0)
    even = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abcd"))
    plan = choose_scaling(understand_table(even, None))
    X, _ = encode_table(even, plan.columns)
    assert np.array_equal(X, even.to_numpy(np.float32))
    even["d"] *= 1000
    plan = choose_scaling(understand_table(even, None))
    assert any("standardized" in note for note in plan.notes)
    assert np.allclose(encode_table(even, plan.columns)[0].std(axis=0), 1, atol=1e-5)
    X, _ = encode_table(even, choose_scaling(understand_table(even, None), "none").columns)
    assert X[:, 3].std() > 500


def test_missing_cells_are_filled_with_the_middle_value():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 100.0], "b": [1.0, 2.0, 3.0, 5.0]})
    plan = choose_scaling(understand_table(frame, None), "none")
    X, _ = encode_table(frame, plan.columns)
    assert X[1, 0] == 3.0 and "1 empty cell is" in plan.notes[0]


def test_unseen_categories_are_zeros_and_missing_columns_are_named():
    frame = pd.DataFrame({"kind": list("aabb") * 4, "size": np.arange(16.0) ** 2})
    plan = choose_scaling(understand_table(frame, None))
    new = pd.DataFrame({"kind": ["z"], "size": [1.0]})
    X, names = encode_table(new, plan.columns)
    assert names == ["size", "kind=a", "kind=b"] and X[0, 1:].tolist() == [0, 0]
    with pytest.raises(InputError, match="'size' is missing.*'sise'"):
        encode_table(new.rename(columns={"size": "sise"}), plan.columns)
    with pytest.raises(InputError, match="row 1, column 'size'.*'tall'"):
        encode_table(new.assign(size=["tall"]), plan.columns)


def test_dates_and_free_text_become_features():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2020-01-01", periods=60).astype(str),
            "said": [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(60)],
            "x": rng.normal(size=60),
        }
    )
    plan = choose_scaling(understand_table(frame, None))
    assert [c["kind"] for c in plan.columns] == ["date", "text", "number"]
    X, names = encode_table(frame, plan.columns)
    assert X.shape == (60, 1 + 5 + 7) and np.isfinite(X).all()
    assert "when: decades" in names and "said: topic 1" in names
    assert understand_table(frame, None, expand=["when", "said"]).columns == [
        c for c in understand_table(frame, None).columns
    ]


@pytest.mark.parametrize(
    "cells, expected",
    [
        (["02/2015", "11/2018"], ["2015-02-01", "2018-11-01"]),
        (["2015-02", "2018-11"], ["2015-02-01", "2018-11-01"]),
        (["5 Mar 2021", "28 May 2022"], ["2021-03-05", "2022-05-28"]),
        (["05-Mar-21", "28-may-22"], ["2021-03-05", "2022-05-28"]),
        (["March 5, 2021", "Sept. 28, 2022"], ["2021-03-05", "2022-09-28"]),
        (["Mar 2021", "June 2022"], ["2021-03-01", "2022-06-01"]),
    ],
)
def test_months_and_named_months_are_dates(cells, expected):
    frame = pd.DataFrame({"sold": cells * 30, "x": np.tile([0.5, 1.5, 2.5], 20)})
    plan = understand_table(frame, None)
    assert [c["kind"] for c in plan.columns] == ["date", "number"]
    assert read_dates(frame["sold"])[:2].astype(str).tolist() == expected


@pytest.mark.parametrize(
    "cells", [["17/2015", "31/2018"], ["Maria 12", "June"], ["3/1000", "4/1000"]]
)
def test_file_numbers_and_first_names_are_no_dates(cells):
    frame = pd.DataFrame({"of": cells * 30, "x": np.tile([0.5, 1.5, 2.5], 20)})
    assert [c["kind"] for c in understand_table(frame, None).columns] == ["category", "number"]


def test_numbers_that_all_differ_are_named_where_nothing_names_the_rows():
    frame = pd.DataFrame({"patient": np.arange(60) ** 2, "x": np.arange(60.0) % 7})
    (note,) = understand_table(frame, None).notes
    assert note.startswith("'patient': a different whole number in each row, used as a number.")
    assert note.endswith("rows: --ids patient")
    python = understand_table(frame, None, place=Place(command=False)).notes[0]
    assert python.endswith("rows: ids='patient'")
    quiet = (
        frame.assign(id=[f"r{i}" for i in range(60)]),  # something else names the rows
        frame.assign(other=np.arange(60)[::-1] ** 2),  # two of them
        frame.assign(patient=frame["patient"] // 2),  # not all different
        frame[:19],
        frame[["patient"]],
    )
    assert [understand_table(one, None).notes for one in quiet] == [[]] * 5


def test_a_wrong_cell_among_numbers_is_named():
    frame = pd.DataFrame({"x": ["1", "2", "x3"] + ["4"] * 30, "z": range(1, 67, 2)})
    with pytest.raises(InputError, match="row 3, column 'x': found 'x3'"):
        understand_table(frame, None, place=Place("my.csv"))


BAD = {
    "empty": ("", "empty"),
    "header only": ("a,species\n", "no data row"),
    "one column": ("species\nx\n\n", "one column only"),
    "duplicate names": ("a,species,species\n1,2,x\n", "--drop species.1"),
    "all labeled": ("a,b,species\n1,2,x\n2,3,y\n4,5,x\n", "all 3 rows have a label"),
    "no label": ("a,b,species\n1,2,\n2,3,\n", "no row is labeled.*--classes"),
    "one class": ("a,b,species\n1,2,x\n2,3,\n", "only one class"),
    "two spellings": ("a,b,species\n1,2,Rose\n2,3,rose \n4,5,lily\n6,7,\n", "two spellings"),
    "no such target": ("a,b,sort\n1,2,x\n2,3,\n", "no target column 'species'"),
    "no features": ("id,species\n1,x\n2,y\n3,\n", None),
    "constant only": ("a,species\n1,x\n1,y\n1,\n", "no column is left for features"),
    "infinite": ("a,species\n1,x\ninf,y\n3,\n", "finite"),
    "ragged": ("a,b,species\n1,2,x\n3,y\n", "2 values found, 3 expected"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_give_one_clear_sentence(tmp_path, case):
    text, words = BAD[case]
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    if words is None:  # the only column looks like an id, but there is nothing else: use it
        assert read_input(path, "species").feature_names == ["id"]
        return
    with pytest.raises(InputError, match=words) as caught:
        label(path, "species")
    assert list(tmp_path.iterdir()) == [path]  # and nothing is left behind
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_unicode_and_quoted_newlines(tmp_path):
    path = tmp_path / "straße.csv"
    rows = [
        'größe,"art\nname",名前',
        '1.5,"ro\nse",薔薇',
        "2.5,lily,百合",
        '3,"ro\nse",',
        "4,lily,",
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = read_input(path, "名前")
    assert found.classes == ["百合", "薔薇"]
    assert found.feature_names == ["größe", "art\nname=lily", "art\nname=ro\nse"]


@pytest.mark.slow
def test_very_many_columns(tmp_path):
    path = tmp_path / "wide.csv"
    d, rng = 100_000, np.random.default_rng(0)
    lines = [",".join(f"c{j}" for j in range(d)) + ",y"]
    for i in range(4):
        lines.append(",".join(map(str, rng.integers(0, 9, d))) + f",{['a', 'b', '', ''][i]}")
    path.write_text("\n".join(lines) + "\n")
    found = read_input(path, "y")
    assert found.X.shape[0] == 4 and found.X.shape[1] > 90_000


def test_a_file_too_large_for_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "large.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 1000)
    check_rows(path)
    with pytest.raises(InputError, match="GB are free"):
        check_rows(path, available=10_000)
    monkeypatch.setattr("fewfold.labeling.sizes.free_memory", lambda: 10_000)
    with pytest.raises(InputError, match="GB are free"):
        read_input(path, "b")


def test_a_file_of_two_gigabytes_is_refused_before_it_is_read(tmp_path, monkeypatch):
    # Sparse: it takes no room on the disk, and would take long to read.
    path = tmp_path / "large.csv"
    path.write_bytes(b"a,b,species\n" + b"1.25,2.5,x\n" * 500_000)
    with open(path, "r+b") as stream:
        stream.truncate(2 * 10**9)
    monkeypatch.setattr("fewfold.labeling.sizes.free_memory", lambda: 64 * 10**9)
    with pytest.raises(InputError, match="about 181,818,181 rows of 3 columns.*'fewfold predict'"):
        read_input(path, "species")


def test_rows_are_counted_without_reading(tmp_path):
    frame = pd.DataFrame({"a": np.arange(500) / 7, "b": "x"})
    path = write(tmp_path, frame)
    assert abs(count_rows(path) - 500) < 5
    frame.to_parquet(tmp_path / "my.parquet")
    assert count_rows(tmp_path / "my.parquet") == 500 and count_rows(tmp_path / "my.npz") is None
    (tmp_path / "one.csv").write_text("a,b")
    assert count_rows(tmp_path / "one.csv") == 1
    check_rows(path)
    with pytest.raises(InputError, match="rows of 2 columns.*0.0 GB are free"):
        check_rows(path, available=100_000)


def test_spellings():
    check_spellings(["A+", "A-", "1.5", "15"], [1, 1, 1, 1], "column")
    with pytest.raises(InputError, match="'Café'.*'cafe'"):
        check_spellings(["Café", "cafe"], [3, 1], "column")


def test_arrays_and_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    y[10:] = np.nan
    np.savez(tmp_path / "my.npz", X=X, y=y)
    found = read_input(tmp_path / "my.npz", task="regression")
    assert found.task == "regression" and len(found.labeled) == 10 and found.ids is None
    with pytest.raises(InputError, match="not a whole HDF5 file"):
        (tmp_path / "cells.h5ad").write_bytes(b"x" * 100)
        read_input(tmp_path / "cells.h5ad", "kind")


def test_images_are_recognized_and_other_squares_are_not():
    from sklearn.datasets import load_digits

    X = load_digits().data
    assert guess_image_shape(X) == (8, 8)
    shuffled = X[:, np.random.default_rng(0).permutation(64)]
    assert guess_image_shape(shuffled) is None
    assert guess_image_shape(X[:, :63]) is None
    # One factor behind all columns: correlated, but no more between neighbors.
    rng = np.random.default_rng(0)
    assert guess_image_shape(rng.normal(size=(300, 1)) + rng.normal(size=(300, 64))) is None


def test_cells_and_genes(tmp_path):
    from types import SimpleNamespace

    from fewfold.datasets.table.cell_files import write_labels
    from fewfold.labeling.prediction import _read_cells

    X = sparse.csr_matrix(np.array([[3.0, 0, 4], [0, 2, 0], [1, 0, 0]], dtype=np.float32))
    path, genes = tmp_path / "cells.h5ad", ["g0", "g1", "g2"]
    kinds = {"kind": ["t", "b", None], "age": [1.0, 2.0, 3.0]}
    pca = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    write_h5ad(path, X, kinds, genes, obsm={"X_pca": pca})
    found = read_input(path, "kind")
    assert found.classes == ["b", "t"] and found.y.tolist() == [1, 0, -1]
    assert found.ids == ["c0", "c1", "c2"] and found.feature_names == genes
    assert np.array_equal(found.X.toarray(), X.toarray())
    with pytest.raises(InputError, match="no target column 'kin'.*'kind'"):
        read_input(path, "kin")
    with pytest.raises(InputError, match="--target"):
        read_input(path)
    embedded = read_input(path, "kind", x="obsm:X_pca")
    assert np.array_equal(embedded.X, pca) and embedded.feature_names[1] == "obsm:X_pca[1]"
    with pytest.raises(InputError, match="--use obsm:X_umap: not there. Allowed: obsm:X_pca"):
        read_input(path, "kind", x="obsm:X_umap")
    # New cells: the model's genes in its order, rows of length 1 as when it was made.
    model = SimpleNamespace(columns=None, found={"feature_names": ["g2", "g0"]})
    rows, names, _ = _read_cells(model, path)
    assert np.allclose(rows.toarray(), [[0.8, 0.6], [0, 0], [0, 1]]) and names[0] == "c0"
    model.found = {"feature_names": embedded.feature_names}
    assert np.array_equal(_read_cells(model, path)[0], pca)
    with h5py.File(path, "r+") as file:
        file["layers/counts"] = 2 * X.toarray()
    layered = read_input(path, "kind", x="layers:counts")
    assert layered.feature_names == [f"layers:counts[{g}]" for g in genes]
    model.found = {"feature_names": layered.feature_names}  # not X, which has the same genes
    assert np.array_equal(_read_cells(model, path)[0], 2 * X.toarray())
    model.found = {"feature_names": ["g9"]}
    with pytest.raises(InputError, match="1 genes of the model are missing .g9."):
        _read_cells(model, path)
    # The answer in obs: readable again, all other columns as they were.
    write_labels(path, tmp_path / "out.h5ad", "kind", ["t", "b", "t"], [1, 1, 0.7], "kind_c")
    assert read_input(tmp_path / "out.h5ad", n_clusters=2).X.shape == (3, 3)
    with h5py.File(tmp_path / "out.h5ad") as file:
        assert file["obs/kind"].asstr()[:].tolist() == ["t", "b", "t"]
        assert list(file["obs"].attrs["column-order"]) == ["kind", "age", "kind_c"]


def test_cells_marked_unknown(tmp_path):
    """scANVI's convention."""
    path = tmp_path / "cells.h5ad"
    write_h5ad(path, np.eye(6), {"kind": ["t", "b", "t", "b"] + ["Unknown"] * 2}, list("abcdef"))
    found = read_input(path, "kind")
    assert found.classes == ["b", "t"] and len(found.labeled) == 4
    assert "2 rows are marked 'Unknown'" in " ".join(found.sentences)
