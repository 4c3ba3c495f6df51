"""Exact neighbors of all rows among themselves, each pair compared once, or of a tile of rows.

The distance of two rows serves both: tiles of the upper triangle of all pairs are products at the
speed of BLAS, and a compiled loop takes from each tile the closest of its rows and of its columns.
That is half the work of a search that takes the rows as new ones.

Products round according to their shape. They only choose candidates: distances are differences of
coordinates, and where rounding might have hidden a neighbor, the row is compared again. So what is
found depends neither on the number of threads nor on which rows one job searches.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

# Rows of a tile, and columns for each thread: 1 MB of products, which stays near the processor.
_TILE = 512
# Kept beyond those asked for: rounding of the products may swap neighbors at the end of the list.
_SPARE = 2
# Rows in doubt that are compared again together, and candidates of each that pay off.
_DOUBTFUL, _CANDIDATES = 1024, 1000
_COMPARED = 4096  # rows that queries are multiplied with at once


def closest_first(found, distances, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the first ``k`` of each row by distance, then by row number.

    Equal distances are ordered, so that the result does not depend on threads.
    """
    order = np.lexsort((found, distances), axis=1)[:, :k]
    return np.take_along_axis(found, order, 1), np.take_along_axis(distances, order, 1)


def search_all_pairs(
    base: np.ndarray, k: int, progress=None, rows: slice | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest other rows of every row.

    Parameters
    ----------
    base : float32 ndarray of shape (n, n_features)
    k : int
        Below n.
    progress : callable, optional
        Called with the number of rows finished since the last call.
    rows : slice, optional
        Only the neighbors of these rows are searched.

    Returns
    -------
    found : int64 ndarray of shape (n, k)
        Closest first, ties by row number.
    squared : float32 ndarray of shape (n, k)
        Squared distances.
    """
    import faiss

    from fewfold.graph._closest import closest_of_columns, closest_of_rows, squared_gaps

    n, threads = len(base), faiss.omp_get_max_threads()
    first, last, _ = (rows or slice(0, n)).indices(n)
    is_part = last - first < n
    # Norms cancel in the products: far from the origin little would be left of a distance.
    Z = base - base.mean(axis=0, dtype=np.float64).astype(np.float32)
    norms = np.einsum("ij,ij->i", Z, Z)
    kept = min(k + _SPARE, n - 1)
    # Of a part, the other rows' places are never touched, and take no memory.
    found, squared = np.empty((n, kept), np.int64), np.empty((n, kept), np.float32)
    found[first:last], squared[first:last] = -1, np.inf
    scaled, block = -2 * Z.T, np.empty(_TILE * _TILE * threads, np.float32)
    with ThreadPoolExecutor(threads) as pool:

        def shared(task, first, last):
            edges = np.linspace(first, last, threads + 1).astype(int).tolist()
            parts = list(zip(edges[:-1], edges[1:]))
            if threads == 1:
                task(*parts[0])
            else:
                list(pool.map(lambda part: task(*part), parts))

        for top in range(first, last, _TILE):
            bottom = min(top + _TILE, last)
            for left in range(0 if is_part else top, n, _TILE * threads):
                right = min(left + _TILE * threads, n)
                tile = block[: (bottom - top) * (right - left)].reshape(bottom - top, -1)
                np.matmul(Z[top:bottom], scaled[:, left:right], out=tile)
                about = tile, norms, top, left, found, squared
                shared(lambda a, b, about=about: closest_of_rows(*about, a, b), 0, bottom - top)
                if is_part:
                    continue
                # Columns that are rows of this tile too have had their turn.
                others = max(0, bottom - left), right - left
                shared(lambda a, b, about=about: closest_of_columns(*about, a, b), *others)
            if progress is not None:
                progress(bottom - top)
        worst = squared[first:last, -1].copy()
        shared(lambda a, b: squared_gaps(base, base[a:b], found[a:b], squared[a:b]), first, last)
    found, squared = found[first:last], squared[first:last]
    found, squared = closest_first(found, squared, k)
    if kept < n - 1:
        # As much as rounding may have added to a product, or taken from it.
        slack = (8 + base.shape[1]) * 2.0**-23 * (norms[first:last] + norms.max())
        doubtful = np.flatnonzero(worst <= squared[:, -1] + slack)
        for start in range(0, len(doubtful), _DOUBTFUL):
            here = doubtful[start : start + _DOUBTFUL]
            radii = squared[here, -1] + slack[here]
            found[here], squared[here] = _compared_again(base, first + here, radii, k)
    return found, squared


def _compared_again(base, rows, radii, k):
    """Return the nearest others of some rows, of all rows whose product is within a radius."""
    from fewfold.graph._closest import squared_gaps

    within = rows_within(base, base[rows], radii)
    if within is None:  # too many rows at one distance: all are compared
        step = max(1, 2**22 // len(base))
        parts = []
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            everyone = np.tile(np.arange(len(base)), (len(some), 1))
            gaps = np.empty(everyone.shape, np.float32)
            squared_gaps(base, base[some], everyone, gaps)
            gaps[np.arange(len(some)), some] = np.inf
            order = np.argsort(gaps, axis=1, kind="stable")[:, :k]
            parts.append((order, np.take_along_axis(gaps, order, 1)))
        return tuple(np.concatenate(values) for values in zip(*parts))
    query, near, _ = within
    other = near != rows[query]
    query, near = query[other], near[other]
    gaps = np.empty((len(query), 1), np.float32)
    squared_gaps(base, base[rows[query]], near[:, None], gaps)
    order = np.lexsort((near, gaps[:, 0], query))
    places = np.searchsorted(query[order], np.arange(len(rows)))[:, None] + np.arange(k)
    return near[order][places], gaps[order, 0][places]


def rows_within(base, query, radii):
    """Return (query, row, squared distance) of all rows within each query's squared radius.

    None if there are more than ``most`` to a query on average. Selecting by a known radius is
    several times quicker than a search.
    """
    middle = base.mean(axis=0, dtype=np.float64).astype(np.float32)
    query = query - middle
    lengths = np.einsum("ij,ij->i", query, query)
    parts, count = [], 0
    for start in range(0, len(base), _COMPARED):
        rows = base[start : start + _COMPARED] - middle
        norms = np.einsum("ij,ij->i", rows, rows)
        d2 = query @ (-2 * rows.T)
        d2 += norms
        # As much more as rounding may have added.
        slack = 1e-5 * (lengths + norms.max(initial=0))
        near = np.nonzero(d2 <= (radii - lengths + slack)[:, None])
        parts.append((near[0], near[1] + start, d2[near] + lengths[near[0]]))
        count += len(near[0])
        if count > _CANDIDATES * len(query):
            return None
    return tuple(np.concatenate(column) for column in zip(*parts))
