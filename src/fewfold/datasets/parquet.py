"""Parquet files, whose few bytes may stand for gigabytes: sizes are counted before decoding."""

from __future__ import annotations

from pathlib import Path

from fewfold.datasets.damage import sound
from fewfold.exceptions import InputError
from fewfold.system.memory import require

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 12}  # all others have 8 bytes
_TEXT_OVERHEAD = 60  # bytes of one text as an object of its own


def open_parquet(file: Path):
    """Open a Parquet file, of which only the metadata are read."""
    from pyarrow import parquet

    with sound(file, "a whole Parquet file"):
        return parquet.ParquetFile(file)


def is_vector(kind) -> bool:
    """Whether a column holds lists of numbers, as embeddings are stored."""
    import pyarrow as pa

    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(check(kind) for check in lists):
        return False
    inner = kind.value_type
    return pa.types.is_integer(inner) or pa.types.is_floating(inner)


def read_columns(file: Path, names: list[str]):
    """Read columns as an Arrow table, after their decoded size was compared with free memory.

    Parameters
    ----------
    file : Path
    names : list of str
        Columns, at most one per name of the schema.

    Returns
    -------
    pyarrow.Table
    """
    import pyarrow as pa

    return pa.concat_tables(read_blocks(file, names, None))


def read_blocks(file: Path, names: list[str], n_rows: int | None):
    """Read columns as Arrow tables of so many rows each (None: all at once); as `read_columns`."""
    import pyarrow as pa

    opened = open_parquet(file)
    for field in opened.schema_arrow:
        if field.name in names and pa.types.is_nested(field.type) and not is_vector(field.type):
            raise InputError(
                f"{file}: column {field.name!r} is of type {field.type}; allowed: numbers, "
                "booleans, times, text, lists of numbers. Flatten or remove it."
            )
    fixed, texts = _announced(opened.metadata, set(names))
    everything = max(opened.metadata.num_rows, 1)
    n_rows = min(n_rows or everything, everything)
    fixed = fixed * n_rows // everything
    what = f"{n_rows} rows x {len(names)} columns"
    advice = "Take fewer columns or a sample."
    require(fixed, file, what, advice=advice)
    # A text stored once may stand in every row. Read by number, such a column stays small.
    doubtful = sorted(name for name, worst in texts.items() if worst > fixed + (1 << 26))
    with sound(file, "a whole Parquet file"):
        from pyarrow import parquet

        opened = parquet.ParquetFile(file, read_dictionary=doubtful)
        whole = n_rows == everything
        tables = [opened.read(columns=names)] if whole else _batches(opened, names, n_rows)
        for table in tables:
            size = fixed + sum(_decoded_text(table[name]) for name in doubtful)
            require(size, file, what, advice=advice)
            yield _plain(table, doubtful, opened.schema_arrow)


def _batches(opened, names, n_rows):
    import pyarrow as pa

    for batch in opened.iter_batches(n_rows, columns=names):
        yield pa.Table.from_batches([batch])


def _announced(meta, wanted: set) -> tuple[int, dict]:
    """Bytes that surely are needed, and the most that each column of texts could need."""
    fixed, texts = 0, {}
    for g in range(meta.num_row_groups):
        group = meta.row_group(g)
        for c in range(group.num_columns):
            column = group.column(c)
            name = column.path_in_schema.split(".")[0]
            if name not in wanted and column.path_in_schema not in wanted:
                continue
            stored = max(int(column.total_uncompressed_size), 0)
            if column.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
                fixed += max(stored, _TEXT_OVERHEAD * column.num_values)
                worst = column.num_values * stored
                texts[column.path_in_schema] = texts.get(column.path_in_schema, 0) + worst
            else:
                width = _WIDTHS.get(column.physical_type, 8)
                fixed += max(stored, width * column.num_values)
    # Rows that no column group holds are made up as missing values.
    return max(fixed, 8 * meta.num_rows * max(len(wanted), 1)), texts


def _decoded_text(column) -> int:
    """Bytes of a column of texts once each row has its own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for chunk in column.chunks:
        if not pa.types.is_dictionary(chunk.type) or not len(chunk):
            total += chunk.nbytes
            continue
        lengths = pc.binary_length(chunk.dictionary)
        counts = pc.value_counts(chunk.indices)
        for entry in counts:
            place, count = entry["values"].as_py(), entry["counts"].as_py()
            if place is not None:
                total += count * (lengths[place].as_py() or 0)
    return total


def _plain(table, doubtful, schema):
    """Give columns that were read by number the type that they have in the file."""
    import pyarrow as pa

    for name in doubtful:
        kind, place = schema.field(name).type, table.schema.get_field_index(name)
        if pa.types.is_dictionary(table.schema.field(name).type) and not pa.types.is_dictionary(
            kind
        ):
            table = table.set_column(place, name, table[name].cast(kind))
    return table
