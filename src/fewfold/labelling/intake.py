"""Reading the user's file for labelling: features, labels, row names, in one place."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fewfold.datasets import arrays, frames, tables
from fewfold.datasets.targets import encode_target, one_per_row
from fewfold.exceptions import InputError
from fewfold.labelling.images import LARGEST_SIDE, MOST_ROWS, guess_image_shape
from fewfold.labelling.sizes import check_memory, check_rows
from fewfold.labelling.table_encoding import encode_table
from fewfold.labelling.table_features import TablePlan, choose_scaling, understand_table


@dataclass(frozen=True)
class Intake:
    """A file as labelling sees it.

    Attributes
    ----------
    X : float32 ndarray or csr_array of shape (n, d)
    y : ndarray of shape (n,)
        Codes (-1 unlabelled) or floats (NaN unlabelled); all unlabelled for clustering.
    task : {"classification", "regression", "clustering"}
    classes : list of str or None
    feature_names, ids : list of str or None
    id_name : str
    plan : TablePlan or None
        None for arrays.
    frame : DataFrame or None
        The table as it was read, for checks on single columns.
    """

    X: Any
    y: np.ndarray
    task: str
    classes: list | None
    feature_names: list | None
    ids: list | None
    id_name: str
    plan: TablePlan | None = None
    frame: Any = None
    sentences: list = field(default_factory=list)
    image_shape: tuple | None = None

    @property
    def labelled(self) -> np.ndarray:
        """Row numbers with a label."""
        known = ~np.isnan(self.y) if self.task == "regression" else self.y >= 0
        return np.flatnonzero(known)


def read_input(
    path,
    target=None,
    *,
    task="auto",
    ids=None,
    drop=(),
    features=None,
    expand=(),
    scale="auto",
    image_shape=None,
    images=True,
    n_clusters=None,
    keep_spellings=False,
) -> Intake:
    """Read a file and understand it; see `fewfold.labelling.label` for the arguments."""
    file = frames.existing_file(path)
    check_memory(file)
    check_rows(file)
    suffix = file.suffix.lower()
    if suffix == ".h5ad":
        if target is None and n_clusters is None:
            raise InputError(f"{file}: which column of obs holds the labels? Give --target.")
        found = read_h5ad(file, target)
    elif tables.check_suffix(file) in arrays.ARRAY_SUFFIXES:
        found = _read_arrays(file, target, n_clusters)
    else:
        options = {"ids": ids, "drop": drop, "features": features, "expand": expand}
        found = _read_table(file, target, n_clusters, scale, image_shape, images, options)
    X, values, where, names, row_ids, id_name, plan, frame, sentences, guessed = found
    if image_shape is None and images and plan is None and not hasattr(X, "tocsr"):
        guessed = guess_image_shape(X)
    if image_shape is None and guessed is not None:
        image_shape = guessed
        sentences.append(
            f"The {X.shape[1]} numbers of a row look like an image of {guessed[0]} x {guessed[1]} "
            "pixels and are treated as one (--no-images if they are not)."
        )
    if image_shape is not None and int(np.prod(image_shape)) != X.shape[1]:
        raise InputError(
            f"{file}: --image-shape {' '.join(map(str, image_shape))} needs "
            f"{int(np.prod(image_shape))} pixel columns, found {X.shape[1]} features. Correct it, "
            "or leave it out."
        )
    if n_clusters is not None:
        y, classes = np.full(X.shape[0], -1), _cluster_names(n_clusters, X.shape[0])
        task = "clustering"
    else:
        y, classes, task = _labels(values, task, where, file, keep_spellings)
    return Intake(
        X, y, task, classes, names, row_ids, id_name, plan, frame,
        [*sentences, *_label_sentences(y, classes, task, target)],
        image_shape,
    )  # fmt: skip


def _read_table(file, target, n_clusters, scale, image_shape, images, options):
    names = frames.column_names(file)
    if target is None and n_clusters is None:
        raise InputError(
            f"{file}: which column holds the labels? Give it with --target; columns: "
            f"{', '.join(map(str, names[:12]))}{', ...' if len(names) > 12 else ''}."
        )
    if target is not None and target not in names:
        raise frames.missing_column(file, target, names, "target column")
    if len(names) == 1:
        raise InputError(
            f"{file}: has one column only ({names[0]!r}). Needed are the target and at least one "
            "column of features."
        )
    frame = frames.read_frame(file, text_columns=[] if target is None else [target])
    plan = understand_table(frame, target, where=str(file), **options)
    guessed = None
    if image_shape is None and images:
        guessed = guess_image_shape(_pixel_columns(plan, frame))
    shape = image_shape or guessed
    plan = choose_scaling(plan, scale, is_image=shape is not None)
    if shape is not None:
        plan = _keep_pixels(plan, frame, shape)
    X, feature_names = encode_table(frame, plan.columns, str(file))
    ids = None if plan.id_column is None else [str(v) for v in frame[plan.id_column].tolist()]
    values = None if target is None else frame[target].to_numpy(dtype=object)
    where = f"{file}, column {target!r}"
    sentences = plan.sentences(len(frame))
    name = plan.id_column or "row"
    return X, values, where, feature_names, ids, name, plan, frame, sentences, guessed


def _pixel_columns(plan, frame):
    """The number columns in the table's order, with those that never change."""
    used = {c["name"] for c in plan.columns}
    used |= {n for n, why in plan.ignored if why == "the same value in all rows"}
    names = [n for n in frame.columns if n in used]
    if len(names) > LARGEST_SIDE**2:
        return np.empty((0, 0))
    some = frame.iloc[:: max(1, len(frame) // MOST_ROWS)]
    columns = [some[n] for n in names]
    if any(not pd.api.types.is_numeric_dtype(c.dtype) for c in columns):
        return np.empty((0, 0))
    return np.column_stack([c.to_numpy(dtype=np.float64, na_value=np.nan) for c in columns])


def _keep_pixels(plan, frame, image_shape):
    """Constant pixels are part of an image: put them back in their place."""
    constant = {n for n, why in plan.ignored if why == "the same value in all rows"}
    if len(plan.columns) + len(constant) != int(np.prod(image_shape)):
        return plan
    known = {c["name"]: c for c in plan.columns}
    columns = []
    for name in frame.columns:
        if name in known:
            columns.append(known[name])
        elif name in constant:
            value = float(frame[name].iloc[0])
            columns.append(
                {"name": name, "kind": "number", "fill": value, "mean": value, "spread": 0.0,
                 "n_missing": 0, "offset": 0.0, "factor": 1.0}
            )  # fmt: skip
    ignored = [(n, w) for n, w in plan.ignored if n not in constant]
    return TablePlan(columns, plan.id_column, ignored, plan.notes)


def _read_arrays(file, target, n_clusters):
    if n_clusters is None:
        X, values, where = tables._from_arrays(file, target, None, None)
    else:
        source = arrays.open_source(file)
        X = tables._matrix(source.read(arrays.pick_array(file, source, None)), str(file))
        values, where = None, str(file)
    if X.shape[0] == 0:
        raise InputError(f"{file}: holds no rows.")
    sentence = f"{X.shape[0]} rows; features: an array of {X.shape[1]} numbers per row."
    dense = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float32)
    return dense, values, where, None, None, "row", None, None, [sentence], None


def read_h5ad(file, target) -> tuple:
    """Read an h5ad file: cells are rows, genes features, a column of ``obs`` the labels."""
    try:
        import anndata
    except ImportError as error:
        raise InputError(
            f"{file}: reading .h5ad needs the package anndata. Install it (pip install anndata), "
            "or save the table as CSV or NPZ."
        ) from error
    with frames.sound(file, "a whole h5ad file"):
        data = anndata.read_h5ad(file)
    values = None
    if target is not None:
        if target not in data.obs:
            raise frames.missing_column(file, target, list(data.obs.columns), "target column")
        values = data.obs[target].astype("string").fillna("").to_numpy(dtype=object)
    X = data.X
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float32)
    sentence = f"{X.shape[0]} cells x {X.shape[1]} genes."
    return (X, values, f"{file}, obs {target!r}", [str(v) for v in data.var_names],
            [str(v) for v in data.obs_names], "cell", None, None, [sentence], None)  # fmt: skip


def _cluster_names(k, n):
    if not 2 <= k < n:
        raise InputError(
            f"--classes {k}: a number from 2 to {n - 1} (the rows less one) is needed."
        )
    return [f"cluster {i + 1}" for i in range(k)]


def _labels(values, task, where, file, keep_spellings):
    values = one_per_row(np.asarray(values, dtype=object), len(values), where)
    text = [_tidy(v) for v in values.tolist()]
    if not any(t not in ("", "-1") for t in text):
        raise InputError(
            f"{where}: no row is labelled. Fill in some labels (two classes at least), or ask for "
            "groups without labels: --classes K."
        )
    y, classes, task = encode_target(np.array(text, dtype=object), task=task, where=where)
    if task == "classification" and not keep_spellings:
        check_spellings(classes, np.bincount(y[y >= 0], minlength=len(classes)), where)
    known = ~np.isnan(y) if task == "regression" else y >= 0
    if known.all():
        raise InputError(
            f"{where}: all {len(y)} rows have a label already, so there is nothing to do. Leave "
            "the cells empty that are to be filled in."
        )
    return y, classes, task


def _tidy(value):
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = unicodedata.normalize("NFC", str(value).strip())
    return "" if text in ("?", "nan", "NaN", "NA", "N/A", "None", "null", "<NA>") else text


def check_spellings(classes, counts, where) -> None:
    """Refuse classes whose names differ in case, accents or spaces only.

    >>> check_spellings(["cat", "dog"], [3, 2], "column 'pet'")
    """
    groups = Counter(_folded(c) for c in classes)
    for key, count in groups.items():
        if count > 1:
            same = [f"{c!r} ({n} rows)" for c, n in zip(classes, counts) if _folded(c) == key]
            raise InputError(
                f"{where}: {' and '.join(same)} look like two spellings of one class. Write them "
                "alike, or give --keep-spellings if they are different classes."
            )


def _folded(name):
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    # Spaces only: "A-" and "A+" are different marks, "1.5" and "15" different numbers.
    return "".join(c for c in plain.casefold() if not c.isspace() and c != "_") or name


def _label_sentences(y, classes, task, target):
    if task == "clustering":
        return [f"No labels are used; the rows are put into {len(classes)} groups."]
    known = ~np.isnan(y) if task == "regression" else y >= 0
    share = f"{known.sum()} of {len(y)} rows have a label ({100 * known.mean():.1f} %)"
    if task == "regression":
        return [f"The target {target!r} is a number; {share}."]
    counts = np.bincount(y[y >= 0], minlength=len(classes))
    return [
        f"The target {target!r} has {len(classes)} classes ({_classes(classes, counts)}); {share}."
    ]


def _classes(classes, counts, most=12):
    words = [f"{c}: {n}" for c, n in zip(classes[:most], counts)]
    return ", ".join(words) + (", ..." if len(classes) > most else "")
