"""Digests of the user's own files: a file is an input by its content, not by its date."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import xxhash

from fewfold.exceptions import ArtifactError, InputError
from fewfold.pipeline.artifacts import atomic_path

MEMORY = ".snakemake/fewfold-digests.json"
SMALL = 1 << 20  # bytes; a smaller file is read each time
SETTLED_NS = 2 * 10**9  # a file changed within the last two seconds may change again unseen


def file_digest(path, memory=MEMORY) -> str:
    """Return the digest (xxh3, 128 bits) of a file's bytes; of a folder, of its files and names.

    A large file is read again only if its size, its times or its place on the disk changed. The
    time of the last change of its *entry* (ctime) is among them, which no program can set: a file
    with other content and the old date is noticed.

    Parameters
    ----------
    path : path-like
    memory : path-like
        JSON file that keeps the digests of large files.

    Raises
    ------
    InputError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_text("a,b")
    >>> len(file_digest(path)), file_digest(path) == file_digest(path)
    (32, True)
    """
    if os.path.isdir(path):
        hasher = xxhash.xxh3_128()
        for file in sorted(p for p in Path(path).rglob("*") if p.is_file()):
            hasher.update(f"{file.relative_to(path).as_posix()}\0".encode(errors="replace"))
            hasher.update(file_digest(file, memory).encode())
        return hasher.hexdigest()
    try:
        found = os.stat(path)
        if found.st_size < SMALL:
            return _read(path)
        signature = [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
        known = _remembered(memory)
        place = os.path.abspath(path)
        if known.get(place, [None])[:-1] == signature:
            return known[place][-1]
        digest = _read(path)
        settled = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > SETTLED_NS
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    if settled:
        _remember(memory, {**known, place: [*signature, digest]})
    return digest


def _read(path):
    with open(path, "rb") as raw:
        return hashlib.file_digest(raw, xxhash.xxh3_128).hexdigest()


def _remembered(memory):
    try:
        found = json.loads(Path(memory).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(memory, known):
    try:
        with atomic_path(memory) as part:
            part.write_text(json.dumps(known), encoding="utf-8")
    except ArtifactError:
        pass  # the digest is computed again next time


def check_unchanged(digests: dict) -> None:
    """Raise if files are no longer what they were when the run was planned.

    Parameters
    ----------
    digests : dict
        Path to digest.

    Raises
    ------
    InputError
        Naming the file.
    """
    for path, expected in digests.items():
        if file_digest(path) != expected:
            raise InputError(
                f"{path} was changed while the run was reading it. Run again to use the new file."
            )
