"""From the rows of a table to features, by a plan (`fewfold.datasets.table.plan`).

A type of column is one entry of `COLUMN_TYPES`: which features it becomes, and their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fewfold.datasets.registry import nearest
from fewfold.datasets.table.columns import check_range, column_groups, planned_numbers
from fewfold.datasets.table.dates import date_names, date_values
from fewfold.datasets.table.marks import column_text
from fewfold.datasets.table.messages import Place, listed
from fewfold.datasets.table.texts import code_names, code_values, text_names, text_values
from fewfold.exceptions import InputError
from fewfold.system.file_schema import LARGEST_NUMBER
from fewfold.system.memory import require

OTHER = "(other)"


def encode_table(frame, columns: list, place: Place | None = None, dtype=np.float32):
    """Turn a table into features as planned; numbers first, then the other columns.

    Parameters
    ----------
    frame : pandas.DataFrame
    columns : list of dict
        Of a `TablePlan`.
    place : Place, optional
        For messages.
    dtype : dtype
        Of the features.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
    names : list of str

    Raises
    ------
    InputError
        Naming each column that is missing, or holds something else than when planned.
    """
    place = place or Place()
    _check_there(frame, columns, place)
    numbers = [c for c in columns if c["kind"] == "number"]
    names = feature_names(columns)
    size = np.dtype(dtype).itemsize * len(frame) * len(names)
    require(size, place.where, f"{len(frame)} rows x {len(names)} features")
    X = np.empty((len(frame), len(names)), dtype=dtype)
    _fill_numbers(X, frame, numbers, place)
    start = len(numbers)
    for c in columns:
        if c["kind"] != "number":
            block = COLUMN_TYPES[c["kind"]].values(frame[c["name"]], c, place)
            X[:, start : start + block.shape[1]] = block
            start += block.shape[1]
    return X, names


def feature_names(columns: list) -> list[str]:
    """Return the names of the features that columns become, in the order of `encode_table`.

    >>> feature_names([{"name": "k", "kind": "category", "categories": ["a", "b"]}])
    ['k=a', 'k=b']
    """
    numbers = [c["name"] for c in columns if c["kind"] == "number"]
    others = [c for c in columns if c["kind"] != "number"]
    return numbers + [name for c in others for name in COLUMN_TYPES[c["kind"]].names(c)]


def count_features(columns: list) -> int:
    """Return how many features columns become, without naming them: a file may announce many.

    >>> count_features([{"name": "v", "kind": "vector", "length": 768}])
    768
    """
    lengths = {"vector": lambda c: c["length"]}
    return sum(
        lengths[c["kind"]](c) if c["kind"] in lengths else len(COLUMN_TYPES[c["kind"]].names(c))
        for c in columns
    )


def _check_there(frame, columns, place):
    missing = [c["name"] for c in columns if c["name"] not in frame.columns]
    if not missing:
        return
    guess = nearest(str(missing[0]), [str(n) for n in frame.columns])
    hint = f" Did you mean {guess!r} for {missing[0]!r}?" if guess else ""
    several = len(missing) > 1
    raise InputError(
        f"{place.where}: the column{'s' if several else ''} {listed(missing, 8)} "
        f"{'are' if several else 'is'} missing.{hint} It has {listed(list(frame), 8)}."
    )


def _fill_numbers(X, frame, numbers, place):
    types = dict(zip(frame.columns, frame.dtypes))
    plain = all(types[c["name"]] in (np.float64, np.int64) for c in numbers)
    for start, stop in column_groups(len(frame), len(numbers)):
        group = numbers[start:stop]
        if plain:
            block = frame[[c["name"] for c in group]].to_numpy(dtype=np.float64)
            if (np.abs(block) <= LARGEST_NUMBER).all():  # others go the long way
                X[:, start:stop] = (block - _of(group, "offset")) * _of(group, "factor")
                continue
        for j, c in enumerate(group, start):
            X[:, j] = _number(frame[c["name"]], c, place)


def _of(group, key):
    return np.array([c[key] for c in group])


def _number(series, column, place):
    series = planned_numbers(series, column, place)
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    check_range(column["name"], values, place)
    values = np.where(np.isnan(values), column["fill"], values)
    return (values - column["offset"]) * column["factor"]


def _one_hot(series, column, place):
    text, categories = column_text(series), column["categories"]
    position = {category: j for j, category in enumerate(categories)}
    other = len(categories) if column.get("other") else None
    out = np.zeros((len(text), len(categories) + (other is not None)), dtype=np.float32)
    for i, value in enumerate(text.tolist()):
        place = position.get(value, other if value else None)
        if place is not None:  # where there is no column for new ones: all zeros
            out[i, place] = 1
    return out


def _category_names(column):
    names = [*column["categories"], *([OTHER] if column.get("other") else [])]
    return [f"{column['name']}={name}" for name in names]


def _vectors(series, column, place):
    from fewfold.datasets.table.vectors import read_vectors

    return read_vectors(column["name"], series, place, column["length"])


def _vector_names(column):
    from fewfold.datasets.table.vectors import vector_names

    return vector_names(column)


@dataclass(frozen=True)
class ColumnType:
    """The features of one type of column: their names, and their values for the rows of a frame."""

    names: Callable[[dict], list[str]]
    values: Callable


# In the order in which sentences name them.
COLUMN_TYPES = {
    "number": ColumnType(lambda column: [column["name"]], _number),
    "category": ColumnType(_category_names, _one_hot),
    "date": ColumnType(date_names, lambda series, column, place: date_values(series, column)),
    "text": ColumnType(
        text_names, lambda series, column, place: text_values(column_text(series), column)
    ),
    "code": ColumnType(
        code_names, lambda series, column, place: code_values(column_text(series), column)
    ),
    "vector": ColumnType(_vector_names, _vectors),
}
