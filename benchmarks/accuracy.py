"""Error against labels: the peers on the very draws of a run of ours, and the table of both.

    fewfold run --configfile config/benchmark.yaml --out results/benchmark
    fewfold run --configfile config/benchmark.yaml --configfile config/benchmark_slow.yaml \\
        --out results/benchmark_slow
    python benchmarks/accuracy.py results/benchmark results/benchmark_slow [--datasets ...]

Peers get the files of the first run that has a dataset: the prepared rows, the exact Euclidean
neighbors (cosine for text) of all rows, and the labeled draws. Other runs hold methods of ours on
the first of the same draws, which is checked; of a draw in two runs the first counts. What was
measured of the peers is kept in the first run's folder (peers.csv) and not measured again. Writes
benchmarks/results/accuracy.csv.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import pandas as pd
import peers

HERE = Path(__file__).resolve().parent
TABLE = HERE / "results/accuracy.csv"
KEYS = ["dataset", "method", "n_labeled", "trial"]
# Self-training fits a machine to all its rows in the end, again and again: it gets this many.
SELF_TRAINING_ROWS = 2000
# Wider dense rows go to the machines as their principal components.
WIDE, COMPONENTS = 300, 50


class Task:
    """The files of one dataset of a run, as the peers need them."""

    def __init__(self, folder):
        from fewfold.pipeline.graph_files import read_graph
        from fewfold.pipeline.protocol import evaluated_rows
        from fewfold.pipeline.stage_files import read_features, read_labels, read_splits

        self.name = folder.name
        self.X = read_features(folder / "features.h5").X
        self.truth = read_labels(folder / "labels.h5")
        self.y = self.truth.y
        self.splits = read_splits(folder / "splits.h5")
        self._evaluated = evaluated_rows
        for graph, is_cosine in (("euclidean", False), ("cosine", True)):
            path = folder / f"graphs/{graph}.h5"
            if path.exists():
                self.neighbors = self._with_self(read_graph(path).neighbors, is_cosine)
                break

    def _with_self(self, found, is_cosine):
        """Put each row before its neighbors, as the peers count it; distances of unit rows."""
        own = np.arange(len(found.indices))[:, None]
        distances = np.sqrt(2 * found.distances) if is_cosine else found.distances
        return (
            np.hstack([own, found.indices]),
            np.hstack([np.zeros_like(distances[:, :1]), distances]).astype(np.float64),
        )

    def rows(self, trial, budget):
        return self._evaluated(
            self.y, self.splits.order[trial, :budget], evaluate=self.splits.evaluate,
            test_mask=self.truth.test_mask,
        )  # fmt: skip

    def all_evaluated(self):
        is_test = self.splits.evaluate == "test"
        return np.flatnonzero(self.truth.test_mask) if is_test else np.arange(len(self.y))

    def for_machines(self):
        """Return rows for supervised peers: principal components where there are many columns."""
        from scipy import sparse
        from sklearn.decomposition import PCA

        if sparse.issparse(self.X):
            return sparse.csr_matrix(self.X)
        if self.X.shape[1] <= WIDE:
            return self.X
        return PCA(COMPONENTS, random_state=0).fit_transform(self.X)


def contenders(task):
    """Return {peer: function that makes a labeler}; made only if something is left to measure."""
    made, asked = {}, task.all_evaluated()

    def machine_rows():
        if "rows" not in made:
            made["rows"] = task.for_machines()
        return made["rows"]

    def spreading(**options):
        return peers.scikit_learn_spreading(task.X, task.y, task.neighbors, **options)

    def learned(name):
        return lambda: peers.graphlearning(task.X, task.y, name, neighbors=task.neighbors)

    out = {
        "scikit-learn LabelSpreading": spreading,
        "scikit-learn LabelPropagation": lambda: spreading(propagation=True),
        "scikit-learn SVC (RBF)": lambda: peers.rbf_svm(machine_rows(), task.y, asked),
        "scikit-learn k-NN": lambda: peers.nearest(machine_rows(), task.y, asked),
        "graphlearning Laplace": learned("laplace"),
        "graphlearning Poisson": learned("poisson"),
        "graphlearning random walk": learned("randomwalk"),
    }
    out["scikit-learn SelfTraining(SVC)"] = lambda: peers.self_training(
        machine_rows(), task.y, asked, SELF_TRAINING_ROWS
    )
    return out


def measure(task, store, only):
    """Measure what is not in the store yet, appending line by line."""
    done = set()
    if store.exists():
        done = {tuple(row) for row in pd.read_csv(store)[KEYS].itertuples(index=False)}
    with open(store, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow([*KEYS, "error", "cpu_s"])
        for name, make in contenders(task).items():
            cells = [
                (trial, budget)
                for budget in task.splits.budgets
                for trial in range(len(task.splits.order))
                if (task.name, name, budget, trial) not in done and (not only or only in name)
            ]
            if not cells:
                continue
            label, start = make(), time.process_time()
            for trial, budget in cells:
                cpu = time.process_time()
                guess = label(task.splits.order[trial, :budget])
                rows = task.rows(trial, budget)
                error = float(np.mean(guess[rows] != task.y[rows]))
                seconds = time.process_time() - cpu
                writer.writerow([task.name, name, budget, trial, f"{error:.6f}", f"{seconds:.2f}"])
                file.flush()
            print(f"{task.name}, {name}: {time.process_time() - start:.1f} s CPU", flush=True)


def homes(runs):
    """Return {dataset: folder in the first run that has it}; other runs must share its draws."""
    from fewfold.pipeline.stage_files import read_splits

    found = {}
    for path in (path for run in runs for path in sorted(run.glob("results/*/splits.h5"))):
        folder = found.setdefault(path.parent.name, path.parent)
        all_draws, draws = (read_splits(f / "splits.h5").order for f in (folder, path.parent))
        if not np.array_equal(draws, all_draws[: len(draws), : draws.shape[1]]):
            raise SystemExit(f"{path}: not the draws of {folder}")
    return found


def our_errors(runs):
    """Read each method's own metrics: a run of some datasets leaves those of others alone."""
    paths = [path for run in runs for path in sorted(run.glob("results/*/methods/*/trials_*.csv"))]
    table = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    failed = table["status"] != "ok"
    for said, count in table.loc[failed, "status"].value_counts().items():
        print(f"left out, {count} trials: {said}")
    table = table[~failed].rename(columns={"value": "error"})
    # Images too small to straighten have an entry of their own in the config: the same method.
    table["method"] = table["method"].str.removeprefix("small_").str.removeprefix("cosine_")
    return table[[*KEYS, "error"]].drop_duplicates(KEYS).assign(ours=True)


def summarize(table):
    """Return mean, s.d. and standard error in % over the draws of each cell."""
    groups = table.groupby(["dataset", "n_labeled", "method", "ours"], sort=False)["error"]
    out = (100 * groups.agg(["mean", "std"])).assign(trials=groups.size()).reset_index()
    out["se"] = out["std"] / np.sqrt(out["trials"])
    return out.round(4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", help="the ones with all draws first")
    parser.add_argument("--datasets", nargs="+", help="all of the runs, unless named")
    parser.add_argument("--table", action="store_true", help="measure nothing, write the table")
    parser.add_argument("--only", help="part of a peer's name")
    args = parser.parse_args()
    found, store = homes(args.runs), args.runs[0] / "peers.csv"
    for name in [] if args.table else args.datasets or found:
        measure(Task(found[name]), store, args.only)
    theirs = pd.read_csv(store)[[*KEYS, "error"]].assign(ours=False)
    table = summarize(pd.concat([our_errors(args.runs), theirs], ignore_index=True))
    TABLE.parent.mkdir(exist_ok=True)
    table.to_csv(TABLE, index=False)


if __name__ == "__main__":
    main()
