"""Expected error with an interval, and the error of the trivial baseline."""

from __future__ import annotations

import numpy as np

LEVEL = 0.95
# Correction per class and label, at the upper and at the lower end. Chosen on 122 runs
# of 10 to 300 labels (docs/notes/answer.md).
UNEVEN_DRAWS, FEWER_LABELS = 3.0, 10.0
_BOOTSTRAPS = 2000


def error_interval(
    error: float, n: float, *, level=LEVEL, n_folds: int = 10, n_classes: int = 2
) -> tuple[float, float]:
    """Return an interval for an error rate from cross-validation on n labeled rows.

    The ends of Wilson's interval with n lowered to n / (1 + 2 / (n_folds - 1) + c n_classes / n).
    The folds' models share most of their labels (the correction of Nadeau and Bengio for one round
    of n_folds folds, doubled because the truth that is to be covered varies with the labeled rows
    as well). With few labels per class a draw that has many of one and few of another looks easy
    and labels badly (c = 3 at the upper end); and each fold's model was trained on fewer labels
    than the final one, which counts the more the fewer there are (c = 10 at the lower end).

    Examples
    --------
    >>> [round(v, 3) for v in error_interval(0.1, 200)]
    [0.062, 0.156]
    """
    from scipy.special import ndtri

    z = ndtri(0.5 + level / 2)
    ends = []
    for side, missing in ((-1, FEWER_LABELS), (1, UNEVEN_DRAWS)):
        left = n / (1 + 2 / max(n_folds - 1, 1) + missing * n_classes / n)
        middle = error + z**2 / (2 * left)
        half = z * np.sqrt(error * (1 - error) / left + z**2 / (4 * left**2))
        ends.append(float(np.clip((middle + side * half) / (1 + z**2 / left), 0, 1)))
    return ends[0], ends[1]


def class_estimate(wrong, weights, n_folds: int, n_classes: int, optimistic=None) -> dict:
    """Return the expected error of classes with its interval, as plain values.

    The interval reaches from the lower end of that of the optimistic error to the upper end of
    that of the pessimistic one: the answer is made with all labels, and lies between them.

    Parameters
    ----------
    wrong : bool ndarray of shape (m,)
        Errors on held-out labels, by weights fitted without their fold (pessimistic).
    weights : ndarray of shape (m,)
        Sample weights: 1, unless other class shares than those of the labels are assumed.
    n_folds, n_classes : int
    optimistic : bool ndarray of shape (m,), optional
        Errors on held-out labels, by the final weights (optimistic).
    """
    value = float(np.average(wrong, weights=weights))
    effective = weights.sum() ** 2 / np.sum(weights**2)
    options = {"n_folds": min(n_folds, 10), "n_classes": n_classes}
    least = value if optimistic is None else float(np.average(optimistic, weights=weights))
    low = error_interval(min(least, value), effective, **options)[0]
    high = error_interval(value, effective, **options)[1]
    return _plain(value, min(low, value), max(high, value), len(wrong))


def value_estimate(errors, seed: int = 0) -> dict:
    """Return the root mean square error of a regression with a bootstrap interval."""
    rng = np.random.default_rng(seed)
    squares = np.asarray(errors) ** 2
    means = squares[rng.integers(len(squares), size=(_BOOTSTRAPS, len(squares)))].mean(axis=1)
    low, high = np.sqrt(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    return _plain(float(np.sqrt(squares.mean())), float(low), float(high), len(squares))


def _plain(value, low, high, count):
    return {"value": value, "low": low, "high": high, "level": LEVEL, "n_labels": int(count)}


def trivial_classes(codes, weights, classes) -> dict:
    """Return the error of always predicting the most frequent class, as plain values.

    Examples
    --------
    >>> trivial_classes(np.array([0, 0, 0, 1]), np.ones(4), ["a", "b"])
    {'answer': 'a', 'value': 0.25}
    """
    totals = np.bincount(codes, weights=weights, minlength=len(classes))
    best = int(totals.argmax())
    return {"answer": str(classes[best]), "value": float(1 - totals[best] / totals.sum())}


def trivial_values(values) -> dict:
    """Return the root mean square error of always predicting the mean of the other labels."""
    m = len(values)
    left_out = (values.sum() - values) / max(m - 1, 1)
    mean = float(np.mean(values))
    return {"answer": f"{mean:.4g}", "value": float(np.sqrt(np.mean((values - left_out) ** 2)))}


def beats(losses, trivial_losses) -> bool:
    """Return whether held-out losses beat the trivial baseline by one standard error."""
    gain = np.asarray(trivial_losses, float) - np.asarray(losses, float)
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    return bool(gain.mean() > error)


def confusion(codes, said, n_classes: int) -> list[list[int]]:
    """Return the confusion matrix: true classes (rows) by predicted classes (columns).

    >>> confusion([0, 0, 1], [0, 1, 1], 2)
    [[1, 1], [0, 1]]
    """
    table = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(table, (np.asarray(codes), np.asarray(said)), 1)
    return table.tolist()
