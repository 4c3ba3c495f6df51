"""Speed rows of what comes after the graph: clusters, embeddings, kernels and machines."""

from __future__ import annotations

import numpy as np
from row_inputs import OURS, THREADS, Row, curved_points, points, sized

# ---------------------------------------------------------------- size-constrained k-means


def cluster_input(n, k):
    rng = np.random.default_rng(0)
    sizes = np.maximum(1, n * 0.5 ** np.arange(1, k + 1)).astype(int)
    centers = rng.normal(0, 1.5, (k, 4))
    V = np.repeat(centers, sizes, axis=0) + rng.normal(size=(sizes.sum(), 4))
    return {"V": V, "k": k, "least": int(0.7 * len(V) / k)}


def our_kmeans(data):
    from fewfold.methods.multimanifold.clustering import constrained_kmeans

    V, k, least = data["V"], int(data["k"]), int(data["least"])
    unlabeled = np.zeros(len(V), bool)
    constrained_kmeans(V[:200], k, unlabeled[:200], 0, 20, n_restarts=1)
    return (
        lambda: constrained_kmeans(V, k, unlabeled, 0, least, n_restarts=5, random_state=0),
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
    from mbed_reference import sne_term

    from fewfold.methods.mbed.gradient import DenseSNE, workers

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

    from fewfold.pipeline.training import Inputs, fit_draw
    from fewfold.svm.kernels import FeatureKernel

    X, y, labeled = data["X"], data["y"], data["labeled"]
    rows = SimpleNamespace(X=X, X_new=None)

    def work(labeled=labeled):
        kernel = FeatureKernel(rows, {}, {"type": "rbf", "gamma": "cv"})
        kernel.all_rows = kernel.rows  # what the kernel file offers, without the file
        inputs = Inputs(X, kernel=kernel)
        return fit_draw(
            "svm", inputs, labeled, y[labeled], n_classes=int(y.max()) + 1, seed=0, settings={}
        ).labels

    work(labeled[:100])
    return work, error_of(data)


def sklearn_svm(data):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    from fewfold.svm.folds import stratified_folds
    from fewfold.svm.kernels import median_gamma

    X, y, labeled = data["X"], data["y"], data["labeled"]

    def work(labeled=labeled):
        gammas = median_gamma(X) * np.array([0.3, 1, 3, 10])
        grid = {"gamma": gammas, "C": [1.0, 10.0, 100.0]}
        folds = stratified_folds(y[labeled], 0)
        search = GridSearchCV(SVC(cache_size=500), grid, cv=folds, n_jobs=THREADS)
        return search.fit(X[labeled], y[labeled]).predict(X)

    work(labeled[:100])
    return work, error_of(data)


# ---------------------------------------------------------------- atlas kernel

TILE = 1000


def atlas_input(source, n, dims, n_dims):
    from fewfold.methods.atlas.fitting import fit_atlas

    X, y = points(source, n, dims)
    atlas = fit_atlas(X, {"n_dims": n_dims, "finer": None})  # one atlas, one kernel, as published
    return {"X": X, "y": y} | {f"atlas_{name}": value for name, value in atlas.items()}


def nearest_error(data, first_rows):
    """Error of 1-NN by kernel value, the first 1000 rows labeled."""
    y = data["y"]
    nearest = first_rows[:, TILE:].argmax(axis=0)
    return 100 * float(np.mean(y[:TILE][nearest] != y[TILE:]))


def our_atlas_kernel(data):
    from fewfold.methods.atlas.encoding import encode, take_rows
    from fewfold.methods.atlas.kernels import atlas_kernel_rows, kernel_scales

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

    from fewfold.svm.kernels import median_gamma

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


ROWS = {
    "constrained_kmeans": Row(
        "k-means with a least size of each part, 5 starts", "inertia per point", cluster_input,
        {"quick": {"n": 2000, "k": 5}, "full": {"n": 20_000, "k": 5}},
        {OURS: our_kmeans, "k-means-constrained": peer_kmeans},
    ),
    "gradient": Row(
        f"{N_GRADIENTS} exact gradients of an embedding (SNE; t-SNE)",
        "distance from the formula in float64", embedding_input,
        {"quick": {"n": 2500, "d": 10}, "full": {"n": 5000, "d": 10}},
        {OURS: our_gradient, "scikit-learn exact t-SNE": sklearn_gradient},
    ),
    "kernel_svm": Row(
        "RBF SVM, 12 settings in 5 folds, then all rows predicted", "error, %", labeled_input,
        {"quick": sized("digits", 1797, 64, n_labeled=600),
         "full": sized("mnist", 10_000, 784, n_labeled=1000)},
        {OURS: our_svm, "scikit-learn GridSearchCV(SVC)": sklearn_svm},
    ),
    "atlas_kernel": Row(
        "kernel of all pairs: atlas (with encoding) and dense RBF", "error of 1-NN, %", atlas_input,
        {"quick": sized("curved", 4000, 784, n_dims=6),
         "full": sized("mnist", 10_000, 784, n_dims=30),
         "losses": sized("curved", 4000, 100, n_dims=6)},
        {OURS: our_atlas_kernel, "scikit-learn rbf_kernel": dense_kernel},
    ),
}  # fmt: skip
