"""Labels as the cost wants them: which points, and class probabilities of each."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.labels import UNLABELED, read_labels


def read_targets(y, label_proba, n: int, n_classes: int | None):
    """Check labels and turn them into class probabilities.

    Parameters
    ----------
    y : array of shape (n,) or None
        Classes; -1, NaN, None, "" or "-1" marks unlabeled rows (`fewfold.labels`).
    label_proba : array of shape (n, n_classes) or None
        Soft labels; rows of NaN leave y's.
    n : int
        Rows to be labeled.
    n_classes : int, optional
        By default the classes seen.

    Returns
    -------
    classes : ndarray of shape (K,)
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)

    Examples
    --------
    >>> classes, labeled, targets = read_targets(["a", -1, "b"], None, 3, None)
    >>> labeled.tolist(), targets.tolist()
    ([0, 2], [[1.0, 0.0], [0.0, 1.0]])
    """
    if y is None:
        if n_classes is None and label_proba is None:
            raise InputError(
                "MbedClassifier requires y to be passed, but the target y is None. Give labels "
                "(-1 where unknown), or set n_classes to cluster without labels."
            )
        y = np.full(n, UNLABELED)
    is_numbered = n_classes is not None or label_proba is not None
    labels = read_labels(y, n, name="MbedClassifier", min_classes=0, numbered=is_numbered)
    seen, codes = labels.classes, labels.codes
    soft = None if label_proba is None else np.asarray(label_proba, np.float64)
    K = n_classes or (soft.shape[1] if soft is not None else len(seen))
    classes = _classes(seen, K)
    targets = np.full((n, len(classes)), np.nan)
    targets[labels.rows] = np.eye(len(classes))[np.searchsorted(classes, seen)[codes]]
    if soft is not None:
        given = _check_soft(soft, targets.shape)
        targets[given] = soft[given]
    labeled = np.flatnonzero(~np.isnan(targets[:, 0]))
    return classes, labeled, targets[labeled]


def _classes(seen, K):
    """Names of K classes: those seen, or 0..K-1 where labels name fewer."""
    if K == len(seen):
        if not K:
            raise InputError(
                "No row has a label. Label some rows, or set n_classes to cluster without labels."
            )
        return seen
    if K < len(seen):
        raise InputError(f"n_classes={K}, but y holds {len(seen)} classes. Raise n_classes.")
    whole = seen.dtype.kind in "iuf" and bool(np.all(seen == np.floor(seen)))
    if len(seen) and not (whole and seen.min() >= 0 and seen.max() < K):
        raise InputError(
            f"n_classes={K} with {len(seen)} classes seen needs labels numbered 0 to {K - 1}. "
            "Number the classes, or leave n_classes out."
        )
    return np.arange(K)


def _check_soft(soft, shape):
    if soft.shape != shape:
        raise InputError(f"label_proba has shape {soft.shape}; it must be {shape}.")
    given = ~np.isnan(soft).any(axis=1)
    rows = soft[given]
    if (rows < 0).any() or (np.abs(rows.sum(axis=1) - 1) > 1e-6).any():
        raise InputError(
            "Rows of label_proba must be probabilities that sum to 1, or NaN where unknown."
        )
    return given
