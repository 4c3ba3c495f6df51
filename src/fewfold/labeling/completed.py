"""The user's own table with its label column filled in, as a file of the same or another kind."""

from __future__ import annotations

import bz2
import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.datasets import frames
from fewfold.datasets.column_names import check_names
from fewfold.datasets.raw_text import COMPRESSED, inner_suffix
from fewfold.datasets.record_files import (
    EXCEL_SUFFIXES,
    FEATHER_SUFFIXES,
    JSON_SUFFIXES,
    read_records,
)
from fewfold.datasets.table.reading import kind_of
from fewfold.datasets.text_tables import TEXT_SUFFIXES, open_text
from fewfold.exceptions import InputError
from fewfold.labeling.given import arrow_column
from fewfold.pipeline.artifacts import atomic_path

CONFIDENCE = "_confidence"
_BLOCK_ROWS = 50_000
_PLAIN = (str, int, float, bool, np.generic, type(None))  # types that an Excel cell can hold
_ARROW = (*frames.PARQUET_SUFFIXES, *FEATHER_SUFFIXES)
# Older spreadsheets and OpenDocument are read, but not written here.
WRITTEN = (*TEXT_SUFFIXES, *_ARROW, ".xlsx", *JSON_SUFFIXES, ".h5ad")


def folder_and_file(out) -> tuple[Path | None, Path | None]:
    """Return the folder of a run, and the file that ``--out`` asks for where it names one.

    >>> folder_and_file("done.parquet")
    (PosixPath('done-labels'), PosixPath('done.parquet'))
    """
    if out is None or Path(out).is_dir() or written_kind(Path(out)) is None:
        return (None if out is None else Path(out)), None
    file = Path(out).expanduser()
    plain = file.with_suffix("") if file.suffix.lower() in COMPRESSED else file
    return plain.with_name(f"{plain.stem}-labels"), file


def written_kind(path: Path) -> str | None:
    """Return the table format of a file name, None if it is not one of `WRITTEN`.

    >>> written_kind(Path("done.csv.gz")), written_kind(Path("answers"))
    ('.csv', None)
    """
    kind = inner_suffix(path)
    packable = (*TEXT_SUFFIXES, *JSON_SUFFIXES)
    if path.suffix.lower() in COMPRESSED and kind not in packable:
        return None
    return kind if kind in WRITTEN else None


@dataclass(frozen=True)
class Completed:
    """A table that is to be written again with all labels.

    Attributes
    ----------
    path : Path
        The user's file, or a folder of images.
    target : str or None
        The column to fill in.
    delimiter, encoding : str or None
        As given by the user.
    wanted : Path or None
        A file whose name says which kind to write; by default the kind of ``path``.
    """

    path: Path
    target: str | None
    delimiter: str | None = None
    encoding: str | None = None
    wanted: Path | None = None

    @property
    def source(self) -> str:
        """What the user gave: "table", "cells", "arrays" or "images"."""
        return "images" if self.path.is_dir() else kind_of(self.path).name

    @property
    def name(self) -> str | None:
        """The file's name in the folder; None where there is no column to fill in."""
        if self.wanted is not None:
            if (written_kind(self.wanted) == ".h5ad") > (self.source == "cells"):
                raise InputError(f"--out {self.wanted}: an .h5ad file can only be written from an "
                                 ".h5ad file. Choose .csv, .parquet or .xlsx.")  # fmt: skip
            return f"completed{''.join(self.wanted.suffixes[-2:])}" if (
                self.wanted.suffix.lower() in COMPRESSED
            ) else f"completed{self.wanted.suffix.lower()}"  # fmt: skip
        if self.target is None or self.source in ("arrays", "images"):
            return None
        if self.source == "cells":
            return "completed.h5ad"
        inner = inner_suffix(self.path)
        inner = ".xlsx" if inner in EXCEL_SUFFIXES else inner
        packed = self.path.suffix.lower() if self.path.suffix.lower() in COMPRESSED else ""
        return f"completed{inner}{packed}"

    def write(self, target: Path, answer: pd.DataFrame) -> None:
        """Write the table with the labels of ``answer`` (labels.csv), in the same order."""
        kind, own = inner_suffix(target), inner_suffix(self.path)
        column = self.target or "label"
        labels = answer["label"].to_numpy(dtype=object)
        confidence = answer["confidence"].to_numpy(dtype=float)
        if kind == ".h5ad":
            from fewfold.datasets.table.cell_files import write_labels

            with atomic_path(target) as part:
                name = f"{column}{CONFIDENCE}"
                write_labels(self.path, part, column, labels, confidence, name)
        elif self.source != "table":
            write_table(answer, target)
        elif kind in TEXT_SUFFIXES and own in TEXT_SUFFIXES:
            with atomic_path(target) as part, _packing(part, target.suffix.lower()) as stream:
                for text in self._text(kind, column, labels, confidence):
                    stream.write(text)
        elif kind in _ARROW and own in _ARROW:
            _write_arrow(self._arrow(own, column, labels, confidence), target)
        else:
            frame = self.rows()
            if column in frame:
                labels = _like(labels, frame[column])
            write_table(_filled(frame, column, labels, confidence), target)

    def rows(self, written: bool = False) -> pd.DataFrame | None:
        """Return the user's rows with their own values; None for arrays, cells and images.

        Parameters
        ----------
        written : bool
            Cells of text tables as they are written, not as numbers.
        """
        if self.source != "table":
            return None
        if frames.is_records(self.path):
            frame = read_records(self.path)
            frame.columns = check_names(self.path, list(frame.columns))
            return frame
        reading = {"delimiter": self.delimiter, "encoding": self.encoding}
        is_text = inner_suffix(self.path) in TEXT_SUFFIXES
        text = [self.target] if self.target else []
        text = frames.column_names(self.path, **reading) if written and is_text else text
        return frames.read_frame(self.path, text_columns=text, all_text=written, **reading)

    def _text(self, kind, column, labels, confidence):
        """Cells as they are written, but those of the target; block by block of rows."""
        import pyarrow as pa

        table = open_text(self.path, self.delimiter, self.encoding)
        words = np.array(["" if v is None or v != v else str(v) for v in labels], dtype=object)
        same = kind == inner_suffix(self.path)
        delimiter = table.delimiter if same else TEXT_SUFFIXES[kind]
        if self.path.open("rb").read(3) == b"\xef\xbb\xbf":
            yield b"\xef\xbb\xbf"
        yield (table.before if same else "").encode()
        body = io.TextIOWrapper(pa.BufferReader(pa.py_buffer(table.body)), "utf-8", newline="")
        blocks = pd.read_csv(body, sep=table.delimiter, dtype=str, names=table.names,
                             keep_default_na=False, na_filter=False, index_col=False,
                             chunksize=_BLOCK_ROWS)  # fmt: skip
        start = 0
        for frame in blocks:
            part = slice(start, start + len(frame))
            rounded = ["" if np.isnan(c) else f"{c:.4g}" for c in confidence[part]]
            frame = _filled(frame, column, words[part], rounded)
            header = list(frame.columns)
            if len(table.header) == len(table.names):  # names as they are written
                header[: len(table.names)] = table.header
            yield frame.to_csv(
                sep=delimiter,
                index=False,
                lineterminator="\n",
                header=header if not start else False,
            ).encode()
            start = part.stop

    def _arrow(self, own, column, labels, confidence):
        """The table with its own types; only the target changes."""
        import pyarrow as pa

        if own in FEATHER_SUFFIXES:
            from pyarrow import feather

            table = feather.read_table(self.path, memory_map=False)
        else:
            from pyarrow import parquet

            table = parquet.read_table(self.path)
        names = check_names(self.path, table.column_names)
        table = table.rename_columns(names)
        words = pa.array([None if v is None or v != v or v == "" else str(v) for v in labels])
        if column not in names:
            table = table.append_column(column, words)
        else:
            place = names.index(column)
            try:  # integers stay integers
                words = words.cast(table.schema.field(place).type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                pass
            table = table.set_column(place, column, words)
        return table.append_column(_unused(names, column), pa.array(confidence))


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as the kind of file that its name stands for.

    Parameters
    ----------
    frame : pandas.DataFrame
    path : Path
        Ending in one of `WRITTEN` but .h5ad; text and JSON also compressed.
    """
    import pyarrow as pa

    kind = inner_suffix(path)
    if kind in _ARROW:
        columns = {n: arrow_column(frame[n]) for n in frame.columns}
        _write_arrow(pa.table(columns), path)
        return
    out = io.BytesIO()
    if kind == ".xlsx":
        _write_excel(frame, out, path)
    elif kind in JSON_SUFFIXES:
        frame.to_json(out, orient="records", lines=kind != ".json", force_ascii=False,
                      date_format="iso")  # fmt: skip
    else:
        frame.to_csv(out, sep=TEXT_SUFFIXES[kind], index=False, lineterminator="\n")
    with atomic_path(path) as part, _packing(part, path.suffix.lower()) as stream:
        stream.write(out.getvalue())


def _write_excel(frame, out, path):
    try:
        with pd.ExcelWriter(out, engine="openpyxl") as writer:
            _for_excel(frame).to_excel(writer, index=False)
            # a text that begins with "=" is data of the user's, not a formula to be run
            for row in writer.book.active.iter_rows():
                for cell in row:
                    if cell.data_type == "f":
                        cell.data_type = "s"
    except ImportError as error:
        raise InputError(
            f"{path}: writing .xlsx files needs the package openpyxl. Install it (pip install "
            "'fewfold[excel]'), or choose .csv."
        ) from error


def _for_excel(frame):
    """Times without zones and cells without lists, which Excel does not support."""
    found = frame.copy()
    for name in found.columns:
        column = found[name]
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            found[name] = column.map(lambda v: None if pd.isna(v) else v.isoformat())
        elif column.dtype == object:
            found[name] = column.map(lambda v: v if isinstance(v, _PLAIN) else str(v))
    return found


def _write_arrow(table, path):
    from pyarrow import feather, parquet

    with atomic_path(path) as part:
        if inner_suffix(path) in FEATHER_SUFFIXES:
            feather.write_feather(table, part)
        else:
            parquet.write_table(table, part)


def _filled(frame, target, labels, confidence):
    name = _unused(list(frame.columns), target)
    return frame.assign(**{target: labels, name: confidence})


def _unused(names, target):
    name = f"{target}{CONFIDENCE}"
    while name in names:
        name += "_"
    return name


def _like(labels, column):
    """Labels as the column's own type, where all of them fit."""
    words = pd.Series(labels, dtype=object).replace("", None)
    if pd.api.types.is_numeric_dtype(column.dtype):
        numbers = pd.to_numeric(words, errors="coerce")
        if numbers.notna().sum() == words.notna().sum():
            return numbers.to_numpy()
    return words.to_numpy()


def _packing(path: Path, suffix: str):
    """Open a file for bytes, compressed as a suffix says."""
    if suffix == ".gz":
        return gzip.open(path, "wb")
    if suffix == ".bz2":
        return bz2.open(path, "wb")
    if suffix == ".zst":
        import pyarrow as pa

        return pa.CompressedOutputStream(str(path), "zstd")
    return open(path, "wb")
