"""Nearest neighbors in Euclidean or cosine distance, exact or approximate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.graph.all_pairs import closest_first, rows_within
from fewfold.graph.settings import is_approximate

METRICS = ("euclidean", "cosine", "precomputed")
METHODS = ("auto", "exact", "approximate")

# Rows sent to faiss in one call: large enough for full-speed matrix products, small enough
# that a progress bar moves and that memory stays near block x n floats.
_BLOCK_ROWS = 4096
# Up to this many rows an exact search is as quick as an approximate one.
_FEW_ROWS = 640
# Up to this many new rows are compared with all others: sorting those into lists costs more.
_HANDFUL = 1000
# Share of the true neighbors that an approximate search must find.
MIN_RECALL = 0.99
# Rows that the recall is measured on.
_JUDGES = 500
# Visiting more than this share of the lists costs as much as comparing each pair once: rows that
# fill all their dimensions evenly have no near lists.
_WORTH_ALL = 0.33
# From this many rows on, comparing each pair once saves more than its compiled part takes to load.
_MANY_ROWS = 20_000


@dataclass(frozen=True)
class Neighbors:
    """The nearest rows of each query row, closest first, the row itself left out.

    Attributes
    ----------
    indices : ndarray of shape (n_queries, n_neighbors), int64
    distances : ndarray of shape (n_queries, n_neighbors), float32
    recall : float or None
        Share of the true neighbors found, measured on a sample; None for an exact search.
    """

    indices: np.ndarray
    distances: np.ndarray
    recall: float | None = None

    def first(self, k: int) -> Neighbors:
        """Return the ``k`` nearest of these neighbors."""
        if k > self.indices.shape[1]:
            raise InputError(
                f"n_neighbors={k}, but the search kept {self.indices.shape[1]} neighbors. "
                "Search again with more neighbors."
            )
        return Neighbors(self.indices[:, :k], self.distances[:, :k], self.recall)


class KeptIndex:
    """What an approximate search over fixed rows prepares, kept for further batches of queries.

    Rows are sorted into lists, and the number of lists to visit is chosen, by the first batch.

    Attributes
    ----------
    index : fewfold.graph.lists.ListIndex, or None
    probes, spare : int
        Arguments of its search.
    recall : float, or None
        Share of the true neighbors that these find, measured on a sample; None before.
    """

    def __init__(self, index=None, probes=None, spare=None, recall=None):
        self.index, self.probes, self.spare, self.recall = index, probes, spare, recall


def nearest_neighbors(
    X,
    n_neighbors: int,
    *,
    query=None,
    rows: slice | None = None,
    metric: str = "euclidean",
    method: str = "auto",
    min_recall: float = MIN_RECALL,
    n_probes: int | None = None,
    random_state: int = 0,
    progress=None,
    kept: KeptIndex | None = None,
) -> Neighbors:
    """Find the nearest rows of ``X`` for each query row.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
        The rows searched. With ``metric="precomputed"``, a square matrix of distances.
    n_neighbors : int
        How many neighbors to return, the row itself not counted.
    query : array of shape (n_queries, n_features), optional
        New rows. Without it the rows of ``X`` are the queries, and are not their own neighbors.
    rows : slice, optional
        Only these rows of ``X`` are queries (one tile of a larger search).
    metric : {"euclidean", "cosine", "precomputed"}
        Cosine distance is ``1 - cos``; rows of zeros are at distance 1 from everything.
    method : {"auto", "exact", "approximate"}
        "approximate" searches the nearest of many lists of rows (`fewfold.graph.lists`); its
        recall is measured and returned. "auto" is exact up to 20 000 rows, and for at most
        1000 new rows: of more rows than 20 000, an answer may differ with how many new rows are
        asked for at once. "exact" and "approximate" do not look at their number.
    min_recall : float
        Share of the true neighbors to find: the approximate search visits as many lists as that
        takes on a sample, and twice as many again while the recall measured is below.
    n_probes : int, optional
        Lists that the approximate search visits, whatever the recall.
    random_state : int
        Seed of the approximate index and of the recall sample.
    progress : callable, optional
        Called with the number of query rows finished since the last call.
    kept : KeptIndex, optional
        Filled by the first approximate search of new rows, and used by the next ones, which must
        have the same other arguments.

    Returns
    -------
    Neighbors

    Notes
    -----
    The exact search costs O(n_queries * n_samples * n_features). Ties are broken by row number.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1).indices.ravel().tolist()
    [1, 0, 1]
    """
    _check_choice("metric", metric, METRICS)
    _check_choice("method", method, METHODS)
    n = X.shape[0]
    check_count(n_neighbors, n, n - 1 if query is None else n)
    if metric == "precomputed":
        return _from_distances(X, n_neighbors, query, rows)
    if sparse.issparse(X):
        return _sparse_search(X, n_neighbors, query, rows, metric, progress)
    own = np.arange(n)[rows or slice(0, n)] if query is None else None
    if query is None:
        query = X if np.array_equal(own, np.arange(n)) else X[rows]
    base, wanted, is_empty = rows_for(X, query, metric)
    is_handful = method == "auto" and own is None and len(wanted) <= _HANDFUL
    if n < _FEW_ROWS or is_handful or not is_approximate(method, n):
        found, recall = _exact_search(base, wanted, n_neighbors, own, progress), None
    else:
        found, recall = _list_search(
            base, wanted, n_neighbors, own, n_probes, min_recall, random_state, progress,
            KeptIndex() if kept is None else kept, method == "auto",
        )  # fmt: skip
    if is_empty is not None:
        without_direction(found, is_empty, own)
    return Neighbors(found[0], to_distance(found[1], metric), recall)


def _list_search(base, wanted, k, own, n_probes, min_recall, seed, progress, kept, may_be_exact):
    """Search lists; return what was found, and the recall."""
    from fewfold.graph.lists import search_index, search_own

    is_whole = wanted is base and own is not None
    if kept.recall is None:
        queries = (wanted, None) if own is None else (base, np.arange(len(base)))
        settle(kept, base, *queries, k, n_probes, min_recall, seed, may_be_exact and is_whole)
    if kept.recall is None:
        return _exact_search(base, wanted, k, own, progress), None
    visits = {"n_probes": kept.probes, "spare": kept.spare, "progress": progress}
    if is_whole:
        return search_own(kept.index, k, base=base, **visits), kept.recall
    return search_index(kept.index, base, wanted, k, own, **visits), kept.recall


def settle(kept, base, queries, own, k, n_probes, min_recall, seed, may_be_exact) -> None:
    """Sort rows into lists, and choose on samples how many of them a search visits.

    Nothing is kept where all pairs are to be compared.
    """
    from fewfold.graph.lists import SPARE, build_index, choose_probes, search_index

    index = build_index(base, seed=seed)
    # Halfway between the least recall and 1: a sample chooses, another one judges.
    probes = n_probes or choose_probes(
        index, min(k, len(base) - 1), (1 + min_recall) / 2, seed=seed
    )
    if may_be_exact and probes > _WORTH_ALL * index.n_lists:
        return
    some = np.random.default_rng(seed + 1)
    some = some.choice(len(queries), min(_JUDGES, len(queries)), replace=False)
    asking, own = queries[some], None if own is None else own[some]
    spare = SPARE
    while True:
        found = search_index(index, base, asking, k, own, n_probes=probes, spare=spare)
        recall = _measure_recall(base, asking, own, *found)
        is_all = probes >= index.n_lists and (index.turn is None or spare * k >= len(base))
        if n_probes or recall >= min_recall or is_all:
            break
        probes, spare = 2 * probes, 2 * spare
    kept.index, kept.probes, kept.spare, kept.recall = index, probes, spare, recall


def _check_choice(name, value, allowed):
    if value not in allowed:
        raise InputError(f"{name}={value!r} is unknown. Choose one of {', '.join(allowed)}.")


def rows_for(X, query, metric):
    """Return the rows searched and the query rows as faiss wants them; one array if they are.

    And which queries have no direction (None if all have one): see `without_direction`.
    """
    given, X = X, np.ascontiguousarray(X, dtype=np.float32)
    query = X if query is given else np.ascontiguousarray(query, dtype=np.float32)
    if metric != "cosine":
        return X, query, None
    is_one = query is X
    norms = [np.linalg.norm(M, axis=1, keepdims=True) for M in ((X,) if is_one else (X, query))]
    found = [M / np.where(norm > 0, norm, 1) for M, norm in zip((X, query), norms)]
    empty = [norm == 0 for norm in norms]
    if any(e.any() for e in empty):
        # One more direction makes rows of zeros orthogonal to all others, as they should be.
        found = [np.hstack([M, e.astype(np.float32)]) for M, e in zip(found, empty)]
    return found[0], found[-1], empty[-1][:, 0] if empty[-1].any() else None


def without_direction(found, is_empty, own) -> None:
    """Set, in place, the neighbors of rows of zeros: all rows are equally far, so the first."""
    indices, squared = found
    first = np.tile(np.arange(indices.shape[1]), (int(is_empty.sum()), 1))
    if own is not None:
        first += first >= own[is_empty, None]
    indices[is_empty], squared[is_empty] = first, 2.0


def to_distance(squared, metric):
    """Return distances of a metric from squared Euclidean ones."""
    # Between unit vectors |a-b|^2 = 2 (1 - cos): one index serves both metrics.
    squared = np.maximum(squared, 0)
    return squared / 2 if metric == "cosine" else np.sqrt(squared)


def _exact_search(base, wanted, k, own, progress):
    """Find the nearest rows; of own rows the same, whatever tile they are searched in."""
    if own is None:
        return _search(_flat_index(base), wanted, k, own, progress)
    rows = slice(int(own[0]), int(own[-1]) + 1) if len(own) else slice(0, 0)
    if len(base) >= _MANY_ROWS:
        from fewfold.graph.all_pairs import search_all_pairs

        return search_all_pairs(base, k, progress, rows)
    # Distances are products, which round according to their shape: whole blocks, and a part of it.
    first = rows.start // _BLOCK_ROWS * _BLOCK_ROWS
    wider = base[first : -(-rows.stop // _BLOCK_ROWS) * _BLOCK_ROWS]
    found = _search(_flat_index(base), wider, k, np.arange(first, first + len(wider)), progress)
    return tuple(values[rows.start - first : rows.stop - first] for values in found)


def _flat_index(base):
    import faiss

    index = faiss.IndexFlatL2(base.shape[1])
    index.add(base)
    return index


def _search(index, wanted, k, own, progress):
    m = len(wanted)
    indices = np.empty((m, k), np.int64)
    squared = np.empty((m, k), np.float32)
    extra = 0 if own is None else 1
    for start in range(0, m, _BLOCK_ROWS):
        block = slice(start, min(start + _BLOCK_ROWS, m))
        # With duplicated rows the row itself need not come first, so look for it by number.
        d2, found = index.search(wanted[block], k + extra)
        if own is not None:
            d2, found = _drop_self(d2, found, own[block])
        indices[block], squared[block] = closest_first(found, d2)
        if progress is not None:
            progress(block.stop - block.start)
    return indices, squared


def _drop_self(d2, found, own):
    is_self = found == own[:, None]
    # A row not found among its own neighbors (more duplicates than asked for): drop the last.
    is_self[~is_self.any(axis=1), -1] = True
    keep = ~is_self
    shape = (len(found), found.shape[1] - 1)
    return d2[keep].reshape(shape), found[keep].reshape(shape)


def check_count(k: int, n: int, available: int) -> None:
    """Refuse more neighbors than there are rows to be neighbors."""
    if not 1 <= k <= available:
        raise InputError(
            f"n_neighbors={k} with {n} samples; allowed: 1 to {available}. "
            "Lower n_neighbors or give more samples."
        )


def _measure_recall(base, wanted, own, found, squared):
    """Return the share of the queries' neighbors found that are as near as the last true one.

    All rows that are as near as the last one found hold the true ones. Of rows equally far, any
    will do.
    """
    m, k = found.shape
    near = rows_within(base, wanted, squared[:, -1])
    if near is None:  # too many duplicates
        last = _search(_flat_index(base), wanted, k, own, None)[0][:, -1]
    else:
        query, row, d2 = near
        if own is not None:
            other = row != own[query]
            query, row, d2 = query[other], row[other], d2[other]
        order = np.lexsort((row, d2, query))
        last = row[order][np.searchsorted(query[order], np.arange(m)) + k - 1]
    gap = wanted - base[last]
    radius = np.einsum("ij,ij->i", gap, gap)
    # Sums in another order differ by some rounding.
    return float(np.mean(squared <= radius[:, None] * (1 + 1e-5)))


def _from_distances(D, k, query, rows):
    if query is None:
        if D.shape[0] != D.shape[1]:
            raise InputError(
                f"metric='precomputed' needs a square matrix of distances, got {D.shape}. "
                "Give distances between all samples, or the features with another metric."
            )
        rows = rows or slice(0, len(D))
        D = np.array(D[rows], dtype=np.float64)
        D[np.arange(len(D)), np.arange(*rows.indices(D.shape[1]))] = np.inf
    else:
        D = np.asarray(query, dtype=np.float64)
    part = np.argpartition(D, k - 1, axis=1)[:, :k]
    found, distances = closest_first(part, np.take_along_axis(D, part, 1))
    return Neighbors(found, distances.astype(np.float32))


def _sparse_search(X, k, query, rows, metric, progress):
    """Exact search between sparse rows: products of sparse blocks, text stays sparse."""
    from sklearn.preprocessing import normalize

    # scikit-learn keeps the container it is given (matrix or array); work on arrays only.
    prepare = normalize if metric == "cosine" else (lambda M: M)
    base = sparse.csr_array(prepare(sparse.csr_array(X).astype(np.float32)))
    own = None
    if query is None:
        rows = rows or slice(0, base.shape[0])
        wanted, own = base[rows], np.arange(base.shape[0])[rows]
    else:
        wanted = sparse.csr_array(prepare(sparse.csr_array(query).astype(np.float32)))
    base_sq = np.asarray(base.multiply(base).sum(axis=1)).ravel()
    wanted_sq = np.asarray(wanted.multiply(wanted).sum(axis=1)).ravel()
    if metric == "cosine":  # rows of zeros: as if of length 1, orthogonal to everything
        base_sq[base_sq == 0] = wanted_sq[wanted_sq == 0] = 1
    base_t = sparse.csr_array(base.T)
    m = wanted.shape[0]
    indices = np.empty((m, k), np.int64)
    squared = np.empty((m, k), np.float32)
    step = max(1, min(1024, 2**26 // max(1, base.shape[0])))
    for start in range(0, m, step):
        block = slice(start, min(start + step, m))
        d2 = (wanted[block] @ base_t).toarray()
        d2 *= -2
        d2 += wanted_sq[block, None]
        d2 += base_sq
        if own is not None:
            d2[np.arange(block.stop - block.start), own[block]] = np.inf
        part = np.argpartition(d2, k - 1, axis=1)[:, :k]
        indices[block], squared[block] = closest_first(part, np.take_along_axis(d2, part, 1))
        if progress is not None:
            progress(block.stop - block.start)
    return Neighbors(indices, to_distance(squared, metric))
