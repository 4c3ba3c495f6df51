"""What one column of a table is: a number, a category, a date, a text, a code, a row name.

Each function describes a column by a plain dict with its ``name``, its ``kind`` and what encoding
it needs (`fewfold.datasets.table.encoding`), so that a plan can be stored as JSON.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fewfold.datasets.table.dates import DATE, describe_dates
from fewfold.datasets.table.marks import column_text
from fewfold.datasets.table.messages import Place
from fewfold.datasets.table.texts import describe_texts
from fewfold.datasets.table.written_numbers import MOSTLY, find_style, is_written, read_written
from fewfold.exceptions import InputError
from fewfold.system.file_schema import LARGEST_NUMBER
from fewfold.system.wording import counted

MOST_CATEGORIES = 50
MOST_NAMED = 1000  # categories of a column that the user calls one
COMMON_SHARE = 0.8  # of the rows: then the other categories are rare
NEARLY_ALL = 0.95
PROSE_WORDS = 3  # mean words per cell from which texts are taken as sentences
MOST_CELLS = 1 << 23  # numbers checked together

CONSTANT = "the same value in all rows"
EMPTY = "empty"
NAMES_ROWS = "names the rows"
NEARLY_UNIQUE = "nearly every row has its own, as names have"
LEFT_OUT = "left out as asked"

TYPES = ("number", "category", "date", "text", "code", "vector", "id", "drop")

_ID_NAME = re.compile(
    r"(?i:(^|[_\s.-])(id|ids|uuid|guid|key|index)$|^unnamed|^row(_?(number|nr|no|id))?$)|[a-z]I[dD]$"
)


@dataclass(frozen=True)
class Wish:
    """Options of the user for a column.

    Attributes
    ----------
    type : str or None
        One of `TYPES`.
    keep : bool
        Use it, even if it looks like a name of the rows or never changes.
    keep_constant : bool
        Use a column of numbers that never changes.
    decimal : {".", ","} or None
        The decimal sign of numbers that are written as text.
    """

    type: str | None = None
    keep: bool = False
    keep_constant: bool = False
    decimal: str | None = None


def describe_column(name: str, series, place: Place, wish: Wish | None = None) -> dict:
    """Describe one column by its cells.

    Parameters
    ----------
    name : str
    series : pandas.Series
    place : Place
        For messages.
    wish : Wish, optional

    Returns
    -------
    dict
        ``kind`` is one of `fewfold.datasets.table.encoding.COLUMN_TYPES`; id (names the rows) or
        unused have a ``why``.
    """
    wish = wish or Wish()
    constant = wish.keep_constant or wish.keep
    if wish.type is not None:
        return _as_asked(name, series, place, wish)
    if is_number(series):
        if not wish.keep and pd.api.types.is_integer_dtype(series.dtype):
            if _numbers_rows(name, series):
                return _left_out(name, NAMES_ROWS, kind="id")
        return number_column(name, series, place, constant)
    if _holds_vectors(series):
        return _vector_column(name, series, place)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or _holds_dates(series):
        return describe_dates(name, series) or _left_out(name, EMPTY)
    text = column_text(series)
    given = text[text != ""]
    if not len(given):
        return _left_out(name, EMPTY)
    if (found := _written_number(name, text, given, place, wish, constant)) is not None:
        return found
    if np.mean([DATE.match(t) is not None for t in given[:200].tolist()]) > 0.9:
        if (dates := describe_dates(name, _texts(text))) is not None:
            return dates
    return _text_column(name, text, given, wish.keep)


def _written_number(name, text, given, place, wish, constant):
    """Describe a column of numbers that are written as text; None if it holds something else."""
    plain = pd.to_numeric(pd.Series(given), errors="coerce").notna()
    style = None
    if not plain.all() or wish.decimal == ",":
        style = find_style(given.tolist(), wish.decimal)
    if plain.mean() >= MOSTLY and wish.decimal != ",":
        # Some cells are not plain numbers: a style must read all, as 27,5 among whole numbers,
        # and have no unit: 12x among plain numbers is a mistake.
        if style is not None and (
            style["before"] or style["after"] or np.isnan(read_written(given, style)).any()
        ):
            style = None
        if style is None:
            return number_column(name, strict_numbers(name, text, place), place, constant)
    if style is None:
        return None
    found = number_column(name, strict_numbers(name, text, place, style), place, constant)
    return found if found["kind"] != "number" else {**found, "written": style}


def _texts(text):
    return pd.Series(text).replace("", None)


def _holds_vectors(series):
    from fewfold.datasets.table.vectors import holds_vectors

    return holds_vectors(series)


def _vector_column(name, series, place):
    from fewfold.datasets.table.vectors import describe_vectors

    return describe_vectors(name, series, place)


def _as_asked(name, series, place, wish):
    """Describe a column as the type that the user gives it."""
    kind = wish.type
    if kind in ("drop", "id"):
        return _left_out(name, LEFT_OUT if kind == "drop" else NAMES_ROWS,
                         kind="unused" if kind == "drop" else "id")  # fmt: skip
    if kind == "vector":
        return _vector_column(name, series, place)
    if kind == "number" and is_number(series):
        return number_column(name, series, place, True)
    text = column_text(series)
    given = text[text != ""]
    if not len(given):
        return _left_out(name, EMPTY)
    found = None
    if kind == "number":
        style = find_style([cell for cell in given.tolist() if is_written(cell)], wish.decimal)
        numbers = strict_numbers(name, text, place, style, others_empty=True)
        if numbers.notna().any():
            found = number_column(name, numbers, place, True)
            found |= {} if style is None else {"written": style}
            if n_others := int((numbers.isna().to_numpy() & (text != "")).sum()):
                found |= {"others_empty": True, "n_others": n_others}
    elif kind == "category":
        found = category_column(name, given, MOST_NAMED)
    elif kind == "date":
        dates = pd.api.types.is_datetime64_any_dtype(series.dtype) or _holds_dates(series)
        found = describe_dates(name, series if dates else _texts(text))
    elif kind == "text":
        found = describe_texts(name, text)
    elif kind == "code":
        found = {"name": name, "kind": "code"}
    if found is None:
        raise InputError(
            f"{place.where}: column {name!r} cannot be read as {kind} (its first cell is "
            f"{str(given[0])[:40]!r}). Give another type ({', '.join(TYPES)}), or leave it out "
            f"({place.option('drop', [name])})."
        )
    return found


def category_column(name: str, given: np.ndarray, most: int) -> dict:
    """Describe a column of categories: the most frequent by name, the others together."""
    counts = Counter(given.tolist())
    if len(counts) <= most:
        return {"name": name, "kind": "category", "categories": sorted(counts)}
    common = [c for c, n in counts.most_common(most - 1) if n > 1] or [min(counts)]
    return {"name": name, "kind": "category", "categories": sorted(common), "other": True}


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


def strict_numbers(
    name: str,
    text: np.ndarray,
    place: Place,
    style: dict | None = None,
    others_empty: bool = False,
) -> pd.Series:
    """Read text cells as numbers, NaN where empty; name the cell of one that is not a number.

    ``others_empty`` takes those as empty instead.
    """
    if style is None:
        numbers = pd.to_numeric(pd.Series(text).replace("", np.nan), errors="coerce")
    else:
        numbers = pd.Series(read_written(text, style))
    bad = np.flatnonzero(numbers.isna().to_numpy() & (text != ""))
    if len(bad) and not others_empty:
        many = f" (and {counted(len(bad) - 1, 'more such cell')})" if len(bad) > 1 else ""
        raise InputError(
            f"{place.cell(int(bad[0]), name)}: found {str(text[bad[0]])[:40]!r}{many}, where "
            f"a number is expected as in the other rows. Correct it, take such cells as empty "
            f"({place.option('types', [f'{name}=number'])}), take the column as categories "
            f"({place.option('types', [f'{name}=category'])}), or leave it out "
            f"({place.option('drop', [name])})."
        )
    return numbers


def planned_numbers(series, column: dict, place: Place) -> pd.Series:
    """Return a column's cells as numbers, read as its plan says where they are text."""
    if is_number(series):
        return series
    style, others = column.get("written"), column.get("others_empty", False)
    return strict_numbers(column["name"], column_text(series), place, style, others)


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
        f"{place.cell(row, name)}: found {values[row]}; allowed: finite numbers up to "
        f"{LARGEST_NUMBER:.0e}. Correct it, leave it empty, rescale the column, or leave it out "
        f"({place.option('drop', [name])})."
    )


def _holds_dates(series):
    first = series.dropna().head(1).tolist()
    return bool(first) and isinstance(first[0], datetime.date)


def _text_column(name, text, given, keep):
    different = set(given.tolist())  # of any length: an array has one width for all
    short = _short(given)
    if not keep:
        if len(different) == len(text) and (_ID_NAME.search(str(name)) or short):
            return _left_out(name, NAMES_ROWS, kind="id")
        if short and len(given) >= 20 and len(different) >= NEARLY_ALL * len(given):
            return _left_out(name, NEARLY_UNIQUE)
        if len(different) == 1 and len(given) == len(text):
            return _left_out(name, CONSTANT)
    if len(different) <= min(MOST_CATEGORIES, max(10, len(given) // 2)):
        return category_column(name, given, MOST_CATEGORIES)
    if np.mean([len(t.split()) for t in given[:2000].tolist()]) >= PROSE_WORDS:
        if (found := describe_texts(name, text)) is not None:
            return found
    counts = Counter(given.tolist()).most_common(MOST_CATEGORIES - 1)
    if sum(n for _, n in counts if n > 1) >= COMMON_SHARE * len(given):
        return category_column(name, given, MOST_CATEGORIES)
    return {"name": name, "kind": "code"}


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
