"""From raw features to what every method works on: checks, scaling, principal components."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.exceptions import DataWarning, InputError
from fewfold.system.file_schema import LARGEST_NUMBER

SCALES = ("none", "standard", "minmax", "unit", "divide")

# Up to this many columns (or rows) the covariance (or Gram matrix) is formed and decomposed
# exactly; beyond it the leading directions come from Lanczos on the centered matrix.
_DIRECT_SIZE = 4000


def row_blocks(X):
    """Yield a matrix in blocks of consecutive rows, so that one block is in memory at a time.

    ``X`` is an array, a sparse matrix, or rows that are read when sliced
    (`fewfold.pipeline.stored_rows.StoredRows`). A block has up to 8192 rows, of wide matrices
    fewer: 33 million entries at most, and one row at least.
    """
    n, d = X.shape
    size = max(1, min(8192, (1 << 25) // max(d, 1)))
    for start in range(0, n, size):
        yield X[start : start + size]


@dataclass(frozen=True)
class Rescaled:
    """Rows of a matrix under a scaling, computed when they are asked for."""

    rows: object
    scaling: Preparation

    @property
    def shape(self):
        """Rows and columns."""
        return self.rows.shape

    def __getitem__(self, rows: slice):
        """Return some rows, scaled."""
        return self.scaling.rescale(self.rows[rows])


@dataclass(frozen=True)
class Preparation:
    """A fitted preparation: applied alike to the rows it was fitted on and to new ones.

    Attributes
    ----------
    scale : str
    offset, factor : ndarray of shape (n_features,) or None
        ``(x - offset) * factor``; None where the scaling needs none.
    mean, axes : ndarray or None
        Center and principal directions (n_features, n_components).
    explained : float or None
        Share of the variance in the kept components.
    """

    scale: str
    offset: np.ndarray | None = None
    factor: np.ndarray | None = None
    mean: np.ndarray | None = None
    axes: np.ndarray | None = None
    explained: float | None = None

    def rescale(self, X):
        """Apply the scaling only."""
        if self.scale == "unit":
            return unit_rows(X)
        if self.factor is None:
            return X if sparse.issparse(X) else np.asarray(X, dtype=np.float32)
        if sparse.issparse(X):
            if self.offset is not None:
                raise InputError(
                    f"scale={self.scale!r} shifts every entry, which would make sparse data dense. "
                    "Use scale: none, unit or divide."
                )
            return sparse.csr_array(X.astype(np.float32) * self.factor.astype(np.float32))
        out = np.asarray(X, dtype=np.float32)
        if self.offset is not None:
            out = out - self.offset.astype(np.float32)
        return out * self.factor.astype(np.float32)

    def transform(self, X):
        """Apply the scaling, then the principal components."""
        return self.project(self.rescale(X))

    def project(self, X):
        """Apply the principal components to rows already scaled."""
        if self.axes is None:
            return X
        projected = X @ self.axes.astype(np.float32)
        return np.asarray(projected) - (self.mean @ self.axes).astype(np.float32)


def check_finite(X, feature_names=None) -> None:
    """Raise `InputError` naming the first number that is NaN, infinite or beyond 1e18."""
    total, first, start = 0, None, 0
    for block in row_blocks(X):
        values = block.data if sparse.issparse(block) else np.asarray(block)
        if values.size and not _all_in_range(values):
            bad = ~(np.abs(values.astype(np.float64)) <= LARGEST_NUMBER)
            if first is None:
                coords = sparse.coo_array(block).coords if sparse.issparse(block) else None
                rows, columns = np.nonzero(bad) if coords is None else (i[bad] for i in coords)
                first = start + int(rows[0]), int(columns[0]), values[bad].ravel()[0]
            total += int(np.count_nonzero(bad))
        start += block.shape[0]
    if first is None:
        return
    row, column, found = first
    name = f" ({feature_names[column]})" if feature_names else ""
    fault = f"larger than {LARGEST_NUMBER:.0e}" if np.isfinite(found) else "NaN or infinite"
    raise InputError(
        f"{total} values are {fault}; the first is {found} in row {row}, column "
        f"{column}{name}, counted from 0. Allowed: finite numbers up to {LARGEST_NUMBER:.0e}. "
        "Fill in, rescale or drop these rows or columns."
    )


def _all_in_range(values):
    low, high = float(values.min()), float(values.max())  # NaN if there is one
    return -LARGEST_NUMBER <= low and high <= LARGEST_NUMBER


def count_oddities(X) -> dict:
    """Count constant columns, columns and rows that repeat an earlier one."""
    if sparse.issparse(X):
        csc = sparse.csc_array(X)
        empty = int(np.sum(np.diff(csc.indptr) == 0))
        return {"constant_columns": empty, "duplicate_rows": _duplicate_sparse_rows(X)}
    import xxhash

    n, d = X.shape
    if not n or not d:
        return {"constant_columns": 0, "duplicate_columns": 0, "duplicate_rows": 0}
    # A digest of 16 bytes for each row and column, not their numbers, is what is compared.
    rows, columns, edges = [], [xxhash.xxh3_128() for _ in range(d)], []
    for block in row_blocks(X):
        block = np.ascontiguousarray(block)
        text = b"".join(xxhash.xxh3_128_digest(memoryview(row).cast("B")) for row in block)
        rows.append(np.frombuffer(text, np.uint64).reshape(-1, 2))
        for column, values in zip(columns, np.ascontiguousarray(block.T)):
            column.update(memoryview(values).cast("B"))
        edges.append((block.min(axis=0), block.max(axis=0)))
    low, high = (np.array(found) for found in zip(*edges))
    return {
        "constant_columns": int(np.sum(low.min(axis=0) == high.max(axis=0))),
        "duplicate_columns": d - len({column.digest() for column in columns}),
        "duplicate_rows": n - len(np.unique(np.concatenate(rows), axis=0)),
    }


def _duplicate_sparse_rows(X):
    X = sparse.csr_array(X)
    seen = {
        (X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in zip(X.indptr, X.indptr[1:])
    }
    return X.shape[0] - len(seen)


def warn_oddities(counts: dict, shape) -> None:
    """Warn once about what `count_oddities` found."""
    found = [f"{v} {k.replace('_', ' ')}" for k, v in counts.items() if v]
    if found:
        warnings.warn(f"Of {shape[0]} rows x {shape[1]} columns: " + ", ".join(found) + ".",
                      DataWarning, stacklevel=2)  # fmt: skip


def fit_preparation(X, *, scale="none", divide_by=1.0, pca=None, random_state=0) -> Preparation:
    """Fit scaling and principal components on the rows of ``X``.

    Parameters
    ----------
    X : array, csr_array or rows read when sliced, of shape (n, n_features)
        Dense rows are gone through in blocks (`row_blocks`), once for the scaling's means or
        extremes, once for spreads, and twice for principal components.
    scale : {"none", "standard", "minmax", "unit", "divide"}
        Nothing; mean 0 and s.d. 1 per column; 0..1 per column; rows of length 1; all entries
        divided by ``divide_by``. Constant columns become 0.
    divide_by : float
    pca : int, float or None
        Number of components, or the share of the variance (between 0 and 1) they must hold.
    random_state : int
        Seed of the start vector where components come from Lanczos.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> fit_preparation(X, scale="minmax").transform(X).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    fitted = _fit_scale(X, scale, divide_by)
    if pca is None:
        return fitted
    scaled = fitted.rescale(X) if sparse.issparse(X) else Rescaled(X, fitted)
    mean, axes, explained = principal_axes(scaled, pca, random_state=random_state)
    return Preparation(fitted.scale, fitted.offset, fitted.factor, mean, axes, explained)


def _fit_scale(X, scale, divide_by):
    if scale not in SCALES:
        raise InputError(f"scale={scale!r} is unknown. Choose one of {', '.join(SCALES)}.")
    if scale in ("none", "unit"):
        return Preparation(scale)
    if scale == "divide":
        if not divide_by > 0:
            raise InputError(f"divide_by={divide_by}: a positive number is needed.")
        return Preparation(scale, factor=np.full(X.shape[1], 1.0 / divide_by))
    if sparse.issparse(X):
        return Preparation(scale, np.zeros(1), np.ones(1)).rescale(X)  # raises, with the reason
    if scale == "standard":
        offset = _mean(X)
        spread = np.sqrt(sum(((b - offset) ** 2).sum(axis=0) for b in row_blocks(X)) / X.shape[0])
    else:
        edges = [(b.min(axis=0), b.max(axis=0)) for b in row_blocks(X)]
        low, high = (np.asarray(found, np.float64) for found in zip(*edges))
        offset = low.min(axis=0)
        spread = high.max(axis=0) - offset
    factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    return Preparation(scale, offset, factor)


def _mean(X):
    """Mean of the rows in double precision, block by block."""
    total = sum(np.asarray(b.sum(axis=0, dtype=np.float64)).ravel() for b in row_blocks(X))
    return total / max(X.shape[0], 1)


def unit_rows(X):
    """Return the rows at length 1; empty ones stay as they are."""
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float32)
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ X)
    X = np.asarray(X, dtype=np.float32)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


def principal_axes(X, pca, *, random_state=0):
    """Return the mean, the principal directions and the share of variance they hold.

    ``pca`` counts components or, between 0 and 1, states the share of variance wanted.
    Directions have their largest entry positive, so that signs do not depend on the solver.
    """
    n, d = X.shape
    most = min(n - 1, d)
    if isinstance(pca, float) and 0 < pca < 1:
        wanted = None
    elif pca == int(pca) and 1 <= pca <= most:
        wanted = int(pca)
    else:
        raise InputError(
            f"pca={pca} for {n} rows x {d} columns; allowed: 1 to {most} components, or a "
            "share of the variance between 0 and 1."
        )
    mean = _mean(X)
    if min(n, d) <= _DIRECT_SIZE:
        values, axes, total = _direct_axes(X, mean)
    else:
        values, axes, total = _lanczos_axes(X, mean, wanted or most // 4, random_state)
    if wanted is None:
        held = np.cumsum(values) / total if total > 0 else np.ones(len(values))
        wanted = int(np.searchsorted(held, pca - 1e-12)) + 1
        if wanted > len(values):
            raise InputError(
                f"pca={pca}: {len(values)} components hold only {values.sum() / total:.3f} of the "
                "variance. Give a number of components instead."
            )
    axes = axes[:, :wanted]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(wanted)])
    return mean, axes, float(values[:wanted].sum() / total) if total > 0 else 1.0


def _direct_axes(X, mean):
    n, d = X.shape
    if d <= n:
        second = np.zeros((d, d))
        for block in row_blocks(X):
            block = block.toarray() if sparse.issparse(block) else block
            block = block.astype(np.float64) - mean
            second += block.T @ block
        values, axes = np.linalg.eigh(second / n)
        values, axes = np.maximum(values[::-1], 0), axes[:, ::-1]
        return values, axes, values.sum()
    X = X[:n]  # few rows of many columns: all of them
    centered = (X.toarray() if sparse.issparse(X) else X).astype(np.float64) - mean
    values, left = np.linalg.eigh(centered @ centered.T / n)
    values, left = np.maximum(values[::-1], 0)[: n - 1], left[:, ::-1][:, : n - 1]
    axes = centered.T @ left
    norms = np.linalg.norm(axes, axis=0)
    return values, axes / np.where(norms > 0, norms, 1), values.sum()


def _lanczos_axes(X, mean, k, seed):
    from scipy.sparse.linalg import LinearOperator, svds

    n, d = X.shape
    centered = LinearOperator(
        (n, d),
        # svds hands over vectors of shape (n,) as well as (n, 1)
        matvec=lambda v: _times(X, v.ravel()) - mean @ v.ravel(),
        rmatvec=lambda u: _times_transposed(X, u.ravel()) - mean * u.sum(),
        dtype=np.float64,
    )
    start = np.random.default_rng(seed).normal(size=min(n, d))
    _, s, vt = svds(centered, k=k, v0=start)
    order = np.argsort(-s)
    squares = sum(float((b.multiply(b) if sparse.issparse(b) else np.square(b, dtype=float)).sum())
                  for b in row_blocks(X))  # fmt: skip
    total = squares / n - float(mean @ mean)
    return s[order] ** 2 / n, vt[order].T, total


def _times(X, v):
    return X @ v if sparse.issparse(X) else np.concatenate([b @ v for b in row_blocks(X)])


def _times_transposed(X, u):
    if sparse.issparse(X):
        return X.T @ u
    total, start = np.zeros(X.shape[1]), 0
    for block in row_blocks(X):
        total += block.T @ u[start : start + len(block)]
        start += len(block)
    return total
