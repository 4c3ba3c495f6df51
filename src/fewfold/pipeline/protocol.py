"""The experiment's protocol: labeled draws, what is evaluated, and statistics."""

from __future__ import annotations

import zlib

import numpy as np

from fewfold.exceptions import InputError
from fewfold.labels import known_mask


def derive_seed(seed: int, *axes) -> int:
    """Derive a seed from the master seed and the axes that should vary (names or numbers)."""
    parts = [zlib.crc32(str(a).encode()) for a in axes]
    return int(np.random.SeedSequence([seed, *parts]).generate_state(1)[0])


def held_out_mask(n: int, protocol: str, holdout, seed: int, test_mask=None) -> np.ndarray:
    """Return the mask of held-out rows: none, the official test rows, or a share."""
    mask = np.zeros(n, dtype=bool)
    if protocol == "inductive" and holdout == "official":
        if test_mask is None:
            raise InputError("holdout: official, but the dataset has no official test rows.")
        return test_mask
    if protocol == "inductive":
        count = min(max(1, round(holdout * n)), n - 1)
        mask[np.random.default_rng(seed).permutation(n)[:count]] = True
    return mask


def resolve_budgets(budgets, n_eligible: int) -> list[int]:
    """Turn label budgets (counts, or shares as floats up to 1.0) into sorted counts."""
    counts = []
    for budget in budgets:
        is_share = isinstance(budget, float)
        if is_share and 0 < budget <= 1:
            count = max(1, round(budget * n_eligible))
        elif not is_share and 0 <= budget <= n_eligible:
            count = int(budget)
        else:
            raise InputError(
                f"labels: {budget} with {n_eligible} rows that may be labeled. Allowed: counts "
                f"from 1 to {n_eligible} (0: clustering), or shares (0.0 to 1.0]."
            )
        counts.append(count)
    return sorted(set(counts))


def draw_order(y, eligible, *, draw: str, size: int, seed: int) -> np.ndarray:
    """Order the rows that may be labeled; a budget of b labels takes the first b of them.

    So draws of growing size are nested, and all methods share them.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Class codes (-1 unknown), or floats (NaN unknown).
    eligible : ndarray of row numbers
    draw : {"random", "stratified", "balanced"}
        Any rows, as in the papers; classes in proportion, each class once before any twice;
        equally many of each class while they last.
    size : int
        How many rows to return.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> order = draw_order(y, np.arange(6), draw="balanced", size=4, seed=0)
    >>> np.bincount(y[order]).tolist()
    [2, 2]
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(eligible)
    if draw == "random" or y.dtype.kind == "f":
        return shuffled[:size]
    codes = y[shuffled]
    classes, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(codes), dtype=np.int64)
    for c in range(len(classes)):
        members = np.flatnonzero(inverse == c)
        rank[members] = np.arange(len(members))
    turn = rng.permutation(len(classes))[inverse]
    if draw == "balanced":
        order = np.lexsort((turn, rank))
    else:
        place = (rank + 0.5) / counts[inverse]
        order = np.lexsort((turn, place, rank > 0))
    return shuffled[order][:size]


def make_draws(y, *, draw, budgets, trials, seed, dataset, test_mask=None, label_splits=None):
    """Draw the labeled rows of all trials.

    Returns
    -------
    order : int64 ndarray of shape (trials, largest budget)
    budgets : list of int
    """
    known = known_mask(y)
    if draw == "given":
        return _given(label_splits, budgets, trials, dataset)
    eligible = np.flatnonzero(known if test_mask is None else known & ~test_mask)
    _check_labels(y, known, eligible, dataset)
    counts = resolve_budgets(budgets, len(eligible))
    if draw == "balanced":
        smallest = len(np.unique(y[eligible]))
        fewest = min((c for c in counts if c), default=smallest)
        if fewest < smallest:
            raise InputError(
                f"labels: {fewest} with draw: balanced needs at least one label for each of the "
                f"{smallest} classes of {dataset!r}. Raise it, or use draw: random."
            )
    if draw == "disjoint":
        return _disjoint(y, eligible, counts, trials, derive_seed(seed, dataset, 0)), counts
    order = [
        draw_order(y, eligible, draw=draw, size=counts[-1], seed=derive_seed(seed, dataset, t))
        for t in range(trials)
    ]
    return np.asarray(order, dtype=np.int64), counts


def _disjoint(y, eligible, counts, trials, seed):
    """Cut one random order of the rows into the trials: no row is labeled in two of them."""
    size = trials * counts[-1]
    if size > len(eligible):
        raise InputError(
            f"draw: disjoint with {trials} trials of {counts[-1]} labels needs {size} rows that "
            f"may be labeled, found {len(eligible)}. Lower trials or labels, or use draw: random."
        )
    order = draw_order(y, eligible, draw="random", size=size, seed=seed)
    return order.reshape(trials, -1).astype(np.int64)


def _check_labels(y, known, eligible, dataset):
    if not known.any():
        raise InputError(
            f"{dataset!r} has no labeled row. Fill in some labels, two classes at least."
        )
    if y.dtype.kind in "iu" and len(np.unique(y[eligible])) < 2:
        raise InputError(
            f"{dataset!r} has labels of one class only among the {len(eligible)} rows that may be "
            "labeled. Classification needs two classes at least."
        )


def _given(label_splits, budgets, trials, dataset):
    if label_splits is None:
        raise InputError(
            f"draw: given, but {dataset!r} comes without label splits. Use draw: random."
        )
    available, size = label_splits.shape
    if trials > available:
        raise InputError(
            f"trials={trials} with draw: given, but {dataset!r} has {available} label splits. "
            f"Use trials up to {available}."
        )
    counts = resolve_budgets(budgets, size)
    return np.asarray(label_splits[:trials, : counts[-1]], dtype=np.int64), counts


def evaluated_rows(y, labeled, *, evaluate: str = "unlabeled", test_mask=None) -> np.ndarray:
    """Return the rows whose prediction counts: with known truth, and not labeled in this draw."""
    mask = known_mask(y)
    mask[labeled] = False
    if evaluate == "test":
        if test_mask is None:
            raise InputError("evaluate: test, but the dataset has no official test rows.")
        mask &= test_mask
    rows = np.flatnonzero(mask)
    if not len(rows):
        raise InputError(
            "No row is left to evaluate: all rows with known truth are labeled. Lower the label "
            "budget, or evaluate on test rows."
        )
    return rows


def error_rate(truth, predicted) -> float:
    """Return the share of wrong labels; an unknown (-1) counts as wrong."""
    return float(np.mean(truth != predicted))


def mean_squared_error(truth, predicted) -> float:
    """Return the mean squared difference."""
    return float(np.mean((np.asarray(truth) - np.asarray(predicted)) ** 2))


def pair_error(truth, clusters) -> float:
    """Return the share of pairs put together, or apart, wrongly by a clustering.

    Examples
    --------
    >>> pair_error([0, 0, 1, 1], [1, 1, 0, 0])
    0.0
    """
    from sklearn.metrics import rand_score

    return 1.0 - float(rand_score(truth, clusters))
