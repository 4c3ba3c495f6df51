"""What to expect of the answer: its error with an interval, and the trivial answer beside it."""

from __future__ import annotations

import numpy as np

LEVEL = 0.95
# Of 2, 4 and 6 tried on an RBF SVM with 55 to 600 labels of five sets (docs/label.md), 4 was right
# a little less often than stated, 6 a little more.
UNEVEN_DRAWS = 5.0
_BOOTSTRAPS = 2000


def error_interval(
    error: float, n: float, *, level=LEVEL, n_folds: int = 10, n_classes: int = 2
) -> tuple[float, float]:
    """Return an interval for an error rate from cross-validation on n labeled rows.

    Wilson's interval, with n lowered to n / (1 + 2 / (n_folds - 1) + 5 n_classes / n): each
    fold's model was trained on fewer labels than the final one, and the folds' models share most
    of theirs (the correction of Nadeau and Bengio for one round of n_folds folds, doubled because
    the truth that is to be covered varies with the labeled rows as well); and with few labels
    per class a draw that has many of one and few of another looks easy and labels badly.

    Examples
    --------
    >>> [round(v, 3) for v in error_interval(0.1, 200)]
    [0.062, 0.157]
    """
    from scipy.special import ndtri

    n = n / (1 + 2 / max(n_folds - 1, 1) + UNEVEN_DRAWS * n_classes / n)
    z = ndtri(0.5 + level / 2)
    middle = (error + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(error * (1 - error) / n + z**2 / (4 * n**2))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def class_estimate(wrong, weights, n_folds: int, n_classes: int) -> dict:
    """Return the expected error of classes with its interval, as plain values.

    Parameters
    ----------
    wrong : bool ndarray of shape (m,)
        Of held-out labels.
    weights : ndarray of shape (m,)
        What each counts: 1, unless other class shares than those of the labels are assumed.
    n_folds, n_classes : int
    """
    value = float(np.average(wrong, weights=weights))
    effective = weights.sum() ** 2 / np.sum(weights**2)
    low, high = error_interval(value, effective, n_folds=min(n_folds, 10), n_classes=n_classes)
    return _plain(value, min(low, value), max(high, value), len(wrong))


def value_estimate(errors, seed: int = 0) -> dict:
    """Return the root mean square error of numbers with a bootstrap interval."""
    rng = np.random.default_rng(seed)
    squares = np.asarray(errors) ** 2
    means = squares[rng.integers(len(squares), size=(_BOOTSTRAPS, len(squares)))].mean(axis=1)
    low, high = np.sqrt(np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    return _plain(float(np.sqrt(squares.mean())), float(low), float(high), len(squares))


def _plain(value, low, high, count):
    return {"value": value, "low": low, "high": high, "level": LEVEL, "n_labels": int(count)}


def trivial_classes(codes, weights, classes) -> dict:
    """Return the error of always answering the commonest class, as plain values.

    Examples
    --------
    >>> trivial_classes(np.array([0, 0, 0, 1]), np.ones(4), ["a", "b"])
    {'answer': 'a', 'value': 0.25}
    """
    totals = np.bincount(codes, weights=weights, minlength=len(classes))
    best = int(totals.argmax())
    return {"answer": str(classes[best]), "value": float(1 - totals[best] / totals.sum())}


def trivial_values(values) -> dict:
    """Return the root mean square error of always answering the mean of the others."""
    m = len(values)
    left_out = (values.sum() - values) / max(m - 1, 1)
    mean = float(np.mean(values))
    return {"answer": f"{mean:.4g}", "value": float(np.sqrt(np.mean((values - left_out) ** 2)))}


def beats(losses, trivial_losses) -> bool:
    """Tell whether held-out losses are lower than the trivial answer's by a standard error."""
    gain = np.asarray(trivial_losses, float) - np.asarray(losses, float)
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    return bool(gain.mean() > error)


def confusion(codes, said, n_classes: int) -> list[list[int]]:
    """Return how often labels of each class (rows) were answered as each class (columns).

    >>> confusion([0, 0, 1], [0, 1, 1], 2)
    [[1, 1], [0, 1]]
    """
    table = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(table, (np.asarray(codes), np.asarray(said)), 1)
    return table.tolist()
