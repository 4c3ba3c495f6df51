"""Single-cell files (h5ad): cells are rows, genes features, a column of ``obs`` the labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from fewfold.datasets import arrays, frames
from fewfold.datasets.damage import sound
from fewfold.datasets.table.options import FileContent, FileShape, Request
from fewfold.datasets.targets import read_labels
from fewfold.exceptions import InputError


def read_cell_file(file: Path, request: Request) -> FileContent:
    """Read an h5ad file; needs the package anndata."""
    try:
        import anndata
    except ImportError as error:
        raise InputError(
            f"{file}: reading .h5ad needs the package anndata. Install it (pip install anndata), "
            "or save the table as CSV or NPZ."
        ) from error
    arrays.check_h5ad(file)
    with sound(file, "a whole h5ad file"):
        data = anndata.read_h5ad(file)
    labels, where = _labels(file, data, request.options) if request.with_labels else (None, "")
    X = data.X
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    return FileContent(
        X=X,
        labels=labels,
        where=where,
        feature_names=[str(v) for v in data.var_names],
        ids=[str(v) for v in data.obs_names],
        id_name="cell",
        sentences=[f"{X.shape[0]} cells x {X.shape[1]} genes."],
    )


def _labels(file, data, options):
    if options.labels is not None:
        return read_labels(options.labels, data.X.shape[0]), str(options.labels)
    if options.target is None:
        raise InputError(f"{file}: which column of obs holds the labels? Name it (target).")
    if options.target not in data.obs:
        raise frames.missing_column(file, options.target, list(data.obs.columns), "target column")
    values = data.obs[options.target].astype("string").fillna("").to_numpy(dtype=object)
    return values, f"{file}, obs {options.target!r}"


def scan_cell_file(file: Path, request: Request) -> FileShape:
    """Return shape and labels."""
    content = read_cell_file(file, request)
    return FileShape(content.X.shape, content.labels, content.where, sparse.issparse(content.X))
