"""The whole workflow beside a plain script: load, draw, four methods, tune, predict, tabulate.

Ours is ``fewfold run``: Snakemake, a process per stage, files checked, figures and an HTML report.
The peer is the script below in one process, as a user of scikit-learn would write it; it makes no
report. Both take the same file, draws, grids and folds; start-up and imports are inside the clock.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

BUDGETS, TRIALS = [20, 100, 300], 5
ALPHA, NEIGHBORS = 0.2, 7
CHANGED_ALPHA = 0.9


def prepare(source, n):
    """Write rows, classes and the draws that the workflow will make from its seed."""
    from fewfold.pipeline.protocol import make_draws

    if source == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X = (X / 16).astype(np.float32)
    else:
        from fewfold.datasets import load

        data = load("mnist", part="train", n_samples=n)
        X, y = np.asarray(data.X, np.float32) / 255, np.asarray(data.y, np.int64)
    order, _ = make_draws(
        y, draw="balanced", budgets=BUDGETS, trials=TRIALS, seed=0, dataset="points"
    )
    return {"X": X, "y": y, "order": order}


def config(path, alpha):
    methods = ["knn", "linear_svm", "rbf_svm", "spreading"]
    return {
        "run": {"datasets": ["points"], "methods": methods, "labels": BUDGETS, "trials": TRIALS,
                "draw": "balanced", "seed": 0},
        "datasets": {"points": {"source": "file", "options": {"path": str(path), "target": "y"},
                                "scale": "none"}},
        "graphs": {"seven": {"n_neighbors": NEIGHBORS - 1, "weights": "binary"}},
        "methods": {"spreading": {"learner": "diffusion", "graph": "seven",
                                  "method": "spreading", "alpha": alpha}},
    }  # fmt: skip


class Workflow:
    """Our run in a folder of its own, which goes with this object."""

    def __init__(self, data):
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name)
        np.savez(self.out / "points.npz", X=data["X"], y=data["y"])

    def run(self, alpha=ALPHA):
        file = self.out / "bench.json"
        file.write_text(json.dumps(config(self.out / "points.npz", alpha)))
        threads = os.environ.get("OMP_NUM_THREADS", "1")
        command = [sys.executable, "-m", "fewfold.cli", "run", "--cores", threads]
        command += ["--configfile", str(file), "--out", str(self.out)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return self.out / "results/metrics.csv"


class Script:
    """The plain script in a process of its own."""

    def __init__(self, data):
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name)
        np.savez(self.out / "points.npz", **data)

    def run(self, alpha=ALPHA):
        table = self.out / "metrics.csv"
        subprocess.run([sys.executable, __file__, self.out / "points.npz", table, str(alpha)],
                       check=True)  # fmt: skip
        return table


def mean_error(table):
    with open(table, newline="") as file:
        return 100 * float(np.mean([float(row["value"]) for row in csv.DictReader(file)]))


def first_run(runner):
    def contender(data):
        return runner(data).run, mean_error

    return contender


def second_run(runner):
    """After the first run, with one parameter of one method changed."""

    def contender(data):
        program = runner(data)
        program.run()
        return lambda: program.run(CHANGED_ALPHA), mean_error

    return contender


def rows(Row, ours):
    sizes = {"full": {"source": "mnist", "n": 5000}, "losses": {"source": "digits", "n": 1797}}
    return {
        f"pipeline_{key}": Row(
            f"the whole pipeline, {words}", "mean error, %", prepare,
            sizes,
            {ours: make(Workflow), "plain scikit-learn script": make(Script)},
        )
        for key, words, make in (
            ("first", "first run", first_run),
            ("again", "again with one parameter changed", second_run),
        )
    }  # fmt: skip


# ---------------------------------------------------------------- the plain script


def plain_script(source, table, alpha):
    import warnings

    import pandas as pd
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.semi_supervised import LabelSpreading
    from sklearn.svm import SVC, LinearSVC

    warnings.simplefilter("ignore")
    data = np.load(source)
    X, y, order = data["X"], data["y"], data["order"]
    sample = X[np.random.default_rng(0).choice(len(X), min(1000, len(X)), replace=False)]
    gamma = 1 / np.median(((sample[:, None, :] - sample[None, :200]) ** 2).sum(axis=2))
    supervised = {
        "knn": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 7, 9]}),
        "linear_svm": (LinearSVC(max_iter=2000), {"C": [0.1, 1, 10, 100]}),
        "rbf_svm": (SVC(cache_size=500),
                    {"gamma": gamma * np.array([0.3, 1, 3, 10]), "C": [1, 10, 100]}),
    }  # fmt: skip
    found = []
    for trial, rows in enumerate(order):
        for budget in BUDGETS:
            labeled = rows[:budget]
            hidden = np.setdiff1d(np.arange(len(y)), labeled)
            fewest = np.bincount(y[labeled]).min()
            folds = StratifiedKFold(min(5, fewest), shuffle=True, random_state=trial)
            guesses = {}
            for name, (model, grid) in supervised.items():
                grid = {
                    k: [v for v in values if k != "n_neighbors" or v <= budget // 2]
                    for k, values in grid.items()
                }
                search = GridSearchCV(model, grid, cv=folds).fit(X[labeled], y[labeled])
                guesses[name] = search.predict(X)
            known = np.full(len(y), -1)
            known[labeled] = y[labeled]
            spreading = LabelSpreading(kernel="knn", n_neighbors=NEIGHBORS, alpha=alpha)
            guesses["spreading"] = spreading.fit(X, known).transduction_
            for name, guess in guesses.items():
                error = np.mean(guess[hidden] != y[hidden])
                found.append((name, budget, trial, error))
    pd.DataFrame(found, columns=["method", "n_labeled", "trial", "value"]).to_csv(table)


if __name__ == "__main__":
    plain_script(sys.argv[1], sys.argv[2], float(sys.argv[3]))
