"""Better neighbors from those found: the neighbors of a row's neighbors are looked at too.

Candidates in Euclidean distance hold ever fewer of the neighbors under an invariant metric, the
more rows there are. Neighbors under the metric lead to each other.
"""

from __future__ import annotations

import numpy as np

from fewfold.graph.all_pairs import closest_first
from fewfold.graph.candidates import search_order
from fewfold.graph.neighbors import Neighbors
from fewfold.graph.rerank import Ranking, as_array
from fewfold.graph.settings import GraphSettings

# Rows looked at, for each row and in each round: those that most of its neighbors lead to.
WIDTH = 40
# Of these, those that a finer metric ranks: a row looked at there costs as much as six.
FINE = 12
MOST_ROUNDS = 2
# Rows whose candidates are in memory together.
_BLOCK = 16_384


def explore(X, neighbors: Neighbors, settings: GraphSettings, progress=None) -> Neighbors:
    """Compare rows with neighbors of their neighbors, while fewer are found than asked for.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        All rows; each is a query.
    neighbors : Neighbors
        What `fewfold.graph.rerank.find_invariant_neighbors` found for them.
    settings : GraphSettings
        `fewfold.graph.settings.GraphSettings.explores` says when there is something to do.
    progress : callable, optional
        Called with the number of rows finished since the last call.

    Returns
    -------
    Neighbors
        Each at least as near as those given; ``recall`` is measured again.

    Examples
    --------
    >>> import numpy as np
    >>> from fewfold.graph.rerank import find_invariant_neighbors
    >>> digits = np.random.default_rng(0).random((60, 64))
    >>> settings = GraphSettings(
    ...     n_neighbors=3, metric="deformation", image_shape=[8, 8], candidates=3
    ... )
    >>> found = find_invariant_neighbors(digits, settings)
    >>> more = explore(digits, found, settings)
    >>> more.recall > found.recall
    True
    """
    n, k = neighbors.indices.shape
    ranking = Ranking.of(as_array(X), settings, np.arange(n))
    order = None
    for _ in range(MOST_ROUNDS):
        if neighbors.recall is None or neighbors.recall >= settings.min_recall:
            break
        order = search_order(ranking.X, settings, ranking.form) if order is None else order
        around = np.hstack([neighbors.indices, pointing_at(neighbors)]).astype(np.int32)
        indices, distances = neighbors.indices.copy(), neighbors.distances.copy()
        for start in range(0, n, _BLOCK):
            some = order[start : start + _BLOCK]
            found = second_neighbors(some, around, neighbors.indices)
            for part in ranking.parts(some, found):
                rows = some[part]
                near, at = ranking.nearest(rows, found[part], k, progress, FINE)
                indices[rows], distances[rows] = closest_first(
                    np.hstack([neighbors.indices[rows], near]),
                    np.hstack([neighbors.distances[rows], at]),
                    k,
                )
        neighbors = Neighbors(indices, distances, ranking.recall(indices))
    return neighbors


def pointing_at(neighbors: Neighbors) -> np.ndarray:
    """Return the nearest rows that have each row as a neighbor: as many as a row has neighbors.

    Where there are fewer, the row's own neighbors stand.
    """
    n, k = neighbors.indices.shape
    target = neighbors.indices.ravel()
    order = np.lexsort((neighbors.distances.ravel(), target))
    target = target[order]
    place = np.arange(n * k) - np.searchsorted(target, target)
    is_near = place < k
    found = neighbors.indices.copy()
    found[target[is_near], place[is_near]] = order[is_near] // k
    return found


def second_neighbors(some, around, known) -> np.ndarray:
    """Return rows that the neighbors of some rows lead to, and that are none of these yet.

    Parameters
    ----------
    some : int ndarray of shape (m,)
    around : int ndarray of shape (n, 2 k)
        Neighbors of all rows, and rows that point at them.
    known : int ndarray of shape (n, k)
        Neighbors of all rows.

    Returns
    -------
    int64 ndarray of shape (m, WIDTH)
        Those first that several neighbors lead to; the row itself where there are fewer.
    """
    m, n = len(some), len(around)
    near = around[some]
    reached = np.hstack([near, around[near].reshape(m, -1)]).astype(np.int64)
    reached += (np.arange(m) * n)[:, None]
    pairs, count = np.unique(reached, return_counts=True)
    old = np.hstack([some[:, None], known[some]]) + (np.arange(m) * n)[:, None]
    is_new = np.isin(pairs, old.ravel(), invert=True)
    row, number, count = pairs[is_new] // n, pairs[is_new] % n, count[is_new]
    order = np.lexsort((number, -count, row))
    row, number = row[order], number[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    found = np.repeat(some[:, None], WIDTH, axis=1)
    found[row[place < WIDTH], place[place < WIDTH]] = number[place < WIDTH]
    return found
