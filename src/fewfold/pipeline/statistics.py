"""Summaries and paired comparisons of result tables."""

from __future__ import annotations

from itertools import combinations, groupby
from operator import itemgetter

import numpy as np
from scipy import special  # scipy.stats takes half a second to import

# What a metric can be at all: Student's interval of two draws may reach beyond.
BOUNDS = {"error": (0.0, 1.0), "pair_error": (0.0, 1.0), "mse": (0.0, np.inf)}
GROUP = ["dataset", "method", "n_labeled", "protocol", "metric"]


def interval(values, level: float = 0.95) -> tuple[float, float]:
    """Return Student's interval of the mean; a single value gives (nan, nan)."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float("nan"), float("nan")
    quantile = special.stdtrit(len(values) - 1, 0.5 + level / 2)
    half = quantile * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def summarize(metrics: list[dict]) -> list[dict]:
    """Return mean, s.d. and 95 % interval over trials of each dataset, method and budget.

    Intervals end where the metric does (`BOUNDS`): no error is below 0.
    """
    rows = []
    for key, part in _grouped(metrics, GROUP):
        values = np.array([row["value"] for row in part], dtype=float)
        values = values[~np.isnan(values)]
        low, high = np.clip(interval(values), *BOUNDS.get(key["metric"], (-np.inf, np.inf)))
        rows.append(
            dict(
                key,
                mean=float(values.mean()) if len(values) else np.nan,
                sd=float(values.std(ddof=1)) if len(values) > 1 else np.nan,
                low=float(low),
                high=float(high),
                trials=len(values),
                failed=sum(row["status"] != "ok" for row in part),
            )
        )
    return rows


def _grouped(rows, keys):
    """Yield the values of keys, and the rows that have them, in the order of the values."""
    for _, part in groupby(sorted(rows, key=itemgetter(*keys)), itemgetter(*keys)):
        part = list(part)
        yield {key: part[0][key] for key in keys}, part


def holm(p_values) -> np.ndarray:
    """Adjust p-values for their number (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def paired_p_value(a, b) -> float:
    """Return the p-value of the paired t-test; equal differences give 1 (all 0) or 0."""
    difference = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    if len(difference) < 2:
        return float("nan")
    if np.allclose(difference, difference[0]):
        return 1.0 if np.allclose(difference, 0) else 0.0
    t = difference.mean() / (difference.std(ddof=1) / np.sqrt(len(difference)))
    return float(2 * special.stdtr(len(difference) - 1, -abs(t)))


def compare(metrics: list[dict]) -> list[dict]:
    """Compare every pair of methods on the draws they share, with Holm's correction.

    The correction counts the pairs of one dataset, budget and metric as one family.
    """
    rows = []
    for key, part in _grouped(metrics, [name for name in GROUP if name != "method"]):
        values: dict = {}
        for row in part:
            if not np.isnan(row["value"]):
                values.setdefault(row["method"], {})[row["trial"]] = row["value"]
        family = []
        for a, b in combinations(sorted(values), 2):
            shared = sorted(values[a].keys() & values[b].keys())
            first, second = (np.array([values[m][t] for t in shared]) for m in (a, b))
            family.append(
                dict(
                    key,
                    method_a=a,
                    method_b=b,
                    trials=len(shared),
                    difference=float((first - second).mean()) if shared else np.nan,
                    p_value=paired_p_value(first, second),
                    p_adjusted=np.nan,
                )
            )
        usable = [r for r in family if not np.isnan(r["p_value"])]
        for row, p in zip(usable, holm([r["p_value"] for r in usable])):
            row["p_adjusted"] = float(p)
        rows.extend(family)
    return rows
