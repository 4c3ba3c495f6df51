"""Errors of the command ``fewfold label`` itself, beside single learners and published methods.

Used by ``python benchmarks/label.py tables|numbers|book|images``. Each cell (set, draw) is one run
of the command in a temporary folder. Cells are kept in a CSV file, so that a stopped run resumes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import evidence as stored
import images
import numpy as np
import pandas as pd
import yaml
from answer import PUBLISHED, SINGLE, summary

from fewfold.labeling.examining import examine
from fewfold.labeling.run_stage import read_task
from fewfold.methods.members import named_members
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import read

SETS = {"tables": stored.TABLES, "numbers": stored.NUMBERS, "book": stored.BOOK}


def call(*words) -> float:
    """Run ``fewfold label`` and return its CPU seconds."""
    command = [sys.executable, "-m", "fewfold.cli", "label", *words, "--cores", "1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def candidate_answers(out: Path):
    """Yield what each candidate of a run answers alone: from files, or by asking it again."""
    label = out / "results/table/label"
    files = sorted(label.glob("candidates_*.h5"))
    for path in files:
        with read(path, "examine_candidates") as part:
            for place, entry in enumerate(part.note("members")):
                if f"member{place}.answer" in part:
                    yield entry["name"], part[f"member{place}.answer"]
    if files:
        return
    config = yaml.safe_load((out / "input/config.yaml").read_text())
    inputs = {"features": out / layout.FEATURES, "labels": out / layout.LABELS}
    inputs["prepared"] = label / "prepared.h5"
    task, truth, _ = read_task(inputs, seed=config["run"]["seed"], quick=True)
    for member in named_members(truth.task, config["label"]["members"]):
        found = examine(member, task)
        if found.answer is not None:
            yield member.name, found.answer


def image_cell(name: str, n_rows: int, n_labels: int, draw: int) -> dict:
    """Run the command on images with a balanced draw of labels, among (``n_rows`` of) them."""
    X, y, shape, _ = images.read(name)
    some = np.sort(np.random.default_rng(0).permutation(len(y))[:n_rows])
    X, y = X[some], y[some]
    rows = images.draw(y, np.ones(len(y), bool), n_labels, draw)
    given = np.full(len(y), -1)
    given[rows] = y[rows]
    hidden = given < 0
    with tempfile.TemporaryDirectory(prefix="fewfold-cell-") as folder:
        file, out = Path(folder) / "images.npz", Path(folder) / "out"
        np.savez(file, X=X.astype(np.float32), y=given)
        seconds = call(file, "--target", "y", "--image-shape", *shape, "--out", out)
        said = pd.read_csv(out / "labels.csv")["label"].to_numpy()
        found = json.loads((out / "summary.json").read_text())["comparison"]
        alone = {
            name: 100 * float(np.mean((proba.argmax(axis=1) != y)[hidden]))
            for name, proba in candidate_answers(out)
        }
    best = min(alone, key=alone.get) if alone else ""
    return {
        "set": name, "rows": len(y), "n_labels": n_labels, "draw": draw,
        "fewfold": 100 * float(np.mean((said != y)[hidden])),
        "by": max(found["members"], key=lambda m: m["weight"])["name"],
        "best candidate": best, "its error": alone.get(best),
        "ExtraTrees": alone.get("extra_trees"), "CPU s": seconds,
    }  # fmt: skip


def run_images(names, n_rows, counts, draws, file: Path) -> None:
    """Run the cells of images that are not in the file yet, and print all of it."""
    rows = pd.read_csv(file).to_dict("records") if file.exists() else []
    for draw in draws:
        for name in names:
            for n_labels in counts or images.BUDGETS[name]:
                key = (name, n_labels, draw)
                kept = [row for row in rows if row["rows"] == (n_rows or row["rows"])]
                if key not in [(row["set"], row["n_labels"], row["draw"]) for row in kept]:
                    rows.append(image_cell(name, n_rows, n_labels, draw))
                    pd.DataFrame(rows).round(3).to_csv(file, index=False)
                    print(*key, f"{rows[-1]['fewfold']:.2f}", flush=True)
    print(pd.DataFrame(rows).round(2).to_string(index=False))


def one_cell(name: str, draw: int) -> dict:
    """Run the command on one draw of a set."""
    problem = stored.problem(name)
    rows = problem.labeled(draw)
    hidden = np.setdiff1d(np.arange(len(problem.truth)), rows)
    with tempfile.TemporaryDirectory(prefix="fewfold-cell-") as folder:
        table, out = Path(folder) / "table.csv", Path(folder) / "out"
        problem.blanked(rows).to_csv(table, index=False)
        task = ["--task", "regression"] if problem.is_numbers else []
        seconds = call(table, "--target", problem.target, "--out", out, *task)
        labels = pd.read_csv(out / "labels.csv", dtype={"label": str}, keep_default_na=False)
        said = json.loads((out / "summary.json").read_text())["comparison"]["estimate"]
    estimate = {f"estimate_{key}": said[key] for key in ("value", "low", "high")} if said else {}
    return {
        "set": name, "draw": draw, "rows": len(hidden), "n_labels": len(rows),
        "fewfold": stored.loss(problem, labels["label"].to_numpy()[hidden], hidden), **estimate,
        "CPU s": seconds,
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
