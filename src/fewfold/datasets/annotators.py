"""Labels of several people for the same rows: the most probable one, and how reliable each is.

Dawid and Skene (1979): the true class of a row is unknown, each annotator has a table of how often
a true class is called what, and expectation-maximization finds both from their agreement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.system.wording import counted

SMOOTHING = 0.01  # pseudo-counts: someone who labeled three rows is not known to be perfect
MOST_ITERATIONS = 200
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Consensus:
    """The combined labels of several annotators.

    Attributes
    ----------
    labels : object ndarray of shape (n_rows,)
        The most probable class, "" where nobody gave one.
    confidence : ndarray of shape (n_rows,)
        Its probability; 0 where there is none.
    reliability : dict of annotator to float
        The estimated share of right labels of each.
    n_disputed : int
        Rows on which annotators disagree.
    """

    labels: np.ndarray
    confidence: np.ndarray
    reliability: dict
    n_disputed: int

    def sentences(self) -> list[str]:
        """Describe in words which annotators agree."""
        each = ", ".join(f"{name}: {100 * share:.0f} %" for name, share in self.reliability.items())
        return [
            f"{len(self.reliability)} annotators, who disagree on "
            f"{counted(self.n_disputed, 'row')}; the most probable label is used (Dawid-Skene). "
            f"Estimated share of right labels: {each}."
        ]


def combine_annotators(given: dict) -> Consensus:
    """Join the labels of several annotators, each weighted by their estimated reliability.

    Parameters
    ----------
    given : dict of annotator to sequence of n_rows texts
        "" or None where an annotator gave no label.

    Returns
    -------
    Consensus

    Examples
    --------
    >>> found = combine_annotators({"a": ["x", "y", "x", ""], "b": ["x", "y", "y", ""],
    ...                             "c": ["x", "y", "x", ""]})
    >>> found.labels.tolist(), found.n_disputed
    (['x', 'y', 'x', ''], 1)
    """
    names = list(given)
    texts = [["" if v is None else str(v).strip() for v in given[name]] for name in names]
    classes = sorted({v for column in texts for v in column if v})
    code = {c: k for k, c in enumerate(classes)}
    votes = np.array([[code.get(v, -1) for v in column] for column in texts]).T  # rows, annotators
    if not classes:
        empty = np.full(len(votes), "", dtype=object)
        return Consensus(empty, np.zeros(len(votes)), dict.fromkeys(names, np.nan), 0)
    belief, tables = dawid_skene(votes, len(classes))
    labeled = (votes >= 0).any(axis=1)
    best = belief.argmax(axis=1)
    labels = np.where(labeled, np.array(classes, dtype=object)[best], "")
    share = belief[labeled].mean(axis=0)
    reliability = {
        name: float(share @ np.diag(tables[a])) if (votes[:, a] >= 0).any() else float("nan")
        for a, name in enumerate(names)
    }
    disputed = sum(len(set(row[row >= 0].tolist())) > 1 for row in votes)
    confidence = np.where(labeled, belief.max(axis=1), 0.0)
    return Consensus(labels, confidence, reliability, int(disputed))


def dawid_skene(votes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the true classes and the annotators' confusion matrices.

    Parameters
    ----------
    votes : int ndarray of shape (n_rows, n_annotators)
        Class codes, -1 where an annotator gave none.
    n_classes : int

    Returns
    -------
    belief : ndarray of shape (n_rows, n_classes)
        Probabilities of the true class; equal where nobody voted.
    tables : ndarray of shape (n_annotators, n_classes, n_classes)
        Probability of a vote (last axis) given the true class.
    """
    voted = votes >= 0
    rows = voted.any(axis=1)
    hot = np.zeros((*votes.shape, n_classes))
    hot[voted] = np.eye(n_classes)[votes[voted]]
    counts = hot.sum(axis=1)
    belief = np.full((len(votes), n_classes), 1 / n_classes)
    belief[rows] = counts[rows] / counts[rows].sum(axis=1, keepdims=True)  # a plain majority
    for _ in range(MOST_ITERATIONS):
        prior = belief[rows].mean(axis=0)
        tables = np.einsum("nk,naj->akj", belief[rows], hot[rows]) + SMOOTHING
        tables /= tables.sum(axis=2, keepdims=True)
        log = np.log(np.maximum(prior, 1e-300)) + np.einsum("naj,akj->nk", hot, np.log(tables))
        log -= log.max(axis=1, keepdims=True)
        new = np.exp(log)
        new /= new.sum(axis=1, keepdims=True)
        new[~rows] = 1 / n_classes
        change = np.abs(new - belief).max()
        belief = new
        if change < TOLERANCE:
            break
    return belief, tables
