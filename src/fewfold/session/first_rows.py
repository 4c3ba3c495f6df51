"""Rows to label first when no row has a label (cold start)."""

from __future__ import annotations

import numpy as np

from fewfold.methods.eigenbasis.basis import compute_basis


def rows_to_label_first(graph, count: int, *, seed: int = 0) -> np.ndarray:
    """Return one typical row of each of ``count`` clusters, the largest cluster first.

    Rows are clustered by k-means on the smoothest functions on the graph (spectral clustering);
    from each cluster, take the row of highest density among the half of the cluster
    that is nearest to its center (after TypiClust, Hacohen et al. 2022).

    Parameters
    ----------
    graph : NeighborGraph
    count : int
    seed : int

    Returns
    -------
    int array of shape (min(count, n),)
    """
    from sklearn.cluster import MiniBatchKMeans

    n = graph.W.shape[0]
    count = min(count, n)
    if count < 2 or n < 5:
        return np.argsort(graph.scales, kind="stable")[:count]
    basis = compute_basis(graph, min(count + 1, n - 2), random_state=seed)
    rows = np.asarray(basis["eigenvectors"], dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1)
    model = MiniBatchKMeans(count, n_init=5, random_state=seed, batch_size=4096).fit(rows)
    distance = np.linalg.norm(rows - model.cluster_centers_[model.labels_], axis=1)
    sizes = np.bincount(model.labels_, minlength=count)
    chosen = []
    for cluster in np.argsort(-sizes, kind="stable"):
        inside = np.flatnonzero(model.labels_ == cluster)
        if len(inside):
            near = inside[distance[inside] <= np.median(distance[inside])]
            chosen.append(int(near[np.argmin(graph.scales[near])]))
    return np.array(chosen, dtype=np.int64)
