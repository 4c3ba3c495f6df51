"""What the workflow itself costs and saves.

    python benchmarks/workflow.py jobs                 jobs of the default config
    python benchmarks/workflow.py overhead OUT         Snakemake's seconds per job
    python benchmarks/workflow.py noop OUT             time until a finished 1000-job run answers
    python benchmarks/workflow.py speedup OUT          --cores 1 against --cores 2, equal jobs
    python benchmarks/workflow.py only-c OUT           MNIST, 600 labels: after a change of C only

OUT is an empty folder for the runs. Wall times are of this machine: leave it alone meanwhile.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
TINY = {
    "source": "gaussians_g50c",
    "options": {"n_samples": 120, "n_features": 5, "seed": 1},
    "scale": "standard",
}


def snakemake(folder: Path, config: dict, *words: str) -> tuple[float, str]:
    """Run the workflow; return the seconds and what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    command = [
        sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"),
        "--workflow-profile", str(ROOT / "workflow/profiles/default"),
        "--directory", str(folder), "--configfile", str(path), *words,
    ]  # fmt: skip
    start = time.perf_counter()
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stdout[-3000:])
    return seconds, done.stdout


def count(said: str) -> int:
    return int(re.search(r"^total\s+(\d+)", said, re.MULTILINE)[1])


def costs(folder: Path) -> list[float]:
    """Seconds of every job, as it measured them itself."""
    files = (folder / "logs").rglob("*.cost.tsv")
    return [float(next(csv.DictReader(p.open(), delimiter="\t"))["s"]) for p in files]


def many(trials: int, datasets: int = 1) -> dict:
    names = [f"tiny_{i}" for i in range(datasets)]
    run = {"datasets": names, "methods": ["knn"], "labels": [6], "trials": trials,
           "trials_per_job": 1}  # fmt: skip
    method = {"knn": {"learner": "knn", "n_neighbors": 1}}
    return {"run": run, "datasets": {name: TINY for name in names}, "methods": method}


def jobs(_: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _, said = snakemake(Path(folder), {}, "--dry-run", "--cores", "1")
    print(f"jobs of the default config: {count(said)}")


def overhead(out: Path) -> None:
    """Two runs that differ by 30 jobs: what is common to both falls out."""
    found = []
    for trials in (10, 40):
        seconds, said = snakemake(out / str(trials), many(trials), "--cores", "1")
        found.append((count(said), seconds, sum(costs(out / str(trials)))))
        print(f"{found[-1][0]} jobs: {seconds:.1f} s, of which in the jobs' own work "
              f"{found[-1][2]:.1f} s")  # fmt: skip
    (few, short, own), (more, long, own_too) = found
    each = ((long - own_too) - (short - own)) / (more - few)
    print(f"per job beside its work: {each:.2f} s (Snakemake, the start of Python, imports); "
          f"start of a run: {short - own - each * few:.1f} s")  # fmt: skip


def noop(out: Path) -> None:
    """A config of 1000 jobs, all done: files in place and recorded as made by these settings."""
    config = many(495, 2)
    _, said = snakemake(out, config, "--dry-run", "--cores", "1")
    outputs = set(re.findall(r"results/[\w/.]+", snakemake(out, config, "--summary")[1]))
    for name in sorted(outputs):
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    snakemake(out, config, "--touch", "--cores", "1")
    seconds, again = snakemake(out, config, "--cores", "1")
    if "Nothing to be done" not in again:
        sys.exit(again[-2000:])
    print(f"{count(said)} jobs, nothing to do: {seconds:.1f} s")


def speedup(out: Path) -> None:
    """Twelve equal training jobs, after everything before them is done."""
    run = {"datasets": ["digits"], "methods": ["mbed"], "labels": [50], "trials": 12,
           "trials_per_job": 1}  # fmt: skip
    config = {"run": run}
    found = {}
    for cores in ("1", "2"):
        folder = out / f"cores_{cores}"
        before = ["results/digits/splits.h5", "results/digits/features.h5"]
        snakemake(folder, config, "--cores", "2", "--", *before)
        targets = [f"results/digits/methods/mbed/trials_{i}_{i + 1}.h5" for i in range(12)]
        found[cores], said = snakemake(folder, config, "--cores", cores, "--", *targets)
        print(f"--cores {cores}: {count(said)} jobs in {found[cores]:.1f} s", flush=True)
    print(f"speed-up: {found['1'] / found['2']:.2f}")


def only_c(out: Path) -> None:
    """MNIST with 600 labels; then again with another C of the SVM."""
    config = {
        "run": {"datasets": ["mnist"], "labels": [600], "trials": 1, "evaluate": "test",
                "methods": ["rbf_svm", "eigenbasis", "atlas", "invariant_diffusion"]},
        "datasets": {"mnist": {"source": "mnist", "scale": "divide", "divide_by": 255, "pca": 50}},
        "graphs": {name: {"method": "approximate"} for name in ("euclidean", "invariant")},
        "kernels": {"rbf": {"gamma": 0.02}},
        "methods": {"rbf_svm": {"C": 10.0}},
    }  # fmt: skip
    first, said = snakemake(out, config, "--cores", "1")
    print(f"first run: {count(said)} jobs, {first:.1f} s", flush=True)
    config["methods"]["rbf_svm"]["C"] = 30.0
    again, said = snakemake(out, config, "--cores", "1")
    print(f"after a change of C: {count(said)} jobs, {again:.1f} s, {100 * again / first:.1f} %")


def main() -> None:
    commands = {"jobs": jobs, "overhead": overhead, "noop": noop, "speedup": speedup,
                "only-c": only_c}  # fmt: skip
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else Path())


if __name__ == "__main__":
    main()
