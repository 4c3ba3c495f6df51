"""Checks, before a file is read, whether it can be labeled in the available memory."""

from __future__ import annotations

from pathlib import Path

from fewfold.datasets import frames
from fewfold.datasets.parquet import open_parquet
from fewfold.exceptions import InputError
from fewfold.system.memory import free_memory

# Bytes that labeling takes for each row (its neighbors, a dozen candidates' answers), and more for
# each column of it, where classes are few (measured, docs/scaling.md).
ROW_BYTES, COLUMN_BYTES = 1000, 40
_SAMPLE = 1 << 22


def count_rows(path: Path) -> int | None:
    """Estimate the rows of a text table from its first lines; exact for Parquet; else None."""
    suffix = path.suffix.lower()
    if suffix in frames.PARQUET_SUFFIXES:
        return open_parquet(path).metadata.num_rows
    if suffix not in frames.TEXT_SUFFIXES:
        return None
    with open(path, "rb") as stream:
        sample = stream.read(_SAMPLE)
    header = sample.find(b"\n") + 1
    lines = sample.count(b"\n", header)
    if not lines:
        return 1
    per_line = (sample.rfind(b"\n") + 1 - header) / lines
    return max(1, round((path.stat().st_size - header) / per_line))


def _count_columns(path):
    if path.suffix.lower() in frames.PARQUET_SUFFIXES:
        return open_parquet(path).metadata.num_columns
    with open(path, "rb") as stream:
        header = stream.read(_SAMPLE).split(b"\n", 1)[0]
    return 1 + max(header.count(delimiter) for delimiter in (b",", b";", b"\t", b"|"))


def check_rows(path: Path, available: int | None = None) -> None:
    """Raise an error for a table whose rows cannot be labeled in free memory."""
    rows = count_rows(path)
    if rows is None:
        return
    columns = _count_columns(path)
    size = rows * (ROW_BYTES + COLUMN_BYTES * columns)
    available = free_memory() if available is None else available
    if size > available:
        raise InputError(
            f"{path}: has about {rows:,} rows of {columns} columns; comparing each with its "
            f"neighbors takes about {size / 1e9:.1f} GB of memory, and {available / 1e9:.1f} GB "
            "are free. Label a sample of the rows (with all that have a label), then give the "
            "others to 'fewfold predict', which reads them in blocks."
        )
