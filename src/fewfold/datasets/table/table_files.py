"""Tables (CSV, TSV, Parquet): columns are understood, then encoded."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.datasets import frames
from fewfold.datasets.annotators import combine_annotators
from fewfold.datasets.column_names import missing_column, some_names
from fewfold.datasets.record_files import NOTES
from fewfold.datasets.stored_tables import StoredTable
from fewfold.datasets.table.columns import is_number, planned_numbers
from fewfold.datasets.table.encoding import encode_table
from fewfold.datasets.table.images import LARGEST_SIDE, MOST_ROWS, guess_image_shape
from fewfold.datasets.table.marks import cell_text
from fewfold.datasets.table.messages import Place
from fewfold.datasets.table.options import FileContent, FileOptions, FileShape, Request
from fewfold.datasets.table.plan import TablePlan, choose_scaling, keep_pixels, understand_table
from fewfold.datasets.targets import read_labels
from fewfold.exceptions import InputError


def read_table_file(file: Path, request: Request) -> FileContent:
    """Read a table: features by a plan of its columns, labels, names of the rows."""
    options, place = request.options, place_of(file, request)
    frame, plan = _understand(file, request, place)
    notes = list(frame.attrs.get(NOTES, ()))
    frame = _with_numbers(frame, plan, place)
    shape = None if options.image_shape is None else tuple(options.image_shape)
    if shape is None and options.images:
        shape = guess_image_shape(_pixel_columns(plan, frame))
    plan = choose_scaling(plan, options.scale, is_image=shape is not None)
    if shape is not None:
        plan = keep_pixels(plan, frame, shape, place)
    X = names = None
    if shape is not None or not request.columns_only:
        X, names = encode_table(frame, plan.columns, place, request.dtype)
    labels, where = None, str(file)
    if request.with_labels:
        labels, where, words = _labels(file, frame, request)
        notes += words
    ids = plan.id_column
    return FileContent(
        X=X,
        labels=labels,
        where=where,
        feature_names=names,
        ids=None if ids is None else row_names(frame[ids]),
        id_name=ids or "row",
        plan=plan,
        frame=frame,
        sentences=[
            *plan.sentences(len(frame)),
            *frames.text_notes(file, options.delimiter, options.encoding),
            *notes,
        ],  # fmt: skip
        image_shape=shape,
    )


def scan_table_file(file: Path, request: Request) -> FileShape:
    """Return what the features' shape will be; the table is read, but not encoded."""
    frame, plan = _understand(file, request, place_of(file, request))
    labels, where, _ = _labels(file, frame, request)
    return FileShape((len(frame), plan.n_features), labels, where)


def place_of(file: Path, request: Request) -> Place:
    """Return how messages name a table's cells and options."""
    options = request.options
    line_of = partial(frames.line_of, file, delimiter=options.delimiter, encoding=options.encoding)
    return Place(str(file), request.command, line_of)


def row_names(series) -> list[str]:
    """Return the names of the rows as text; "" where there is none."""
    return ["" if gone else str(v) for v, gone in zip(series.tolist(), series.isna())]


def _understand(file, request, place) -> tuple[pd.DataFrame, TablePlan]:
    options = request.options
    reading = {"delimiter": options.delimiter, "encoding": options.encoding}
    names = frames.column_names(file, **reading)
    _check_special(file, names, request)
    frame = frames.open_table(
        file,
        text_columns=_special(options),
        only=_needed(names, options),
        all_text=options.decimal == ",",
        **reading,
    )
    plan = understand_table(
        frame,
        options.target,
        place=place,
        ids=options.ids,
        drop=[*options.drop, *options.annotators],
        features=options.features,
        expand=options.expand,
        keep=options.keep,
        types=options.types,
        decimal=options.decimal,
        keep_constant=options.keep_constant,
    )
    return frame, plan


def _with_numbers(frame, plan, place):
    """Give the table with numbers where they were written as text."""
    if isinstance(frame, StoredTable):
        types = dict(zip(frame.columns, frame.dtypes))
        return frame.reading(
            {
                c["name"]: partial(planned_numbers, column=c, place=place)
                for c in plan.columns
                if c["kind"] == "number" and not pd.api.types.is_numeric_dtype(types[c["name"]])
            }
        )
    written = {
        c["name"]: planned_numbers(frame[c["name"]], c, place).to_numpy()
        for c in plan.columns
        if c["kind"] == "number" and not is_number(frame[c["name"]])
    }
    return frame.assign(**written) if written else frame


def _check_special(file, names, request):
    options = request.options
    given = (options.target is not None, options.labels is not None, bool(options.annotators))
    if request.with_labels and sum(given) != 1:
        raise InputError(
            f"{file}: name either the label column (target) or a file of labels (labels), or the "
            f"columns of several annotators (annotators); found target={options.target!r}, "
            f"labels={options.labels!r}, annotators={list(options.annotators)!r}. "
            f"Columns: {some_names(names)}."
        )
    if (again := f"{options.target}.1") in names and again not in (*options.drop, *options.keep):
        place = Place(str(file), request.command)
        raise InputError(
            f"{file}: the column {options.target!r} occurs several times, and the first is the "
            f"target. Leave the other out ({place.option('drop', [again])}), or use it as a "
            f"feature ({place.option('keep', [again])})."
        )
    people = [(column, "annotators' column") for column in options.annotators]
    for column, what in ((options.target, "target column"), (options.ids, "id column"), *people):
        if column is not None and column not in names:
            raise missing_column(file, column, names, what)
    if len(names) == 1 and options.target is not None:
        raise InputError(
            f"{file}: has one column only ({names[0]!r}), so no column is left for features. "
            "The target and at least one column of features are needed."
        )


def _special(options):
    return [c for c in (options.target, options.ids, *options.annotators) if c is not None]


def _needed(names, options: FileOptions) -> list[str] | None:
    """The columns to read where only some are used; None for all."""
    if options.features is None:
        return None
    special = _special(options)
    wished = {*options.expand, *options.keep, *options.types}
    named = {*options.features, *wished, *options.drop, *special}
    return [n for n in names if n in named] if named <= set(names) else None


def _labels(file, frame, request):
    options = request.options
    if options.labels is not None:
        return read_labels(options.labels, len(frame)), str(options.labels), []
    if options.annotators:
        given = {name: [cell_text(v) for v in frame[name]] for name in options.annotators}
        found = combine_annotators(given)
        where = f"{file}, columns {', '.join(map(repr, options.annotators))}"
        return found.labels, where, found.sentences()
    values = frame[options.target].to_numpy(dtype=object)
    return values, f"{file}, column {options.target!r}", []


def _pixel_columns(plan, frame):
    """The number columns in the table's order, with those that never change."""
    used = {c["name"] for c in plan.columns} | plan.constant
    names = [n for n in frame.columns if n in used]
    if len(names) > LARGEST_SIDE**2:
        return np.empty((0, 0))
    some = frame.iloc[:: max(1, len(frame) // MOST_ROWS)]
    columns = [some[n] for n in names]
    if any(not pd.api.types.is_numeric_dtype(c.dtype) for c in columns):
        return np.empty((0, 0))
    return np.column_stack([c.to_numpy(dtype=np.float64, na_value=np.nan) for c in columns])
