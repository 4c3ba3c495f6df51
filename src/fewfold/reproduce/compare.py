"""Cell by cell: matched, beaten or missed."""

from __future__ import annotations

import math

import pandas as pd

from fewfold.reproduce.published import ROLES, UNITS, find_reason, role_of

RELATIVE = 0.10  # where a paper gives no spread
COUNTED = ("beaten", "matched", "missed")
STATUSES = (*COUNTED, "not run", "no value", "shown only", "published only")
MEASURED = (
    "measured", "measured_sd", "trials", "tolerance", "status", "reason", "protocol", "commit"
)  # fmt: skip


def digits(value: float, like: str = "") -> str:
    """Write a measured value with as many decimals as the published one, two if there is none.

    Examples
    --------
    >>> digits(3.61234, "4.13"), digits(0.0312, "0.05"), digits(12.3456)
    ('3.61', '0.031', '12.35')
    """
    if value is None or not math.isfinite(value):
        return "–"
    decimals = len(like.partition(".")[2]) if like else 2
    if value and abs(value) < 0.1:
        decimals = max(decimals, 3)
    return f"{value:.{decimals}f}"


def rounding(text: str) -> float:
    """Return half a unit of the last printed digit.

    Examples
    --------
    >>> rounding("5.32"), rounding("0")
    (0.005, 0.5)
    """
    decimals = len(text.partition(".")[2])
    return 0.5 * 10.0**-decimals


def tolerance(value: str, spread: str = "") -> float:
    """Return how far from a published value still counts as met.

    Two published standard deviations, or 10 % of the value where none is given; never less
    than the value's own rounding.
    """
    wide = 2 * float(spread) if spread else RELATIVE * abs(float(value))
    return max(wide, rounding(value))


def status(measured: float, value: float, allowed: float, *, higher_is_better=False) -> str:
    """Return "matched" within the tolerance, else "beaten" or "missed" by the side.

    Examples
    --------
    >>> status(3.6, 4.13, 0.4), status(4.5, 4.13, 0.4), status(5, 4.13, 0.4)
    ('beaten', 'matched', 'missed')
    """
    if not math.isfinite(measured):
        return "missed"
    gain = measured - value if higher_is_better else value - measured
    # Decimal numbers that are equal on paper may differ in the last bit.
    if abs(gain) <= allowed * (1 + 1e-9):
        return "matched"
    return "beaten" if gain > 0 else "missed"


def lookup(measured: pd.DataFrame, dataset, method, n_labels, unit) -> dict | None:
    """Return mean, s.d. and trials of one of our cells, in the published unit."""
    kind = UNITS[unit]
    metric = "error" if kind.metric == "accuracy" else kind.metric
    if kind.metric == "seconds":
        return _seconds(measured, dataset, method, n_labels)
    rows = measured[
        (measured["dataset"] == dataset)
        & (measured["method"] == method)
        & (measured["n_labeled"] == int(n_labels))
        & (measured["metric"] == metric)
    ]
    if not len(rows):
        return None
    row = rows.iloc[0]
    mean = 1 - row["mean"] if kind.metric == "accuracy" else row["mean"]
    found = {"mean": kind.scale * mean, "sd": kind.scale * row["sd"], "trials": int(row["trials"])}
    return found | {name: row.get(name, "") for name in ("protocol", "commit")}


def _seconds(measured, dataset, method, n_labels):
    """Return the mean seconds of training, or the CPU seconds of a stage ("rule:name")."""
    rows = measured[(measured["dataset"] == dataset) & (measured["method"] == method)]
    if ":" not in method:
        rows = rows[rows["n_labeled"] == int(n_labels)]
    if not len(rows):
        return None
    row = rows.iloc[0]
    mean = row["mean"] if row["metric"] == "cpu_s" else row["fit_s"]
    found = {"mean": mean, "sd": math.nan, "trials": int(row["trials"])}
    return found | {name: row.get(name, "") for name in ("protocol", "commit")}


def compare(published: pd.DataFrame, measured: pd.DataFrame | None, reasons) -> pd.DataFrame:
    """Put our numbers beside the published ones.

    Parameters
    ----------
    published : DataFrame
        From `read_published`.
    measured : DataFrame or None
        Rows of a run's summary; None if there was no run.
    reasons : DataFrame
        From `read_reasons`.

    Returns
    -------
    DataFrame
        The published columns and `MEASURED`. No row is left out.
    """
    rows = []
    for row in published.to_dict("records"):
        rows.append({**row, **_judge(row, measured, reasons)})
    return pd.DataFrame(rows, columns=[*published.columns, *MEASURED])


def _judge(row, measured, reasons):
    found = dict.fromkeys(MEASURED[:4], math.nan) | {"reason": "", "protocol": "", "commit": ""}
    if not row["our_method"]:
        return {**found, "status": "published only"}
    names = (row["our_dataset"], row["our_method"], row["our_n_labels"], row["unit"])
    ours = None if measured is None else lookup(measured, *names)
    if ours is None:
        return {**found, "status": "not run", "reason": _reason(reasons, row)}
    found |= {"measured": ours["mean"], "measured_sd": ours["sd"]}
    found |= {name: ours[name] for name in ("trials", "protocol", "commit")}
    if row["source"] == "drawn":
        return {**found, "status": "no value"}
    unit = UNITS[row["unit"]]
    if not unit.comparable:
        return {**found, "status": "shown only"}
    allowed = tolerance(row["value"], row["spread"])
    word = status(
        ours["mean"], float(row["value"]), allowed, higher_is_better=unit.higher_is_better
    )
    reason = ""
    if word == "beaten" and unit.both_sides:
        word = "missed"
    if word == "missed":
        reason = _reason(reasons, row) or "not explained yet"
    return {**found, "tolerance": allowed, "status": word, "reason": reason}


def _reason(reasons, row):
    return find_reason(
        reasons, **{k: row[k] for k in ("paper", "where", "dataset", "method", "n_labels")}
    )


def judge_claims(claims: pd.DataFrame, measured: pd.DataFrame | None, reasons) -> pd.DataFrame:
    """Say of each statement whether it holds in our run.

    Returns
    -------
    DataFrame
        The claims with ``left``, ``right`` (ours, or the published value), ``bound``,
        ``status`` ("matched", "missed" or "not run") and ``reason``.
    """
    rows = []
    for row in claims.to_dict("records"):
        left, right = _sides(row, measured)
        if left is None or right is None:
            result = {"left": left, "right": right, "bound": math.nan, "status": "not run"}
        else:
            bound = float(row["factor"] or 1) * right + float(row["plus"] or 0)
            strict = row["relation"] == "below"
            holds = left < bound if strict else left <= bound * (1 + 1e-9)
            word = "matched" if holds else "missed"
            result = {"left": left, "right": right, "bound": bound, "status": word}
        reason = ""
        if result["status"] != "matched":
            cell = {"paper": row["paper"], "where": row["where"], "dataset": row["left_dataset"]}
            cell |= {"method": row["left_method"], "n_labels": row["left_n"]}
            reason = find_reason(reasons, **cell)
            if not reason and result["status"] == "missed":
                reason = "not explained yet"
        rows.append({**row, **result, "reason": reason})
    return pd.DataFrame(
        rows, columns=[*claims.columns, "left", "right", "bound", "status", "reason"]
    )


def _sides(row, measured):
    def value(side):
        names = [row[f"{side}_{part}"] for part in ("dataset", "method", "n")]
        found = None if measured is None else lookup(measured, *names, row["unit"])
        return None if found is None else found["mean"]

    right = float(row["right_value"]) if row["right_value"] else value("right")
    return value("left"), right


def count(statuses) -> dict:
    """Count statuses, and give the share of compared cells that are matched or beaten.

    Examples
    --------
    >>> count(["beaten", "matched", "missed", "not run"])["share"]
    0.6666666666666666
    """
    statuses = list(statuses)
    counts = {name: statuses.count(name) for name in STATUSES}
    compared = sum(counts[name] for name in COUNTED)
    good = compared - counts["missed"]
    return {**counts, "compared": compared, "share": good / compared if compared else math.nan}


def tally(cells: pd.DataFrame, claims: pd.DataFrame, roles: pd.DataFrame) -> dict[str, dict]:
    """Count numbers and statements apart, each by whose they are.

    Parameters
    ----------
    cells, claims : DataFrames
        From `compare` and `judge_claims`.
    roles : DataFrame
        From `read_roles`.

    Returns
    -------
    dict of `count`
        By ("numbers" or "statements", role); a statement is of the role of its left side.
    """
    found = {}
    for what, table, column in (
        ("numbers", cells, "our_method"),
        ("statements", claims, "left_method"),
    ):
        own = [role_of(roles, *pair) for pair in zip(table["paper"], table[column])]
        for role in ROLES:
            found[what, role] = count([s for s, r in zip(table["status"], own) if r == role])
    return found


def in_words(counted: dict) -> str:
    """Say how many of what was compared matched.

    Examples
    --------
    >>> in_words(count(["beaten", "matched", "missed", "not run"]))
    '2 of 3 (67 %)'
    """
    if not counted["compared"]:
        return "–"
    met = counted["beaten"] + counted["matched"]
    return f"{met} of {counted['compared']} ({100 * counted['share']:.0f} %)"
