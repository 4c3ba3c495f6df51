"""Searches of all neighbors by fewfold and by other libraries, each tuned to the same recall."""

from __future__ import annotations

import numpy as np

K = 10  # neighbors of a row, itself not counted


def tuned(values, search, true, rows):
    """Return the first value whose search finds 99 % of the true neighbors of some rows."""
    for value in values:
        if recall_of(search(value), true, rows) >= 0.99:
            break
    return value


def recall_of(found, true, rows) -> float:
    """Return the share of the K true neighbors (the row itself left out) that was found."""
    pairs = zip(true, found, rows)
    return np.mean([len(np.intersect1d(a[a != r][:K], b[b != r][:K])) for a, b, r in pairs]) / K


def searches(X, rows, true) -> dict:
    """Return neighbor searches of the rows among themselves, by name, tuned on some rows."""
    import faiss

    from fewfold.graph.neighbors import nearest_neighbors

    def ivf():
        n_lists = int(4 * np.sqrt(len(X)))
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_lists)
        index.train(X[:: max(1, len(X) // (48 * n_lists))])
        index.add(X)

        def some(n_probes):
            index.nprobe = n_probes
            return index.search(X[rows], K + 1)[1]

        tuned((2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128), some, true, rows)
        return index.search(X, K + 1)[1]

    def hnsw():
        index = faiss.IndexHNSWFlat(X.shape[1], 16)
        index.hnsw.efConstruction = 40
        index.add(X)

        def some(ef):
            index.hnsw.efSearch = ef
            return index.search(X[rows], K + 1)[1]

        tuned((12, 16, 24, 32, 48, 64, 96, 128, 256), some, true, rows)
        return index.search(X, K + 1)[1]

    def descent():
        from pynndescent import NNDescent

        # K + 1 with the row itself: the fewest that hold the answer.
        return NNDescent(X, n_neighbors=K + 1, random_state=0).neighbor_graph[0]

    return {
        "fewfold": lambda: nearest_neighbors(X, K, method="approximate").indices,
        "faiss IVF": ivf, "faiss HNSW": hnsw, "pynndescent": descent,
    }  # fmt: skip
