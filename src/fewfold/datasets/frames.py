"""The user's tables as data frames, with errors that name the place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fewfold.datasets.column_names import check_names, check_wanted
from fewfold.datasets.parquet import open_parquet, read_columns
from fewfold.datasets.parquet import read_blocks as parquet_blocks
from fewfold.datasets.raw_text import COMPRESSED, inner_suffix
from fewfold.datasets.record_files import RECORD_SUFFIXES, read_records
from fewfold.datasets.registry import nearest
from fewfold.datasets.stored_tables import StoredTable, is_large_parquet, store_text
from fewfold.datasets.text_tables import (
    TEXT_SUFFIXES,
    blocks_of_text,
    line_of_row,
    open_text,
    parse_text,
)
from fewfold.exceptions import InputError
from fewfold.system.memory import require

PARQUET_SUFFIXES = (".parquet", ".pq")
# Suffixes of compressed files stand for what is inside: my.csv.gz.
TABLE_SUFFIXES = (*TEXT_SUFFIXES, *PARQUET_SUFFIXES, *RECORD_SUFFIXES, *COMPRESSED)
BLOCK_ROWS, BLOCK_BYTES = 65_536, 1 << 25  # of tables that are read block by block
MOST_STORED = 4096  # columns that are read one by one
LARGE_BYTES = 1 << 28  # of a table whose columns are read one by one
COLUMN_BYTES = 15_000  # taken by each column of a table while it is understood (measured)


def existing_file(path: str | Path) -> Path:
    """Check that a path names a file with something in it."""
    file = Path(path).expanduser()
    if file.is_dir():
        raise InputError(f"{file} is a folder. Give the path of one data file.")
    if not file.is_file():
        near = None
        if file.parent.is_dir():
            near = nearest(file.name, [p.name for p in file.parent.iterdir()], cutoff=0.6)
        hint = f" Did you mean {str(file.parent / near)!r}?" if near else ""
        raise InputError(f"{file}: no such file.{hint} Check the path (from {Path.cwd()}).")
    if file.stat().st_size == 0:
        raise InputError(f"{file}: the file is empty. Give a file with a header and data rows.")
    return file


def read_frame(
    path: str | Path,
    *,
    text_columns: Iterable[str] = (),
    only: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    all_text: bool = False,
):
    """Read a table as a data frame; nothing is converted or dropped yet.

    Parameters
    ----------
    path : str or Path
        Text with a header line (also compressed), Parquet, or a file of records
        (`fewfold.datasets.record_files`).
    text_columns : iterable of str
        Columns to keep as text, such as the target: "007" stays "007".
    only : sequence of str, optional
        Read these columns only.
    delimiter : str, optional
        Text files: default by suffix, or ``;``, tab or ``|`` where the header has no comma.
    encoding : str, optional
        Text files: how letters are stored; found by the bytes if not given.
    all_text : bool
        Text files: leave all cells as they are written, where "1.500" may be a thousand.

    Returns
    -------
    pandas.DataFrame
        Columns are numbers, booleans, times, text or lists; empty cells are NaN or None.
    """
    file = existing_file(path)
    if is_records(file):
        return _read_records(file, text_columns, only)
    if file.suffix.lower() in PARQUET_SUFFIXES:
        table = _read_parquet(file, only)
    else:
        table = _read_text(file, text_columns, only, delimiter, encoding, all_text)
    if table.num_rows == 0:
        _refuse_empty(file, table.num_columns)
    return _as_frame(table, text_columns)


def open_table(path: str | Path, *, text_columns: Iterable[str] = (), **reading):
    """Read a table as a data frame, or open a large one as `StoredTable`; as `read_frame`."""
    file, text_columns = existing_file(path), list(text_columns)
    only = reading.get("only")

    def as_frame(table):
        return _as_frame(table, text_columns)

    if is_records(file):
        return read_frame(file, text_columns=text_columns, **reading)
    if file.suffix.lower() in PARQUET_SUFFIXES:
        names = check_names(file, open_parquet(file).schema_arrow.names)
        if len(names) > MOST_STORED or not is_large_parquet(
            file, names if only is None else only, LARGE_BYTES
        ):
            return read_frame(file, text_columns=text_columns, **reading)
        check_wanted(file, names, only)
        table = StoredTable(file, as_frame, only)
    else:
        opened = open_text(file, reading.get("delimiter"), reading.get("encoding"))
        if len(opened.names) > MOST_STORED or len(opened.body) <= LARGE_BYTES:
            return read_frame(file, text_columns=text_columns, **reading)
        check_wanted(file, opened.names, only)
        _check_width(file, len(opened.names), BLOCK_BYTES)
        all_text = reading.get("all_text", False)
        table = store_text(opened, set(text_columns), as_frame, only, all_text)
    if not len(table):
        _refuse_empty(file, len(table.columns))
    return table


def read_blocks(path: str | Path, *, text_columns: Iterable[str] = ()):
    """Read a table as data frames of some ten thousand rows each, in order.

    Text and Parquet are read block by block, so that memory does not grow with the file; files
    of records are one block. Arguments as of `read_frame`.
    """
    file = existing_file(path)
    text_columns = list(text_columns)
    if is_records(file):
        yield _read_records(file, text_columns, None)
        return
    if file.suffix.lower() in PARQUET_SUFFIXES:
        names = check_names(file, open_parquet(file).schema_arrow.names)
        _check_width(file, len(names))
        tables = (table.rename_columns(names) for table in parquet_blocks(file, names, BLOCK_ROWS))
    else:
        whole = open_text(file)
        _check_width(file, len(whole.names), BLOCK_BYTES)
        parts = blocks_of_text(whole, BLOCK_BYTES)
        tables = (parse_text(part, set(text_columns), None) for part in parts)
    is_empty = True
    for table in tables:
        if table.num_rows:
            is_empty = False
            yield _as_frame(table, text_columns)
    if is_empty:
        _refuse_empty(file, len(column_names(file)))


def _refuse_empty(file, n_columns):
    raise InputError(
        f"{file}: there is a header ({n_columns} columns) but no data row. Add at least one row."
    )


def _as_frame(table, text_columns):
    types = {field.name: field.type for field in table.schema}
    # Each column is let go as soon as the frame has it: the table may be large.
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    del table
    _as_text(frame, [name for name in text_columns if types.get(name) != "string"])
    return frame


def is_records(file: Path) -> bool:
    """Whether a file is read as a whole: spreadsheets, JSON, Feather."""
    return inner_suffix(file) in RECORD_SUFFIXES


def _read_records(file, text_columns, only):
    frame = read_records(file)
    frame.columns = check_names(file, list(frame.columns))
    check_wanted(file, list(frame.columns), only)
    if not len(frame):
        raise InputError(f"{file}: there is no data row. Add at least one.")
    frame = frame if only is None else frame[list(only)].copy()
    _as_text(frame, text_columns)
    return frame


def _as_text(frame, names):
    for name in names:
        if name in frame:
            cells = frame[name].tolist()
            gone = [cell is None or cell != cell or str(cell) == "<NA>" for cell in cells]
            text = [None if no else _plain_text(cell) for cell, no in zip(cells, gone)]
            frame[name] = np.array(text, dtype=object)


def _plain_text(value) -> str:
    """Write whole numbers without a decimal point, so that class 1 is "1" in every format."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def column_names(
    path: str | Path, delimiter: str | None = None, encoding: str | None = None
) -> list[str]:
    """Give the column names of a table; of text and Parquet without reading its rows."""
    file = existing_file(path)
    if file.suffix.lower() in PARQUET_SUFFIXES:
        return check_names(file, open_parquet(file).schema_arrow.names)
    if is_records(file):
        return check_names(file, list(read_records(file).columns))
    return open_text(file, delimiter, encoding).names


def text_notes(path: Path, delimiter: str | None, encoding: str | None) -> list[str]:
    """Return what to say about how a text table was read; nothing for other files."""
    if inner_suffix(path) not in TEXT_SUFFIXES:
        return []
    return list(open_text(path, delimiter, encoding).notes)


def line_of(path: Path, row: int, delimiter: str | None, encoding: str | None) -> int | None:
    """Find the line on which a data row (counted from 0) ends; None where there are no lines."""
    if inner_suffix(path) not in TEXT_SUFFIXES:
        return None
    return line_of_row(open_text(path, delimiter, encoding), row)


def _read_parquet(file: Path, only):
    names = check_names(file, open_parquet(file).schema_arrow.names)
    check_wanted(file, names, only)
    _check_width(file, len(names if only is None else only))
    wanted = names if only is None else list(only)
    return read_columns(file, wanted).rename_columns(wanted)


def _read_text(file: Path, text_columns, only, delimiter, encoding, all_text):
    table = open_text(file, delimiter, encoding)
    check_wanted(file, table.names, only)
    _check_width(file, len(table.names), len(table.body))
    return parse_text(table, set(text_columns), only, all_text)


def _check_width(file: Path, n_columns: int, n_bytes: int = 0) -> None:
    """Refuse a table whose columns, each an object of its own, do not fit into memory."""
    size = 2 * n_bytes + COLUMN_BYTES * n_columns
    require(size, file, f"{n_columns} columns of a table",
            advice="Convert it to Parquet with fewer columns, or take a sample.")  # fmt: skip
