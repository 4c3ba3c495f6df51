"""What one column of a table is: a number, a category, a date, a text, a name of the rows.

Each function describes a column by a plain dict with its ``name``, its ``kind`` and what encoding
it needs (`fewfold.datasets.table.encoding`), so that a plan can be stored as JSON.
"""

from __future__ import annotations

import datetime
import re

import numpy as np
import pandas as pd

from fewfold.datasets.table.marks import column_text
from fewfold.datasets.table.messages import Place
from fewfold.exceptions import InputError
from fewfold.system.file_schema import LARGEST_NUMBER

MOST_CATEGORIES = 50
MOST_CELLS = 1 << 23  # numbers looked at together

CONSTANT = "the same value in all rows"
EMPTY = "empty"
NAMES_ROWS = "names the rows"

_ID_NAME = re.compile(
    r"(?i:(^|[_\s.-])(id|ids|uuid|guid|key|index)$|^unnamed|^row(_?(number|nr|no|id))?$)|[a-z]I[dD]$"
)
_DATE = re.compile(r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T]|$)")


def describe_column(
    name: str, series, place: Place, *, expand: bool = False, keep_constant: bool = False
) -> dict:
    """Describe one column by its cells.

    Parameters
    ----------
    name : str
    series : pandas.Series
    place : Place
        For messages.
    expand : bool
        Turn dates or free text into features; without it they are refused.
    keep_constant : bool
        Use a column of numbers that never changes.

    Returns
    -------
    dict
        ``kind`` is number, category, date or text; id (names the rows) or unused have a ``why``.
    """
    if is_number(series):
        if pd.api.types.is_integer_dtype(series.dtype) and _numbers_rows(name, series):
            return _left_out(name, NAMES_ROWS, kind="id")
        return number_column(name, series, place, keep_constant)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or _holds_dates(series):
        return _date_column(name, place, expand)
    text = column_text(series)
    given = text[text != ""]
    if not len(given):
        return _left_out(name, EMPTY)
    if pd.to_numeric(pd.Series(given), errors="coerce").notna().mean() >= 0.9:
        return number_column(name, strict_numbers(name, text, place), place, keep_constant)
    if np.mean([_DATE.match(t) is not None for t in given[:200].tolist()]) > 0.9:
        return _date_column(name, place, expand)
    return _text_column(name, text, given, place, expand)


def _left_out(name, why, kind="unused"):
    return {"name": name, "kind": kind, "why": why}


def is_number(series) -> bool:
    """Whether a column holds numbers (or truth values)."""
    return pd.api.types.is_numeric_dtype(series.dtype)


def _numbers_rows(name, series):
    """Whether whole numbers name the rows: all different, and counting or named like an id."""
    if series.isna().any() or not series.is_unique:
        return False
    steps = np.diff(series.to_numpy())
    counts_rows = len(series) > 2 and (steps == 1).all()
    return counts_rows or bool(_ID_NAME.search(str(name)))


def strict_numbers(name: str, text: np.ndarray, place: Place) -> pd.Series:
    """Read text cells as numbers, NaN where empty; name the cell of one that is not a number."""
    numbers = pd.to_numeric(pd.Series(text).replace("", np.nan), errors="coerce")
    bad = np.flatnonzero(numbers.isna().to_numpy() & (text != ""))
    if len(bad):
        raise InputError(
            f"{place.cell(int(bad[0]), name)}: found {str(text[bad[0]])[:40]!r}, where "
            f"a number is expected as in the other rows. Correct it, leave it empty, or leave the "
            f"column out ({place.option('drop', [name])})."
        )
    return numbers


def number_column(name: str, series, place: Place, keep_constant: bool = False) -> dict:
    """Describe a column of numbers: what fills its gaps, its mean and spread."""
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    check_range(name, values, place)
    known = values[~np.isnan(values)]
    if not len(known):
        return _left_out(name, EMPTY)
    constant = known.min() == known.max()
    if constant and not keep_constant:
        return _left_out(name, CONSTANT)
    return {
        "name": name,
        "kind": "number",
        "fill": float(np.median(known)),
        "mean": float(known.mean()),
        "spread": 0.0 if constant else float(known.std()),
        "n_missing": int(len(values) - len(known)),
    }


def check_range(name: str, values: np.ndarray, place: Place) -> None:
    """Refuse infinite numbers and those too large to compute with, naming the cell."""
    wrong = np.abs(values) > LARGEST_NUMBER
    if not wrong.any():
        return
    row = int(np.flatnonzero(wrong)[0])
    raise InputError(
        f"{place.cell(row, name)}: found {values[row]}, allowed are finite numbers up to "
        f"{LARGEST_NUMBER:.0e}. Correct it, leave it empty, rescale the column, or leave it out "
        f"({place.option('drop', [name])})."
    )


def _holds_dates(series):
    first = series.dropna().head(1).tolist()
    return bool(first) and isinstance(first[0], datetime.date)


def _date_column(name, place, expand):
    if not expand:
        raise InputError(
            f"{place.where}: column {name!r} holds dates, which are not numbers yet. Leave it out "
            f"({place.option('drop', [name])}), or turn it into year, season and weekday "
            f"({place.option('expand', [name])})."
        )
    return {"name": name, "kind": "date"}


def _text_column(name, text, given, place, expand):
    different = sorted(set(given.tolist()))  # of any length: an array has one width for all
    if expand:
        return {"name": name, "kind": "text"}
    if len(different) == len(text) and (_ID_NAME.search(str(name)) or _short(given)):
        return _left_out(name, NAMES_ROWS, kind="id")
    if len(different) == 1 and len(given) == len(text):
        return _left_out(name, CONSTANT)
    if len(different) <= min(MOST_CATEGORIES, max(10, len(given) // 2)):
        return {"name": name, "kind": "category", "categories": different}
    raise InputError(
        f"{place.where}: column {name!r} holds {len(different)} different texts (such as "
        f"{str(given[0])[:40]!r}), too many for categories. Leave it out "
        f"({place.option('drop', [name])}), or turn its words into features "
        f"({place.option('expand', [name])})."
    )


def _short(given):
    return max(len(t) for t in given.tolist()) <= 40 and not any(" " in t for t in given.tolist())


def describe_plain_numbers(frame, names) -> dict[str, dict]:
    """Describe the columns of plain numbers at once: tables can have 100,000 of them.

    Left out, for `describe_column` to look at one by one: columns with empty cells, constant
    ones, and whole numbers that could name the rows.
    """
    types = dict(zip(frame.columns, frame.dtypes))
    found = {}
    for wanted in (np.float64, np.int64):
        group = [n for n in names if types[n] == wanted]
        for start, stop in column_groups(len(frame), len(group)):
            found |= _describe_block(frame, group[start:stop], wanted)
    return found


def _describe_block(frame, names, dtype):
    block = frame[names].to_numpy(dtype=np.float64)
    if dtype == np.int64:
        could_name = (np.diff(block, axis=0) == 1).all(axis=0)
        could_name |= [bool(_ID_NAME.search(str(n))) for n in names]
        block, names = block[:, ~could_name], [n for n, c in zip(names, could_name) if not c]
    low, high = block.min(axis=0, initial=np.inf), block.max(axis=0, initial=-np.inf)
    plain = (np.abs(block) <= LARGEST_NUMBER).all(axis=0) & (low < high)
    rest = block[:, plain]
    mean, spread = rest.mean(axis=0), rest.std(axis=0)
    middle = np.median(rest, axis=0, overwrite_input=True)  # last: it shuffles the rows
    return {
        name: {
            "name": name,
            "kind": "number",
            "fill": float(f),
            "mean": float(m),
            "spread": float(s),
            "n_missing": 0,
        }
        for name, f, m, s in zip(np.array(names, dtype=object)[plain], middle, mean, spread)
    }


def column_groups(n_rows: int, n_columns: int) -> list[tuple[int, int]]:
    """Cut columns into groups whose numbers fit into a fixed piece of memory.

    >>> column_groups(10**7, 3)
    [(0, 1), (1, 2), (2, 3)]
    """
    step = max(1, MOST_CELLS // max(n_rows, 1))
    return [(s, min(s + step, n_columns)) for s in range(0, n_columns, step)]
