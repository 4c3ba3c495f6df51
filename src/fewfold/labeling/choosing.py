"""Choosing a method by repeated cross-validation on the labelled rows, and an honest estimate.

The folds are labelled draws of the workflow: each candidate is trained on the labels of nine
folds, with all unlabelled rows at hand, and judged on the labels of the tenth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.labels import known_mask
from fewfold.pipeline.protocol import derive_seed

LEVEL = 0.95
FEWEST_LABELS = 20  # below, ten folds of one or two rows say nothing about anything
N_BOOTSTRAPS = 400
# For images: best with few labels on MNIST and USPS, so a few labels must not talk one out of it.
TRUSTED = "image_diffusion"
# Of 2, 4 and 6 tried on an RBF SVM with 55 to 600 labels of five sets (docs/label.md), 4 was right
# a little less often than stated, 6 a little more.
UNEVEN_DRAWS = 5.0


@dataclass(frozen=True)
class FoldPlan:
    """Folds of the labelled rows as the workflow's draws.

    Attributes
    ----------
    splits : int64 ndarray of shape (n_repeats * n_folds, n_train)
        The rows whose labels are given in each trial.
    n_folds, n_repeats : int
    """

    splits: np.ndarray
    n_folds: int
    n_repeats: int


def too_few(y, task: str) -> str | None:
    """Say why cross-validation would mean nothing, or return None.

    Examples
    --------
    >>> too_few(np.array([0, 1, -1]), "classification")
    '2 labels are too few to compare methods (20 are needed)'
    """
    if task == "clustering":
        return "there are no labels"
    known = known_mask(y)
    count = int(known.sum())
    if count < FEWEST_LABELS:
        return f"{count} labels are too few to compare methods ({FEWEST_LABELS} are needed)"
    if task == "classification":
        sizes = np.bincount(y[known])
        single = int(sizes[sizes == 1].sum())
        if count - single < FEWEST_LABELS:
            return (
                f"{single} of the {count} labels are the only one of their class, which leaves too "
                f"few to compare methods ({FEWEST_LABELS} are needed)"
            )
    return None


def make_folds(y, task: str, *, seed: int = 0, n_folds=None, n_repeats=None) -> FoldPlan:
    """Deal the labelled rows out to folds of one size, classes in proportion.

    A class's only example is never held out. Where the rows do not divide evenly, the few that
    are left over stay in training for that repeat.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Codes with -1, or floats with NaN.
    task : {"classification", "regression"}
    seed : int
    n_folds, n_repeats : int, optional
        By default 10 folds, 3 times up to 300 labels; 5 folds once beyond 1000 labels.

    Returns
    -------
    FoldPlan
    """
    known = known_mask(y)
    rows = np.flatnonzero(known)
    eligible = rows
    if task == "classification":
        sizes = np.bincount(y[rows])
        eligible = rows[sizes[y[rows]] > 1]
    n_folds = n_folds or (5 if len(rows) > 1000 else 10)
    n_folds = min(n_folds, len(eligible))
    n_repeats = n_repeats or (3 if len(rows) <= 300 else 1)
    size = len(eligible) // n_folds
    splits = []
    for repeat in range(n_repeats):
        rng = np.random.default_rng(derive_seed(seed, "folds", repeat))
        order = rng.permutation(eligible)
        if task == "classification":
            turn = rng.permutation(int(y.max()) + 1)
            order = order[np.argsort(turn[y[order]], kind="stable")]
        else:
            order = order[np.argsort(y[order], kind="stable")]
        for fold in rng.permutation(n_folds):
            held_out = order[fold::n_folds]
            held_out = rng.permutation(held_out)[:size]
            splits.append(np.setdiff1d(rows, held_out))
    return FoldPlan(np.array(splits, dtype=np.int64), n_folds, n_repeats)


def held_out_losses(y, splits, predictions, task: str):
    """Return each labelled row's loss when it was held out, by repeat.

    Parameters
    ----------
    y : ndarray of shape (n,)
    splits : int array of shape (trials, n_train)
    predictions : list of ndarray of shape (n,)
        Labels of all rows, one array per trial.
    task : str

    Returns
    -------
    rows : int array of shape (m,)
        The labelled rows.
    losses : list of m lists
        0 or 1 per time a row was held out; squared differences for regression.
    """
    known = known_mask(y)
    rows = np.flatnonzero(known)
    losses = {int(row): [] for row in rows}
    for train, labels in zip(splits, predictions):
        for row in np.setdiff1d(rows, train):
            wrong = (labels[row] - y[row]) ** 2 if task == "regression" else labels[row] != y[row]
            losses[int(row)].append(float(wrong))
    return rows, [losses[int(row)] for row in rows]


def mean_losses(losses) -> np.ndarray:
    """Average each row's losses over the repeats; NaN for rows never held out."""
    return np.array([np.mean(one) if one else np.nan for one in losses])


def pick(losses: np.ndarray, vote: int | None = None, trusted: int | None = None) -> int:
    """Choose a method: the least mean loss, the first of equals.

    Parameters
    ----------
    losses : ndarray of shape (n_methods, m)
        Mean held-out loss per method and labelled row (paired).
    vote : int, optional
        Which one is a vote of others: it costs several fits and is chosen only if it is better
        than the best single method by more than one standard error of their difference.
    trusted : int, optional
        One that did best on other data: kept unless another is better by more than two.

    Examples
    --------
    >>> losses = np.array([[0.0, 0, 1, 0], [0.0, 0, 0, 0]])
    >>> pick(losses)
    1
    >>> pick(losses, vote=1), pick(losses, trusted=0)
    (0, 0)
    """

    def gains(old, new, errors):
        gain = losses[old] - losses[new]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
        return gain.mean() > errors * error

    means = losses.mean(axis=1)
    best = int(np.argmin(np.where(np.arange(len(means)) == vote, np.inf, means)))
    needed = 1.0
    if trusted is not None and best != trusted and not gains(trusted, best, 2.0):
        best = trusted
    if best == trusted:
        needed = 2.0
    return vote if vote is not None and gains(best, vote, needed) else best


@dataclass(frozen=True)
class Estimate:
    """What to expect of the chosen method: mean loss and interval, corrected for the choice."""

    value: float
    low: float
    high: float
    level: float
    n_labels: int


def expected_loss(
    losses: np.ndarray,
    vote: int | None = None,
    trusted: int | None = None,
    *,
    seed: int = 0,
    n: int = N_BOOTSTRAPS,
) -> float:
    """Return the mean loss of "choose, then use", free of the flattery of choosing.

    The least of several cross-validated losses is too low on average. So the choice is repeated
    on bootstrap samples of the labelled rows, each judged on the rows it leaves out
    (Tsamardinos, Greasidou and Borboudakis 2018).
    """
    if len(losses) == 1:
        return float(losses[0].mean())
    rng = np.random.default_rng(seed)
    m = losses.shape[1]
    found = []
    for _ in range(n):
        drawn = rng.integers(m, size=m)
        left = np.setdiff1d(np.arange(m), drawn)
        if len(left):
            found.append(losses[pick(losses[:, drawn], vote, trusted), left].mean())
    return float(np.mean(found))


def error_interval(
    error: float, n: int, *, level=LEVEL, n_folds: int = 10, n_classes: int = 2
) -> tuple:
    """Return an interval for an error rate from cross-validation on n labelled rows.

    Wilson's interval, with n lowered to n / (1 + 2 / (n_folds - 1) + 5 n_classes / n): each
    fold's model was trained on fewer labels than the final one, and the folds' models share most
    of theirs (the correction of Nadeau and Bengio for one round of n_folds folds, doubled because
    the truth that is to be covered varies with the labelled rows as well); and with few labels
    per class a draw that has many of one and few of another looks easy and labels badly.

    Examples
    --------
    >>> [round(v, 3) for v in error_interval(0.1, 200)]
    [0.062, 0.157]
    """
    from scipy.stats import norm

    n = n / (1 + 2 / (n_folds - 1) + UNEVEN_DRAWS * n_classes / n)
    z = norm.ppf(0.5 + level / 2)
    middle = (error + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(error * (1 - error) / n + z**2 / (4 * n**2))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def estimate(
    losses: np.ndarray,
    chosen: int,
    vote: int | None,
    task: str,
    n_folds: int,
    seed: int = 0,
    n_classes: int = 2,
    trusted: int | None = None,
) -> Estimate:
    """Return the expected loss of the chosen method with its interval.

    For regression the loss is the root of the mean squared error, with a bootstrap interval.
    """
    m = losses.shape[1]
    if task == "classification":
        value = expected_loss(losses, vote, trusted, seed=seed)
        low, high = error_interval(min(value, 1.0), m, n_folds=n_folds, n_classes=n_classes)
        return Estimate(value, low, high, LEVEL, m)
    rng = np.random.default_rng(seed)
    value = float(np.sqrt(losses[chosen].mean()))
    means = losses[chosen][rng.integers(m, size=(2000, m))].mean(axis=1)
    low, high = np.sqrt(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    return Estimate(value, float(low), float(high), LEVEL, m)
