"""The report's tables as plain rows of text and sort keys."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from fewfold.report.content import ReportContent
from fewfold.report.findings import SHARES, grouped, mean_times, percent, plain, unit

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
    for row in content.summary.itertuples(index=False):
        key = (row.dataset, row.method, row.n_labeled, row.protocol, row.metric)
        fit, predict = times.loc[key] if key in times.index else (math.nan, math.nan)
        show = percent if row.metric in SHARES else plain
        mean, sd, low, high = (float(v) for v in (row.mean, row.sd, row.low, row.high))
        interval = f"{show(low)} to {show(high)}" if math.isfinite(low + high) else "–"
        rows.append(
            [
                (str(row.dataset), str(row.dataset)),
                (str(row.method), str(row.method)),
                (str(row.n_labeled), float(row.n_labeled)),
                (str(row.protocol), str(row.protocol)),
                (unit(str(row.metric)), str(row.metric)),
                (show(mean) if math.isfinite(mean) else "–", _key(mean)),
                (show(sd) if math.isfinite(sd) else "–", _key(sd)),
                (interval, _key(low)),
                (str(row.trials), _key(float(row.trials))),
                (str(row.failed), _key(float(row.failed))),
                (plain(fit), _key(fit)),
                (plain(predict), _key(predict)),
            ]
        )
    return rows


def _key(value: float) -> float | str:
    return float(f"{value:.6g}") if math.isfinite(value) else ""


def failures(metrics: pd.DataFrame) -> list[tuple[str, str, int, str]]:
    """Trials that did not end well: dataset, method, how many, and their statuses."""
    bad = metrics[metrics["status"] != "ok"]
    bad = bad.drop_duplicates(["dataset", "method", "n_labeled", "trial"])
    found = []
    for (dataset, method), part in bad.groupby(["dataset", "method"], sort=False):
        counts = part["status"].astype(str).value_counts()
        words = ", ".join(f"{status} ({count})" for status, count in counts.items())
        found.append((str(dataset), str(method), len(part), words))
    return found


def stages(table: pd.DataFrame) -> list[dict]:
    """Time and memory per rule, the slowest first, with each bar's length in per cent."""
    if table.empty:
        return []
    table = table.copy()
    for column in ("seconds", "max_rss_mb"):
        table[column] = pd.to_numeric(table[column], errors="coerce")
    groups = table.groupby("rule", sort=False).agg(
        jobs=("target", "size"),
        total=("seconds", "sum"),
        longest=("seconds", "max"),
        memory=("max_rss_mb", "max"),
    )
    groups = groups.sort_values("total", ascending=False, kind="stable")
    most_time = groups["total"].max() or 1.0
    most_memory = (
        np.nanmax(groups["memory"].to_numpy(float)) if groups["memory"].notna().any() else 1
    )
    return [
        {
            "rule": str(rule),
            "jobs": int(row.jobs),
            "total": duration(row.total),
            "longest": duration(row.longest),
            "memory": memory(row.memory),
            "time_bar": bar(row.total, most_time),
            "memory_bar": bar(row.memory, most_memory),
        }
        for rule, row in zip(groups.index, groups.itertuples(index=False))
    ]


def slowest(table: pd.DataFrame, count: int = 20) -> list[tuple[str, str, str, str, str]]:
    """The slowest single jobs: rule, target, time, memory, processor use."""
    order = pd.to_numeric(table["seconds"], errors="coerce").sort_values(
        ascending=False, kind="stable"
    )
    found = []
    for row in table.loc[order.index[:count]].itertuples(index=False):
        cpu = pd.to_numeric(row.cpu_percent, errors="coerce")
        cpu = f"{cpu:.0f} %" if np.isfinite(cpu) else "–"
        seconds, rss = (pd.to_numeric(v, errors="coerce") for v in (row.seconds, row.max_rss_mb))
        found.append((str(row.rule), str(row.target), duration(seconds), memory(rss), cpu))
    return found


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
