"""What the columns of a table are, and how they become numbers.

A plan is a list of plain dicts, one per column that is used, so that it can be stored in a
model file and applied to another table: see `fewfold.labelling.table_encoding`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fewfold.datasets.registry import nearest
from fewfold.exceptions import InputError
from fewfold.labelling.warnings_ import SPREAD_RATIO

MOST_CATEGORIES = 50
MISSING_MARKS = ("", "?", "nan", "NaN", "NA", "N/A", "None", "null", "<NA>")
MOST_CELLS = 1 << 23  # numbers looked at together

_ID_NAME = re.compile(
    r"(?i:(^|[_\s.-])(id|ids|uuid|guid|key|index)$|^unnamed|^row(_?(number|nr|no|id))?$)|[a-z]I[dD]$"
)
_DATE = re.compile(r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T]|$)")


@dataclass(frozen=True)
class TablePlan:
    """How a table's columns are used.

    Attributes
    ----------
    columns : list of dict
        Those that become features, each with ``name``, ``kind`` and what its encoding needs.
    id_column : str or None
        Names the rows of the answer.
    ignored : list of (name, reason)
    notes : list of str
        What else a reader should know, in words.
    """

    columns: list
    id_column: str | None = None
    ignored: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def sentences(self, n_rows: int) -> list[str]:
        """Say in plain words what was understood."""
        kinds = [c["kind"] for c in self.columns]
        parts = []
        for kind, words in (("number", "number"), ("category", "category"), ("date", "date"),
                            ("text", "text")):  # fmt: skip
            names = [c["name"] for c in self.columns if c["kind"] == kind]
            if names:
                parts.append(f"{kinds.count(kind)} {words} column{'s' * (len(names) > 1)} "
                             f"({listed(names)})")  # fmt: skip
        lines = [f"{n_rows} rows; features: {', '.join(parts)}."]
        if self.id_column:
            lines.append(f"Rows are named by the column {self.id_column!r}.")
        others = [(name, why) for name, why in self.ignored if name != self.id_column]
        for why in dict.fromkeys(why for _, why in others):
            lines.append(f"Not used: {listed([n for n, w in others if w == why])} ({why}).")
        return [*lines, *self.notes]


def listed(names, most=4) -> str:
    """Quote the first names, and count the others."""
    words = ", ".join(map(repr, names[:most]))
    return words if len(names) <= most else f"{words} and {len(names) - most} more"


def understand_table(
    frame: pd.DataFrame, target, *, where="the file", ids=None, drop=(), features=None, expand=()
) -> TablePlan:
    """Decide what each column of a table is.

    Parameters
    ----------
    frame : DataFrame
    target : str or None
        The label column, which is no feature.
    where : str
        The file, for messages.
    ids : str, optional
        The column that names the rows; found by its name and values if not given.
    drop, features : sequence of str
        Columns to leave out, or the only ones to use.
    expand : sequence of str
        Columns of dates or free text to turn into features.

    Returns
    -------
    TablePlan

    Raises
    ------
    InputError
        For a date or a free text that was not asked for, or if no feature is left.

    Examples
    --------
    >>> frame = pd.DataFrame({"id": [7, 8, 9], "size": [1.0, 2.5, 2.0], "kind": list("aba")})
    >>> plan = understand_table(frame, None)
    >>> plan.id_column, [c["kind"] for c in plan.columns]
    ('id', ['number', 'category'])
    """
    for name in (*([] if ids is None else [ids]), *drop, *(features or ()), *expand):
        if name not in frame.columns:
            raise _no_column(where, name, frame.columns)
    used = [c for c in (features or frame.columns) if c not in (target, ids) and c not in drop]
    ignored = [(name, "left out as asked") for name in drop]
    if ids is not None:
        ignored.append((ids, "names the rows"))
    columns, ready = [], _plain_numbers(frame, used)
    for name in used:
        found = ready.get(name) or _column(name, frame[name], where, name in expand)
        if found["kind"] in ("id", "unused"):
            ignored.append((name, found["why"]))
            if found["kind"] == "id" and ids is None:
                ids = name
            continue
        columns.append(found)
    if not columns and ids is not None and is_number(frame[ids]):
        only = _number_column(ids, frame[ids])
        if only["kind"] == "number":
            columns = [only]
            ids, ignored = None, [(n, w) for n, w in ignored if n != ids]
    if not columns:
        left = "; ".join(f"{n!r}: {w}" for n, w in ignored[:5])
        raise InputError(
            f"{where}: no column is left for features ({left or 'the target is the only column'}). "
            "Give a table with at least one column of numbers or categories beside the target."
        )
    notes = []
    filled = [c["name"] for c in columns if c.get("n_missing")]
    if filled:
        count = sum(c["n_missing"] for c in columns if c.get("n_missing"))
        notes.append(
            f"{count} empty cells in {listed(filled)} are filled with the column's middle value."
        )
    return TablePlan(columns, ids, ignored, notes)


def _plain_numbers(frame, used):
    """Describe all columns of floats at once: tables can have 100,000 of them.

    Whole numbers are left out where they could name the rows.
    """
    kinds = dict(zip(frame.columns, frame.dtypes))
    found = {}
    for kind in (np.float64, np.int64):
        names = [n for n in used if kinds[n] == kind]
        for start, stop in column_groups(len(frame), len(names)):
            found |= _plain_group(frame, names[start:stop], kind)
    return found


def _plain_group(frame, names, kind):
    block = frame[names].to_numpy(dtype=np.float64)
    if kind == np.int64:
        could_name = (np.diff(block, axis=0) == 1).all(axis=0)
        could_name |= [bool(_ID_NAME.search(str(n))) for n in names]
        block, names = block[:, ~could_name], [n for n, c in zip(names, could_name) if not c]
    low, high = block.min(axis=0, initial=np.inf), block.max(axis=0, initial=-np.inf)
    plain = np.isfinite(block).all(axis=0) & (low < high)
    rest = block[:, plain]
    mean, spread = rest.mean(axis=0), rest.std(axis=0)
    middle = np.median(rest, axis=0, overwrite_input=True)  # last: it shuffles the rows
    return {
        name: {
            "name": name, "kind": "number", "fill": float(f), "mean": float(m),
            "spread": float(s), "n_missing": 0,
        }
        for name, f, m, s in zip(np.array(names, dtype=object)[plain], middle, mean, spread)
    }  # fmt: skip


def column_groups(n_rows: int, n_columns: int) -> list[tuple[int, int]]:
    """Cut columns into groups whose numbers fit into a fixed piece of memory.

    >>> column_groups(10**7, 3)
    [(0, 1), (1, 2), (2, 3)]
    """
    step = max(1, MOST_CELLS // max(n_rows, 1))
    return [(s, min(s + step, n_columns)) for s in range(0, n_columns, step)]


def _no_column(where, name, names):
    guess = nearest(str(name), [str(n) for n in names])
    hint = f" Did you mean {guess!r}?" if guess else ""
    return InputError(f"{where}: no column {name!r}.{hint} Columns: {listed(list(names), 12)}.")


def is_number(series) -> bool:
    """Whether a column holds numbers (or truth values)."""
    return pd.api.types.is_numeric_dtype(series.dtype)


def _column(name, series, where, expand):
    if is_number(series):
        if pd.api.types.is_integer_dtype(series.dtype) and _is_row_name(name, series):
            return {"name": name, "kind": "id", "why": "names the rows"}
        return _number_column(name, series)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or _holds_dates(series):
        return _date_column(name, series, where, expand)
    text = as_text(series)
    given = text[text != ""]
    if not len(given):
        return {"name": name, "kind": "unused", "why": "empty"}
    numeric = pd.to_numeric(pd.Series(given), errors="coerce").notna().mean()
    if numeric >= 0.9:
        return _number_column(name, strict_numbers(name, text, where))
    if np.mean([_DATE.match(t) is not None for t in given[:200].tolist()]) > 0.9:
        return _date_column(name, pd.to_datetime(pd.Series(text), errors="coerce"), where, expand)
    return _text_column(name, text, given, where, expand)


def as_text(series) -> np.ndarray:
    """Return the cells of a column as stripped text, "" where empty."""
    cells = series.astype("string").fillna("").str.strip()
    return np.where(cells.isin(MISSING_MARKS), "", cells.to_numpy(dtype=object)).astype(object)


def _is_row_name(name, series):
    if series.isna().any() or not series.is_unique:
        return False
    steps = np.diff(series.to_numpy())
    counts_rows = len(series) > 2 and (steps == 1).all()
    return counts_rows or bool(_ID_NAME.search(str(name)))


def strict_numbers(name, text, where) -> pd.Series:
    """Read text cells as numbers, NaN where empty; name the row of one that is no number."""
    numbers = pd.to_numeric(pd.Series(text).replace("", np.nan), errors="coerce")
    bad = np.flatnonzero(numbers.isna().to_numpy() & (text != ""))
    if len(bad):
        raise InputError(
            f"{where}, row {bad[0] + 1}, column {name!r}: found {str(text[bad[0]])[:40]!r}, where "
            f"a number is expected as in the other rows. Correct it, leave it empty, or leave the "
            f"column out (--drop {name})."
        )
    return numbers


def _number_column(name, series):
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise InputError(
            f"Row {row + 1}, column {name!r}: found {values[row]}, allowed are finite numbers. "
            f"Correct it, leave it empty, or leave the column out (--drop {name})."
        )
    known = values[~np.isnan(values)]
    if not len(known):
        return {"name": name, "kind": "unused", "why": "empty"}
    spread = float(known.std())
    if known.min() == known.max():
        return {"name": name, "kind": "unused", "why": "the same value in all rows"}
    return {
        "name": name,
        "kind": "number",
        "fill": float(np.median(known)),
        "mean": float(known.mean()),
        "spread": spread,
        "n_missing": int(len(values) - len(known)),
    }


def _holds_dates(series):
    import datetime

    first = series.dropna().head(1).tolist()
    return bool(first) and isinstance(first[0], datetime.date)


def _date_column(name, series, where, expand):
    if not expand:
        raise InputError(
            f"{where}: column {name!r} holds dates, which are no numbers yet. Leave it out "
            f"(--drop {name}), or turn it into year, season and weekday (--expand {name})."
        )
    return {"name": name, "kind": "date"}


def _text_column(name, text, given, where, expand):
    kinds = np.unique(given.astype(str))
    if expand:
        return {"name": name, "kind": "text"}
    if len(kinds) == len(text) and (_ID_NAME.search(str(name)) or _short(given)):
        return {"name": name, "kind": "id", "why": "names the rows"}
    if len(kinds) == 1 and len(given) == len(text):
        return {"name": name, "kind": "unused", "why": "the same value in all rows"}
    if len(kinds) <= min(MOST_CATEGORIES, max(10, len(given) // 2)):
        return {"name": name, "kind": "category", "categories": kinds.tolist()}
    raise InputError(
        f"{where}: column {name!r} holds {len(kinds)} different texts (such as "
        f"{str(given[0])[:40]!r}), too many for categories. Leave it out (--drop {name}), or turn "
        f"its words into features (--expand {name})."
    )


def _short(given):
    return max(len(t) for t in given.tolist()) <= 40 and not any(" " in t for t in given.tolist())


def choose_scaling(plan: TablePlan, scale: str = "auto", is_image: bool = False) -> TablePlan:
    """Set each number column's offset and factor; say so in the notes where they change anything.

    ``auto`` standardises when the spreads of the number columns differ by more than
    `SPREAD_RATIO` from their median, or when they stand beside categories (which are 0 or 1).
    """
    numbers = [c for c in plan.columns if c["kind"] == "number"]
    spreads = np.array([c["spread"] for c in numbers])
    mixed = len(numbers) < len(plan.columns)
    middle = float(np.median(spreads)) if len(spreads) else 1.0
    uneven = len(spreads) and spreads.max() > SPREAD_RATIO * middle
    standard = scale == "standard" or (
        scale == "auto" and not is_image and bool(len(spreads)) and bool(uneven or mixed)
    )
    columns, notes = [], list(plan.notes)
    for c in plan.columns:
        if c["kind"] == "number":
            offset, factor = (c["mean"], 1 / c["spread"]) if standard else (0.0, 1.0)
            c = {**c, "offset": offset, "factor": factor}
        columns.append(c)
    if standard:
        why = (
            f"their spreads reach from {spreads.min():.3g} to {spreads.max():.3g}"
            if uneven
            else "as asked" if scale == "standard" else "they stand beside categories"
        )  # fmt: skip
        notes.append(f"Number columns are brought to mean 0 and spread 1 ({why}).")
    return TablePlan(columns, plan.id_column, plan.ignored, notes)
