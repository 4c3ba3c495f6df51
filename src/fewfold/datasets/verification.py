"""Whether a file holds what the registry says: by its own checksum, or by that of its contents."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fewfold.datasets.archives import contents_digest
from fewfold.datasets.registry import DataFile
from fewfold.exceptions import DownloadError


def file_sha256(path: Path) -> str:
    """Compute the sha256 of a file in bounded memory."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fault_of(path: Path, wanted: DataFile) -> str | None:
    """Say what is wrong with a file, or None when it holds what it should.

    The quick check is the sha256 of the file itself. Where that differs, the contents decide:
    another packing of the same data is as good.
    """
    try:
        found = file_sha256(path)
    except OSError as error:
        return f"cannot be read ({error})"
    if found == wanted.sha256:
        return None
    size = path.stat().st_size
    if wanted.kind == "bytes":
        return (
            f"expected {wanted.size} bytes with sha256 {wanted.sha256}, "
            f"received {size} bytes with sha256 {found}"
        )
    try:
        digest = contents_digest(path, wanted.kind, wanted.content_size)
    except (DownloadError, OSError, EOFError) as error:
        return (
            f"expected a packed file of {wanted.size} bytes, "
            f"received {size} bytes with sha256 {found}, which cannot be unpacked ({error})"
        )
    if digest == wanted.content_sha256:
        return None
    return (
        f"expected contents with sha256 {wanted.content_sha256}, received {digest} ({size} bytes)"
    )
