"""The folder of a run: one run at a time in it, and what a killed run left there."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager
from pathlib import Path

from fewfold.exceptions import RunFailed

_PART = re.compile(r"^\..*\.(\d+)\.part$")


@contextmanager
def only_run(directory: Path):
    """Hold the directory's run lock; a lock left by a killed run does not count.

    The kernel drops the lock when its process ends, however it ends, so Snakemake's own lock
    files can be told to be stale. Whatever a command writes into the directory, it writes while
    it holds this lock.

    Yields
    ------
    int
        How many stale locks of Snakemake were removed.
    """
    folder = directory / ".snakemake"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # No links: a shared folder must not lead the lock to somebody's file.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        lock = os.fdopen(os.open(folder / "fewfold.lock", flags, 0o666), "r+")
    except OSError as error:
        raise RunFailed(
            f"Cannot write into {directory}: {error.strerror}. Choose a folder you may write to, "
            "or free some space."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = lock.read().strip() or "unknown"
            raise RunFailed(
                f"Another fewfold run (process {owner}) is running in {directory}. "
                "Wait for it to end, or stop it, and try again."
            ) from error
        other = _foreign_snakemake(directory)
        if other:
            raise RunFailed(
                f"Snakemake (process {other}) is running in {directory}. Wait for it to end, or "
                "stop it, and try again."
            )
        _name_owner(lock)
        yield clear_stale_locks(directory)


def _name_owner(lock):
    """Write who holds the lock; on a full disk nobody is named, and the lock holds all the same."""
    try:
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
    except OSError:
        pass


def _foreign_snakemake(directory):
    """Return the pid of a Snakemake that works in the directory, or None."""
    if not any((directory / ".snakemake/locks").glob("*.lock")):
        return None
    import psutil

    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        if process.info["pid"] != os.getpid() and any("snakemake" in w for w in words[:3]):
            if process.info["cwd"] and Path(process.info["cwd"]) == directory.resolve():
                return process.info["pid"]
    return None


def clear_stale_locks(directory: Path) -> int:
    """Remove Snakemake's lock files; only for who holds the lock of `only_run`."""
    stale = list((directory / ".snakemake/locks").glob("*.lock"))
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def remove_dead_parts(directory: Path) -> int:
    """Remove the unfinished files of processes of this machine that were killed; return how many.

    Their names hold the number of the process that wrote them; those of living ones stay.
    """
    import psutil

    found = [
        *directory.glob(".*.part"),
        *(directory / "input").glob(".*.part"),
        *(directory / "results").rglob(".*.part"),
    ]
    dead = [
        path
        for path in found
        if (match := _PART.match(path.name)) and not psutil.pid_exists(int(match[1]))
    ]
    for path in dead:
        path.unlink(missing_ok=True)
    return len(dead)


def set_aside(directory: Path, damaged: list[str]) -> list[Path]:
    """Rename stage files that a job found damaged, so that the next run makes them again.

    Only files below ``results`` are touched, and a damaged file in the cache between runs that
    they link to. Nothing is deleted.
    """
    moved = []
    results = Path(os.path.abspath(directory / "results"))
    for name in damaged:
        path = Path(os.path.abspath(directory / name))
        if not path.is_relative_to(results) or not os.path.lexists(path):
            continue
        if path.is_symlink():
            cached = path.resolve()
            cache = os.environ.get("SNAKEMAKE_OUTPUT_CACHE")
            if cache and cached.is_relative_to(Path(cache).resolve()):
                os.replace(cached, f"{cached}.damaged")
            path.unlink()
        else:
            os.replace(path, f"{path}.damaged")
        moved.append(path)
    return moved
