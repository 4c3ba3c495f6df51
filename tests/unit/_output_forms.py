"""What is written: each form from a small file made here, with what the output must hold.

`docs/outputs.md` is made of this table by ``python tests/unit/_output_forms.py``.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
from _input_forms import N, base, by, npz, text, vectors

from fewfold.labeling.completed import Completed, folder_and_file

LABELS = np.repeat(["ash", "oak"], N // 2)
SURE = np.round(np.linspace(0.5, 1, N), 4)
CSV = text("my.csv")
EURO = text("my.csv", sep=";", decimal=",")
EXCEL = by("to_excel", "my.xlsx", index=False)
PARQUET = by("to_parquet", "my.parquet")
FEATHER = by("to_feather", "my.feather")
JSON = by("to_json", "my.json", orient="records")


@dataclass(frozen=True)
class Output:
    """One form: the input, the name given to --out, and how the output is read and checked."""

    given: str
    write: object
    out: str | None
    holds: str
    check: object
    options: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The row's name."""
        return f"{self.given}, {'no --out' if self.out is None else '--out ' + self.out}"


def answer() -> pd.DataFrame:
    """A labels.csv."""
    given = base()["species"].notna()
    return pd.DataFrame({"row": np.arange(1, N + 1), "label": LABELS, "confidence": SURE,
                         "was_labeled": given, "second_label": ""})  # fmt: skip


def write(form: Output, folder: Path) -> Path:
    """Write the output as `fewfold label` does; returns its path."""
    _, wanted = folder_and_file(None if form.out is None else folder / form.out)
    source = form.write(folder)
    target = form.options.get("target", "species")
    completed = Completed(source, target, wanted=wanted)
    path = folder / completed.name
    completed.write(path, answer())
    return path


def rows(found: pd.DataFrame, own=("width", "height", "soil")) -> None:
    """The user's columns as they were, the target filled in, confidence beside it."""
    for name in own:
        assert found[name].tolist() == base()[name].tolist(), name
    assert found["species"].tolist() == LABELS.tolist()
    assert np.allclose(found["species_confidence"].astype(float), SURE, atol=1e-4)


def same_text(path):
    lines = path.read_text().splitlines()
    before = base().to_csv(index=False).splitlines()
    assert lines[0] == before[0] + ",species_confidence"
    own = [line.rsplit(",", 1)[0] for line in before[1:]]
    assert [line.rsplit(",", 2)[0] for line in lines[1:]] == own
    rows(pd.read_csv(path))


def european(path):
    lines = path.read_text().splitlines()
    assert lines[1].count(";") == 4 and lines[1].split(";")[0].count(",") == 1
    assert [line.split(";")[3] for line in lines[1:]] == LABELS.tolist()


def embedded(path):
    found = pd.read_parquet(path)
    assert len(found["embedding"][0]) == 8 and found["species"].tolist() == LABELS.tolist()


def own_types(path):
    found = pd.read_parquet(path)
    assert found.dtypes["width"] == np.float64
    rows(found)


def titled(path):
    lines = path.read_text().splitlines()
    assert lines[:2] == ["Trees 2024", "sheet 1"] and lines[2].startswith("width,")


def titled_file(folder):
    path = CSV(folder)
    path.write_text("Trees 2024\nsheet 1\n" + path.read_text())
    return path


def table_of_labels(found):
    assert list(found)[:3] == ["row", "label", "confidence"]
    assert found["label"].tolist() == LABELS.tolist()


def cells(folder):
    with h5py.File(folder / "my.h5ad", "w") as file:
        file["X"] = base()[["width", "height"]].to_numpy()
        for group, index in (("obs", range(N)), ("var", range(2))):
            node = file.create_group(group)
            node.attrs["_index"], node.attrs["column-order"] = "_index", np.array([], dtype="S")
            node["_index"] = [f"{group}{i}" for i in index]
        file["obs"]["species"] = base()["species"].fillna("Unknown").tolist()
        file["obs"]["batch"] = np.arange(N)
    return folder / "my.h5ad"


def written_back(path):
    with h5py.File(path) as file:
        assert [v.decode() for v in file["obs/species"]] == LABELS.tolist()
        assert np.allclose(file["obs/species_confidence"][:], SURE)
        assert file["obs/batch"][:].tolist() == list(range(N)) and file["X"].shape == (N, 2)


def zoned(folder):
    frame = base().assign(seen=pd.date_range("2021-03-01", periods=N, tz="Europe/Berlin"))
    frame.to_parquet(folder / "my.parquet")
    return folder / "my.parquet"


def zoned_excel(path):
    found = pd.read_excel(path, engine="calamine")
    rows(found)
    assert found["seen"][0] == "2021-03-01T00:00:00+01:00"


FORMS = [
    Output("CSV", CSV, None, "completed.csv: every other cell as it is written", same_text),
    Output("CSV with semicolons and decimal commas", EURO, None,
           "completed.csv with the same signs", european),
    Output("CSV with lines of a title", titled_file, None, "completed.csv with the title", titled),
    Output("CSV", CSV, "done.csv.gz", "the table, compressed",
           lambda p: rows(pd.read_csv(p)) or gzip.decompress(p.read_bytes())),
    Output("CSV", CSV, "done.tsv", "the table with tabs", lambda p: rows(pd.read_csv(p, sep="\t"))),
    Output("CSV", CSV, "done.parquet", "numbers as numbers", own_types),
    Output("CSV", CSV, "done.feather", "the table", lambda p: rows(pd.read_feather(p))),
    Output("CSV", CSV, "done.xlsx", "a sheet",
           lambda p: rows(pd.read_excel(p, engine="calamine"))),
    Output("CSV", CSV, "done.json", "records",
           lambda p: rows(pd.DataFrame(json.loads(p.read_text())))),
    Output("CSV", CSV, "done.jsonl", "a record per line",
           lambda p: rows(pd.DataFrame([json.loads(s) for s in p.read_text().splitlines()]))),
    Output("Excel", EXCEL, None, "completed.xlsx",
           lambda p: rows(pd.read_excel(p, engine="calamine"))),
    Output("Excel", EXCEL, "done.csv", "the table as text", lambda p: rows(pd.read_csv(p))),
    Output("Parquet", PARQUET, None, "completed.parquet, types as they were", own_types),
    Output("Parquet", PARQUET, "done.csv", "the table as text", lambda p: rows(pd.read_csv(p))),
    Output("Parquet with time zones", zoned, "done.xlsx", "zoned times as text", zoned_excel),
    Output("Parquet with embeddings", vectors, None, "completed.parquet, lists as they were",
           embedded),
    Output("Feather", FEATHER, None, "completed.feather", lambda p: rows(pd.read_feather(p))),
    Output("JSON", JSON, None, "completed.json",
           lambda p: rows(pd.DataFrame(json.loads(p.read_text())))),
    Output("h5ad", cells, None, "completed.h5ad: labels and confidence in obs, the rest as it was",
           written_back),
    Output("h5ad", cells, "done.csv", "a row per cell: name, label, confidence",
           lambda p: table_of_labels(pd.read_csv(p))),
    Output("NPZ", npz, "done.parquet", "a row per row: number, label, confidence",
           lambda p: table_of_labels(pd.read_parquet(p)), {"target": "y"}),
]  # fmt: skip

HEADER = """# What is written

`fewfold label my.csv --target species` writes into `my-labels/` (`--out DIR` for another folder):

| file | holds |
| --- | --- |
| `labels.csv` | `label`, `confidence`, `was_labeled`, `second_label` for each row, with the input's row names; for numbers also `low` and `high` |
| `completed.<kind of the input>` | your table with the column filled in and `<column>_confidence` beside it |
| `label_next.csv` | the rows whose label would help most, best first, with your own values |
| `report.html` | one page that opens offline |
| `model.h5` | for `fewfold predict model.h5 new.csv` |
| `summary.json` | the expected error and more, for programs |
| `probabilities.csv` | `--also probabilities`: of all classes |
| `label-studio.json`, `prodigy.jsonl`, `argilla.jsonl` | `--also label-studio` and so on: tasks with suggested labels and scores; exports of these tools are read as input |
| `embedding-atlas.parquet` | `--also embedding-atlas`: x, y, neighbors, label, confidence of the rows in the map |

`--out` with the name of a table writes the completed table there too, as the kind that the name says; the
folder is then `done-labels/`. `fewfold predict --out` takes the same names. This table is made from
`tests/unit/_output_forms.py`, whose every row is a test; files of other tools are tested in
`tests/workflow/test_completed.py`.

| given | `--out` | holds |
| --- | --- | --- |
"""  # noqa: E501


def page() -> str:
    """Return the documentation page."""
    lines = [f"| {f.given} | {'–' if f.out is None else f'`{f.out}`'} | {f.holds} |" for f in FORMS]
    return HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[2] / "docs/outputs.md"
    target.write_text(page(), encoding="utf-8")
