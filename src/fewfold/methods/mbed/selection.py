"""Which neighbourhoods suit the labels: leave-one-out, before anything is embedded."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.mbed.neighborhoods import (
    DiffusedNeighborhoods,
    GlobalNeighborhoods,
    GraphNeighborhoods,
    LocalNeighborhoods,
    SparseNeighborhoods,
)
from fewfold.methods.mbed.options import option
from fewfold.methods.mbed.similarities import dissimilarities


def candidates(model, X, labeled: np.ndarray, targets: np.ndarray) -> list[tuple]:
    """Return the neighbourhoods to embed with: one, or two that tie.

    Parameters
    ----------
    model : MbedClassifier
        Its options and ``classes_``.
    X : array or csr_array
        As given to ``fit``; sparse with ``metric="precomputed"`` it holds a graph's distances.
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)

    Returns
    -------
    list of (name, rule, P)
    """
    name = option(model, "similarity")
    if model.metric_ == "precomputed" and sparse.issparse(X):
        return [_on_graph(model, name, X)]
    if name == "sparse" or X.shape[0] > model.max_exact:
        rule = SparseNeighborhoods(model.n_neighbors, model.perplexity, model.metric_)
        return [("sparse", rule, rule.fit(X))]
    D = dissimilarities(X, metric=model.metric_)
    rules = {
        "global": GlobalNeighborhoods(1 / len(model.classes_)),
        "local": LocalNeighborhoods(model.perplexity),
        "diffused": DiffusedNeighborhoods(model.perplexity, model.walk),
    }
    names = ["global", "diffused"] if name == "auto" else [name]
    found = [(name, rules[name], rules[name].fit(D)) for name in names]
    if len(found) == 2 and len(labeled):
        hits = [left_out_hits(P, labeled, targets) for _, _, P in found]
        better = prefer(*hits)
        found = found if better < 0 else [found[better]]
    return found


def _on_graph(model, name, D):
    """Return (name, rule, P) of the neighbourhoods that a graph's distances give."""
    if name == "global":
        raise InputError(
            "similarity='global' (that of variant='published') needs all dissimilarities, but "
            "a sparse X names neighbours only. Choose one of auto, local, diffused, sparse."
        )
    rule = GraphNeighborhoods(model.perplexity)
    if name in ("local", "sparse") or D.shape[0] > model.max_exact:
        return "sparse", rule, rule.fit(D)
    rule = DiffusedNeighborhoods(model.perplexity, model.walk, rule)
    return "diffused", rule, rule.fit(D)


def left_out_hits(P: np.ndarray, labeled: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Tell which labelled points the other labelled ones would label rightly by P.

    Parameters
    ----------
    P : ndarray of shape (n, n)
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)

    Returns
    -------
    ndarray of bool, shape (l,)

    Notes
    -----
    A point's score for a class is the class's share of its neighbourhood, divided by the class's
    share of all neighbourhoods; the point itself is left out of both. (Left out of the first
    alone, a point would make its own class look rare.)

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0, 0.9, 0.1], [0.9, 0, 0.1], [0.5, 0.5, 0]])
    >>> left_out_hits(P, np.arange(3), np.eye(2)[[0, 0, 1]]).tolist()
    [True, True, False]
    """
    mass = P[:, labeled].sum(axis=0, dtype=np.float64)
    total = mass @ targets - mass[:, None] * targets
    between = P[np.ix_(labeled, labeled)].astype(np.float64)
    np.fill_diagonal(between, 0)
    scores = np.where(total > 1e-300, between @ targets / np.maximum(total, 1e-300), -1)
    return scores.argmax(axis=1) == targets.argmax(axis=1)


def prefer(first: np.ndarray, second: np.ndarray) -> int:
    """Return 0 or 1 where one list of hits is better by more than a standard error, else -1.

    Only points on which the two differ count (as in McNemar's test): with b and c of them in
    favour of either, the standard error of b - c is sqrt(b + c).
    """
    b, c = int(np.sum(first & ~second)), int(np.sum(~first & second))
    if abs(b - c) <= np.sqrt(b + c):
        return -1
    return 0 if b > c else 1
