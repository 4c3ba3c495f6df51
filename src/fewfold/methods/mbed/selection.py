"""Choice of neighborhoods by leave-out errors, before and after embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.mbed.annealing import Problem
from fewfold.methods.mbed.neighborhoods import (
    DiffusedNeighborhoods,
    GlobalNeighborhoods,
    GraphNeighborhoods,
    LocalNeighborhoods,
    SparseNeighborhoods,
)
from fewfold.methods.mbed.similarities import dissimilarities

# Parts in which labels are left out.
_FOLDS = 3


@dataclass
class Neighborhoods:
    """Neighborhoods to embed, computed without labels.

    Attributes
    ----------
    names : list of str
        The rules: one, or two of which the labels choose.
    rules : dict of str to (rule, P)
        Fitted rules with their probabilities; "global" is not among them, since its length scale
        depends on the number of classes.
    D : ndarray of shape (n, n) or None
        Dissimilarities, where "global" is wanted.
    """

    names: list[str]
    rules: dict
    D: np.ndarray | None = None


def fit_neighborhoods(
    X, *, similarity: str, metric: str, max_exact: int, n_neighbors: int, perplexity, walk
) -> Neighborhoods:
    """Return the neighborhoods of the rows; see `MbedClassifier` for the options.

    Parameters
    ----------
    X : array or csr_array
        As given to ``fit``; sparse with ``metric="precomputed"`` it holds a graph's distances.
    similarity, metric, max_exact, n_neighbors, perplexity, walk : options
    """
    if metric == "precomputed" and sparse.issparse(X):
        name, rule, P = _on_graph(similarity, X, max_exact, perplexity, walk)
        return Neighborhoods([name], {name: (rule, P)})
    if similarity == "sparse" or X.shape[0] > max_exact:
        rule = SparseNeighborhoods(n_neighbors, perplexity, metric)
        return Neighborhoods(["sparse"], {"sparse": (rule, rule.fit(X))})
    D = dissimilarities(X, metric=metric)
    names = ["global", "diffused"] if similarity == "auto" else [similarity]
    rules = {
        "local": LocalNeighborhoods(perplexity),
        "diffused": DiffusedNeighborhoods(perplexity, walk),
    }
    fitted = {name: (rules[name], rules[name].fit(D)) for name in names if name in rules}
    return Neighborhoods(names, fitted, D if "global" in names else None)


def candidates(found: Neighborhoods, n_classes: int, labeled, targets) -> list[tuple]:
    """Return the neighborhoods to embed with: one, or two of which neither is clearly better.

    Without labels there is no criterion: the last are taken.

    Parameters
    ----------
    found : Neighborhoods
    n_classes : int
    labeled : ndarray of int, shape (l,)
    targets : ndarray of shape (l, K)

    Returns
    -------
    list of (name, rule, P)
    """
    rules = dict(found.rules)
    if "global" in found.names:
        rule = GlobalNeighborhoods(1 / n_classes)
        rules["global"] = rule, rule.fit(found.D)
    pairs = [(name, *rules[name]) for name in found.names]
    if len(pairs) == 2:
        hits = [left_out_hits(P, labeled, targets) for _, _, P in pairs] if len(labeled) else None
        better = prefer(*hits) if hits else 1
        pairs = pairs if better < 0 else [pairs[better]]
    return pairs


def better_neighborhoods(pairs: list[tuple], problem: Problem, embed, rng) -> int:
    """Return the neighborhoods whose embeddings have the smallest held-out error.

    J cannot tell: it depends on how broad the neighborhoods are. A third of the labels is left out
    at a time, and the rest embedded in a few steps. Of equal ones the last is taken: with few
    labels both often have no error, and diffused neighborhoods had less error then on the data of
    docs/notes/mbed.md.

    Parameters
    ----------
    pairs : list of (name, rule, P)
    problem : fewfold.methods.mbed.annealing.Problem
    embed : callable
        ``embed(P, problem, rng)`` gives the side of each point.
    rng : numpy Generator
    """
    truth = problem.targets.argmax(axis=1)
    fold = np.empty(len(truth), int)
    for k in np.unique(truth):
        rows = rng.permutation(np.flatnonzero(truth == k))
        fold[rows] = (np.arange(len(rows)) + rng.integers(_FOLDS)) % _FOLDS
    wrong = np.zeros(len(pairs), int)
    for number, (_, _, P) in enumerate(pairs):
        for left_out in np.unique(fold):
            kept = fold != left_out
            if kept.any():
                rest = replace(
                    problem, labeled=problem.labeled[kept], targets=problem.targets[kept]
                )
                sides = embed(P, rest, np.random.default_rng(int(left_out)))
                wrong[number] += np.sum(sides[problem.labeled[~kept]] != truth[~kept])
    return len(pairs) - 1 - int(np.argmin(wrong[::-1]))


def _on_graph(name, D, max_exact, perplexity, walk):
    """Return (name, rule, P) of the neighborhoods that a graph's distances give."""
    if name == "global":
        raise InputError(
            "similarity='global' (that of variant='published') needs all dissimilarities, but "
            "a sparse X names neighbors only. Choose one of auto, local, diffused, sparse."
        )
    rule = GraphNeighborhoods(perplexity)
    if name in ("local", "sparse") or D.shape[0] > max_exact:
        return "sparse", rule, rule.fit(D)
    rule = DiffusedNeighborhoods(perplexity, walk, rule)
    return "diffused", rule, rule.fit(D)


def left_out_hits(P: np.ndarray, labeled: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return which labeled points are classified correctly by the other labels through P.

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
    A point's score for a class is the class's share of its neighborhood, divided by the class's
    share of all neighborhoods; the point itself is left out of both. (Left out of the first
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
    """Return 0 or 1 where one list of hits is better by two standard errors, else -1.

    Only points on which the two differ count (as in McNemar's test): with b and c of them in
    favor of either, the standard error of b - c is sqrt(b + c).
    """
    b, c = int(np.sum(first & ~second)), int(np.sum(~first & second))
    if abs(b - c) <= 2 * np.sqrt(b + c):
        return -1
    return 0 if b > c else 1
