"""A picture of the data in two dimensions, made without labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

# t-SNE places so many of the shown rows; the others go amid their nearest, at a tenth of the cost.
LANDMARKS = 800


def map_rows(X, *, n_shown: int = 2000, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Choose rows to show and place them in the plane.

    Two-dimensional data are shown as they are; three-dimensional ones in an oblique view;
    anything else by t-SNE of (at most 30) principal components of `LANDMARKS` rows, and the other
    rows amid the nearest of those (`add_rows`).

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
        positions = _tsne(rows[placed], random_state)
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


def _tsne(rows, seed):
    from sklearn.manifold import TSNE

    from fewfold.linalg.preparation import principal_axes

    n, d = rows.shape
    if n < 8:
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return np.column_stack([dense[:, 0], dense[:, 1]])
    if d > 30:
        count = min(30, n - 1)
        mean, axes, _ = principal_axes(rows, count, random_state=seed)
        rows = rows @ axes - mean @ axes
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if not np.ptp(rows, axis=0).any():
        return np.zeros((n, 2))  # t-SNE crashes where all rows are equal
    spread = float(rows.std()) or 1.0
    perplexity = min(30.0, (n - 1) / 3)
    model = TSNE(
        perplexity=perplexity, init="pca", random_state=seed, max_iter=500, learning_rate="auto"
    )
    return model.fit_transform((rows / spread).astype(np.float32))
