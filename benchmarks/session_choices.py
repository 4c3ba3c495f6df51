"""How the rules of a session were chosen: on other sets than those of its tables.

    python benchmarks/session_choices.py [--sets iris,wine] [--runs 3]

Sessions from no label on; prints the mean error in % after 20, 40, 80, 120 and 200 answers (at
most 35 % of the rows) over sets, and the mean rank over sets. Varied are the candidates (diffusion
alone, or with the kernel classifier), the score of a row (margin between the two likeliest classes
over 1 + c times the share of answered neighbors), the first weight of the diffusion, and the share
of audit rows. "SVM": rows of least margin of an RBF SVM, five at a time. Real data: FEWFOLD_MIRROR.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from evidence import mirror
from sklearn import datasets
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewfold.datasets import load
from fewfold.graph.build import GraphSettings, build_graph
from fewfold.labeling.intake import read_input
from fewfold.methods.diffusion.estimator import image_graph_settings
from fewfold.methods.diffusion.solver import Solver
from fewfold.session import live_answer, session

SETS = ("iris", "wine", "breast_cancer", "ionosphere", "ecoli", "german", "generated", "moons",
        "semeion", "mnist")  # fmt: skip
SHAPES = {"semeion": (16, 16), "mnist": (28, 28)}
LOOKS, LARGEST, START, BATCH = (20, 40, 80, 120, 200), 0.35, 10, 5
# Whether the kernel takes part, crowding c, first weight of the diffusion, share of audit rows.
RULES = {
    "diffusion alone": (False, 1.0, 1.0, 0.3),
    "c = 0": (True, 0.0, 0.5, 0.3),
    "c = 1": (True, 1.0, 0.5, 0.3),
    "c = 10": (True, 10.0, 0.5, 0.3),
    "c = 1, audit 0.2": (True, 1.0, 0.5, 0.2),
    "c = 1, audit 0.1": (True, 1.0, 0.5, 0.1),
    "c = 1, audit 0.2, first 0.75": (True, 1.0, 0.75, 0.2),
    "c = 1, audit 0.2, first 0.9": (True, 1.0, 0.9, 0.2),
    "c = 3, audit 0.2, first 0.75": (True, 3.0, 0.75, 0.2),
}


def read_rows(name):
    """Return features and class codes."""
    if name in ("iris", "wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X = StandardScaler().fit_transform(X)
    elif name == "generated":
        X, y = datasets.make_classification(
            1500, 15, n_informative=10, n_redundant=0, n_classes=6, class_sep=1.5, random_state=3
        )
    elif name == "moons":
        X, y = datasets.make_moons(1000, noise=0.25, random_state=0)
    elif name in SHAPES:
        data = load(name)
        rows = np.random.default_rng(1).permutation(len(data.y))[
            : 1500 if name == "mnist" else None
        ]
        X, y = np.asarray(data.X)[rows], np.asarray(data.y)[rows]
    else:
        path = mirror() / f"tables/{name}.csv.gz"
        target = pd.read_csv(path).iloc[:, -1]
        X, y = read_input(path, n_clusters=2, drop=[target.name]).X, target.astype(str)
    X = np.asarray(X, dtype=np.float32).reshape(len(y), -1)
    return X, np.unique(y, return_inverse=True)[1]


def ours(X, y, graph, responses, rule, seed):
    """Errors of a session after numbers of answers."""
    with_kernel, session.CROWDED, first, session.AUDIT_SHARE = rule
    live_answer.FIRST = (first, 1 - first)
    names = [str(c) for c in range(y.max() + 1)]
    found = session.LabelingSession(graph, np.full(len(y), -1), names, seed=seed,
                                    features=X if with_kernel else None,
                                    responses=responses)  # fmt: skip
    errors, looks = {}, [n for n in LOOKS if n <= LARGEST * len(y)]
    for n in range(1, looks[-1] + 1):
        row = found.suggest().row
        found.answer(row, names[y[row]])
        if n in looks:
            errors[n] = np.mean(found.labels()[0] != y)
    return errors


def svm(X, y, seed):
    """The same of an SVM that asks for its least margins."""
    rng, X = np.random.default_rng(seed), StandardScaler().fit_transform(X)
    rows = rng.permutation(len(y))[:START].tolist()
    errors, looks = {}, [n for n in LOOKS if n <= LARGEST * len(y)]
    while len(rows) <= looks[-1]:
        left = np.setdiff1d(np.arange(len(y)), rows)
        margin = rng.random(len(left))
        if len(np.unique(y[rows])) > 1:
            model = SVC(C=10).fit(X[rows], y[rows])
            if len(rows) in looks:
                said = model.predict(X)
                errors[len(rows)] = np.mean(said[left] != y[left]) * len(left) / len(y)
            values = model.decision_function(X[left])
            margin = np.abs(values)
            if values.ndim > 1:
                margin = np.diff(np.sort(values, axis=1)[:, -2:], axis=1)[:, 0]
        rows += left[np.argsort(margin)[:BATCH]].tolist()
    return errors


def main():
    """Run all rules and print the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    found = []
    for name in arguments.sets.split(","):
        X, y = read_rows(name)
        shape = SHAPES.get(name)
        settings = image_graph_settings(shape) if shape else GraphSettings(symmetrize="mean")
        graph = build_graph(X, settings)
        responses = Solver(graph.W, tol=1e-6).solve(np.arange(len(y)))
        for seed in range(arguments.runs):
            found.append({"set": name, "rule": "SVM", **svm(X, y, seed)})
            for rule, values in RULES.items():
                errors = ours(X, y, graph, responses, values, seed)
                found.append({"set": name, "rule": rule, **errors})
        print(name, flush=True)
    means = pd.DataFrame(found).groupby(["set", "rule"], sort=False).mean()
    print((100 * means.groupby("rule", sort=False).mean()).round(2).to_string())
    print(means.groupby("set").rank().groupby("rule", sort=False).mean().round(2).to_string())


if __name__ == "__main__":
    main()
