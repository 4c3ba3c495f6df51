"""Exact neighbors of all rows among themselves, each pair compared once.

The distance of two rows serves both: tiles of the upper triangle of all pairs are products at the
speed of BLAS, and a compiled loop takes from each tile the closest of its rows and of its columns.
That is half the work of a search that takes the rows as new ones.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

# Rows of a tile, and columns for each thread: 1 MB of products, which stays near the processor.
_TILE = 512
# Kept beyond those asked for: rounding of the products may swap neighbors at the end of the list.
_SPARE = 2


def search_all_pairs(base: np.ndarray, k: int, progress=None) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest other rows of every row.

    Parameters
    ----------
    base : float32 ndarray of shape (n, n_features)
    k : int
        Below n.
    progress : callable, optional
        Called with the number of rows finished since the last call.

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
    # Norms cancel in the products: far from the origin little would be left of a distance.
    Z = base - base.mean(axis=0, dtype=np.float64).astype(np.float32)
    norms = np.einsum("ij,ij->i", Z, Z)
    kept = min(k + _SPARE, n - 1)
    found = np.full((n, kept), -1, np.int64)
    squared = np.full((n, kept), np.inf, np.float32)
    scaled, block = -2 * Z.T, np.empty(_TILE * _TILE * threads, np.float32)
    with ThreadPoolExecutor(threads) as pool:

        def shared(task, first, last):
            edges = np.linspace(first, last, threads + 1).astype(int).tolist()
            parts = list(zip(edges[:-1], edges[1:]))
            if threads == 1:
                task(*parts[0])
            else:
                list(pool.map(lambda part: task(*part), parts))

        for top in range(0, n, _TILE):
            bottom = min(top + _TILE, n)
            for left in range(top, n, _TILE * threads):
                right = min(left + _TILE * threads, n)
                tile = block[: (bottom - top) * (right - left)].reshape(bottom - top, -1)
                np.matmul(Z[top:bottom], scaled[:, left:right], out=tile)
                about = tile, norms, top, left, found, squared
                shared(lambda a, b, about=about: closest_of_rows(*about, a, b), 0, bottom - top)
                # Columns that are rows of this tile too have had their turn.
                others = max(0, bottom - left), right - left
                shared(lambda a, b, about=about: closest_of_columns(*about, a, b), *others)
            if progress is not None:
                progress(bottom - top)
        shared(lambda a, b: squared_gaps(base, base[a:b], found[a:b], squared[a:b]), 0, n)
    order = np.lexsort((found, squared), axis=1)[:, :k]
    return np.take_along_axis(found, order, 1), np.take_along_axis(squared, order, 1)
