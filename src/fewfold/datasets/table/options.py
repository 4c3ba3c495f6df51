"""What a user may say about a file, and what reading it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class FileOptions:
    """How a file is read; the same options for ``source: file``, `fewfold label` and Python.

    Attributes
    ----------
    target : str or int, optional
        Tables: the label column. NPZ, HDF5: the label array (default ``y``). NPY: the number
        of the label column (-1 is the last). h5ad: a column of ``obs``.
    labels : str or Path, optional
        A second file with one label per row (NPY, or text with one per line), instead of
        ``target``.
    annotators : sequence of str
        Tables: columns with several people's labels, instead of ``target``; joined by
        `fewfold.datasets.annotators.combine_annotators`.
    task : {'auto', 'classification', 'regression'}
        See `fewfold.datasets.targets.encode_target`.
    x : str, optional
        NPZ, HDF5: the array of features; default ``X``, or the only two-dimensional one. h5ad:
        ``obsm:NAME`` or ``layers:NAME`` instead of X.
    ids : str, optional
        Tables: the column that names the rows; found by its name and values if not given.
    drop, features : sequence of str
        Tables: columns to leave out, or the only ones to use.
    expand : sequence of str
        Tables: columns of free text, even if they look like categories.
    keep : sequence of str
        Tables: columns to use even if they look like names of the rows.
    types : dict of column to type
        Tables: what a column is (`fewfold.datasets.table.columns.TYPES`).
    decimal : {'.', ','}, optional
        Tables: the decimal sign of numbers; found from each column if not given.
    scale : {'none', 'auto', 'standard'}
        Tables: how number columns are scaled (`fewfold.datasets.table.plan.choose_scaling`).
    unlabeled : sequence of str, optional
        Values that mean "no label" besides blank cells; by default see
        `fewfold.datasets.targets.encode_target`.
    delimiter, encoding
        Text tables; see `fewfold.datasets.frames.read_frame`.
    image_shape : sequence of int, optional
        Height and width where rows are images.
    images : bool
        Look for square images where no ``image_shape`` is given.
    keep_constant : bool
        Tables: use columns of numbers that never change.
    """

    target: str | int | None = None
    labels: str | Path | None = None
    annotators: Sequence[str] = ()
    task: str = "auto"
    x: str | None = None
    ids: str | None = None
    drop: Sequence[str] = ()
    features: Sequence[str] | None = None
    expand: Sequence[str] = ()
    keep: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    decimal: str | None = None
    scale: str = "none"
    unlabeled: Sequence[str] | None = None
    delimiter: str | None = None
    encoding: str | None = None
    image_shape: Sequence[int] | None = None
    images: bool = False
    keep_constant: bool = True


@dataclass(frozen=True)
class Request:
    """One reading of a file: the user's options and what the caller needs.

    Attributes
    ----------
    options : FileOptions
    with_labels : bool
        Read the labels too; without, the target column is only left out of the features.
    command : bool
        Messages name the options of the command line.
    dtype : dtype
        Of a table's features; arrays are given as they are stored.
    columns_only : bool
        Do not encode the columns of a table, unless they are the pixels of images: the caller makes
        its own features of them, and both together would take twice the memory.
    """

    options: FileOptions
    with_labels: bool = True
    command: bool = False
    dtype: Any = np.float64
    columns_only: bool = False


@dataclass(frozen=True)
class FileContent:
    """What a file holds: features, and labels as they are written there.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, d)
        None of a table, where only its columns were asked for.
    labels : ndarray of shape (n,) or None
    where : str
        The place of the labels, for messages.
    feature_names, ids : list of str or None
    id_name : str
        What names the rows.
    plan : TablePlan or None
        How columns became features; None for arrays.
    frame : DataFrame, StoredTable or None
        The table as it was read.
    sentences : list of str
        What was understood, in words.
    image_shape : tuple or None
    thumbnails : uint8 ndarray of shape (n, height, width) or None
        Of images that are not described by their pixels.
    """

    X: Any
    labels: np.ndarray | None
    where: str
    feature_names: list | None = None
    ids: list | None = None
    id_name: str = "row"
    plan: Any = None
    frame: Any = None
    sentences: list = field(default_factory=list)
    image_shape: tuple | None = None
    thumbnails: np.ndarray | None = None


@dataclass(frozen=True)
class FileShape:
    """What is known of a file before its features are read: shape and labels."""

    shape: tuple
    labels: np.ndarray
    where: str
    sparse: bool = False
    image_shape: tuple | None = None
