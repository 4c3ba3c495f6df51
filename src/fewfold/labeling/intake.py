"""The user's data as features and labels, from the shared reader."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fewfold.datasets import frames
from fewfold.datasets.column_names import some_names
from fewfold.datasets.table.encoding import encode_table
from fewfold.datasets.table.marks import UNLABELED_MARKS
from fewfold.datasets.table.messages import listed
from fewfold.datasets.table.options import FileContent, FileOptions, Request
from fewfold.datasets.table.own_graphs import read_own_graph
from fewfold.datasets.table.plan import SCALED, TablePlan
from fewfold.datasets.table.reading import kind_of, read_file
from fewfold.datasets.table.table_files import place_of
from fewfold.datasets.targets import Target, encode_target
from fewfold.exceptions import InputError
from fewfold.labeling.preparation import plan_columns, prepare_columns, prepared_width
from fewfold.labeling.sizes import check_rows
from fewfold.labels import known_mask
from fewfold.linalg.preparation import check_finite
from fewfold.system.memory import require

FEW_VALUES = 5  # of a target of numbers: perhaps they are classes


@dataclass(frozen=True)
class Intake:
    """Features and labels of a file.

    Attributes
    ----------
    X : float32 ndarray or csr_array of shape (n, d)
    y : ndarray of shape (n,)
        Codes (-1 unlabeled) or floats (NaN unlabeled); all unlabeled for clustering.
    task : {"classification", "regression", "clustering"}
    classes : list of str or None
    feature_names, ids : list of str or None
    id_name : str
    plan : TablePlan or None
        None for arrays.
    frame : DataFrame, StoredTable or None
        The table as it was read, for checks on single columns.
    preparation : dict or None
        How the columns became features (`fewfold.labeling.preparation`); None: as they are.
    graph : csr_array of shape (n, n) or None
        Weights of the user's own graph.
    thumbnails : uint8 ndarray of shape (n, height, width) or None
        For the report, of images that are not described by their pixels.
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
    preparation: dict | None = None
    graph: Any = None
    thumbnails: np.ndarray | None = None

    @property
    def labeled(self) -> np.ndarray:
        """Row numbers with a label."""
        known = known_mask(self.y)
        return np.flatnonzero(known)


def read_input(
    path,
    target=None,
    *,
    n_clusters: int | None = None,
    keep_spellings: bool = False,
    graph: str | None = None,
    **options,
) -> Intake:
    """Read a file for labeling.

    Parameters
    ----------
    path : path-like
    target : str or int, optional
        Where the labels are; not needed with ``n_clusters``.
    n_clusters : int, optional
        Use no labels and put the rows into this many groups.
    keep_spellings : bool
        Take class names that differ in case or spaces as different classes.
    graph : str, optional
        The user's own graph (`fewfold.datasets.table.own_graphs`).
    **options
        Attributes of `fewfold.datasets.table.options.FileOptions`. Here numbers are scaled and
        images are looked for by default, and columns that never change are left out. None stands
        for the default.

    Returns
    -------
    Intake
    """
    folder = Path(path).expanduser()
    is_folder = folder.is_dir()
    file = folder if is_folder else frames.existing_file(path)
    check_rows(file)
    with_labels = n_clusters is None
    elsewhere = options.get("labels") is not None or options.get("annotators") or is_folder
    if with_labels and target is None and not elsewhere:
        _ask_for_target(file)
    chosen = {"scale": "auto", "images": True, "keep_constant": False}
    chosen |= {name: value for name, value in options.items() if value is not None}
    request = Request(
        FileOptions(target=target, **chosen),
        with_labels=with_labels,
        command=True,
        dtype=np.float32,
        columns_only=chosen["scale"] == "auto",
    )
    content = read_file(file, request)
    if content.plan is None:  # numbers of a table are checked column by column
        check_finite(content.X)
    X, names, preparation = _features(content, request, file)
    W, words = (None, []) if graph is None else read_own_graph(str(graph), file, X.shape[0])
    if with_labels:
        found = _labels(content, request.options, keep_spellings)
    else:
        n = X.shape[0]
        found = Target(np.full(n, -1), _cluster_names(n_clusters, n), "clustering")
    return Intake(
        X=X,
        y=found.y,
        task=found.task,
        classes=found.classes,
        feature_names=names,
        ids=content.ids,
        id_name=content.id_name,
        plan=content.plan,
        frame=content.frame,
        sentences=[
            *(s for s in content.sentences if preparation is None or not s.startswith(SCALED)),
            *_prepared(preparation),
            *words,
            *_label_sentences(found, target or "label"),
        ],
        image_shape=content.image_shape,
        preparation=preparation,
        graph=W,
        thumbnails=content.thumbnails,
    )


def _features(content: FileContent, request: Request, file: Path):
    """Return rows, names of the features, and the plan that made them of a table's columns."""
    if content.X is None:
        frame, columns = content.frame, content.plan.columns
        plan = plan_columns(frame, columns)
        if not plan["columns"]:  # none varies
            return *encode_table(frame, columns, place_of(file, request), request.dtype), None
        size = 4 * len(frame) * prepared_width(plan)
        require(size, file, f"{len(frame)} rows x {prepared_width(plan)} features")
        return *prepare_columns(frame, columns, plan), plan
    X = content.X if hasattr(content.X, "tocsr") else np.asarray(content.X, dtype=np.float32)
    return X, content.feature_names, None


def _prepared(plan) -> list[str]:
    """Say what was done with the columns beyond what the reader says."""
    if plan is None:
        return []
    skewed = [c["name"] for c in plan["columns"] if c.get("quantiles")]
    words = "Columns seem to share a unit, so they are not scaled" if plan["unit"] else (
        "Columns are standardized")  # fmt: skip
    if skewed:
        words += f"; the values of {listed(skewed)}, very skewed, are replaced by ranks"
    return [f"{words} (--scale)."]


def _ask_for_target(file: Path) -> None:
    """Raise an error if the label column must be named by the user; arrays have ``y``."""
    kind = kind_of(file).name
    if kind == "cells":
        raise InputError(f"{file}: which column of obs holds the labels? Give --target.")
    if kind == "table":
        raise InputError(
            f"{file}: which column holds the labels? Give it with --target; columns: "
            f"{some_names(frames.column_names(file))}."
        )


def _cluster_names(k, n):
    if not 2 <= k < n:
        raise InputError(
            f"--classes {k}: a number from 2 to {n - 1} (the rows less one) is needed."
        )
    return [f"cluster {i + 1}" for i in range(k)]


def _labels(content: FileContent, options: FileOptions, keep_spellings: bool) -> Target:
    """Turn labels into codes; raise an error if they cannot be learned from."""
    where = content.where
    found = encode_target(
        content.labels,
        task=options.task,
        where=where,
        unlabeled=options.unlabeled,
        alternative=", or ask for groups without labels: --classes K",
    )
    known = known_mask(found.y)
    if found.task == "classification" and not keep_spellings:
        counts = np.bincount(found.y[known], minlength=len(found.classes))
        check_spellings(found.classes, counts, where)
    if found.task == "regression" and len(np.unique(found.y[known])) == 1:
        raise InputError(
            f"{where}: all labels ({int(known.sum())} of {len(known)} rows) are the number "
            f"{found.y[known][0]:g}, from which nothing can be learned. Give at least two "
            "different numbers."
        )
    if known.all():
        raise InputError(
            f"{where}: all {len(known)} rows have a label already, so there is nothing to do. "
            "Leave the cells empty that are to be filled in."
        )
    return found


def check_spellings(classes, counts, where) -> None:
    """Refuse classes whose names differ in case, accents or spaces only, or are one number.

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
    plain = "".join(c for c in plain.casefold() if not c.isspace() and c != "_") or name
    try:
        return repr(float(plain))  # "1", "1.0" and "01"
    except ValueError:
        return plain


def _label_sentences(found: Target, target) -> list[str]:
    y, classes, task = found.y, found.classes, found.task
    if task == "clustering":
        return [f"No labels are used; the rows are put into {len(classes)} groups."]
    known = known_mask(y)
    share = f"{known.sum()} of {len(y)} rows have a label ({100 * known.mean():.1f} %)"
    if n_blank := found.marks.get("", 0):
        share += f", {n_blank} {'is' if n_blank == 1 else 'are'} blank"
    if task == "regression":
        different = len(np.unique(y[known]))
        words = f" of {different} different values" if different <= FEW_VALUES else ""
        hint = " --task classification takes them as classes." if words else ""
        return [f"The target {target!r} is a number{words}; {share}.{hint}",
                *found.mark_sentences()]  # fmt: skip
    counts = np.bincount(y[y >= 0], minlength=len(classes))
    sentence = (
        f"The target {target!r} has {len(classes)} classes ({_classes(classes, counts)}); {share}."
    )
    return [sentence, *found.mark_sentences(), *_perhaps_marks(classes, counts)]


def _perhaps_marks(classes, counts) -> list[str]:
    """Name classes that others write for "no label"; -1 and 1 are the classes of many tools."""
    found = [c for c in classes if c in UNLABELED_MARKS and (c != "-1" or len(classes) > 2)]
    return [
        f"{c!r} is taken as a class ({counts[classes.index(c)]} rows); if it means that there is "
        f"no label, give --unlabeled {c}."
        for c in found
    ]


def _classes(classes, counts, most=12):
    words = [f"{c if c.isprintable() else repr(c)}: {n}" for c, n in zip(classes[:most], counts)]
    return ", ".join(words) + (", ..." if len(classes) > most else "")
