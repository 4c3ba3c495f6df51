"""From rows to a weighted neighbor graph, and from new rows to their place in it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from fewfold.exceptions import GraphWarning, InputError
from fewfold.graph.neighbors import KeptIndex, Neighbors, nearest_neighbors
from fewfold.graph.settings import GraphSettings
from fewfold.graph.weights import (
    as_matrix,
    directed_weights,
    heat_bandwidth,
    local_scales,
    symmetrize,
)
from fewfold.linalg.laplacian import components


@dataclass(frozen=True)
class NeighborGraph:
    """A weighted neighbor graph, with what is needed to attach new points to it.

    Attributes
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights, empty diagonal.
    neighbors : Neighbors
    settings : GraphSettings
    scales : ndarray of shape (n,)
        Each point's distance to its last neighbor.
    bandwidth : float
        Width of the heat kernel (used by ``weights="heat"`` only).
    n_components : int
    component : ndarray of shape (n,)
        Each point's connected component, 0 the largest.
    isolated : ndarray
        Points without any edge.
    kept : KeptIndex
        What searches for new rows prepare once.
    """

    W: sparse.csr_array
    neighbors: Neighbors
    settings: GraphSettings
    scales: np.ndarray
    bandwidth: float
    n_components: int
    component: np.ndarray
    isolated: np.ndarray
    kept: KeptIndex = field(default_factory=KeptIndex, compare=False, repr=False)


def find_neighbors(X, settings: GraphSettings, *, query=None, rows=None, progress=None, kept=None):
    """Search neighbors as the settings say; arguments as in `nearest_neighbors`."""
    if settings.is_plain:
        return nearest_neighbors(
            X,
            settings.n_neighbors,
            query=query,
            rows=rows,
            metric=settings.metric,
            method=settings.method,
            min_recall=settings.min_recall,
            progress=progress,
            kept=kept,
        )
    # Needs compiled code and transforms: loaded only by graphs that ask for it.
    from fewfold.graph.rerank import find_invariant_neighbors

    return find_invariant_neighbors(X, settings, query=query, rows=rows, progress=progress)


def graph_from_neighbors(neighbors: Neighbors, settings: GraphSettings) -> NeighborGraph:
    """Weigh and symmetrize found neighbors, and look at the graph's components."""
    n = len(neighbors.indices)
    neighbors = neighbors.first(min(settings.n_neighbors, neighbors.indices.shape[1]))
    bandwidth = settings.bandwidth or heat_bandwidth(neighbors)
    scales = local_scales(neighbors)
    values = directed_weights(neighbors, settings.weights, bandwidth=bandwidth)
    W = symmetrize(as_matrix(neighbors, values, n), settings.symmetrize)
    count, component = components(W)
    isolated = np.flatnonzero(np.diff(W.indptr) == 0)
    if len(isolated):
        warnings.warn(
            f"{len(isolated)} of {n} samples have no neighbor in the graph (first: row "
            f"{isolated[0]}). Raise n_neighbors, or use symmetrize: union.",
            GraphWarning,
            stacklevel=2,
        )
    return NeighborGraph(W, neighbors, settings, scales, bandwidth, count, component, isolated)


def build_graph(X, settings: GraphSettings | dict | None = None, *, progress=None, **changes):
    """Build the neighbor graph of the rows of ``X``.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    settings : GraphSettings or dict of its fields, optional
    progress : callable, optional
        Called with the number of rows finished.
    **changes
        Settings that differ from ``settings`` (or from the defaults).

    Returns
    -------
    NeighborGraph

    Examples
    --------
    >>> import numpy as np
    >>> graph = build_graph(np.arange(6.0)[:, None], n_neighbors=2)
    >>> graph.n_components, graph.W.shape
    (1, (6, 6))
    """
    if not isinstance(settings, GraphSettings):
        settings = GraphSettings.from_dict(settings or {})
    settings = replace(settings, **changes).with_user_functions()
    found = find_neighbors(X, settings, progress=progress)
    if settings.explores(X.shape[0]):
        from fewfold.graph.exploring import explore

        found = explore(X, found, settings)
    return graph_from_neighbors(found, settings)


def given_weights(graph, n_rows: int) -> sparse.csr_array:
    """Return the weights of a graph that was given for some rows, refusing one of other rows.

    Parameters
    ----------
    graph : NeighborGraph or sparse array
    n_rows : int

    Returns
    -------
    csr_array of shape (n_rows, n_rows)

    Examples
    --------
    >>> given_weights(sparse.eye_array(3), 3).shape
    (3, 3)
    """
    W = getattr(graph, "W", graph)
    if not isinstance(W, sparse.csr_array):  # the same object for the same graph
        W = sparse.csr_array(W)
    if W.shape != (n_rows, n_rows):
        raise InputError(
            f"The graph given has shape {W.shape}, X has {n_rows} rows. Give a graph of all rows, "
            "labeled and unlabeled."
        )
    return W


def extension_weights(graph: NeighborGraph, neighbors: Neighbors) -> sparse.csr_array:
    """Weigh the neighbors that new points have among a graph's points.

    Returns
    -------
    csr_array of shape (n_new, n)
        Weights by the graph's own rule, bandwidth and local scales.
    """
    values = directed_weights(
        neighbors,
        graph.settings.weights,
        bandwidth=graph.bandwidth,
        scales=graph.scales,
    )
    # A point far from everything still gets its relative weights: scale before exp underflows.
    weak = values.max(axis=1) < 1e-200
    values[weak] = 1.0
    return as_matrix(neighbors, values, graph.W.shape[0])


def extend_graph(graph: NeighborGraph, X, X_new, *, progress=None) -> sparse.csr_array:
    """Attach new rows to a graph built on ``X``: search, then `extension_weights`.

    What a search over many rows prepares is kept with the graph for the next batch of new rows.
    """
    kept = graph.kept
    neighbors = find_neighbors(X, graph.settings, query=X_new, progress=progress, kept=kept)
    return extension_weights(graph, neighbors)
