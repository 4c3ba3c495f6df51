"""The bytes of a text table: decompressed, and how their letters are stored."""

from __future__ import annotations

import bz2
import gzip
import mmap
from functools import lru_cache
from pathlib import Path

from fewfold.datasets.damage import sound
from fewfold.exceptions import InputError
from fewfold.system.memory import require

COMPRESSED = (".gz", ".bz2", ".zst")
_PIECE = 1 << 24


def inner_suffix(file: Path) -> str:
    """Return the suffix that says what a file holds: that of ``my.csv.gz`` is ``.csv``."""
    suffix = file.suffix.lower()
    return Path(file.stem).suffix.lower() if suffix in COMPRESSED else suffix


def raw_bytes(file: Path) -> memoryview:
    """Return the bytes of a file, decompressed; plain files are mapped, not read."""
    if file.suffix.lower() in COMPRESSED:
        about = file.stat()
        return memoryview(_decompressed(file, about.st_mtime_ns, about.st_size))
    with open(file, "rb") as stream:
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def forget(data: memoryview) -> None:
    """Release the pages of a mapped file that were read: they count as memory of this process."""
    if isinstance(data.obj, mmap.mmap) and hasattr(data.obj, "madvise"):
        data.obj.madvise(mmap.MADV_DONTNEED)


@lru_cache(maxsize=1)
def _decompressed(file: Path, changed: int, size: int) -> bytes:
    """Decompress piece by piece: a few bytes may stand for gigabytes."""
    pieces, total = [], 0
    with sound(file, f"a whole {file.suffix} file"), _opened(file) as stream:
        while piece := stream.read(_PIECE):
            pieces.append(bytes(piece))
            total += len(piece)
            # Joining them takes the same again.
            require(total + _PIECE, file, f"{total / 1e6:.0f} MB of decompressed text and more")
    if not total:
        raise InputError(f"{file}: the compressed file is empty. Give a header and data rows.")
    return b"".join(pieces)


def _opened(file):
    suffix = file.suffix.lower()
    if suffix == ".gz":
        return gzip.open(file)
    if suffix == ".bz2":
        return bz2.open(file)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(str(file)), "zstd")


def guess_encoding(data: memoryview) -> str:
    """Return how the letters of a text are stored: UTF-8, UTF-16, else Windows' Western letters.

    Examples
    --------
    >>> guess_encoding(memoryview("größe".encode())), guess_encoding(memoryview(b"gr\\xf6\\xdfe"))
    ('utf-8', 'cp1252')
    """
    head = data[: 1 << 16].tobytes()
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    zeros = [head[start::2].count(0) / max(len(head) // 2, 1) for start in (0, 1)]
    if max(zeros) > 0.4 and min(zeros) < 0.1:
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for s in range(0, len(data), _PIECE):
            decoder.decode(data[s : s + _PIECE].tobytes(), final=s + _PIECE >= len(data))
            forget(data)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    # Five bytes mean nothing in cp1252; latin-1 gives every byte a letter.
    undefined = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
    return "latin-1" if any(bytes([b]) in head for b in undefined) else "cp1252"
