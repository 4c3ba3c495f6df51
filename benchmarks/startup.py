"""Start-up: CPU seconds that a fresh process needs to import fewfold and each stage script.

    python benchmarks/startup.py [--repeats 5]

Writes benchmarks/results/startup.csv: the median, and which slow libraries were loaded.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
HEAVY = ("faiss", "ortools", "numba", "sklearn", "scipy", "pandas", "matplotlib", "snakemake")
_IMPORT = """
import json, resource, runpy, sys
if sys.argv[1] != "-":
    runpy.run_path(sys.argv[1]) if sys.argv[1].endswith(".py") else __import__(sys.argv[1])
used = resource.getrusage(resource.RUSAGE_SELF)
loaded = [name for name in {heavy!r} if name in sys.modules]
print(json.dumps([used.ru_utime + used.ru_stime, loaded]))
"""


def import_cost(target, repeats):
    """Return median CPU seconds of a process that imports the target, and what it loaded."""
    code = _IMPORT.format(heavy=HEAVY)
    seconds = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", code, target], capture_output=True, text=True, check=True
        )
        used, loaded = json.loads(done.stdout.splitlines()[-1])
        seconds.append(used)
    return median(seconds), loaded


def targets():
    scripts = sorted((HERE.parent / "scripts").glob("*.py"))
    peers = ("sklearn.semi_supervised", "sklearn.svm", "graphlearning")
    yield "Python alone", "-"
    yield "import fewfold", "fewfold"
    yield from ((f"scripts/{path.name}", str(path)) for path in scripts)
    yield from ((f"import {name}", name) for name in peers)


def workflow_commands(folder):
    """Yield what Snakemake itself costs: its import, and the plan of the default config."""
    root = HERE.parent
    snakemake = [sys.executable, "-m", "snakemake"]
    plan = ["--snakefile", str(root / "Snakefile"), "--directory", folder, "--cores", "1",
            "--workflow-profile", str(root / "workflow/profiles/default")]  # fmt: skip
    yield "snakemake --version", [*snakemake, "--version"]
    yield "dry run of the default config", [*snakemake, *plan, "--dry-run", "--quiet", "all"]


def command_cost(command, repeats):
    """Return median CPU seconds of a command with its children."""
    seconds = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    path = HERE / "results/startup.csv"
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "cpu_s", "loads"])
        for title, target in targets():
            try:
                seconds, loaded = import_cost(target, repeats)
            except subprocess.CalledProcessError as error:
                print(f"{title}: {error.stderr.strip().splitlines()[-1]}")
                continue
            writer.writerow([title, f"{seconds:.3f}", " ".join(loaded)])
            print(f"{title:32s} {seconds:.3f} s CPU  {' '.join(loaded)}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for title, command in workflow_commands(folder):
                seconds = command_cost(command, repeats)
                writer.writerow([title, f"{seconds:.3f}", ""])
                print(f"{title:32s} {seconds:.3f} s CPU", flush=True)


if __name__ == "__main__":
    main()
