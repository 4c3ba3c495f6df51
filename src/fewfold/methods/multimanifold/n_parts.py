"""How many parts the labels ask for: each is left out, the nearest in its part predicts it."""

from __future__ import annotations

import numpy as np

from fewfold.linalg.distances import squared_distances

# Standard errors by which another number of parts must beat that of the rule.
_CLEARLY = 1.0


def choose_parts(
    candidates: list[tuple], X, y: np.ndarray, *, is_classifier: bool
) -> tuple[int, dict[int, float]]:
    """Choose between partitions into different numbers of parts.

    A learner per part is as good as the labels around a point in its part: each label is left
    out and predicted by the nearest label of the same part. The partition of least loss is taken
    where it beats the first one by more than a standard error of the difference.

    Parameters
    ----------
    candidates : list of (Partition, own, ...)
        ``own`` holds the part of each labeled point, in the order of ``kept``.
    X : array or sparse array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        Class codes or values; only those of labeled rows are read.
    is_classifier : bool

    Returns
    -------
    index : int
    losses : dict of int to float
        Mean loss by number of parts: error rate, or squared error.
    """
    if len(candidates) == 1:
        return 0, {}
    rows = np.sort(candidates[0][0].kept[candidates[0][0].labeled])
    d2 = squared_distances(X[rows], X[rows])
    np.fill_diagonal(d2, np.inf)
    losses = []
    for found, own, *_ in candidates:
        part = own[np.argsort(found.kept[found.labeled])]
        losses.append(left_out_losses(d2, part, y[rows], is_classifier))
    means = [float(loss.mean()) for loss in losses]
    best = int(np.argmin(means))
    gain = losses[0] - losses[best]
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    if gain.mean() <= _CLEARLY * error * (1 + 1e-9):  # a single point is exactly one
        best = 0
    return best, {one[0].bounds.n_parts: mean for one, mean in zip(candidates, means)}


def left_out_losses(
    d2: np.ndarray, part: np.ndarray, y: np.ndarray, is_classifier: bool
) -> np.ndarray:
    """Return the loss of each labeled point, predicted by its nearest one in the same part.

    A point alone in its part is predicted by the nearest of all.

    Parameters
    ----------
    d2 : ndarray of shape (n_labeled, n_labeled)
        Squared distances, infinite on the diagonal.
    part : ndarray of shape (n_labeled,), int
    y : ndarray of shape (n_labeled,)
    is_classifier : bool

    Examples
    --------
    >>> import numpy as np
    >>> d2 = np.array([[np.inf, 1, 9], [1, np.inf, 4], [9, 4, np.inf]])
    >>> left_out_losses(d2, np.array([0, 1, 0]), np.array([5.0, 0, 7]), False).tolist()
    [4.0, 25.0, 4.0]
    """
    inside = np.where(part[:, None] == part, d2, np.inf)
    alone = np.isinf(inside).all(axis=1)
    nearest = np.where(alone[:, None], d2, inside).argmin(axis=1)
    return (y != y[nearest]).astype(float) if is_classifier else (y - y[nearest]) ** 2
