"""What the second run of each method takes after a change of one learner setting.

    python benchmarks/second_run.py [METHOD ...] [--cores 2]

Each method runs alone on a dataset of its kind in a new folder, then again with one setting of
its learner changed. Printed is the CPU time of the jobs of both runs, their share, the same with
Snakemake's own start, and the jobs that ran again. The table of docs/notes/house.md is its output.
As in an ordinary installation, Python's compiled modules are there before the first run and are
used by both. What numba compiles is kept in the checkout: in a new one run the command twice, and
take the second table.
"""

from __future__ import annotations

import argparse
import compileall
import copy
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import yaml

import fewfold
from fewfold.pipeline.layout import cost_files

# Rows and labels of the largest experiment of each paper (config/reproduce), settings of the
# default config. All draws of the paper would take hours: two where a draw changes no stage.
MNIST = {"source": "mnist", "scale": "divide", "divide_by": 255, "pca": 50, "labels": [100]}
PAPER_MNIST = {**MNIST, "options": {"part": "train"}, "pca": 100, "labels": [1000]}
HELIX = {
    "source": "surface_helix",
    "options": {"n_samples": 20_640, "n_test": 20_000},
    "labels": [80],
    "holdout": "official",
    "protocol": "inductive",
}
USPS = {
    "source": "usps",
    "options": {"merge": [list("01234"), list("56789")], "rotated": True},
    "labels": [200],
    "holdout": "official",
    "protocol": "inductive",
}


class Case(NamedTuple):
    """One method: its data and their rows, its entry, and the setting that changes."""

    dataset: dict
    rows: int
    entry: dict
    setting: str
    changed: object
    trials: int = 2
    sections: dict = {}


CASES = {
    "atlas": Case(
        MNIST, 70_000, {"learner": "atlas_svm", "manifold": "charts", "kernel": "atlas"}, "C", 5.0
    ),
    "eigenbasis": Case(
        PAPER_MNIST,
        60_000,
        {"learner": "eigenbasis", "manifold": "basis"},
        "ridge",
        0.1,
        sections={"manifolds": {"basis": {"n_vectors": 200}}},  # a fifth of the labels
    ),
    "mbed": Case(
        {"source": "g50c", "labels": [50]}, 550, {"learner": "mbed"}, "boundary_weight", 2.0
    ),
    "multimanifold": Case(
        HELIX, 40_640, {"learner": "multimanifold"}, "base", "logistic", trials=10
    ),
    "invariance": Case(
        USPS,
        9298,
        {"learner": "invariant_svm", "kernel": "invariant", "transform": "rotation"},
        "C",
        10.0,
        trials=4,
        sections={"kernels": {"invariant": {"type": "invariant", "transform": "rotation"}}},
    ),
    "diffusion": Case(
        MNIST, 70_000, {"learner": "diffusion", "graph": "euclidean"}, "method", "spreading"
    ),
}


def run(folder: Path, method: str, entry: dict, case: Case, cores: int) -> tuple:
    """Run a config; return the jobs that ran with their CPU seconds, and those of all processes."""
    config = {
        "run": {"datasets": ["data"], "methods": [method], "trials": case.trials},
        "datasets": {"data": case.dataset},
        "methods": {method: entry},
        **case.sections,
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    before = {cost.path: cost.path.stat().st_mtime_ns for cost in cost_files(folder / "logs")}
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "fewfold.cli", "run", "--out", str(folder)]
    command += ["--configfile", str(path), "--cores", str(cores)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{method}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime
    jobs: Counter = Counter()
    for cost in cost_files(folder / "logs"):
        if cost.path.stat().st_mtime_ns != before.get(cost.path):
            jobs[cost.stage] += float(cost.path.read_text().splitlines()[1].split("\t")[1])
    return jobs, whole


def measure(name: str, cores: int) -> dict:
    """Run a method twice, with one setting of its learner changed in between."""
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        first = run(Path(folder), name, case.entry, case, cores)
        entry = {**copy.deepcopy(case.entry), case.setting: case.changed}
        second = run(Path(folder), name, entry, case, cores)
    cpu = [sum(jobs.values()) for jobs, _ in (first, second)]
    return {
        "method": name,
        "data": f"{case.dataset['source']}, {case.rows} rows, "
        f"{case.dataset['labels'][0]} labels, {case.trials} draws",
        "changed": f"{case.setting}: {case.changed}",
        "first, CPU s": f"{cpu[0]:.1f}",
        "second, CPU s": f"{cpu[1]:.1f}",
        "share": f"{100 * cpu[1] / cpu[0]:.0f} %",
        "with Snakemake": f"{100 * second[1] / first[1]:.0f} %",
        "ran again": ", ".join(f"{job} {s:.1f}" for job, s in second[0].most_common()),
    }


def main() -> None:
    """Print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=list(CASES), metavar="METHOD")
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    compileall.compile_dir(Path(fewfold.__file__).parent, quiet=2)
    head = None
    for name in arguments.methods or CASES:
        row = measure(name, arguments.cores)
        if head is None:
            head = "| " + " | ".join(row) + " |\n" + "| --- " * len(row) + "|"
            print(head)
        print("| " + " | ".join(row.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
