"""What the tables say: the best method, those as good as it, and the words around figures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fewfold.methods.registry import oracles
from fewfold.report.content import ReportContent

SHARES = ("error", "pair_error", "accuracy")  # shown in per cent
HIGHER_IS_BETTER = ("accuracy", "ari", "nmi", "r2")
MAIN_METRICS = ("error", "mse", "pair_error")
MAIN_PROTOCOLS = ("transductive", "inductive")
LEVEL = 0.05


@dataclass(frozen=True)
class Leader:
    """The best method of one dataset, protocol and number of labels.

    ``ties`` are methods not significantly worse, ``worse`` those that are, and ``untested``
    those for which no test could be made.
    """

    dataset: str
    protocol: str
    n_labeled: int
    metric: str
    method: str
    mean: float
    low: float
    high: float
    trials: int
    ties: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()


def number(value: float, metric: str = "") -> str:
    """A value of a metric in words a reader expects: per cent for shares, three digits else.

    >>> number(0.01234, "error"), number(0.4567, "error"), number(0.000123456, "mse")
    ('1.23 %', '45.7 %', '0.000123')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if metric in SHARES:
        return f"{percent(value)} %"
    return plain(value)


def percent(value: float) -> str:
    """A share as per cent, two decimals below ten."""
    value = 100 * value
    return f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}"


def plain(value: float) -> str:
    """A number with three significant digits, no exponent where it can be helped.

    >>> plain(1234.5), plain(0.05678), plain(7)
    ('1230', '0.0568', '7')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.2e}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{float(f'{value:.3g}'):.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def unit(metric: str) -> str:
    """The metric's name with its unit, as in a column head."""
    return f"{metric.replace('_', ' ')} (%)" if metric in SHARES else metric.replace("_", " ")


def axis_title(metric: str, protocol: str) -> str:
    """The title of a figure's value axis."""
    where = {"transductive": "on unlabeled rows", "inductive": "on rows never seen"}
    name = {"mse": "mean squared error", "pair_error": "pair error"}.get(metric, metric)
    name = f"{name} {where.get(protocol, f'({protocol})')}"
    return f"{name} (%)" if metric in SHARES else name


def ordered(values, first: tuple[str, ...]) -> list[str]:
    """Unique values, those named in ``first`` before the others, which keep their order."""
    seen = list(dict.fromkeys(values))
    return [v for v in first if v in seen] + [v for v in seen if v not in first]


def main_metric(summary: pd.DataFrame, dataset: str) -> str | None:
    """The metric a dataset is judged by: error, mse or pair_error, else its first."""
    metrics = ordered(summary.loc[summary["dataset"] == dataset, "metric"], MAIN_METRICS)
    return metrics[0] if metrics else None


def leaders(content: ReportContent, dataset: str) -> list[Leader]:
    """The best method for each protocol and number of labels of a dataset, in that order.

    Oracles, which use the true labels, are not ranked, unless there are no others.
    """
    metric = main_metric(content.summary, dataset)
    table = content.summary
    table = table[(table["dataset"] == dataset) & (table["metric"] == metric)]
    table = table[np.isfinite(table["mean"].astype(float))]
    honest = ~table["method"].isin(oracles(content.config))
    table = table[honest] if honest.any() else table
    found = []
    protocols = ordered(table["protocol"], MAIN_PROTOCOLS)
    for protocol in protocols:
        part = table[table["protocol"] == protocol]
        for n_labeled in sorted(part["n_labeled"].unique()):
            rows = part[part["n_labeled"] == n_labeled]
            tests = _tests(content.comparisons, dataset, n_labeled, metric)
            if "protocol" in tests.columns:
                tests = tests[tests["protocol"] == protocol]
            elif protocol != protocols[0]:
                tests = tests.iloc[:0]
            found.append(_leader(rows, tests, dataset, protocol, int(n_labeled), metric))
    return found


def _tests(table: pd.DataFrame, dataset: str, n_labeled, metric: str) -> pd.DataFrame:
    keep = (table["dataset"] == dataset) & (table["n_labeled"] == n_labeled)
    return table[keep & (table["metric"] == metric)]


def _leader(rows, tests, dataset, protocol, n_labeled, metric) -> Leader:
    # Trials that failed are left out of the mean, and they may be the hard ones: a method
    # with failures leads only when every method has some.
    failed = rows["failed"].astype(float).fillna(0)
    sign = -1.0 if metric in HIGHER_IS_BETTER else 1.0
    order = (
        pd.DataFrame({"failed": failed > 0, "mean": sign * rows["mean"].astype(float)})
        .sort_values(["failed", "mean"], kind="stable")
        .index
    )
    rows = rows.loc[order]
    best = rows.iloc[0]
    groups: dict[str, list[str]] = {"ties": [], "worse": [], "untested": []}
    for method in rows["method"].iloc[1:]:
        groups[_verdict(tests, best["method"], method)].append(method)
    return Leader(
        dataset,
        protocol,
        n_labeled,
        metric,
        str(best["method"]),
        float(best["mean"]),
        float(best["low"]),
        float(best["high"]),
        int(best["trials"]),
        **{key: tuple(map(str, names)) for key, names in groups.items()},
    )


def _verdict(tests: pd.DataFrame, best: str, other: str) -> str:
    pair = ((tests["method_a"] == best) & (tests["method_b"] == other)) | (
        (tests["method_a"] == other) & (tests["method_b"] == best)
    )
    p_values = tests.loc[pair, "p_adjusted"].astype(float)
    if p_values.empty or not np.isfinite(p_values.iloc[0]):
        return "untested"
    return "worse" if p_values.iloc[0] < LEVEL else "ties"


def joined(names, most: int = 6) -> str:
    """Names as prose: ``a, b and c``; past ``most`` of them, how many more.

    >>> joined(["a", "b", "c"]), joined("abcd", most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    names = [str(name) for name in names]
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def grouped(count: int) -> str:
    """A count with its digits in threes, which may not be torn apart by a line's end."""
    return f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def counted(count: int, noun: str) -> str:
    """A count and its noun, in the plural where needed.

    >>> counted(1, "method"), counted(0, "row")
    ('1 method', '0 rows')
    """
    return f"{grouped(count)} {noun}" if count == 1 else f"{grouped(count)} {noun}s"


def what_was_run(content: ReportContent) -> str:
    """One sentence that says what was run, on what, how often, and what failed."""
    metrics = content.metrics
    datasets = list(dict.fromkeys([*metrics["dataset"], *content.datasets]))
    if metrics.empty:
        return f"Nothing was evaluated on {joined(datasets) or 'any dataset'}."
    methods = metrics["method"].nunique()
    budgets = sorted(int(b) for b in metrics["n_labeled"].unique())
    labels = (
        counted(budgets[0], "labeled row")
        if len(budgets) == 1
        else f"{budgets[0]} to {counted(budgets[-1], 'labeled row')}"
    )
    keys = ["dataset", "method", "n_labeled", "trial"]
    draws = int(metrics.groupby(["dataset", "n_labeled"])["trial"].nunique().max())
    runs = metrics.drop_duplicates(keys)
    failed = metrics[metrics["status"] != "ok"].drop_duplicates(keys)
    text = (
        f"{counted(methods, 'method')} labeled {counted(len(datasets), 'dataset')} "
        f"({joined(datasets)}) from {labels}, over {counted(draws, 'random draw')} "
        f"of the labeled rows: {counted(len(runs), 'trial')} in all"
    )
    return f"{text}, {len(failed)} of which did not end well." if len(failed) else f"{text}."


def mean_times(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean fit and predict seconds per row of the summary, indexed by its five keys."""
    keys = ["dataset", "method", "n_labeled", "protocol", "metric"]
    times = metrics[[*keys, "fit_s", "predict_s"]].copy()
    for column in ("fit_s", "predict_s"):
        times[column] = pd.to_numeric(times[column], errors="coerce")
    return times.groupby(keys)[["fit_s", "predict_s"]].mean()
