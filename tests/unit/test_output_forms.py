"""Every form of output in the table holds what it says."""

from pathlib import Path

import pandas as pd
import pytest
from _output_forms import CSV, FORMS, N, answer, cells, page, write

from fewfold.exceptions import InputError
from fewfold.labeling.completed import Completed, write_table
from fewfold.labeling.exports import extra_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_form(form, tmp_path):
    form.check(write(form, tmp_path))


def test_the_page_is_what_its_command_writes():
    assert (ROOT / "docs/outputs.md").read_text(encoding="utf-8") == page()


def test_cells_are_not_made_of_a_table(tmp_path):
    with pytest.raises(InputError, match="only be written from an .h5ad"):
        assert Completed(CSV(tmp_path), "species", wanted=Path("done.h5ad")).name
    assert Completed(cells(tmp_path), "species", wanted=Path("done.h5ad")).name == "completed.h5ad"


def test_rows_to_label_next_hold_the_users_own_values(tmp_path):
    path = tmp_path / "my.csv"
    lines = ["id,confidence,price,note,species"]
    lines += [f't{i},0.1,"1.{i:03d},50 €",=A{i},{"ash" if i < 3 else ""}' for i in range(N)]
    lines[8] = "t7,,NA,,"
    path.write_text("\n".join(lines))
    advised = tmp_path / "advised.csv"
    rows = pd.DataFrame({"row_number": [8, 5], "id": ["t7", "t4"], "confidence": [0.5, 0.6]})
    rows.to_csv(advised, index=False)
    for safe in (False, True):
        extras = extra_files(Completed(path, "species"), (), "classification", safe)
        found = pd.read_csv(extras.advice(advised, tmp_path / "out.csv"), keep_default_na=False)
        assert list(found) == ["row_number", "id", "confidence", "confidence_", "price", "note"]
        assert found["price"].tolist() == ["NA", "1.004,50 €"]  # neither imputed nor rounded
        assert found["note"].tolist() == ["", "'=A4" if safe else "=A4"]


def test_predictions_by_the_name_of_the_file(tmp_path):
    from fewfold.labeling.prediction import _write

    table = answer()
    for name in ("p.csv", "p.parquet", "p.xlsx", "p.txt.gz", "plain"):
        _write(table, tmp_path / name, "my.csv")
    assert pd.read_parquet(tmp_path / "p.parquet")["label"].tolist() == table["label"].tolist()
    assert len(pd.read_csv(tmp_path / "plain")) == N
    _write(table, tmp_path / "p.h5ad", cells(tmp_path))
    with pytest.raises(InputError, match="only rows of an .h5ad"):
        _write(table, tmp_path / "p.h5ad", "my.csv")


def test_texts_that_look_like_formulas_stay_texts_in_excel(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="of the extra excel; runs in CI")
    table = pd.DataFrame({"=HEAD()": ["=1+1", "plain"], "n": [1.5, 2.0]})
    write_table(table, tmp_path / "t.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert [cell.data_type for row in sheet.iter_rows() for cell in row] == list("sssnsn")
    assert sheet["A2"].value == "=1+1"
