"""Approximate neighbors: rows sorted into lists, and the lists nearest to a query searched.

The lists are the cells of k-means centers, about 128 rows each whatever the number of rows; many
centers are found and searched group by group. So a query meets hardly more rows among a million
than among a hundred thousand. Queries that visit a list are gathered and multiplied with its rows
in one product, at the speed of BLAS, by a compiled loop that threads share chunk by chunk.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fewfold.graph.all_pairs import closest_first

# Rows per list: smaller ones need more centers, larger ones more products.
_LIST_ROWS = 128
# Wider rows are searched in this many principal directions, and what is found compared in full.
_REDUCED = 96
_WIDE = 2 * _REDUCED
# Candidates kept per neighbor asked for, where the search saw principal directions only.
SPARE = 3
# Rows per list that the centers are learned from, and rounds of k-means.
_TRAINING, _ROUNDS = 40, 6
# From this many centers on they are found and searched in groups.
_MANY_LISTS = 1024
# Groups that a row looks for its nearest centers in, at least.
_GROUPS = 10
# Up to this many nearest centers are found by inserting, more by partitioning.
_MANY_PROBES = 64
# Queries handled together, at most: few enough to stay near the processor, many for each list.
_QUERIES = 8192
# Chunks of an index's own rows come in multiples of this, so that jobs can have equal shares.
_SHARES = 4
# Rows that the number of lists to visit is chosen on.
_SAMPLE = 256


@dataclass(frozen=True)
class ListIndex:
    """Rows sorted into lists.

    Attributes
    ----------
    middle : float32 ndarray of shape (n_features,)
        Mean of the rows, taken off: far from the origin little would be left of a distance.
    turn : float32 ndarray of shape (n_features, n_reduced), or None
        Principal directions that wide rows are searched in.
    group_centers : float32 ndarray of shape (n_groups, n_reduced)
    groups : int64 ndarray of shape (n_groups + 1,)
        Where the centers of each group start.
    centers : float32 ndarray of shape (n_lists, n_reduced)
    starts : int64 ndarray of shape (n_lists + 1,)
        Where the rows of each list start.
    rows : int64 ndarray of shape (n,)
        Number of each row, list by list.
    points, norms : float32 ndarrays of shape (n, n_reduced), (n,)
        The rows in that order, and their squared lengths.
    full : float32 ndarray of shape (n, n_features), or None
        Wide rows themselves in that order, for a search that has no other access to them.
    """

    middle: np.ndarray
    turn: np.ndarray | None
    group_centers: np.ndarray
    groups: np.ndarray
    centers: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    points: np.ndarray
    norms: np.ndarray
    full: np.ndarray | None = None

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return len(self.centers)

    def reduce(self, M: np.ndarray) -> np.ndarray:
        """Return rows as they are searched."""
        return M - self.middle if self.turn is None else M @ self.turn - self.middle @ self.turn

    def nearest_lists(self, V: np.ndarray, count: int) -> np.ndarray:
        """Return each row's nearest lists, closest first, -1 where the groups held too few."""
        return _nearest_centers(V, count, self.centers, self.group_centers, self.groups)


def build_index(base: np.ndarray, *, seed: int = 0, n_lists: int | None = None) -> ListIndex:
    """Sort rows into lists.

    Parameters
    ----------
    base : float32 ndarray of shape (n, n_features)
    seed : int
    n_lists : int, optional
        By default one for each 128 rows.
    """
    n = len(base)
    n_lists = n_lists or max(1, n // _LIST_ROWS)
    middle = base.mean(axis=0, dtype=np.float64).astype(np.float32)
    turn = _principal_directions(base, middle, seed) if base.shape[1] > _WIDE else None
    points = base - middle if turn is None else base @ turn - middle @ turn
    group_centers, groups, centers = _centers(points, n_lists, seed)
    home = np.empty(n, np.int64)

    def sort_in(part):
        home[part] = _nearest_centers(points[part], 1, centers, group_centers, groups)[:, 0]

    _in_threads(sort_in, _slices(n))
    order, starts = _by_number(home, len(centers))
    points = points[order]
    norms = np.einsum("ij,ij->i", points, points)
    return ListIndex(
        middle, turn, group_centers, groups, centers, starts, order, points, norms
    )  # fmt: skip


def choose_probes(index: ListIndex, k: int, goal: float, *, seed: int = 0) -> int:
    """Return how many lists to visit, so that a sample of the rows finds its neighbors there.

    Parameters
    ----------
    index : ListIndex
    k : int
    goal : float
        Share of the neighbors to find.
    seed : int

    Returns
    -------
    int
        From the lists that the true neighbors of the sample lie in: no search is tried out.
    """
    n, n_lists = len(index.rows), index.n_lists
    picked = np.sort(np.random.default_rng(seed).choice(n, min(n, _SAMPLE), replace=False))
    V = index.points[picked]
    # All lists, the own one first: few of the others' rows are closer then.
    home = np.searchsorted(index.starts, picked, side="right") - 1
    others = np.tile(np.arange(n_lists), (len(V), 1))
    others[np.arange(len(V)), home] = -1
    everywhere = np.column_stack([home, others])
    with threadpool_limits(1, "blas"):  # many small products
        true = _scan(V, index.points, index.norms, index.starts, everywhere, picked, k)[0]
    lists = np.searchsorted(index.starts, true, side="right") - 1
    gaps = np.einsum("ij,ij->i", index.centers, index.centers) - 2 * V @ index.centers.T
    # The list of rank r is visited if more than r are.
    ranks = [np.searchsorted(np.sort(gap), gap[own]) for gap, own in zip(gaps, lists)]
    return int(np.quantile(ranks, goal, method="higher")) + 1


def own_chunks(n: int) -> list[slice]:
    """Cut an index's rows, list by list, into the chunks that are searched together.

    A product of many rows rounds otherwise than one of few. Chunks depend on the number of rows
    alone, so whatever job searches a chunk finds the same to the bit.

    Examples
    --------
    >>> own_chunks(20_000)
    [slice(0, 6666, None), slice(6666, 13333, None), slice(13333, 20000, None)]
    >>> len(own_chunks(100_000))
    16
    """
    count = max(1, -(-n // _QUERIES))
    if count > _SHARES:
        count = -(-count // _SHARES) * _SHARES
    return [slice(n * i // count, n * (i + 1) // count) for i in range(count)]


def search_own(
    index: ListIndex,
    k: int,
    *,
    n_probes: int,
    spare: int = SPARE,
    base: np.ndarray | None = None,
    chunks: slice | None = None,
    progress=None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the closest other rows of an index's own rows.

    Parameters
    ----------
    index : ListIndex
    k : int
        Below the number of rows.
    n_probes, spare, progress : as in `search_index`
    base : float32 ndarray of shape (n, n_features), optional
        Wide rows by number, where the index does not have them itself.
    chunks : slice, optional
        Which of `own_chunks` are searched; all without it.

    Returns
    -------
    found, squared : int64 and float32 ndarrays of shape (m, k)
        As of `search_index`; of all rows by their number, of some chunks list by list.
    """
    parts = own_chunks(len(index.rows))
    parts = parts if chunks is None else parts[chunks]
    first = parts[0].start
    found, squared = _none_found(parts[-1].stop - first, k)

    def compare(asking):
        if base is None:
            return lambda kept, numbers: (index.full, index.full[asking], kept)
        return lambda kept, numbers: (base, base[index.rows[asking]], numbers)

    def search(part):
        V, own = index.points[part], np.arange(part.start, part.stop)
        closest = _closest(index, V, own, k, n_probes, spare, compare(part))
        where = slice(part.start - first, part.stop - first)
        if chunks is None:
            where = index.rows[part]
        found[where], squared[where] = closest

    _in_threads(search, parts, progress)
    return found, squared


def search_index(
    index: ListIndex,
    base: np.ndarray,
    query: np.ndarray,
    k: int,
    own: np.ndarray | None,
    *,
    n_probes: int,
    spare: int = SPARE,
    progress=None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find close rows in the lists nearest to each query; in all of them where these hold too few.

    Parameters
    ----------
    index : ListIndex
    base : float32 ndarray of shape (n, n_features)
        The rows of the index.
    query : float32 ndarray of shape (m, n_features)
    k : int
    own : int array of shape (m,), optional
        The row of ``base`` that a query is itself, which is left out.
    n_probes : int
        Lists that a query visits.
    spare : int
        Candidates kept per neighbor where the index sees principal directions only.
    progress : callable, optional
        Called with numbers of queries that sum to m.

    Returns
    -------
    found : int64 ndarray of shape (m, k)
        Closest first, ties by row number.
    squared : float32 ndarray of shape (m, k)
        Squared distances.
    """
    n, m = len(index.rows), len(query)
    place = np.empty(n + 1, np.int64)
    place[index.rows], place[-1] = np.arange(n), -1
    # Queries by their nearest list: those of a chunk visit the same few lists.
    order = _by_home(index, query)
    own = np.full(m, -1, np.int64) if own is None else np.asarray(own, np.int64)
    found, squared = _none_found(m, min(k, n))

    def search(part):
        asking = order[part]
        rows = query[asking]
        found[asking], squared[asking] = _closest(
            index, index.reduce(rows), place[own[asking]], k, n_probes, spare,
            lambda kept, numbers: (base, rows, numbers),
        )  # fmt: skip

    _in_threads(search, _slices(m), progress)
    return found, squared


def _closest(index, V, own, k, n_probes, spare, full):
    """Return the closest rows of reduced queries, and their squared distances.

    ``full(kept, numbers)`` gives wide rows, wide queries, and where the former have the candidates.
    """
    from fewfold.graph._closest import squared_gaps

    n = len(index.rows)
    wanted = min(k if index.turn is None else spare * k, n)
    k = min(k, n)
    lists = index.points, index.norms, index.starts
    visited = index.nearest_lists(V, min(n_probes, index.n_lists))
    kept, gaps = _scan(V, *lists, visited, own, wanted)
    short = np.flatnonzero(kept[:, k - 1] < 0)
    for start in range(0, len(short), _SAMPLE):
        rows = short[start : start + _SAMPLE]
        everywhere = np.tile(np.arange(index.n_lists), (len(rows), 1))
        kept[rows], gaps[rows] = _scan(V[rows], *lists, everywhere, own[rows], wanted)
    numbers = np.where(kept < 0, -1, index.rows[kept])
    if index.turn is None:
        squared_gaps(index.points, V, kept, gaps)
    else:
        squared_gaps(*full(kept, numbers), gaps)
    return closest_first(numbers, gaps, k)


def _by_home(index, query):
    home = np.empty(len(query), np.int64)

    def nearest(part):
        home[part] = index.nearest_lists(index.reduce(query[part]), 1)[:, 0]

    _in_threads(nearest, _slices(len(query)))
    return np.argsort(home, kind="stable")


def _principal_directions(base, middle, seed):
    rows = np.random.default_rng(seed).choice(len(base), min(len(base), 5000), replace=False)
    sample = base[np.sort(rows)] - middle
    _, U = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    return np.ascontiguousarray(U[:, : -_REDUCED - 1 : -1], np.float32)


def _centers(Z, n_lists, seed):
    """Return centers in groups: where the groups lie, where each starts, and the centers."""
    most = min(len(Z), _TRAINING * n_lists)
    rows = np.sort(np.random.default_rng(seed).choice(len(Z), most, replace=False))
    sample = Z[rows]
    if n_lists < _MANY_LISTS:
        centers = _k_means(sample, n_lists, seed)
        return centers.mean(axis=0, keepdims=True), np.array([0, len(centers)]), centers
    n_groups = int(np.sqrt(n_lists))
    group_centers = _k_means(sample, n_groups, seed)
    order, edges = _by_number(_nearest_centers(sample, 1, group_centers)[:, 0], n_groups)
    # Each group has its share of the centers, at least one.
    counts = np.maximum(1, np.rint(np.diff(edges) * (n_lists / most)).astype(int))

    def within(g):
        inside = sample[order[edges[g] : edges[g + 1]]]
        if len(inside) <= counts[g]:
            return group_centers[[g]].repeat(counts[g], axis=0)
        return _k_means(inside, counts[g], seed)

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(_n_threads()) as pool:
        centers = np.concatenate(list(pool.map(within, range(n_groups))))
    return group_centers, np.concatenate([[0], np.cumsum(counts)]), centers


def _n_threads():
    import faiss

    return faiss.omp_get_max_threads()


def _k_means(sample, count, seed):
    import faiss

    if threading.current_thread() is not threading.main_thread():
        faiss.omp_set_num_threads(1)  # of this thread alone
    means = faiss.Kmeans(
        sample.shape[1], int(count), niter=_ROUNDS, seed=seed, min_points_per_centroid=1,
        max_points_per_centroid=8 * _TRAINING,
    )  # fmt: skip
    means.train(np.ascontiguousarray(sample))
    return means.centroids


def _nearest_centers(V, count, centers, group_centers=None, groups=None):
    """Return each row's nearest centers, closest first, by way of their groups if there are any."""
    norms = np.einsum("ij,ij->i", centers, centers)
    if _MANY_PROBES < count < len(centers):
        return _many_nearest(V, count, centers, norms)
    starts, visited = np.array([0, len(centers)]), np.zeros((len(V), 1), np.int64)
    nobody = np.full(len(V), -1, np.int64)
    # Where a large part of the centers is asked for, groups save nothing.
    if groups is not None and len(groups) > 2 and 4 * count < len(centers):
        n_groups = len(groups) - 1
        enough = min(n_groups, _GROUPS + 2 * count * n_groups // len(centers))
        visited, starts = _nearest_centers(V, enough, group_centers), groups
    return _scan(V, centers, norms, starts, visited, nobody, min(count, len(centers)))[0]


def _many_nearest(V, count, centers, norms):
    """Return many nearest centers of each row, the nearest first and the rest in any order."""
    out, step = np.empty((len(V), count), np.int64), max(1, 2**22 // len(centers))
    for start in range(0, len(V), step):
        gaps = V[start : start + step] @ (-2 * centers.T)
        gaps += norms
        gaps[np.arange(len(gaps)), gaps.argmin(axis=1)] = -np.inf
        out[start : start + step] = np.argpartition(gaps, (0, count - 1), axis=1)[:, :count]
    return out


def _scan(V, points, norms, starts, visited, own, count):
    from fewfold.graph._closest import scan_lists

    kept, gaps = _none_found(len(V), count)
    scan_lists(V, points, norms, starts, visited, own, kept, gaps)
    return kept, gaps


def _none_found(n, count):
    return np.full((n, count), -1, np.int64), np.full((n, count), np.inf, np.float32)


def _by_number(numbers, count):
    """Return positions sorted by number, and where each number starts among them."""
    # numpy sorts short integers digit by digit, several times faster.
    keys = numbers.astype(np.uint16) if count < 2**16 else numbers
    order = np.argsort(keys, kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=count))])


def _slices(n):
    return [slice(a, min(a + _QUERIES, n)) for a in range(0, n, _QUERIES)]


def _in_threads(task, parts, progress=None):
    """Run a task on slices of rows, in as many threads as faiss would use."""
    # Each thread multiplies for itself: threads of BLAS beside them would only wait.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(_n_threads()) as pool:
        for part, _ in zip(parts, pool.map(task, parts)):
            if progress is not None:
                progress(part.stop - part.start)
