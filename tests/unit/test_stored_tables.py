"""Tables larger than what is held: their columns are read one by one, and mean the same."""

import numpy as np
import pandas as pd
import pytest

from fewfold.datasets import frames, stored_tables
from fewfold.datasets.stored_tables import StoredTable
from fewfold.datasets.table.loading import load_file
from fewfold.exceptions import InputError
from fewfold.labeling.intake import read_input

N = 400


@pytest.fixture
def is_large(monkeypatch):
    """Take every table for a large one, and cut its text into blocks of a few rows."""
    monkeypatch.setattr(frames, "LARGE_BYTES", 0)
    monkeypatch.setattr(stored_tables, "BLOCK_BYTES", 600)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    late = np.arange(N) > 300
    return pd.DataFrame(
        {
            "whole_then_not": np.where(late, rng.random(N), rng.integers(0, 9, N)),
            "number_then_word": [f"w{i % 3}" if i > 300 else f"{i % 3:02d}" for i in range(N)],
            "empty_then_number": np.where(late, rng.random(N), np.nan),
            "empty_then_word": [["a", "b"][i % 2] if i > 200 else None for i in range(N)],
            "gaps": np.where(rng.random(N) < 0.1, np.nan, np.arange(N) % 7),
            "date": pd.date_range("2020-01-01", periods=N).astype(str),
            "price": [f"{i % 50},5 €" for i in range(N)],
            "always": 3,
            "never": None,
            "text": [f'line {i}\n"said" a, b and {i % 7}' for i in range(N)],
            "y": [["no", "007", None][i % 3] for i in range(N)],
        }
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet", "tsv"])
def test_columns_mean_what_they_mean_in_a_small_table(table, tmp_path, is_large, suffix, request):
    path = tmp_path / f"my.{suffix}"
    if suffix == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep={"csv": ",", "tsv": "\t"}[suffix])
    large = read_input(path, "y")
    assert isinstance(large.frame, StoredTable)
    run = load_file(path, "y", scale="standard", features=["gaps", "price", "empty_then_word"])
    request.getfixturevalue("monkeypatch").setattr(frames, "LARGE_BYTES", 1 << 28)
    small = read_input(path, "y")
    assert large.plan == small.plan and large.sentences == small.sentences
    np.testing.assert_array_equal(large.X, small.X)
    np.testing.assert_array_equal(large.y, small.y)
    again = load_file(path, "y", scale="standard", features=["gaps", "price", "empty_then_word"])
    np.testing.assert_array_equal(run.X, again.X)
    assert run.notes == again.notes and run.feature_names == again.feature_names


def test_a_wrong_line_is_named_as_in_a_small_table(table, tmp_path, is_large, monkeypatch):
    path = tmp_path / "my.csv"
    lines = [f"{i}.5,{i},{'ab'[i % 2]}" for i in range(N)]
    lines[300] = "1,2"
    path.write_text("a,b,y\n" + "\n".join(lines))
    with pytest.raises(InputError, match=r"line 302 \(row 301\): 2 values found, 3 expected"):
        read_input(path, "y")
    lines[300] = "1,many,a"
    path.write_text("a,b,y\n" + "\n".join(lines))
    with pytest.raises(InputError, match=r"row 301 \(line 302\), column 'b': found 'many'"):
        read_input(path, "y")


def test_the_stored_columns_are_removed_with_the_table(table, tmp_path, is_large):
    path = tmp_path / "my.csv"
    table.to_csv(path, index=False)
    opened = frames.open_table(path, text_columns=["y"])
    folder = opened._folder.name
    assert sorted(opened["y"].dropna().unique()) == ["007", "no"]
    del opened
    import gc
    from pathlib import Path

    gc.collect()
    assert not Path(folder).exists()


def test_no_room_for_the_columns_is_one_clear_error(table, tmp_path, is_large, monkeypatch):
    path = tmp_path / "my.csv"
    table.to_csv(path, index=False)
    monkeypatch.setattr(
        stored_tables.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 100})
    )
    with pytest.raises(InputError, match="100 bytes were free.*TMPDIR"):
        frames.open_table(path)
