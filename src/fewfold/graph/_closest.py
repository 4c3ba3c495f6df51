"""Compiled parts of the neighbour searches; imported late, since numba is slow to load."""

import numpy as np

from fewfold.system.compiled import numba

# Products looked at together: most hold nothing close enough, which one vector compare shows.
_GROUP = 64


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
def keep_closest(block, norms, rows, members, own, kept, distances):
    """Merge a block of candidates into the closest found so far, sorted, ties to the lower row.

    Parameters
    ----------
    block : float32 (m, s), products of queries and members, times -2
    norms : float32 (s,), squared norms of the members
    rows, members : int64 (m,), (s,), which query and which candidate each is
    own : int64 (n_queries,), the candidate that is the query itself, or -1
    kept, distances : int64 and float32 (n_queries, k), changed in place
    """
    k = kept.shape[1]
    for a in range(len(rows)):
        q = rows[a]
        worst = distances[q, k - 1]
        for b in range(len(members)):
            d = block[a, b] + norms[b]
            if d > worst:
                continue
            c = members[b]
            # As `_insert`, which would ask for the worst once more: 5 to 10 % of a search.
            if c == own[q] or (d == worst and c > kept[q, k - 1] >= 0):
                continue
            place = k - 1
            while place > 0 and (
                distances[q, place - 1] > d
                or (distances[q, place - 1] == d and kept[q, place - 1] > c)
            ):
                distances[q, place] = distances[q, place - 1]
                kept[q, place] = kept[q, place - 1]
                place -= 1
            distances[q, place] = d
            kept[q, place] = c
            worst = distances[q, k - 1]


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
