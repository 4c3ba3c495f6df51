"""Rows that are near enough in Euclidean distance to be worth re-ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fewfold.graph.lists import build_index
from fewfold.graph.neighbors import KeptIndex, nearest_neighbors
from fewfold.graph.settings import GraphSettings, is_approximate
from fewfold.graph.tiles import build_search_index, search_tile
from fewfold.linalg.preparation import principal_axes, row_blocks

MIN_ROWS_TO_INDEX = 20_000
# Queries whose candidates are in memory together, of many.
TILE_QUERIES = 65_536
# Bytes of float32 rows in memory together, while principal axes are found: 85 598 rows of 784.
_BLOCK_BYTES = 2**28


@dataclass(frozen=True)
class _InForm:
    """Rows that take their form in float32 when they are read."""

    rows: np.ndarray
    form: Callable | None

    @property
    def shape(self):
        return self.rows.shape

    def __getitem__(self, part: slice) -> np.ndarray:
        rows = self.rows[part]
        return np.ascontiguousarray(rows if self.form is None else self.form(rows), np.float32)


def principal_components(X, n_components: int, *, query=None, form=None):
    """Project rows (and query rows) on the leading principal axes of ``X``.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    n_components : int
        0, or at least the number of features: rows are returned as they are.
    query : ndarray of shape (m, n_features), optional
    form : callable, optional
        Applied to rows before anything else. It is called with blocks of rows, so that not all
        need to be in memory in that form.

    Returns
    -------
    projected, projected_query : float32 arrays (None without ``query``)
    """
    X, query = _InForm(X, form), None if query is None else _InForm(query, form)
    n, d = X.shape
    if not 0 < n_components < min(n, d):
        return X[:], None if query is None else query[:]
    if 4 * n * d <= _BLOCK_BYTES:
        X = _InForm(X[:], None)
    mean, axes, _ = principal_axes(X, n_components)
    mean, axes = mean.astype(np.float32), np.ascontiguousarray(axes, np.float32)

    def project(rows):
        none = np.empty((0, n_components), np.float32)
        return np.concatenate([none, *((block - mean) @ axes for block in row_blocks(rows))])

    return project(X), None if query is None else project(query)


def candidate_tiles(X, settings, metric, form, *, query=None, rows=None):
    """Yield the candidates of some queries after another: those that share candidates together.

    Parameters
    ----------
    X, query : arrays of shape (n, n_features), (m, n_features)
    settings : GraphSettings
    metric : a metric of `fewfold.transforms.metrics`
        With transformed copies, a row is as close as its closest copy.
    form : callable
        See `principal_components`.
    rows : slice, optional

    Yields
    ------
    positions : int64 ndarray of shape (t,)
        Which of the queries; each is in one tile.
    found : int64 ndarray of shape (t, candidates)
    """
    n = len(X)
    count = max(settings.candidates, settings.n_neighbors)
    # Below this an index costs more than it saves.
    method = settings.method if n >= MIN_ROWS_TO_INDEX else "exact"
    m = len(np.arange(n)[rows or slice(0, n)]) if query is None else len(query)
    if query is None and m == n and is_approximate(method, n) and not hasattr(metric, "copies"):
        points, _ = principal_components(X, settings.candidate_dims, form=form)
        search = GraphSettings(n_neighbors=min(count, n - 1), method=method)
        index = build_search_index(points, search)
        del points
        # All pairs are compared at once: a tile of them would compare each pair twice.
        n_tiles = 1 if index.lists is None else -(-n // TILE_QUERIES)
        for tile in range(n_tiles):
            positions, found = search_tile(index, search, tile, n_tiles)
            if len(positions):
                yield positions, found.indices
        return
    found, order = _all_candidates(X, settings, metric, form, count, method, query, rows)
    for start in range(0, m, TILE_QUERIES):
        positions = order[start : start + TILE_QUERIES]
        yield positions, found[positions]


def search_order(X, settings, form):
    """Return an order of all rows in which rows that are near each other follow."""
    points, _ = principal_components(X, settings.candidate_dims, form=form)
    return build_index(points).rows


def _all_candidates(X, settings, metric, form, count, method, query, rows):
    """Return the candidates of all queries, and an order of these in which near ones follow."""
    n = len(X)
    if not hasattr(metric, "copies"):
        points, new = principal_components(X, settings.candidate_dims, query=query, form=form)
        count = min(count, n - 1 if query is None else n)
        kept = KeptIndex()
        found = nearest_neighbors(
            points, count, query=new, rows=rows, method=method, kept=kept
        ).indices  # fmt: skip
        if kept.index is None:
            return found, np.arange(len(found))
        return found, np.argsort(np.argsort(kept.index.rows)[found[:, 0]], kind="stable")
    X, query = form(X), None if query is None else form(query)
    own = np.arange(n)[rows or slice(0, n)] if query is None else None
    images = metric.prepare(X[own] if query is None else query)
    count = min(count, n - 1 if query is None else n)
    # One more is asked for, since a row finds its own copies.
    found, squared = [], []
    for copy in metric.copies(images):
        points, new = principal_components(X, settings.candidate_dims, query=copy)
        near = nearest_neighbors(points, min(count + 1, n), query=new, method=method)
        found.append(near.indices)
        squared.append(near.distances)
    found = _merge(np.hstack(found), np.hstack(squared), own, count)
    return found, np.arange(len(found))


def _merge(found, squared, own, count):
    """Keep each row's closest distinct candidates, itself left out."""
    if own is not None:
        squared = np.where(found == own[:, None], np.inf, squared)
    order = np.lexsort((squared, found), axis=1)
    found = np.take_along_axis(found, order, 1)
    squared = np.take_along_axis(squared, order, 1)
    repeated = np.zeros(found.shape, bool)
    repeated[:, 1:] = found[:, 1:] == found[:, :-1]
    squared[repeated] = np.inf
    keep = np.argsort(squared, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(found, keep, 1)
