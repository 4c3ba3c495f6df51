"""From the columns of a table to features that distances, kernels and trees can use.

Rules, each decided from all rows without their labels:

- numbers are standardized, unless all columns share a unit (`share_a_unit`): then one scale for
  all, so that differences between columns stay what they are (pixels, spectra, embeddings);
- a column that is very skewed (`VERY_SKEWED`) is replaced by the normal scores of its ranks;
- missing numbers become the median; where they are more than `MISSING_SHARE` of the rows, a
  column of its own says so;
- a column of categories becomes one column per category, scaled so that all of them together
  vary as much as one standardized number; so do the parts of a date, or the words of a text.

What a column is (number, category, date, text) is decided where files are read
(`fewfold.datasets.table`); here only where a table comes without such a plan.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from fewfold.datasets.table.encoding import COLUMN_TYPES, DATE_PARTS, N_WORDS
from fewfold.datasets.table.marks import column_text
from fewfold.datasets.table.messages import Place
from fewfold.exceptions import InputError
from fewfold.methods.parameters import (
    any_object,
    list_of,
    null,
    number,
    one_of,
    positive,
    text,
)

VERY_SKEWED = 2.0
MISSING_SHARE = 0.01
_LEAST_DISTINCT = 10
_LEAST_COLUMNS = 16
_UNIT_RATIO = 5.0
_QUANTILES = 200
_MISSING = "(missing)"


def share_a_unit(X) -> bool:
    """Tell whether columns of numbers seem to share a unit.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Without missing numbers.

    Returns
    -------
    bool
        At least 16 columns, and for nine in ten of those that vary: a standard deviation, and a
        largest absolute value, within a factor of 5 of the median column's.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 20))
    >>> share_a_unit(X), share_a_unit(X * 10.0 ** np.arange(20))
    (True, False)
    """
    spread = X.std(axis=0)
    varies = spread > 0
    if varies.sum() < _LEAST_COLUMNS:
        return False
    largest = np.abs(X).max(axis=0)[varies]
    spread = spread[varies]
    near = np.ones(len(spread), bool)
    for values in (spread, largest):
        ratio = values / np.median(values)
        near &= (ratio < _UNIT_RATIO) & (ratio > 1 / _UNIT_RATIO)
    return bool(near.mean() >= 0.9)


def plan_columns(frame: pd.DataFrame, columns: list | None = None) -> dict:
    """Decide how the columns of a table become features.

    Parameters
    ----------
    frame : DataFrame
    columns : list of dict, optional
        ``name`` and ``kind`` (number, category, date, text) of the columns to use, as in the
        ``columns`` of a `fewfold.datasets.table.plan.TablePlan`. By default all columns, and
        everything that is not a number is a category.

    Returns
    -------
    dict
        Plain values only: ``columns``, one dict each, and ``unit``, the common scale or None.
    """
    if columns is None:
        columns = [
            {"name": c, "kind": "number" if _is_number(frame[c]) else "category"} for c in frame
        ]
    unit = None
    if len(columns) >= _LEAST_COLUMNS and all(c["kind"] == "number" for c in columns):
        X = np.column_stack([_numbers(frame[c["name"]]) for c in columns])
        if np.isfinite(X).all() and share_a_unit(X):
            unit = float(np.sqrt(np.mean(X.var(axis=0))))
    planned = []
    for column in columns:
        name, kind = column["name"], column["kind"]
        if kind == "number":
            planned.append(_plan_number(name, frame[name], unit))
        elif kind == "category":
            planned.append(_plan_words(name, frame[name]))
        else:
            planned.append(_plan_block(name, kind, frame[name]))
    return {"columns": [c for c in planned if c is not None], "unit": unit}


def _is_number(series):
    return pd.api.types.is_numeric_dtype(series)


def _numbers(series):
    if not _is_number(series):
        series = pd.to_numeric(pd.Series(column_text(series)), errors="coerce")
    return series.to_numpy(dtype=float, na_value=np.nan)


def _plan_block(name, kind, series):
    block = _block({"name": str(name), "type": kind}, series)
    spread = float(np.sqrt(block.var(axis=0).sum()))
    if spread == 0:
        return None
    mean = block.mean(axis=0)
    return {"name": str(name), "type": kind, "means": mean.tolist(), "scale": spread}


def _block(column, series):
    found = COLUMN_TYPES[column["type"]].values(series, column, Place())
    return np.asarray(found, dtype=float)


_SHAPES = {
    "number": {"fill": number(), "mean": number(), "scale": positive(),
               "missing": null() | number(0, 1)},
    "category": {"words": list_of(text(), 2), "shares": list_of(number(0, 1), 2),
                 "scale": positive()},
    "date": {"means": list_of(number()), "scale": positive()},
    "text": {"means": list_of(number()), "scale": positive()},
}  # fmt: skip


def check_plan(plan) -> dict:
    """Return a plan that was read from a file, or raise `InputError` for the first wrong value."""
    if not any_object().accepts(plan) or not isinstance(plan.get("columns"), list):
        raise InputError("The plan of the columns is not a mapping with a list of columns.")
    if not (null() | positive()).accepts(plan.get("unit")):
        raise InputError(f"The unit of the columns is {str(plan.get('unit'))[:40]!r}.")
    for column in plan["columns"]:
        if not any_object().accepts(column) or not text().accepts(column.get("name")):
            raise InputError(f"A column of the plan has no name: {str(column)[:60]}.")
        kind = column.get("type")
        if not one_of(*_SHAPES).accepts(kind):
            raise InputError(f"The column {column['name']!r} is a {str(kind)[:40]!r}.")
        for key, allowed in _SHAPES[kind].items():
            if not allowed.accepts(column.get(key)):
                raise InputError(
                    f"The column {column['name']!r}: {key!r} is {str(column.get(key))[:40]!r}. "
                    f"Allowed: {allowed.words()}."
                )
        _check_lists(column)
    return plan


def _check_lists(column):
    levels = column.get("quantiles")
    if levels is not None and (
        not list_of(number(), 2).accepts(levels) or np.any(np.diff(levels) < 0)
    ):
        raise InputError(f"The column {column['name']!r}: 'quantiles' are not rising numbers.")
    if column["type"] == "category" and len(column["words"]) != len(column["shares"]):
        raise InputError(f"The column {column['name']!r} has not one share for each category.")
    width = {"date": len(DATE_PARTS), "text": N_WORDS}.get(column["type"])
    if width and len(column["means"]) != width:
        raise InputError(f"The column {column['name']!r} has not {width} means.")


def _plan_number(name, series, unit):
    values = _numbers(series)
    missing = np.isnan(values)
    known = values[~missing]
    if len(known) == 0 or (known.std() == 0 and not missing.any()):
        return None
    plan = {"name": str(name), "type": "number", "fill": float(np.median(known))}
    values = np.where(missing, plan["fill"], values)
    spread = float(values.std())
    scaled = (values - values.mean()) / (spread or 1.0)
    very_skewed = abs(float(np.mean(scaled**3))) > VERY_SKEWED
    if unit is None and very_skewed and len(np.unique(known)) > _LEAST_DISTINCT:
        levels = np.linspace(0, 1, min(_QUANTILES, len(values)))
        plan["quantiles"] = np.quantile(values, levels).tolist()
        values = _normal_scores(values, plan["quantiles"])
        spread = float(values.std())
    plan["mean"], plan["scale"] = float(values.mean()), unit or spread or 1.0
    share = float(missing.mean())
    plan["missing"] = share if MISSING_SHARE < share < 1 else None
    return plan


def _normal_scores(values, quantiles):
    """Return normal scores of the ranks; between and beyond the known values, by interpolation."""
    quantiles = np.asarray(quantiles)
    q = len(quantiles)
    # Ties take the middle of their ranks.
    low = np.searchsorted(quantiles, values, side="left")
    high = np.searchsorted(quantiles, values, side="right")
    rank = np.where(high > low, (low + high - 1) / 2, 0.0)
    between = high == low
    inner = np.clip(low[between], 1, q - 1)
    start, stop = quantiles[inner - 1], quantiles[inner]
    part = np.clip((values[between] - start) / (stop - start), 0, 1)
    rank[between] = inner - 1 + part
    return norm.ppf((rank + 0.5) / q)


def _plan_words(name, series):
    words = _words(series)
    found, counts = np.unique(words, return_counts=True)
    if len(found) < 2:
        return None
    shares = counts / len(words)
    scale = float(np.sqrt(np.sum(shares * (1 - shares))))
    return {
        "name": str(name),
        "type": "category",
        "words": found.tolist(),
        "shares": shares.tolist(),
        "scale": scale,
    }


def _words(series):
    words = np.asarray(column_text(series), dtype=object)
    return np.where(words == "", _MISSING, words).astype(str)


def prepare_columns(frame: pd.DataFrame, plan: dict) -> tuple[np.ndarray, list[str]]:
    """Turn a table into features as planned.

    Parameters
    ----------
    frame : DataFrame
    plan : dict
        From `plan_columns`, of this table or of the one that was learned from. A category that
        the plan does not know is none of the known ones.

    Returns
    -------
    X : ndarray of shape (n, d)
    names : list of str
    """
    by_name = {str(c): c for c in frame.columns}
    lost = [c["name"] for c in plan["columns"] if c["name"] not in by_name]
    if lost:
        raise InputError(f"The column {lost[0]!r} is missing; {len(by_name)} others are there.")
    parts, names = [], []
    for column in plan["columns"]:
        series = frame[by_name[column["name"]]]
        if column["type"] == "category":
            words, shares = np.array(column["words"]), np.array(column["shares"])
            one_hot = (_words(series)[:, None] == words).astype(float)
            parts.append((one_hot - shares) / column["scale"])
            names += [f"{column['name']}={word}" for word in column["words"]]
            continue
        if column["type"] != "number":
            block = (_block(column, series) - np.array(column["means"])) / column["scale"]
            parts.append(block)
            names += COLUMN_TYPES[column["type"]].names(column)
            continue
        values = _numbers(series)
        missing = np.isnan(values)
        values = np.where(missing, column["fill"], values)
        if "quantiles" in column:
            values = _normal_scores(values, column["quantiles"])
        parts.append(((values - column["mean"]) / column["scale"])[:, None])
        names.append(column["name"])
        if column["missing"] is not None:
            share = column["missing"]
            parts.append(((missing - share) / np.sqrt(share * (1 - share)))[:, None])
            names.append(f"{column['name']} missing")
    return np.hstack(parts) if parts else np.zeros((len(frame), 0)), names
