"""How much memory is free, and the refusal of what would not fit, before it is taken.

A file of a few bytes may announce, or unpack to, more than a computer has. Every reader therefore
knows or counts the decoded size first and asks `require` for it.
"""

from __future__ import annotations

import os
from pathlib import Path

from fewfold.exceptions import InputError

# Part of the free memory that one decoded file may take: what is read is copied at least once.
SHARE = 0.5
_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Return the bytes that this process can still take.

    The least of: what the computer has free, what is left of the container's limit (cgroup),
    and what is left of the process's own limit (``ulimit -v``).
    """
    import psutil

    return max(0, min(psutil.virtual_memory().available, _left_in_cgroup(), _left_of_limit()))


def _left_in_cgroup() -> int:
    left = 1 << 62
    for limit, used in (
        (_CGROUP / "memory.max", _CGROUP / "memory.current"),
        (_CGROUP / "memory/memory.limit_in_bytes", _CGROUP / "memory/memory.usage_in_bytes"),
    ):
        try:
            left = min(left, int(limit.read_text()) - int(used.read_text()) + _cache(used.parent))
        except (OSError, ValueError):  # no such file, or "max": no limit
            continue
    return left


def _cache(folder: Path) -> int:
    """Bytes that count as used but are given back when they are needed: cached file pages."""
    try:
        lines = (folder / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


def _left_of_limit() -> int:
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return 1 << 62
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return limit - pages * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError):  # not Linux: no such limit is known
        return 1 << 62


def allowed_cores() -> int:
    """Return how many cores this process may use."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return found or 1


def in_words(n_bytes: float) -> str:
    """Write a number of bytes with a unit.

    >>> in_words(4.7e9), in_words(60), in_words(25_000)
    ('4.7 GB', '60 bytes', '25.0 kB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{int(n_bytes)} bytes"


def require(
    n_bytes: int,
    where,
    what: str,
    *,
    available: int | None = None,
    advice: str = "Take a sample of the rows, or fewer columns.",
) -> None:
    """Refuse what would take more than `SHARE` of the memory that is free.

    Parameters
    ----------
    n_bytes : int
        Decoded size.
    where : str or Path
        The file (and part of it), for the message.
    what : str
        What takes the memory, for the message: "3 x 4 values".
    available : int, optional
        Free memory, if it was asked for already.
    advice : str
        What to do instead.

    Raises
    ------
    InputError

    Examples
    --------
    >>> require(1000, "my.npy", "250 values")
    >>> require(10**9, "my.npy", "125000000 values", available=10**9)
    Traceback (most recent call last):
        ...
    fewfold.exceptions.InputError: my.npy: 125000000 values take 1.0 GB of memory, and ...
    """
    if n_bytes <= 1 << 20:  # asking the system costs more than this does
        return
    available = free_memory() if available is None else available
    if n_bytes > available * SHARE:
        raise InputError(
            f"{where}: {what} take {in_words(n_bytes)} of memory, and {in_words(available)} are "
            f"free, of which half may be used. {advice}"
        )


def require_rows(where, shape, n_entries: int, itemsize: int = 8) -> None:
    """Refuse a sparse matrix whose shape takes more memory than its entries justify.

    Each row takes 8 bytes even if it is empty, so a header of 60 bytes can ask for gigabytes.
    """
    rows, columns = (int(n) for n in shape)
    if rows > 10_000 + 1000 * max(n_entries, 0):
        raise InputError(
            f"{where}: announces {rows} rows with {n_entries} entries, so nearly all rows would be "
            "empty. Check its header, or leave out the empty rows."
        )
    size = 16 * (rows + 1) + 8 * columns + n_entries * (itemsize + 16)
    require(size, where, f"{rows} x {columns} values with {n_entries} entries")
