"""The report's tables as plain rows of text and sort keys."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np

from fewfold.report.content import ReportContent
from fewfold.report.findings import SHARES, cell, grouped, mean_times, percent, plain, unit

RESULT_HEADS = (
    ("dataset", False),
    ("method", False),
    ("labels", True),
    ("protocol", False),
    ("metric", False),
    ("mean", True),
    ("s.d.", True),
    ("95 % interval", True),
    ("trials", True),
    ("failed", True),
    ("fit (s)", True),
    ("predict (s)", True),
)


def results(content: ReportContent) -> list[list[tuple[str, float | str]]]:
    """Every row of the summary: for each cell its text and the key it is sorted by."""
    times = mean_times(content.metrics)
    rows = []
    for row in content.summary:
        keys = ("dataset", "method", "n_labeled", "protocol", "metric")
        what = dataset, method, n_labeled, protocol, metric = tuple(row[key] for key in keys)
        fit, predict = times.get(what, (math.nan, math.nan))
        show = percent if metric in SHARES else plain
        mean, sd, low, high = (row[key] for key in ("mean", "sd", "low", "high"))
        interval = f"{show(low)} to {show(high)}" if math.isfinite(low + high) else "–"
        rows.append(
            [
                (dataset, dataset),
                (method, method),
                (str(n_labeled), float(n_labeled)),
                (protocol, protocol),
                (unit(metric), metric),
                (show(mean) if math.isfinite(mean) else "–", _key(mean)),
                (show(sd) if math.isfinite(sd) else "–", _key(sd)),
                (interval, _key(low)),
                (str(row["trials"]), _key(row["trials"])),
                (str(row["failed"]), _key(row["failed"])),
                (plain(fit), _key(fit)),
                (plain(predict), _key(predict)),
            ]
        )
    return rows


def _key(value: float) -> float | str:
    return float(f"{value:.6g}") if math.isfinite(value) else ""


def failures(metrics) -> list[tuple[str, str, int, str]]:
    """Trials that did not end well: dataset, method, how many, and their statuses."""
    bad = {cell(row): row["status"] for row in reversed(metrics) if row["status"] != "ok"}
    found = defaultdict(list)
    for (dataset, method, *_), status in reversed(bad.items()):
        found[dataset, method].append(status)
    return [
        (*key, len(statuses), ", ".join(f"{s} ({n})" for s, n in Counter(statuses).most_common()))
        for key, statuses in found.items()
    ]


def stages(table) -> list[dict]:
    """Time and memory per rule, the slowest first, with each bar's length in per cent."""
    rules = defaultdict(list)
    for job in table:
        rules[job["rule"]].append((job["seconds"], job["max_rss_mb"]))
    groups = [
        (rule, len(jobs), sum(s for s, _ in jobs), max(s for s, _ in jobs), max(m for _, m in jobs))
        for rule, jobs in rules.items()
    ]
    groups.sort(key=lambda group: -group[2])
    most_time = max((group[2] for group in groups), default=0) or 1.0
    most_memory = max((group[4] for group in groups), default=1)
    return [
        {
            "rule": rule,
            "jobs": jobs,
            "total": duration(total),
            "longest": duration(longest),
            "memory": memory(most),
            "time_bar": bar(total, most_time),
            "memory_bar": bar(most, most_memory),
        }
        for rule, jobs, total, longest, most in groups
    ]


def slowest(table, count: int = 20) -> list[tuple[str, str, str, str, str]]:
    """The slowest single jobs: rule, target, time, memory, processor use."""
    jobs = sorted(table, key=lambda job: -job["seconds"])[:count]
    return [
        (
            job["rule"],
            job["target"],
            duration(job["seconds"]),
            memory(job["max_rss_mb"]),
            f"{job['cpu_percent']:.0f} %",
        )
        for job in jobs
    ]


def bar(value: float, most: float) -> float:
    """The length of a bar in per cent of the longest, never so short as to vanish."""
    if not math.isfinite(value) or not most > 0:
        return 0.0
    return round(max(100 * value / most, 0.5), 1)


def duration(seconds: float) -> str:
    """Seconds in the unit a reader would choose.

    >>> duration(0.034), duration(75), duration(7300)
    ('0.03 s', '1 min 15 s', '2 h 1 min')
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def memory(megabytes: float) -> str:
    """Memory in MB or GB."""
    if not math.isfinite(megabytes):
        return "–"
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.2f} GB"


def settings_text(config) -> str:
    """Settings as YAML, in the order given."""
    import yaml

    if not config:
        return ""
    return yaml.safe_dump(_plain(config), sort_keys=False, allow_unicode=True, width=90)


def _plain(value):
    if hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def facts(view) -> list[tuple[str, str]]:
    """Plain facts of a dataset, its notes after its size."""
    found = [("rows", grouped(view.n_rows)), ("features", grouped(view.n_features))]
    if view.image_shape:
        found.append(("images", " × ".join(str(side) for side in view.image_shape)))
    if view.task == "classification":
        found.append(("classes", str(len(view.class_names))))
    else:
        found.append(("task", view.task))
    for key, value in view.notes.items():
        if isinstance(value, float):
            value = plain(value)
        found.append((str(key).replace("_", " "), str(value)))
    return found
