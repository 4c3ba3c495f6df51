"""A picture of the data in two dimensions, made without labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def map_rows(X, *, n_shown: int = 2000, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Choose rows to show and place them in the plane.

    Two-dimensional data are shown as they are; three-dimensional ones in an oblique view;
    anything else by t-SNE of (at most 30) principal components.

    Returns
    -------
    shown : int64 ndarray, sorted row numbers
    positions : float32 ndarray of shape (len(shown), 2)
    """
    n, d = X.shape
    rng = np.random.default_rng(random_state)
    shown = np.sort(rng.permutation(n)[:n_shown])
    rows = X[shown]
    if d <= 3 and sparse.issparse(rows):
        rows = rows.toarray()
    if d == 1:
        positions = np.column_stack([rows[:, 0], rng.normal(size=len(shown))])
    elif d == 2:
        positions = rows
    elif d == 3:
        positions = np.column_stack(
            [rows[:, 0] - 0.35 * rows[:, 1], rows[:, 2] - 0.5 * rows[:, 1]]
        )  # fmt: skip
    else:
        positions = _tsne(rows, random_state)
    return shown, np.asarray(positions, dtype=np.float32)


def add_rows(X, shown, positions, rows) -> tuple[np.ndarray, np.ndarray]:
    """Add rows (labelled ones, say) to a map: each goes amid its nearest rows that are shown.

    So the map itself is made without labels, and a new label does not draw it anew.
    """
    from fewfold.graph.neighbors import nearest_neighbors

    rows = np.setdiff1d(rows, shown)
    if not len(rows):
        return shown, positions
    near = nearest_neighbors(X[shown], min(3, len(shown)), query=X[rows]).indices
    placed = positions[near].mean(axis=1)
    everything = np.concatenate([shown, rows])
    order = np.argsort(everything)
    return everything[order], np.concatenate([positions, placed])[order]


def _tsne(rows, seed):
    from sklearn.manifold import TSNE

    from fewfold.prepare import principal_axes

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
