"""From decisions to class probabilities: one function for all SVMs and linear classifiers."""

from __future__ import annotations

import numpy as np


def decisions_to_proba(
    decisions, scale: float = 1.0, *, pairs=None, coupling: str = "scores"
) -> np.ndarray:
    """Turn decisions into probabilities that order the classes as the decisions do.

    None of them is calibrated; the scale says how fast confidence grows with the margin.

    Parameters
    ----------
    decisions : ndarray of shape (n,), (n, n_classes) or (n, n_pairs)
        One decision, positive for the second of two classes; one per class; or, with ``pairs``,
        one per pair of classes, positive for the first.
    scale : float
        Factor of the decisions in the softmax or logistic function.
    pairs : int ndarray of shape (n_pairs, 2), optional
        Classes 0 .. n_classes - 1 of each decision.
    coupling : {"scores", "product", "mean"}
        How pairs become classes: softmax of `pair_scores`; product of the pairs' logistic
        probabilities, the largest given to the winner of the votes; or their mean.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows sum to 1.

    Examples
    --------
    >>> decisions_to_proba(np.array([0.0, 9.0])).round(2).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    >>> pairs = np.array([[0, 1], [0, 2], [1, 2]])
    >>> f = np.array([[1.0, 2.0, 0.5]])
    >>> decisions_to_proba(f, 5.0, pairs=pairs, coupling="product").round(2).tolist()
    [[0.99, 0.01, 0.0]]
    """
    from scipy.special import expit, softmax

    decisions = np.asarray(decisions, dtype=np.float64)
    if pairs is None:
        return softmax(scale * as_columns(decisions), axis=1)
    n_classes = int(np.max(pairs)) + 1
    if coupling == "scores":
        scores = pair_scores(decisions, pairs)
        return softmax(scale * scores, axis=1)
    if coupling == "product":
        return _product(decisions, scale, pairs, n_classes)
    first = expit(scale * decisions)
    out = np.zeros((len(decisions), n_classes))
    for number, (a, b) in enumerate(pairs):
        out[:, a] += first[:, number]
        out[:, b] += 1 - first[:, number]
    return out / len(pairs)


def as_columns(decisions) -> np.ndarray:
    """Return one column per class, also of the single decision for the second of two classes."""
    return np.column_stack([-decisions, decisions]) if decisions.ndim == 1 else decisions


def pair_votes(decisions, pairs) -> np.ndarray:
    """Return the number of pairs that each class wins, shape (n, n_classes)."""
    first, second = (np.equal.outer(pairs[:, k], np.arange(np.max(pairs) + 1)) for k in (0, 1))
    wins = np.where(decisions > 0, 1.0, 0.0)
    return wins @ first + (1 - wins) @ second


def pair_scores(decisions, pairs) -> np.ndarray:
    """Return a score per class from pairwise decisions, as scikit-learn's SVC gives it.

    The votes; sums of decisions squeezed into (-1/3, 1/3) decide between equal votes. For two
    classes the decision itself.

    Parameters
    ----------
    decisions : ndarray of shape (n, n_pairs)
        Positive for the first class of a pair.
    pairs : int ndarray of shape (n_pairs, 2)

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    if len(pairs) == 1:
        return np.column_stack([decisions[:, 0], -decisions[:, 0]])
    votes = pair_votes(decisions, pairs)
    sums = np.zeros_like(votes)
    for number, (a, b) in enumerate(pairs):
        sums[:, a] += decisions[:, number]
        sums[:, b] -= decisions[:, number]
    return votes + sums / (3 * (np.abs(sums) + 1))


def _product(decisions, scale, pairs, n_classes):
    from scipy.special import log_expit, softmax

    logs = np.zeros((len(decisions), n_classes))
    for number, (a, b) in enumerate(pairs):
        logs[:, a] += log_expit(scale * decisions[:, number])
        logs[:, b] += log_expit(-scale * decisions[:, number])
    proba, rows = softmax(logs, axis=1), np.arange(len(decisions))
    winner, top = pair_scores(decisions, pairs).argmax(axis=1), proba.argmax(axis=1)
    proba[rows, winner], proba[rows, top] = proba[rows, top], proba[rows, winner]
    return proba
