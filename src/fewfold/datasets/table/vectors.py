"""Columns whose cells are lists of numbers, as embeddings are stored."""

from __future__ import annotations

import numpy as np

from fewfold.datasets.table.columns import check_range
from fewfold.datasets.table.messages import Place
from fewfold.exceptions import InputError


def holds_vectors(series) -> bool:
    """Whether the cells of a column are lists, or texts such as "[0.1, 0.2]"."""
    if series.dtype != object and not str(series.dtype).startswith(("str", "list")):
        return False
    first = series.dropna().head(20).tolist()
    if first and all(isinstance(cell, (list, tuple, np.ndarray)) for cell in first):
        return True
    return bool(first) and all(
        isinstance(cell, str) and cell.strip().startswith("[") and _parsed(cell) is not None
        for cell in first
    )


def _parsed(cell) -> np.ndarray | None:
    """The numbers of a cell, None if it holds something else."""
    if isinstance(cell, str):
        inside = cell.strip()
        if not (inside.startswith("[") and inside.endswith("]")):
            return None
        cell = inside[1:-1].replace(",", " ").split()
    try:
        values = np.asarray(cell, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if values.ndim == 1 and len(values) else None


def read_vectors(name: str, series, place: Place, length: int | None = None) -> np.ndarray:
    """Return the lists of a column as a matrix; each must be there and as long as the first."""
    rows = []
    for i, cell in enumerate(series.tolist()):
        values = _parsed(cell)
        length = len(values) if length is None and values is not None else length
        if values is None or len(values) != length:
            found = "nothing that is a list of numbers" if values is None else len(values)
            raise InputError(
                f"{place.cell(i, name)}: found {found}, expected {length or 'some'} numbers as in "
                f"the other rows. Correct it, remove the row, or leave the column out "
                f"({place.option('drop', [name])})."
            )
        rows.append(values)
    X = np.vstack(rows)
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        raise InputError(
            f"{place.cell(int(np.flatnonzero(bad)[0]), name)}: the list holds a number that is "
            f"missing or infinite. Correct it, or leave the column out "
            f"({place.option('drop', [name])})."
        )
    for j in range(X.shape[1]):
        check_range(name, X[:, j], place)
    return X


def describe_vectors(name: str, series, place: Place) -> dict:
    """Describe a column of lists by their length."""
    return {"name": name, "kind": "vector", "length": read_vectors(name, series, place).shape[1]}


def vector_names(column: dict) -> list[str]:
    """Return the names of the features of a column of lists."""
    return [f"{column['name']}[{j}]" for j in range(column["length"])]
