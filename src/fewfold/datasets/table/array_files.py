"""Files of arrays (NPY, NPZ, HDF5, MatrixMarket): features are a matrix already."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fewfold.datasets import arrays
from fewfold.datasets.table.options import FileContent, FileShape, Request
from fewfold.datasets.targets import one_per_row, read_labels
from fewfold.exceptions import InputError

_OF_TABLES = ("ids", "drop", "features", "expand", "keep", "types", "decimal", "annotators")


def read_array_file(file: Path, request: Request) -> FileContent:
    """Read features and labels from a file of arrays."""
    _refuse_table_options(file, request)
    if request.with_labels:
        X, labels, where = _read(file, request)
    else:
        X, labels, where = read_matrix(file, request.options.x), None, str(file)
    sentence = f"{X.shape[0]} rows; features: an array of {X.shape[1]} numbers per row."
    return FileContent(X, labels, where, sentences=[sentence])


def read_matrix(file: Path, x: str | None = None):
    """Read the features alone; of NPY and MatrixMarket files all columns."""
    if _is_named(file):
        source = arrays.open_source(file)
        key = arrays.pick_array(file, source, x)
        return _matrix(source.read(key), f"{file}[{key}]")
    X = arrays.read_mtx(file) if file.suffix.lower() == ".mtx" else arrays.read_npy(file)
    return _matrix(X, str(file))


def scan_array_file(file: Path, request: Request) -> FileShape:
    """Return shape and labels; the features stay on the disk."""
    _refuse_table_options(file, request)
    options, suffix = request.options, file.suffix.lower()
    if suffix == ".npy" or (suffix == ".mtx" and options.labels is None):
        X, labels, where = _read(file, request, lazy=True)
        return FileShape(X.shape, labels, where)
    if suffix == ".mtx":
        shape, _, layout = arrays.mtx_info(file)
        labels = read_labels(options.labels, shape[0])
        return FileShape(shape, labels, str(options.labels), layout == "coordinate")
    source = arrays.open_source(file)
    shape = source.shape(arrays.pick_array(file, source, options.x))
    sparse = getattr(source, "sparse", False)
    if options.labels is not None:
        labels, where = read_labels(options.labels, shape[0]), str(options.labels)
    else:
        labels, where = _labels_inside(file, source, options.target, shape[0])
    return FileShape(shape, labels, where, sparse)


def _refuse_table_options(file, request):
    for name in _OF_TABLES:
        if getattr(request.options, name):
            raise InputError(f"{file}: option {name} is for tables (CSV, TSV, Parquet) only.")


def _is_named(file: Path) -> bool:
    return file.suffix.lower() in (".npz", *arrays.HDF5_SUFFIXES)


def _read(file, request, lazy=False):
    """Return features, labels and the place of the labels."""
    options = request.options
    if _is_named(file):
        X = read_matrix(file, options.x)
        if options.labels is not None:
            return X, read_labels(options.labels, X.shape[0]), str(options.labels)
        source = arrays.open_source(file)
        return X, *_labels_inside(file, source, options.target, X.shape[0])
    lazy_npy = lazy and file.suffix.lower() == ".npy"
    X = _matrix(arrays.read_npy(file, lazy=True), str(file)) if lazy_npy else read_matrix(file)
    if options.labels is not None:
        return X, read_labels(options.labels, X.shape[0]), str(options.labels)
    return _split_off(file, X, options.target, lazy)


def _split_off(file, X, target, lazy):
    """Take one column of a matrix as the labels."""
    is_mtx = file.suffix.lower() == ".mtx"
    if is_mtx or target is None:
        raise InputError(
            f"{file}: holds no labels. Give a second file with one label per row (labels)"
            + ("." if is_mtx else ", or the number of the label column (target).")
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


def _labels_inside(file, source, target, n_samples):
    target = "y" if target is None else str(target)
    if isinstance(source, arrays.NpzSource) and target not in source.names():
        raise arrays.unknown_array(file, target, source.names())
    where = f"{file}[{target}]"
    return one_per_row(np.asarray(source.read(target, text=True)), n_samples, where), where


def _matrix(X, where):
    if X.ndim == 1 or min(X.shape) == 0:
        raise InputError(
            f"{where}: has the shape {X.shape}; allowed: rows x features, at least 1 x 1."
        )
    if X.ndim > 2:  # a stack of images
        X = X.reshape(len(X), -1)
    return X.astype(np.float64) if X.dtype.kind in "b" else X
