"""fewfold reproduce on a small config: the run, its table, and draws set from outside."""

import pandas as pd
import pytest

from fewfold.reproduce import command

CONFIG = """
run: {datasets: [digits], methods: [knn], labels: [10], trials: 9}
"""


@pytest.mark.slow
def test_reproduce_runs_and_compares(tmp_path, monkeypatch):
    config = tmp_path / "mbed.yaml"
    config.write_text(CONFIG)
    monkeypatch.setattr(command, "config_of", lambda key: config)
    said = []
    table = command.reproduce(
        "mbed", cores=1, trials=2, out=tmp_path / "out", echo=lambda line: said.append(line)
    )
    written = pd.read_csv(tmp_path / "out/table.csv", keep_default_na=False)
    assert len(written) == len(table) and set(table["status"]) <= {"not run", "published only"}
    metrics = pd.read_csv(tmp_path / "out/results/metrics.csv")
    assert metrics["trial"].nunique() == 2
    assert any("not run" in line for line in said)
    again = command.reproduce(
        "mbed", cores=1, table_only=True, out=tmp_path / "out", echo=said.append
    )
    pd.testing.assert_frame_equal(table, again)
