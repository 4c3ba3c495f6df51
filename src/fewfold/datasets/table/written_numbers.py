"""Numbers as people write them: decimal comma, thousands, currency, percent, units.

A style is a plain dict, part of a column's plan: ``decimal`` and ``thousands`` (one of them may be
a comma), and the words that stand before and after the numbers of the whole column.
"""

from __future__ import annotations

import re

import numpy as np

SPACES = " \u00a0\u202f'\u2019"  # between thousands, whatever the decimal sign
_MONEY = r"(?:US\$|A\$|C\$|[€$£¥₹₩₺₽฿]|USD|EUR|GBP|CHF|JPY|AUD|CAD|INR|CNY|SEK|NOK|DKK|PLN)"
_UNIT = r"(?:%|‰|°[CFK]?|" + _MONEY + r"|[^\W\d_]{1,6}[²³]?(?:/[^\W\d_]{1,4}[²³]?)?)"
_NUMBER = r"[+\-−]?(?:\d[\d.,'\u2019 \u00a0\u202f]*\d|\d|[.,]\d+)[.,]?(?:[eE][+-]?\d{1,3})?"
_CELL = re.compile(rf"\s*(?P<before>{_MONEY})?\s*(?P<number>{_NUMBER})\s*(?P<after>{_UNIT})?\s*")
MOSTLY = 0.9
_FIRST = 50  # different cells after which most columns of words are known as such


def is_written(cell: str) -> bool:
    """Return whether a cell is a number, perhaps with a unit."""
    return _CELL.fullmatch(cell) is not None


def find_style(cells: list[str], decimal: str | None = None) -> dict | None:
    """Return the style in which a column's numbers are written, None if they are not numbers.

    Parameters
    ----------
    cells : list of str
        Cells that are not empty.
    decimal : {".", ","}, optional
        Given by the user; otherwise found from all cells together.

    Examples
    --------
    >>> find_style(["1.234,50 €", "7,25 €"])
    {'decimal': ',', 'thousands': '.', 'before': '', 'after': '€'}
    >>> find_style(["ash", "oak"]) is None
    True
    """
    different = list(dict.fromkeys(cells))
    if not different:
        return None
    for some in (different[:_FIRST], different):
        found = [m for cell in some if (m := _CELL.fullmatch(cell))]
        if len(found) < MOSTLY * len(some):
            return None
    before = {m["before"] for m in found if m["before"]}
    after = {m["after"] for m in found if m["after"]}
    if len(before) > 1 or len(after) > 1:
        return None  # units that differ cannot be stripped
    numbers = [m["number"] for m in found]
    style = _separators(numbers, decimal)
    shape = _shape(style)
    if sum(shape.fullmatch(n) is not None for n in numbers) < MOSTLY * len(different):
        return None
    return {**style, "before": next(iter(before), ""), "after": next(iter(after), "")}


def _separators(numbers, decimal):
    both = [n for n in numbers if "." in n and "," in n]
    commas = [n for n in numbers if "," in n]
    if decimal is None:
        if both:
            decimal = "," if both[0].rfind(",") > both[0].rfind(".") else "."
        elif commas:
            groups = any(n.count(",") > 1 for n in commas) or all(
                re.fullmatch(r"[+\-−]?[1-9]\d{0,2},\d{3}", n) for n in commas
            )
            decimal = "." if groups else ","
        else:
            groups = any(n.count(".") > 1 for n in numbers) or _dots_group(numbers)
            decimal = "," if groups else "."
    other = "." if decimal == "," else ","
    return {"decimal": decimal, "thousands": other if any(other in n for n in numbers) else ""}


def _dots_group(numbers):
    """Whether single dots are between thousands, as in 1.150 beside 841.

    Of the two readings, that counts in which the numbers with and without a dot are nearer in size:
    1.250 beside 2 has decimals.
    """
    dotted = [n for n in numbers if "." in n]
    plain = [n for n in numbers if n.strip("+-−").isdecimal()]
    if not plain or not all(re.fullmatch(r"[+\-−]?[1-9]\d{0,2}\.\d{3}", n) for n in dotted):
        return False
    sizes = [[float(n.strip("+-−")) for n in some] for some in (dotted, plain)]
    return bool(dotted) and np.median(sizes[1]) > np.sqrt(1000) * np.median(sizes[0])


def _shape(style):
    between = f"[{re.escape(style['thousands'])}{SPACES}]"
    point = re.escape(style["decimal"])
    whole = rf"(?:\d{{1,3}}(?:{between}\d{{3}})+|\d*)"
    return re.compile(rf"[+\-−]?{whole}(?:{point}\d*)?(?:[eE][+-]?\d{{1,3}})?")


def read_written(text: np.ndarray, style: dict) -> np.ndarray:
    """Read cells in a style; NaN for empty ones and for those that do not fit.

    Examples
    --------
    >>> style = {"decimal": ",", "thousands": ".", "before": "", "after": "kg"}
    >>> read_written(np.array(["1.500,5 kg", "", "light"], dtype=object), style).tolist()
    [1500.5, nan, nan]
    """
    shape = _shape(style)
    remove = str.maketrans("", "", style["thousands"] + SPACES)
    known: dict[str, float] = {}

    def number(cell):
        found = _CELL.fullmatch(cell)
        if not found or (found["before"] or "") not in ("", style["before"]):
            return np.nan
        if (found["after"] or "") not in ("", style["after"]):
            return np.nan
        if not shape.fullmatch(found["number"]):
            return np.nan
        plain = found["number"].translate(remove).replace(style["decimal"], ".")
        try:
            return float(plain.replace("−", "-"))
        except ValueError:
            return np.nan

    out = np.full(len(text), np.nan)
    for i, cell in enumerate(text.tolist()):
        if cell:
            if cell not in known:
                known[cell] = number(cell)
            out[i] = known[cell]
    return out


def numbers_among(cells: list[str]) -> tuple[int, list[str], str]:
    """Return how many cells are numbers, their units, and the first cell that is not one.

    Examples
    --------
    >>> numbers_among(["577 kcal", "~640 kcal", "380 kcal"])
    (2, ['kcal'], '~640 kcal')
    """
    found = [_CELL.fullmatch(cell) for cell in cells]
    units = {m["after"] or m["before"] or "" for m in found if m}
    other = next((cell for cell, m in zip(cells, found, strict=True) if not m), "")
    return sum(m is not None for m in found), sorted(units), other


def style_words(style: dict) -> str:
    """Say in words what was read: "decimal comma, without '€'"; "" for plain numbers."""
    words = []
    if style["decimal"] == ",":
        words.append("decimal comma")
    if style["thousands"]:
        words.append(f"{style['thousands']!r} between thousands")
    units = [repr(style[key]) for key in ("before", "after") if style[key]]
    if units:
        words.append(f"without {' and '.join(units)}")
    return ", ".join(words)
