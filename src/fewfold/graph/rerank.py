"""Neighbors under an invariant distance: candidates, then re-ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.graph.all_pairs import closest_first
from fewfold.graph.candidates import candidate_tiles
from fewfold.graph.neighbors import Neighbors, check_count, nearest_neighbors

# Queries whose neighbors are also searched among all rows, to measure the candidates' recall.
RECALL_SAMPLE = 20
# Of the candidates, those that a more expensive form of the metric ranks once more.
FINE_CANDIDATES = 32
# The true neighbors under the finer form are looked for among so many times as many rows.
WIDER = 10
# Bytes of rows in the form that the metric works on, which are in memory together: of digits of
# 28 x 28 pixels, 6656 each, 161 000 rows. Queries that need more of them are cut.
PREPARED_BYTES = 2**30


def find_invariant_neighbors(X, settings, *, query=None, rows=None, progress=None) -> Neighbors:
    """Find neighbors of rows in canonical form and under an invariant metric.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows searched.
    settings : GraphSettings
        ``canonicalize``, ``metric``, ``metric_options``, ``image_shape``, ``candidates``,
        ``candidate_dims``, ``method`` and ``n_neighbors`` are used. ``metric_options`` are the
        metric's, and may hold besides: ``fine``, options of a more expensive form of the metric
        that ranks the best ``fine_candidates`` (default 32) again; and ``recall_sample``, the
        number of queries compared with all rows (default 20, 0: none).
    query : array of shape (n_queries, n_features), optional
        New rows; without it rows of ``X`` are the queries and not their own neighbors.
    rows : slice, optional
        Only these rows of ``X`` are queries. A tile's result is that of the whole search.
    progress : callable, optional
        Called with the number of query rows finished since the last call.

    Returns
    -------
    Neighbors
        Distances are the metric's (the fine one's, if there is one). ``recall`` is the share of
        the neighbors that ranking all rows would give, measured on a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from fewfold.graph.build import GraphSettings
    >>> digits = np.random.default_rng(0).random((20, 64))
    >>> settings = GraphSettings(n_neighbors=3, metric="deformation", image_shape=[8, 8])
    >>> find_invariant_neighbors(digits, settings).indices.shape
    (20, 3)
    """
    X, query = as_array(X), None if query is None else as_array(query)
    form = partial(_canonical, settings=settings)
    if isinstance(settings.metric, str) and settings.metric in ("euclidean", "cosine"):
        return nearest_neighbors(
            form(X), settings.n_neighbors, query=None if query is None else form(query), rows=rows,
            metric=settings.metric, method=settings.method, min_recall=settings.min_recall,
            progress=progress,
        )  # fmt: skip
    n, k = len(X), settings.n_neighbors
    check_count(k, n, n - 1 if query is None else n)
    own = np.arange(n)[rows or slice(0, n)] if query is None else None
    asking = Ranking.of(X, settings, own, query)
    indices = np.empty((asking.n_queries, k), np.int64)
    distances = np.empty((asking.n_queries, k), np.float32)
    for some, found in candidate_tiles(X, settings, asking.metric, form, query=query, rows=rows):
        for part in asking.parts(some, found):
            indices[some[part]], distances[some[part]] = asking.nearest(
                some[part], found[part], k, progress
            )
    return Neighbors(indices, distances, asking.recall(indices))


def as_array(X) -> np.ndarray:
    """Return rows as a dense array."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@dataclass(frozen=True)
class Ranking:
    """Queries, the rows searched, and the metric; few rows are in canonical form at a time.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
    form : callable
        Takes rows to their canonical form.
    own : int64 ndarray, or None
        The rows that are queries themselves; None where ``query`` holds new rows.
    query : ndarray of shape (m, n_features), or None
    metric, fine : metrics of `fewfold.transforms.metrics`
        Of what the first puts first, the second, if there is one, ranks ``n_fine`` again.
    n_fine : int
    sample : int
        How many queries the recall is measured on.
    """

    X: np.ndarray
    form: Callable
    own: np.ndarray | None
    query: np.ndarray | None
    metric: object
    fine: object
    n_fine: int
    sample: int

    @classmethod
    def of(cls, X, settings, own, query=None) -> Ranking:
        """Rank by the metric, and in the canonical form, of a graph's settings."""
        return cls(X, partial(_canonical, settings=settings), own, query, *_metrics_of(settings))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query if self.own is None else self.own)

    def parts(self, some, found):
        """Cut queries, so that what the metric makes of their candidates stays within limits."""
        most = max(1, PREPARED_BYTES // _row_bytes(self.metric, self.form(self.X[:1])))
        todo = [slice(0, len(some))]
        while todo:
            part = todo.pop()
            if part.stop - part.start > 1 and len(self._rows(some[part], found[part])) > most:
                middle = (part.start + part.stop) // 2
                todo += [slice(middle, part.stop), slice(part.start, middle)]
            elif part.stop > part.start:
                yield part

    def _rows(self, some, found):
        """Return the numbers of all rows that some queries and their candidates are."""
        is_needed = np.zeros(len(self.X), bool)
        is_needed[found] = True
        if self.own is not None:
            is_needed[self.own[some]] = True
        return np.flatnonzero(is_needed)

    def nearest(self, some, found, k, progress=None, n_fine=None):
        """Return those of some queries' candidates that are closest, and their distances."""
        if self.fine is None:
            return self._ranked(self.metric, some, found, k, progress)
        n_fine = max(k, n_fine or self.n_fine)
        best, _ = self._ranked(self.metric, some, found, n_fine, progress)
        return self._ranked(self.fine, some, best, k, None)

    def _ranked(self, metric, some, found, n_kept, progress):
        rows = self._rows(some, found)
        place = np.empty(len(self.X), np.int64)
        place[rows] = np.arange(len(rows))
        base = metric.prepare(self.form(self.X[rows]))
        if self.own is None:
            wanted = metric.prepare(self.form(self.query[some]))
        else:
            wanted = metric.take(base, place[self.own[some]])
        distances = metric.distances(wanted, base, place[found], progress)
        if self.own is not None:  # a row among its own candidates stands for none
            distances[found == self.own[some][:, None]] = np.inf
        return closest_first(found, distances, n_kept)

    def recall(self, indices):
        """Return the share of neighbors found, of those that ranking all rows would give."""
        picked = _recall_queries(self.n_queries, len(self.X), self.sample)
        if not len(picked):
            return None
        k = indices.shape[1]
        n_kept = k if self.fine is None else min(WIDER * max(k, self.n_fine), len(self.X) - 1)
        true = np.empty((len(picked), 0), np.int64)
        nearest = np.empty((len(picked), 0), np.float32)
        step = max(1, PREPARED_BYTES // _row_bytes(self.metric, self.form(self.X[:1])))
        rows = self.query[picked] if self.own is None else self.X[self.own[picked]]
        wanted = self.metric.prepare(self.form(rows))
        for start in range(0, len(self.X), step):
            base = self.metric.prepare(self.form(self.X[start : start + step]))
            numbers = np.arange(start, min(start + step, len(self.X)))
            everyone = np.broadcast_to(numbers, (len(picked), len(numbers)))
            distances = self.metric.distances(wanted, base, everyone - start)
            if self.own is not None:
                distances[everyone == self.own[picked][:, None]] = np.inf
            true, nearest = closest_first(
                np.hstack([true, everyone]), np.hstack([nearest, distances]), n_kept
            )
        n_found = 0
        for part in self.parts(picked, true):
            best = true[part]
            if self.fine is not None:
                best, _ = self._ranked(self.fine, picked[part], best, k, None)
            n_found += sum(len(np.intersect1d(a, b)) for a, b in zip(best, indices[picked[part]]))
        return n_found / (len(picked) * k)


def _row_bytes(metric, row):
    """Return the bytes that a row takes in the form that a metric works on."""
    prepared = metric.prepare(row)
    parts = prepared if isinstance(prepared, tuple) else (prepared,)
    return max(1, sum(np.asarray(part).nbytes for part in parts))


def _canonical(X, settings):
    if not settings.canonicalize:
        return np.asarray(X)
    if settings.image_shape is None:
        raise InputError(
            f"canonicalize={list(settings.canonicalize)} needs image_shape, the height and "
            "width of one row seen as an image."
        )
    from fewfold.transforms.canonical import canonicalize

    return canonicalize(X, settings.image_shape, settings.canonicalize)


def _metrics_of(settings):
    from fewfold.transforms.metrics import get_metric

    options = dict(settings.metric_options)
    sample = options.pop("recall_sample", RECALL_SAMPLE)
    finer, n_fine = options.pop("fine", None), options.pop("fine_candidates", FINE_CANDIDATES)
    metric = get_metric(settings.metric, settings.image_shape, options)
    fine = None
    if finer:
        fine = get_metric(settings.metric, settings.image_shape, {**options, **finer})
    return metric, fine, n_fine, sample


def _recall_queries(m, n, sample):
    """Return evenly spaced queries to measure the recall on."""
    # A tile measures its share of the sample: all tiles together cost what one search costs.
    sample = min(m, -(-sample * m // max(n, m)))
    return np.unique(np.linspace(0, m - 1, sample).round().astype(int))
