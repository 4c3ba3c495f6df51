"""What a stage file is made of: arrays with their digests, notes, and the seal over both."""

from __future__ import annotations

import itertools
import json
import sys

import h5py
import numpy as np
import xxhash

from fewfold.exceptions import InputError

PLAIN_KINDS = "biuf"  # bool, int, unsigned, float: nothing that could hide an object


def _is_sparse(value):
    """Whether scipy made it; if nobody has imported scipy, it did not (nor need it be here)."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(value)


class Writer:
    """An open stage file being written; get one from `writing`."""

    def __init__(self, file: h5py.File):
        self._file = file

    def add(self, name: str, value) -> None:
        """Store an array, a sparse matrix or a list of strings under a name."""
        if _is_sparse(value):
            from scipy import sparse

            value = sparse.csr_array(value)
            if not value.has_sorted_indices:
                value = value.sorted_indices()
            group = self._file.create_group(name)
            for part in ("data", "indices", "indptr"):
                self._dense(group, part, getattr(value, part))
            self._dense(group, "shape", np.asarray(value.shape, np.int64))
        elif isinstance(value, list) and all(isinstance(v, str) for v in value):
            if any("\0" in text for text in value):
                raise InputError(
                    f"{name}: a text with a NUL character cannot be stored. Remove it."
                )
            encoded = "\0".join(value).encode()
            data = np.frombuffer(encoded, np.uint8) if encoded else np.zeros(0, np.uint8)
            dataset = self._dense(self._file, name, data)
            dataset.attrs["count"] = len(value)
        else:
            self._dense(self._file, name, np.asarray(value))

    def _dense(self, where, name, value):
        if value.dtype.kind not in PLAIN_KINDS:
            raise TypeError(f"Array {name!r} has type {value.dtype}; store numbers or strings.")
        value = np.asarray(value, order="C")
        dataset = where.create_dataset(name, data=value)
        dataset.attrs["digest"] = digest_of(value)
        return dataset

    def add_blocks(self, name: str, shape: tuple, dtype, blocks) -> None:
        """Store a large array that arrives as consecutive row blocks.

        Only one block is in memory at a time; each has its own digest, so that reading a few
        rows checks only the blocks that hold them. All blocks but the last have equal length.
        """
        dataset = self._file.create_dataset(name, shape=shape, dtype=dtype)
        digests, block_rows, start = [], 0, 0
        for block in blocks:
            block = np.ascontiguousarray(block, dtype=dtype)
            if not digests:
                block_rows = len(block)
            elif start % block_rows or len(block) > block_rows:
                raise ValueError(f"{name}: only the last block may be shorter than {block_rows}.")
            if start + len(block) > shape[0]:
                raise ValueError(f"{name}: blocks hold more than the {shape[0]} rows announced.")
            dataset.write_direct(block, dest_sel=np.s_[start : start + len(block)])
            digests.append(digest_of(block))
            start += len(block)
        if start != shape[0]:
            raise ValueError(f"{name}: blocks hold {start} rows; announced: {shape[0]}.")
        dataset.attrs["block_rows"] = max(block_rows, 1)
        dataset.attrs["block_digests"] = np.asarray(digests, np.uint64)

    def add_rows(self, name: str, n_rows: int, blocks) -> None:
        """Store a matrix that arrives as consecutive blocks of rows; sparse blocks are joined."""
        blocks = iter(blocks)
        first = next(blocks)
        blocks = itertools.chain([first], blocks)
        if _is_sparse(first):
            from scipy import sparse

            self.add(name, sparse.vstack(list(blocks), format="csr"))
        else:
            self.add_blocks(name, (n_rows, *first.shape[1:]), first.dtype, blocks)

    def add_virtual(self, name: str, shape: tuple, dtype, parts: list[tuple[str, int]]) -> None:
        """Join row tiles in neighboring files as one virtual array, without a copy.

        ``parts`` lists (file relative to this one, rows), in order.
        """
        layout = h5py.VirtualLayout(shape=shape, dtype=dtype)
        start = 0
        for file, rows in parts:
            source = h5py.VirtualSource(file, name, shape=(rows, *shape[1:]), dtype=dtype)
            layout[start : start + rows] = source
            start += rows
        self._file.create_virtual_dataset(name, layout)

    def note(self, key: str, value) -> None:
        """Store a plain value (number, string, list, dict) as an attribute."""
        put_text(self._file, f"note:{key}", json.dumps(value, sort_keys=True))


def digest_of(array: np.ndarray) -> np.uint64:
    """Return the 64-bit digest (xxh3) of an array's bytes."""
    return np.uint64(xxhash.xxh3_64_intdigest(memoryview(array).cast("B") if array.size else b""))


def content_of(file):
    """Digest of everything the file says: the arrays' digests, and the settings."""
    hasher = xxhash.xxh3_64()

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found = item.attrs.get("digest", item.attrs.get("block_digests"))
            hasher.update(f"{name}:{item.shape}:{item.dtype}:".encode())
            hasher.update(b"" if found is None else np.asarray(found).tobytes())

    file.visititems(visit)
    attrs = attributes_of(file)
    for key in sorted(k for k in attrs if k.startswith("note:") or k == "inputs"):
        hasher.update(f"{key}={attrs[key]}".encode())
    return hasher.hexdigest()


def put_text(file, key, text):
    """Store text at a fixed length.

    HDF5 keeps text of variable length in a heap without checksums, in which one wrong bit can
    send it into an endless loop.
    """
    file.attrs[key] = np.bytes_(text.encode())


def attributes_of(file) -> dict:
    """Return a file's own attributes, text decoded; text of variable length is refused unread."""
    found = {}
    for key in file.attrs:
        if file.attrs.get_id(key).dtype.kind == "O":
            raise ValueError(f"attribute {key!r} is not as fewfold writes it")
        value = file.attrs[key]
        found[key] = value.decode() if isinstance(value, bytes) else value
    return found


def seal_of(attrs):
    """Digest of a file's own attributes: HDF5 does not guard them where there are many."""
    text = "".join(f"{k}={attrs[k]!s}\n" for k in sorted(attrs) if k != "seal")
    return xxhash.xxh3_64_hexdigest(text.encode())
