"""What a labeling run hands over: tables, advice, warnings, a summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fewfold.exceptions import ArtifactError
from fewfold.labeling import warnings_
from fewfold.labeling.advice import rows_to_label
from fewfold.labeling.prepared import read_prepared
from fewfold.labeling.results import labels_table
from fewfold.methods.members import ROWS_GRAPH
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.stage_files import Features, Labels, read_features, read_labels
from fewfold.pipeline.stage_schemas import LABEL_TABLE


@dataclass(frozen=True)
class Material:
    """The stage files that the answer is made from."""

    answer: dict
    notes: dict
    features: Features
    truth: Labels
    graph: Any
    ids: list | None
    table: dict
    shown: np.ndarray | None = None
    positions: np.ndarray | None = None
    model_bytes: int | None = None

    @classmethod
    def read(cls, files: dict) -> Material:
        """Read the files: features, labels, prepared, graphs, table, answer, and the model."""
        with read(files["answer"], "label_rows") as file:
            answer = {name: file[name] for name in file.names()}
            keys = ("comparison", "task", "warnings", "calibration_error")
            notes = {key: file.note(key) for key in keys}
        with read(files["table"], layout.LABEL_COMMAND, schema=LABEL_TABLE) as file:
            ids = file.get("ids")
            keys = ("id_name", "columns", "sentences", "target", "file", "warnings")
            table = {key: file.note(key) for key in keys}
        features, truth = read_features(files["features"]), read_labels(files["labels"])
        prepared = read_prepared(files["prepared"], files.get("graphs", {}), features.X.shape[0])
        size = Path(files["model"]).stat().st_size if files.get("model") else None
        found = cls(
            answer, notes, features, truth, prepared.graphs[ROWS_GRAPH], ids, table,
            prepared.shown, prepared.positions, size,
        )  # fmt: skip
        found.check()
        return found

    def check(self) -> None:
        """Refuse files that are not about the same rows and classes."""
        n = self.features.X.shape[0]
        counts = {"answer": len(self.answer["label"]), "labels": len(self.truth.y),
                  "graph": self.graph.W.shape[0]}  # fmt: skip
        if self.ids is not None:
            counts["table"] = len(self.ids)
        if self.shown is not None and len(self.shown):
            counts["picture"] = n if self.shown.max() < n else int(self.shown.max()) + 1
        faults = [
            f"{k} is about {v} rows, the features have {n}" for k, v in counts.items() if v != n
        ]
        if self.classes is not None:
            known = len(self.classes)
            codes = [self.answer[name] for name in ("label", "second")]
            fits = all(c.dtype.kind in "iu" and (c < known).all() for c in codes)
            table = self.notes["comparison"].get("confusion")
            if table is not None and [len(row) for row in table] != [known] * known:
                fits = False
            if not fits or self.answer["proba"].shape[1] != known:
                faults.append(f"answer names other classes than the {known} of the labels")
        for fault in faults:
            raise ArtifactError(f"The file of the {fault}. Move it away and run again.")

    @property
    def classes(self) -> list | None:
        """Names of the classes; None for numbers."""
        return None if self.notes["task"] == "regression" else self.truth.classes

    def name_of(self, row: int) -> str:
        """What a row is called: its id, or its number counted from 1."""
        return self.ids[row] if self.ids is not None else str(row + 1)


@dataclass(frozen=True)
class Finished:
    """The answer in the form people read."""

    table: pd.DataFrame
    warnings: list
    summary: dict
    advised: np.ndarray


def finish(material: Material, *, abstain=None) -> Finished:
    """Make the table of labels, collect the warnings, and choose the rows to label next."""
    answer, notes, truth = material.answer, material.notes, material.truth
    table = labels_table(answer, material.classes, material.ids, material.table["id_name"], abstain)
    warnings = [*material.table["warnings"], *notes["warnings"]]
    if notes["task"] == "classification":
        warnings += warnings_.unlabelled_components(material.graph.component, truth.y)
        warnings += warnings_.off_the_labelled(material.graph.scales, truth.y)
        warnings += warnings_.skewed_labels(truth.y, answer["label"], material.classes)
    for name, status in notes["comparison"].get("failed", {}).items():
        warnings.append(warnings_.note("fit", f"The candidate {name} took no part: {status}."))
    given = answer["given"].astype(bool)
    advised = np.empty(0, dtype=np.int64)
    if notes["task"] != "regression":
        advised = rows_to_label(
            material.features.X,
            1 - answer["confidence"],
            material.graph.scales,
            known=np.flatnonzero(given),
        )
    summary = {
        "file": material.table["file"],
        "target": material.table["target"],
        "task": notes["task"],
        "n_rows": len(given),
        "n_given": int(given.sum()),
        "n_labelled": int((~given & (table["label"].astype(str) != "")).sum()),
        "n_left_empty": int((table["label"].astype(str) == "").sum()),
        "comparison": {"reason": None, "trivial": None, **notes["comparison"]},
        "calibration_error": notes["calibration_error"],
        "warnings": warnings,
        "model_bytes": material.model_bytes,
        "classes": material.classes,
    }
    return Finished(table, warnings, summary, advised)


def advise(material: Material, finished: Finished) -> pd.DataFrame:
    """Return the rows to label next as a table, best first."""
    rows = finished.advised
    table = finished.table.iloc[rows].drop(columns=["was_labeled"]).copy()
    table.insert(0, "row_number", rows + 1)
    table = table.rename(columns={"label": "label_now"})
    columns = material.table["columns"]
    if columns is not None and material.features.image_shape is None:
        X = material.features.X[rows]
        names = material.features.feature_names or []
        for j, name in enumerate(names[:20]):
            if name in {c["name"] for c in columns if c["kind"] == "number"}:
                c = next(c for c in columns if c["name"] == name)
                table[name] = np.round(X[:, j] / c["factor"] + c["offset"], 6)
    return table
