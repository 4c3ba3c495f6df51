"""A picture of the data in two dimensions, made without labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

# t-SNE places so many of the shown rows; the others go amid their nearest, at a tenth of the cost.
LANDMARKS = 800


def map_rows(
    X, *, n_shown: int = 2000, random_state: int = 0, quick: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Choose rows to show and place them in the plane.

    Two-dimensional data are shown as they are; three-dimensional ones in an oblique view;
    anything else by t-SNE of (at most 30) principal components of `LANDMARKS` rows, and the other
    rows amid the nearest of those (`add_rows`); if it must be ``quick``, by the first two principal
    components.

    Returns
    -------
    shown : int64 ndarray, sorted row numbers
    positions : float32 ndarray of shape (len(shown), 2)
    """
    n, d = X.shape
    rng = np.random.default_rng(random_state)
    shown = np.sort(rng.permutation(n)[:n_shown])
    rows = X[shown]
    if d == 1:
        rows = rows.toarray() if sparse.issparse(rows) else rows
        positions = np.column_stack([rows[:, 0], rng.normal(size=len(shown))])
    elif d <= 3:
        positions = _as_they_are(rows)
    else:
        placed = np.sort(rng.permutation(len(shown))[:LANDMARKS])
        positions = _tsne(rows[placed], random_state, quick)
        _, positions = add_rows(rows, placed, positions, np.arange(len(shown)))
    return shown, np.asarray(positions, dtype=np.float32)


def _as_they_are(rows):
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if rows.shape[1] == 2:
        return rows
    return np.column_stack([rows[:, 0] - 0.35 * rows[:, 1], rows[:, 2] - 0.5 * rows[:, 1]])


def add_rows(X, shown, positions, rows) -> tuple[np.ndarray, np.ndarray]:
    """Add rows to a map: each goes amid its three nearest rows that are shown, by their nearness.

    So the map itself is made of some rows, without labels: a new label does not change it.

    Examples
    --------
    >>> X = np.arange(5.0)[:, None] * np.ones(4)
    >>> shown, places = add_rows(X, np.array([0, 4]), np.array([[0.0, 0], [4, 0]]), np.array([1]))
    >>> shown.tolist(), places.round(2).tolist()
    ([0, 1, 4], [[0.0, 0.0], [1.0, 0.0], [4.0, 0.0]])
    """
    from fewfold.graph.neighbors import nearest_neighbors

    rows = np.setdiff1d(rows, shown)
    if not len(rows):
        return shown, positions
    if X.shape[1] in (2, 3):
        placed = _as_they_are(X[rows])
    else:
        found = nearest_neighbors(X[shown], min(3, len(shown)), query=X[rows])
        weights = 1 / np.maximum(found.distances, 1e-9)
        weights /= weights.sum(axis=1, keepdims=True)
        placed = np.einsum("ij,ijk->ik", weights, positions[found.indices])
    everything = np.concatenate([shown, rows])
    order = np.argsort(everything, kind="stable")
    return everything[order], np.concatenate([positions, placed])[order].astype(np.float32)


def _tsne(rows, seed, quick):
    from threadpoolctl import threadpool_limits

    from fewfold.linalg.preparation import principal_axes

    n, d = rows.shape
    if n < 8:
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return np.column_stack([dense[:, 0], dense[:, 1]])
    count = 2 if quick else 30
    mean, axes, _ = principal_axes(rows, min(count, n - 1, d), random_state=seed)
    rows = np.asarray(rows @ axes - mean @ axes, dtype=np.float32)
    if quick or not np.ptp(rows, axis=0).any():
        return rows[:, :2]
    start = rows[:, :2] / max(rows[:, 0].std(), 1e-30)
    with threadpool_limits(1, "blas"):  # many small products
        return _minimize(_joint_probabilities(rows / rows.std()), 1e-4 * start)


def _joint_probabilities(rows, perplexity=30.0):
    """The probabilities of t-SNE, (n, n): each row's own width, over its nearest rows."""
    from fewfold.graph.neighbors import nearest_neighbors
    from fewfold.methods.mbed.similarities import perplexity_weights

    n = len(rows)
    perplexity = min(perplexity, (n - 1) / 3)
    found = nearest_neighbors(rows, min(n - 1, int(3 * perplexity + 1)))
    P = np.zeros((n, n), dtype=np.float32)
    P[np.arange(n)[:, None], found.indices] = perplexity_weights(found.distances, perplexity)[0]
    P += P.T
    return P / P.sum()


def _minimize(P, Y, n_steps=300, n_early=100, exaggeration=12):
    """Gradient descent on t-SNE's cost, all pairs at once.

    Not scikit-learn's: at `LANDMARKS` rows all pairs take less time than its tree, reach a lower
    cost, and its import alone would take longer than the whole map.
    """
    gains, step, rate = np.ones_like(Y), np.zeros_like(Y), max(len(Y) / (4 * exaggeration), 50)
    similarity, pull = np.empty_like(P), np.empty_like(P)  # written again in each step
    wanted = exaggeration * P
    for number in range(n_steps):
        if number == n_early:
            wanted = P
        squares = np.einsum("ij,ij->i", Y, Y)
        np.matmul(-2 * Y, Y.T, out=similarity)
        similarity += squares + 1
        similarity += squares[:, None]
        np.reciprocal(similarity, out=similarity)
        np.fill_diagonal(similarity, 0)
        np.multiply(similarity, -1 / similarity.sum(), out=pull)
        pull += wanted
        pull *= similarity
        gradient = 4 * (pull.sum(axis=1, keepdims=True) * Y - pull @ Y)
        gains = np.where(step * gradient > 0, gains * 0.8, gains + 0.2).clip(0.01)
        step = (0.5 if number < n_early else 0.8) * step - rate * gains * gradient
        Y = Y + step
    return Y
