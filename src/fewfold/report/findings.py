"""What the tables say: the best method, those as good as it, and the words around figures."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from fewfold.methods.registry import oracles
from fewfold.report.content import ReportContent, where
from fewfold.system.wording import plural

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
    where = {"transductive": "on unlabeled rows", "inductive": "on held-out rows"}
    name = {"mse": "mean squared error", "pair_error": "pair error"}.get(metric, metric)
    name = f"{name} {where.get(protocol, f'({protocol})')}"
    return f"{name} (%)" if metric in SHARES else name


def ordered(values, first: tuple[str, ...]) -> list[str]:
    """Unique values, those named in ``first`` before the others, which keep their order."""
    seen = list(dict.fromkeys(values))
    return [v for v in first if v in seen] + [v for v in seen if v not in first]


def main_metric(summary, dataset: str) -> str | None:
    """The metric a dataset is judged by: error, mse or pair_error, else its first."""
    metrics = ordered((row["metric"] for row in where(summary, dataset=dataset)), MAIN_METRICS)
    return metrics[0] if metrics else None


def leaders(content: ReportContent, dataset: str) -> list[Leader]:
    """The best method for each protocol and number of labels of a dataset, in that order.

    Oracles, which use the true labels, are not ranked, unless there are no others.
    """
    metric = main_metric(content.summary, dataset)
    table = where(content.summary, dataset=dataset, metric=metric)
    table = [row for row in table if math.isfinite(row["mean"])]
    given = oracles(content.config)
    table = [row for row in table if row["method"] not in given] or table
    found = []
    protocols = ordered((row["protocol"] for row in table), MAIN_PROTOCOLS)
    for protocol in protocols:
        part = where(table, protocol=protocol)
        for n_labeled in sorted({row["n_labeled"] for row in part}):
            rows = where(part, n_labeled=n_labeled)
            tests = where(content.comparisons, dataset=dataset, n_labeled=n_labeled, metric=metric)
            tests = [test for test in tests if test.get("protocol", protocols[0]) == protocol]
            found.append(_leader(rows, tests, dataset, protocol, n_labeled, metric))
    return found


def _leader(rows, tests, dataset, protocol, n_labeled, metric) -> Leader:
    # Trials that failed are left out of the mean, and they may be the hard ones: a method
    # with failures leads only when every method has some.
    sign = -1.0 if metric in HIGHER_IS_BETTER else 1.0
    best, *others = sorted(rows, key=lambda row: (row["failed"] > 0, sign * row["mean"]))
    groups: dict[str, list[str]] = {"ties": [], "worse": [], "untested": []}
    for row in others:
        groups[_verdict(tests, best["method"], row["method"])].append(row["method"])
    return Leader(
        dataset,
        protocol,
        n_labeled,
        metric,
        *(best[key] for key in ("method", "mean", "low", "high", "trials")),
        **{key: tuple(names) for key, names in groups.items()},
    )


def _verdict(tests, best: str, other: str) -> str:
    pair = (t["p_adjusted"] for t in tests if {t["method_a"], t["method_b"]} == {best, other})
    p_value = next(pair, math.nan)
    if not math.isfinite(p_value):
        return "untested"
    return "worse" if p_value < LEVEL else "ties"


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
    return f"{grouped(count)} {plural(count, noun)}"


def what_was_run(content: ReportContent) -> str:
    """One sentence that says what was run, on what, how often, and what failed."""
    metrics = content.metrics
    datasets = list(dict.fromkeys([*(row["dataset"] for row in metrics), *content.datasets]))
    if not metrics:
        return f"Nothing was evaluated on {joined(datasets) or 'any dataset'}."
    methods = len({row["method"] for row in metrics})
    budgets = sorted({row["n_labeled"] for row in metrics})
    labels = (
        counted(budgets[0], "labeled row")
        if len(budgets) == 1
        else f"{budgets[0]} to {counted(budgets[-1], 'labeled row')}"
    )
    trials = defaultdict(set)
    for row in metrics:
        trials[row["dataset"], row["n_labeled"]].add(row["trial"])
    draws = max(map(len, trials.values()))
    runs = {cell(row) for row in metrics}
    failed = {cell(row) for row in metrics if row["status"] != "ok"}
    text = (
        f"{counted(methods, 'method')} labeled {counted(len(datasets), 'dataset')} "
        f"({joined(datasets)}) from {labels}, over {counted(draws, 'random draw')} "
        f"of the labeled rows: {counted(len(runs), 'trial')} in all"
    )
    return f"{text}, {len(failed)} of which did not end well." if len(failed) else f"{text}."


def cell(row) -> tuple:
    """What tells one trial of a method from all others; it has a row for each metric."""
    return tuple(row[key] for key in ("dataset", "method", "n_labeled", "trial"))


def mean_times(metrics) -> dict[tuple, tuple[float, float]]:
    """Mean fit and predict seconds of each row of the summary, by its five keys."""
    found = defaultdict(list)
    for row in metrics:
        key = tuple(row[k] for k in ("dataset", "method", "n_labeled", "protocol", "metric"))
        found[key].append((row["fit_s"], row["predict_s"]))
    return {key: tuple(map(_mean, zip(*times))) for key, times in found.items()}


def _mean(values) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan
