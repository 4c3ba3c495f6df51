"""Compiled parts of the neighbor searches; imported late, since numba is slow to load."""

import numpy as np

from fewfold.system.compiled import numba

# Products looked at together: most hold nothing close enough, which one vector compare shows.
_GROUP = 64
# Queries and points multiplied at once: 256 KB of products.
_ASKING, _MEMBERS = 256, 256


@numba.njit(nogil=True, cache=True, inline="always")
def _insert(q, c, d, kept, distances):
    """Put candidate c at distance d in its place among the closest of q, if it has one."""
    place = kept.shape[1] - 1
    if d > distances[q, place] or (d == distances[q, place] and c > kept[q, place] >= 0):
        return
    while place > 0 and (
        distances[q, place - 1] > d or (distances[q, place - 1] == d and kept[q, place - 1] > c)
    ):
        distances[q, place] = distances[q, place - 1]
        kept[q, place] = kept[q, place - 1]
        place -= 1
    distances[q, place] = d
    kept[q, place] = c


@numba.njit(nogil=True, cache=True, inline="always")
def _any_below(values, more, bounds):
    """Whether a sum is at or below its bound, over a whole group by vector instructions.

    The length is a constant and the answer a short integer: with less, numba makes a loop of
    single compares, twelve times slower.
    """
    near = numba.int32(0)
    for b in range(_GROUP):
        near |= numba.int32(values[b] + more[b] <= bounds[b])
    return near


@numba.njit(nogil=True, cache=True)
def closest_of_rows(tile, norms, top, left, kept, distances, first, last):
    """Merge a tile's columns into the closest of its rows ``first`` to ``last``.

    Parameters
    ----------
    tile : float32 (r, s), products of rows from ``top`` on and rows from ``left`` on, times -2
    norms : float32 (n,), squared norms of all rows
    top, left : int
    kept, distances : int64 and float32 (n, k), sorted, changed in place
    first, last : int
    """
    width, worst = tile.shape[1], kept.shape[1] - 1
    bounds = np.empty(_GROUP, tile.dtype)
    for a in range(first, last):
        q = top + a
        own = norms[q]
        bounds[:] = distances[q, worst] - own
        for start in range(0, width, _GROUP):
            stop = start + _GROUP
            if stop <= width:
                sums = norms[left + start : left + stop]
                if not _any_below(tile[a, start:stop], sums, bounds):
                    continue
            for b in range(start, min(stop, width)):
                near = tile[a, b] + norms[left + b]
                if near <= bounds[0] and left + b != q:
                    _insert(q, left + b, near + own, kept, distances)
                    bounds[0] = distances[q, worst] - own
            bounds[:] = bounds[0]


@numba.njit(nogil=True, cache=True)
def closest_of_columns(tile, norms, top, left, kept, distances, first, last):
    """Merge a tile's rows into the closest of its columns ``first`` to ``last``."""
    worst = kept.shape[1] - 1
    bounds = distances[left : left + tile.shape[1], worst] - norms[left : left + tile.shape[1]]
    other = np.empty(_GROUP, tile.dtype)
    for a in range(tile.shape[0]):
        other[:] = norms[top + a]
        for start in range(first, last, _GROUP):
            stop = start + _GROUP
            if stop <= last:
                if not _any_below(tile[a, start:stop], other, bounds[start:stop]):
                    continue
            for b in range(start, min(stop, last)):
                near = tile[a, b] + other[0]
                if near <= bounds[b]:
                    q = left + b
                    _insert(q, top + a, near + norms[q], kept, distances)
                    bounds[b] = distances[q, worst] - norms[q]


@numba.njit(nogil=True, cache=True)
def scan_lists(V, points, norms, starts, visited, own, kept, distances):
    """Merge the points of the visited lists into the closest of each query, ties to the lower.

    Parameters
    ----------
    V : float32 (m, d), queries
    points, norms : float32 (n, d), (n,), list by list, and their squared lengths
    starts : int64 (n_lists + 1,)
    visited : int64 (m, p), lists of each query, its nearest first, -1 none
    own : int64 (m,), the point that is the query itself, or -1
    kept, distances : int64 and float32 (m, k), changed in place; distances lack the query's length
    """
    n_lists = len(starts) - 1
    asking = np.empty((_ASKING, V.shape[1]), V.dtype)
    block = np.empty(_ASKING * _MEMBERS, V.dtype)
    # The nearest list first: rows of later ones rarely count.
    n_visits = visited.shape[1]
    for first, last in ((0, min(1, n_visits)), (1, n_visits)):
        edges = np.zeros(n_lists + 1, np.int64)
        for q in range(len(V)):
            for j in range(first, last):
                if visited[q, j] >= 0:
                    edges[visited[q, j] + 1] += 1
        edges = np.cumsum(edges)
        queries, ends = np.empty(edges[-1], np.int64), edges[:-1].copy()
        for q in range(len(V)):
            for j in range(first, last):
                number = visited[q, j]
                if number >= 0:
                    queries[ends[number]] = q
                    ends[number] += 1
        for number in range(n_lists):
            for top in range(edges[number], edges[number + 1], _ASKING):
                rows = queries[top : min(top + _ASKING, edges[number + 1])]
                for a in range(len(rows)):
                    for f in range(V.shape[1]):
                        asking[a, f] = -2 * V[rows[a], f]
                for left in range(starts[number], starts[number + 1], _MEMBERS):
                    right = min(left + _MEMBERS, starts[number + 1])
                    tile = block[: len(rows) * (right - left)].reshape(len(rows), right - left)
                    np.dot(asking[: len(rows)], points[left:right].T, tile)
                    _keep_closest(tile, norms, rows, left, own, kept, distances)


@numba.njit(nogil=True, cache=True, inline="always")
def _keep_closest(tile, norms, rows, left, own, kept, distances):
    """Merge a tile of products, times -2, into the closest of the queries ``rows``."""
    width, worst = tile.shape[1], kept.shape[1] - 1
    bounds = np.empty(_GROUP, tile.dtype)
    for a in range(len(rows)):
        q = rows[a]
        bounds[:] = distances[q, worst]
        for start in range(0, width, _GROUP):
            stop = start + _GROUP
            if stop <= width:
                if not _any_below(tile[a, start:stop], norms[left + start : left + stop], bounds):
                    continue
            for b in range(start, min(stop, width)):
                near = tile[a, b] + norms[left + b]
                if near <= bounds[0] and left + b != own[q]:
                    _insert(q, left + b, near, kept, distances)
                    bounds[0] = distances[q, worst]
            bounds[:] = bounds[0]


@numba.njit(nogil=True, cache=True, fastmath=True)
def squared_gaps(base, query, kept, out):
    """Set ``out[q, j]`` to the squared distance of query q and row ``kept[q, j]`` (-1: as is)."""
    d = base.shape[1]
    for q in range(kept.shape[0]):
        for j in range(kept.shape[1]):
            c = kept[q, j]
            if c >= 0:
                total = base.dtype.type(0)
                for f in range(d):
                    gap = query[q, f] - base[c, f]
                    total += gap * gap
                out[q, j] = total
