"""The answer in words."""

from __future__ import annotations


def method_words(comparison: dict) -> str:
    """Name the method; for a vote, its members.

    >>> method_words({"chosen": "vote", "members": ["knn", "atlas"]})
    'a vote of knn and atlas'
    """
    if comparison["chosen"] != "vote":
        return comparison["chosen"]
    *others, last = comparison["members"]
    return f"a vote of {', '.join(others)} and {last}"


def size_words(count: int) -> str:
    """Give a file's size.

    >>> size_words(48_211), size_words(3_531_228)
    ('48 kB', '3.5 MB')
    """
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def model_words(summary: dict) -> str:
    """Say how large the model file is, and why.

    >>> model_words({"model_bytes": 5000, "model_rows": 40, "n_given": 40, "n_rows": 900,
    ...              "method": "knn"})
    '5 kB: the 40 labelled rows are all it needs'
    """
    size = size_words(summary["model_bytes"])
    if summary.get("model_rows") is None:
        return size
    if summary["model_rows"] == summary["n_given"]:
        return f"{size}: the {summary['n_given']} labelled rows are all it needs"
    return (
        f"{size}: it holds all {summary['n_rows']} rows, as {summary['method']} labels new rows "
        "from their neighbours among them"
    )


def summary_lines(summary: dict) -> list[str]:
    """The answer in a few sentences."""
    comparison = summary["comparison"]
    lines = []
    if summary["task"] == "clustering":
        return [f"{summary['n_rows']} rows in {len(summary['classes'])} groups."]
    lines.append(
        f"{summary['n_labelled']} rows labelled from {summary['n_given']} labels by "
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
    if comparison["runner_up"]:
        losses = {row["method"]: row["loss"] for row in comparison["table"]}
        unit, factor = ("", 1) if summary["task"] == "regression" else (" %", 100)
        lines.append(
            f"Held-out error of {comparison['chosen']}: "
            f"{factor * losses[comparison['chosen']]:.3g}{unit}; runner-up "
            f"{comparison['runner_up']}: {factor * losses[comparison['runner_up']]:.3g}{unit}."
        )
    return lines
