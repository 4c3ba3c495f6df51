"""The one way from a user's file to features and labels, for `fewfold label`, runs and Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fewfold.datasets import arrays, frames
from fewfold.datasets.raw_text import COMPRESSED, inner_suffix
from fewfold.datasets.record_files import JSON_SUFFIXES
from fewfold.datasets.table.messages import Place
from fewfold.datasets.table.options import FileContent, FileShape, Request
from fewfold.exceptions import InputError


@dataclass(frozen=True)
class FileKind:
    """A kind of file: its suffixes, and the functions that read and that measure it.

    ``readers`` returns both functions; what they import is loaded when a file is read.
    """

    name: str
    suffixes: tuple[str, ...]
    readers: Callable[[], tuple[Callable, Callable]]


def _table_readers():
    from fewfold.datasets.table.table_files import read_table_file, scan_table_file

    return read_table_file, scan_table_file


def _array_readers():
    from fewfold.datasets.table.array_files import read_array_file, scan_array_file

    return read_array_file, scan_array_file


def _cell_readers():
    from fewfold.datasets.table.cell_files import read_cell_file, scan_cell_file

    return read_cell_file, scan_cell_file


KINDS = (
    FileKind("table", frames.TABLE_SUFFIXES, _table_readers),
    FileKind("arrays", arrays.ARRAY_SUFFIXES, _array_readers),
    FileKind("cells", (".h5ad",), _cell_readers),
)

_COMPRESSIBLE = (*frames.TEXT_SUFFIXES, *JSON_SUFFIXES)


def kind_of(file: Path) -> FileKind:
    """Return the kind of a file by its suffix, or refuse it."""
    suffix = file.suffix.lower()
    if suffix in COMPRESSED and inner_suffix(file) not in _COMPRESSIBLE:
        raise InputError(
            f"{file}: of compressed files only text is read ({', '.join(_COMPRESSIBLE)} before "
            f"{suffix}). Decompress it first, or name it as what it is, such as my.csv{suffix}."
        )
    for kind in KINDS:
        if suffix in kind.suffixes:
            return kind
    known = ", ".join(s for kind in KINDS for s in kind.suffixes)
    raise InputError(
        f"{file}: files ending in {suffix or 'nothing'!r} are not read; allowed: {known}. "
        "Convert it, for example to CSV."
    )


def read_file(path: str | Path, request: Request) -> FileContent:
    """Read a user's file.

    Parameters
    ----------
    path : str or Path
    request : Request

    Returns
    -------
    FileContent

    Raises
    ------
    InputError
        If the file cannot be used: what is wrong, where, and what to do.
    """
    file, (read, _) = _readers_of(path)
    content = read(file, request)
    return _with_image_shape(content, file, request)


def scan_file(path: str | Path, request: Request) -> FileShape:
    """Return the shape of a file's features, and its labels, at as little cost as can be."""
    file, (_, scan) = _readers_of(path)
    return scan(file, request)


def _readers_of(path):
    """The file, or the folder of images, and its two readers."""
    if Path(path).expanduser().is_dir():
        from fewfold.datasets.table.image_folders import read_image_folder, scan_image_folder

        return Path(path).expanduser(), (read_image_folder, scan_image_folder)
    file = frames.existing_file(path)
    return file, kind_of(file).readers()


def _with_image_shape(content, file, request):
    options, shape = request.options, content.image_shape
    if options.image_shape is not None:
        shape = tuple(int(s) for s in options.image_shape)
        pixels = int(np.prod(shape))
        if pixels != content.X.shape[1]:
            option = Place(command=request.command).option("image_shape", shape)
            raise InputError(
                f"{file}: {option} needs {pixels} pixel columns, found {content.X.shape[1]} "
                "features. Correct it, or leave it out."
            )
        return replace(content, image_shape=shape)
    if shape is not None and content.plan is None:
        return content
    if shape is None and options.images and content.plan is None:
        shape = _guessed(content.X)
    if shape is None:
        return content
    sentence = (
        f"The {content.X.shape[1]} numbers of a row look like an image of {shape[0]} x {shape[1]} "
        "pixels and are treated as one (--no-images if they are not)."
    )
    return replace(content, image_shape=shape, sentences=[*content.sentences, sentence])


def _guessed(X):
    if hasattr(X, "tocsr"):
        return None
    from fewfold.datasets.table.images import guess_image_shape

    return guess_image_shape(X)
