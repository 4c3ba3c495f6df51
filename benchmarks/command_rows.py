"""Errors of the command ``fewfold label`` itself, beside single learners and published methods.

Used by ``python benchmarks/label.py tables|numbers|book``. Each cell (set, draw) is one run of the
command in a temporary folder. Cells are kept in a CSV file, so that a stopped run resumes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import evidence as stored
import numpy as np
import pandas as pd
from answer import PUBLISHED, SINGLE, summary

SETS = {"tables": stored.TABLES, "numbers": stored.NUMBERS, "book": stored.BOOK}


def one_cell(name: str, draw: int) -> dict:
    """Run the command on one draw of a set."""
    problem = stored.problem(name)
    rows = problem.labeled(draw)
    hidden = np.setdiff1d(np.arange(len(problem.truth)), rows)
    with tempfile.TemporaryDirectory(prefix="fewfold-cell-") as folder:
        table, out = Path(folder) / "table.csv", Path(folder) / "out"
        problem.blanked(rows).to_csv(table, index=False)
        command = [sys.executable, "-m", "fewfold.cli", "label", table, "--target", problem.target]
        command += ["--out", out, "--cores", "1"]
        command += ["--task", "regression"] if problem.is_numbers else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        labels = pd.read_csv(out / "labels.csv", dtype={"label": str}, keep_default_na=False)
        said = json.loads((out / "summary.json").read_text())["comparison"]["estimate"]
    estimate = {f"estimate_{key}": said[key] for key in ("value", "low", "high")} if said else {}
    return {
        "set": name, "draw": draw, "rows": len(hidden), "n_labels": len(rows),
        "fewfold": stored.loss(problem, labels["label"].to_numpy()[hidden], hidden), **estimate,
        "CPU s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        **({} if name in stored.BOOK else stored.singles(name, draw)),
    }  # fmt: skip


def run(what: str, draws, file: Path) -> None:
    """Run the cells that are not in the file yet, and print the table."""
    rows = pd.read_csv(file).to_dict("records") if file.exists() else []
    for draw in draws:
        for name in SETS[what]:
            if not any(row["set"] == name and row["draw"] == draw for row in rows):
                rows.append(one_cell(name, draw))
                pd.DataFrame(rows).round(4).to_csv(file, index=False)
                print(name, draw, f"{rows[-1]['fewfold']:.3f}", flush=True)
    kept = [r for r in rows if r["set"] in SETS[what] and r["draw"] in draws]
    report(what, pd.DataFrame(kept))


def report(what: str, table: pd.DataFrame) -> None:
    """Print means by set, and what the issue asks for."""
    by_set = table.groupby("set", sort=False)
    columns = ["fewfold", *(c for c in SINGLE if c in table), "CPU s"]
    print(by_set[columns].mean().round(3).to_string())
    if what == "tables":
        print(summary(table, ["fewfold"]).to_string(float_format="{:.2f}".format))
    elif what == "numbers":
        ratio = table["fewfold"] / table[list(SINGLE)].min(axis=1)
        print(f"over the best single one: mean {ratio.mean():.3f}, largest {ratio.max():.2f}")
    else:
        for name, error in by_set["fewfold"].mean().items():
            place = sum(error > published for published in PUBLISHED[name]) + 1
            print(f"{name}: {error:.2f}, published {PUBLISHED[name]}: {place}.")
    if what != "numbers":
        error = table["fewfold"] / 100
        inside = (error >= table["estimate_low"]) & (error <= table["estimate_high"])
        width = (table["estimate_high"] - table["estimate_low"]).mean()
        print(
            f"95 % intervals: {inside.mean():.1%} of {len(table)} hold the error, width {width:.3f}"
        )
