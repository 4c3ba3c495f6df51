"""Speed rows: one input, ours and the peers doing the same work, and a figure that shows it.

A row prepares arrays once. Each contender is a function ``(data) -> (work, judge)``: what it does
before returning (imports, compilation, warming up) is outside of the clock, ``work()`` inside, and
``judge(result)`` gives the figure of quality. `bench.py` runs each in a process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pipeline_row
from scipy import sparse

THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))
OURS = "fewfold"


@dataclass(frozen=True)
class Row:
    """One comparison: how its input is made, who takes part, and what quality means."""

    title: str
    quality: str
    prepare: Callable[..., dict]
    sizes: dict[str, dict]
    contenders: dict[str, Callable]


# ---------------------------------------------------------------- inputs


def curved_points(n, dims, n_latent=6, n_classes=10, seed=0):
    """Points on a smooth surface of few dimensions in many, in clusters: no download needed."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    Z = rng.normal(0, 1, (n_classes, n_latent))[y] + rng.normal(0, 0.5, (n, n_latent))
    X = np.cos(Z @ rng.normal(0, 0.7, (n_latent, dims)) + rng.uniform(0, 6.3, dims))
    X += rng.normal(0, 0.02, X.shape)
    return X.astype(np.float32), y


def mnist_points(n, dims):
    from fewfold.datasets import load
    from fewfold.prepare import fit_preparation

    data = load("mnist")
    rows = np.flatnonzero(~data.test_mask)[:n]
    X = np.asarray(data.X[rows], np.float32) / 255
    if dims < X.shape[1]:
        X = np.ascontiguousarray(fit_preparation(X, pca=dims).transform(X), np.float32)
    return X, np.asarray(data.y[rows], np.int64)


def points(source, n, dims):
    return (mnist_points if source == "mnist" else curved_points)(n, dims)


# ---------------------------------------------------------------- neighbours

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
    """Share of the true neighbours found; ``found`` leaves out the row itself."""
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
    from fewfold.graph.laplacian import laplacian

    n = len(data["indptr"]) - 1
    W = sparse.csr_array((data["data"], data["indices"], data["indptr"]), shape=(n, n))
    return W, laplacian(W, "symmetric"), int(data["p"])


def residual(L, V):
    """Largest residual of unit vectors, each with its Rayleigh quotient."""
    V = V / np.linalg.norm(V, axis=0)
    LV = L @ V
    return float(np.linalg.norm(LV - V * np.einsum("ij,ij->j", V, LV), axis=0).max())


def our_eigenvectors(data):
    from fewfold.eigensolver import laplacian_eigenpairs

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


# ---------------------------------------------------------------- size-constrained k-means


def cluster_input(n, k):
    rng = np.random.default_rng(0)
    sizes = np.maximum(1, n * 0.5 ** np.arange(1, k + 1)).astype(int)
    centers = rng.normal(0, 1.5, (k, 4))
    V = np.repeat(centers, sizes, axis=0) + rng.normal(size=(sizes.sum(), 4))
    return {"V": V, "k": k, "least": int(0.7 * len(V) / k)}


def our_kmeans(data):
    from fewfold.multimanifold.clustering import constrained_kmeans

    V, k, least = data["V"], int(data["k"]), int(data["least"])
    unlabelled = np.zeros(len(V), bool)
    constrained_kmeans(V[:200], k, unlabelled[:200], 0, 20, n_restarts=1)
    return (
        lambda: constrained_kmeans(V, k, unlabelled, 0, least, n_restarts=5, random_state=0),
        lambda found: found.objective / len(V),
    )


def peer_kmeans(data):
    from k_means_constrained import KMeansConstrained

    V, k, least = data["V"], int(data["k"]), int(data["least"])

    def work(V=V, least=least):
        return KMeansConstrained(
            k, size_min=least, n_init=5, max_iter=100, tol=0, random_state=0, n_jobs=THREADS
        ).fit(V)

    work(V[:200], 20)
    return work, lambda model: float(model.inertia_) / len(V)


# ---------------------------------------------------------------- gradients of embeddings

N_GRADIENTS = 5


def embedding_input(n, d):
    from scipy.spatial.distance import squareform

    rng = np.random.default_rng(0)
    X, _ = curved_points(n, 20)
    d2 = ((X[:, None, :1] - X[None, :, :1]) ** 2)[..., 0] + 0.1
    P = np.exp(-d2)
    np.fill_diagonal(P, 0)
    P /= P.sum(axis=1, keepdims=True)
    joint = P + P.T
    return {
        "P": P,
        "joint": squareform(joint / joint.sum(), checks=False),
        "Y": rng.normal(0, 0.5, (n, d)),
    }


def relative_gap(found, exact):
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def our_gradient(data):
    from fewfold.mbed.cost import sne_term
    from fewfold.mbed.gradient import DenseSNE, workers

    P, Y = data["P"], data["Y"]
    context = workers(THREADS)
    sne = DenseSNE(P, context.__enter__())
    sne(Y)

    def work(context=context):  # the context lives as long as the work
        for _ in range(N_GRADIENTS):
            gradient = sne(Y)[1]
        return gradient

    return work, lambda gradient: relative_gap(gradient, sne_term(Y, P)[1])


def sklearn_gradient(data):
    from sklearn.manifold._t_sne import _kl_divergence

    joint, Y = data["joint"], data["Y"]
    n, d = Y.shape
    _kl_divergence(Y.ravel(), joint, max(d - 1, 1), n, d)

    def work():
        for _ in range(N_GRADIENTS):
            gradient = _kl_divergence(Y.ravel(), joint, max(d - 1, 1), n, d)[1]
        return gradient.reshape(n, d)

    return work, lambda gradient: relative_gap(gradient, plain_tsne_gradient(Y, joint))


def plain_tsne_gradient(Y, joint):
    """scikit-learn's formula; for one degree of freedom it is the gradient of t-SNE."""
    from scipy.spatial.distance import squareform

    dof = max(Y.shape[1] - 1, 1)
    norms = (Y**2).sum(axis=1)
    Q = 1 + np.maximum(norms[:, None] + norms - 2 * Y @ Y.T, 0) / dof
    Q **= -(dof + 1) / 2
    np.fill_diagonal(Q, 0)
    R = (squareform(joint) - Q / Q.sum()) * Q
    return 2 * (dof + 1) / dof * (R.sum(axis=1)[:, None] * Y - R @ Y)


# ---------------------------------------------------------------- kernel machines


def labeled_input(source, n, dims, n_labeled):
    if source == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X = (X / 16).astype(np.float32)
    else:
        X, y = points(source, n, dims)
    labeled = np.random.default_rng(0).choice(len(X), n_labeled, replace=False)
    return {"X": X, "y": y.astype(np.int64), "labeled": labeled}


def error_of(data):
    hidden = np.setdiff1d(np.arange(len(data["y"])), data["labeled"])
    return lambda labels: 100 * float(np.mean(labels[hidden] != data["y"][hidden]))


def our_svm(data):
    from types import SimpleNamespace

    from fewfold.kernels import FeatureKernel
    from fewfold.learners import kernel_svm
    from fewfold.training import Inputs

    X, y, labeled = data["X"], data["y"], data["labeled"]
    rows = SimpleNamespace(X=X, X_new=None)

    def work(labeled=labeled):
        kernel = FeatureKernel(rows, {}, {"type": "rbf", "gamma": "cv"})
        kernel.all_rows = kernel.rows  # what the kernel file offers, without the file
        inputs = Inputs(X, kernel=kernel)
        return kernel_svm(
            inputs, labeled, y[labeled], n_classes=int(y.max()) + 1, seed=0, settings={}
        ).labels

    work(labeled[:100])
    return work, error_of(data)


def sklearn_svm(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    from fewfold.kernels import median_gamma
    from fewfold.learners import folds_for

    X, y, labeled = data["X"], data["y"], data["labeled"]

    def work(labeled=labeled):
        gammas = median_gamma(X) * np.array([0.3, 1, 3, 10])
        grid = {"gamma": gammas, "C": [1.0, 10.0, 100.0]}
        folds = folds_for(y[labeled], 0)
        search = GridSearchCV(SVC(cache_size=500), grid, cv=folds, n_jobs=THREADS)
        return search.fit(X[labeled], y[labeled]).predict(X)

    work(labeled[:100])
    return work, error_of(data)


# ---------------------------------------------------------------- atlas kernel

TILE = 1000


def atlas_input(source, n, dims, n_dims):
    from fewfold.atlas import fit_atlas

    X, y = points(source, n, dims)
    atlas = fit_atlas(X, {"n_dims": n_dims, "finer": None})  # one atlas, one kernel, as published
    return {"X": X, "y": y} | {f"atlas_{name}": value for name, value in atlas.items()}


def nearest_error(data, first_rows):
    """Error of 1-NN by kernel value, the first 1000 rows labelled."""
    y = data["y"]
    nearest = first_rows[:, TILE:].argmax(axis=0)
    return 100 * float(np.mean(y[:TILE][nearest] != y[TILE:]))


def our_atlas_kernel(data):
    from fewfold.atlas import atlas_kernel_rows, encode, kernel_scales
    from fewfold.atlas.encoding import take_rows

    X = data["X"]
    atlas = {k[6:]: v for k, v in data.items() if k.startswith("atlas_")}

    def work(n=None):
        n = n or len(X)
        code = encode(X[:n], atlas)
        gamma, sigma = kernel_scales(code, len(atlas["means"]))
        first = None
        for start in range(0, n, TILE):
            rows = take_rows(code, np.arange(start, min(start + TILE, n)))
            tile = atlas_kernel_rows(rows, code, gamma, sigma)
            first = tile if first is None else first
        return first

    work(500)
    return work, lambda first: nearest_error(data, first)


def dense_kernel(data):
    from sklearn.metrics.pairwise import rbf_kernel

    from fewfold.kernels import median_gamma

    X = data["X"]
    gamma = median_gamma(X)

    def work(n=None):
        n = n or len(X)
        tiles = (rbf_kernel(X[s : s + TILE], X[:n], gamma=gamma) for s in range(0, n, TILE))
        first = next(tiles)
        for _ in tiles:
            pass
        return first

    work(500)
    return work, lambda first: nearest_error(data, first)


# ---------------------------------------------------------------- all rows


def _sized(source, n, dims, **more):
    return {"source": source, "n": n, "dims": dims, **more}


ROWS = {
    "neighbors_exact": Row(
        "8 nearest neighbours, exact", "recall", neighbor_input,
        {"quick": _sized("curved", 12_000, 100), "full": _sized("mnist", 60_000, 100)},
        {OURS: our_neighbors("exact"), "scikit-learn brute": sklearn_neighbors},
    ),
    "neighbors_exact_784": Row(
        "8 nearest neighbours of pixels, exact", "recall", neighbor_input,
        {"full": _sized("mnist", 60_000, 784)},
        {OURS: our_neighbors("exact"), "scikit-learn brute": sklearn_neighbors},
    ),
    "neighbors_approximate": Row(
        "8 nearest neighbours, approximate", "recall", neighbor_input,
        {"quick": _sized("curved", 20_000, 100), "full": _sized("mnist", 60_000, 100)},
        {OURS: our_neighbors("approximate"), "pynndescent": pynndescent_neighbors,
         "faiss IVF512, 24 probes": faiss_neighbors},
    ),
    "neighbors_approximate_784": Row(
        "8 nearest neighbours of pixels, approximate", "recall", neighbor_input,
        {"full": _sized("mnist", 60_000, 784)},
        {OURS: our_neighbors("approximate"), "pynndescent": pynndescent_neighbors,
         "faiss IVF512, 24 probes": faiss_neighbors},
    ),
    "eigenvectors_20": Row(
        "20 smallest eigenvectors of the graph Laplacian", "largest residual", graph_input,
        {"quick": _sized("curved", 8000, 50, p=20), "full": _sized("mnist", 60_000, 100, p=20)},
        {OURS: our_eigenvectors, "scipy eigsh": scipy_eigenvectors,
         "scikit-learn spectral_embedding (lobpcg)": sklearn_eigenvectors},
    ),
    "eigenvectors_200": Row(
        "200 smallest eigenvectors", "largest residual", graph_input,
        {"quick": _sized("curved", 8000, 50, p=100), "full": _sized("mnist", 60_000, 100, p=200)},
        {OURS: our_eigenvectors, "scipy eigsh": scipy_eigenvectors},
    ),
    "constrained_kmeans": Row(
        "k-means with a least size of each part, 5 starts", "inertia per point", cluster_input,
        {"quick": {"n": 2000, "k": 5}, "full": {"n": 20_000, "k": 5}},
        {OURS: our_kmeans, "k-means-constrained": peer_kmeans},
    ),
    "gradient": Row(
        f"{N_GRADIENTS} exact gradients of an embedding (SNE; t-SNE)",
        "distance from the formula in float64", embedding_input,
        {"quick": {"n": 1500, "d": 10}, "full": {"n": 5000, "d": 10}},
        {OURS: our_gradient, "scikit-learn exact t-SNE": sklearn_gradient},
    ),
    "kernel_svm": Row(
        "RBF SVM, 12 settings in 5 folds, then all rows predicted", "error, %", labeled_input,
        {"quick": _sized("digits", 1797, 64, n_labeled=600),
         "full": _sized("mnist", 20_000, 784, n_labeled=1500)},
        {OURS: our_svm, "scikit-learn GridSearchCV(SVC)": sklearn_svm},
    ),
    "atlas_kernel": Row(
        "kernel of all pairs: atlas (with encoding) and dense RBF", "error of 1-NN, %", atlas_input,
        {"quick": _sized("curved", 4000, 784, n_dims=6),
         "full": _sized("mnist", 10_000, 784, n_dims=30)},
        {OURS: our_atlas_kernel, "scikit-learn rbf_kernel": dense_kernel},
    ),
    **pipeline_row.rows(Row, OURS),
}  # fmt: skip
