"""Single-cell files (h5ad): cells are rows, genes features, a column of ``obs`` the labels.

The format is HDF5 with a few conventions of AnnData (0.7 and later), read here as plain arrays:
nothing else has to be installed.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse

from fewfold.datasets import arrays
from fewfold.datasets.column_names import missing_column
from fewfold.datasets.damage import sound
from fewfold.datasets.table.marks import cell_text
from fewfold.datasets.table.options import FileContent, FileShape, Request
from fewfold.datasets.targets import read_labels
from fewfold.exceptions import InputError

_SPARSE = ("csr_matrix", "csc_matrix")


def read_cell_file(file: Path, request: Request) -> FileContent:
    """Read an h5ad file: X, or with the option ``x`` a layer or an embedding (``obsm:X_pca``)."""
    arrays.check_h5ad(file)
    use = request.options.x
    with _opened(file) as opened:
        labels, where = (
            _labels(file, opened, request.options) if request.with_labels else (None, "")
        )
        X, names = _features(file, opened, use)
        cells = _index(file, opened, "obs")
    if X.shape[0] != len(cells):
        raise InputError(f"{file}: has {X.shape[0]} rows of features and {len(cells)} cells.")
    what = "genes" if use is None else f"numbers of {use}"
    return FileContent(
        X=X,
        labels=labels,
        where=where,
        feature_names=names,
        ids=cells,
        id_name="cell",
        sentences=[f"{X.shape[0]} cells x {X.shape[1]} {what}."],
    )


def scan_cell_file(file: Path, request: Request) -> FileShape:
    """Return shape and labels."""
    content = read_cell_file(file, request)
    return FileShape(content.X.shape, content.labels, content.where, sparse.issparse(content.X))


@contextmanager
def _opened(file: Path, mode: str = "r"):
    """Open an h5ad file; what h5py raises on damage becomes one clear error."""
    import h5py

    with sound(file, "a whole h5ad file"), h5py.File(file, mode) as opened:
        yield opened


def _encoding(node) -> str:
    value = node.attrs.get("encoding-type", "")
    return value.decode() if isinstance(value, bytes) else str(value)


def _group(file, opened, name):
    import h5py

    node = opened.get(name)
    if not isinstance(node, h5py.Group):
        raise InputError(
            f"{file}: has no group {name!r}, or one of a very old format. Open it with a recent "
            "anndata and write it again (write_h5ad)."
        )
    return node


def _index(file, opened, name) -> list[str]:
    """Names of the cells (``obs``) or genes (``var``)."""
    group = _group(file, opened, name)
    key = group.attrs.get("_index", "_index")
    key = key.decode() if isinstance(key, bytes) else str(key)
    if key not in group:
        raise InputError(f"{file}: {name} has no index {key!r}. Write it again with anndata.")
    return [cell_text(v) for v in np.asarray(group[key]).tolist()]


def _column(file, group, name) -> np.ndarray:
    """One column of ``obs`` as objects, None where there is no value."""
    import h5py

    node = group[name]
    if isinstance(node, h5py.Dataset):
        return np.array([v.decode("utf-8", "replace") if isinstance(v, bytes) else v
                         for v in np.asarray(node).ravel().tolist()], dtype=object)  # fmt: skip
    if {"codes", "categories"} <= set(node):
        names = [cell_text(v) for v in np.asarray(node["categories"]).tolist()]
        codes = np.asarray(node["codes"]).astype(np.int64)
        if len(codes) and not (-1 <= codes.min() and codes.max() < len(names)):
            raise InputError(f"{file}: obs {name!r} has codes without a category. Write it again.")
        return np.array([*names, None], dtype=object)[codes]
    if {"values", "mask"} <= set(node):
        values = np.asarray(node["values"]).astype(object)
        values[np.asarray(node["mask"], dtype=bool)] = None
        return values
    raise InputError(
        f"{file}: obs {name!r} is stored as {_encoding(node) or 'something'}, expected categories, "
        "text or numbers. Convert it (astype('category')) and write the file again."
    )


def _features(file, opened, use):
    if use is None:
        if "X" not in opened:
            raise InputError(f"{file}: holds no X. Name what to use: {_choices(opened)} (--use).")
        return _matrix(file, opened["X"], "X"), _index(file, opened, "var")
    part, _, name = str(use).partition(":")
    if part not in ("obsm", "layers") or name not in opened.get(part, ()):
        raise InputError(f"{file}: --use {use}: not there. Allowed: {_choices(opened)}.")
    X = _matrix(file, opened[part][name], f"{part}[{name}]")
    # So named that `predict` knows what to take of a new file.
    inner = _index(file, opened, "var") if part == "layers" else range(X.shape[1])
    return X, [f"{use}[{name}]" for name in inner]


def _choices(opened):
    found = [f"{part}:{name}" for part in ("obsm", "layers") for name in opened.get(part, ())]
    return ", ".join(found[:12]) or "nothing in obsm or layers"


def _matrix(file, node, where):
    import h5py

    if isinstance(node, h5py.Group):
        kind = _encoding(node)
        if kind not in _SPARSE or not {"data", "indices", "indptr"} <= set(node):
            raise InputError(
                f"{file}: {where} is stored as {kind or 'a group'}; expected numbers, dense or "
                "sparse (csr, csc). Use another (--use obsm:NAME)."
            )
        build = sparse.csr_array if kind == "csr_matrix" else sparse.csc_array
        parts = [np.asarray(node[key]) for key in ("data", "indices", "indptr")]
        shape = tuple(int(s) for s in node.attrs["shape"])
        arrays.check_dtype(f"{file}[{where}]", parts[0].dtype)
        X = build(tuple(parts), shape=shape)
        X.check_format(full_check=True)
        return sparse.csr_array(X)
    arrays.check_dtype(f"{file}[{where}]", node.dtype)
    X = np.asarray(node)
    if X.ndim != 2 or min(X.shape) == 0:
        raise InputError(f"{file}: {where} has the shape {X.shape}; expected cells x features.")
    return X


def _labels(file, opened, options):
    obs = _group(file, opened, "obs")
    if options.labels is not None:
        return read_labels(options.labels, len(_index(file, opened, "obs"))), str(options.labels)
    if options.target is None:
        raise InputError(f"{file}: which column of obs holds the labels? Name it (target).")
    if options.target not in obs or str(options.target).startswith("_"):
        columns = [name for name in obs if not name.startswith("_")]
        raise missing_column(file, options.target, columns, "target column")
    return _column(file, obs, options.target), f"{file}, obs {options.target!r}"


def read_pairs(file: Path, name: str):
    """Read a matrix of ``obsp``: numbers between the cells."""
    if file.suffix.lower() != ".h5ad":
        raise InputError(f"--graph obsp:{name}: only .h5ad files have obsp; {file} is not one.")
    arrays.check_h5ad(file)
    with _opened(file) as opened:
        there = list(opened.get("obsp", ()))
        if name not in there:
            allowed = ", ".join(f"obsp:{n}" for n in there) or "nothing: obsp is empty"
            raise InputError(f"{file}: --graph obsp:{name}: not there. Allowed: {allowed}.")
        return _matrix(file, opened["obsp"][name], f"obsp[{name}]")


def write_labels(file: Path, out: Path, target: str, labels, confidence, name: str) -> None:
    """Copy an h5ad file and put all labels into a column of ``obs``, confidence beside it."""
    import h5py

    shutil.copyfile(file, out)
    with _opened(out, "r+") as opened:
        obs = _group(out, opened, "obs")
        if target in obs:
            del obs[target]
        words = obs.create_dataset(
            target, data=["" if v is None or v != v else str(v) for v in labels],
            dtype=h5py.string_dtype(),
        )  # fmt: skip
        words.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
        numbers = obs.create_dataset(name, data=np.asarray(confidence, dtype=np.float64))
        numbers.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        order = [v.decode() if isinstance(v, bytes) else str(v)
                 for v in obs.attrs.get("column-order", ())]  # fmt: skip
        order = [*order, *(n for n in (target, name) if n not in order)]
        obs.attrs["column-order"] = np.array(order, dtype=h5py.string_dtype())
