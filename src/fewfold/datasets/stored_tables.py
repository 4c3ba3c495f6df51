"""Tables larger than what is comfortably held: their columns are read one by one from Parquet.

A large text table is first written as Parquet, block by block, into a temporary folder.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fewfold.datasets.column_names import check_names
from fewfold.datasets.parquet import open_parquet, read_columns
from fewfold.datasets.raw_text import forget
from fewfold.datasets.text_tables import TextTable, blocks_of_text, parse_text, raise_if_ragged
from fewfold.exceptions import InputError
from fewfold.system.memory import in_words

BLOCK_BYTES = 1 << 25  # of text that are parsed together


class StoredTable:
    """The columns of a Parquet file, with as much of a data frame as readers of columns use.

    Only the columns that are asked for are in memory, and only while they are used.

    Parameters
    ----------
    file : Path
        A Parquet file.
    as_frame : callable
        Makes a data frame of an Arrow table.
    only : sequence of str, optional
        Names of the columns; by default all.
    folder : TemporaryDirectory, optional
        Where the file is, to be removed with this object.

    Attributes
    ----------
    columns : list of str
    dtypes : list of dtype
        Of columns without empty cells.
    attrs : dict
    """

    def __init__(self, file: Path, as_frame, only: Sequence[str] | None = None, folder=None):
        opened = open_parquet(file)
        self._file, self._as_frame, self._folder = file, as_frame, folder
        self._own = None if folder is None else opened
        names = check_names(file, opened.schema_arrow.names)
        self._stored = dict(zip(names, opened.schema_arrow.names))
        self.columns = names if only is None else list(only)
        self.attrs: dict = {}
        self._n_rows = opened.metadata.num_rows
        empty = opened.schema_arrow.empty_table().rename_columns(names).select(self.columns)
        self.dtypes = list(as_frame(empty).dtypes)
        self._read = {}

    def __len__(self):
        return self._n_rows

    def __iter__(self):
        return iter(self.columns)

    def __contains__(self, name):
        return name in self.columns

    @property
    def shape(self):
        """Rows and columns."""
        return len(self), len(self.columns)

    def __getitem__(self, wanted):
        """Return a column as a series, or several as a data frame."""
        if isinstance(wanted, str):
            return self[[wanted]][wanted]
        stored = [self._stored[name] for name in wanted]
        if self._own is None:  # the user's file: checked each time
            found = read_columns(self._file, stored)
        else:
            found = self._own.read(columns=stored)
        frame = self._as_frame(found.select(stored).rename_columns(list(wanted)))
        del found
        changed = {name: self._read[name](frame[name]) for name in wanted if name in self._read}
        return frame.assign(**changed) if changed else frame

    @property
    def iloc(self):
        """Rows by number: a slice of them is a data frame."""
        return _Rows(self)

    def reading(self, functions: dict):
        """Read some columns by functions of their series from now on; return the table."""
        self._read |= functions
        return self

    def drop(self, columns: Sequence[str] = (), errors: str = "raise"):
        """Return the other columns as a data frame: all in memory."""
        return self[[name for name in self.columns if name not in columns]]


@dataclass(frozen=True)
class _Rows:
    table: StoredTable

    def __getitem__(self, rows: slice):
        import pandas as pd

        # Copies: a part of a column alone would keep all of it.
        columns = {name: self.table[name].iloc[rows].copy() for name in self.table.columns}
        return pd.DataFrame(columns, copy=False)


def is_large_parquet(file: Path, names: Iterable[str], n_bytes: int) -> bool:
    """Whether the cells of some columns take more than so many bytes."""
    return 8 * open_parquet(file).metadata.num_rows * len(list(names)) > n_bytes


def store_text(table: TextTable, text_columns: set, as_frame, only, all_text: bool) -> StoredTable:
    """Write a text table as Parquet, block by block, and open that.

    Types are those that fit all blocks. Where a later block contradicts the first, the rest is
    looked through for their types, and the table is written once more.
    """
    folder = tempfile.TemporaryDirectory(prefix="fewfold-table-")
    file = Path(folder.name) / "table.parquet"
    reading = {"text_columns": text_columns, "only": only, "all_text": all_text}
    free = shutil.disk_usage(folder.name).free
    try:
        if free < len(table.body):  # numbers take as much or less
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        found = _write(table, file, {}, reading)
        if found is not None:
            _write(table, file, found, reading)
    except OSError as error:
        raise InputError(
            f"{table.file}: its columns could not be stored in {folder.name} ({error.strerror}), "
            f"where {in_words(free)} were free. They take at most what the text takes "
            f"({in_words(len(table.body))}). Name a folder with more by the variable TMPDIR."
        ) from error
    return StoredTable(file, as_frame, only, folder)


def _write(table, file, types, reading):
    """Write the blocks; return the types of all columns if those of the first do not fit all."""
    import pyarrow as pa
    from pyarrow import parquet

    writer, schema, wrong, held = None, None, False, []
    try:
        for part in blocks_of_text(table, BLOCK_BYTES):
            block = _parsed(table, part, types, reading)
            forget(table.body)
            if not block.num_rows:
                continue
            if schema is None:
                kinds = [pa.float64() if pa.types.is_null(f.type) else f.type for f in block.schema]
                schema = {f.name: kind for f, kind in zip(block.schema, kinds)}
                text = [n for n, kind in schema.items() if pa.types.is_string(kind)]
                first = {f.name: f.type for f in block.schema}
                writer = parquet.ParquetWriter(
                    file, pa.schema(list(schema.items())), compression="lz4",
                    use_dictionary=text, write_statistics=False,
                )  # fmt: skip
            for field in block.schema:
                first[field.name] = _common(first[field.name], field.type)
            wrong = wrong or any(
                _common(kind, first[name]) != kind for name, kind in schema.items()
            )
            if not wrong:
                held.append(block.cast(writer.schema))
                if sum(table.nbytes for table in held) > BLOCK_BYTES:  # few groups of rows
                    writer.write_table(pa.concat_tables(held))
                    held.clear()
        if held and not wrong:
            writer.write_table(pa.concat_tables(held))
    finally:
        if writer is not None:
            writer.close()
    if schema is None:
        raise InputError(
            f"{table.file}: there is a header ({len(table.names)} columns) but no data row. "
            "Add at least one row."
        )
    return {n: k for n, k in first.items() if not pa.types.is_null(k)} if wrong else None


def _parsed(table, part, types, reading):
    try:
        return parse_text(part, types=types, **reading)
    except InputError:
        raise_if_ragged(table)  # the row's number is that in the file
        raise


def _common(one, other):
    """Return the type that holds the cells of two blocks; else text, as they are written."""
    import pyarrow as pa

    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    return pa.string()
