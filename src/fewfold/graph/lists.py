"""Approximate neighbours: inverted lists searched list by list, as matrix products.

An inverted file searched query by query reads each list once per query and is bound by memory.
Here the queries that visit a list are gathered and multiplied with its rows in one product, which
runs at the speed of BLAS; a compiled loop merges each block into the closest found so far.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

# Wider rows are searched in this many principal directions, and what is found compared in full.
_REDUCED = 96
_WIDE = 2 * _REDUCED
# Candidates kept per neighbour asked for, where the search saw principal directions only.
_SPARE = 3
# Rows per list that the centres are learned from, and rounds of k-means.
_TRAINING, _ROUNDS = 48, 6
# Queries handled together: their visits to lists are sorted in memory.
_QUERIES = 2**17
# Entries of a block of products: 16 MB, so that it stays near the processor.
_BLOCK = 2**22


def search_lists(
    base: np.ndarray,
    query: np.ndarray,
    k: int,
    own: np.ndarray | None,
    *,
    n_lists: int,
    n_probes: int,
    seed: int,
    progress=None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find close rows in the lists nearest to each query.

    Parameters
    ----------
    base : float32 ndarray of shape (n, n_features)
    query : float32 ndarray of shape (m, n_features)
    k : int
    own : int array of shape (m,), optional
        The row of ``base`` that a query is itself, which is left out.
    n_lists, n_probes : int
        Lists that the rows are sorted into, and lists that a query visits.
    seed : int
    progress : callable, optional
        Called with numbers of queries that sum to m.

    Returns
    -------
    found : int64 ndarray of shape (m, k)
        Closest first; -1 where the lists held too few rows.
    squared : float32 ndarray of shape (m, k)
        Squared distances.
    """
    from fewfold.graph._closest import squared_gaps

    n, m = len(base), len(query)
    own = np.full(m, -1, np.int64) if own is None else np.asarray(own, np.int64)
    # Norms cancel in the products: far from the origin little would be left of a distance.
    middle = base.mean(axis=0, dtype=np.float64).astype(np.float32)
    turn, wanted = None, min(k, n)
    if base.shape[1] > _WIDE:
        turn = _principal_directions(base, middle, seed)
        wanted = min(_SPARE * k, n)
    Z = _reduced(base, middle, turn)
    V = Z if query is base else _reduced(query, middle, turn)
    centers = _centers(Z, n_lists, seed)
    # Where the queries are the rows and few enough to be handled together, one search does.
    once = _nearest_lists(Z, centers, n_probes) if V is Z and m <= _QUERIES else None
    home = (_nearest_lists(Z, centers, 1) if once is None else once)[:, 0]
    # Rows list by list, queries by their nearest list: what is needed together lies together.
    rows, starts = _by_list(home, len(centers))
    place = np.empty(n + 1, np.int64)
    place[rows], place[-1] = np.arange(n), -1
    Z = Z[rows]
    V = V if once is None else Z
    norms = np.einsum("ij,ij->i", Z, Z)
    found = np.empty((m, wanted), np.int64)
    squared = np.empty((m, wanted), np.float32)
    for start in range(0, m, _QUERIES):
        part = np.arange(start, min(start + _QUERIES, m))
        visited = _nearest_lists(V[part], centers, n_probes) if once is None else once
        order, _ = _by_list(visited[:, 0], len(centers))
        part = part[order]
        asking = V[part] if once is None else V
        closest, squared[part] = _scan(
            Z, asking, norms, starts, visited[order], place[own[part]], wanted
        )
        found[part] = np.where(closest < 0, -1, rows[closest])
        if progress is not None:
            progress(len(part))
    _in_threads(lambda part: squared_gaps(base, query[part], found[part], squared[part]), m)
    order = np.lexsort((found, squared), axis=1)[:, :k]
    return np.take_along_axis(found, order, 1), np.take_along_axis(squared, order, 1)


def _principal_directions(base, middle, seed):
    rows = np.random.default_rng(seed).choice(len(base), min(len(base), 5000), replace=False)
    sample = base[np.sort(rows)] - middle
    _, U = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    return np.ascontiguousarray(U[:, : -_REDUCED - 1 : -1], np.float32)


def _reduced(M, middle, turn):
    return M - middle if turn is None else M @ turn - middle @ turn


def _centers(Z, n_lists, seed):
    import faiss

    most = min(len(Z), _TRAINING * n_lists)
    rows = np.sort(np.random.default_rng(seed).choice(len(Z), most, replace=False))
    means = faiss.Kmeans(
        Z.shape[1], n_lists, niter=_ROUNDS, seed=seed, min_points_per_centroid=1,
        max_points_per_centroid=_TRAINING,
    )  # fmt: skip
    means.train(np.ascontiguousarray(Z[rows]))
    return means.centroids


def _nearest_lists(Z, centers, count):
    """Return each row's nearest centres, closest first; faster than a flat index for many."""
    n, n_lists = len(Z), len(centers)
    found, squared = _none_found(n, min(count, n_lists))
    members = np.arange(n_lists), -2 * centers, np.einsum("ij,ij->i", centers, centers)
    _merge(Z, np.arange(n), members, np.full(n, -1), found, squared)
    return found


def _none_found(n, count):
    return np.full((n, count), -1, np.int64), np.full((n, count), np.inf, np.float32)


def _scan(Z, V, norms, starts, visited, own, wanted):
    """Visit list after list; each query its nearest first, so that later rows rarely count."""
    found, squared = _none_found(len(V), wanted)
    n_lists = len(starts) - 1
    numbers = np.arange(len(Z))
    for places in (visited[:, :1], visited[:, 1:]):
        pairs, edges = _by_list(places.ravel(), n_lists)
        queries = pairs // max(1, places.shape[1])
        for number in range(n_lists):
            inside = slice(starts[number], starts[number + 1])
            rows = queries[edges[number] : edges[number + 1]]
            if inside.stop > inside.start and len(rows):
                members = numbers[inside], -2 * Z[inside], norms[inside]
                _merge(V, rows, members, own, found, squared)
    return found, squared


def _merge(V, rows, members, own, found, squared):
    from fewfold.graph._closest import keep_closest

    numbers, doubled, norms = members
    step = max(1, _BLOCK // len(numbers))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        block = V[part] @ doubled.T
        # A query visits a list once, so threads that share the rows never meet.
        _in_threads(
            lambda cut, part=part, block=block: keep_closest(
                block[cut], norms, part[cut], numbers, own, found, squared
            ),
            len(part),
        )


def _by_list(lists, n_lists):
    """Return positions sorted by list, and where each list starts among them."""
    # numpy sorts short integers digit by digit, several times faster.
    keys = lists.astype(np.uint16) if n_lists < 2**16 else lists
    order = np.argsort(keys, kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(lists, minlength=n_lists))])


def _in_threads(task, n, least=20_000):
    """Run a task on slices of n rows, in threads if they are many."""
    import faiss

    threads = min(faiss.omp_get_max_threads(), max(1, n // least))
    edges = np.linspace(0, n, threads + 1).astype(int)
    parts = [slice(a, b) for a, b in zip(edges[:-1], edges[1:])]
    if threads == 1:
        return task(parts[0])
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(task, parts))
