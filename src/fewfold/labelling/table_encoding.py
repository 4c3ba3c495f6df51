"""Turning a table into numbers as planned by `fewfold.labelling.table_features`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fewfold.datasets.registry import nearest
from fewfold.exceptions import InputError
from fewfold.labelling.table_features import (
    as_text,
    column_groups,
    is_number,
    listed,
    strict_numbers,
)


def encode_table(frame: pd.DataFrame, columns: list, where="the file"):
    """Turn a table into features as planned.

    Parameters
    ----------
    frame : DataFrame
    columns : list of dict
        Of a `TablePlan`.
    where : str

    Returns
    -------
    X : float32 ndarray of shape (n_rows, n_features)
    names : list of str

    Raises
    ------
    InputError
        Naming each column that is missing, or holds something else than when planned.
    """
    missing = [c["name"] for c in columns if c["name"] not in frame.columns]
    if missing:
        guess = nearest(str(missing[0]), [str(n) for n in frame.columns])
        hint = f" Did you mean {guess!r} for {missing[0]!r}?" if guess else ""
        raise InputError(
            f"{where}: the column{'s' * (len(missing) > 1)} {listed(missing, 8)} "
            f"{'are' if len(missing) > 1 else 'is'} missing.{hint} "
            f"It has {listed(list(frame), 8)}."
        )
    numbers = [c for c in columns if c["kind"] == "number"]
    others, names = [], [c["name"] for c in numbers]
    for c in columns:
        if c["kind"] != "number":
            block, words = _ENCODERS[c["kind"]](frame[c["name"]], c, where)
            others.append(block.astype(np.float32))
            names += words
    X = np.empty((len(frame), len(names)), dtype=np.float32)
    _fill_numbers(X, frame, numbers, where)
    if others:
        X[:, len(numbers) :] = np.hstack(others)
    return X, names


def _fill_numbers(X, frame, numbers, where):
    kinds = dict(zip(frame.columns, frame.dtypes))
    plain = all(kinds[c["name"]] in (np.float64, np.int64) for c in numbers)
    for start, stop in column_groups(len(frame), len(numbers)):
        group = numbers[start:stop]
        if plain:
            block = frame[[c["name"] for c in group]].to_numpy(dtype=np.float64)
            if np.isfinite(block).all():  # columns with empty cells go the long way
                block = (block - [c["offset"] for c in group]) * [c["factor"] for c in group]
                X[:, start:stop] = block
                continue
        for j, c in enumerate(group, start):
            X[:, j] = _numbers(frame[c["name"]], c, where)


def _numbers(series, column, where):
    if not is_number(series):
        series = strict_numbers(column["name"], as_text(series), where)
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise InputError(f"{where}: column {column['name']!r} holds infinite values.")
    values = np.where(np.isnan(values), column["fill"], values)
    return (values - column["offset"]) * column["factor"]


def _one_hot(series, column, where):
    text, kinds = as_text(series), column["categories"]
    place = {kind: j for j, kind in enumerate(kinds)}
    out = np.zeros((len(text), len(kinds)))
    for i, value in enumerate(text.tolist()):
        if value in place:  # a category never seen has no column of its own: all zeros
            out[i, place[value]] = 1
    return out, [f"{column['name']}={kind}" for kind in kinds]


def _dates(series, column, where):
    times = pd.to_datetime(series, errors="coerce")
    times = times.fillna(times.dropna().median() if times.notna().any() else pd.Timestamp(0))
    angle = 2 * np.pi * times.dt.day_of_year.to_numpy() / 365.25
    week = 2 * np.pi * times.dt.day_of_week.to_numpy() / 7
    years = times.dt.year.to_numpy() - 2000 + times.dt.day_of_year.to_numpy() / 365.25
    block = np.column_stack([years / 10, np.sin(angle), np.cos(angle), np.sin(week), np.cos(week)])
    words = ("decades", "season (sine)", "season (cosine)", "weekday (sine)", "weekday (cosine)")
    return block, [f"{column['name']}: {w}" for w in words]


def _words(series, column, where):
    # Hashed, so that new tables need no vocabulary: nothing but the name has to be stored.
    from sklearn.feature_extraction.text import HashingVectorizer

    table = HashingVectorizer(n_features=256, alternate_sign=True, norm="l2", lowercase=True)
    block = table.transform(as_text(series).tolist()).toarray()
    return block, [f"{column['name']}: words {j}" for j in range(256)]


_ENCODERS = {"category": _one_hot, "date": _dates, "text": _words}
