"""Kernel matrices in HDF5: tiles of rows, joined without a copy, read back where needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.pipeline import artifacts, layout
from fewfold.svm import kernels

_PARTS = 32  # in which a computed block is stored
# What the tiles of a kernel have in common.
_SAME = ("kind", "type", "n", "n_new", "sparse", "levels")


def write_tile(path, source, rows, **provenance) -> None:
    """Compute and write one tile, a block of rows at a time.

    Parameters
    ----------
    path : path-like
    source : FeatureKernel, or another with its attributes and ``rows``
    rows : int array
        The rows of this tile; of a source with ``levels``, `level_rows`.
    **provenance
        Passed to `artifacts.writing`.
    """
    # Computed in large blocks, read in small ones: a draw asks for few of the rows.
    few = max(1, kernels.BLOCK_BYTES // (4 * _PARTS * max(1, source.n_columns)))
    slices = kernels.blocks_of(0, len(rows), source.n_columns, few)
    with artifacts.writing(path, "compute_kernel_tile", **provenance) as out:
        out.add("rows", rows)
        for key in ("kind", "n", "n_new", "gamma"):
            out.note(key, getattr(source, key))
        out.note("sparse", source.is_sparse)
        out.note("levels", getattr(source, "levels", None))
        out.note("type", getattr(source, "type", None))
        if source.is_sparse:
            parts = [sparse.csr_array(source.rows(rows[s])) for s in slices]
            K = (
                sparse.vstack(parts, format="csr")
                if parts
                else sparse.csr_array((0, source.n_columns))
            )
            out.add("K", K.astype(np.float32))
        else:
            whole = (source.rows(rows[s]) for s in slices)
            blocks = (K[i : i + few] for K in whole for i in range(0, len(K), few))
            out.add_blocks("K", (len(rows), source.n_columns), np.float32, blocks)


def level_rows(source, splits) -> np.ndarray:
    """Return the rows that training needs, sorted.

    Most kernels are one matrix over all rows that some draw labels. Of one whose settings depend
    on the number of labels (``levels``, one for each budget) there is a matrix per budget, with
    the rows of that budget's draws: row ``r`` of level ``i`` has the number ``i n + r``.
    """
    if getattr(source, "levels", None) is None:
        return splits.labeled_rows
    if hasattr(source, "wanted_rows"):
        return source.wanted_rows
    parts = [
        i * source.n + np.unique(splits.order[:, : level["n_labeled"]])
        for i, level in enumerate(source.levels)
    ]
    return np.concatenate(parts)


class KernelMatrix:
    """A kernel matrix over tile files: some rows, and all columns.

    Columns are the rows of the dataset followed by the new (held-out) rows, if any. A kernel of
    one tile is that tile's file; several are joined by another file.

    Attributes
    ----------
    kind : {"kernel", "squared_distances"}
        What is stored; squared distances are for a learner that chooses the width itself.
    n, n_new : int
    row_numbers : int ndarray
        The rows that are stored, sorted; see `level_rows`.
    levels : list of dict or None
        Settings of the matrices for different numbers of labels.
    gamma : float
        The data's own width (1 / median squared distance), the center of a search.
    """

    def __init__(self, path):
        path = Path(path)
        stage = layout.stage_of(path)
        stage = stage if stage in ("compute_kernel_tile", "join_kernel") else "join_kernel"
        joined = artifacts.read(path, stage)
        self.kind, self.type = joined.note("kind"), joined.note("type")
        self.n, self.n_new = joined.note("n"), joined.note("n_new")
        self.gamma = joined.note("gamma")
        self.is_sparse, self.levels = joined.note("sparse"), joined.note("levels")
        self.row_numbers = joined["rows"]
        if stage == "compute_kernel_tile":
            self._starts, self._tiles = np.zeros(1, np.int64), [joined]
            self._check_order(joined)
            return
        self._starts = joined["tile_starts"]
        tiles = [path.parent / name for name in joined["tiles"]]
        if any(Path(name).is_absolute() or ".." in Path(name).parts for name in joined["tiles"]):
            joined.fail("names tiles that lie outside of its folder")
        self._check_order(joined)
        self._tiles = [artifacts.read(t, "compute_kernel_tile") for t in tiles]
        for tile, wanted in zip(self._tiles, joined["tile_digests"]):
            if tile.content != wanted:
                tile.fail("is not the tile that its kernel was joined from")
            if not all(tile.note(key) == joined.note(key) for key in _SAME):
                tile.fail("does not agree with the kernel that it is a tile of")
        joined.close()

    def _check_order(self, joined):
        """Rows are found by bisection, so they and the starts of tiles must be sorted."""
        rows, starts = self.row_numbers, self._starts
        joined.check_rows("rows", rows, self.n * len(self.levels or [0]))
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
                "kernel file. Only rows labeled in some draw are computed."
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

    def level(self, settings: dict) -> int | None:
        """Return the number of the matrix with these settings; None where there is none."""
        for i, level in enumerate(self.levels or []):
            if {key: level.get(key) for key in settings} == settings:
                return i
        return None

    def all_rows(self, indices, level: int | None = None) -> np.ndarray:
        """Return rows against all columns, the new rows' columns last."""
        if level is None and self.levels is not None:
            raise InputError(
                "The kernel file holds a matrix for each number of labels, which this learner "
                f"does not take. Name a kernel of one matrix (of type {self.type}, one sigma)."
            )
        return self._read((level or 0) * self.n + np.asarray(indices))

    def rows(self, indices) -> np.ndarray:
        """Return rows against the dataset's own rows, (len(indices), n) float32."""
        return self.all_rows(indices)[:, : self.n]

    def new_rows(self, indices) -> np.ndarray:
        """Return rows against the new rows, (len(indices), n_new) float32."""
        return self.all_rows(indices)[:, self.n :]


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
        for key in (*_SAME, "gamma"):
            out.note(key, first.note(key))
        if not first.note("sparse"):
            parts = [(name, len(r)) for name, r in zip(names, rows) if len(r)]
            out.add_virtual("K", (sum(map(len, rows)), n + n_new), np.float32, parts)
    for tile in opened:
        tile.close()
