"""Unpack in memory, within bounds, and trust nothing an archive says about itself."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from fewfold.exceptions import DownloadError

CHUNK = 1 << 20
# Posts and their names are small; a member beyond this is not one of ours.
MEMBER_LIMIT = 64 << 20


def gunzip(path: Path, limit: int) -> bytes:
    """Unpack a gzip file that must not hold more than ``limit`` bytes."""
    parts, total = [], 0
    try:
        with gzip.open(path, "rb") as stream:
            while chunk := stream.read(CHUNK):
                total += len(chunk)
                if total > limit:
                    raise DownloadError(
                        f"{path} unpacks to more than the {limit} bytes it should hold. "
                        "The file is not what it claims to be: remove it and fetch it again."
                    )
                parts.append(chunk)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DownloadError(
            f"{path} is not a whole gzip file ({error}). Remove it and fetch it again."
        ) from error
    return b"".join(parts)


def check_member(path: Path, member: tarfile.TarInfo) -> None:
    """Refuse members that could reach outside a folder, or that are not plain files."""
    name = PurePosixPath(member.name.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or (name.parts and ":" in name.parts[0]):
        fault = "a name that leads outside the archive's own folder"
    elif not (member.isfile() or member.isdir()):
        fault = "a link or device where only plain files are allowed"
    elif member.size > MEMBER_LIMIT:
        fault = f"{member.size} bytes, more than the {MEMBER_LIMIT} allowed"
    else:
        return
    raise DownloadError(
        f"{path}: member {member.name!r} has {fault}. The archive is not the published one: "
        "remove it and fetch it from the registry's source."
    )


def tar_members(path: Path, limit: int, names_only: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of each plain file of a tar archive; nothing is written to disk.

    Parameters
    ----------
    path : Path
        A tar archive, packed with gzip or not.
    limit : int
        Most bytes that all members together may hold.
    names_only : bool, default=False
        Yield empty bytes instead of the contents.
    """
    total = 0
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                check_member(path, member)
                if not member.isfile():
                    continue
                total += member.size
                if total > limit:
                    raise DownloadError(
                        f"{path} holds more than the {limit} bytes it should. "
                        "Remove it and fetch it again."
                    )
                data = b"" if names_only else archive.extractfile(member).read()
                yield member.name, data
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DownloadError(
            f"{path} is not a whole tar archive ({error}). Remove it and fetch it again."
        ) from error


def zip_member(path: Path, member: str, limit: int) -> bytes:
    """Read one named member of a zip archive that must not exceed ``limit`` bytes."""
    try:
        with zipfile.ZipFile(path) as archive:
            with archive.open(member) as stream:
                data = stream.read(limit + 1)
    except KeyError as error:
        raise DownloadError(f"{path} has no member {member!r}.") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DownloadError(f"{path} is not a whole zip archive ({error}).") from error
    if len(data) > limit:
        raise DownloadError(f"{path}: member {member!r} exceeds the {limit} bytes it should hold.")
    return data


def contents_digest(path: Path, kind: str, content_size: int) -> str:
    """Digest what a file holds, whatever the packing (kinds as in registry.yaml)."""
    if kind == "bytes":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if kind == "gzip":
        return hashlib.sha256(gunzip(path, content_size)).hexdigest()
    if kind == "lines":
        # Half as much again, since line ends may differ.
        return lines_digest(gunzip(path, content_size + content_size // 2))
    if kind == "tree":
        return tree_digest(tar_members(path, content_size + content_size // 2))
    raise DownloadError(f"content kind {kind!r}; allowed: bytes, gzip, lines, tree.")


def lines_digest(text: bytes) -> str:
    """Digest a text's lines, sorted, so that their order and line ends do not count."""
    lines = sorted(line.strip() for line in text.splitlines() if line.strip())
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def tree_digest(members: Iterator[tuple[str, bytes]]) -> str:
    """Digest the members of an archive: sorted names below the top folder, bytes without CR."""
    lines = [
        f"{below_top(name)} {hashlib.sha256(data.replace(bytes([13]), b'')).hexdigest()}"
        for name, data in members
    ]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def below_top(name: str) -> str:
    """Drop an archive's top folder (and a leading './') from a member's name."""
    parts = [p for p in PurePosixPath(name).parts if p != "."]
    return "/".join(parts[1:]) if len(parts) > 1 else name
