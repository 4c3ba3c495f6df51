"""Stage files: the one way to write and read what passes between stages.

A stage file is HDF5 with arrays, and attributes that say what it is: stage, format version,
settings, seed, software versions, the digests of the inputs it was made from, and a digest
of each array. It is written into a temporary file beside its place, flushed, fsynced and
renamed, so a reader finds a whole file or none. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import h5py
import numpy as np
import xxhash

from fewfold import __version__
from fewfold.exceptions import ArtifactError
from fewfold.pipeline import layout
from fewfold.pipeline.artifact_writer import (
    PLAIN_KINDS,
    Writer,
    attributes_of,
    content_of,
    digest_of,
    put_text,
    seal_of,
)
from fewfold.pipeline.stage_schemas import SCHEMAS
from fewfold.pipeline.stored_rows import StoredRows, is_intact

FORMAT_VERSION = 1
_SPARSE_PARTS = ("data", "indices", "indptr", "shape")
# What h5py, numpy and json raise on bytes that make no sense.
_DAMAGE = (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError, MemoryError)


@contextmanager
def writing(path, stage: str, *, settings=None, seed=None, inputs=()):
    """Write a stage file; it appears under its name only when complete.

    Parameters
    ----------
    path : path-like
    stage : str
        The rule that makes the file.
    settings : dict, optional
    seed : int, optional
    inputs : iterable of path-like
        The files it was made from; their digests are recorded.

    Yields
    ------
    Writer

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> path = tempfile.mkdtemp() + "/x.h5"
    >>> with writing(path, "demo", settings={"k": 3}) as out:
    ...     out.add("X", np.eye(2))
    >>> read(path, "demo")["X"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    with atomic_path(path) as part:
        # libver v110+: HDF5's own metadata carry checksums, so damage there is noticed too.
        with h5py.File(part, "w", libver=("v110", "latest")) as file:
            yield Writer(file)
            file.attrs["format_version"] = FORMAT_VERSION
            file.attrs["seed"] = -1 if seed is None else seed
            put_text(file, "fewfold_stage", stage)
            put_text(file, "settings", json.dumps(settings or {}, sort_keys=True))
            put_text(file, "versions", json.dumps(_versions()))
            digests = {Path(p).name: content_digest(p) for p in inputs}
            put_text(file, "inputs", json.dumps(digests))
            put_text(file, "content", content_of(file))
            put_text(file, "seal", seal_of(attributes_of(file)))


def _versions():
    # Only what the running process has loaded: importing more would slow every job.
    names = ("numpy", "scipy", "sklearn", "faiss", "ortools", "numba", "h5py")
    loaded = {n: getattr(sys.modules.get(n), "__version__", None) for n in names}
    return {"fewfold": __version__, **{n: v for n, v in loaded.items() if v}}


def content_digest(path) -> str:
    """Return the recorded digest of a stage file, or the digest of any other file's bytes."""
    try:
        with h5py.File(path, "r") as file:
            attrs = attributes_of(file)
            if "content" in attrs:
                return attrs["content"]
    except _DAMAGE:
        pass
    with open(path, "rb") as raw:
        return hashlib.file_digest(raw, xxhash.xxh3_64).hexdigest()


def maker(stage: str) -> str:
    """Return the words for what makes files of a stage: a rule, or a command such as fewfold label.

    Examples
    --------
    >>> maker("build_graph"), maker("fewfold label")
    ('rule build_graph', "the command 'fewfold label'")
    """
    rule = layout.WRITTEN_BY.get(stage, (stage,))[0]
    return f"the command {stage!r}" if " " in stage else f"rule {rule}"


class Artifact:
    """A stage file opened for reading; arrays are read, and checked, when asked for."""

    def __init__(self, path, stage: str, remedy: str | None = None, schema=None):
        self.path = Path(path)
        self.stage = stage
        self._schema = schema or SCHEMAS.get(stage)
        self._sizes: dict = {}
        self._remedy = remedy or f"Move it away and run again: {maker(stage)} makes it again."
        self._file = self._open()
        self._attrs = attributes_of(self._file)
        if self._schema is not None:
            try:
                self._sizes = self._schema.open(self)
            except BaseException:
                self._file.close()
                raise

    def fail(self, what: str):
        """Raise an error that says what is wrong with the file and what to do."""
        error = ArtifactError(f"{self.path} {what}. {self._remedy}")
        error.damaged = self.path
        raise error

    def _open(self):
        if not self.path.exists():
            raise ArtifactError(f"{self.path} is missing. Run again: {maker(self.stage)} makes it.")
        try:
            file = h5py.File(self.path, "r")
        except OSError as error:
            reason = str(error).split("(")[-1].strip(")'\"")
            self.fail(f"is not a whole HDF5 file ({reason})")
        try:
            self._check_identity(file)
        except BaseException:
            file.close()
            raise
        return file

    def _check_identity(self, file):
        try:
            if "fewfold_stage" not in file.attrs:
                self.fail("is an HDF5 file, but not one written by fewfold")
            attrs = attributes_of(file)
            sealed = seal_of(attrs)
        except ArtifactError:
            raise
        except _DAMAGE as error:
            self.fail(f"is damaged: its attributes are not what was written ({error})")
        found, version = attrs.get("fewfold_stage"), attrs.get("format_version")
        if found != self.stage:
            self.fail(f"is a file of stage {found!r}, expected was {self.stage!r}")
        if version != FORMAT_VERSION:
            self.fail(f"has format version {version}, this fewfold reads {FORMAT_VERSION}")
        if attrs.get("seal") != sealed:
            self.fail("is damaged: its attributes are not what was written")

    @contextmanager
    def _reading(self, name):
        """Turn whatever a damaged file makes HDF5 or numpy raise into one clear error."""
        try:
            yield
        except ArtifactError:
            raise
        except _DAMAGE as error:
            self.fail(f"cannot be read at {name!r} ({error})")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Close the file."""
        self._file.close()

    def __contains__(self, name):
        with self._reading(name):
            return name in self._file

    def names(self) -> list[str]:
        """Return the names of the stored arrays."""
        with self._reading("/"):
            return sorted(self._file)

    def __getitem__(self, name):
        with self._reading(name):
            item = self._item(self._file, name)
            if isinstance(item, h5py.Group):
                value = self._sparse(item, name)
            elif "count" in item.attrs:
                value = self._texts(item, name)
            else:
                value = self._dense(item, name)
            return self._fitting(name, value)

    def mapped(self, name) -> np.ndarray:
        """Return an array as a private map of the file: its pages are read when looked at.

        It is compared with its digest and the schema as any other, piece by piece, which leaves
        nothing in the job's own memory. Valid while the file is not changed, which stages never do.
        A sparse matrix is read.
        """
        with self._reading(name):
            item = self._item(self._file, name)
            is_sparse = isinstance(item, h5py.Group)
            offset = None if is_sparse or not item.size else item.id.get_offset()
            if offset is None or offset % item.dtype.itemsize:
                return self[name]
            self._check_pieces(item, name)
            # "c" rather than "r": compiled loops have one form, for arrays that can be written.
            return np.asarray(np.memmap(self.path, item.dtype, "c", offset, item.shape))

    def stored(self, name):
        """Return a dense array as rows that are read when sliced, while the file is open.

        It was compared with its digest and the schema, piece by piece. A sparse matrix is read.
        """
        with self._reading(name):
            item = self._item(self._file, name)
            if isinstance(item, h5py.Group):
                return self[name]
            self._check_pieces(item, name)
            return StoredRows(item)

    def _check_pieces(self, item, name):
        faults = []
        intact = is_intact(item, lambda piece: faults.append(self._fault(name, piece)))
        if not intact:
            self.fail(f"is damaged: the array {name!r} is not what was written")
        for fault in filter(None, faults):
            self.fail(f"does not fit: {name} {fault}")

    def _texts(self, item, name):
        text, count = self._dense(item, name).tobytes().decode(), int(item.attrs["count"])
        found = text.split("\0") if count else []
        if len(found) != count:
            self.fail(f"announces {count} texts for {name!r} but holds {len(found)}")
        return found

    def _fault(self, name, value) -> str | None:
        """Return what is wrong with the values of an array by the stage's schema."""
        declared = None if self._schema is None else self._schema.array(name)
        if declared is None:
            return None
        # Arrays that a pattern declares were not seen when the file was opened.
        known = name in self._schema.arrays
        return (declared.values if known else declared)(value, self._sizes if known else {})

    def _fitting(self, name, value):
        """Compare the values of an array with the stage's schema."""
        fault = self._fault(name, value)
        if fault is not None:
            self.fail(f"does not fit: {name} {fault}")
        return value

    def header(self, name) -> tuple[tuple, str, bool]:
        """Return an array's shape, kind of type ("T": texts) and whether it is sparse, unread."""
        with self._reading(name):
            item = self._item(self._file, name)
            if isinstance(item, h5py.Group):
                shape = self._dense(self._item(item, "shape"), f"{name}/shape")
                if shape.dtype.kind not in "iu" or shape.shape != (2,):
                    self.fail(f"has a sparse array {name!r} without a right shape")
                return tuple(shape.tolist()), self._item(item, "data").dtype.kind, True
            if "count" in item.attrs:
                return (int(item.attrs["count"]),), "T", False
            return item.shape, item.dtype.kind, False

    def check_rows(self, name: str, rows: np.ndarray, n_rows: int) -> None:
        """Refuse row numbers beyond those of the dataset that the file belongs to."""
        if rows.size and rows.max() >= n_rows:
            self.fail(f"names row {rows.max()} in {name!r}, where the dataset has {n_rows} rows")

    def get(self, name, default=None):
        """Return an array, or the default if the file has none of that name."""
        return self[name] if name in self else default

    def _item(self, where, name):
        item = where
        for step in name.split("/"):  # a link anywhere on the way could lead out of the file
            link = item.get(step, getlink=True) if isinstance(item, h5py.Group) else None
            if link is None:
                self.fail(f"has no array {name!r} in {where.name!r}")
            if not isinstance(link, h5py.HardLink):
                self.fail(f"has a link to elsewhere in place of the array {name!r}")
            item = item[step]
        if isinstance(item, h5py.Dataset):
            self._check_dataset(item, name)
        return item

    def _dataset(self, name):
        item = self._item(self._file, name)
        if not isinstance(item, h5py.Dataset):
            self.fail(f"has a sparse array or a group in place of the array {name!r}")
        return item

    def _check_dataset(self, item, name):
        if item.external or (item.is_virtual and self.stage != "join_kernel"):
            self.fail(f"keeps the array {name!r} outside of the file")
        if item.dtype.kind not in PLAIN_KINDS or item.size is None:
            self.fail(f"has an array {name!r} of type {item.dtype}; expected: numbers")
        # A damaged or hostile header may announce any shape: never allocate more than is there.
        stored = item.id.get_storage_size()
        if not item.is_virtual and math.prod(map(int, item.shape)) * item.dtype.itemsize > stored:
            self.fail(f"announces {item.shape} {item.dtype} for {name!r} but holds {stored} bytes")

    def _dense(self, item, name):
        value = item[()]
        if "block_digests" in item.attrs:
            self._check_blocks(item, name, value, 0)
        elif "digest" not in item.attrs or digest_of(value) != item.attrs["digest"]:
            self.fail(f"is damaged: the array {name!r} is not what was written")
        return value

    def _check_blocks(self, item, name, value, first_block):
        step = int(item.attrs["block_rows"])
        digests = item.attrs["block_digests"]
        for number, start in enumerate(range(0, len(value), step)):
            block = np.ascontiguousarray(value[start : start + step])
            if digest_of(block) != digests[first_block + number]:
                self.fail(f"is damaged: the array {name!r} is not what was written")

    def _sparse(self, group, name):
        parts = {p: self._dense(self._item(group, p), f"{name}/{p}") for p in _SPARSE_PARTS}
        from scipy import sparse  # a tenth of a second that most stages do not need

        matrix = sparse.csr_array(
            (parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"])
        )
        matrix.check_format(full_check=True)
        if not matrix.has_canonical_format:
            self.fail(f"has a sparse array {name!r} with entries out of order or given twice")
        return matrix

    def rows(self, name, indices) -> np.ndarray:
        """Read some rows of an array stored by blocks, checking the blocks that hold them."""
        indices = np.asarray(indices, dtype=np.int64)
        with self._reading(name):
            item = self._dataset(name)
            n_rows, step = item.shape[0], int(item.attrs["block_rows"])
            if step < 1:
                self.fail(f"announces blocks of {step} rows for {name!r}")
        if len(indices) and not 0 <= indices.min() <= indices.max() < n_rows:
            raise IndexError(f"{name} has {n_rows} rows; asked for row {indices.max()}.")
        with self._reading(name):
            return self._fitting(name, self._read_rows(item, name, indices, step))

    def _read_rows(self, item, name, indices, step):
        out = np.empty((len(indices), *item.shape[1:]), item.dtype)
        for block in np.unique(indices // step):
            start = int(block) * step
            value = item[start : start + step]
            self._check_blocks(item, name, value, int(block))
            here = np.flatnonzero(indices // step == block)
            out[here] = value[indices[here] - start]
        return out

    def check(self) -> None:
        """Compare all that the file holds with its digests, large arrays block by block."""
        for name in self.names():
            with self._reading(name):
                self._check_item(name)
        with self._reading("content"):
            if content_of(self._file) != self.content:
                self.fail("is damaged: it does not hold all that was written")

    def _check_item(self, name):
        item = self._item(self._file, name)
        if isinstance(item, h5py.Group) and not {"data", "indptr"} <= set(item):  # not sparse
            for below in item:
                self._check_item(f"{name}/{below}")
        elif isinstance(item, h5py.Group) or "block_digests" not in item.attrs:
            # A virtual array shows tiles, which are files with digests of their own.
            if isinstance(item, h5py.Group) or not item.is_virtual:
                self[name]
        else:
            self._check_pieces(item, name)

    def shape(self, name) -> tuple:
        """Return an array's shape without reading it."""
        with self._reading(name):
            return self._dataset(name).shape

    def note(self, key, default=None):
        """Return a plain value stored by `Writer.note`."""
        found = self._attrs.get(f"note:{key}")
        return default if found is None else self._json(found, key)

    def _json(self, text, name):
        with self._reading(name):  # damage: not JSON, too deep, or numbers of 5000 digits
            return json.loads(text)

    @property
    def settings(self) -> dict:
        """The settings the file was made with."""
        found = self._json(self._attrs["settings"], "settings")
        if not isinstance(found, dict):
            self.fail("has settings that are not named values")
        return found

    @property
    def content(self) -> str:
        """The digest of the file's contents."""
        return str(self._attrs["content"])


def read(path, stage: str, remedy: str | None = None, schema=None) -> Artifact:
    """Open a stage file, checking that it is whole, of this stage and format, and fits its schema.

    Parameters
    ----------
    path : path-like
    stage : str
    remedy : str, optional
        Ends each message of damage; by default that the file's rule makes it again.
    schema : fewfold.system.file_schema.StageSchema, optional
        Of the contents; by default the stage's.

    Returns
    -------
    Artifact
    """
    return Artifact(path, stage, remedy, schema)


@contextmanager
def atomic_path(path):
    """Yield a temporary path beside ``path`` that is renamed into place on success."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        with open(part, "rb+") as raw:
            os.fsync(raw.fileno())
        os.replace(part, path)
    except ArtifactError:
        raise
    except OSError as error:
        raise ArtifactError(
            f"Could not write {path}: {_in_short(error)}. Nothing was left half-written. "
            "Check free space and permissions of the folder, then run again."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _in_short(error: OSError) -> str:
    """The system's message of an error, extracted from that of HDF5."""
    text = " ".join(str(error.strerror or error).split())
    found = re.search(r"error message = '([^']+)'", text)
    return found[1] if found else text
