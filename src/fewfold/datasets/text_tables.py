"""Tables of text: where they begin, what separates their columns, and their rows."""

from __future__ import annotations

import contextlib
import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from fewfold.datasets.column_names import is_number, name_command, named, numbered
from fewfold.datasets.damage import sound
from fewfold.datasets.raw_text import forget, guess_encoding, inner_suffix, raw_bytes
from fewfold.datasets.table.messages import listed
from fewfold.exceptions import InputError
from fewfold.system.wording import counted

TEXT_SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_BLOCK = 1 << 22  # blocks are parsed side by side
_PIECE = 1 << 24  # of a text file looked at once
_ONE_BLOCK = 1 << 30  # but types are guessed from the first block only
_ROWS_BYTES = 1 << 25  # of text whose rows are looked at together
_FIRST = 30  # rows that say where a table begins
_QUOTED = re.compile(r'"[^"]*"')
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n')  # written for Excel


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    Attributes
    ----------
    file : Path
    body : memoryview
        The rows after the header, as UTF-8.
    before, header : str, list of str
        The text before the header, and its cells, as they are written.
    names : list of str
        The columns' names, all different.
    delimiter, encoding : str
    lines : int
        How many lines stand before the rows.
    notes : list of str
        What a reader should know.
    """

    file: Path
    body: memoryview
    before: str
    header: list
    names: list
    delimiter: str
    encoding: str
    lines: int
    notes: list

    @property
    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The cells of the rows that are not blank, each with the number of its last line."""
        for part in blocks_of_text(self, _ROWS_BYTES):
            reader = csv.reader(_lines(str(part.body, "utf-8")), delimiter=self.delimiter)
            yield from ((part.lines + reader.line_num, row) for row in reader if row)
            forget(self.body)


def open_text(file: Path, delimiter: str | None = None, encoding: str | None = None) -> TextTable:
    """Find header and rows of a text table.

    Parameters
    ----------
    file : Path
    delimiter : str, optional
        By default by suffix, or what the first lines have.
    encoding : str, optional
        Found by the bytes if not given.
    """
    about = file.stat()
    return _opened(file, about.st_mtime_ns, about.st_size, delimiter, encoding)


@lru_cache(maxsize=2)
def _opened(file, changed, size, given, encoding) -> TextTable:
    data, encoding, notes = _as_utf8(file, encoding)
    text = data[:_PIECE].tobytes().decode("utf-8", errors="replace")
    start = 0
    if (line := _SEPARATOR_LINE.match(text)) is not None:
        start, given = line.end(), given or line[1]
    while start < len(text) and text[start] in "\r\n":  # blank lines would be the header
        start += 1
    delimiter = delimiter_of(file, text[start:], given)
    with sound(file, "readable as a table", "Check the quotes of the first lines."):
        rows = _first_rows(text, start, delimiter)
        if given is None and rows and len(rows[0][1]) == 1:
            delimiter, rows = _below_a_preamble(text, start, delimiter, rows)
    if not rows:
        raise InputError(f"{file}: the file holds only blank lines. Give a header and data rows.")
    skipped = _preamble_rows(rows)
    if skipped:
        lines = counted(skipped, "line", "is", "are")
        notes.append(f"Before the table, {lines} skipped ({rows[0][1][0].strip()[:40]!r}).")
    begin, header, end = rows[skipped]
    names, words = _names(file, header, [row for _, row, _ in rows[skipped + 1 :]])
    body = data[len(text[:end].encode()) :]
    return TextTable(file, body, text[:begin], header, names, delimiter, encoding,
                     text.count("\n", 0, end), [*notes, *words])  # fmt: skip


def _as_utf8(file, encoding):
    """Return the text as UTF-8, how it is stored, and what to say about that.

    A file that is UTF-8 is mapped, not read: it may be large, and one copy of it is one too many.
    """
    data, notes = raw_bytes(file), []
    found = guess_encoding(data)
    if encoding is None and (encoding := found) != "utf-8":
        notes = [f"The letters are stored as {encoding}; --encoding says otherwise."]
    is_utf8 = found == "utf-8" == encoding.lower().replace("utf8", "utf-8")
    if not is_utf8 or not _contains(data, b"\n"):  # the parser wants line feeds
        return memoryview(decode(file, data.tobytes(), encoding).encode()), encoding, notes
    return data[3:] if data[:3] == b"\xef\xbb\xbf" else data, encoding, notes


def _contains(data, byte):
    return any(byte in data[s : s + _PIECE].tobytes() for s in range(0, len(data), _PIECE))


def _first_rows(text, start, delimiter):
    """The first rows that are not blank: where each begins, its cells, where it ends."""
    ends = [start]

    def lines():
        for line in _lines(text, start):
            ends.append(ends[-1] + len(line))
            yield line

    found, begin = [], start
    try:
        for row in csv.reader(lines(), delimiter=delimiter):
            if row:
                found.append((begin, row, ends[-1]))
            begin = ends[-1]
            if len(found) > _FIRST:
                break
    except csv.Error:  # a cell too long for the csv module; the parser of rows takes it
        if not found:
            raise
    return found


def _common_width(rows):
    """How many cells most rows have: those from the first such row on, if there are three."""
    width, _ = Counter(len(row) for _, row, _ in rows).most_common(1)[0]
    first = next(i for i, (_, row, _) in enumerate(rows) if len(row) == width)
    same = all(len(row) == width for _, row, _ in rows[first:])
    return width if same and len(rows) - first >= 3 else 1


def _below_a_preamble(text, start, delimiter, rows):
    """Find what separates columns where the first line has one cell, as titles of exports do."""
    if _common_width(rows) == 1:
        for other in ";\t|,":
            found = _first_rows(text, start, other)
            if _common_width(found) >= 3:  # two: a text with a semicolon in each line
                return other, found
    return delimiter, rows


def _preamble_rows(rows) -> int:
    """Count the rows of a title before the header: one cell each, where the table has more."""
    width = _common_width(rows)
    if width == 1 or len(rows[0][1]) > 1:
        return 0
    return next(i for i, (_, row, _) in enumerate(rows) if len(row) == width)


def _names(file, header, rows):
    """Return a name for each column of the rows, and what to say about it."""
    if len(header) > 1 and all(map(is_number, header)):
        raise InputError(
            f"{file}: the first line holds numbers only ({', '.join(header[:3])}, ...). The first "
            f"line must name the columns: {name_command(file, len(header))}"
        )
    words, widths = [], {len(row) for row in rows}
    if widths == {len(header) + 1}:
        if all(not row[-1].strip() for row in rows):  # a delimiter at the end of each row
            header = [*header, ""]
        else:  # as R writes tables
            header = ["row", *header]
            words = ["The header has one name fewer than the rows have cells: the first column is "
                     "taken as names of the rows and called 'row'."]  # fmt: skip
    elif widths == {len(header) - 1} and not header[-1].strip():
        header = header[:-1]
    names = named(file, header)
    unique = numbered(names)
    if len(set(names)) < len(names):
        later = [new for new, name in zip(unique, names) if new != name]
        words.append(
            f"Column names occur several times; the later ones are called {listed(later)}."
        )
    return unique, words


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


def _lines(text: str, start: int = 0) -> Iterator[str]:
    """Yield lines with their ends, without a copy of the whole text."""
    while start < len(text):
        stop = text.find("\n", start) + 1 or len(text)
        yield text[start:stop]
        start = stop


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


def parse_text(
    table: TextTable, text_columns: set, only, all_text: bool = False, types: dict | None = None
):
    """Read the rows of a text table as an Arrow table.

    Parameters
    ----------
    table : TextTable
    text_columns : set of str
        Columns to keep as they are written.
    only : sequence of str or None
        Read these columns only.
    all_text : bool
        Keep all columns as they are written.
    types : dict of column to Arrow type, optional
        Of columns whose types are known; of others they are guessed.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    raw, names = table.body, table.names
    if not raw[:_PIECE].tobytes().strip():
        return pa.table({n: pa.array([], pa.string()) for n in (names if only is None else only)})
    has_quotes = _contains(raw, b'"')

    def parse(types, block, only=only, marks=None):
        return arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(raw)),
            read_options=arrow_csv.ReadOptions(
                column_names=names,
                block_size=block,
                # Threads of a small file gain nothing, and may still start as the program ends.
                use_threads=len(raw) > _BLOCK,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=table.delimiter, newlines_in_values=has_quotes
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                strings_can_be_null=True,
                null_values=marks,
                include_columns=list(only) if only is not None else None,
            ),
        )

    known = (types or {}) | {name: pa.string() for name in text_columns if name in names}
    whole = int(np.clip(len(raw) + 1, _BLOCK, _ONE_BLOCK))
    everything = {name: pa.string() for name in names}
    # A guess of types may not last beyond its block, and a row may not fit into one: then guess
    # from the whole text, and at last keep the text as it is.
    kept = [name for name in text_columns if name in names and (only is None or name in only)]
    attempts = ((known, _BLOCK), (known, whole), (everything, whole))
    for guess, block in attempts[: 2 if types else 3]:
        try:
            found = parse(everything if all_text else guess, block)
            # Labels as they are written: "NA" or "None" may be a class, and only the reader of
            # the labels knows (fewfold.datasets.targets).
            if any(found[name].null_count for name in kept):
                written = parse(guess, block, only=kept, marks=[""])
                for name in kept:
                    place = found.schema.get_field_index(name)
                    found = found.set_column(place, name, written[name])
            return found
        except pa.ArrowInvalid as error:
            fault = error
    raise_if_ragged(table)
    raise InputError(
        f"{table.file}: cannot be read as a table with delimiter {table.delimiter!r} ({fault}). "
        "Check quotes and the delimiter."
    )


def blocks_of_text(table: TextTable, n_bytes: int) -> Iterator[TextTable]:
    """Cut a text table between rows into parts of about so many bytes, without a copy."""
    start, lines, end = 0, table.lines, len(table.body)
    while start < end:
        stop, n_quotes = start, 0
        while stop < end:
            piece = table.body[stop : stop + n_bytes].tobytes()
            cut = len(piece) if stop + n_bytes >= end else piece.rfind(b"\n") + 1
            stop += cut or len(piece)
            n_quotes += piece.count(b'"', 0, cut or len(piece))
            if cut and n_quotes % 2 == 0:  # else the line ends within a cell
                break
        part = table.body[start:stop]
        yield replace(table, body=part, lines=lines)
        lines += part.tobytes().count(b"\n")
        start = stop


def raise_if_ragged(table: TextTable) -> None:
    """Name the first line that has not as many cells as the header, if there is one."""
    names, line = table.names, table.lines
    try:
        for number, (line, row) in enumerate(table.rows, start=1):
            if len(row) != len(names):
                raise InputError(
                    f"{table.file}, line {line} (row {number}): {len(row)} values found, "
                    f"{len(names)} expected as in the header ({', '.join(names[:4])}"
                    f"{', ...' if len(names) > 4 else ''}). Correct that line; values that "
                    f"contain {table.delimiter!r} need quotes."
                )
    except csv.Error as error:
        raise InputError(
            f"{table.file}, after line {line}: not readable as a table ({error})."
        ) from error


def line_of_row(table: TextTable, row: int) -> int | None:
    """Find the line on which a data row (counted from 0) ends."""
    with contextlib.suppress(csv.Error):  # a cell too long for the csv module
        for number, (line, _) in enumerate(table.rows):
            if number == row:
                return line
    return None
