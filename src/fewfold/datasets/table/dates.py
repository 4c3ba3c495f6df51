"""Dates and times of a table's column, as numbers that repeat with season, week and day."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

PARTS = ("decades", "season (sine)", "season (cosine)", "weekday (sine)", "weekday (cosine)")
HOUR_PARTS = ("hour (sine)", "hour (cosine)")
# 2024-03-05, 5.3.2024; 2024-03, 3/2024; 5 Mar 2024, 05-Mar-24; March 2024, Mar 5, 2024
_YEAR, _MONTH = r"(1[6-9]|20|21)\d\d", r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}",
    rf"{_YEAR}[-/](0?[1-9]|1[0-2])|(0?[1-9]|1[0-2])[-/]{_YEAR}",
    rf"\d{{1,2}}[- ]{_MONTH},?[- ]({_YEAR}|\d\d)|{_MONTH}[- ](\d{{1,2}},? )?{_YEAR}",
)
DATE = re.compile(rf"^\s*({'|'.join(_DATES)})([ T]|$)", re.IGNORECASE)
_DAY_OR_MONTH = re.compile(r"^\s*(\d{1,2})([-/.])(\d{1,2})[-/.]\d{2,4}")
START = pd.Timestamp("2000-01-01")
FILL_RANGE = (-1e5, 9e4)  # days: what a time in nanoseconds can hold


def describe_dates(name: str, series) -> dict | None:
    """Describe a column of dates by a plain dict; None if most of them cannot be read."""
    day_first = _is_day_first(series)
    times = read_dates(series, day_first)
    known = times.dropna()
    if not len(known) or len(known) < 0.9 * series.notna().sum():
        return None
    days = (known - START) / pd.Timedelta(days=1)
    return {
        "name": name,
        "kind": "date",
        "day_first": day_first,
        "hour": bool((known != known.dt.normalize()).any()),
        "fill": round(float(np.clip(days.median(), *FILL_RANGE)), 6),
    }


def read_dates(series, day_first: bool = False) -> pd.Series:
    """Read a column's cells as times; NaT where there is none."""
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        times = series
    else:
        text = series.astype("string").str.strip()
        times = pd.to_datetime(text, errors="coerce", dayfirst=day_first, format="mixed", utc=True)
    if times.dt.tz is not None:
        times = times.dt.tz_convert("UTC").dt.tz_localize(None)
    return pd.Series(times).reset_index(drop=True)


def _is_day_first(series) -> bool:
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return False
    cells = series.dropna().astype(str).head(10_000).tolist()
    found = [m for cell in cells if (m := _DAY_OR_MONTH.match(cell))]
    if not found or any(int(m[3]) > 12 for m in found):
        return False
    return found[0][2] == "." or any(int(m[1]) > 12 for m in found)


def date_names(column: dict) -> list[str]:
    """Return the names of the features of a column of dates."""
    parts = (*PARTS, *HOUR_PARTS) if column.get("hour") else PARTS
    return [f"{column['name']}: {part}" for part in parts]


def date_values(series, column: dict) -> np.ndarray:
    """Return the features of a column of dates, by its plan."""
    times = read_dates(series, column.get("day_first", False))
    times = times.fillna(START + pd.Timedelta(days=column["fill"]))
    season = 2 * np.pi * times.dt.day_of_year.to_numpy() / 365.25
    week = 2 * np.pi * times.dt.day_of_week.to_numpy() / 7
    years = times.dt.year.to_numpy() - 2000 + times.dt.day_of_year.to_numpy() / 365.25
    parts = [years / 10, np.sin(season), np.cos(season), np.sin(week), np.cos(week)]
    if column.get("hour"):
        day = 2 * np.pi * (times.dt.hour.to_numpy() + times.dt.minute.to_numpy() / 60) / 24
        parts += [np.sin(day), np.cos(day)]
    return np.column_stack(parts)
