"""Tables of results (CSV), checked when they are read: others may write where they lie."""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING

from fewfold.exceptions import ArtifactError
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import atomic_path, maker

if TYPE_CHECKING:  # most of a short job's time
    import pandas as pd

_TEXT, _COUNT, _NUMBER = "a text", "a whole number from 0", "a number"
_CELL = {"dataset": _TEXT, "method": _TEXT, "n_labeled": _COUNT}
_WHAT = {"protocol": _TEXT, "metric": _TEXT}
# Columns of each table in their order; numbers may be missing, texts and whole numbers may not.
COLUMNS = {
    "metrics": _CELL | {"trial": _COUNT, "seed": _COUNT} | _WHAT
    | dict.fromkeys(("value", "fit_s", "predict_s"), _NUMBER) | {"status": _TEXT},
    "summary": _CELL | _WHAT | dict.fromkeys(("mean", "sd", "low", "high"), _NUMBER)
    | dict.fromkeys(("trials", "failed"), _COUNT),
    "comparisons": {"dataset": _TEXT, "n_labeled": _COUNT} | _WHAT
    | {"method_a": _TEXT, "method_b": _TEXT, "trials": _COUNT}
    | dict.fromkeys(("difference", "p_value", "p_adjusted"), _NUMBER),
}  # fmt: skip


def read_table(path, name: str) -> pd.DataFrame:
    """Read ``metrics``, ``summary`` or ``comparisons`` as a frame; see `read_rows`."""
    import pandas as pd

    return pd.DataFrame(read_rows(path, name), columns=list(COLUMNS[name]))


def read_rows(path, name: str) -> list[dict]:
    """Read the rows of ``metrics``, ``summary`` or ``comparisons``; a missing number is NaN.

    Raises
    ------
    ArtifactError
        If it does not have the columns of such a table, or other values than these can have; its
        ``damaged`` is the path, so that the next run makes the file again.
    """
    columns = COLUMNS[name]
    try:
        with open(path, newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file, strict=True)
    except (ValueError, csv.Error) as error:
        raise _damaged(path, f"is not a table ({error})") from error
    if header != list(columns) or any(len(line) != len(columns) for line in lines):
        raise _damaged(path, f"has other columns than {', '.join(columns)}")
    return [
        {key: _cell(path, number, key, columns[key], text) for key, text in zip(columns, line)}
        for number, line in enumerate(lines, 1)
    ]


def _cell(path, number, column, what, text):
    if what == _TEXT and text and "\0" not in text:
        return text
    if what == _NUMBER and not text:
        return math.nan
    is_number = (
        what != _TEXT and len(text) < 100 and re.fullmatch(r"[-+]?[0-9.]+(e[-+]?\d+)?", text)
    )
    try:
        value = float(text) if is_number else math.inf
    except ValueError:
        value = math.inf
    if math.isfinite(value) and what == _NUMBER:
        return value
    if value % 1 == 0 and 0 <= value <= 2**53:
        return int(value)
    words = f"{text[:40]!r} in column {column}, row {number}"
    raise _damaged(path, f"has {words}; allowed: {what}")


def write_table(path, name: str, rows: list[dict]) -> None:
    """Write rows as CSV; a NaN is an empty cell."""
    with atomic_path(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS[name], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: "" if v != v else v for k, v in row.items()})


def _damaged(path, what):
    stage = layout.stage_of(path) or "fewfold run"
    error = ArtifactError(
        f"{path} {what}. Move it away and run again: {maker(stage)} makes it again."
    )
    error.damaged = path
    return error
