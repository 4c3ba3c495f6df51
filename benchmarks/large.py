"""Diffusion with default settings from a file of many rows to labels: CPU seconds and peak memory.

    python benchmarks/large.py fit 100000 300000 1000000     # curved manifolds, 50 columns
    python benchmarks/large.py peers 1000000                 # neighbor searches at equal recall
    python benchmarks/large.py check 100000                  # against plain float64; lists needed
    python benchmarks/large.py table                         # Markdown for docs/scaling.md

Each fit is a process of its own, which reads a file of float32 rows; 100 labels. What was measured
is appended to data/measured/large.csv. CPU seconds include the start of Python and exclude numba's
compilation (a small fit comes first, and is taken off).
"""

from __future__ import annotations

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MEASURED = Path(__file__).resolve().parents[1] / "data/measured/large.csv"
COLUMNS = ("what", "n", "cpu_s", "max_rss_mb", "recall", "steps", "error")
LABELS, K = 100, 10


def write(row: dict) -> None:
    """Append a measurement."""
    is_new = not MEASURED.exists()
    with open(MEASURED, "a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow({k: row.get(k, "") for k in COLUMNS})
    print(row, flush=True)


def make(n: int, folder: str) -> None:
    from fewfold.datasets import load

    data = load("curved_manifolds", n_samples=n, seed=1)
    np.save(f"{folder}/X.npy", data.X)
    np.save(f"{folder}/y.npy", data.y)


def fit(n: int, folder: str) -> None:
    """Read the file, label all rows; one process."""
    from fewfold import DiffusionClassifier

    truth = np.load(f"{folder}/y.npy")
    labeled = np.random.default_rng(0).choice(n, LABELS, replace=False)
    y = np.full(n, -1)
    y[labeled] = truth[labeled]
    some = np.load(f"{folder}/X.npy", mmap_mode="r")[:25_000].copy()
    few = np.where(np.arange(25_000) < LABELS, truth[:25_000], -1)
    compile_start = time.process_time()
    DiffusionClassifier().fit(some, few)
    compiled = time.process_time() - compile_start
    model = DiffusionClassifier().fit(np.load(f"{folder}/X.npy"), y)
    rest = np.ones(n, bool)
    rest[labeled] = False
    write({
        "what": "DiffusionClassifier", "n": n,
        "cpu_s": round(time.process_time() - compiled, 1),
        "max_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "recall": model.recall_, "steps": model.n_iter_,
        "error": round(float(np.mean((model.transduction_ != truth)[rest])), 4),
    })  # fmt: skip


def searches(X) -> dict:
    """Return neighbor searches of the rows among themselves, by name."""
    import faiss

    from fewfold.graph.neighbors import nearest_neighbors

    def ivf():
        n_lists = int(4 * np.sqrt(len(X)))
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_lists)
        index.train(X[:: max(1, len(X) // (48 * n_lists))])
        index.add(X)
        index.nprobe = 12
        return index.search(X, K + 1)[1]

    def hnsw():
        index = faiss.IndexHNSWFlat(X.shape[1], 16)
        index.hnsw.efConstruction, index.hnsw.efSearch = 40, 32
        index.add(X)
        return index.search(X, K + 1)[1]

    def descent():
        from pynndescent import NNDescent

        return NNDescent(X, n_neighbors=K + 5, random_state=0).neighbor_graph[0][:, : K + 1]

    return {
        "fewfold": lambda: nearest_neighbors(X, K, method="approximate").indices,
        "faiss IVF": ivf, "faiss HNSW": hnsw, "pynndescent": descent,
    }  # fmt: skip


def peer(n: int, folder: str, name: str) -> None:
    """One search in a process of its own; recall on 300 rows."""
    from fewfold.graph.neighbors import nearest_neighbors

    X = np.load(f"{folder}/X.npy")
    searches(X[:5000].copy())[name]()  # compiles
    start = time.process_time()
    found = searches(X)[name]()
    cpu = time.process_time() - start
    rows = np.random.default_rng(0).choice(n, 300, replace=False)
    true = nearest_neighbors(X, K + 1, query=X[rows], method="exact").indices
    pairs = zip(true, found[rows], rows)
    hits = [len(np.intersect1d(a[a != r][:K], b[b != r][:K])) for a, b, r in pairs]
    write({
        "what": name, "n": n, "cpu_s": round(cpu, 1), "recall": round(np.mean(hits) / K, 4),
        "max_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    })  # fmt: skip


def check(n: int, folder: str) -> None:
    """Compare the solver with conjugate gradients in float64, and say what normal columns need."""
    from fewfold.graph.build import build_graph
    from fewfold.graph.lists import build_index, choose_probes
    from fewfold.methods.diffusion import solver, spreading

    X, y = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
    W, found = build_graph(X).W, []
    labeled = np.random.default_rng(0).choice(n, LABELS, replace=False)
    for limit in (0, n):
        solver.MANY_ROWS = limit
        start = time.process_time()
        found.append(spreading.poisson_scores(W, labeled, y[labeled], 20))
        print(
            f"{found[-1].n_iterations} steps, {time.process_time() - start:.1f} CPU s", flush=True
        )
    ours, plain = (scores.values for scores in found)
    same = np.mean(ours.argmax(axis=1) == plain.argmax(axis=1))
    gap = np.linalg.norm(ours - plain) / np.linalg.norm(plain)
    print(f"the same class in {same:.4%} of rows, scores differ by {gap:.1e}")
    normal = np.random.default_rng(0).standard_normal((n, 30), np.float32)
    index = build_index(normal)
    print(f"30 normal columns: {choose_probes(index, K, 0.995)} of {index.n_lists} lists")


def table() -> None:
    """Print the measurements, each with the exponent of its CPU seconds since the one before."""
    with open(MEASURED, newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda r: (r["what"], int(r["n"])))
    print("| of | rows | CPU s | grows as n to the | peak MB | recall | steps | error |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    before: dict = {}
    for row in rows:
        n, cpu, power = int(row["n"]), float(row["cpu_s"]), ""
        if before.get("what") == row["what"] and int(before["n"]) < n:
            power = f"{np.log(cpu / float(before['cpu_s'])) / np.log(n / int(before['n'])):.2f}"
        values = [row["what"], f"{n:,}".replace(",", " "), row["cpu_s"], power]
        print("|", " | ".join([*values, *(row[k] for k in COLUMNS[3:])]), "|")
        before = row


TASKS = {"_make": make, "_fit": fit, "_peer": peer, "_check": check}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("fit", "peers", "check", "table", *TASKS))
    parser.add_argument("more", nargs="*")
    args = parser.parse_args()
    if args.command.startswith("_"):
        return TASKS[args.command](int(args.more[0]), *args.more[1:])
    if args.command == "table":
        return table()
    for n in args.more:
        with tempfile.TemporaryDirectory() as folder:
            tasks = [["_make", n, folder]]
            if args.command in ("fit", "check"):
                tasks.append([f"_{args.command}", n, folder])
            else:
                names = ("fewfold", "faiss IVF", "faiss HNSW", "pynndescent")
                tasks += [["_peer", n, folder, name] for name in names]
            for task in tasks:
                subprocess.run([sys.executable, __file__, *task], check=task[0] == "_make")


if __name__ == "__main__":
    main()
