"""Many rows with default settings, each task a process of its own: CPU seconds and peak memory.

    python benchmarks/large.py fit 100000 300000 1000000     # diffusion, from file to labels
    python benchmarks/large.py label 100000 1000000          # fewfold label, then fewfold predict
    python benchmarks/large.py read 1000000                  # a table, as Parquet and as CSV
    python benchmarks/large.py wide 1000000                  # a CSV of 2 GB, 200 columns
    python benchmarks/large.py wide_run 4600000              # one of 10 GB, as a run reads it
    python benchmarks/large.py graph 25000 100000 1000000    # the job that builds a graph
    python benchmarks/large.py eigen 100000                  # 200 eigenvectors of the graph
    python benchmarks/large.py atlas 100000                  # atlas of a sample, all rows encoded
    python benchmarks/large.py atlas_svm 100000              # linear SVMs on an atlas, whole fit
    python benchmarks/large.py atlas_sample 100000           # charts of 12 000 rows only
    python benchmarks/large.py digits 100000                 # deformed digits, invariant graph
    python benchmarks/large.py peers 100000 1000000          # neighbor searches at recall 0.99
    python benchmarks/large.py isotropic 20000 40000 80000   # the search where it is slowest
    python benchmarks/large.py check 100000                  # against plain float64; lists needed
    python benchmarks/large.py table                         # Markdown for docs/notes/scaling.md
    python benchmarks/large.py figure                        # docs/images/scaling.svg

The data are curved manifolds, 50 columns (label: 30) of float32 with 100 labels (label: 500), and
MNIST's digits deformed (digits). What was measured is appended to data/measured/large.csv. CPU
seconds include the start of Python and exclude numba's compilation (a small fit comes first, and
is taken off).
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

import cost_figures
import numpy as np
from neighbor_searches import K, recall_of, searches

MEASURED = Path(__file__).resolve().parents[1] / "data/measured/large.csv"
COLUMNS = ("what", "n", "cpu_s", "max_rss_mb", "recall", "steps", "error")
LABELS = 100


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
    few = np.where(np.arange(len(some)) < LABELS, truth[: len(some)], -1)
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


def spent(*command) -> tuple[float, int]:
    """Run a command; return the CPU seconds and the peak MB of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "fewfold.cli", *map(str, command)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(cpu, 1), round(after.ru_maxrss / 1024)


def make_table(path: str, n: int, seed: int, n_labels: int = 0) -> np.ndarray:
    """Write a Parquet table of 30 columns and a label column; return the true classes."""
    import pandas as pd

    from fewfold.datasets import load

    data = load("curved_manifolds", n_samples=n, n_features=30, seed=seed)
    frame = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(30)])
    shown = np.full(n, None, dtype=object)
    rows = np.random.default_rng(0).choice(n, n_labels, replace=False)
    shown[rows] = [f"c{code}" for code in data.y[rows]]
    frame.assign(y=shown).to_parquet(path) if n_labels else frame.to_parquet(path)
    return data.y


def note_jobs(n: int, out: Path) -> None:
    """Note what each job of a labeling took: the cost models of its requests are made of this."""
    import yaml

    from fewfold.methods.members import named_members
    from fewfold.pipeline import layout
    from fewfold.pipeline.stages import read_cost

    batches = yaml.safe_load((out / "input/config.yaml").read_text())["label"].get("batches", [])
    for path, stage, *_ in layout.cost_files(out / "logs"):
        kind, cost = "", read_cost(path)
        if stage == "examine_candidates":
            tile = int(path.name.split(".")[0].rpartition("_")[2])
            kind = " " + named_members("classification", batches[tile])[0].family
        write({"what": f"label: {stage}{kind}", "n": n, "cpu_s": round(cost["cpu_s"], 1),
               "max_rss_mb": round(cost["max_rss_mb"])})  # fmt: skip


def label(n: int, folder: str) -> None:
    """Label a table by the command line, then as many new rows."""
    import pandas as pd

    truth = make_table(f"{folder}/big.parquet", n, 1, 500)
    cpu, peak = spent("label", f"{folder}/big.parquet", "--target", "y", "--out", f"{folder}/out")
    note_jobs(n, Path(folder, "out"))
    table = pd.read_csv(f"{folder}/out/labels.csv")
    rest = ~table["was_labeled"].to_numpy()
    wrong = table["label"].str[1:].astype(int).to_numpy() != truth
    write({"what": "fewfold label", "n": n, "cpu_s": cpu, "max_rss_mb": peak,
           "error": round(float(wrong[rest].mean()), 4)})  # fmt: skip
    more = make_table(f"{folder}/new.parquet", n, 2)  # other rows of the same manifolds
    done = f"{folder}/done.parquet"
    # The peak of all children is that of label, so of predict only the time is known.
    cpu, _ = spent("predict", f"{folder}/out/model.h5", f"{folder}/new.parquet", "--out", done)
    said = pd.read_parquet(done)["label"].str[1:].astype(int).to_numpy()
    write({"what": "fewfold predict", "n": n, "cpu_s": cpu,
           "error": round(float(np.mean(said != more)), 4)})  # fmt: skip


def read(n: int, folder: str) -> None:
    """Read a table of 31 columns for labeling, as Parquet and as CSV."""
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    make_table(f"{folder}/big.parquet", n, 1, 500)
    arrow_csv.write_csv(parquet.read_table(f"{folder}/big.parquet"), f"{folder}/big.csv")
    print(f"  CSV of {Path(folder, 'big.csv').stat().st_size / 1e6:.0f} MB")
    for name in ("big.parquet", "big.csv"):
        subprocess.run([sys.executable, __file__, "_read_file", str(n), f"{folder}/{name}"])


def wide(n: int, folder: str, reader: str = "_read_file") -> None:
    """Read a CSV of 200 columns, which is not held in memory. After 10 000 rows they repeat."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    path, rng = f"{folder}/wide.csv", np.random.default_rng(0)
    names = [f"x{j}" for j in range(200)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.string())])
    X = rng.standard_normal((10_000, 200), np.float32)
    words = [None if i % 1000 else "ab"[i // 1000 % 2] for i in range(len(X))]
    arrow_csv.write_csv(pa.table([*X.T, words], schema=schema), path)
    text = Path(path).read_bytes().partition(b"\n")[2]
    with open(path, "ab") as file:
        for _ in range(n // 10_000 - 1):
            file.write(text)
    print(f"  CSV of {Path(path).stat().st_size / 1e6:.0f} MB")
    subprocess.run([sys.executable, __file__, reader, str(n), path])


def wide_run(n: int, folder: str) -> None:
    """Read the same file as the stage `fetch_dataset` of a run does: features of float64."""
    wide(n, folder, "_load_file")


def load_file(n: int, path: str) -> None:
    """Read one file as a dataset of a run, in a process of its own."""
    from fewfold.datasets import load

    found = load("file", path=path, target="y")
    measured("reading csv, 200 columns, for a run", n, 0.0)
    print(f"  features of {found.X.nbytes / 1e6:.0f} MB")


def read_file(n: int, path: str) -> None:
    """Read one file, in a process of its own."""
    from fewfold.labeling.intake import read_input

    found = read_input(path, "y")
    name = "csv, 200 columns" if path.endswith("wide.csv") else path.rpartition(".")[2]
    measured(f"reading {name}", n, 0.0)
    print(f"  features of {found.X.nbytes / 1e6:.0f} MB")


def measured(what: str, n: int, start: float, **more) -> dict:
    """Write what a task took since the start, and the peak of this process; return both."""
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    found = {"cpu_s": round(time.process_time() - start, 1), "max_rss_mb": peak}
    write({"what": what, "n": n, **found, **more})
    return found


def graph(n: int, folder: str) -> None:
    """Do what the job build_graph does, from features in memory to its file; also noted as one."""
    from fewfold.graph.build import GraphSettings, find_neighbors, graph_from_neighbors
    from fewfold.pipeline.graph_files import write_graph

    file, settings = Path(folder, "graph.h5"), GraphSettings(method="approximate")
    X = np.load(f"{folder}/X.npy")
    built = graph_from_neighbors(find_neighbors(X, settings), settings)
    write_graph(file, built)
    recall = round(built.neighbors.recall, 4)
    found = measured("graph", n, 0.0, recall=recall)
    costs = {"stage": "build_graph", "kind": "approximate", "n": n, "d": X.shape[1], "labels": 100,
             "fits": 1, **found, "bytes": file.stat().st_size}  # fmt: skip
    with open(MEASURED.with_name("scaling.csv"), "a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(costs.values())


def eigen(n: int, folder: str) -> None:
    """Find 200 eigenvectors of the default graph."""
    from fewfold.graph.build import build_graph
    from fewfold.methods.eigenbasis.basis import compute_basis

    X = np.load(f"{folder}/X.npy")
    compute_basis(build_graph(X[:25_000].copy()), 200)  # compiles
    graph = build_graph(X)
    start = time.process_time()
    basis = compute_basis(graph, 200)
    measured("eigenbasis, 200 vectors", n, start)
    print(f"  largest residual {basis['residuals'].max():.1e}")


def atlas(n: int, folder: str) -> None:
    """Fit an atlas (beyond 100 000 rows to a sample) and encode all rows in blocks."""
    from fewfold.methods.atlas.encoding import _level_blocks
    from fewfold.methods.atlas.fitting import fit_atlas

    X = np.load(f"{folder}/X.npy")
    fit_atlas(X[:25_000].copy())  # compiles
    start = time.process_time()
    found = fit_atlas(X)
    measured("atlas, fitted", n, start)
    start = time.process_time()
    errors = [code["errors"][:, 0].mean() for _, code in _level_blocks(X, found, 10, None, 8192)]
    measured("atlas, encoded", n, start)
    print(f"  {len(found['means'])} charts, mean squared error {np.mean(errors):.3f}")


def atlas_svm(n: int, folder: str) -> None:
    """Label by linear SVMs on the features of an atlas: fit it, encode all rows, learn, answer."""
    from fewfold import AtlasSVC

    X, truth = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
    labeled = np.random.default_rng(0).choice(n, LABELS, replace=False)
    y = np.full(n, -1)
    y[labeled] = truth[labeled]
    few = np.where(np.arange(25_000) < LABELS, truth[:25_000], -1)
    AtlasSVC("linear").fit(X[:25_000].copy(), few)  # compiles
    start = time.process_time()
    model = AtlasSVC("linear").fit(X, y)
    wrong = np.delete(model.transduction_ != truth, labeled)
    measured("AtlasSVC, linear", n, start, error=round(float(wrong.mean()), 4))


def atlas_sample(n: int, folder: str) -> None:
    """Label by linear SVMs on an atlas whose charts are fitted to 12 000 of the rows."""
    from fewfold import AtlasSVC
    from fewfold.methods.atlas import fitting

    fitting.MOST_ROWS = 12_000
    X, truth = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
    labeled = np.random.default_rng(0).choice(n, LABELS, replace=False)
    y = np.full(n, -1)
    y[labeled] = truth[labeled]
    for seed in range(3):
        model = AtlasSVC("linear", random_state=seed).fit(X, y)
        wrong = np.delete(model.transduction_ != truth, labeled).mean()
        print(f"{n} rows, seed {seed}: {len(model.atlas_['means'])} charts, error {wrong:.5f}")


def digits(n: int, folder: str) -> None:
    """Label deformed digits over the graph that ignores small deformations; three draws."""
    from fewfold.datasets import load
    from fewfold.graph.build import build_graph, find_neighbors, graph_from_neighbors
    from fewfold.graph.exploring import MOST_ROUNDS, explore
    from fewfold.methods.diffusion.estimator import diffuse, image_graph_settings
    from fewfold.pipeline.stages import Progress

    data = load("deformed_mnist", n_samples=n, seed=1)
    settings = image_graph_settings((28, 28))
    build_graph(data.X[:2000].copy(), settings)  # compiles
    start = time.process_time()
    progress = Progress(n, every_s=60)
    found = find_neighbors(data.X, settings, progress=progress)  # what `build_graph` does
    if settings.explores(n):
        searched, recall = time.process_time(), round(found.recall, 4)
        measured("deformed digits, candidates ranked", n, start, recall=recall)
        found = explore(data.X, found, settings, Progress(MOST_ROUNDS * n, every_s=60))
        measured("deformed digits, explored", n, searched, recall=round(found.recall, 4))
    W, recall = graph_from_neighbors(found, settings).W, round(found.recall, 4)
    measured("deformed digits, invariant graph", n, start, recall=recall)
    for n_labels in (10, 100):
        errors, start = [], time.process_time()
        for draw in range(3):
            rng = np.random.default_rng(draw)
            own = [np.flatnonzero(data.y == c) for c in range(10)]
            labeled = np.concatenate([rng.choice(r, n_labels // 10, replace=False) for r in own])
            proba, _ = diffuse(W, labeled, data.y[labeled], 10)
            wrong = np.delete(proba.argmax(axis=1) != data.y, labeled)
            errors.append(float(wrong.mean()))
        print(f"  errors with {n_labels} labels: {', '.join(f'{e:.4f}' for e in errors)}")
        measured(f"deformed digits, diffusion, {n_labels} labels, 3 draws", n, start,
                 error=round(np.mean(errors), 4))  # fmt: skip


def isotropic(n: int, folder: str) -> None:
    """Search neighbors of normal columns, which fill all their dimensions evenly."""
    from fewfold.graph.neighbors import nearest_neighbors

    small = np.random.default_rng(1).standard_normal((21_000, 30), np.float32)
    nearest_neighbors(small, K, method="approximate")  # compiles
    X = np.random.default_rng(0).standard_normal((n, 30), np.float32)
    for method in ("auto", "approximate", "exact"):
        start = time.process_time()
        found = nearest_neighbors(X, K, method=method)
        measured(f"30 normal columns, {method}", n, start, recall=found.recall)


def peer(n: int, folder: str, name: str) -> None:
    """One search in a process of its own; tuned on 300 rows, recall on 300 others."""
    from fewfold.graph.neighbors import nearest_neighbors

    X = np.load(f"{folder}/X.npy")

    def truth(seed, X):
        rows = np.random.default_rng(seed).choice(len(X), 300, replace=False)
        return rows, nearest_neighbors(X, K + 1, query=X[rows], method="exact").indices

    small = X[:5000].copy()
    searches(small, *truth(1, small))[name]()  # compiles
    known = truth(1, X)
    start = time.process_time()
    found = searches(X, *known)[name]()
    cpu = time.process_time() - start
    rows, true = truth(0, X)
    write({
        "what": name, "n": n, "cpu_s": round(cpu, 1),
        "recall": round(recall_of(found[rows], true, rows), 4),
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


def read_latest() -> dict[tuple[str, int], dict]:
    """Return {(what, rows): measurement}, the last where there are several."""
    with open(MEASURED, newline="") as file:
        return {(row["what"], int(row["n"])): row for row in csv.DictReader(file)}


def table() -> None:
    """Print the measurements, each with the exponent of its CPU seconds since the one before."""
    latest = read_latest()
    rows = [latest[key] for key in sorted(latest)]
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


TASKS = {"_make": make, "_fit": fit, "_peer": peer, "_check": check, "_eigen": eigen,
         "_graph": graph, "_read": read, "_read_file": read_file, "_wide": wide,
         "_wide_run": wide_run, "_load_file": load_file,
         "_label": label, "_isotropic": isotropic, "_atlas": atlas, "_digits": digits,
         "_atlas_svm": atlas_svm, "_atlas_sample": atlas_sample}  # fmt: skip
MADE_BY_THEMSELVES = ("label", "isotropic", "read", "wide", "wide_run", "digits")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "command", choices=("peers", "table", "figure", *TASKS, *(t[1:] for t in TASKS))
    )
    parser.add_argument("more", nargs="*")
    args = parser.parse_args()
    if args.command.startswith("_"):
        return TASKS[args.command](int(args.more[0]), *args.more[1:])
    if args.command == "table":
        return table()
    if args.command == "figure":
        return cost_figures.draw_growth(read_latest())
    for n in args.more:
        with tempfile.TemporaryDirectory() as folder:
            tasks = [] if args.command in MADE_BY_THEMSELVES else [["_make", n, folder]]
            if args.command != "peers":
                tasks.append([f"_{args.command}", n, folder])
            else:
                names = ("fewfold", "faiss IVF", "faiss HNSW", "pynndescent")
                tasks += [["_peer", n, folder, name] for name in names]
            for task in tasks:
                subprocess.run([sys.executable, __file__, *task], check=task[0] == "_make")


if __name__ == "__main__":
    main()
