"""Kernel matrices: rows computed in tiles, stored in HDF5, read back where needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from fewfold import artifacts
from fewfold.exceptions import InputError

# Rows of a tile computed and written at once: bounds the memory of a tile job to about
# block x (n + n_new) floats, whatever the number of rows in the tile.
BLOCK_BYTES = 128 * 2**20


def squared_distances(A, B) -> np.ndarray:
    """Return the squared Euclidean distances between rows, never negative, as float32.

    Centring on the mean of ``B`` first keeps the cancellation of large norms away.
    """
    if sparse.issparse(A) or sparse.issparse(B):
        A, B = sparse.csr_array(A), sparse.csr_array(B)
        a = np.asarray(A.multiply(A).sum(axis=1)).ravel()
        b = np.asarray(B.multiply(B).sum(axis=1)).ravel()
        out = (A @ B.T).toarray().astype(np.float32)
    else:
        # Float64 matrices as small as a block's rows x features; the product stays float32.
        centre = B.mean(axis=0, dtype=np.float64)
        A = (A - centre).astype(np.float32)
        B = (B - centre).astype(np.float32)
        a, b = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        out = A @ B.T
    out *= -2
    out += a[:, None].astype(np.float32)
    out += b.astype(np.float32)
    return np.maximum(out, 0, out=out)


def median_gamma(X, *, random_state: int = 0, sample: int = 1000) -> float:
    """Return ``1 / median squared distance`` of a sample of rows: RBF's default width."""
    rng = np.random.default_rng(random_state)
    rows = rng.choice(X.shape[0], min(sample, X.shape[0]), replace=False)
    d2 = squared_distances(X[rows], X[rows])
    positive = d2[np.triu_indices(len(rows), 1)]
    positive = positive[positive > 0]
    return 1.0 / float(np.median(positive)) if len(positive) else 1.0


def kernel_block(kind: str, A, B, *, gamma: float | None = None) -> np.ndarray:
    """Return the kernel values between the rows of A and of B.

    Parameters
    ----------
    kind : {"linear", "rbf"}
    A : array of shape (m, n_features)
    B : array of shape (n, n_features)
    gamma : float or None
        ``exp(-gamma d^2)``; None leaves the squared distances, for the learner to choose gamma.
    """
    if kind == "linear":
        product = A @ B.T
        return (product.toarray() if sparse.issparse(product) else product).astype(np.float32)
    if kind != "rbf":
        raise InputError(f"kernel type {kind!r} is unknown. Choose linear or rbf.")
    d2 = squared_distances(A, B)
    if gamma is None:
        return d2
    d2 *= -gamma
    return np.exp(d2, out=d2)


def tile_bounds(n_rows: int, n_tiles: int, tile: int) -> tuple[int, int]:
    """Return the first and the past-the-last of the rows that a tile holds."""
    return n_rows * tile // n_tiles, n_rows * (tile + 1) // n_tiles


def blocks_of(start: int, stop: int, n_columns: int):
    """Cut rows start..stop into slices of equal length that stay within `BLOCK_BYTES`."""
    step = max(1, BLOCK_BYTES // (4 * max(1, n_columns)))
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


class FeatureKernel:
    """The linear or RBF kernel of a dataset's features, row by row.

    Attributes
    ----------
    n, n_new : int
    kind : {"kernel", "squared_distances"}
    gamma : float or None
    is_sparse : bool
    """

    is_sparse = False

    def __init__(self, features, files, settings: dict):
        self.X, self.X_new = features.X, features.X_new
        self.type = settings["type"]
        self.n = self.X.shape[0]
        self.n_new = 0 if self.X_new is None else self.X_new.shape[0]
        self.gamma = median_gamma(self.X) if self.type == "rbf" else None
        wanted = settings.get("gamma", "cv")
        searched = self.type == "rbf" and wanted == "cv"
        self.kind = "squared_distances" if searched else "kernel"
        if self.type == "rbf" and not searched and wanted != "median":
            self.gamma = float(wanted)

    @property
    def n_columns(self) -> int:
        """Columns of the matrix: rows of the dataset, then new rows."""
        return self.n + self.n_new

    def rows(self, indices) -> np.ndarray:
        """Return the kernel rows of some of the dataset's rows."""
        gamma = None if self.kind == "squared_distances" else self.gamma
        parts = [kernel_block(self.type, self.X[indices], self.X, gamma=gamma)]
        if self.n_new:
            parts.append(kernel_block(self.type, self.X[indices], self.X_new, gamma=gamma))
        return parts[0] if len(parts) == 1 else np.hstack(parts)


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
        self._row_numbers = joined["rows"]
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
        rows, starts = self._row_numbers, self._starts
        joined.check_rows("rows", rows, self.n)
        if (np.diff(rows.astype(np.int64)) <= 0).any():
            joined.fail("names rows out of order or twice")
        if not len(starts) or starts[0] != 0 or (np.diff(starts.astype(np.int64)) < 0).any():
            joined.fail("has tiles out of order")

    def _read(self, indices):
        indices = np.asarray(indices)
        places = np.searchsorted(self._row_numbers, indices)
        bad = (places >= len(self._row_numbers)) | (
            self._row_numbers[np.minimum(places, len(self._row_numbers) - 1)] != indices
        )
        if bad.any():
            raise InputError(
                f"Row {indices[bad][0]} is not among the {len(self._row_numbers)} rows of the "
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
