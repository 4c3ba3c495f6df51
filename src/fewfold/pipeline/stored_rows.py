"""Rows of an open stage file that are read when asked for, instead of all at once."""

from __future__ import annotations

import h5py
import numpy as np
import xxhash

# Bytes of an array that are in memory while it is compared with its digest.
_AT_ONCE = 1 << 25


class StoredRows:
    """A dense array in an open stage file; slicing it reads those rows.

    Valid while the file is open. `fewfold.pipeline.artifacts.Artifact.stored` compares the array
    with its digest and its schema beforehand, block by block.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    """

    def __init__(self, item: h5py.Dataset):
        self._item = item
        self.shape, self.dtype = item.shape, item.dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Read consecutive rows."""
        return self._item[rows]


class ChosenRows:
    """Some rows of a matrix, numbered from 0; slicing reads no more than the stretch they lie in.

    Parameters
    ----------
    rows : array or StoredRows
    chosen : bool array of shape (n,)
    """

    def __init__(self, rows, chosen: np.ndarray):
        self._rows, self._numbers = rows, np.flatnonzero(chosen)
        self.shape = (len(self._numbers), *rows.shape[1:])

    def __len__(self) -> int:
        """Return the number of chosen rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Read consecutive chosen rows."""
        numbers = self._numbers[rows]
        if not len(numbers):
            return self._rows[:0]
        first = int(numbers[0])
        return self._rows[first : int(numbers[-1]) + 1][numbers - first]


def chosen_rows(X, chosen: np.ndarray):
    """Return some rows of a matrix: all of them as they are, of rows in a file a view."""
    if chosen.all():
        return X
    return ChosenRows(X, chosen) if isinstance(X, StoredRows) else X[chosen]


def pieces(item: h5py.Dataset):
    """Yield an array in pieces of consecutive rows: its stored blocks, or some 32 MB at a time."""
    if "block_rows" in item.attrs:
        step = int(item.attrs["block_rows"])
    else:
        step = max(1, _AT_ONCE // max(1, item.dtype.itemsize * int(np.prod(item.shape[1:]))))
    for start in range(0, item.shape[0], max(step, 1)):
        yield np.ascontiguousarray(item[start : start + step])


def is_intact(item: h5py.Dataset, look=None) -> bool:
    """Compare an array with its digests, one piece of it in memory at a time.

    Parameters
    ----------
    item : h5py.Dataset
    look : callable, optional
        Called with each piece.
    """
    from fewfold.pipeline.artifact_writer import digest_of

    digests, whole = item.attrs.get("block_digests"), xxhash.xxh3_64()
    for number, piece in enumerate(pieces(item)):
        if look is not None:
            look(piece)
        if digests is None:
            whole.update(memoryview(piece).cast("B") if piece.size else b"")
        elif number >= len(digests) or digest_of(piece) != digests[number]:
            return False
    if digests is not None:
        return True
    return np.uint64(whole.intdigest()) == item.attrs.get("digest")
