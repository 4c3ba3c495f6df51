"""The user's own table with its label column filled in, as a file of the same kind."""

from __future__ import annotations

import bz2
import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.datasets import frames
from fewfold.datasets.raw_text import COMPRESSED, guess_encoding, inner_suffix, raw_bytes
from fewfold.datasets.record_files import EXCEL_SUFFIXES, FEATHER_SUFFIXES, read_records
from fewfold.datasets.table.reading import kind_of
from fewfold.pipeline.artifacts import atomic_path

CONFIDENCE = "_confidence"


@dataclass(frozen=True)
class Completed:
    """A table that is to be written again with all labels.

    Attributes
    ----------
    path : Path
        The user's file.
    target : str or None
        The column to fill in.
    delimiter, encoding : str or None
        As given by the user.
    """

    path: Path
    target: str | None
    delimiter: str | None = None
    encoding: str | None = None

    @property
    def name(self) -> str | None:
        """The file's name; None where there is no column to fill in."""
        if self.target is None or self.path.is_dir():
            return None
        if kind_of(self.path).name == "cells":
            return "completed.h5ad"
        if kind_of(self.path).name != "table":
            return None
        inner = inner_suffix(self.path)
        # Older spreadsheets and OpenDocument are read, but not written here.
        inner = ".xlsx" if inner in EXCEL_SUFFIXES else inner
        packed = self.path.suffix.lower() if self.path.suffix.lower() in COMPRESSED else ""
        return f"completed{inner}{packed}"

    def write(self, target: Path, answer: pd.DataFrame) -> None:
        """Write the table with the labels of ``answer`` (labels.csv), in the same order."""
        labels = answer["label"].to_numpy(dtype=object)
        confidence = answer["confidence"].to_numpy(dtype=float)
        suffix = inner_suffix(self.path)
        if suffix == ".h5ad":
            from fewfold.datasets.table.cell_files import write_labels

            with atomic_path(target) as part:
                name = f"{self.target}{CONFIDENCE}"
                write_labels(self.path, part, self.target, labels, confidence, name)
            return
        if suffix in frames.TEXT_SUFFIXES:
            data = self._text(labels, confidence)
        else:
            data = self._records(suffix, labels, confidence)
        with atomic_path(target) as part:
            part.write_bytes(_packed(data, self.path.suffix.lower()))

    def _text(self, labels, confidence):
        """Cells as they are written, but those of the target."""
        raw = raw_bytes(self.path)
        encoding = self.encoding or guess_encoding(raw)
        text = frames.decode(self.path, raw.tobytes(), encoding)
        delimiter = frames.delimiter_of(self.path, text, self.delimiter)
        frame = pd.read_csv(io.StringIO(text), sep=delimiter, dtype=str, keep_default_na=False,
                            na_filter=False, index_col=False)  # fmt: skip
        frame.columns = frames.check_names(self.path, [str(n) for n in frame.columns])
        words = np.array(["" if v is None or v != v else str(v) for v in labels], dtype=object)
        rounded = ["" if np.isnan(c) else f"{c:.4g}" for c in confidence]
        frame = _filled(frame, self.target, words, rounded)
        return frame.to_csv(sep=delimiter, index=False, lineterminator="\n").encode(
            "utf-8-sig" if raw[:3] == b"\xef\xbb\xbf" else "utf-8"
        )

    def _records(self, suffix, labels, confidence):
        out = io.BytesIO()
        if suffix in (*frames.PARQUET_SUFFIXES, *FEATHER_SUFFIXES):
            table = self._arrow(suffix, labels, confidence)
            if suffix in FEATHER_SUFFIXES:
                from pyarrow import feather

                feather.write_feather(table, out)
            else:
                from pyarrow import parquet

                parquet.write_table(table, out)
            return out.getvalue()
        frame = read_records(self.path)
        frame.columns = frames.check_names(self.path, list(frame.columns))
        frame = _filled(frame, self.target, _like(labels, frame[self.target]), confidence)
        if suffix in EXCEL_SUFFIXES:
            frame.to_excel(out, index=False)
            return out.getvalue()
        lines = suffix != ".json"
        return frame.to_json(orient="records", lines=lines, force_ascii=False,
                             date_format="iso").encode()  # fmt: skip

    def _arrow(self, suffix, labels, confidence):
        """The table with its own types; only the target changes."""
        import pyarrow as pa

        if suffix in FEATHER_SUFFIXES:
            from pyarrow import feather

            table = feather.read_table(self.path, memory_map=False)
        else:
            from pyarrow import parquet

            table = parquet.read_table(self.path)
        names = frames.check_names(self.path, table.column_names)
        table = table.rename_columns(names)
        place = names.index(self.target)
        words = pa.array([None if v is None or v != v or v == "" else str(v) for v in labels])
        try:  # whole numbers stay whole numbers
            words = words.cast(table.schema.field(place).type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        table = table.set_column(place, self.target, words)
        return table.append_column(_unused(names, self.target), pa.array(confidence))


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


def _packed(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data)
    if suffix == ".bz2":
        return bz2.compress(data)
    if suffix == ".zst":
        import pyarrow as pa

        return pa.compress(data, codec="zstd", asbytes=True)
    return data
