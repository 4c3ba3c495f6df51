"""Summaries of results in words."""

from __future__ import annotations

from fewfold.report.findings import joined, plain
from fewfold.system.wording import counted


def method_words(comparison: dict, most: int = 4) -> str:
    """Name the members of the answer, the heaviest first.

    >>> both = [{"name": "knn", "weight": 0.3}, {"name": "trees", "weight": 0.7}]
    >>> method_words({"members": both})
    'trees (70 %) and knn (30 %)'
    >>> method_words({"members": [{"name": "knn", "weight": 1.0}]})
    'knn'
    """
    members = sorted(comparison["members"], key=lambda m: -m["weight"])
    if len(members) == 1:
        return members[0]["name"]
    return joined([f"{m['name']} ({100 * m['weight']:.0f} %)" for m in members], most)


def size_words(count: int) -> str:
    """Give a file's size.

    >>> size_words(48_211), size_words(3_531_228)
    ('48 kB', '3.5 MB')
    """
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def model_words(summary: dict) -> str:
    """Say how large the model file is, and what it holds.

    >>> model_words({"model_bytes": 5000, "comparison": {"members": [{}, {}]}})
    '5 kB, 2 members'
    """
    count = len(summary["comparison"]["members"])
    return f"{size_words(summary['model_bytes'])}, {counted(count, 'member')}"


def summary_lines(summary: dict) -> list[str]:
    """Summarize the results in a few sentences."""
    comparison = summary["comparison"]
    lines = []
    if summary["task"] == "clustering":
        groups = counted(len(summary["classes"]), "group")
        return [f"{counted(summary['n_rows'], 'row')} in {groups}."]
    n_rows, n_given = summary["n_labeled"], summary["n_given"]
    lines.append(
        f"{counted(n_rows, 'row')} labeled from {counted(n_given, 'label')} by "
        f"{method_words(comparison)}."
    )
    if summary["n_left_empty"]:
        lines.append(
            f"{counted(summary['n_left_empty'], 'row', 'is', 'are')} left empty (--abstain)."
        )
    expected = comparison.get("estimate")
    if expected is None:
        lines.append(f"No error can be stated: {comparison['reason']}.")
        return lines
    value, low, high = (loss_words(expected[k], summary["task"]) for k in ("value", "low", "high"))
    what = " (root mean square)" if summary["task"] == "regression" else ""
    lines.append(
        f"Expected error{what} {value}, 95 % interval {low} to {high} (on held-out labels)."
    )
    lines.append(trivial_words(summary))
    table = comparison["table"]
    if len(table) > 1:
        lines.append(
            f"Best single candidate on the same labels: {table[0]['method']}, "
            f"{loss_words(table[0]['loss'], summary['task'])} (optimistic: the lowest of "
            f"{len(table)})."
        )
    return lines


def loss_words(value: float, task: str) -> str:
    """Format an error: a share in percent, a number with three digits.

    >>> loss_words(0.0, "classification"), loss_words(0.0423, "classification")
    ('0 %', '4.2 %')
    >>> loss_words(0.5417, "classification"), loss_words(12345.6, "regression")
    ('54 %', '12300')
    """
    if task == "regression":
        return plain(value)
    text = f"{100 * value:.1f}" if 100 * value < 9.95 else f"{100 * value:.0f}"
    return f"{'0' if text == '0.0' and value == 0 else text} %"


def trivial_words(summary: dict) -> str:
    """Compare with the trivial baseline, and say where we are not better."""
    trivial = summary["comparison"]["trivial"]
    if trivial is None:
        return ""
    value = loss_words(trivial["value"], summary["task"])
    what = "the mean" if summary["task"] == "regression" else repr(trivial["answer"])
    line = f"Always answering {what} would give an error of {value}."
    if not trivial["beaten"]:
        line += (
            " These labels do not show that the answer is better than that: the columns may "
            "say little about the target, or more labels are needed."
        )
    return line
