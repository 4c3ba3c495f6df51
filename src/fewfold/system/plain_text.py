"""Text of a file that reaches a terminal or a spreadsheet, where characters can be commands."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def printable(text: str) -> str:
    r"""Write control characters and those that reorder text as escapes; lines and tabs stay.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(
        c
        if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs")
        else c.encode("unicode_escape").decode()
        for c in text
    )


def guarded(cell):
    """Put an apostrophe before a text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> guarded("=1+0"), guarded("-3.5"), guarded("rose"), guarded(-2)
    ("'=1+0", '-3.5', 'rose', -2)
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULA) or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def guarded_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose names and texts no spreadsheet takes for formulas."""
    safe = table.rename(columns=guarded)
    for column, dtype in enumerate(safe.dtypes):
        if dtype.kind not in "biuf":
            safe.isetitem(column, safe.iloc[:, column].map(guarded))
    return safe
