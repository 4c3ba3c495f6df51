"""Kernel matrices in HDF5: tiles of rows, joined without a copy, read back where needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.pipeline import artifacts
from fewfold.svm.kernels import blocks_of


def write_tile(path, source, rows, **provenance) -> None:
    """Compute and write one tile, a block of rows at a time.

    Parameters
    ----------
    path : path-like
    source : FeatureKernel, or another with its attributes and ``rows``
    rows : int array
        The rows of this tile.
    **provenance
        Passed to `artifacts.writing`.
    """
    slices = blocks_of(0, len(rows), source.n_columns)
    with artifacts.writing(path, "compute_kernel_tile", **provenance) as out:
        out.add("rows", rows)
        for key in ("kind", "n", "n_new", "gamma"):
            out.note(key, getattr(source, key))
        out.note("sparse", source.is_sparse)
        if source.is_sparse:
            parts = [sparse.csr_array(source.rows(rows[s])) for s in slices]
            K = (
                sparse.vstack(parts, format="csr")
                if parts
                else sparse.csr_array((0, source.n_columns))
            )
            out.add("K", K.astype(np.float32))
        else:
            blocks = (source.rows(rows[s]) for s in slices)
            out.add_blocks("K", (len(rows), source.n_columns), np.float32, blocks)


class KernelMatrix:
    """A kernel matrix over tile files: some rows, and all columns.

    Columns are the rows of the dataset followed by the new (held-out) rows, if any.

    Attributes
    ----------
    kind : {"kernel", "squared_distances"}
        What is stored; squared distances are for a learner that chooses the width itself.
    n, n_new : int
    row_numbers : int ndarray
        The rows that are stored, sorted.
    gamma : float
        The data's own width (1 / median squared distance), the centre of a search.
    """

    def __init__(self, path):
        path = Path(path)
        joined = artifacts.read(path, "join_kernel")
        self.kind = joined.note("kind")
        self.n, self.n_new = joined.note("n"), joined.note("n_new")
        self.gamma = joined.note("gamma")
        self.type = joined.settings.get("type")
        self.is_sparse = joined.note("sparse")
        self.row_numbers = joined["rows"]
        self._starts = joined["tile_starts"]
        tiles = [path.parent / name for name in joined["tiles"]]
        if any(Path(name).is_absolute() or ".." in Path(name).parts for name in joined["tiles"]):
            joined.fail("names tiles that lie outside of its folder")
        self._check_order(joined)
        self._tiles = [artifacts.read(t, "compute_kernel_tile") for t in tiles]
        for tile, wanted in zip(self._tiles, joined["tile_digests"]):
            if tile.content != wanted:
                tile.fail("is not the tile that its kernel was joined from")
            same = (tile.note(key) == joined.note(key) for key in ("kind", "n", "n_new", "sparse"))
            if not all(same):
                tile.fail("does not agree with the kernel that it is a tile of")
        joined.close()

    def _check_order(self, joined):
        """Rows are found by bisection, so they and the starts of tiles must be sorted."""
        rows, starts = self.row_numbers, self._starts
        joined.check_rows("rows", rows, self.n)
        if (np.diff(rows.astype(np.int64)) <= 0).any():
            joined.fail("names rows out of order or twice")
        if not len(starts) or starts[0] != 0 or (np.diff(starts.astype(np.int64)) < 0).any():
            joined.fail("has tiles out of order")

    def _read(self, indices):
        indices = np.asarray(indices)
        places = np.searchsorted(self.row_numbers, indices)
        bad = (places >= len(self.row_numbers)) | (
            self.row_numbers[np.minimum(places, len(self.row_numbers) - 1)] != indices
        )
        if bad.any():
            raise InputError(
                f"Row {indices[bad][0]} is not among the {len(self.row_numbers)} rows of the "
                "kernel file. Only rows labelled in some draw are computed."
            )
        out = np.empty((len(indices), self.n + self.n_new), np.float32)
        owner = np.searchsorted(self._starts, places, side="right") - 1
        for t in np.unique(owner):
            here = np.flatnonzero(owner == t)
            local = places[here] - self._starts[t]
            if self.is_sparse:
                out[here] = self._tiles[t]["K"][local].toarray()
            else:
                out[here] = self._tiles[t].rows("K", local)
        return out

    def all_rows(self, indices) -> np.ndarray:
        """Return rows against all columns, the new rows' columns last."""
        return self._read(indices)

    def rows(self, indices) -> np.ndarray:
        """Return rows against the dataset's own rows, (len(indices), n) float32."""
        return self._read(indices)[:, : self.n]

    def new_rows(self, indices) -> np.ndarray:
        """Return rows against the new rows, (len(indices), n_new) float32."""
        return self._read(indices)[:, self.n :]


def join_tiles(path, tiles, *, settings, seed=None):
    """Join tile files into one kernel file: an HDF5 virtual dataset, without a copy."""
    path = Path(path)
    opened = [artifacts.read(t, "compute_kernel_tile") for t in tiles]
    rows = [t["rows"] for t in opened]
    starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])])[:-1]
    first = opened[0]
    n, n_new = first.note("n"), first.note("n_new")
    names = [str(Path(t).relative_to(path.parent)) for t in tiles]
    with artifacts.writing(path, "join_kernel", settings=settings, seed=seed, inputs=tiles) as out:
        out.add("rows", np.concatenate(rows))
        out.add("tile_starts", starts.astype(np.int64))
        out.add("tiles", names)
        out.add("tile_digests", [t.content for t in opened])
        for key in ("kind", "n", "n_new", "gamma", "sparse"):
            out.note(key, first.note(key))
        if not first.note("sparse"):
            parts = [(name, len(r)) for name, r in zip(names, rows) if len(r)]
            out.add_virtual("K", (sum(map(len, rows)), n + n_new), np.float32, parts)
    for tile in opened:
        tile.close()
