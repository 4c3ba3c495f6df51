"""From the columns of a table to features that distances, kernels and trees can use.

Rules, each decided from all rows without their labels:

- numbers are standardized, unless all columns share a unit (`share_a_unit`): then one scale for
  all, so that differences between columns stay what they are (pixels, spectra, embeddings);
- a column that is very skewed (`VERY_SKEWED`) is replaced by the normal scores of its ranks;
- missing numbers become the median; where they are more than `MISSING_SHARE` of the rows, a
  column of its own says so;
- a column of categories becomes one column per category, scaled so that all of them together
  vary as much as one standardized number; so do the parts of a date, or those of a text; the
  entries of a vector vary as much as one number each.

What a column is and which features it becomes is decided where files are read
(`fewfold.datasets.table`); here, how they are scaled.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtri

from fewfold.datasets.table.columns import planned_numbers
from fewfold.datasets.table.encoding import COLUMN_TYPES, count_features
from fewfold.datasets.table.messages import Place
from fewfold.exceptions import InputError
from fewfold.methods.parameters import (
    any_object,
    list_of,
    null,
    number,
    positive,
)

SMALLEST_NUMBER = 1e-100  # of a column: smaller ones have no squares
VERY_SKEWED = 2.0
MISSING_SHARE = 0.01
_LEAST_DISTINCT = 10
_LEAST_COLUMNS = 16
_UNIT_RATIO = 5.0
_QUANTILES = 200
_MOST_ROWS = 200_000  # that say whether columns share a unit


def share_a_unit(X) -> bool:
    """Return whether columns of numbers seem to share a unit.

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


def plan_columns(frame: pd.DataFrame, columns: list) -> dict:
    """Decide how the columns of a table are scaled.

    Parameters
    ----------
    frame : DataFrame
    columns : list of dict
        What each column is, as in the ``columns`` of a `fewfold.datasets.table.plan.TablePlan`.

    Returns
    -------
    dict
        Plain values only: ``columns``, one dict for each that varies, and ``unit``, the common
        scale or None.
    """
    unit = None
    if len(columns) >= _LEAST_COLUMNS and all(c["kind"] == "number" for c in columns):
        some = frame.iloc[:: max(1, len(frame) // _MOST_ROWS)]
        X = np.column_stack([_numbers(some, c) for c in columns])
        if np.isfinite(X).all() and share_a_unit(X):
            unit = float(np.sqrt(np.mean(X.var(axis=0))))
    planned = []
    for column in columns:
        if column["kind"] == "number":
            planned.append(_plan_number(column["name"], _numbers(frame, column), unit))
        else:
            planned.append(_plan_block(column, _block(frame, column)))
    return {"columns": [c for c in planned if c is not None], "unit": unit}


def _numbers(frame, column):
    """Return the numbers of a column, NaN where missing."""
    series = planned_numbers(frame[column["name"]], column, Place())
    return series.to_numpy(dtype=float, na_value=np.nan)


def _block(frame, column):
    """Return the features that a column of another kind becomes."""
    found = COLUMN_TYPES[column["kind"]].values(frame[column["name"]], column, Place())
    return np.asarray(found, dtype=float)


def _plan_block(column, block):
    variances = block.var(axis=0)
    # Each entry of a vector counts as one number; the parts of other columns together as one.
    spread = float(np.sqrt(variances.mean() if column["kind"] == "vector" else variances.sum()))
    if spread == 0:
        return None
    means = block.mean(axis=0).tolist()
    return {"name": column["name"], "type": column["kind"], "means": means, "scale": spread}


_NUMBER = {
    "fill": number(), "mean": number(), "scale": positive(), "missing": null() | number(0, 1),
}  # fmt: skip
_BLOCK = {"means": list_of(number()), "scale": positive()}


def check_plan(plan, columns: list) -> dict:
    """Return a plan that was read from a file, or raise `InputError` for the first wrong value.

    ``columns`` are those of the reader's plan, checked before.
    """
    if not any_object().accepts(plan) or not isinstance(plan.get("columns"), list):
        raise InputError("The plan of the columns is not a mapping with a list of columns.")
    if not (null() | positive()).accepts(plan.get("unit")):
        raise InputError(f"The unit of the columns is {str(plan.get('unit'))[:40]!r}.")
    known = {column["name"]: column for column in columns}
    for column in plan["columns"]:
        if not any_object().accepts(column) or column.get("name") not in known:
            raise InputError(f"A column of the plan is not known: {str(column)[:60]}.")
        read = known[column["name"]]
        if column.get("type") != read["kind"]:
            kind = str(column.get("type"))[:40]
            raise InputError(
                f"The column {read['name']!r} is planned as {kind!r}, and read as {read['kind']!r}."
            )
        for key, allowed in (_NUMBER if read["kind"] == "number" else _BLOCK).items():
            if not allowed.accepts(column.get(key)):
                raise InputError(
                    f"The column {column['name']!r}: {key!r} is {str(column.get(key))[:40]!r}. "
                    f"Allowed: {allowed.words()}."
                )
        _check_lists(column, read)
    return plan


def _check_lists(column, read):
    levels = column.get("quantiles")
    if levels is not None and (
        not list_of(number(), 2).accepts(levels) or np.any(np.diff(levels) < 0)
    ):
        raise InputError(f"The column {column['name']!r}: 'quantiles' are not rising numbers.")
    if read["kind"] != "number" and len(column["means"]) != count_features([read]):
        width = count_features([read])
        raise InputError(f"The column {column['name']!r} needs {width} means.")


def prepared_width(plan: dict) -> int:
    """Return how many features a plan gives."""
    return sum(
        len(c["means"]) if "means" in c else 1 + (c["missing"] is not None) for c in plan["columns"]
    )


def _plan_number(name, values, unit):
    missing = np.isnan(values)
    known = values[~missing]
    if len(known) and 0 < np.abs(known).max() < SMALLEST_NUMBER:
        raise InputError(
            f"Column {name!r}: its largest number is {known[np.abs(known).argmax()]:g}, and the "
            f"spread of numbers below {SMALLEST_NUMBER:.0e} cannot be computed. Rescale the "
            f"column, or leave it out (--drop {name})."
        )
    if len(known) == 0 or (known.std() == 0 and not missing.any()):
        return None
    plan = {"name": name, "type": "number", "fill": float(np.median(known))}
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
    return ndtri((rank + 0.5) / q)


def prepare_columns(frame: pd.DataFrame, columns: list, plan: dict) -> tuple[np.ndarray, list[str]]:
    """Turn a table into features as planned.

    Parameters
    ----------
    frame : DataFrame
    columns : list of dict
        What each column is; see `plan_columns`.
    plan : dict
        From `plan_columns`, of this table or of the one that was learned from. A category that
        is not known is treated as unknown.

    Returns
    -------
    X : float32 ndarray of shape (n, d)
    names : list of str
    """
    read = {column["name"]: column for column in columns}
    lost = [c["name"] for c in plan["columns"] if c["name"] not in frame.columns]
    if lost:
        raise InputError(f"The column {lost[0]!r} is missing; {frame.shape[1]} others are there.")
    # Filled column by column: a copy in double precision would take three times the memory.
    X, names = np.empty((len(frame), prepared_width(plan)), dtype=np.float32), []
    for column in plan["columns"]:
        name, start = column["name"], len(names)
        if column["type"] != "number":
            block = _block(frame, read[name])
            names += COLUMN_TYPES[column["type"]].names(read[name])
            X[:, start : len(names)] = (block - np.array(column["means"])) / column["scale"]
            continue
        values = _numbers(frame, read[name])
        missing = np.isnan(values)
        values = np.where(missing, column["fill"], values)
        if "quantiles" in column:
            values = _normal_scores(values, column["quantiles"])
        X[:, start] = (values - column["mean"]) / column["scale"]
        names.append(name)
        if column["missing"] is not None:
            share = column["missing"]
            X[:, start + 1] = (missing - share) / np.sqrt(share * (1 - share))
            names.append(f"{name} missing")
    return X, names
