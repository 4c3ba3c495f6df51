"""Candidates of ``fewfold label`` and ways to combine them, on tables and the SSL-book sets.

    python benchmarks/answer.py TABLE [TABLE ...] [--draws 4]
    python benchmarks/answer.py --all

A TABLE is the name of a file of ``tables/`` in FEWFOLD_MIRROR, ``ssl1_10`` (set 1 of the SSL book
with 10 labels; sets 1, 5, 6; 10 or 100 labels), or ``fashion_100``. What candidates say is kept
under ``results/answer/`` (delete the folder after a change of a candidate), so that schemes are
compared in seconds. Prints the mean error in % of every candidate and scheme, and CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import io

from fewfold.labeling.combination import Evidence, Task, combine, default_members, examine
from fewfold.labeling.preparation import plan_columns, prepare_columns, simple_columns

STORE = Path("results/answer")
TABLES = (
    "banknote-authentication", "ecoli", "glass", "ionosphere", "pima-indians-diabetes", "wine",
    "german", "winequality-white", "adult-6000",
)  # fmt: skip
BOOK = tuple(f"ssl{s}_{m}" for m in (10, 100) for s in (1, 5, 6))
SCHEMES = {
    "stack 0.03": {},
    "stack 0.01": {"strength": 0.01},
    "stack 0.1": {"strength": 0.1},
    "stack, equal families": {"emphasis": {}},
    "plain mean": {"strength": 1e3, "emphasis": {}},
}


def mirror() -> Path:
    """Return the folder of the real data."""
    return Path(os.environ["FEWFOLD_MIRROR"])


def read_table(name):
    """Return features and class codes of a table; classes of fewer than 10 rows are left out."""
    for entry in json.loads((mirror() / "MANIFEST.json").read_text()):
        if entry["name"] == name:
            break
    target = entry["notes"].split("target column: ")[1].split(" ")[0]
    frame = pd.read_csv(mirror() / entry["file"])
    frame = frame[frame[target].notna()]
    counts = frame[target].value_counts()
    frame = frame[frame[target].isin(counts[counts >= 10].index)].reset_index(drop=True)
    columns = frame.drop(columns=target)
    kinds = simple_columns(columns)
    X, _ = prepare_columns(columns, kinds, plan_columns(columns, kinds))
    return X, np.unique(frame[target].astype(str), return_inverse=True)[1]


def problems(name, draws):
    """Yield (key, X, codes, labeled rows) of each draw."""
    if name.startswith("ssl"):
        number, m = name[3:].split("_")
        data = io.loadmat(mirror() / f"ssl-book/SSL,set={number},data.mat")
        splits = io.loadmat(mirror() / f"ssl-book/SSL,set={number},splits,labeled={m}.mat")
        X, y = np.asarray(data["X"], float), np.unique(data["y"], return_inverse=True)[1].ravel()
        labeled = [np.sort(rows.astype(int) - 1) for rows in splits["idxLabs"]]
        X /= X.std()
    else:
        if name.startswith("fashion"):
            with np.load(mirror() / "fashion/fashion-sample-10000.npz") as data:
                X, y = data["X"].reshape(10_000, -1) / 255.0, data["y"].astype(int)
            X = X - X.mean(axis=0)
            X = X @ np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :100]
            n = int(name.split("_")[1])
        else:
            X, y = read_table(name)
            n = int(np.clip(0.1 * len(y), 30, 300))
        labeled = [
            np.sort(np.random.default_rng(100 + draw).choice(len(y), n, replace=False))
            for draw in range(draws)
        ]
    for draw, rows in enumerate(labeled[:draws] if not name.startswith("ssl") else labeled):
        yield f"{name}-{draw}", X, y, rows


def stored(key, members, X, codes, rows):
    """Return what each member says, from the store where it is there."""
    task, found = None, []
    STORE.mkdir(parents=True, exist_ok=True)
    for member in members:
        file = STORE / f"{key}@{member.name}.npz"
        if not file.exists():
            if task is None:
                task = Task(X, rows, codes[rows], int(codes.max()) + 1)
            one = examine(member, task)
            np.savez(file, held_out=one.held_out, answer=one.answer, seconds=one.seconds)
        with np.load(file) as data:
            found.append(Evidence(data["held_out"], data["answer"], float(data["seconds"])))
    return found


def run(name, draws):
    """Return errors of members and schemes and CPU seconds, one row per draw."""
    members, table = default_members(), []
    for key, X, codes, rows in problems(name, draws):
        evidence = stored(key, members, X, codes, rows)
        hidden = np.ones(len(codes), bool)
        hidden[rows] = False

        def error(proba, codes=codes, hidden=hidden):
            return 100 * float(np.mean(proba.argmax(axis=1)[hidden] != codes[hidden]))

        majority = np.bincount(codes[rows]).argmax()
        row = {m.name: error(e.answer) for m, e in zip(members, evidence)}
        for scheme, options in SCHEMES.items():
            row[scheme] = error(combine(members, evidence, codes[rows], **options)[0])
        row["majority"] = 100 * float(np.mean(codes[hidden] != majority))
        row["CPU s"] = sum(e.seconds for e in evidence)
        table.append(pd.Series(row, name=key))
        print(key, f"{row['stack 0.03']:.2f}", f"{row['CPU s']:.1f} s", flush=True)
    return pd.DataFrame(table)


def main():
    """Run the named tables and print the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--draws", type=int, default=4)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [*TABLES, *BOOK] if arguments.all else arguments.names
    found = {name: run(name, arguments.draws) for name in names}
    means = pd.DataFrame({name: table.mean() for name, table in found.items()})
    means["mean"] = means.mean(axis=1)
    with pd.option_context("display.width", 250, "display.max_columns", 30):
        print(means.round(2).to_string())


if __name__ == "__main__":
    main()
