"""Missing values: the one list of their marks, for features and labels, in every file."""

from __future__ import annotations

import unicodedata

import numpy as np

MISSING_MARKS = ("", "?", "nan", "NaN", "NA", "N/A", "None", "null", "<NA>")
# Of these, what is never the name of a class; "None" can be one.
SURE_MARKS = tuple(mark for mark in MISSING_MARKS if mark != "None")
# What people write for "no label" where no cell is blank: whole numbers cannot be empty in most
# array files, and single-cell tools (scANVI) write "Unknown".
UNLABELED_MARKS = (
    *MISSING_MARKS, "-1", "none", "Unknown", "unknown", "UNKNOWN", "unlabeled", "Unlabeled",
    "unlabelled", "Unlabelled",
)  # fmt: skip


def cell_text(value) -> str:
    """Return one cell as stripped text, "" for None and NaN; whole numbers without a point.

    Examples
    --------
    >>> cell_text(2.0), cell_text(None), cell_text(" rose "), cell_text(b"lily")
    ('2', '', 'rose', 'lily')
    """
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    # One letter can be stored in two ways ("é" or "e" and an accent): take one of them.
    return "" if text == "<NA>" else unicodedata.normalize("NFC", text.strip())


def column_text(series) -> np.ndarray:
    """Return the cells of a data frame's column as stripped text, "" where they hold nothing."""
    if series.dtype.kind in "fiub":  # 1 and 1.0 are the same class in every format
        series = series.map(cell_text).astype("string")
    cells = series.astype("string").fillna("").str.strip()
    text = cells.to_numpy(dtype=object)
    return np.where(cells.isin(MISSING_MARKS), "", text).astype(object)
