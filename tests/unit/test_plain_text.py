"""What a file says must not command a spreadsheet or a terminal."""

import pandas as pd
import pytest
from _labeling_material import saved
from typer.testing import CliRunner

from _resealed import change_file
from fewfold.cli import app, say
from fewfold.labeling.prediction import predict
from fewfold.system.plain_text import guarded, guarded_table, printable

FORMULAS = ["=1+0", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_guarded(text):
    assert guarded(text) == f"'{text}"
    table = guarded_table(pd.DataFrame({text: ["a", text], "value": [-1.5, 2.0]}))
    assert table.columns[0] == table.iloc[1, 0] == f"'{text}"
    assert table["value"].tolist() == [-1.5, 2.0]


@pytest.mark.parametrize("text", ["-3.5", "+1e9", "rose", "", "a=b", -2, None, True])
def test_other_cells_stay(text):
    assert guarded(text) is text


def test_predictions_are_guarded_only_if_asked_for(tmp_path):
    task, _, path = saved(tmp_path)
    change_file(path, arrays={"classes": ["=1+0", "@b", "c"]})
    import numpy as np

    np.save(tmp_path / "new.npy", task.X[:20])
    for safe in (False, True):
        predict(path, tmp_path / "new.npy", tmp_path / "out.csv", spreadsheet_safe=safe)
        labels = set(pd.read_csv(tmp_path / "out.csv")["label"])
        assert ("'=1+0" in labels) is safe and ("=1+0" in labels) is not safe


def test_commands_have_the_option():
    for command in ("label", "predict"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
        assert "--spreadsheet-safe" in shown.output


@pytest.mark.parametrize("bad", ["\x1b[2J", "\x07", "\x9b31m", "\u202e", "\r", "\x00"])
def test_terminals_get_no_control_characters(bad, capsys):
    say(f"name {bad}\n\té 百合")
    said = capsys.readouterr().out
    assert bad not in said and said.endswith("\n\té 百合\n")
    assert printable("é 百合 👍") == "é 百合 👍"
