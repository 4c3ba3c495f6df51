"""Compiled parts of `fewfold.graph.lists`; imported late, since numba is slow to load."""

import numba


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
