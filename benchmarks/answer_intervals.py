"""Coverage and width of the error interval, and calibration, at 10 to 300 labels.

    python benchmarks/answer_intervals.py [--draws 8] [--store results/answer-intervals.csv]

Fewer and faster candidates than `fewfold label` uses (no transductive SVM, 30 trees): what is
measured is the interval of a stacked answer, over many draws. Rows already in the store are not
run again. Prints, by number of labels: runs, coverage of the 95 % interval, mean width, mean
signed error of the estimate, calibration error of the confidences before and after Platt's fit.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from answer import problems

from fewfold.labeling.calibration import calibrate, calibration_error, fit_calibration
from fewfold.labeling.combination import Diffusion, Member, Task, combine, examine, weights_for
from fewfold.labeling.intervals import error_estimate
from fewfold.labeling.stacking import cross_fitted
from fewfold.methods.cluster_kernel.estimator import ClusterKernelClassifier
from fewfold.methods.linear.estimator import LogisticClassifier
from fewfold.methods.trees.estimator import TreesClassifier

SIZES = (10, 20, 50, 100, 300)
SETS = (
    "wine", "glass", "ecoli", "ionosphere", "pima-indians-diabetes", "german",
    "banknote-authentication", "ssl1_10", "ssl5_10", "ssl6_10",
)  # fmt: skip


def fast_members():
    """Return candidates that take half a second together."""
    return [
        Member("extra trees", "trees", TreesClassifier("extra", n_trees=30)),
        Member("logistic", "linear", LogisticClassifier()),
        Member("rbf", "rbf", ClusterKernelClassifier(1)),
        Member("clusters", "clusters", ClusterKernelClassifier(2, n_runs=5)),
        Member("diffusion", "diffusion", Diffusion("labels")),
        Member("spreading", "diffusion", Diffusion(None, "spreading", 5)),
    ]


def one_run(X, y, m, draw):
    """Return the figures of one draw of m labels."""
    rng = np.random.default_rng(1000 + draw)
    rows = np.sort(rng.choice(len(y), m, replace=False))
    codes, k = y[rows], int(y.max()) + 1
    task = Task(X, rows, codes, k, seed=draw)
    members = fast_members()
    evidence = [examine(member, task) for member in members]
    proba, stack = combine(members, evidence, codes, task=task)
    first, _ = weights_for(members, codes, k, task=task)
    fold = task.folds[0]
    cross = cross_fitted([e.held_out for e in evidence], codes, first, fold)
    found = error_estimate(stack.held_out, cross, codes, n_folds=int(fold.max()) + 1)
    hidden = np.setdiff1d(np.arange(len(y)), rows)
    right = proba[hidden].argmax(axis=1) == y[hidden]
    fitted = fit_calibration(cross.max(axis=1), cross.argmax(axis=1) == codes)
    stated = proba[hidden].max(axis=1)
    return {
        "labels": m, "draw": draw, "error": 1 - right.mean(), "estimate": found.value,
        "low": found.low, "high": found.high, "raw_calibration": calibration_error(stated, right),
        "calibration": calibration_error(calibrate(stated, *fitted), right),
        "stated": calibrate(stated, *fitted).mean(),
    }  # fmt: skip


def main():
    """Run what is not stored yet, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--store", type=Path, default=Path("results/answer-intervals.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    arguments.store.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.read_csv(arguments.store).to_dict("records") if arguments.store.exists() else []
    done = {(r["set"], r["labels"], r["draw"]) for r in rows}
    data = {}
    for draw in range(arguments.draws):
        for name in SETS:
            if name not in data:
                data[name] = next(iter(problems(name, 1)))[1:3]
            X, y = data[name]
            for m in SIZES:
                if 2 * m <= len(y) and (name, m, draw) not in done:
                    rows.append({"set": name, **one_run(X, y, m, draw)})
        pd.DataFrame(rows).round(5).to_csv(arguments.store, index=False)
    print(summary(pd.DataFrame(rows)).to_string())


def summary(table):
    """Return the figures by number of labels, and over all runs."""
    table = table.assign(
        covered=(table.error >= table.low - 1e-9) & (table.error <= table.high),
        width=table.high - table.low,
        bias=table.estimate - table.error,
        gap=(table.stated - (1 - table.error)).abs(),
    )
    columns = ["covered", "width", "bias", "raw_calibration", "calibration", "gap"]
    found = table.groupby("labels")[columns].mean()
    found.loc["all"] = table[columns].mean()
    found.insert(0, "runs", [*table.groupby("labels").size(), len(table)])
    return found.round(3)


if __name__ == "__main__":
    main()
