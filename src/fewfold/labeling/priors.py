"""Class proportions: those of the labels, equal, or given."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from fewfold.exceptions import InputError
from fewfold.labeling.estimates import error_interval


def class_shares(priors, codes, classes, *, added: float = 1.0) -> np.ndarray:
    """Return the share that each class is assumed to have among all rows.

    Parameters
    ----------
    priors : "labels", "equal" or dict
        "labels": as drawn at random, with ``added`` rows more of each class; a dict gives the
        share of every class by name.
    codes : int ndarray of shape (m,)
    classes : sequence of shape (k,)
    added : float

    Returns
    -------
    ndarray of shape (k,), summing to 1

    Examples
    --------
    >>> class_shares("labels", [0, 0, 0, 1], ["a", "b"], added=0).tolist()
    [0.75, 0.25]
    >>> class_shares({"a": 0.8, "b": 0.2}, [0, 1], ["a", "b"]).tolist()
    [0.8, 0.2]
    """
    k = len(classes)
    if isinstance(priors, str) and priors == "labels":
        counts = np.bincount(np.asarray(codes, dtype=int), minlength=k) + added
        return counts / counts.sum()
    if isinstance(priors, str) and priors == "equal":
        return np.full(k, 1 / k)
    if not isinstance(priors, dict):
        raise InputError(
            f"priors={priors!r}; allowed: 'labels', 'equal' or a share for every class, "
            "such as a=0.8,b=0.2."
        )
    names = [str(c) for c in classes]
    given = {str(name): share for name, share in priors.items()}
    if sorted(given) != sorted(names):
        wrong = sorted(set(given) ^ set(names))
        raise InputError(
            f"The priors and the classes differ in {', '.join(wrong[:5])}. Give a share for each "
            f"of {', '.join(names[:12])}."
        )
    shares = np.array([float(given[name]) for name in names])
    if not np.all(shares > 0) or not np.isfinite(shares).all():
        raise InputError(
            f"Shares must be positive, got {given}. Leave out labels of absent classes."
        )
    return shares / shares.sum()


def parse_priors(text: str):
    """Read the value of ``--priors``: "labels", "equal" or "a=0.8,b=0.2".

    >>> parse_priors("a=0.8,b=0.2")
    {'a': 0.8, 'b': 0.2}
    """
    if text in ("labels", "equal"):
        return text
    try:
        pairs = [part.rsplit("=", 1) for part in text.split(",")]
        return {name.strip(): float(share) for name, share in pairs}
    except ValueError:
        raise InputError(
            f"--priors {text!r}; allowed: labels, equal, or a share for every class, such as "
            "a=0.8,b=0.2."
        ) from None


# Probability above which predictions are adjusted to equal classes, unless the rows contradict it.
SURELY_EQUAL = 0.95
ONE_DEVIATION = 0.68  # level of the interval of the error that equal classes are checked against


def chance_of_equal_classes(codes, n_classes: int) -> float:
    """Return the probability that classes have equal sizes, given labels drawn at random.

    Compares equal shares with arbitrary shares (uniform over the simplex), both equally likely
    a priori.

    Examples
    --------
    >>> round(chance_of_equal_classes(np.repeat([0, 1], 50), 2), 2)
    0.89
    >>> round(chance_of_equal_classes(np.repeat([0, 1], [80, 20]), 2), 3)
    0.0
    """
    counts = np.bincount(np.asarray(codes, dtype=int), minlength=n_classes)
    m = counts.sum()
    equal = -m * np.log(n_classes)
    free = gammaln(n_classes) + gammaln(counts + 1).sum() - gammaln(m + n_classes)
    return float(1 / (1 + np.exp(np.clip(free - equal, -500, 500))))


def rows_contradict_equal_classes(proba, wrong, n_folds: int) -> bool:
    """Return whether the answers give the classes sizes that equal classes could not have.

    Labels that someone picked evenly look like those of equal classes. But an answer with an error
    of e gives no class sizes that differ from the true ones by more than e (in total variation:
    each wrong row moves one row between classes).

    Parameters
    ----------
    proba : ndarray of shape (n, k)
        Of all rows.
    wrong : bool ndarray of shape (m,)
        Of held-out labels; empty: nothing is known of the error, and nothing is contradicted.
    n_folds : int

    Examples
    --------
    >>> proba = np.eye(2)[np.repeat([0, 1], [80, 20])]
    >>> rows_contradict_equal_classes(proba, np.arange(50) < 2, 10)
    True
    >>> rows_contradict_equal_classes(proba, np.arange(50) < 20, 10)
    False
    """
    if not len(wrong):
        return False
    n, k = proba.shape
    found = np.bincount(proba.argmax(axis=1), minlength=k) / n
    off = np.abs(found - 1 / k).sum() / 2
    upper = error_interval(
        float(np.mean(wrong)), len(wrong), level=ONE_DEVIATION, n_folds=n_folds, n_classes=k
    )[1]
    return bool(off > upper)
