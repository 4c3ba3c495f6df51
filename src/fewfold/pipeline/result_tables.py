"""Tables of results (CSV), checked when they are read: others may write where they lie."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fewfold.exceptions import ArtifactError
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import maker

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
    """Read ``metrics``, ``summary`` or ``comparisons``.

    Raises
    ------
    ArtifactError
        If it does not have the columns of such a table, or other values than these can have; its
        ``damaged`` is the path, so that the next run makes the file again.
    """
    columns = COLUMNS[name]
    texts = {column: str for column, what in columns.items() if what == _TEXT}
    blanks = {column: [""] for column, what in columns.items() if what == _NUMBER}
    try:
        frame = pd.read_csv(path, dtype=texts, na_values=blanks, keep_default_na=False)
    except (ValueError, OverflowError) as error:  # pandas' own errors are ValueErrors
        raise _damaged(path, f"is not a table ({error})") from error
    if list(frame.columns) != list(columns) or not isinstance(frame.index, pd.RangeIndex):
        raise _damaged(path, f"has other columns than {', '.join(columns)}")
    for column, what in columns.items():
        _check(path, frame[column], what)
    return frame


def _check(path, found, what):
    if what == _TEXT:
        bad = found == ""
    else:
        values = pd.to_numeric(found, errors="coerce").astype(float)
        bad = (values.isna() & found.notna()) | np.isinf(values)
        if what == _COUNT:
            bad |= values.isna() | (values < 0) | (values % 1 != 0) | (values > 2**53)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        words = f"{str(found.iloc[row])[:40]!r} in column {found.name}, row {row + 1}"
        raise _damaged(path, f"has {words}; allowed: {what}")


def _damaged(path, what):
    stage = layout.stage_of(path) or "fewfold run"
    error = ArtifactError(
        f"{path} {what}. Move it away and run again: {maker(stage)} makes it again."
    )
    error.damaged = path
    return error
