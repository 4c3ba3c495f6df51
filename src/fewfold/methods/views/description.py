"""What several views of images say without labels: graphs, features, random Fourier features."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from fewfold.graph.build import build_graph
from fewfold.graph.candidates import MIN_ROWS_TO_INDEX
from fewfold.linalg.distances import squared_distances
from fewfold.methods.diffusion.estimator import MIN_SIDE_TO_DESKEW, image_graph_settings
from fewfold.svm.kernels import typical_squared
from fewfold.transforms.canonical import canonicalize
from fewfold.transforms.framing import framed, framed_shape
from fewfold.transforms.orientation import mean_colors, orientation_histograms

N_COMPONENTS = 200
N_NEIGHBORS = 6
RIDGE = 1e-5
_LEAST_RANDOM, _MOST_RANDOM = 1000, 8000
_ROWS_PER_RANDOM = 5
_BLOCK_ROWS = 4096
_LEAST_JUDGED, _MOST_JUDGED, _CLEARLY = 100, 1000, 0.95
# Parts a side whose mean colors are features.
_COLOR_PARTS = 4
_GRAPH_PARTS = ("data", "indices", "indptr")


def as_seen(X, image_shape, turned: bool):
    """Return images as all views see them, and their shape: framed, and turned upright if asked.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int or None
        Rows that are not images, and series, are returned as they are.
    turned : bool
    """
    if image_shape is None or len(image_shape) == 1:
        return X, image_shape
    X, shape = framed(X, image_shape), framed_shape(image_shape)
    return (canonicalize(X, shape, ["rotate"]) if turned else X), shape


def edge_features(X, image_shape) -> np.ndarray:
    """Return the features of a classifier: orientation histograms, as they are and upright.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int or None

    Returns
    -------
    float32 ndarray
        From 12 pixels a side the histograms of the images and of the images without slant, side
        by side; of smaller images the former; last, of several channels, the colors of parts of
        the image (`mean_colors`). Rows that are not images as they are.
    """
    if image_shape is None or len(image_shape) == 1:
        return np.asarray(X, np.float32)
    found = [orientation_histograms(X, image_shape)]
    if min(image_shape[:2]) >= MIN_SIDE_TO_DESKEW:
        upright = canonicalize(X, image_shape, ["deskew"])
        found.append(orientation_histograms(upright, image_shape))
    if n_color_features(image_shape):
        found.append(mean_colors(X, image_shape, _COLOR_PARTS))
    return np.hstack(found) if len(found) > 1 else found[0]


def n_color_features(image_shape) -> int:
    """Return how many of the last features of `edge_features` are colors."""
    if image_shape is None or len(image_shape) < 3 or image_shape[2] == 1:
        return 0
    parts = [min(_COLOR_PARTS, side) for side in image_shape[:2]]
    return parts[0] * parts[1] * image_shape[2]


def is_turned(X, image_shape, *, seed: int = 0) -> bool:
    """Return whether images seem to lie at any angle, judged without labels.

    Rows of the same class are near one another once the invariances are removed, and no
    nearer where it did matter or did not vary. So images are turned upright if that brings the
    fifth neighbor nearer, in units of the distance between any two rows, than both the images as
    they are and without slant; by 5 % at least.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int or None
    seed : int
        Of the sample of at most 1000 rows that is judged.
    """
    if image_shape is None or len(image_shape) == 1 or len(X) < _LEAST_JUDGED:
        return False
    *others, upright = angle_contrasts(X, image_shape, seed=seed)
    return upright < _CLEARLY * min(others)


def angle_contrasts(X, image_shape, *, seed: int = 0) -> list[float]:
    """Return how near the fifth neighbor is in units of the distance between any two rows.

    Of at most 1000 rows, as they are, without slant, and turned upright; see `is_turned`.
    """
    rows = np.random.default_rng(seed).permutation(len(X))[:_MOST_JUDGED]
    some, image_shape = as_seen(X[np.sort(rows)], image_shape, False)
    seen = [some, *(canonicalize(some, image_shape, [form]) for form in ("deskew", "rotate"))]
    return [_contrast(orientation_histograms(images, image_shape)) for images in seen]


def _contrast(features):
    """Return the median distance to the fifth neighbor over that between any two rows."""
    squared = squared_distances(features, features)
    typical = np.median(squared[np.triu_indices(len(squared), 1)])
    fifth = np.median(np.partition(squared, 5, axis=1)[:, 5])  # the row itself is the nearest
    return float(np.sqrt(max(fifth, 0) / max(typical, 1e-300)))


def view_graphs(X, points, image_shape, uncolored=None) -> list:
    """Return the weights of each view's graph: the invariant one (of images), that of features.

    Parameters
    ----------
    X : array of shape (n, n_features)
    points : ndarray of shape (n, n_components)
        Features of `edge_features`, on their principal axes.
    image_shape : sequence of int or None
    uncolored : ndarray of shape (n, n_components), optional
        The same without the colors: then a graph of these comes before that of all.
    """
    n = len(points)
    settings = {
        "n_neighbors": min(N_NEIGHBORS, n - 1),
        "symmetrize": "mean",
        "method": "approximate" if n >= MIN_ROWS_TO_INDEX else "exact",
    }
    both = [points] if uncolored is None else [uncolored, points]
    graphs = [build_graph(one, **settings).W for one in both]
    if image_shape is not None:
        of_images = image_graph_settings(image_shape)
        k = min(of_images.n_neighbors, n - 1)
        graphs.insert(0, build_graph(X, image_graph_settings(image_shape, n_neighbors=k)).W)
    return graphs


def describe(
    X, image_shape, *, n_random: int | None = None, ridge: float = RIDGE, seed: int = 0
) -> dict:
    """Compute all that needs no label.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int or None
    n_random : int, optional
        Random Fourier features; by default a fifth of the rows, from 1000 to 8000.
    ridge : float
        Penalty of a regression on these features; the mean squared length of a row is 1.
    seed : int

    Returns
    -------
    dict of ndarray
        ``turned`` (whether all images were turned upright first, see `is_turned`), ``mean``,
        ``axes`` (features to principal components), ``points`` (n, c),
        ``frequencies`` (c, n_random / 2), ``factor`` (n_random, n_random): the lower Cholesky
        factor of the mean of z z' over the rows plus the ridge; ``leverage`` (n,): the weight of
        a row's own label in its fitted value; and the graphs, as ``graph_0_data`` and so on.

    Notes
    -----
    The Gaussian's width is the median squared distance between rows. Costs two searches of
    neighbors and twice ``n n_random^2`` multiplications.
    """
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    turned = is_turned(X, image_shape, seed=seed)
    X, image_shape = as_seen(X, image_shape, turned)
    features = edge_features(X, image_shape)
    mean = features.mean(axis=0, dtype=np.float64).astype(np.float32)
    axes = _principal_axes(features - mean)
    points = (features - mean) @ axes
    if n_random is None:
        n_random = int(np.clip(len(X) // _ROWS_PER_RANDOM, _LEAST_RANDOM, _MOST_RANDOM))
    rng = np.random.default_rng(seed)
    gamma = 1 / typical_squared(points.astype(np.float64), seed)
    draws = rng.normal(size=(points.shape[1], max(1, n_random // 2)))
    found = {
        "turned": np.array(turned),
        "mean": mean,
        "axes": axes,
        "points": points,
        "frequencies": (np.sqrt(2 * gamma) * draws).astype(np.float32),
    }
    gram = 0.0
    for z in random_blocks(points, found["frequencies"]):
        gram = gram + z.T @ z
    gram /= np.float32(len(X))
    gram[np.diag_indices_from(gram)] += np.float32(ridge)
    found["factor"] = cholesky(gram, lower=True, overwrite_a=True)
    found["leverage"] = np.concatenate(
        [
            (solve_triangular(found["factor"], z.T, lower=True) ** 2).sum(axis=0)
            for z in random_blocks(points, found["frequencies"])
        ]
    ) / np.float32(len(X))
    uncolored = None
    if n_color_features(image_shape):
        edges = features[:, : -n_color_features(image_shape)]
        edges = edges - edges.mean(axis=0, dtype=np.float64).astype(np.float32)
        uncolored = edges @ _principal_axes(edges)
    for place, W in enumerate(view_graphs(X, points, image_shape, uncolored)):
        for part in _GRAPH_PARTS:
            found[f"graph_{place}_{part}"] = getattr(W, part)
    return found


def _principal_axes(centered):
    """Return the leading principal axes, (d, at most `N_COMPONENTS`), float32."""
    values, vectors = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    kept = values[::-1] > 1e-9 * max(values[-1], 1e-300)
    kept[0] = True
    count = min(N_COMPONENTS, int(kept.sum()))
    return np.ascontiguousarray(vectors[:, ::-1][:, :count], np.float32)


def random_blocks(points, frequencies):
    """Yield the random Fourier features of rows, some thousand at a time."""
    for start in range(0, len(points), _BLOCK_ROWS):
        yield random_features(points[start : start + _BLOCK_ROWS], frequencies)


def random_features(points, frequencies) -> np.ndarray:
    """Return cosines and sines whose inner products approximate a Gaussian kernel.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = random_features(rng.normal(size=(2, 3)), rng.normal(size=(3, 50)))
    >>> z.shape, bool(np.allclose((z**2).sum(axis=1), 1))
    ((2, 100), True)
    """
    phase = points @ frequencies
    count = frequencies.shape[1]
    z = np.empty((len(points), 2 * count), phase.dtype)
    np.cos(phase, out=z[:, :count])
    np.sin(phase, out=z[:, count:])
    z /= np.asarray(np.sqrt(count), z.dtype)
    return z


def graphs_of(arrays: dict) -> list:
    """Return the graphs of a description."""
    n, graphs = len(arrays["points"]), []
    while f"graph_{len(graphs)}_data" in arrays:
        parts = [np.asarray(arrays[f"graph_{len(graphs)}_{part}"]) for part in _GRAPH_PARTS]
        graphs.append(sparse.csr_array(tuple(parts), shape=(n, n)))
    return graphs


def fit_manifold(features, graph, options: dict, *, seed: int):
    """Return the arrays and notes of the manifold stage."""
    X = features.X if features.images is None else features.images
    settings = {name: options[name] for name in ("n_random", "ridge") if name in options}
    arrays = describe(X, features.image_shape, **settings, seed=seed)
    return arrays, {"n_graphs": len(graphs_of(arrays)), "turned": bool(arrays["turned"])}
