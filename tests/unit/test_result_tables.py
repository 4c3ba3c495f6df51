"""Tables of results are checked when they are read."""

import numpy as np
import pandas as pd
import pytest

from fewfold.exceptions import ArtifactError
from fewfold.pipeline.result_tables import COLUMNS, read_table, write_table
from fewfold.pipeline.statistics import compare, summarize


@pytest.fixture
def tables(tmp_path):
    """One table of each, as collect_metrics writes them."""
    rows = [
        dict(zip(COLUMNS["metrics"], ("NA", method, 8, trial, 2**31, "transductive", "error",
                                      0.1 * trial / 3 + 0.05, 0.5, 0.0, "ok")))
        for method in ("knn", "none") for trial in range(3)
    ]  # fmt: skip
    rows[1] |= {"value": np.nan, "status": "not converged"}
    found = {"metrics": rows, "summary": summarize(rows), "comparisons": compare(rows)}
    for name, table in found.items():
        write_table(tmp_path / f"{name}.csv", name, table)
    return tmp_path, {name: pd.DataFrame(table) for name, table in found.items()}


@pytest.mark.parametrize("name", COLUMNS)
def test_what_was_written_is_read(tables, name):
    folder, written = tables
    pd.testing.assert_frame_equal(read_table(folder / f"{name}.csv", name), written[name])


@pytest.mark.parametrize("name", COLUMNS)
def test_an_empty_table_is_a_table(tmp_path, name):
    (tmp_path / "a.csv").write_text(",".join(COLUMNS[name]) + "\n")
    assert len(read_table(tmp_path / "a.csv", name)) == 0


CHANGES = {
    "empty": lambda text: "",
    "cut in a line": lambda text: text[: len(text) // 2],
    "other columns": lambda text: text.replace("trial", "draw"),
    "a cell too many": lambda text: text.replace(",ok\n", ",ok,ok\n"),
    "text for a number": lambda text: text.replace(",8,0,", ",eight,0,"),
    "underscores": lambda text: text.replace(",8,0,", ",8_0,0,"),
    "infinite": lambda text: text.replace("0.05", "inf"),
    "negative": lambda text: text.replace(",8,0,", ",-8,0,"),
    "5000 digits": lambda text: text.replace(",8,0,", f",{'9' * 5000},0,"),
    "no name": lambda text: text.replace("knn", ""),
    "NUL": lambda text: text.replace("8", "\0"),
    "not UTF-8": lambda text: text.replace("knn", "k\udcffn"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_damaged_table_is_named_and_made_again(tables, name):
    path = tables[0] / "metrics.csv"
    changed = CHANGES[name](path.read_text())
    path.write_bytes(changed.encode(errors="surrogateescape"))
    with pytest.raises(ArtifactError) as caught:
        read_table(path, "metrics")
    assert caught.value.damaged == path and len(str(caught.value)) < 700
