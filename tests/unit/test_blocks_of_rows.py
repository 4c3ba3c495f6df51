"""Tables that are read, and new rows that are labeled, block by block."""

import numpy as np
import pandas as pd
import pytest

from fewfold import DiffusionClassifier
from fewfold.datasets import frames
from fewfold.exceptions import InputError
from fewfold.graph import neighbors
from fewfold.labeling import label, model_file, predict

WORDS = ["plain", 'with "quotes"', "two\nlines", "a,b", ""]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 400)
    return pd.DataFrame(
        {
            "size": 3.0 * kind + rng.normal(size=400),
            "mass": kind + rng.normal(size=400),
            "word": [WORDS[i % 5] for i in range(400)],
            "species": np.where(rng.random(400) < 0.2, np.array(["a", "b"])[kind], ""),
        }
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet", "csv.gz"])
def test_blocks_together_are_the_table(table, tmp_path, monkeypatch, suffix):
    path = tmp_path / f"my.{suffix}"
    table.to_parquet(path) if suffix == "parquet" else table.to_csv(path, index=False)
    whole = frames.read_frame(path, text_columns=["word"])
    monkeypatch.setattr(frames, "BLOCK_ROWS", 37)
    monkeypatch.setattr(frames, "BLOCK_BYTES", 600)
    blocks = list(frames.read_blocks(path, text_columns=["word"]))
    assert len(blocks) > 5 and max(map(len, blocks)) < 60
    both = [frame.astype(object).fillna("") for frame in (pd.concat(blocks), whole)]
    assert both[0].to_numpy().tolist() == both[1].to_numpy().tolist()


def test_a_table_without_rows_has_no_block(tmp_path):
    (tmp_path / "none.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="2 columns.*no data row"):
        list(frames.read_blocks(tmp_path / "none.csv"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(1)
    kind = np.arange(300) % 2
    frame = pd.DataFrame({"size": 3.0 * kind + rng.normal(size=300), "mass": rng.normal(size=300)})
    frame["species"] = np.where(np.arange(300) < 60, np.array(["a", "b"])[kind], "")
    folder = tmp_path_factory.mktemp("model")
    return label(frame, "species", out=folder / "out", methods=["diffusion", "trees"]).model


def test_new_rows_are_labeled_alike_in_blocks(model, table, tmp_path, monkeypatch):
    path = tmp_path / "new.csv"
    table.to_csv(path, index=False)
    whole = predict(model, path)
    monkeypatch.setattr(frames, "BLOCK_BYTES", 600)
    monkeypatch.setattr(model_file, "_BLOCK_ROWS", 7)
    pd.testing.assert_frame_equal(predict(model, path), whole)


def test_a_wrong_cell_of_a_later_block_is_named_by_its_row_in_the_file(
    model, table, tmp_path, monkeypatch
):
    path = tmp_path / "new.csv"
    wrong = table.drop(columns="word").astype({"size": object})
    wrong.loc[250, "size"] = "many"
    wrong.to_csv(path, index=False)
    monkeypatch.setattr(frames, "BLOCK_BYTES", 600)
    with pytest.raises(InputError, match=r"row 251 \(line 252\), column 'size'"):
        predict(model, path)


def test_rows_of_a_graph_are_sorted_once_for_all_batches(monkeypatch):
    from fewfold.graph import lists

    monkeypatch.setattr(neighbors, "_HANDFUL", 5)
    built = []
    build = lists.build_index
    monkeypatch.setattr(lists, "build_index", lambda *a, **k: built.append(1) or build(*a, **k))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)).astype(np.float32)
    y = np.where(np.arange(900) < 50, (X[:, 0] > 0).astype(int), -1)
    options = {"graph_options": {"method": "approximate"}}
    model = DiffusionClassifier(**options).fit(X, y)
    built.clear()
    new = rng.normal(size=(60, 3)).astype(np.float32)
    parts = np.concatenate([model.predict_proba(new[s : s + 20]) for s in (0, 20, 40)])
    assert len(built) == 1
    whole = DiffusionClassifier(**options).fit(X, y).predict_proba(new)
    np.testing.assert_allclose(parts, whole, atol=1e-6)
