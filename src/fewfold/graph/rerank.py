"""Neighbors under a distance that ignores what does not matter: candidates, then re-ranking."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.graph.neighbors import Neighbors, nearest_neighbors

# Queries whose neighbors are also searched among all rows, to measure the candidates' recall.
RECALL_SAMPLE = 20
# Of the candidates, those that a more expensive form of the metric ranks once more.
FINE_CANDIDATES = 32
MIN_ROWS_TO_INDEX = 20_000
# A principal axis from more features than this comes from a sketch instead of the covariance.
_MAX_EXACT_FEATURES = 4096


def principal_components(X, n_components: int, *, query=None, random_state: int = 0):
    """Project rows (and query rows) on the leading principal axes of ``X``.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    n_components : int
        0, or at least the number of features: rows are returned as they are.
    query : ndarray of shape (m, n_features), optional

    Returns
    -------
    projected, projected_query : float32 arrays (None without ``query``)
    """
    X = np.ascontiguousarray(X, dtype=np.float32)
    query = None if query is None else np.ascontiguousarray(query, dtype=np.float32)
    n, d = X.shape
    if not 0 < n_components < min(n, d):
        return X, query
    mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
    if d <= _MAX_EXACT_FEATURES:
        covariance = X.T @ X / n - np.outer(mean, mean)
        axes = np.linalg.eigh(covariance.astype(np.float64))[1][:, ::-1][:, :n_components]
    else:
        from sklearn.utils.extmath import randomized_svd

        axes = randomized_svd(X - mean, n_components, random_state=random_state)[2].T
    axes = np.ascontiguousarray(axes, dtype=np.float32)
    return (X - mean) @ axes, None if query is None else (query - mean) @ axes


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
        the metric's true neighbors, by brute force on a sample, that were among the
        candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from fewfold.graph.build import GraphSettings
    >>> digits = np.random.default_rng(0).random((20, 64))
    >>> settings = GraphSettings(n_neighbors=3, metric="deformation", image_shape=[8, 8])
    >>> find_invariant_neighbors(digits, settings).indices.shape
    (20, 3)
    """
    if sparse.issparse(X):
        X, query = X.toarray(), None if query is None else query.toarray()
    X = _canonical(X, settings)
    query = None if query is None else _canonical(query, settings)
    if isinstance(settings.metric, str) and settings.metric in ("euclidean", "cosine"):
        return nearest_neighbors(
            X, settings.n_neighbors, query=query, rows=rows, metric=settings.metric,
            method=settings.method, min_recall=settings.min_recall, progress=progress,
        )  # fmt: skip
    metric, fine, n_fine, sample = _metrics_of(settings)
    n, k = len(X), settings.n_neighbors
    available = n - 1 if query is None else n
    if not 1 <= k <= available:
        raise InputError(
            f"n_neighbors={k} with {n} samples: allowed are 1 to {available}. "
            "Lower n_neighbors or give more samples."
        )
    found = find_candidates(X, settings, metric, query=query, rows=rows)
    own = np.arange(n)[rows or slice(0, n)] if query is None else None
    indices, distances, recall = _ranked(
        metric, X, query, own, found, k if fine is None else max(k, n_fine), k, sample, progress
    )
    if fine is not None:
        indices, distances, _ = _ranked(fine, X, query, own, indices, k, k, 0, None)
    return Neighbors(indices, distances, recall)


def _ranked(metric, X, query, own, found, n_kept, k, sample, progress):
    """Rank candidates by a metric; measure the recall of its ``k`` nearest."""
    base = metric.prepare(X)
    wanted = metric.take(base, own) if query is None else metric.prepare(query)
    distances = metric.distances(wanted, base, found, progress)
    indices, distances = _closest(found, distances, n_kept)
    recall = _measure_recall(metric, wanted, base, own, indices[:, :k], sample, len(X))
    return indices, distances, recall


def find_candidates(X, settings, metric, *, query=None, rows=None) -> np.ndarray:
    """Return the rows that are close enough in Euclidean distance to be worth re-ranking.

    For a metric with transformed copies, a row is as close as its closest copy.

    Returns
    -------
    ndarray of shape (n_queries, candidates), int64
    """
    n = len(X)
    count = max(settings.candidates, settings.n_neighbors)
    # Below this an index costs more than it saves.
    method = settings.method if n >= MIN_ROWS_TO_INDEX else "exact"
    if not hasattr(metric, "copies"):
        points, new = principal_components(X, settings.candidate_dims, query=query)
        count = min(count, n - 1 if query is None else n)
        return nearest_neighbors(points, count, query=new, rows=rows, method=method).indices
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
    return _merge(np.hstack(found), np.hstack(squared), own, count)


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


def _closest(found, distances, k):
    # Equal distances are ordered by row number, so that the result does not depend on threads.
    order = np.lexsort((found, distances), axis=1)[:, :k]
    return np.take_along_axis(found, order, 1), np.take_along_axis(distances, order, 1)


def _measure_recall(metric, wanted, base, own, indices, sample, n):
    """Compare the neighbors of evenly spaced queries with those found among all rows."""
    m = len(indices)
    # A tile measures its share of the sample: all tiles together cost what one search costs.
    sample = min(m, -(-sample * m // max(n, m)))
    if sample == 0:
        return None
    picked = np.unique(np.linspace(0, m - 1, sample).round().astype(int))
    everyone = np.broadcast_to(np.arange(n), (len(picked), n))
    distances = metric.distances(metric.take(wanted, picked), base, everyone)
    if own is not None:
        distances[np.arange(len(picked)), own[picked]] = np.inf
    true, _ = _closest(everyone, distances, indices.shape[1])
    return sum(len(np.intersect1d(a, b)) for a, b in zip(true, indices[picked])) / true.size
