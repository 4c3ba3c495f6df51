"""`fewfold predict`: labels for the rows of another file from a model file."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.datasets import frames
from fewfold.datasets.raw_text import inner_suffix
from fewfold.datasets.table.array_files import read_matrix
from fewfold.datasets.table.cell_files import read_cell_file, write_labels
from fewfold.datasets.table.encoding import encode_table
from fewfold.datasets.table.image_folders import DESCRIBED_WIDTHS, find_images, read_images
from fewfold.datasets.table.options import FileOptions, Request
from fewfold.datasets.table.reading import kind_of
from fewfold.datasets.table.table_files import place_of
from fewfold.exceptions import InputError
from fewfold.labeling.completed import write_table, written_kind
from fewfold.labeling.given import STDIN, is_frame, stored_input
from fewfold.labeling.model_file import Model
from fewfold.labeling.preparation import prepare_columns
from fewfold.labeling.words import size_words
from fewfold.labeling.workspace import as_compared
from fewfold.linalg.preparation import check_finite
from fewfold.pipeline.artifacts import atomic_path
from fewfold.system.outputs import check_output_file
from fewfold.system.plain_text import guarded_table

FAR_SHARE = 0.05  # five times the expected share of far rows


def read_new_rows(model: Model, path, echo=lambda text: None):
    """Read new rows as the model's table was read, tables block by block.

    Yields
    ------
    X : array of shape (n, d)
    names : list of str or None
    id_name : str
    """
    if Path(path).expanduser().is_dir():
        yield _read_folder(model, Path(path).expanduser())
        return
    file = frames.existing_file(path)
    kind = kind_of(file).name
    if kind == "cells":
        yield _read_cells(model, file)
    elif model.columns is not None:
        yield from _read_columns(model, file, kind, echo)
    elif kind != "arrays":
        raise InputError(
            f"{file}: the model was made from an array of {model.n_features} features per row; "
            "give an NPZ, NPY or HDF5 file."
        )
    else:
        yield _as_prepared(read_matrix(file)), None, "row"


def _read_folder(model, folder):
    """Read a folder of images as those of the model were read."""
    files = find_images(folder)
    shape = model.found["image_shape"]
    is_series = shape is not None and len(shape) == 1
    if shape is None:
        known = {width: name for name, width in DESCRIBED_WIDTHS.items()}
        shape = known.get(model.n_features)
    if model.columns is not None or shape is None or is_series:
        raise InputError(
            f"{folder}: the model was not made from images; give a file like the one it was "
            f"made from ({model.n_features} features per row)."
        )
    X, _ = read_images(folder, files, shape)
    return X, [file.relative_to(folder).as_posix() for file in files], "file"


def _read_columns(model, file, kind, echo):
    """Read a table that has the columns of the model."""
    if kind != "table":
        raise InputError(
            f"{file}: the model was made from a table with the columns "
            f"{', '.join(c['name'] for c in model.columns[:6])}, ...; give a CSV, TSV or "
            "Parquet file with these."
        )
    text = [c["name"] for c in model.columns if c["kind"] in ("category", "text", "code")]
    # Numbers stored as text are kept as written, or "1.500" would become another number.
    is_text = inner_suffix(file) in frames.TEXT_SUFFIXES
    written = [c["name"] for c in model.columns if is_text and "written" in c]
    place = place_of(file, Request(FileOptions(), command=True))
    preparation, id_name = model.found["preparation"], model.found["id_name"] or "row"
    unknown, first = {}, 0
    for frame in frames.read_blocks(file, text_columns=[*text, *written]):
        here = replace(place, first=first)
        X, _ = encode_table(frame, model.columns, here)
        if preparation is not None:  # the former has checked every column
            X, _ = prepare_columns(frame, model.columns, preparation)
        for column, found in new_categories(frame, model.columns).items():
            unknown.setdefault(column, set()).update(found)
        ids = frame[id_name].astype(str).tolist() if id_name in frame.columns else None
        first += len(frame)
        yield X, ids, id_name if ids is not None else "row"
    for column, found in unknown.items():
        some = ", ".join(map(repr, sorted(found)[:5]))
        echo(
            f"Warning: the column {column!r} has values that the model does not know "
            f"({some}{', ...' if len(found) > 5 else ''}); they are treated as unknown."
        )


def new_categories(frame, columns) -> dict[str, list]:
    """Return, for each categorical column, the values unknown to the model."""
    found = {}
    for c in columns:
        if c["kind"] == "category":
            values = pd.unique(frame[c["name"]].dropna().astype(str))
            if unknown := sorted(set(values) - set(c["categories"]) - {""}):
                found[c["name"]] = unknown
    return found


def _write(table, out, path):
    """Write the answer as the kind of file that its name stands for; CSV by default."""
    if written_kind(out) == ".h5ad":
        if inner_suffix(Path(path)) != ".h5ad":
            raise InputError(f"--out {out}: only rows of an .h5ad file can be written to one.")
        numbers = table.get("confidence", pd.Series(np.full(len(table), np.nan))).to_numpy(float)
        with atomic_path(out) as part:
            write_labels(path, part, "label", table["label"], numbers, "label_confidence")
    elif written_kind(out) is None:
        with atomic_path(out) as part:
            table.to_csv(part, index=False)
    else:
        write_table(table, out)


def _as_prepared(X):
    """Return rows as the model's were: single precision, sparse ones of length 1."""
    check_finite(X)
    return as_compared(X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float32))


def _read_cells(model, file):
    """Read an h5ad file whose genes are those of the model, in any order."""
    known = model.found["feature_names"]
    # Features of an embedding or a layer are called obsm:X_pca[0], layers:counts[CD3E], ...
    first = (known or [""])[0]
    use = first.partition("[")[0] if first.startswith(("obsm:", "layers:")) else None
    cells = read_cell_file(file, Request(FileOptions(x=use), with_labels=False, command=True))
    if model.columns is not None or known is None:
        raise InputError(
            f"{file}: the model was not made from an .h5ad file; give a file of the kind that "
            "it was made from."
        )
    place = {name: j for j, name in enumerate(cells.feature_names)}
    missing = [name for name in known if name not in place]
    if missing:
        raise InputError(
            f"{file}: {len(missing)} genes of the model are missing ({', '.join(missing[:8])})."
        )
    genes = [place[name] for name in known]
    return _as_prepared(cells.X[:, genes]), cells.ids, cells.id_name


def predict(
    model, path, out=None, *, abstain=None, spreadsheet_safe=False, echo=lambda text: None
) -> pd.DataFrame:
    """Label the rows of a file with a model file.

    Parameters
    ----------
    model : path-like
        Written by `fewfold.labeling.label`.
    path : path-like or data frame
        A file with the same columns; "-" for standard input; a pandas or polars frame.
    out : path-like, optional
        The file to write, of the kind its name says: CSV, TSV, Parquet, Feather, Excel, JSON;
        h5ad where the rows are from one.
    abstain : float, optional
        Labels with a lower confidence are left empty.
    spreadsheet_safe : bool
        Put an apostrophe before texts in the CSV that a spreadsheet would take for a formula.
    echo : callable
        Called with progress messages.

    Returns
    -------
    DataFrame
        One row per row of the file: name, label, confidence, second_label, far.

    Raises
    ------
    InputError
        If columns are missing or hold something else.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from fewfold import label
    >>> iris = load_iris(as_frame=True)
    >>> table = iris.data.assign(species=iris.target_names[iris.target])
    >>> table.loc[np.arange(150) % 5 > 0, "species"] = ""
    >>> model = label(table, target="species", quick=True).model
    >>> predict(model, iris.data[:2])["label"].tolist()
    ['setosa', 'setosa']
    """
    if is_frame(path) or str(path) == STDIN:
        with tempfile.TemporaryDirectory(prefix="fewfold-") as folder:
            stored, _ = stored_input(path, folder)
            return predict(model, stored, out, abstain=abstain,
                           spreadsheet_safe=spreadsheet_safe, echo=echo)  # fmt: skip
    if out is not None:
        check_output_file(out, inputs=[model, path])
    size = Path(model).stat().st_size if Path(model).is_file() else 0
    loaded = Model.load(model)
    words, parts, names, id_name = [], [], [], "row"
    for X, ids, called in read_new_rows(loaded, path, words.append):
        parts.append(loaded.predict(X))
        names += ids or ()
        id_name = called
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    n = len(found["label"])
    members = loaded.method.split(", ")
    named = loaded.method if len(members) <= 4 else f"{len(members)} members"
    echo(f"Model: {named} ({size_words(size)}); {n} new rows.")
    for word in words:
        echo(word)
    table = pd.DataFrame({id_name: names or np.arange(1, n + 1)})
    if loaded.task == "regression":
        table["label"] = found["label"]
    else:
        words = np.array([*loaded.classes, ""], dtype=object)
        label = found["label"]
        if abstain is not None:
            label = np.where(found["confidence"] >= abstain, label, -1)
        table["label"] = words[label]
        table["confidence"] = np.round(found["confidence"], 4)
        table["second_label"] = words[found["second"]]
    table["far"] = found["far"]
    share = float(np.mean(found["far"]))
    if share > FAR_SHARE:
        echo(
            f"Warning: {100 * share:.0f} % of the new rows lie farther from the known rows than "
            "99 % of those did from each other (column 'far'). The data may have drifted: label "
            "some of these rows and run 'fewfold label' again."
        )
    if out is not None:
        _write(guarded_table(table) if spreadsheet_safe else table, Path(out), path)
        echo(f"Wrote {out}")
    return table
