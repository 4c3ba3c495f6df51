"""Several methods' labels as one: a vote weighted by calibrated confidence."""

from __future__ import annotations

import numpy as np

from fewfold.labeling.calibration import calibrate, fit_calibration, log_odds
from fewfold.svm.probability import decisions_to_proba

VOTE = "vote"
MOST_MEMBERS = 3
WORST = 1.6  # a member may err this many times as often as the best


def members(losses: dict) -> list[str]:
    """Choose who votes: the best methods, none of them far behind.

    Parameters
    ----------
    losses : dict of method to mean held-out error

    Examples
    --------
    >>> members({"a": 0.10, "b": 0.12, "c": 0.5, "d": 0.11})
    ['a', 'd', 'b']
    """
    order = sorted(losses, key=losses.get)
    limit = WORST * losses[order[0]] + 0.01
    return [m for m in order if losses[m] <= limit][:MOST_MEMBERS]


def combine(labels, confidence, n_classes: int) -> np.ndarray:
    """Turn several answers into class probabilities.

    Each member's calibrated confidence p counts for its label with log(p (K - 1) / (1 - p)), as
    if the members erred independently and at random; as they do not, the sum is divided by
    the root of their number. What is still too sure is calibrated afterwards.

    Parameters
    ----------
    labels : int array of shape (n_members, n)
        -1 does not vote.
    confidence : array of shape (n_members, n)
    n_classes : int

    Returns
    -------
    proba : ndarray of shape (n, n_classes)

    Examples
    --------
    >>> combine([[0], [1], [1]], [[0.8], [0.7], [0.7]], 2).argmax(axis=1).tolist()
    [1]
    """
    labels, confidence = np.asarray(labels, dtype=np.int64), np.asarray(confidence, float)
    score = np.zeros((labels.shape[1], n_classes))
    for code, sure in zip(labels, confidence):
        votes = np.flatnonzero(code >= 0)
        weight = log_odds(np.nan_to_num(sure, nan=0.5), 1e-3) + np.log(max(n_classes - 1, 1))
        score[votes, code[votes]] += weight[votes]
    return decisions_to_proba(score / np.sqrt(len(labels)))


def held_out_vote(found: dict, y, n_classes: int) -> tuple[dict, list, dict]:
    """Let the best candidates vote on the rows that were held out.

    Parameters
    ----------
    found : dict of method to the result of `fewfold.labeling.results.gather_held_out`
    y : int ndarray of shape (n,)
    n_classes : int

    Returns
    -------
    entry : dict
        Like the others in ``found``.
    chosen : list of str
        The members.
    calibrations : dict of member to [slope, shift]
    """
    mean = {
        m: float(np.mean([v for one in f["losses"] for v in one]))
        for m, f in found.items()
        if not f["failed"]
    }
    chosen = members(mean) if mean else []
    if len(chosen) < 2:
        return {}, [], {}
    first = found[chosen[0]]
    counts = [len(one) for one in first["losses"]]
    rows = np.repeat(first["rows"], counts)
    labels, sure, calibrations = [], [], {}
    for method in chosen:
        flat = {k: np.array([v for one in found[method][k] for v in one])
                for k in ("labels", "confidence", "losses")}  # fmt: skip
        slope, shift = fit_calibration(flat["confidence"], flat["losses"] == 0)
        calibrations[method] = [slope, shift]
        labels.append(flat["labels"].astype(np.int64))
        sure.append(calibrate(flat["confidence"], slope, shift))
    proba = combine(labels, sure, n_classes)
    said = proba.argmax(axis=1)
    cuts = np.cumsum(counts)[:-1]

    def split(values):
        return [part.tolist() for part in np.split(np.asarray(values, dtype=float), cuts)]

    entry = {
        "rows": first["rows"],
        "losses": split(said != y[rows]),
        "labels": split(said),
        "confidence": split(proba.max(axis=1)),
        "seconds": sum(found[m]["seconds"] for m in chosen),
        "failed": [],
    }
    return entry, chosen, calibrations
