"""Outputs of a labeling run: tables, rows to label next, warnings, a summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from fewfold.exceptions import ArtifactError
from fewfold.labeling import warnings_
from fewfold.labeling.advice import rows_to_label
from fewfold.labeling.prepared import Prepared, read_prepared
from fewfold.labeling.results import labels_table
from fewfold.methods.members import ROWS_GRAPH
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.stage_files import Features, Labels, check_rows, read_features, read_labels
from fewfold.pipeline.stage_schemas import LABEL_TABLE


@dataclass(frozen=True)
class Material:
    """The stage files from which the outputs are made."""

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
    thumbnails: np.ndarray | None = None

    @classmethod
    def read(cls, files: dict, prepared: Prepared | None = None) -> Material:
        """Read the files: features, labels, prepared, graphs, table, answer, and the model."""
        with read(files["answer"], "label_rows") as file:
            answer = {name: file[name] for name in file.names()}
            keys = ("comparison", "task", "warnings", "calibration_error")
            notes = {key: file.note(key) for key in keys}
        with read(files["table"], layout.LABEL_COMMAND, schema=LABEL_TABLE) as file:
            ids, thumbnails = file.get("ids"), file.get("thumbnails")
            keys = ("id_name", "columns", "preparation", "sentences", "target", "file", "warnings")
            table = {key: file.note(key) for key in keys}
        features, truth = read_features(files["features"]), read_labels(files["labels"])
        if prepared is None:
            n_rows = features.X.shape[0]
            prepared = read_prepared(files["prepared"], files.get("graphs", {}), n_rows)
        size = Path(files["model"]).stat().st_size if files.get("model") else None
        found = cls(
            answer, notes, features, truth, prepared.graphs[ROWS_GRAPH], ids, table,
            prepared.shown, prepared.positions, size, thumbnails,
        )  # fmt: skip
        found.check()
        return found

    def check(self) -> None:
        """Raise an error for files of different rows or classes."""
        n = self.features.X.shape[0]
        counts = {"answer": len(self.answer["label"]), "labels": len(self.truth.y),
                  "graph": self.graph.W.shape[0]}  # fmt: skip
        if self.ids is not None:
            counts["table"] = len(self.ids)
        if self.thumbnails is not None:
            counts["thumbnails"] = len(self.thumbnails)
        if self.shown is not None and len(self.shown):
            counts["picture"] = n if self.shown.max() < n else int(self.shown.max()) + 1
        check_rows((name, count, n) for name, count in counts.items())
        if self.classes is not None:
            known = len(self.classes)
            codes = [self.answer[name] for name in ("label", "second")]
            fits = all(c.dtype.kind in "iu" and (c < known).all() for c in codes)
            table = self.notes["comparison"].get("confusion")
            if table is not None and [len(row) for row in table] != [known] * known:
                fits = False
            if not fits or self.answer["proba"].shape[1] != known:
                raise ArtifactError(
                    f"The file of the answer names other classes than the {known} of the labels. "
                    "Move it away and run again."
                )

    @property
    def classes(self) -> list | None:
        """Names of the classes; None for numbers."""
        return None if self.notes["task"] == "regression" else self.truth.classes

    def name_of(self, row: int) -> str:
        """Name of a row: its id, or its number counted from 1."""
        return self.ids[row] if self.ids is not None else str(row + 1)


@dataclass(frozen=True)
class Finished:
    """Results in readable form."""

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
        warnings += warnings_.unlabeled_components(material.graph.component, truth.y)
        warnings += warnings_.off_the_labeled(material.graph.scales, truth.y)
        for check in (warnings_.skewed_labels, warnings_.classes_not_answered):
            warnings += check(truth.y, answer["label"], material.classes)
    for name, status in notes["comparison"].get("failed", {}).items():
        warnings.append(
            warnings_.note("fit", f"The candidate {name} was left out: {status.rstrip('.')}.")
        )
    given = answer["given"].astype(bool)
    advised = rows_to_label(
        material.features.X,
        _uncertainty(answer),
        material.graph.scales,
        known=np.flatnonzero(given),
    )
    summary = {
        "file": material.table["file"],
        "target": material.table["target"],
        "task": notes["task"],
        "n_rows": len(given),
        "n_given": int(given.sum()),
        "n_labeled": int((~given & (table["label"].astype(str) != "")).sum()),
        "n_left_empty": int((table["label"].astype(str) == "").sum()),
        "comparison": {"reason": None, "trivial": None, **notes["comparison"]},
        "calibration_error": notes["calibration_error"],
        "warnings": warnings,
        "model_bytes": material.model_bytes,
        "classes": material.classes,
    }
    return Finished(table, warnings, summary, advised)


def _uncertainty(answer) -> np.ndarray:
    """Uncertainty of each label, 0 to 1; for regression by the width of the intervals."""
    if "confidence" in answer:
        return 1 - answer["confidence"]
    width = answer["high"] - answer["low"]
    known = np.isfinite(width)
    return np.where(known, width / max(np.max(width[known], initial=0.0), 1e-300), 1.0)


def advise(material: Material, finished: Finished) -> pd.DataFrame:
    """Return the rows to label next as a table, best first."""
    rows = finished.advised
    table = finished.table.iloc[rows].drop(columns=["was_labeled"]).copy()
    table.insert(0, "row_number", rows + 1)
    table = table.rename(columns={"label": "label_now"})
    return table


def original_numbers(material: Material, rows) -> dict[str, np.ndarray]:
    """Return the numbers of some rows as they are in the file, by column.

    NaN where the cell is empty, in columns with a feature that says so.
    """
    X, names = material.features.X, material.features.feature_names
    if material.table["columns"] is None or names is None:
        return {}
    place = {name: j for j, name in enumerate(names)}
    plan, found = material.table["preparation"], {}
    if plan is None:
        for c in material.table["columns"]:
            if c["kind"] == "number" and c["name"] in place:
                values = np.asarray(X[rows, place[c["name"]]], dtype=float)
                found[c["name"]] = values / c["factor"] + c["offset"]
        return found
    for c in plan["columns"]:
        if c["type"] == "number" and c["name"] in place:
            values = X[rows, place[c["name"]]] * c["scale"] + c["mean"]
            if c.get("quantiles"):  # scores of ranks
                ranks = ndtr(values) * len(c["quantiles"]) - 0.5
                values = np.interp(ranks, np.arange(len(c["quantiles"])), c["quantiles"])
            if c["missing"] is not None:
                values = np.where(X[rows, place[c["name"]] + 1] > 0, np.nan, values)
            found[c["name"]] = values
    return found
