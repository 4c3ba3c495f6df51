"""A promise checked by answers in a file: for spreadsheets and labeling tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.exceptions import InputError
from fewfold.labeling.publishing import Labeled
from fewfold.labeling.workspace import NAME
from fewfold.pipeline.artifacts import content_digest, read
from fewfold.pipeline.layout import FEATURES, OUTPUTS
from fewfold.session.audit import UNANSWERED
from fewfold.session.promises import MOST_FREEZES, PromiseState, promise_state
from fewfold.session.record import Record
from fewfold.session.writing import write_csv, write_promise

FOLDER, AUDIT = "promise", "audit.csv"
ANSWER, ROW = "answer", "row_number"
NOT_SURE_MARK = "?"
LEAST_ASKED, MOST_ASKED = 20, 500


def prove(found: Labeled, target, *, share: float, level: float, answers=None, seed=0,
          echo=lambda text: None) -> PromiseState:  # fmt: skip
    """Audit the labels of a run: freeze them, list rows to answer, and evaluate the answers.

    Parameters
    ----------
    found : Labeled
        From `fewfold.label`.
    target : str or None
    share, level : float
        At most this share of the labels is wrong, at this confidence.
    answers : path-like, optional
        audit.csv (or another table with ``row_number``) with answers in the column ``answer``, or
        in one named as the target; blank cells are not answered yet, ``?`` is not sure.
    seed : int
    echo : callable

    Returns
    -------
    PromiseState
    """
    classes = found.summary["classes"]
    if classes is None:
        raise InputError("--promise: the target holds numbers. A promise is about classes.")
    results = found.folder / OUTPUTS["label_rows"]["answer"].format(dataset=NAME)
    with read(results, "label_rows") as file:
        label, confidence, given = file["label"], file["confidence"], file["given"].astype(bool)
    folder = found.folder / FOLDER
    record = Record(
        np.where(given, label, -1), classes, folder=folder, level=level, seed=seed,
        digest=content_digest(found.folder / FEATURES),
    )  # fmt: skip
    try:
        _check_level(record, share)
        if answers is not None:
            n = _take_answers(record, Path(answers), target)
            echo(f"{answers}: {n} new answers.")
        state = promise_state(record, share)
        if state.kind == "learning" and len(record.promises) < MOST_FREEZES:
            record.freeze(label, np.nan_to_num(confidence), share)
            state = promise_state(record, share)
        _write(found, record, state, folder, target)
    finally:
        record.close()
    _say(state, folder, echo)
    return state


def _check_level(record, share):
    if record.promises and record.promises[-1].share != share:
        raise InputError(
            f"--promise {share:g}: the audit in {record.folder} is about "
            f"{record.promises[-1].share:g}, fixed before its answers. Give that again, or move "
            "the folder away to start over."
        )


def _take_answers(record, path, target) -> int:
    """Store the answers of a file; return how many were new."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a table: {error}.") from error
    column = next((c for c in (ANSWER, target) if c in table.columns), None)
    if ROW not in table.columns or column is None:
        raise InputError(
            f"{path} lacks the columns {ROW!r} and {ANSWER!r} (or {target!r}); it has "
            f"{', '.join(map(str, table.columns[:10]))}. Fill in {AUDIT} as fewfold wrote it."
        )
    count = 0
    for number, word in zip(table[ROW], table[column]):
        word = word.strip()
        if not word:
            continue
        if not number.strip().isdigit() or not 1 <= int(number) <= record.n_rows:
            raise InputError(f"{path}: {ROW} {number!r}; allowed: 1 to {record.n_rows}.")
        row, name = int(number) - 1, None if word == NOT_SURE_MARK else word
        if name is not None and name not in record.classes:
            raise InputError(
                f"{path}, row {number}: {name!r} is not a class "
                f"({', '.join(record.classes[:10])}). Correct it, or write {NOT_SURE_MARK} for "
                "not sure."
            )
        before = record.answered.get(row)
        if record.given[row] >= 0 or (before and before.get("class") == name):
            continue
        record.put(row, name, why="file")
        count += 1
    return count


def _write(found, record, state, folder, target):
    labels = record.final_labels()
    names = np.array([*record.classes, ""], dtype=object)
    table = found.table.assign(
        label=names[labels],
        confidence=np.where(record.answers >= 0, 1.0, found.table["confidence"]),
        was_labeled=record.answers >= 0,
    )
    needs = np.zeros(record.n_rows, bool)
    if state.kind != "kept" and state.doubtful is not None:
        needs[state.doubtful] = True
    write_csv(folder / "labels.csv", table.assign(needs_person=needs))
    write_promise(folder, state)
    rows = _rows_to_ask(record, state)
    ask = found.table.iloc[rows, :1].copy()
    ask.insert(0, ROW, rows + 1)
    ask[ANSWER] = ""
    write_csv(folder / AUDIT, ask)


def _rows_to_ask(record, state) -> np.ndarray:
    if state.kind != "auditing":
        return np.empty(0, np.int64)
    frozen = record.promises[-1].frozen
    waiting = frozen.rows[state.inside & (record.answers[frozen.rows] == UNANSWERED)]
    return waiting[: int(np.clip(state.answers_left, LEAST_ASKED, MOST_ASKED))]


def _say(state, folder, echo):
    echo(f"Promise of at most {100 * state.share:g} %: {state.words()}.")
    if state.kind == "auditing":
        echo(f"Rows to answer: {folder / AUDIT}; then again with --answers {folder / AUDIT}")
    echo(f"Labels that it is about: {folder / 'labels.csv'}")
