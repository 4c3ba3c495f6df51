"""The user's array files (NPY, NPZ, HDF5, MatrixMarket), checked before memory is taken."""

from __future__ import annotations

import contextlib
import zipfile
from pathlib import Path

import numpy as np

from fewfold.datasets.damage import sound
from fewfold.datasets.frames import existing_file
from fewfold.datasets.registry import nearest
from fewfold.exceptions import InputError
from fewfold.system.memory import require, require_rows

NUMPY_SUFFIXES = (".npy", ".npz")
HDF5_SUFFIXES = (".h5", ".hdf5", ".hdf")
ARRAY_SUFFIXES = (*NUMPY_SUFFIXES, *HDF5_SUFFIXES, ".mtx")
_TEXT_BLOCK = 1 << 28  # bytes that a block of texts of any length may take


def refuse_size(where: str, shape, itemsize: int, held: int | None) -> None:
    """Refuse an array larger than the file that should hold it, or than free memory.

    Parameters
    ----------
    where : str
        File (and member) for the message.
    shape : tuple of int
        As announced by the header.
    itemsize : int
        Bytes per element.
    held : int or None
        Bytes that the file has for it; None where compression hides that.
    """
    size = itemsize
    for length in shape:
        size *= int(length)
    text = " x ".join(str(int(s)) for s in shape)
    if held is not None and size > held:
        raise InputError(
            f"{where}: the header announces {text} values ({size} bytes), the file holds {held}. "
            "It is cut short or damaged: write it again."
        )
    require(size, where, f"the {text} values that the header announces")


def check_dtype(where: str, dtype: np.dtype, text: bool = False) -> None:
    """Allow numbers (and text where labels are read); refuse objects and records."""
    if dtype.kind in ("biufSU" if text else "biuf"):
        return
    allowed = "numbers or text" if text else "whole or real numbers"
    hint = (
        "Objects would have to be unpickled, which could run foreign code: save numbers instead."
        if dtype.hasobject
        else "Save it as numbers."
    )
    raise InputError(f"{where}: holds values of type {dtype}; allowed: {allowed}. {hint}")


def _npy_header(stream, where: str):
    with sound(where, "a readable NumPy file", "Write it again with numpy.save."):
        version = np.lib.format.read_magic(stream)
        reader = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
        if version[0] not in reader:
            raise ValueError(f"format version {version}")
        shape, _, dtype = reader[version[0]](stream)
    # Python counts True as 1, numpy does not.
    if any(type(length) is not int or length < 0 for length in shape):
        raise InputError(
            f"{where}: the header announces the shape {shape}; allowed: whole numbers from 0. "
            "Write it again with numpy.save."
        )
    return shape, dtype


def read_npy(path: Path, text: bool = False, lazy: bool = False) -> np.ndarray:
    """Read one NPY file; ``lazy`` leaves the values on disk until they are used."""
    with open(path, "rb") as stream:
        shape, dtype = _npy_header(stream, str(path))
        check_dtype(str(path), dtype, text)
        refuse_size(str(path), shape, dtype.itemsize, path.stat().st_size - stream.tell())
    with sound(path, "a whole NumPy file", "Write it again with numpy.save."):
        return np.load(path, allow_pickle=False, mmap_mode="r" if lazy else None)


class NpzSource:
    """The arrays of an NPZ file by name, dense or SciPy sparse."""

    def __init__(self, path: Path):
        self.path = path
        with sound(path, "a whole NPZ file", "Write it again with numpy.savez."):
            with zipfile.ZipFile(path) as archive:
                self.members = {
                    i.filename.removesuffix(".npy"): i.file_size
                    for i in archive.infolist()
                    if i.filename.endswith(".npy")
                }
        self.sparse = {"format", "shape", "data"} <= set(self.members)

    def names(self) -> list[str]:
        """Names of the arrays; a SciPy sparse file is one array called X."""
        return ["X"] if self.sparse else list(self.members)

    def header(self, name: str) -> tuple[tuple, np.dtype]:
        """Shape and type of one array, after the checks of size."""
        where = f"{self.path}[{name}]"
        with sound(where, "a whole array"), zipfile.ZipFile(self.path) as archive:
            with archive.open(f"{name}.npy") as stream:
                shape, dtype = _npy_header(stream, where)
        refuse_size(where, shape, dtype.itemsize, self.members[name])
        return shape, dtype

    def shape(self, name: str) -> tuple:
        """Shape of one array, read from its header only."""
        return self._sparse_shape() if self.sparse else self.header(name)[0]

    def _sparse_shape(self) -> tuple[int, int]:
        where, shape = f"{self.path}[shape]", self._read("shape")
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
            raise InputError(
                f"{where}: found {shape.tolist()}; allowed: two whole numbers from 0. Write the "
                "file again with scipy.sparse.save_npz."
            )
        require_rows(str(self.path), shape, int(np.prod(self.header("data")[0])))
        return int(shape[0]), int(shape[1])

    def _read(self, name: str, text: bool = False) -> np.ndarray:
        check_dtype(f"{self.path}[{name}]", self.header(name)[1], text)
        with sound(f"{self.path}[{name}]", "a whole array"):
            with np.load(self.path, allow_pickle=False) as arrays:
                return arrays[name]

    def read(self, name: str, text: bool = False):
        """Read one array."""
        if not self.sparse:
            return self._read(name, text)
        for member in self.members:
            self.header(member)
        self._sparse_shape()
        return _load_sparse(self.path)


def _load_sparse(path: Path):
    from scipy import sparse

    with sound(path, "a sound sparse matrix", "Write it with scipy.sparse.save_npz."):
        X = sparse.csr_array(sparse.load_npz(path))
        X.check_format(full_check=True)
    check_dtype(str(path), X.dtype)
    return X


class Hdf5Source:
    """The datasets of an HDF5 file by name; nothing outside the file is followed."""

    def __init__(self, path: Path):
        self.path = path

    @contextlib.contextmanager
    def _open(self):
        import h5py

        with sound(self.path, "a whole HDF5 file"), h5py.File(self.path, "r") as file:
            yield file

    def names(self) -> list[str]:
        """Names of all datasets inside the file (links are not followed)."""
        import h5py

        found = []
        with self._open() as file:
            file.visititems(lambda n, o: found.append(n) if isinstance(o, h5py.Dataset) else None)
        return found

    def _dataset(self, file, name: str, text: bool):
        import h5py

        where = f"{self.path}[{name}]"
        node, parts = file, [p for p in name.split("/") if p]
        for part in parts:
            if not isinstance(node, h5py.Group) or part not in node.keys():
                raise unknown_array(self.path, name, self.names())
            link = node.get(part, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise InputError(
                    f"{where}: is a link to another file ({link.filename!r}). Links out of the "
                    "file are refused: copy the data into it."
                )
            node = node.get(part)
            if node is None:
                raise InputError(f"{where}: is a link that leads nowhere. Store the data itself.")
        if not isinstance(node, h5py.Dataset):
            raise InputError(f"{where}: is a group, not a dataset. Datasets: {self.names()}.")
        if node.external or node.is_virtual or node.file.filename != file.filename:
            raise InputError(
                f"{where}: keeps its values in other files. Those are not followed: copy the data "
                "into this file."
            )
        is_text = h5py.check_string_dtype(node.dtype) is not None
        if not (text and is_text):
            check_dtype(where, node.dtype, text)
        # Without a filter, what was never written would be made up from the fill value.
        plain = node.id.get_create_plist().get_nfilters() == 0
        itemsize = max(node.dtype.itemsize, 1)
        held = node.id.get_storage_size() if plain and not is_text else None
        _check_chunks(where, node)
        refuse_size(where, node.shape, itemsize, held)
        return node

    def shape(self, name: str) -> tuple:
        """Shape of one dataset, without reading it."""
        with self._open() as file:
            return self._dataset(file, name, text=True).shape

    def read(self, name: str, text: bool = False) -> np.ndarray:
        """Read one dataset."""
        import h5py

        with self._open() as file:
            node = self._dataset(file, name, text)
            if h5py.check_string_dtype(node.dtype) is not None:
                return _read_text(f"{self.path}[{name}]", node, self.path.stat().st_size)
            return node[...]


def check_h5ad(path: Path) -> None:
    """Look at every dataset of an h5ad file, which is read whole, before any is decoded.

    Refused are links (which could lead out of the file), values in other files, parts that were
    never written, and more than free memory holds.
    """
    import h5py

    source, total = Hdf5Source(path), 0
    with source._open() as file:

        def links(group, prefix=""):
            for key in group:
                link = group.get(key, getlink=True)
                if not isinstance(link, h5py.HardLink):
                    raise InputError(
                        f"{path}[{prefix}{key}]: is a link. Links are not followed: store the data "
                        "itself."
                    )
                yield f"{prefix}{key}", group[key]

        groups, seen = [(file, "")], set()
        while groups:
            group, prefix = groups.pop()
            for name, node in links(group, prefix):
                if node.id in seen:
                    continue
                seen.add(node.id)
                if isinstance(node, h5py.Group):
                    groups.append((node, f"{name}/"))
                elif node.shape is not None:
                    total += _decoded_size(source, file, name, node, path)
                    require(total, path, f"its arrays up to {name!r}")


def _decoded_size(source, file, name, node, path) -> int:
    import h5py

    if h5py.check_string_dtype(node.dtype) is None:
        node = source._dataset(file, name, text=True)
        return int(np.prod(node.shape, dtype=object)) * node.dtype.itemsize
    node = source._dataset(file, name, text=True)
    if not node.ndim:
        return 60
    return sum(len(t) + 60 for t in np.ravel(_read_text(f"{path}[{name}]", node,
                                                        path.stat().st_size)))  # fmt: skip


def _check_chunks(where: str, node) -> None:
    """Refuse chunks that were never written (made up when read), and one too large to unpack."""
    if node.chunks is None:
        return
    expected = 1
    for length, step in zip(node.shape, node.chunks):
        expected *= -(-length // step)
    if node.id.get_num_chunks() < expected:
        raise InputError(
            f"{where}: {node.id.get_num_chunks()} of its {expected} parts were written; the values "
            "of the others would be made up. Write the file again."
        )
    chunk = max(node.dtype.itemsize, 1)
    for step in node.chunks:
        chunk *= int(step)
    require(chunk, where, "its parts, which are unpacked whole,")


def _read_text(where: str, node, file_size: int) -> np.ndarray:
    """Read texts by blocks, counting their size: many rows may share one long stored text."""
    width = max(1, int(np.prod(node.shape[1:])))
    step = int(np.clip(_TEXT_BLOCK // max(file_size * width, 1), 1, 1 << 16))
    found, size = [], 0
    for start in range(0, node.shape[0] if node.ndim else 0, step):
        block = np.ravel(node.asstr()[start : start + step]).tolist()
        size += sum(map(len, block)) + 60 * len(block)
        require(size, where, f"the first {start + step} rows of texts")
        found += block
    out = np.empty(len(found), dtype=object)
    out[:] = found
    return out.reshape(node.shape) if node.ndim else out


def read_mtx(path: Path):
    """Read a MatrixMarket file as csr_array (or dense, where it is stored dense)."""
    from scipy import io, sparse

    shape, entries, kind = mtx_info(path)
    with sound(path, "a sound MatrixMarket file"):
        X = io.mmread(path, spmatrix=False)
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    check_dtype(str(path), X.dtype)
    return X


def mtx_info(path: Path) -> tuple[tuple[int, int], int, str]:
    """Read a MatrixMarket header: shape, number of entries, format; refuse absurd ones."""
    from scipy import io

    with sound(path, "a MatrixMarket file", "The first line must start with %%MatrixMarket."):
        rows, columns, entries, kind, field, symmetry = io.mminfo(path)
    if field == "complex":
        raise InputError(f"{path}: holds complex numbers; allowed: whole or real numbers.")
    # The shortest entry is "1 1\n" (pattern) in a sparse file, "0\n" in a dense one.
    least = 4 if kind == "coordinate" else 2
    share = 1 if symmetry == "general" else 3
    held = path.stat().st_size * share
    if entries * least > held:
        raise InputError(
            f"{path}: the header announces {rows} x {columns} with {entries} entries, but the file "
            f"holds {path.stat().st_size} bytes. It is cut short or damaged: write it again."
        )
    if kind == "coordinate":
        require_rows(str(path), (rows, columns), entries * (1 if symmetry == "general" else 2))
    else:
        refuse_size(str(path), (rows, columns), 8, None)
    return (rows, columns), entries, kind


def open_source(path: str | Path):
    """Open a file of named arrays (NPZ, HDF5)."""
    file = existing_file(path)
    return NpzSource(file) if file.suffix.lower() == ".npz" else Hdf5Source(file)


def unknown_array(path: Path, name: str, names: list[str]) -> InputError:
    """Build the error for an array that is not in the file."""
    guess = nearest(name, names)
    hint = f" Did you mean {guess!r}?" if guess else ""
    return InputError(f"{path}: no array {name!r}.{hint} Arrays: {', '.join(names) or 'none'}.")


def pick_array(path: Path, source, wanted: str | None) -> str:
    """Choose the array of features: the named one, X, or the only two-dimensional one."""
    names = source.names()
    if wanted is not None:
        if isinstance(source, NpzSource) and wanted not in names:
            raise unknown_array(path, wanted, names)
        return wanted
    if "X" in names:
        return "X"
    tables = [n for n in names if len(source.shape(n)) == 2]
    if len(tables) == 1:
        return tables[0]
    raise InputError(
        f"{path}: which array holds the features? Found {', '.join(names) or 'none'}. "
        "Name it with the option x."
    )
