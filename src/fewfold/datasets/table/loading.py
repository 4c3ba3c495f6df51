"""A user's file as a `Dataset`, and its shape before it is loaded."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np

from fewfold.datasets.base import Dataset, Description
from fewfold.datasets.registry import unknown_name
from fewfold.datasets.table.options import FileOptions, Request
from fewfold.datasets.table.reading import read_file, scan_file
from fewfold.datasets.targets import encode_target
from fewfold.exceptions import InputError

OPTIONS = tuple(field.name for field in fields(FileOptions))


def load_file(
    path: str | Path | None = None,
    target: str | int | None = None,
    *,
    name: str | None = None,
    **options,
) -> Dataset:
    """Read the user's file as a dataset.

    Parameters
    ----------
    path : str or Path
        A file (docs/inputs.md), or a folder of images.
    target : str or int, optional
        Where the labels are: a column of a table, say.
    name : str, optional
        Name of the dataset; the file's by default.
    **options
        The other attributes of `FileOptions`.

    Returns
    -------
    Dataset
    """
    request = _request(path, target, options)
    content = read_file(path, request)
    found = encode_target(
        content.labels,
        task=request.options.task,
        where=content.where,
        unlabeled=request.options.unlabeled,
    )
    return Dataset(
        name=name or Path(path).stem,
        X=content.X,
        y=found.y,
        task=found.task,
        classes=found.classes,
        image_shape=content.image_shape,
        feature_names=content.feature_names,
        ids=content.ids,
        notes=(*content.sentences, *found.mark_sentences("unlabeled=['']")),
    )


def describe_file(
    path: str | Path | None = None,
    target: str | int | None = None,
    *,
    name: str | None = None,
    **options,
) -> Description:
    """Return the shape of the user's file: what `load_file` with the same arguments would have.

    Tables are read to know what their columns become; of arrays only the labels are read.
    """
    request = _request(path, target, options)
    shape = request.options.image_shape
    scanned = scan_file(path, request)
    found = encode_target(
        scanned.labels,
        task=request.options.task,
        where=scanned.where,
        unlabeled=request.options.unlabeled,
    )
    return Description(
        name=name or Path(path).stem,
        task=found.task,
        n_samples=int(scanned.shape[0]),
        n_features=int(np.prod(scanned.shape[1:])),
        n_classes=None if found.classes is None else len(found.classes),
        sparse=scanned.sparse,
        image_shape=scanned.image_shape if shape is None else tuple(shape),
    )


def _request(path, target, options) -> Request:
    for key in options:
        if key not in OPTIONS:
            raise unknown_name("option of dataset file:", key, ["path", "name", *OPTIONS])
    if path is None:
        raise InputError("dataset file: option path is missing. Give the path of the data file.")
    return Request(FileOptions(target=target, **options))
