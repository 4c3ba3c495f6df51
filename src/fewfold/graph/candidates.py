"""Rows that are near enough in Euclidean distance to be worth re-ranking."""

from __future__ import annotations

import numpy as np

from fewfold.graph.neighbors import KeptIndex, nearest_neighbors
from fewfold.graph.settings import GraphSettings, is_approximate
from fewfold.graph.tiles import build_search_index, search_tile

MIN_ROWS_TO_INDEX = 20_000
# Queries whose candidates are in memory together, of many.
TILE_QUERIES = 65_536
# Bytes of float32 rows in memory together, while principal axes are found: 85 598 rows of 784.
_BLOCK_BYTES = 2**28
# A principal axis from more features than this comes from a sketch instead of the covariance.
_MAX_EXACT_FEATURES = 4096


def principal_components(X, n_components: int, *, query=None, form=None, random_state: int = 0):
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
    n, d = X.shape
    if not 0 < n_components < min(n, d):
        return _formed(X, form), None if query is None else _formed(query, form)
    if d > _MAX_EXACT_FEATURES:
        from sklearn.utils.extmath import randomized_svd

        X = _formed(X, form)
        mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
        axes = randomized_svd(X - mean, n_components, random_state=random_state)[2].T
        form_of_rows = None
    else:
        X, form_of_rows, mean, axes = _axes(X, n_components, form)
    axes = np.ascontiguousarray(axes, dtype=np.float32)

    def project(rows, form):
        parts = [(block - mean) @ axes for block in _blocks(rows, form)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    return project(X, form_of_rows), None if query is None else project(query, form)


def _axes(X, n_components, form):
    """Return the mean and the axes; and the rows in their form, if they are a single block."""
    n, d = X.shape
    if n <= _block_rows(d):
        X, form = _formed(X, form), None
    total, second = np.zeros(d), np.zeros((d, d))
    for block in _blocks(X, form):
        total += block.sum(axis=0, dtype=np.float64)
        second += block.T @ block
    mean = (total / n).astype(np.float32)
    covariance = second.astype(np.float32) / n - np.outer(mean, mean)
    axes = np.linalg.eigh(covariance.astype(np.float64))[1][:, ::-1][:, :n_components]
    return X, form, mean, axes


def _block_rows(d):
    return max(1, _BLOCK_BYTES // (4 * d))


def _blocks(X, form):
    step = _block_rows(X.shape[1])
    for start in range(0, max(1, len(X)), step):
        yield _formed(X[start : start + step], form)


def _formed(X, form):
    return np.ascontiguousarray(X if form is None else form(X), dtype=np.float32)


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
