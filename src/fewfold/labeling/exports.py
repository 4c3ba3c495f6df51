"""Labels in the formats of other tools: Label Studio, Prodigy, Argilla, embedding-atlas."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fewfold import __version__
from fewfold.datasets.table.vectors import holds_vectors
from fewfold.exceptions import InputError
from fewfold.labeling.completed import Completed
from fewfold.pipeline.artifacts import atomic_path, read
from fewfold.system.plain_text import guarded_table

MOST_SHOWN = 200  # columns of the user beside the rows to label next
VERSION = f"fewfold {__version__}"


@dataclass(frozen=True)
class Answered:
    """Data of an export.

    Attributes
    ----------
    source : Completed
        The user's file.
    table : DataFrame
        labels.csv, labels as text.
    summary : dict
    results : Path
        The folder of the stage files.
    """

    source: Completed
    table: pd.DataFrame
    summary: dict
    results: Path

    @property
    def target(self) -> str:
        """The name of the question."""
        return self.source.target or "label"

    def records(self) -> list[dict]:
        """The user's rows without the target, as plain values; of other files their names."""
        frame, id_name = self.source.rows(), self.table.columns[0]
        if frame is None:
            return [{id_name: str(v)} for v in self.table[id_name]]
        frame = frame.drop(columns=self.source.target, errors="ignore")
        return json.loads(frame.to_json(orient="records", date_format="iso", force_ascii=False))

    def proba(self) -> np.ndarray:
        """Probabilities of the classes."""
        with read(self.results / "label/answer.h5", "label_rows") as file:
            return file["proba"]


@dataclass(frozen=True)
class Extra:
    """An additional output file: its name, a description, and the function that writes it."""

    name: str
    words: str
    write: Callable[[Path, Answered], None]


@dataclass(frozen=True)
class Extras:
    """The user's file, and the further files to write from it."""

    source: Completed
    files: list
    spreadsheet_safe: bool = False

    def write(self, folder: Path, table, summary, results) -> dict:
        """Write all files into a folder; returns their paths by name."""
        answered = Answered(self.source, table, summary, results)
        for file in self.files:
            file.write(folder / file.name, answered)
        return {file.name: folder / file.name for file in self.files}

    def advice(self, path: Path, out: Path) -> Path:
        """Put the user's own values beside the rows to label next; returns the table's path."""
        own, table = self.source.rows(written=True), pd.read_csv(path, dtype=str)
        if own is None or not len(table):
            return path
        own = own.iloc[table["row_number"].astype(int) - 1].reset_index(drop=True)
        skipped = {self.source.target, table.columns[1]}
        # Lists of numbers do not help a reader.
        shown = [n for n in own.columns if n not in skipped and not holds_vectors(own[n])]
        own = own[shown[:MOST_SHOWN]].convert_dtypes()
        own = own.rename(columns={n: f"{n}_" for n in own.columns if n in table})
        own = guarded_table(own) if self.spreadsheet_safe else own
        with atomic_path(out) as part:
            pd.concat([table, own], axis=1).to_csv(part, index=False)
        return out


def extra_files(
    completed: Completed, also: Sequence[str], task: str, spreadsheet_safe: bool = False
) -> Extras:
    """Return the files to write besides those of the workflow.

    Parameters
    ----------
    completed : Completed
    also : sequence of str
        Names of `EXPORTS`.
    task : str
        What is predicted; numbers have no probabilities.
    spreadsheet_safe : bool
        Put an apostrophe before texts that look like formulas.
    """
    unknown = [name for name in also if name not in EXPORTS]
    if unknown:
        raise InputError(f"--also {unknown[0]}: not known. Allowed: {', '.join(EXPORTS)}.")
    if task == "regression" and "probabilities" in also:
        raise InputError("--also probabilities: the target is a number, which has none.")
    found = []
    if completed.name is not None:
        whole = Extra(
            completed.name,
            "Your table with all labels",
            lambda path, answered: completed.write(path, answered.table),
        )
        found.append(whole)
    files = [*found, *(EXPORTS[name] for name in dict.fromkeys(also))]
    return Extras(completed, files, spreadsheet_safe)


def _probabilities(path, answered):
    proba, names = answered.proba(), answered.summary["classes"]
    table = answered.table[[answered.table.columns[0], "label"]].copy()
    for j, name in enumerate(names):
        table[f"p({name})"] = np.round(proba[:, j], 4)
    with atomic_path(path) as part:
        table.to_csv(part, index=False)


def _rows(answered):
    """Each row with its label, confidence and whether it was given."""
    table = answered.table
    sure = [None if c != c else round(float(c), 4) for c in table["confidence"]]
    labels = [None if v == "" or v != v else str(v) for v in table["label"]]
    return zip(answered.records(), labels, sure, table["was_labeled"].astype(bool))


def _write_json(path, records, lines):
    with atomic_path(path) as part:
        if lines:
            text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
        else:
            text = json.dumps(records, ensure_ascii=False, indent=1)
        part.write_text(text, encoding="utf-8")


def _label_studio(path, answered):
    tasks = []
    for data, label, sure, given in _rows(answered):
        result = [{"from_name": "label", "to_name": "row", "type": "choices",
                   "value": {"choices": [label]}}]  # fmt: skip
        task = {"data": data}
        if label is not None and given:
            task["annotations"] = [{"result": result}]
        elif label is not None:
            task["predictions"] = [{"model_version": VERSION, "score": sure, "result": result}]
        tasks.append(task)
    _write_json(path, tasks, lines=False)


def _prodigy(path, answered):
    options = [{"id": c, "text": c} for c in answered.summary["classes"] or ()]
    records = []
    for data, label, sure, given in _rows(answered):
        shown = {k: data[k] for k in ("text", "image", "html") if k in data}
        text = "; ".join(f"{k}: {v}" for k, v in data.items())
        record = {**(shown or {"text": text}), "options": options, "accept": [label] * bool(label),
                  "meta": {**data, "score": sure}}  # fmt: skip
        records.append({**record, "answer": "accept"} if given else record)
    _write_json(path, records, lines=True)


def _argilla(path, answered):
    records = []
    for i, (data, label, sure, given) in enumerate(_rows(answered)):
        question = answered.target
        suggested = [{"question_name": question, "value": label, "score": sure, "agent": VERSION}]
        said = [{"question_name": question, "value": label, "user_id": "given",
                 "status": "submitted"}]  # fmt: skip
        records.append(
            {
                "id": str(answered.table.iloc[i, 0]),
                "fields": {k: "" if v is None else str(v) for k, v in data.items()},
                "suggestions": suggested if label is not None and not given else [],
                "responses": said if given else [],
            }
        )
    _write_json(path, records, lines=True)


def _embedding_atlas(path, answered):
    """One row per row of the map: x, y, neighbors (ids and distances), label, confidence."""
    import pyarrow as pa
    from pyarrow import parquet

    from fewfold.labeling.prepared import read_prepared

    files = {path.stem: path for path in sorted((answered.results / "graphs").glob("*.h5"))}
    prepared = read_prepared(answered.results / "label/prepared.h5", files, len(answered.table))
    shown, places = prepared.shown, prepared.positions
    frame = pd.DataFrame(answered.records()).iloc[shown].reset_index(drop=True)
    frame = frame.drop(columns=["x", "y", "neighbors", "label", "confidence"], errors="ignore")
    table = answered.table.iloc[shown]
    columns = {
        "row": pa.array(shown.astype(np.int64)),
        "x": pa.array(places[:, 0].astype(float)),
        "y": pa.array(places[:, 1].astype(float)),
        "label": pa.array([str(v) for v in table["label"]]),
        "confidence": pa.array(table["confidence"].to_numpy(dtype=float)),
        "was_labeled": pa.array(table["was_labeled"].to_numpy(dtype=bool)),
    }
    if prepared.graphs:
        neighbors = prepared.graphs[min(prepared.graphs)].neighbors
        ids, far = neighbors.indices[shown], neighbors.distances[shown]
        kept = np.isin(ids, shown)
        columns["neighbors"] = pa.array(
            [
                {"ids": i[k].tolist(), "distances": d[k].astype(float).tolist()}
                for i, d, k in zip(ids, far, kept)
            ]
        )
    own = pa.Table.from_pandas(frame, preserve_index=False)
    for name in own.column_names:
        columns.setdefault(name, own[name])
    with atomic_path(path) as part:
        parquet.write_table(pa.table(columns), part)


NEEDS_MAP = "embedding-atlas"
EXPORTS = {
    "probabilities": Extra("probabilities.csv", "Probabilities of all classes", _probabilities),
    "label-studio": Extra("label-studio.json", "Tasks for Label Studio", _label_studio),
    "prodigy": Extra("prodigy.jsonl", "Tasks for Prodigy", _prodigy),
    "argilla": Extra("argilla.jsonl", "Records for Argilla", _argilla),
    NEEDS_MAP: Extra(
        "embedding-atlas.parquet",
        "For embedding-atlas (--x x --y y --neighbors neighbors)",
        _embedding_atlas,
    ),
}
