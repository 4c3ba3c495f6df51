"""Summaries and paired comparisons of result tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


def summarize(metrics: pd.DataFrame) -> pd.DataFrame:
    """Return mean, s.d. and 95 % interval over trials of each dataset, method and budget.

    Intervals end where the metric does (`BOUNDS`): no error is below 0.
    """
    rows = []
    for key, part in metrics.groupby(GROUP, sort=True):
        values = part["value"].dropna().to_numpy()
        low, high = np.clip(interval(values), *BOUNDS.get(key[-1], (-np.inf, np.inf)))
        rows.append(
            dict(
                zip(GROUP, key),
                mean=values.mean() if len(values) else np.nan,
                sd=values.std(ddof=1) if len(values) > 1 else np.nan,
                low=float(low),
                high=float(high),
                trials=len(values),
                failed=int((part["status"] != "ok").sum()),
            )
        )
    columns = [*GROUP, "mean", "sd", "low", "high", "trials", "failed"]
    return pd.DataFrame(rows, columns=columns)


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


def compare(metrics: pd.DataFrame) -> pd.DataFrame:
    """Compare every pair of methods on the draws they share, with Holm's correction.

    The correction counts the pairs of one dataset, budget and metric as one family.
    """
    rows = []
    keys = ["dataset", "n_labeled", "protocol", "metric"]
    for key, part in metrics.groupby(keys, sort=True):
        wide = part.pivot_table(index="trial", columns="method", values="value")
        names = sorted(wide.columns)
        family = []
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                both = wide[[a, b]].dropna()
                family.append(
                    dict(
                        zip(keys, key),
                        method_a=a,
                        method_b=b,
                        trials=len(both),
                        difference=float((both[a] - both[b]).mean()) if len(both) else np.nan,
                        p_value=paired_p_value(both[a], both[b]),
                    )
                )
        usable = [r for r in family if not np.isnan(r["p_value"])]
        for row, p in zip(usable, holm([r["p_value"] for r in usable])):
            row["p_adjusted"] = float(p)
        rows.extend(family)
    columns = [*keys, "method_a", "method_b", "trials", "difference", "p_value", "p_adjusted"]
    return pd.DataFrame(rows, columns=columns)
