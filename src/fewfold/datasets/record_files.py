"""Tables that are read as a whole: Excel, OpenDocument, JSON, JSON lines, Feather."""

from __future__ import annotations

import json
import zipfile
from functools import lru_cache
from pathlib import Path

from fewfold.datasets.annotations import from_tool
from fewfold.datasets.damage import sound
from fewfold.datasets.raw_text import guess_encoding, inner_suffix, raw_bytes
from fewfold.exceptions import InputError
from fewfold.system.memory import require

EXCEL_SUFFIXES = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
FEATHER_SUFFIXES = (".feather", ".arrow")
RECORD_SUFFIXES = (*EXCEL_SUFFIXES, *JSON_SUFFIXES, *FEATHER_SUFFIXES)
NOTES = "fewfold notes"  # what to say about a frame, in its attributes
_OBJECTS = 20  # a record as Python's objects takes about this many times its text


def read_records(file: Path):
    """Read a file of records as a data frame.

    Parameters
    ----------
    file : Path
        Excel or OpenDocument (the first sheet), JSON (a list of records, or columns by name),
        JSON lines, Feather.

    Returns
    -------
    pandas.DataFrame
    """
    about = file.stat()
    return _read(file, about.st_mtime_ns, about.st_size).copy()


@lru_cache(maxsize=1)
def _read(file, changed, size):
    suffix = inner_suffix(file)
    if suffix in EXCEL_SUFFIXES:
        return _read_excel(file)
    if suffix in FEATHER_SUFFIXES:
        return _read_feather(file)
    return _read_json(file, suffix)


def _read_excel(file):
    try:
        import python_calamine  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"{file}: reading {file.suffix} files needs the package python-calamine. Install it "
            "(pip install 'fewfold[excel]'), or save the table as CSV."
        ) from error
    import pandas as pd

    if zipfile.is_zipfile(file):
        with sound(file, "a whole spreadsheet"), zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        require(3 * size, file, f"{size / 1e6:.0f} MB of decompressed cells")
    with sound(file, "a whole spreadsheet", "Save it again, or export it as CSV."):
        # As written: a class called "None" or "NA" is text here, and only blank cells are empty.
        return pd.read_excel(file, engine="calamine", keep_default_na=False, na_values=[""])


def _read_feather(file):
    import pyarrow as pa
    from pyarrow import feather

    require(4 * file.stat().st_size, file, "its columns")
    with sound(file, "a whole Feather file"):
        table = feather.read_table(file, memory_map=False)
        for field in table.schema:
            if pa.types.is_dictionary(field.type):
                place = table.schema.get_field_index(field.name)
                decoded = table[field.name].cast(field.type.value_type)
                table = table.set_column(place, field.name, decoded)
        return table.to_pandas()


def _read_json(file, suffix):
    import pandas as pd

    data = raw_bytes(file)
    require(_OBJECTS * len(data), file, "its records")
    with sound(file, "readable as text"):
        text = data.tobytes().decode(guess_encoding(data)).removeprefix("\ufeff")
    try:
        return _frame(file, _parsed(text, suffix), pd)
    except RecursionError as error:
        raise InputError(f"{file}: is nested too deeply. Give a list of flat records.") from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file}, line {error.lineno}: not JSON ({error.msg}). Write it again."
        ) from error


def _parsed(text, suffix):
    """The JSON of a text; one with several values holds one per line, whatever its name."""
    if suffix == ".json":
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            if "Extra data" not in error.msg:
                raise
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise json.JSONDecodeError(error.msg, "\n" * (number - 1), number - 1) from error
    return found


def _frame(file, found, pd):
    if isinstance(found, dict):
        lists = [key for key, value in found.items() if isinstance(value, list)]
        records = [k for k in lists if found[k] and isinstance(found[k][0], dict)]
        if len(records) == 1:
            found = found[records[0]]
    if isinstance(found, list) and found and all(isinstance(item, dict) for item in found):
        with sound(file, "a list of records"):
            notes = []
            if (export := from_tool(found)) is not None:
                found, notes = export
            frame = pd.DataFrame([_flat(item) for item in found])
            frame.attrs[NOTES] = notes
            return frame
    if isinstance(found, dict) and found and all(isinstance(v, list) for v in found.values()):
        with sound(file, "columns of one length", "Give each column as many values."):
            return pd.DataFrame(found)
    raise InputError(
        f"{file}: holds {type(found).__name__ if found else 'nothing'}; expected: a list of "
        'records ([{"a": 1, "label": "x"}, ...]), one record per line (JSON lines), or columns '
        'by name ({"a": [1, 2], "label": ["x", ""]}).'
    )


def _flat(record, before=""):
    """Nested records as columns ``a.b``."""
    found = {}
    for key, value in record.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = value
    return found
