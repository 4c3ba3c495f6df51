"""The stage of transformed copies: made once, shared by the methods that learn from them."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.pipeline import artifacts
from fewfold.transforms.registry import get_transform, virtual_samples

STAGE = "make_copies"
# Copies made, written, and read at once: small, so that a draw reads little but its own rows.
_BLOCK_BYTES = 4 * 2**20


def rows_by_draw(order) -> np.ndarray:
    """Return every row that some draw labels, once, the rows of a draw side by side.

    Examples
    --------
    >>> rows_by_draw(np.array([[7, 3], [3, 5]])).tolist()
    [7, 3, 5]
    """
    rows, first = np.unique(order, return_index=True)
    return rows[np.argsort(first)]


def write_copies(path, X, image_shape, spec, rows, **provenance) -> None:
    """Transform some rows, batch by batch, and store their copies.

    Parameters
    ----------
    path : path-like
    X : array of shape (n, n_features)
        Pixels, or other rows.
    image_shape : sequence of int or None
    spec : str, dict or list
        As in `fewfold.transforms.get_transform`.
    rows : int array
        Row numbers, `rows_by_draw`.
    **provenance
        Passed to `fewfold.pipeline.artifacts.writing`.
    """
    transform = get_transform(spec)
    shape = (len(rows), transform.n_copies, X.shape[1])
    step = max(1, _BLOCK_BYTES // (4 * shape[1] * shape[2]))

    def batches():
        for first in range(0, len(rows), step):
            block = X[rows[first : first + step]]
            yield virtual_samples(block, image_shape, transform)

    with artifacts.writing(path, STAGE, **provenance) as out:
        out.add("rows", np.asarray(rows, np.int64))
        out.add_blocks("copies", shape, np.float32, batches())


class CopiesFile:
    """The copies of some rows, read as they are needed.

    Attributes
    ----------
    rows : int ndarray
        The rows that have copies.
    """

    def __init__(self, path):
        self._file = artifacts.read(path, STAGE)
        self.rows = self._file["rows"]
        self._sorter = np.argsort(self.rows)

    def of(self, wanted) -> np.ndarray:
        """Return the copies of some rows, (len(wanted), n_copies, n_features) float32."""
        wanted = np.asarray(wanted)
        found = np.searchsorted(self.rows, wanted, sorter=self._sorter)
        places = self._sorter[np.minimum(found, len(self.rows) - 1)]
        known = self.rows[places] == wanted
        if not known.all():
            raise InputError(
                f"Row {wanted[~known][0]} is not among the {len(self.rows)} rows with copies. "
                "Only rows labeled in some draw are transformed."
            )
        return self._file.rows("copies", places)
