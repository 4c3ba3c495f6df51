"""A neighbor search of many rows as jobs: an index built once, and tiles that need nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.graph.all_pairs import search_all_pairs
from fewfold.graph.lists import ListIndex, own_chunks, search_own
from fewfold.graph.neighbors import (
    KeptIndex,
    Neighbors,
    check_count,
    rows_for,
    settle,
    to_distance,
    without_direction,
)
from fewfold.graph.settings import GraphSettings


@dataclass(frozen=True)
class SearchIndex:
    """What every tile of a search needs.

    Attributes
    ----------
    lists : ListIndex, or None
        The rows in lists.
    rows : float32 ndarray of shape (n, n_features), or None
        The rows themselves, where lists save nothing and all pairs are compared.
    probes, spare : int
        How many lists a row visits, and candidates for each neighbor of wide rows.
    recall : float, or None
        Share of the true neighbors that a sample found so; None where all pairs are compared.
    empty : int64 ndarray, or None
        Rows of zeros, which have no direction, where cosines are compared.
    """

    lists: ListIndex | None = None
    rows: np.ndarray | None = None
    probes: int = 0
    spare: int = 0
    recall: float | None = None
    empty: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lists.rows if self.rows is None else self.rows)


def build_search_index(X, settings: GraphSettings) -> SearchIndex:
    """Sort the rows of ``X`` into lists, and determine on samples how many of them a row visits.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    settings : GraphSettings
        Plain ones, whose search is approximate.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(700, 3))
    >>> settings = GraphSettings(method="approximate")
    >>> index = build_search_index(X, settings)
    >>> tiles = [search_tile(index, settings, tile, 2) for tile in range(2)]
    >>> sorted(np.concatenate([rows for rows, _ in tiles])) == list(range(700))
    True
    """
    base, _, is_empty = rows_for(X, X, settings.metric)
    empty = None if is_empty is None else np.flatnonzero(is_empty)
    n, k = len(base), settings.n_neighbors
    check_count(k, n, n - 1)
    kept = KeptIndex()
    settle(
        kept, base, base, np.arange(n), k, None, settings.min_recall, 0, settings.method == "auto"
    )  # fmt: skip
    if kept.recall is None:
        return SearchIndex(rows=base, empty=empty)
    lists = kept.index
    if lists.turn is not None:
        lists = ListIndex(*(getattr(lists, name) for name in ARRAYS), full=base[lists.rows])
    return SearchIndex(lists, None, kept.probes, kept.spare, kept.recall, empty)


# The arrays of a `ListIndex`, in order, without the wide rows.
ARRAYS = ("middle", "turn", "group_centers", "groups", "centers", "starts", "rows", "points",
          "norms")  # fmt: skip


def search_tile(
    index: SearchIndex, settings: GraphSettings, tile: int, n_tiles: int, progress=None
) -> tuple[np.ndarray, Neighbors]:
    """Search the neighbors of one tile of an index's rows.

    Parameters
    ----------
    index : SearchIndex
    settings : GraphSettings
        Those that the index was built with.
    tile, n_tiles : int
        Which of how many. There are no more tiles with rows than chunks of about 8000 rows.
    progress : callable, optional
        Called with the number of rows finished since the last call.

    Returns
    -------
    rows : int64 ndarray
        Numbers of the tile's rows: those near each other are in one tile.
    Neighbors
        Those that the search in one job finds for these rows, to the bit.
    """
    k = settings.n_neighbors
    if index.rows is not None:
        first, last = (index.n_rows * t // n_tiles for t in (tile, tile + 1))
        rows = np.arange(first, last)
        found = search_all_pairs(index.rows, k, progress, slice(first, last))
    else:
        chunks = own_chunks(index.n_rows)
        first, last = (len(chunks) * t // n_tiles for t in (tile, tile + 1))
        if first == last:
            empty = np.zeros((0, k))
            return np.zeros(0, np.int64), Neighbors(
                empty.astype(np.int64), empty.astype(np.float32), index.recall
            )
        rows = index.lists.rows[chunks[first].start : chunks[last - 1].stop]
        found = search_own(
            index.lists, k, n_probes=index.probes, spare=index.spare,
            chunks=slice(first, last), progress=progress,
        )  # fmt: skip
    if index.empty is not None:
        without_direction(found, np.isin(rows, index.empty), rows)
    return rows, Neighbors(found[0], to_distance(found[1], settings.metric), index.recall)
