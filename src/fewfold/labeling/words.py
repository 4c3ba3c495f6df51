"""The answer in words."""

from __future__ import annotations


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
    words = [f"{m['name']} ({100 * m['weight']:.0f} %)" for m in members[:most]]
    if len(members) > most:
        return f"{', '.join(words)} and {len(members) - most} more"
    *others, last = words
    return f"{', '.join(others)} and {last}"


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
    return f"{size_words(summary['model_bytes'])}, {count} member{'s' * (count > 1)}"


def summary_lines(summary: dict) -> list[str]:
    """The answer in a few sentences."""
    comparison = summary["comparison"]
    lines = []
    if summary["task"] == "clustering":
        return [f"{summary['n_rows']} rows in {len(summary['classes'])} groups."]
    lines.append(
        f"{summary['n_labeled']} rows labeled from {summary['n_given']} labels by "
        f"{method_words(comparison)}."
    )
    if summary["n_left_empty"]:
        lines.append(f"{summary['n_left_empty']} rows are left empty (--abstain).")
    expected = comparison.get("estimate")
    if expected is None:
        lines.append(f"No error can be stated: {comparison['reason']}.")
        return lines
    if summary["task"] == "regression":
        lines.append(
            f"Expected error (root mean square) {expected['value']:.4g}, 95 % interval "
            f"{expected['low']:.4g} to {expected['high']:.4g}."
        )
    else:
        lines.append(
            f"Expected error {100 * expected['value']:.1f} %, 95 % interval "
            f"{100 * expected['low']:.1f} to {100 * expected['high']:.1f} % (on held-out labels)."
        )
    lines.append(trivial_words(summary))
    best = comparison["table"][0] if len(comparison["table"]) > 1 else None
    if best is not None:
        lines.append(
            f"Best single candidate on the same labels: {best['method']}, "
            f"{_loss_words(best['loss'], summary['task'])}."
        )
    return lines


def _loss_words(value, task):
    return f"{value:.4g}" if task == "regression" else f"{100 * value:.1f} %"


def trivial_words(summary: dict) -> str:
    """Set the trivial answer beside ours, and say where we are not better."""
    trivial = summary["comparison"]["trivial"]
    if trivial is None:
        return ""
    value = _loss_words(trivial["value"], summary["task"])
    what = "the mean" if summary["task"] == "regression" else repr(trivial["answer"])
    line = f"Always answering {what} would err by {value}."
    if not trivial["beaten"]:
        line += (
            " These labels do not show that we are better: the columns may say little about the "
            "target, or more labels are needed."
        )
    return line
