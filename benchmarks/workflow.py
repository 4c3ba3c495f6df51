"""What the workflow itself costs and saves.

    python benchmarks/workflow.py jobs                 jobs of the default config
    python benchmarks/workflow.py overhead OUT         Snakemake's seconds per job
    python benchmarks/workflow.py noop OUT             time until a finished 1000-job run answers
    python benchmarks/workflow.py speedup OUT          --cores 1 against --cores 2, equal jobs
    python benchmarks/workflow.py nodes OUT            one node of a SLURM against two, equal jobs
    python benchmarks/workflow.py search OUT           tiles of 100 000 rows, on one node and two
    python benchmarks/workflow.py only-c OUT           MNIST, 600 labels: after a change of C only

OUT is an empty folder for the runs. Wall times are of this machine: leave it alone meanwhile.
"""

from __future__ import annotations

import csv
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
TINY = {
    "source": "gaussians_g50c",
    "options": {"n_samples": 120, "n_features": 5, "seed": 1},
    "scale": "standard",
}


def cpu_seconds() -> float:
    """CPU time of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def snakemake(
    folder: Path, config: dict, *words: str, profile: Path = ROOT / "workflow/profiles/default"
) -> tuple[float, str]:
    """Run the workflow; return the seconds and what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    command = [
        sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"),
        "--workflow-profile", str(profile),
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


def costs(folder: Path, column: str) -> float:
    """Seconds of all jobs together, as each measured them itself."""
    files = (folder / "logs").rglob("*.cost.tsv")
    return sum(float(next(csv.DictReader(p.open(), delimiter="\t"))[column]) for p in files)


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
        before, folder = cpu_seconds(), out / str(trials)
        seconds, said = snakemake(folder, many(trials), "--cores", "1")
        cpu = cpu_seconds() - before
        found.append((count(said), seconds - costs(folder, "s"), cpu - costs(folder, "cpu_s")))
        print(f"{found[-1][0]} jobs: {seconds:.1f} s, {cpu:.1f} s of CPU", flush=True)
    (few, *less), (more, *rest) = found
    wall, cpu = ((b - a) / (more - few) for a, b in zip(less, rest))
    print(
        f"per job beside its work: {wall:.2f} s, {cpu:.2f} s of CPU; "
        f"start of a run: {less[0] - wall * few:.1f} s, {less[1] - cpu * few:.1f} s of CPU"
    )


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
    before = cpu_seconds()
    seconds, again = snakemake(out, config, "--cores", "1")
    if "Nothing to be done" not in again:
        sys.exit(again[-2000:])
    cpu = cpu_seconds() - before
    print(f"{count(said)} jobs, nothing to do: {seconds:.1f} s, {cpu:.1f} s of CPU")


BEFORE = ["results/digits/splits.h5", "results/digits/features.h5"]


def equal_jobs(jobs: int = 12, draws: int = 4) -> tuple[dict, list[str]]:
    """A config of equal training jobs (some ten seconds each), and their files."""
    run = {"datasets": ["digits"], "methods": ["mbed"], "labels": [50], "trials": jobs * draws,
           "trials_per_job": draws}  # fmt: skip
    starts = range(0, jobs * draws, draws)
    return {"run": run}, [f"results/digits/methods/mbed/trials_{i}_{i + draws}.h5" for i in starts]


def speedup(out: Path) -> None:
    """Twelve equal training jobs, after everything before them is done."""
    config, targets = equal_jobs()
    found = {}
    for cores in ("1", "2"):
        folder = out / f"cores_{cores}"
        snakemake(folder, config, "--cores", "2", "--", *BEFORE)
        found[cores], said = snakemake(folder, config, "--cores", cores, "--", *targets)
        print(f"--cores {cores}: {count(said)} jobs in {found[cores]:.1f} s", flush=True)
    print(f"speed-up: {found['1'] / found['2']:.2f}")


def nodes(out: Path) -> None:
    """The same jobs on a real SLURM of one and of two nodes with one core each (as root)."""
    cluster = ROOT / "tests/cluster"
    config, targets = equal_jobs()
    found = {}
    for number in ("1", "2"):
        folder, home = out / f"nodes_{number}", Path(tempfile.mkdtemp(prefix="fewfold-slurm-"))
        snakemake(folder, config, "--cores", "2", "--", *BEFORE)
        subprocess.run([cluster / "slurm.sh", "start", home, number, "1", "12000"], check=True)
        try:
            found[number], said = snakemake(
                folder, config, "--", *targets, profile=cluster / "profile"
            )
        finally:
            subprocess.run([cluster / "slurm.sh", "stop", home], check=True)
        print(f"{number} nodes: {count(said)} jobs in {found[number]:.1f} s", flush=True)
    print(f"speed-up: {found['1'] / found['2']:.2f}")


SEARCHED = "results/big/graphs/euclidean.h5"
SEARCHES = {  # columns and settings of 100 000 rows in four tiles
    "approximate": (50, {"tile_rows": 25_000}),
    "exact": (200, {"graphs": {"euclidean": {"method": "exact", "tile_rows": 25_000}}}),
}


def searched(folder: Path) -> tuple:
    """Return the neighbors and the recall in a graph file."""
    from fewfold.pipeline.artifacts import read

    with read(folder / SEARCHED, "build_graph") as file:
        return file["indices"].tobytes(), file["distances"].tobytes(), file.note("recall")


def search(out: Path, repeats: int = 2) -> None:
    """Neighbors of 100 000 rows: tiles on a real SLURM of two nodes with one core each (as root).

    One node is drained for the first of each pair of runs, and killed (kill -9 of its daemon and
    its jobs) in the middle of the last run. What is before the tiles (features, index) is done
    already; the graph is put together in the time that is measured.
    """
    cluster = ROOT / "tests/cluster"
    home = Path(tempfile.mkdtemp(prefix="fewfold-slurm-", dir="/tmp"))
    start = [cluster / "slurm.sh", "start", home, "2", "1", "12000"]
    one_core = ["--set-threads", "search_neighbors=1", "build_graph=1"]
    try:
        for kind, (columns, more) in SEARCHES.items():
            options = {"n_samples": 100_000, "n_features": columns, "seed": 1}
            data = {"source": "curved_manifolds", "options": options, "scale": "none"}
            config = {"run": {"datasets": ["big"], "methods": ["diffusion"], "labels": [100],
                              "trials": 1}, "datasets": {"big": data}}  # fmt: skip
            one_job = {"graphs": {"euclidean": {"method": kind, "tile_rows": 100_000}}}
            seconds, _ = snakemake(out / kind / "one", config | one_job, "--cores", "1", "--",
                                   SEARCHED)  # fmt: skip
            print(f"{kind}, {columns} columns, one job: {costs(out / kind / 'one', 's'):.1f} s of "
                  f"jobs, {seconds:.1f} s with Snakemake", flush=True)  # fmt: skip
            whole, found = searched(out / kind / "one"), {}
            more = {"graphs": {"euclidean": {"method": kind}}} | more
            before = ["results/big/features.h5"]
            before += ["results/big/graphs/euclidean/index.h5"] * (kind == "approximate")
            for run in range(repeats):
                for nodes in (1, 2):
                    folder = out / kind / f"nodes_{nodes}_{run}"
                    snakemake(folder, config | more, "--cores", "2", "--", *before)
                    subprocess.run(start, check=True)
                    if nodes == 1:
                        set_node("drain")
                    took, _ = snakemake(folder, config | more, *one_core, "--", SEARCHED,
                                        profile=cluster / "profile")  # fmt: skip
                    found.setdefault(nodes, []).append(took)
                    same = searched(folder) == whole
                    print(f"  {nodes} nodes: {took:.1f} s, the same: {same}", flush=True)
                    if nodes == 1:
                        set_node("resume")
            ratios = [a / b for a, b in zip(found[1], found[2])]
            print(f"  speed-up: {', '.join(f'{r:.2f}' for r in ratios)}", flush=True)
        die_in_the_middle(out / kind, config | more, before, one_core, start, whole)
    finally:
        subprocess.run([cluster / "slurm.sh", "stop", home], check=True)


def set_node(state: str) -> None:
    """Drain the second node, or take it back."""
    words = ["nodename=node2", f"state={state}", "reason=measured"]
    subprocess.run(["scontrol", "update", *words], check=True)


def die_in_the_middle(out, config, before, one_core, start, whole) -> None:
    """Kill a node while both have a tile; the run ends with the other."""
    folder = out / "dies"
    snakemake(folder, config, "--cores", "2", "--", *before)
    subprocess.run(start, check=True)
    home = start[2]

    def kill():
        while len(list((folder / "logs").rglob("search_neighbors_*.cost.tsv"))) < 2:
            time.sleep(0.5)
        time.sleep(2)  # into the next tile
        subprocess.run([start[0], "kill", home, "node2"], check=True)

    killer = threading.Thread(target=kill)
    killer.start()
    took, _ = snakemake(
        folder, config, *one_core, "--", SEARCHED, profile=start[0].parent / "profile"
    )
    killer.join()
    jobs = subprocess.run(["scontrol", "show", "jobs"], text=True, check=True,
                          capture_output=True).stdout  # fmt: skip
    lost = sum("JobState=NODE_FAIL" in job and str(folder) in job for job in jobs.split("\n\n"))
    print(f"  a node dies: {took:.1f} s, {lost} jobs lost with it, "
          f"the same: {searched(folder) == whole}", flush=True)  # fmt: skip


def only_c(out: Path) -> None:
    """MNIST with 600 labels; then again with another C of the SVM.

    All methods of the default config that take ten classes, but for Mbed: its minutes at 70 000
    rows would make the share look smaller still.
    """
    config = {
        "run": {"datasets": ["mnist"], "labels": [600], "trials": 1, "evaluate": "test",
                "methods": ["knn", "linear_svm", "rbf_svm", "label_spreading", "diffusion",
                            "invariant_diffusion", "eigenbasis", "atlas", "multimanifold"]},
        "datasets": {"mnist": {"source": "mnist", "scale": "divide", "divide_by": 255, "pca": 50}},
        "graphs": {name: {"method": "approximate"} for name in ("euclidean", "invariant")},
        "kernels": {"rbf": {"gamma": 0.02}},
        "methods": {"rbf_svm": {"C": 10.0}},
    }  # fmt: skip
    found = []
    for C in (10.0, 30.0):
        config["methods"]["rbf_svm"]["C"] = C
        before = cpu_seconds()
        seconds, said = snakemake(out, config, "--cores", "1")
        found.append((seconds, cpu_seconds() - before))
        print(f"C = {C:g}: {count(said)} jobs, {seconds:.1f} s, {found[-1][1]:.1f} s of CPU",
              flush=True)  # fmt: skip
    (first, first_cpu), (again, again_cpu) = found
    print(f"the second run took {100 * again / first:.1f} % of the first one's time, "
          f"{100 * again_cpu / first_cpu:.1f} % of its CPU time")  # fmt: skip


def main() -> None:
    commands = {"jobs": jobs, "overhead": overhead, "noop": noop, "speedup": speedup,
                "nodes": nodes, "search": search, "only-c": only_c}  # fmt: skip
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else Path())


if __name__ == "__main__":
    main()
