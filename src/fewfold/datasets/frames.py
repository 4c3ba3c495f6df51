"""The user's tables as data frames, with errors that name the place."""

from __future__ import annotations

import codecs
import contextlib
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from fewfold.datasets.damage import sound
from fewfold.datasets.parquet import open_parquet, read_columns
from fewfold.datasets.raw_text import COMPRESSED, guess_encoding, inner_suffix, raw_bytes
from fewfold.datasets.record_files import RECORD_SUFFIXES, read_records
from fewfold.datasets.registry import nearest
from fewfold.exceptions import InputError
from fewfold.system.memory import require

TEXT_SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
PARQUET_SUFFIXES = (".parquet", ".pq")
# Suffixes of compressed files stand for what is inside: my.csv.gz.
TABLE_SUFFIXES = (*TEXT_SUFFIXES, *PARQUET_SUFFIXES, *RECORD_SUFFIXES, *COMPRESSED)
_BLOCK = 1 << 22  # blocks are parsed side by side
_PIECE = 1 << 24  # of a text file looked at once
_ONE_BLOCK = 1 << 30  # but types are guessed from the first block only
MOST_COLUMNS = 200_000
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
        table = _read_text(file, set(text_columns), only, delimiter, encoding, all_text)
    if table.num_rows == 0:
        raise InputError(
            f"{file}: there is a header ({table.num_columns} columns) but no data row. "
            "Add at least one row."
        )
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
    _check_wanted(file, list(frame.columns), only)
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
    data = raw_bytes(file)
    encoding = encoding or guess_encoding(data)
    head = data[:_PIECE].tobytes()
    # A letter cut in two at the end of the piece does not matter here.
    text = head.decode(encoding, errors="replace") if len(head) == _PIECE else None
    text = text or decode(file, head, encoding)
    return _header(file, text, delimiter_of(file, text, delimiter))


def check_names(file: Path, names: Sequence[str]) -> list[str]:
    """Refuse duplicate column names and too many; name the nameless by their place."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{file}: has {len(names)} columns; allowed in a table: {MOST_COLUMNS}. Save it as an "
            "array (NPZ or HDF5), where a column takes 8 bytes per row and nothing besides."
        )
    names = [str(n).strip() or f"column_{i}" for i, n in enumerate(names, 1)]
    for name, count in Counter(names).items():
        if count > 1:
            places = [str(i) for i, n in enumerate(names, 1) if n == name]
            raise InputError(
                f"{file}: column name {name!r} occurs {count} times (columns "
                f"{', '.join(places)}). Names must differ: rename or remove all but one."
            )
    return names


def decode(file: Path, data: bytes, encoding: str) -> str:
    """Decode text; name the line of the first letter that does not fit, and a remedy."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding.lower().replace("-", "") == "utf8":
        raise InputError(
            f"{file}: the text is stored as UTF-16, expected {encoding}. "
            "Save it as UTF-8, or give encoding='utf-16' (--encoding utf-16)."
        )
    try:
        text = data.decode(encoding)
    except LookupError as error:
        raise InputError(
            f"encoding={encoding!r} is not known. Common ones: utf-8, latin-1, cp1252, utf-16."
        ) from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{file}, line {line}: byte 0x{data[error.start]:02x} is not {encoding} text. "
            "Save the file as UTF-8, or give its encoding (encoding='latin-1' or 'cp1252' fits "
            "most older Western files)."
        ) from error
    if "\n" not in text:
        text = text.replace("\r", "\n")  # the line ends of old Macintosh files
    return text.removeprefix("\ufeff")


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends, without a copy of the whole text."""
    start = 0
    while start < len(text):
        stop = text.find("\n", start) + 1 or len(text)
        yield text[start:stop]
        start = stop


_QUOTED = re.compile(r'"[^"]*"')


def delimiter_of(file: Path, text: str, given: str | None) -> str:
    """Return what separates the columns of a text table: as given, or by its first lines."""
    if given is not None:
        if len(given) != 1 or given in "\r\n\"'":
            raise InputError(f"delimiter={given!r}; allowed: one letter such as ',' ';' or tab.")
        return given
    suffix = inner_suffix(file)
    usual = TEXT_SUFFIXES.get(suffix, ",")
    lines = (_QUOTED.sub("", line) for line in _lines(text) if line.strip())
    header, second = next(lines, ""), next(lines, "")
    if usual in header:
        if usual == "," and header.count(";") > header.count(","):
            # A name such as "price, net" in a file with semicolons: its rows agree on those.
            if header.count(";") == second.count(";") and header.count(",") != second.count(","):
                return ";"
        return usual
    others = ";\t|," + (" " if suffix == ".txt" else "")
    return next((d for d in others if d in header.strip()), usual)


def _header(file: Path, text: str, delimiter: str) -> list[str]:
    reader = csv.reader(_lines(text), delimiter=delimiter)
    with sound(file, "readable as a table", "Check the quotes of the first lines."):
        header = next((row for row in reader if row), None)
    if header is None:
        raise InputError(f"{file}: the file holds only blank lines. Give a header and data rows.")
    if len(header) > 1 and all(_is_number(cell) for cell in header):
        raise InputError(
            f"{file}: the first line holds numbers only ({', '.join(header[:3])}, ...). The first "
            "line must name the columns: add one."
        )
    return check_names(file, header)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_text(file: Path, text_columns: set, only, delimiter, encoding, all_text=False):
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    raw, head = _utf8(file, encoding)
    delimiter = delimiter_of(file, head, delimiter)
    names = _header(file, head, delimiter)
    _check_wanted(file, names, only)
    _check_width(file, len(names), len(raw))
    has_quotes = any(b'"' in raw[s : s + _PIECE].tobytes() for s in range(0, len(raw), _PIECE))

    def parse(types, block, only=only, marks=None):
        return arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(raw)),
            read_options=arrow_csv.ReadOptions(
                column_names=names,
                skip_rows_after_names=1,  # the header
                block_size=block,
                # Threads of a small file gain nothing, and may still start as the program ends.
                use_threads=len(raw) > _BLOCK,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=has_quotes
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                strings_can_be_null=True,
                null_values=marks,
                include_columns=list(only) if only is not None else None,
            ),
        )

    known = {name: pa.string() for name in text_columns if name in names}
    whole = int(np.clip(len(raw) + 1, _BLOCK, _ONE_BLOCK))
    everything = {name: pa.string() for name in names}
    # A guess of types may not last beyond its block, and a row may not fit into one: then guess
    # from the whole text, and at last keep the text as it is.
    kept = [name for name in known if only is None or name in only]
    for types, block in ((known, _BLOCK), (known, whole), (everything, whole)):
        try:
            table = parse(everything if all_text else types, block)
            # Labels as they are written: "NA" or "None" may be a class, and only the reader of
            # the labels knows (fewfold.datasets.targets).
            if any(table[name].null_count for name in kept):
                written = parse(types, block, only=kept, marks=[""])
                for name in kept:
                    place = table.schema.get_field_index(name)
                    table = table.set_column(place, name, written[name])
            return table
        except pa.ArrowInvalid as error:
            fault = error
    data = raw_bytes(file)
    text = decode(file, data.tobytes(), encoding or guess_encoding(data))
    _raise_if_ragged(file, text, names, delimiter)
    raise InputError(
        f"{file}: cannot be read as a table with delimiter {delimiter!r} ({fault}). "
        "Check quotes and the delimiter."
    )


def _utf8(file: Path, encoding: str | None) -> tuple[memoryview, str]:
    """Return the table as UTF-8 from its header on, and the text of its first lines.

    A file that is UTF-8 is mapped, not read: it may be large, and one copy of it is one too many.
    """
    start = 0
    data = raw_bytes(file)
    encoding = encoding or guess_encoding(data)
    if not _is_plain_utf8(data, encoding):
        data = memoryview(decode(file, data.tobytes(), encoding).encode())
    elif data[:3] == b"\xef\xbb\xbf":
        start = 3
    while start < len(data) and data[start] in b"\r\n":  # blank lines would be the header
        start += 1
    head = data[start : start + _PIECE].tobytes().decode("utf-8", errors="replace")
    return data[start:], head


def _is_plain_utf8(data: memoryview, encoding: str) -> bool:
    """Whether bytes are UTF-8 with line feeds, as the parser wants them."""
    if encoding.lower().replace("-", "") != "utf8":
        return False
    decoder, line_ends = codecs.getincrementaldecoder("utf-8")(), False
    try:
        for s in range(0, len(data), _PIECE):
            piece = data[s : s + _PIECE].tobytes()
            line_ends = line_ends or b"\n" in piece
            decoder.decode(piece, final=s + _PIECE >= len(data))
    except UnicodeDecodeError:
        return False
    return line_ends


def _raise_if_ragged(file: Path, text: str, names: list[str], delimiter: str) -> None:
    reader = csv.reader(_lines(text), delimiter=delimiter)
    try:
        for number, row in enumerate(row for row in reader if row):
            if len(row) != len(names):
                raise InputError(
                    f"{file}, line {reader.line_num} (row {number}): {len(row)} values found, "
                    f"{len(names)} expected as in the header ({', '.join(names[:4])}"
                    f"{', ...' if len(names) > 4 else ''}). Correct that line; values that "
                    f"contain {delimiter!r} need quotes."
                )
    except csv.Error as error:
        raise InputError(
            f"{file}, line {reader.line_num}: not readable as a table ({error})."
        ) from error


def line_of_row(path: Path, row: int, delimiter: str | None, encoding: str | None) -> int | None:
    """Find the line on which a data row (counted from 0) ends; None where there are no lines."""
    if path.suffix.lower() in PARQUET_SUFFIXES or is_records(path):
        return None
    data = raw_bytes(path)
    text = decode(path, data.tobytes(), encoding or guess_encoding(data))
    delimiter = delimiter_of(path, text, delimiter)
    reader = csv.reader(_lines(text), delimiter=delimiter)
    with contextlib.suppress(csv.Error):  # a cell too long for the csv module
        for number, _ in enumerate(cells for cells in reader if cells):
            if number == row + 1:
                return reader.line_num
    return None


def _check_wanted(file: Path, names: Sequence[str], only) -> None:
    known = set(names)  # a list would be searched once per column, of which there may be many
    for name in only or ():
        if name not in known:
            raise missing_column(file, name, names)


def missing_column(file: Path, name: str, names: Sequence[str], what: str = "column") -> InputError:
    """Build the error for a column that is not there, with the nearest name."""
    guess = nearest(name, names)
    hint = f" Did you mean {guess!r}?" if guess else ""
    return InputError(f"{file}: no {what} {name!r}.{hint} Columns: {some_names(names)}.")


def some_names(names: Sequence[str], most: int = 12) -> str:
    """List the first columns."""
    return ", ".join(map(str, names[:most])) + (", ..." if len(names) > most else "")


def _read_parquet(file: Path, only):
    names = check_names(file, open_parquet(file).schema_arrow.names)
    _check_wanted(file, names, only)
    _check_width(file, len(names if only is None else only))
    wanted = names if only is None else list(only)
    return read_columns(file, wanted).rename_columns(wanted)


def _check_width(file: Path, n_columns: int, n_bytes: int = 0) -> None:
    """Refuse a table whose columns, each an object of its own, do not fit into memory."""
    size = 2 * n_bytes + COLUMN_BYTES * n_columns
    require(size, file, f"{n_columns} columns of a table",
            advice="Convert it to Parquet with fewer columns, or take a sample.")  # fmt: skip
