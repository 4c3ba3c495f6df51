"""Whether a file is one that this machine can label, before it is read."""

from __future__ import annotations

from pathlib import Path

from fewfold.datasets import frames
from fewfold.datasets.parquet import open_parquet
from fewfold.exceptions import InputError
from fewfold.system.memory import free_memory

# A text table takes about this many times its size while it is read (measured, docs/label.md).
TEXT_FACTOR = 6
# Every row is joined with its neighbors and labeled some thirty times for the comparison.
MOST_ROWS = 2_000_000
_SAMPLE = 1 << 22


def check_memory(path: Path, available: int | None = None) -> None:
    """Refuse a text table that would not fit into the memory that is free."""
    if path.suffix.lower() not in frames.TEXT_SUFFIXES:
        return
    available = free_memory() if available is None else available
    size = path.stat().st_size
    if size * TEXT_FACTOR > available:
        raise InputError(
            f"{path}: the file has {size / 1e9:.1f} GB; reading it takes about "
            f"{TEXT_FACTOR * size / 1e9:.1f} GB of memory, and {available / 1e9:.1f} GB are free. "
            "Take a sample of the rows, or save it as Parquet with the columns you need."
        )


def count_rows(path: Path) -> int | None:
    """Guess the rows of a text table from its first lines; Parquet knows; None for others."""
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


def check_rows(path: Path, most: int = MOST_ROWS) -> None:
    """Refuse a table of more rows than labeling is made for, and say what to do instead."""
    rows = count_rows(path)
    if rows is not None and rows > most:
        raise InputError(
            f"{path}: has about {rows:,} rows, and 'fewfold label' is made for up to {most:,}, as "
            "it compares every row with its neighbors. Label a sample of the rows (with all that "
            "have a label), then give the others to 'fewfold predict' in pieces."
        )
