"""Output files of a session: all labels, the answers, and the status of the promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.labeling.completed import Completed
from fewfold.pipeline.artifacts import atomic_path
from fewfold.session.opening import FOLDER, OTHER_TARGET, Opened, completed_table

ANSWERS = "answers.csv"


def write_answers(opened: Opened) -> list[Path]:
    """Write labels.csv, answers.csv and, of a table, the completed and the answered copy.

    The user's own file is only read. With a promise whose labels are fixed, the labels are those
    it is about: fixed ones, and the answers.

    Returns
    -------
    list of Path
    """
    session, folder = opened.session, opened.folder / FOLDER
    labels, confidence = session.labels()
    if session.record.promises:
        labels = session.record.final_labels()
    table = completed_table(opened, labels, confidence)
    written = [write_csv(folder / "labels.csv", table)]
    written.append(write_csv(folder / ANSWERS, answers_table(opened)))
    written += _copies(opened, table)
    state = session.promise()
    if state is not None:
        written.append(write_promise(folder, state))
    return written


def write_promise(folder: Path, state) -> Path:
    """Write the status of a promise, with the rows (counted from 1) to label by hand."""
    rows = [] if state.doubtful is None or state.kind == "kept" else state.doubtful
    words = {"kind": state.kind, "words": state.words(), "share": state.share,
             "level": state.level, "answers_left": state.answers_left,
             "rows_for_a_person": [int(row) + 1 for row in rows]}  # fmt: skip
    with atomic_path(folder / "promise.json") as part:
        part.write_text(json.dumps(words, indent=1), encoding="utf-8")
    return folder / "promise.json"


def _copies(opened, table):
    """Write the user's table with all labels, and with the given ones only."""
    path, target = opened.path, opened.target
    if path.is_dir() or opened.intake.frame is None or target is None:
        return []
    if target not in opened.intake.frame.columns and not _has_column(path, target):
        return []
    source = Completed(path, target)
    if source.name is None:
        return []
    written = []
    known = opened.session.record.answers >= 0
    answered = table.assign(label=table["label"].where(known, ""), confidence=np.nan)
    for name, rows in (
        (source.name, table),
        (source.name.replace("completed", "answered"), answered),
    ):
        source.write(opened.folder / FOLDER / name, rows)
        written.append(opened.folder / FOLDER / name)
    return written


def _has_column(path, target):
    from fewfold.datasets import frames

    return target in frames.column_names(path)


def answers_table(opened: Opened) -> pd.DataFrame:
    """Return the answers, in the order in which they were given."""
    record = opened.session.record
    rows = [
        {
            "row_number": row + 1,
            "id": opened.views.name(row),
            opened.target or OTHER_TARGET: event.get("class", ""),
            "not_sure": "class" not in event,
            "label_before": event.get("guess", ""),
            "why": event.get("why", ""),
            "probability": event.get("probability", np.nan),
            "flagged": row in record.flagged,
            "by": event.get("by", ""),
        }
        for row, event in sorted(record.answered.items(), key=lambda item: item[1]["id"])
    ]
    columns = ["row_number", "id", opened.target or OTHER_TARGET, "not_sure", "label_before", "why",
               "probability", "flagged", "by"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def write_csv(path: Path, table: pd.DataFrame) -> Path:
    """Write a table atomically."""
    with atomic_path(path) as part:
        table.to_csv(part, index=False)
    return path
