"""Graphs of transformed copies: per sample by parameter, or nearest neighbors over all."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import ConfigError, InputError


def orbit_laplacians(copies, edges, delta: float | None = None) -> np.ndarray:
    """Return the Laplacian of each sample's own graph of copies ([invariance-2006] Eq. 1).

    Parameters
    ----------
    copies : ndarray of shape (n, n_copies, n_features)
        What `fewfold.transforms.virtual_samples` returns.
    edges : int array of shape (n_edges, 2)
        Pairs of neighboring copies, `fewfold.transforms.Transform.edges`.
    delta : float, optional
        Of the weights ``exp(-delta d^2)``; by default `neighbor_delta` of the edges.

    Returns
    -------
    ndarray of shape (n, n_copies, n_copies)
        ``D - W``.

    Examples
    --------
    >>> copies = np.arange(4.0).reshape(1, 4, 1)
    >>> orbit_laplacians(copies, np.array([[0, 1], [1, 2], [2, 3]]))[0].sum(axis=1).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    copies = np.asarray(copies)
    n, n_copies, _ = copies.shape
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    squared = np.empty((n, len(edges)))
    for number, (a, b) in enumerate(edges):
        difference = copies[:, a] - copies[:, b]
        squared[:, number] = np.einsum("ij,ij->i", difference, difference, dtype=np.float64)
    weights = np.exp(-(neighbor_delta(squared) if delta is None else delta) * squared)
    L = np.zeros((n, n_copies, n_copies))
    for number, (a, b) in enumerate(edges):
        w = weights[:, number]
        L[:, a, b] -= w
        L[:, b, a] -= w
        L[:, a, a] += w
        L[:, b, b] += w
    return L


def neighbor_delta(squared) -> float:
    """Return delta, one over the mean squared distance of neighbors: d = bandwidth on average.

    Copies that are all equal (a transform that does nothing) give 1: any weight is as good.
    """
    mean = float(np.mean(squared)) if np.size(squared) else 0.0
    return 1.0 / mean if mean > 0 else 1.0


def node_delta(copies) -> float:
    """Return delta with the bandwidth of the paper: the average distance between the nodes.

    One over the square of the mean distance, over all pairs of copies of one sample.

    Examples
    --------
    >>> node_delta(np.array([[[0.0], [1.0], [2.0]]])) == 1 / (4 / 3) ** 2
    True
    """
    copies = np.asarray(copies, np.float64)
    own = np.einsum("nmd,nmd->nm", copies, copies)
    squared = own[:, :, None] + own[:, None, :] - 2 * copies @ copies.transpose(0, 2, 1)
    a, b = np.triu_indices(copies.shape[1], 1)
    return neighbor_delta(np.sqrt(np.maximum(squared[:, a, b], 0)).mean() ** 2)


def knn_laplacian(nodes, n_neighbors: int = 5) -> sparse.csr_array:
    """Return the Laplacian of the nearest-neighbor graph over all virtual samples.

    The paper's alternative (section 5.1): it also joins copies of different samples, and so
    captures similarity within classes, and noise.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes, n_features)
    n_neighbors : int

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
    """
    from fewfold.graph.neighbors import nearest_neighbors
    from fewfold.linalg.laplacian import laplacian

    n = len(nodes)
    if not 1 <= n_neighbors < n:
        raise InputError(f"n_neighbors={n_neighbors} among {n} nodes; allowed: 1 to {n - 1}.")
    found = nearest_neighbors(nodes, n_neighbors)
    squared = found.distances.astype(np.float64) ** 2
    values = np.exp(-neighbor_delta(squared) * squared)
    start = np.repeat(np.arange(n), found.indices.shape[1])
    W = sparse.csr_array((values.ravel(), (start, found.indices.ravel())), shape=(n, n))
    return laplacian(W.maximum(W.T), "unnormalized")


def data_graph_of(X, settings, image_shape, transform):
    """Return the neighbor graph of rows.

    Parameters
    ----------
    X : array of shape (n, n_features)
    settings : dict, GraphSettings or None
        None: 10 neighbors; of images in the least distance over the copies of one of two rows.
    image_shape : sequence of int or None
    transform : Transform

    Returns
    -------
    NeighborGraph
    """
    from fewfold.graph.build import GraphSettings, build_graph

    if settings is None:
        settings = {"n_neighbors": min(10, len(X) - 1)}
        if image_shape is not None:
            settings |= {
                "metric": "orbit",
                "image_shape": list(image_shape),
                "metric_options": {"transforms": transform, "base": "squared_euclidean"},
            }
    if isinstance(settings, dict):
        settings = GraphSettings.from_dict(settings)
    return build_graph(X, settings.for_images(image_shape))


def data_laplacian(W) -> sparse.csr_array:
    """Return ``D - W`` of a data graph over its mean degree: free of the weights' scale.

    Unlike normalized Laplacians it leaves constant functions free of charge, as those of the
    copies do; the bias of an SVM is one.
    """
    from fewfold.linalg.laplacian import degrees, laplacian

    mean = float(np.mean(degrees(W))) or 1.0
    return sparse.csr_array(laplacian(W, "unnormalized") / mean)


def powered(L, power: int) -> sparse.csr_array:
    """Return a power of a Laplacian: smoother functions.

    With the first power and few labels in many dimensions the smoothest functions are flat with
    a spike at each label; from the second on they are not (Sindhwani's semi-supervised kernel
    takes powers as well).
    """
    if power not in (1, 2, 3):
        raise ConfigError(f"power={power!r} of the graph Laplacian; allowed: 1, 2 and 3.")
    out = L
    for _ in range(power - 1):
        out = sparse.csr_array(out @ L)
    return out


def block_diagonal(L) -> sparse.csr_array:
    """Return per-sample Laplacians (n, m, m) as one sparse matrix (n m, n m)."""
    n, m, _ = L.shape
    columns = np.arange(n * m).reshape(n, 1, m).repeat(m, axis=1)
    starts = np.arange(n * m + 1) * m
    whole = sparse.csr_array((L.flatten(), columns.ravel(), starts), shape=(n * m, n * m))
    whole.eliminate_zeros()
    return whole
