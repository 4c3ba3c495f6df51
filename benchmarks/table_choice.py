"""Which of our methods to advise for a table: errors on LETTER's training rows alone.

    FEWFOLD_MIRROR=... python benchmarks/table_choice.py FOLDER

The 16 000 training rows are a dataset of their own: labels are drawn among them, three times, and
the error is that on the others. LETTER's test rows are not touched.
"""

import csv
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import yaml

from fewfold.datasets import load

CONFIG = {
    "run": {
        "datasets": ["letter_training"],
        "methods": ["diffusion", "atlas", "eigenbasis", "metric_svm", "graph_svm", "rbf_svm"],
        "trials": 3,
        "trials_per_job": 3,
        "draw": "balanced",
        "evaluate": "unlabeled",
        "labels": [26, 130, 520, 1300],
    },
    "manifolds": {"basis": {"n_vectors": 300}},
    "methods": {
        "eigenbasis": {"max_vectors": 300},
        "graph_svm": {"learner": "graph_svm", "kernel": "rbf", "graph": "euclidean", "C": "cv"},
        "metric_svm": {"learner": "metric_svm", "graph": "euclidean"},
    },
}


def main():
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    data = load("letter")
    train = ~data.test_mask
    rows, config = folder / "letter_training.npz", folder / "config.yaml"
    np.savez(rows, X=np.asarray(data.X[train], np.float32), y=np.asarray(data.y[train]))
    source = {"letter_training": {"source": "file", "options": {"path": str(rows)}}}
    config.write_text(yaml.safe_dump(CONFIG | {"datasets": source}))
    subprocess.run(["fewfold", "run", "--configfile", config, "--out", folder], check=True)
    errors = defaultdict(list)
    with open(folder / "results/metrics.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["metric"] == "error" and row["status"] == "ok":
                errors[row["method"], int(row["n_labeled"])].append(100 * float(row["value"]))
    for method in CONFIG["run"]["methods"]:
        cells = [f"{np.mean(errors[method, n]):.2f}" for n in CONFIG["run"]["labels"]]
        print(f"{method:12} {'  '.join(cells)}")


if __name__ == "__main__":
    main()
