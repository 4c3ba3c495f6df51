"""Trees of scikit-learn as flat arrays, and the walk through them."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError

NODE_ARRAYS = ("feature", "threshold", "left", "right", "value", "roots")
_CELLS = 2_000_000
# From this many (row, tree) pairs on, compiled code saves more than it takes to load.
_MANY_CELLS = 1_000_000


def forest_nodes(trees) -> dict[str, np.ndarray]:
    """Flatten the trees of a forest.

    Parameters
    ----------
    trees : list of sklearn.tree regressors

    Returns
    -------
    dict
        ``feature`` (-1 at leaves), ``threshold`` (``x <= threshold`` goes left), ``left`` and
        ``right`` (indices into these arrays), ``value`` (n_nodes, n_outputs), ``roots``.
    """
    parts, first = [], 0
    for fitted in trees:
        tree = fitted.tree_
        is_leaf = tree.children_left < 0
        parts.append(
            {
                "feature": np.where(is_leaf, -1, tree.feature),
                "threshold": tree.threshold,
                "left": np.where(is_leaf, 0, tree.children_left + first),
                "right": np.where(is_leaf, 0, tree.children_right + first),
                "value": tree.value[:, :, 0],
                "roots": np.array([first]),
            }
        )
        first += tree.node_count
    return _joined(parts)


def boosting_nodes(predictors) -> dict[str, np.ndarray]:
    """Flatten the trees of gradient boosting; value: the tree's step in its class's score.

    Parameters
    ----------
    predictors : list (rounds) of list (classes) of scikit-learn's TreePredictor
    """
    parts, first = [], 0
    for round_ in predictors:
        for column, tree in enumerate(round_):
            nodes = tree.nodes
            is_leaf = nodes["is_leaf"].astype(bool)
            value = np.zeros((len(nodes), len(round_)))
            value[:, column] = nodes["value"]
            parts.append(
                {
                    "feature": np.where(is_leaf, -1, nodes["feature_idx"].astype(np.int64)),
                    "threshold": np.where(is_leaf, 0.0, nodes["num_threshold"]),
                    "left": np.where(is_leaf, 0, nodes["left"].astype(np.int64) + first),
                    "right": np.where(is_leaf, 0, nodes["right"].astype(np.int64) + first),
                    "value": value,
                    "roots": np.array([first]),
                }
            )
            first += len(nodes)
    return _joined(parts)


def _joined(parts):
    nodes = {name: np.concatenate([part[name] for part in parts]) for name in NODE_ARRAYS}
    for name in ("feature", "left", "right", "roots"):
        nodes[name] = nodes[name].astype(np.int32)
    return nodes


def check_nodes(owner: str, nodes: dict, n_features: int) -> None:
    """Raise `InputError` unless nodes are trees: columns that exist, children after their parent.

    Children after the parent is how scikit-learn numbers them, and excludes cycles, so that
    `sum_of_leaves` ends.
    """
    feature = nodes["feature"]
    n = len(feature)
    inner = np.flatnonzero(feature >= 0)
    if np.any(feature >= n_features) or np.any(feature < -1):
        raise InputError(f"{owner}: a node asks for a column outside of the {n_features}.")
    for side in ("left", "right"):
        child = nodes[side][inner]
        if np.any(child <= inner) or np.any(child >= n):
            raise InputError(f"{owner}: {side!r} of a node does not point to a later node.")


def sum_of_leaves(nodes: dict, X) -> np.ndarray:
    """Return the sum over the trees of the values of the leaves that rows fall into.

    Parameters
    ----------
    nodes : dict
        From `forest_nodes` or `boosting_nodes`.
    X : ndarray of shape (n, d)
        As the trees compare it: float32 for forests, float64 for boosting.

    Returns
    -------
    ndarray of shape (n, n_outputs)

    Notes
    -----
    Costs ``n * n_trees * depth`` comparisons, in blocks of rows.
    """
    total = np.zeros((len(X), nodes["value"].shape[1]))
    if len(X) * len(nodes["roots"]) >= _MANY_CELLS:
        from fewfold.methods.trees._walk import add_leaves

        add_leaves(np.ascontiguousarray(X), *(nodes[name] for name in NODE_ARRAYS), total)
        return total
    step = max(1, _CELLS // len(nodes["roots"]))
    for start in range(0, len(X), step):
        block = X[start : start + step]
        at = np.tile(nodes["roots"], (len(block), 1))
        rows = np.arange(len(block))[:, None]
        while True:
            feature = nodes["feature"][at]
            inner = feature >= 0
            if not inner.any():
                break
            goes_left = block[rows, np.maximum(feature, 0)] <= nodes["threshold"][at]
            at = np.where(inner, np.where(goes_left, nodes["left"][at], nodes["right"][at]), at)
        # One tree after the other, as scikit-learn adds them up.
        for tree in range(at.shape[1]):
            total[start : start + step] += nodes["value"][at[:, tree]]
    return total
