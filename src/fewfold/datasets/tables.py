"""The user's own data: from a file to a Dataset.

Three steps, each usable alone: a file becomes a frame (:mod:`fewfold.datasets.frames`) or arrays
(:mod:`fewfold.datasets.arrays`); labels become codes (:mod:`fewfold.datasets.targets`); number
columns become a matrix (:func:`number_matrix`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fewfold.datasets import arrays, frames
from fewfold.datasets.base import Dataset
from fewfold.datasets.targets import UNLABELLED_MARKS, encode_target, one_per_row, read_labels
from fewfold.exceptions import InputError

SUFFIXES = (*frames.TEXT_SUFFIXES, *frames.PARQUET_SUFFIXES, *arrays.ARRAY_SUFFIXES)


def load_file(
    path: str | Path,
    target: str | int | None = None,
    *,
    labels: str | Path | None = None,
    task: str = "auto",
    x: str | None = None,
    ids: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    unlabelled: Sequence[str] = UNLABELLED_MARKS,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    image_shape: Sequence[int] | None = None,
    name: str | None = None,
) -> Dataset:
    """Read the user's file as a dataset.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, Parquet, NPY, NPZ, HDF5 or MatrixMarket file.
    target : str or int, optional
        Tables: the label column. NPZ, HDF5: the label array (default ``y``). NPY: the number
        of the label column (-1 is the last).
    labels : str or Path, optional
        A second file with one label per row (NPY, or text with one per line), instead of
        ``target``.
    task : {'auto', 'classification', 'regression'}, default='auto'
        See :func:`encode_target`.
    x : str, optional
        NPZ, HDF5: the array of features; default ``X``, or the only two-dimensional one.
    ids : str, optional
        Tables: a column that names the rows and is no feature.
    drop, features : sequence of str
        Tables: columns to leave out, or the only ones to use.
    unlabelled : sequence of str
        Values that mean "no label" (for numbers to predict, only the empty ones do).
    delimiter, encoding
        Text tables; see :func:`fewfold.datasets.frames.read_frame`.
    image_shape : sequence of int, optional
        Height and width where rows are images.
    name : str, optional
        Name of the dataset; the file's by default.

    Returns
    -------
    Dataset
    """
    file = frames.existing_file(path)
    suffix = check_suffix(file)
    row_ids = columns = None
    if suffix in arrays.ARRAY_SUFFIXES:
        for option, value in (("ids", ids), ("drop", drop), ("features", features)):
            if value:
                raise InputError(f"{file}: option {option} is for tables (CSV, TSV, Parquet) only.")
        X, values, where = _from_arrays(file, target, labels, x)
    else:
        X, values, where, columns, row_ids = _from_table(
            file, target, labels, ids, drop, features, delimiter, encoding
        )
    y, classes, task = encode_target(values, task=task, where=where, unlabelled=unlabelled)
    if image_shape is not None:
        image_shape = tuple(int(s) for s in image_shape)
        if int(np.prod(image_shape)) != X.shape[1]:
            raise InputError(
                f"{file}: image_shape={list(image_shape)} needs {int(np.prod(image_shape))} "
                f"features, found {X.shape[1]}. Correct it or leave it out."
            )
    return Dataset(
        name=name or file.stem,
        X=X,
        y=y,
        task=task,
        classes=classes,
        image_shape=image_shape,
        feature_names=columns,
        ids=row_ids,
    )


read_table = load_file


def check_suffix(file: Path) -> str:
    """Check that a file is of a kind that is read; give its suffix."""
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{file}: files ending in {suffix or 'nothing'!r} are not read; allowed: "
            f"{', '.join(SUFFIXES)}. Convert it, for example to CSV."
        )
    return suffix


def _columns(file, target, labels, ids, drop, features, delimiter, encoding):
    """Check the names of columns; give those of the features and the special ones."""
    if (target is None) == (labels is None):
        raise InputError(
            f"{file}: name either the label column (target) or a file of labels (labels); "
            f"found target={target!r}, labels={labels!r}."
        )
    names = frames.column_names(file, delimiter, encoding)
    for column, what in ((target, "target column"), (ids, "id column")):
        if column is not None and column not in names:
            raise frames.missing_column(file, column, names, what)
    for column in (*drop, *(features or ())):
        if column not in names:
            raise frames.missing_column(file, column, names)
    special = [c for c in (target, ids) if c is not None]
    chosen = names if features is None else list(features)
    columns = [c for c in chosen if c not in special and c not in drop]
    if not columns:
        raise InputError(
            f"{file}: no column is left for features (columns: {', '.join(names[:12])}; target, "
            f"ids and drop take {', '.join([*special, *drop])}). Keep at least one."
        )
    return columns, special


def _from_table(file, target, labels, ids, drop, features, delimiter, encoding):
    columns, special = _columns(file, target, labels, ids, drop, features, delimiter, encoding)
    frame = frames.read_frame(
        file,
        text_columns=special,
        only=[*columns, *special],
        delimiter=delimiter,
        encoding=encoding,
    )
    X = number_matrix(frame, columns, file, delimiter=delimiter, encoding=encoding)
    row_ids = None if ids is None else ["" if v is None else str(v) for v in frame[ids].tolist()]
    if labels is not None:
        return X, read_labels(labels, len(X)), str(labels), columns, row_ids
    values = frame[target].to_numpy(dtype=object)
    return X, values, f"{file}, column {target!r}", columns, row_ids


def _from_arrays(file: Path, target, labels, x, lazy: bool = False):
    suffix = file.suffix.lower()
    if suffix in (".npz", *arrays.HDF5_SUFFIXES):
        source = arrays.open_source(file)
        key = arrays.pick_array(file, source, x)
        X, where = source.read(key), f"{file}[{key}]"
        if labels is None:
            return _matrix(X, where), *_labels_inside(file, source, target, X.shape[0])
        return _matrix(X, where), read_labels(labels, X.shape[0]), str(labels)
    X = arrays.read_mtx(file) if suffix == ".mtx" else arrays.read_npy(file, lazy=lazy)
    X = _matrix(X, str(file))
    if labels is not None:
        return X, read_labels(labels, X.shape[0]), str(labels)
    if suffix == ".mtx" or target is None:
        raise InputError(
            f"{file}: holds no labels. Give a second file with one label per row (labels)"
            + ("." if suffix == ".mtx" else ", or the number of the label column (target).")
        )
    try:
        column = range(X.shape[1])[int(target)]
    except (ValueError, IndexError, TypeError) as error:
        raise InputError(
            f"{file}: target={target!r}; allowed: a column number from {-X.shape[1]} to "
            f"{X.shape[1] - 1}."
        ) from error
    if X.shape[1] < 2:
        raise InputError(f"{file}: has one column only, so none is left for features.")
    rest = X[:, :-1] if lazy else np.delete(X, column, axis=1)
    return rest, X[:, column], f"{file}, column {column}"


def _labels_inside(file: Path, source, target, n_samples: int) -> tuple[np.ndarray, str]:
    target = "y" if target is None else str(target)
    if isinstance(source, arrays.NpzSource) and target not in source.names():
        raise arrays.unknown_array(file, target, source.names())
    where = f"{file}[{target}]"
    return one_per_row(np.asarray(source.read(target, text=True)), n_samples, where), where


def _matrix(X, where: str):
    if X.ndim == 1 or min(X.shape) == 0:
        raise InputError(
            f"{where}: has the shape {X.shape}; allowed: rows x features, at least 1 x 1."
        )
    if X.ndim > 2:  # a stack of images
        X = X.reshape(len(X), -1)
    return X.astype(np.float64) if X.dtype.kind in "b" else X


def number_matrix(
    frame,
    columns: Sequence[str],
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> np.ndarray:
    """Turn number columns of a frame into a matrix; empty cells become NaN.

    Parameters
    ----------
    frame : pandas.DataFrame
    columns : sequence of str
        Columns to use, in this order.
    path : str or Path
        The file, for the message.
    delimiter, encoding
        As given to ``read_frame``, to find the line of a fault.

    Returns
    -------
    float64 ndarray of shape (n_samples, n_columns)
    """
    X = np.empty((len(frame), len(columns)))
    for j, column in enumerate(columns):
        series = frame[column]
        if series.dtype.kind in "biuf" and not _nullable(series):
            X[:, j] = series.to_numpy()
            continue
        X[:, j], bad = _numbers(series)
        if bad is not None:
            file = Path(path)
            line = frames.line_of_row(file, bad, delimiter, encoding)
            place = f"row {bad + 1}" + ("" if line is None else f" (line {line})")
            value = str(series.iloc[bad])[:60]
            raise InputError(
                f"{file}, {place}, column {column!r}: found {value!r}, where a "
                "number is expected. Correct the cell (empty means missing), or leave the column "
                f"out (drop=[{column!r}])."
            )
    return X


def _nullable(series) -> bool:
    return not isinstance(series.dtype, np.dtype)


def _numbers(series) -> tuple[np.ndarray, int | None]:
    """Convert cells to floats; also give the first that is no number, counted from 0."""
    import pandas as pd

    if series.dtype.kind in "mM":
        filled = np.flatnonzero(series.notna())
        return np.full(len(series), np.nan), int(filled[0]) if len(filled) else None
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object)
    numbers = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    cells = series.astype("string").str.strip().fillna("")
    empty = cells.str.lower().isin(["", "nan"]).to_numpy(dtype=bool)
    bad = np.flatnonzero(np.isnan(numbers) & ~empty)
    return numbers, int(bad[0]) if len(bad) else None


def describe_file(path: str | Path, **options):
    """Give the shape of the user's file; of its contents only the labels are read.

    Parameters
    ----------
    path : str or Path
    **options
        As for :func:`load_file`.

    Returns
    -------
    fewfold.datasets.catalog.Description
    """
    from fewfold.datasets.catalog import Description

    file = frames.existing_file(path)
    given = {**_defaults(), **options}
    suffix, target, labels = check_suffix(file), given["target"], given["labels"]
    sparse = False
    if suffix in arrays.ARRAY_SUFFIXES:
        shape, values, where, sparse = _scan_arrays(file, target, labels, given["x"])
    else:
        reading = {key: given[key] for key in ("delimiter", "encoding")}
        chosen = {key: given[key] for key in ("ids", "drop", "features")}
        columns, _ = _columns(file, target, labels, **chosen, **reading)
        key = target if labels is None else columns[0]
        frame = frames.read_frame(file, text_columns=[key], only=[key], **reading)
        shape, where = (len(frame), len(columns)), f"{file}, column {target!r}"
        values = read_labels(labels, len(frame)) if labels is not None else frame[key].to_numpy()
    _, classes, task = encode_target(
        values, task=given["task"], where=where, unlabelled=given["unlabelled"]
    )
    shape_of = given["image_shape"]
    return Description(
        name=given["name"] or file.stem,
        task=task,
        n_samples=int(shape[0]),
        n_features=int(np.prod(shape[1:])),
        n_classes=None if classes is None else len(classes),
        sparse=sparse,
        image_shape=None if shape_of is None else tuple(shape_of),
    )


def _defaults() -> dict:
    import inspect

    parameters = list(inspect.signature(load_file).parameters.values())[1:]
    return {p.name: p.default for p in parameters}


def _scan_arrays(file: Path, target, labels, x):
    """Give shape, labels, where they are, and whether the features are sparse."""
    suffix = file.suffix.lower()
    if suffix == ".npy" or (suffix == ".mtx" and labels is None):
        X, values, where = _from_arrays(file, target, labels, x, lazy=True)
        return X.shape, values, where, False
    if suffix == ".mtx":
        shape, _, kind = arrays.mtx_info(file)
        return shape, read_labels(labels, shape[0]), str(labels), kind == "coordinate"
    source = arrays.open_source(file)
    key = arrays.pick_array(file, source, x)
    shape = source.shape(key)
    sparse = getattr(source, "sparse", False)
    if labels is not None:
        return shape, read_labels(labels, shape[0]), str(labels), sparse
    values, where = _labels_inside(file, source, target, shape[0])
    return shape, values, where, sparse
