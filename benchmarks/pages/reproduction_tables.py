"""Markdown of the comparison: one table per table or figure of a paper."""

from __future__ import annotations

import math

import pandas as pd

from fewfold.reproduce.compare import digits

MARKS = {
    "beaten": "✔✔",
    "matched": "✔",
    "missed": "✘",
    "not run": "not run",
    "no value": "",
    "shown only": "",
    "published only": "",
}


def cell(row: dict) -> str:
    """Write one cell: published, measured, and the mark.

    Examples
    --------
    >>> cell({"value": "4.13", "spread": "0.20", "measured": 3.5, "measured_sd": 0.21,
    ...       "status": "beaten"})
    '4.13 ± 0.20 → **3.50** ± 0.21 ✔✔'
    """
    published = row["value"] or "?"
    if row["spread"]:
        published += f" ± {row['spread']}"
    if row["status"] == "published only":
        return published
    if row["status"] == "not run":
        return f"{published} → not run"
    ours = f"**{digits(row['measured'], row['value'])}**"
    if math.isfinite(row["measured_sd"]):
        ours += f" ± {digits(row['measured_sd'], row['value'])}"
    return f"{published} → {ours} {MARKS[row['status']]}".rstrip()


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "/") for c in line) + " |" for line in lines)


def paper_table(rows: pd.DataFrame) -> str:
    """Lay one table of a paper out.

    Curves have a line per dataset and method and a column per number of labels; other tables
    a line per method and a column per dataset. Settings are named where they tell cells apart.

    Parameters
    ----------
    rows : DataFrame
        Compared rows that share ``where`` and ``unit``.
    """
    if rows.groupby(["dataset", "method", "setting"])["n_labels"].nunique().max() > 1:
        across, down = ["n_labels"], ["dataset", "method", "setting"]
    else:
        across, down = ["dataset", "setting"], ["method"]
    records = rows.to_dict("records")
    if rows["dataset"].nunique() == 1:
        across, down = ([c for c in part if c != "dataset"] for part in (across, down))
    for names in (across, down):
        rest = [c for c in (*across, *down) if c != "setting"]
        if "setting" in names and rows.groupby(rest)["setting"].nunique().max() == 1:
            names.remove("setting")
    lines: dict[str, dict[str, str]] = {}
    columns = list(dict.fromkeys(_title(row, across) for row in records))
    for row in records:
        line = lines.setdefault(_title(row, down), dict.fromkeys(columns, ""))
        line[_title(row, across)] = cell(row)
    head = [c if c else "value" for c in columns]
    return markdown(["", *head], [[name, *line.values()] for name, line in lines.items()])


def _title(row, names):
    words = [f"{row[c]} labels" if c == "n_labels" else row[c] for c in names]
    return ", ".join(w for w in words if w)


def missed_list(rows: pd.DataFrame) -> str:
    """List the missed cells of a table by their reason, and why others were not run."""
    lines = []
    for word, title in (("missed", "Missed"), ("not run", "Not run")):
        chosen = rows[(rows["status"] == word) & (rows["reason"] != "")]
        for reason, part in chosen.groupby("reason", sort=False):
            cells = "; ".join(_name(row) for row in part.to_dict("records"))
            lines.append(f"- {title}: {cells}. *{reason}*")
    waiting = rows[(rows["status"] == "not run") & (rows["reason"] == "")]
    if len(waiting):
        command = f"`fewfold reproduce {waiting['paper'].iloc[0]}`"
        lines.append(f"- Not run yet: {len(waiting)} cells of the config; {command} runs them.")
    return "\n".join(lines)


def _name(row):
    labels = f", {row['n_labels']} labels" if row["n_labels"] not in ("", "0") else ""
    return f"{row['method']} on {row['dataset']}{labels}"


def claims_table(claims: pd.DataFrame) -> str:
    """List the statements of a paper, ours on both sides, and whether they hold."""
    lines = []
    for row in claims.to_dict("records"):
        right = f"{row['right_method']} on {row['right_dataset']}, {row['right_n']}"
        right = "published" if row["right_value"] else right
        bound = "" if not row["factor"] else f"{row['factor']} × "
        plus = "" if not row["plus"] else f" + {row['plus']}"
        left = f"{row['left_method']} on {row['left_dataset']}, {row['left_n']}"
        lines.append(
            [
                row["claim"],
                f"{left}: **{digits(_number(row['left']))}**",
                f"{row['relation']} {bound}({right}: {digits(_number(row['right']))}){plus}",
                {"matched": "✔ holds", "missed": "✘ missed", "not run": "not run"}[row["status"]]
                + (f" *{row['reason']}*" if row["reason"] else ""),
            ]
        )
    return markdown(["the paper says", "ours", "against", ""], lines)


def _number(value):
    return math.nan if value is None else float(value)
