"""Affine charts: PCA of subsets of points, and reconstruction errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np

# Rows and charts of one block of the error computation. 512 rows x 64 charts x 30 directions in
# float32 are 4 MB: the product is still in cache when its squares are summed.
_BLOCK_ROWS = 512
_BLOCK_CHARTS = 64
# Fewer multiplications than this take less time than starting threads.
_SMALL_WORK = 2 * 10**7


@dataclass(frozen=True)
class Charts:
    """Affine subspaces of a feature space ([atlas-2014] Eq. 2).

    Attributes
    ----------
    means : ndarray of shape (n_charts, n_features)
    directions : ndarray of shape (n_charts, n_dims, n_features)
        Orthonormal rows; rows beyond a chart's own dimension are zero.
    dims : int ndarray of shape (n_charts,)
        Own dimension of each chart, at most ``n_dims``.
    """

    means: np.ndarray
    directions: np.ndarray
    dims: np.ndarray

    def __len__(self) -> int:
        return len(self.means)

    def take(self, which) -> Charts:
        """Keep some of the charts."""
        return Charts(self.means[which], self.directions[which], self.dims[which])


def fit_chart(points: np.ndarray, n_dims: int) -> tuple[np.ndarray, np.ndarray]:
    """Fit the affine subspace of least squared reconstruction error to some points.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    n_dims : int
        Dimension asked for; the chart gets fewer when the points span fewer.

    Returns
    -------
    mean : ndarray of shape (n_features,)
    directions : ndarray of shape (own_dims, n_features)
        Orthonormal, most variance first, the entry of largest size of each row positive.

    Examples
    --------
    >>> mean, directions = fit_chart(np.array([[0.0, 0.0], [2.0, 0.0]]), 1)
    >>> mean.tolist(), directions.tolist()
    ([1.0, 0.0], [[1.0, 0.0]])
    """
    from scipy.linalg import eigh

    points = np.asarray(points, np.float64)
    mean = points.mean(axis=0)
    centered = points - mean
    n, D = centered.shape
    wanted = min(n_dims, n - 1, D)
    if wanted < 1:
        return mean, np.zeros((0, D))
    # The smaller of the covariance and the Gram matrix holds the same spectrum.
    small = centered.T @ centered if D <= n else centered @ centered.T
    size = len(small)
    values, vectors = eigh(small, subset_by_index=[size - wanted, size - 1], check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    real = values > max(values[0], 0) * 1e-12
    values, vectors = values[real], vectors[:, real]
    rows = vectors.T if D <= n else (vectors / np.sqrt(values)).T @ centered
    if len(rows) == 0:
        return mean, np.zeros((0, D))
    peak = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], 1)
    return mean, rows * np.sign(peak)


def fit_charts(
    X: np.ndarray, members: Sequence[np.ndarray], n_dims: int, dtype=np.float32
) -> Charts:
    """Fit one chart to each set of rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    members : sequence of int arrays
        Rows of each chart, at least one.
    n_dims : int
    dtype : dtype of the charts' arrays.

    Returns
    -------
    Charts
    """
    m, D = len(members), X.shape[1]
    charts = Charts(np.zeros((m, D), dtype), np.zeros((m, n_dims, D), dtype), np.zeros(m, int))

    def fit(c):
        mean, directions = fit_chart(X[members[c]], n_dims)
        charts.means[c] = mean
        charts.directions[c, : len(directions)] = directions
        charts.dims[c] = len(directions)

    work = sum(len(rows) for rows in members) * D**2 + 10 * m * D**3
    list(_in_threads(fit, range(m), work))
    return charts


def error_blocks(X: np.ndarray, charts: Charts) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of rows with their reconstruction errors on all charts ([atlas-2014] Eq. 4).

    ``E_i(x) = |x - mu_i|^2 - |C_i (x - mu_i)|^2``, all ``C_i x - C_i mu_i`` of a block by
    matrix products of the rows, with a one appended, and the stacked directions.

    Yields
    ------
    rows : slice
    errors : ndarray of shape (n_rows, n_charts), zero or more
    """
    dtype = charts.means.dtype
    m, d, D = charts.directions.shape
    shift = charts.means.mean(axis=0)  # smaller numbers lose fewer digits
    means = charts.means - shift
    stacked = np.empty((D + 1, m * d), dtype)
    stacked[:D] = charts.directions.reshape(m * d, D).T
    stacked[D] = -np.einsum("mdf,mf->md", charts.directions, means).ravel()
    mean_sq = np.einsum("mf,mf->m", means, means)

    def block(start):
        rows = slice(start, min(start + _BLOCK_ROWS, len(X)))
        x = np.ones((rows.stop - start, D + 1), dtype)
        x[:, :D] = X[rows] - shift
        errors = x[:, :D] @ (-2 * means.T)
        errors += mean_sq
        errors += np.einsum("nf,nf->n", x[:, :D], x[:, :D])[:, None]
        for first in range(0, m, _BLOCK_CHARTS) if d else ():
            last = min(first + _BLOCK_CHARTS, m)
            inside = (x @ stacked[:, first * d : last * d]).reshape(len(x), last - first, d)
            errors[:, first:last] -= np.einsum("nmd,nmd->nm", inside, inside)
        return rows, np.maximum(errors, 0, out=errors)

    yield from _in_threads(block, range(0, len(X), _BLOCK_ROWS), len(X) * D * m * d)


def reconstruction_errors(X: np.ndarray, charts: Charts) -> np.ndarray:
    """Return the squared reconstruction error of every row on every chart.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    charts : Charts

    Returns
    -------
    errors : ndarray of shape (n_samples, n_charts)

    Notes
    -----
    Costs ``2 n_samples n_charts n_dims n_features`` operations and the memory of the result.

    Examples
    --------
    >>> line = Charts(np.zeros((1, 2)), np.array([[[1.0, 0.0]]]), np.array([1]))
    >>> reconstruction_errors(np.array([[3.0, 2.0]]), line).tolist()
    [[4.0]]
    """
    errors = np.empty((len(X), len(charts)), charts.means.dtype)
    for rows, block in error_blocks(X, charts):
        errors[rows] = block
    return errors


def cheapest(errors: np.ndarray, q: int) -> np.ndarray:
    """Return the columns of the ``q`` smallest entries of each row, smallest first."""
    q = min(q, errors.shape[1])
    part = np.argpartition(errors, q - 1, axis=1)[:, :q]
    part.sort(axis=1)  # equal errors then keep the order of the charts
    order = np.argsort(np.take_along_axis(errors, part, 1), axis=1, kind="stable")
    return np.take_along_axis(part, order, 1).astype(np.int32)


def _in_threads(function, tasks, work):
    """Map over threads, one BLAS thread each: the steps between products then run in parallel."""
    from threadpoolctl import threadpool_info, threadpool_limits

    if work < _SMALL_WORK:
        yield from map(function, tasks)
        return
    # The size of the BLAS pool is what the user (or Snakemake) allows this process.
    allowed = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
    workers = max(1, min(max(allowed, default=1), len(tasks)))
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        tasks_left = iter(tasks)
        # Results waiting to be used stay few.
        waiting = [pool.submit(function, t) for t in islice(tasks_left, 4 * workers)]
        while waiting:
            yield waiting.pop(0).result()
            waiting.extend(pool.submit(function, t) for t in islice(tasks_left, 1))
