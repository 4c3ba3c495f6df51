"""Speed rows of neighbors and eigenvectors."""

from __future__ import annotations

import numpy as np
from row_inputs import OURS, THREADS, Row, points, sized
from scipy import sparse

K = 8


def neighbor_input(source, n, dims):
    X, _ = points(source, n, dims)
    rows = np.random.default_rng(0).choice(n, min(n, 500), replace=False)
    Z = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    squares = np.einsum("ij,ij->i", Z, Z)
    d2 = squares[rows, None] + squares - 2 * Z[rows] @ Z.T
    d2[np.arange(len(rows)), rows] = np.inf
    return {"X": X, "rows": rows, "true": np.argpartition(d2, K, axis=1)[:, :K]}


def recall(data, found):
    """Share of the true neighbors found; ``found`` leaves out the row itself."""
    rows, true = data["rows"], data["true"]
    return sum(len(np.intersect1d(a, b)) for a, b in zip(true, found[rows])) / true.size


def drop_self(found):
    """Leave out each row's own number, or the last where it is not there."""
    keep = found != np.arange(len(found))[:, None]
    keep[keep.all(axis=1), -1] = False
    return found[keep].reshape(len(found), -1)[:, :K]


def our_neighbors(method):
    def contender(data):
        from fewfold.graph.neighbors import nearest_neighbors

        X = data["X"]
        nearest_neighbors(X[:2000], K, method=method)
        return (
            lambda: nearest_neighbors(X, K, method=method),
            lambda found: recall(data, found.indices),
        )

    return contender


def sklearn_neighbors(data):
    from sklearn.neighbors import NearestNeighbors

    X = data["X"]

    def work(X=X):
        model = NearestNeighbors(n_neighbors=K + 1, algorithm="brute", n_jobs=THREADS).fit(X)
        return model.kneighbors(X, return_distance=True)[1]

    work(X[:2000])
    return work, lambda found: recall(data, drop_self(found))


def pynndescent_neighbors(data):
    from pynndescent import NNDescent

    X = data["X"]

    def work(X=X):
        return NNDescent(X, n_neighbors=16, random_state=0, n_jobs=THREADS).neighbor_graph[0]

    work(X[:5000])  # compiles: reported as the time to get ready
    return work, lambda found: recall(data, drop_self(found))


def faiss_neighbors(data):
    import faiss

    X = data["X"]

    def work():
        index = faiss.index_factory(X.shape[1], "IVF512,Flat")
        index.train(X)
        index.add(X)
        index.nprobe = 24
        return index.search(X, K + 1)[1]

    return work, lambda found: recall(data, drop_self(found))


# ---------------------------------------------------------------- eigenvectors


def graph_input(source, n, dims, p):
    from fewfold.graph.build import build_graph

    W = build_graph(points(source, n, dims)[0], n_neighbors=K, weights="binary").W
    return {"data": W.data, "indices": W.indices, "indptr": W.indptr, "p": p}


def read_graph(data):
    from fewfold.linalg.laplacian import laplacian

    n = len(data["indptr"]) - 1
    W = sparse.csr_array((data["data"], data["indices"], data["indptr"]), shape=(n, n))
    return W, laplacian(W, "symmetric"), int(data["p"])


def residual(L, V):
    """Largest residual of unit vectors, each with its Rayleigh quotient."""
    V = V / np.linalg.norm(V, axis=0)
    LV = L @ V
    return float(np.linalg.norm(LV - V * np.einsum("ij,ij->j", V, LV), axis=0).max())


def our_eigenvectors(data):
    from fewfold.linalg.eigensolver import laplacian_eigenpairs

    W, L, p = read_graph(data)
    ring = sparse.eye_array(3000, k=1) + sparse.eye_array(3000, k=2)
    laplacian_eigenpairs(sparse.csr_array(ring + ring.T), 20, n_jobs=THREADS)  # compiles
    return (
        lambda: laplacian_eigenpairs(W, p, "symmetric", n_jobs=THREADS).eigenvectors,
        lambda V: residual(L, V),
    )


def scipy_eigenvectors(data):
    from scipy.sparse.linalg import eigsh

    _, L, p = read_graph(data)
    shifted = sparse.csr_matrix(2.0 * sparse.eye_array(L.shape[0]) - L)
    start = np.random.default_rng(0).standard_normal(L.shape[0])
    return (
        lambda: eigsh(shifted, k=p, which="LA", tol=1e-4, v0=start)[1],
        lambda V: residual(L, V),
    )


def sklearn_eigenvectors(data):
    from sklearn.manifold import spectral_embedding

    W, L, p = read_graph(data)
    W = sparse.csr_matrix(W)
    root = np.sqrt(np.asarray(W.sum(axis=1)).ravel())

    def work():
        # Its ARPACK factorises the matrix, which fills in: a minute at least on 60 000 nodes.
        return spectral_embedding(
            W, n_components=p, eigen_solver="lobpcg", drop_first=False, random_state=0
        )

    return work, lambda V: residual(L, V * root[:, None])


ROWS = {
    "neighbors_exact": Row(
        "8 nearest neighbors, exact", "recall", neighbor_input,
        {"quick": sized("curved", 12_000, 100), "full": sized("mnist", 60_000, 100)},
        {OURS: our_neighbors("exact"), "scikit-learn brute": sklearn_neighbors},
    ),
    "neighbors_exact_784": Row(
        "8 nearest neighbors of pixels, exact", "recall", neighbor_input,
        {"full": sized("mnist", 60_000, 784)},
        {OURS: our_neighbors("exact"), "scikit-learn brute": sklearn_neighbors},
    ),
    "neighbors_approximate": Row(
        "8 nearest neighbors, approximate", "recall", neighbor_input,
        {"quick": sized("curved", 20_000, 100), "full": sized("mnist", 60_000, 100)},
        {OURS: our_neighbors("approximate"), "pynndescent": pynndescent_neighbors,
         "faiss IVF512, 24 probes": faiss_neighbors},
    ),
    "neighbors_approximate_784": Row(
        "8 nearest neighbors of pixels, approximate", "recall", neighbor_input,
        {"full": sized("mnist", 60_000, 784)},
        {OURS: our_neighbors("approximate"), "pynndescent": pynndescent_neighbors,
         "faiss IVF512, 24 probes": faiss_neighbors},
    ),
    "eigenvectors_20": Row(
        "few smallest eigenvectors of the graph Laplacian", "largest residual", graph_input,
        {"quick": sized("curved", 8000, 50, p=20), "full": sized("mnist", 60_000, 100, p=20)},
        {OURS: our_eigenvectors, "scipy eigsh": scipy_eigenvectors,
         "scikit-learn spectral_embedding (lobpcg)": sklearn_eigenvectors},
    ),
    "eigenvectors_200": Row(
        "many smallest eigenvectors of the graph Laplacian", "largest residual", graph_input,
        {"quick": sized("curved", 8000, 50, p=100), "full": sized("mnist", 60_000, 100, p=200)},
        {OURS: our_eigenvectors, "scipy eigsh": scipy_eigenvectors},
    ),
}  # fmt: skip
