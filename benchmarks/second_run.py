"""What the second run of each method takes after a change of one learner setting.

    python benchmarks/second_run.py [METHOD ...] [--cores 2]

Each method runs alone on a dataset of its kind in a new folder, then again with one setting of
its learner changed. Printed is the CPU time of the jobs of both runs, their share, the same with
Snakemake's own start, and the jobs that ran again. The table of docs/architecture.md is its output.
"""

from __future__ import annotations

import argparse
import copy
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import yaml

from fewfold.pipeline.layout import cost_files

HELIX = {"source": "surface_helix", "options": {"n_samples": 120_000}, "labels": [80]}
MNIST = {
    "source": "mnist",
    "options": {"n_samples": 30_000},
    "scale": "divide",
    "divide_by": 255,
    "pca": 50,
    "labels": [100],
}
SMALL = {**MNIST, "options": {"n_samples": 4000}}
USPS = {"source": "usps", "options": {"n_samples": 3000, "part": "train"}, "labels": [500]}


class Case(NamedTuple):
    """One method: its data, its entry, and the setting of the learner that changes."""

    dataset: dict
    entry: dict
    setting: str
    changed: object
    trials: int = 2


CASES = {
    "atlas": Case(
        MNIST, {"learner": "atlas_svm", "manifold": "charts", "kernel": "atlas"}, "C", 5.0
    ),
    "eigenbasis": Case(
        MNIST, {"learner": "eigenbasis", "manifold": "basis", "n_vectors": 50}, "ridge", 0.1
    ),
    "mbed": Case(SMALL, {"learner": "mbed", "n_steps": 80}, "boundary_weight", 2.0),
    "multimanifold": Case(HELIX, {"learner": "multimanifold"}, "base", "logistic", 10),
    "invariance": Case(
        USPS,
        {
            "learner": "invariant_svm",
            "kernel": "invariant",
            "transform": {"name": "translation", "reach": 1},
        },
        "C",
        10.0,
        5,
    ),
    "diffusion": Case(MNIST, {"learner": "diffusion", "graph": "euclidean"}, "method", "spreading"),
}


def run(folder: Path, method: str, entry: dict, case: Case, cores: int) -> tuple:
    """Run a config; return the jobs that ran with their CPU seconds, and those of all processes."""
    config = {
        "run": {"datasets": ["data"], "methods": [method], "trials": case.trials},
        "datasets": {"data": case.dataset},
        "methods": {method: entry},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    before = {cost.path: cost.path.stat().st_mtime_ns for cost in cost_files(folder / "logs")}
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "fewfold.cli", "run", "--out", str(folder)]
    command += ["--configfile", str(path), "--cores", str(cores)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
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
        "data": f"{case.dataset['source']}, {case.dataset['options']['n_samples']} rows, "
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
    head = None
    for name in arguments.methods or CASES:
        row = measure(name, arguments.cores)
        if head is None:
            head = "| " + " | ".join(row) + " |\n" + "| --- " * len(row) + "|"
            print(head)
        print("| " + " | ".join(row.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
