"""Answers until an error is reached, beside random labels and uncertainty sampling on an SVM.

    python benchmarks/session_peers.py [--runs 3] [--sets digits,usps] [--csv FILE]

The sets of benchmarks/session.py. Ours: a session from no label on, its labels after each answer.
The others learn an RBF SVM (C = 10, scaled columns) from rows drawn at random, or chosen by modAL's
uncertainty sampling (least margin) after 10 random ones. "Promised" by Clopper-Pearson: half of the
random answers are held back, and the bound is looked at every 20 answers up to 400 without a
correction for looking often (which favors it). Not in the lock files: pip install modAL-python.
Prints errors in % after 20, 50, 100 and 200 answers, and medians of numbers of answers until the
share of benchmarks/session.py is reached, and until it is promised (inf: not within the answers).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import beta
from session import SETS, SHARES, Prepared
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewfold.session.session import LabelingSession

MOST, EVERY = 200, 10
LOOKS = (20, 50, 100, 200)


def svm_labels(X, rows, y):
    """Labels of all rows by an SVM, answered rows as answered."""
    if len(np.unique(y[rows])) < 2:
        found = np.full(len(y), y[rows[0]])
    else:
        found = SVC(C=10).fit(X[rows], y[rows]).predict(X)
    found[rows] = y[rows]
    return found


def ours(data, seed, share):
    """Error after each tenth answer of a session, and answers until the promise ended."""
    names = [str(c) for c in range(int(data.y.max()) + 1)]
    session = LabelingSession(data.graph, np.full(len(data.y), -1), names, seed=seed,
                              responses=data.responses)  # fmt: skip
    errors = {}
    for n in range(1, MOST + 1):
        row = session.suggest().row
        session.answer(row, names[data.y[row]])
        if n % EVERY == 0:
            errors[n] = np.mean(session.labels()[0] != data.y)
    return errors, None


def random_svm(data, seed, share):
    """The same with random rows and an SVM, with half held back for Clopper-Pearson."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    errors, promised = {}, None
    for n in range(EVERY, MOST + 1, EVERY):
        errors[n] = np.mean(svm_labels(data.scaled, order[:n], data.y) != data.y)
    for n in range(2 * EVERY, 2 * MOST + 1, 2 * EVERY):
        found = svm_labels(data.scaled, order[: n // 2], data.y)
        held = order[n // 2 : n]
        wrong = int(np.sum(found[held] != data.y[held]))
        if promised is None and beta.ppf(0.95, wrong + 1, n // 2 - wrong) <= share:
            promised = n
    return errors, promised


def random_diffusion(data, seed, share):
    """Random rows and our live labels: what the choice of rows alone brings."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    names = [str(c) for c in range(int(data.y.max()) + 1)]
    errors = {}
    for n in range(EVERY, MOST + 1, EVERY):
        given = np.full(len(data.y), -1)
        given[order[:n]] = data.y[order[:n]]
        live = LabelingSession(data.graph, given, names)
        errors[n] = np.mean(live.labels()[0] != data.y)
    return errors, None


def uncertainty(data, seed, share):
    """Least margin of an SVM, by modAL, five rows at a time after ten random ones."""
    from modAL.models import ActiveLearner
    from modAL.uncertainty import margin_sampling

    rng = np.random.default_rng(seed)
    rows = [int(r) for r in rng.permutation(len(data.y))[:EVERY]]
    errors = {EVERY: np.mean(svm_labels(data.scaled, np.array(rows), data.y) != data.y)}
    while len(rows) < MOST:
        left = np.setdiff1d(np.arange(len(data.y)), rows)
        if len(np.unique(data.y[rows])) > 1:
            svm = SVC(C=10, probability=True, random_state=0)
            learner = ActiveLearner(svm, margin_sampling, data.scaled[rows], data.y[rows])
            chosen, _ = learner.query(data.scaled[left], n_instances=5)
        else:
            chosen = rng.permutation(len(left))[:5]
        rows += [int(left[i]) for i in chosen]
        if len(rows) % EVERY == 0:
            errors[len(rows)] = np.mean(svm_labels(data.scaled, np.array(rows), data.y) != data.y)
    return errors, None


WAYS = {"session": ours, "random rows, diffusion": random_diffusion,
        "random rows, SVM": random_svm, "uncertainty, SVM": uncertainty}  # fmt: skip


def main():
    """Run and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    found = []
    for name in arguments.sets.split(","):
        data = Prepared(name)
        data.scaled = make_pipeline(StandardScaler()).fit_transform(data.X)
        for way, function in WAYS.items():
            for seed in range(arguments.runs):
                errors, promised = function(data, seed, SHARES[name])
                reached = min((n for n, e in errors.items() if e <= SHARES[name]), default=np.inf)
                row = {"set": name, "way": way, "seed": seed, "reached": reached}
                row["promised"] = np.inf if promised is None else promised
                found.append({**row, **{f"at {n}": errors[n] for n in LOOKS}})
            part = pd.DataFrame(found).query("set == @name and way == @way")
            errors = " | ".join(f"{100 * part[f'at {n}'].mean():.1f}" for n in LOOKS)
            middle = part[["reached", "promised"]].median()
            print(f"| {name} | {way} | {errors} | {middle['reached']:.0f} | "
                  f"{middle['promised']:.0f} |", flush=True)  # fmt: skip
    if arguments.csv:
        pd.DataFrame(found).round(4).to_csv(arguments.csv, index=False)


if __name__ == "__main__":
    main()
