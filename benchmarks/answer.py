"""Candidates of ``fewfold label`` and ways to combine them, on tables and the SSL-book sets.

    python benchmarks/answer.py TABLE [TABLE ...] [--draws 4] [--first 0] [--csv FILE]
    python benchmarks/answer.py --tables        the 9 tables, beside five single learners
    python benchmarks/answer.py --book          the SSL-book sets, beside the published errors
    python benchmarks/answer.py --numbers       the 2 tables with numbers

A TABLE is the name of a file of ``tables/`` in FEWFOLD_MIRROR, ``ssl1_10`` (set 1 of the SSL book
with 10 labels; sets 1, 5, 6; 10 or 100 labels), or ``fashion_100``. What candidates say is kept
under ``results/answer/`` (delete the folder after a change of a candidate), so that schemes are
compared in seconds. Prints the mean error in % of every candidate and scheme, and CPU seconds.

The single learners are those of a user in a hurry, with 300 trees, a grid for the SVM and
cross-validation for logistic regression, on standardized and one-hot columns.
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
from fewfold.labeling.numbers import (
    combine_numbers,
    default_regressors,
    examine_numbers,
    value_folds,
)
from fewfold.labeling.preparation import plan_columns, prepare_columns, simple_columns

STORE = Path("results/answer")
TABLES = (
    "banknote-authentication", "ecoli", "glass", "ionosphere", "pima-indians-diabetes", "wine",
    "german", "winequality-white", "adult-6000",
)  # fmt: skip
BOOK = tuple(f"ssl{s}_{m}" for m in (10, 100) for s in (1, 5, 6))
SCHEMES = {
    "combined": {},
    "strength 0.03": {"strength": 0.03},
    "equal families": {"emphasis": {}},
    "first weights only": {"strength": 1e3},
}
# Chapelle, Schoelkopf, Zien 2006, Chapter 21, as in the notes on the papers: the best three.
PUBLISHED = {
    "ssl1_10": (5.4, 8.9, 9.8), "ssl1_100": (2.4, 2.6, 2.8), "ssl5_10": (22.8, 24.7, 28.9),
    "ssl5_100": (13.5, 17.4, 18.0), "ssl6_10": (54.5, 59.6, 61.9), "ssl6_100": (9.6, 10.0, 11.9),
}  # fmt: skip
NUMBERS = ("auto-imports", "housing")


def mirror() -> Path:
    """Return the folder of the real data."""
    return Path(os.environ["FEWFOLD_MIRROR"])


def read_frame(name):
    """Return the columns and the target of a table."""
    for entry in json.loads((mirror() / "MANIFEST.json").read_text()):
        if entry["name"] == name:
            break
    target = entry["notes"].split("target column: ")[1].split(" ")[0]
    frame = pd.read_csv(mirror() / entry["file"])
    frame = frame[frame[target].notna()].reset_index(drop=True)
    if name not in NUMBERS:  # classes of fewer than 10 rows are left out
        counts = frame[target].value_counts()
        frame = frame[frame[target].isin(counts[counts >= 10].index)].reset_index(drop=True)
    return frame.drop(columns=target), frame[target]


def read_table(name):
    """Return features and class codes (or numbers) of a table."""
    columns, target = read_frame(name)
    kinds = simple_columns(columns)
    X, _ = prepare_columns(columns, kinds, plan_columns(columns, kinds))
    if name in NUMBERS:
        return X, target.to_numpy(dtype=float)
    return X, np.unique(target.astype(str), return_inverse=True)[1]


def single_learners(numbers: bool) -> dict:
    """Return what one line of scikit-learn gives, by name."""
    from sklearn import ensemble, linear_model, model_selection, svm

    if numbers:
        grid = model_selection.GridSearchCV(svm.SVR(), {"C": [1, 100, 10000]}, cv=3)
        return {
            "single extra": ensemble.ExtraTreesRegressor(300, random_state=0),
            "single forest": ensemble.RandomForestRegressor(300, random_state=0),
            "single boosting": ensemble.HistGradientBoostingRegressor(random_state=0),
            "single linear": linear_model.RidgeCV(np.logspace(-3, 3, 13)),
            "single svm": grid,
        }
    grid = {"C": [1, 10, 100], "gamma": ["scale", 0.01, 0.1]}
    return {
        "single extra": ensemble.ExtraTreesClassifier(300, random_state=0),
        "single forest": ensemble.RandomForestClassifier(300, random_state=0),
        "single boosting": ensemble.HistGradientBoostingClassifier(random_state=0),
        "single linear": linear_model.LogisticRegressionCV(Cs=5, cv=3, max_iter=500),
        "single svm": model_selection.GridSearchCV(svm.SVC(), grid, cv=3),
    }


def singles(name, key, y, rows) -> dict:
    """Return the losses of the single learners, from the store where they are there."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    file = STORE / f"{key}@singles.json"
    if file.exists():
        return json.loads(file.read_text())
    columns, _ = read_frame(name)
    numeric = [c for c in columns if pd.api.types.is_numeric_dtype(columns[c])]
    rest = [c for c in columns if c not in numeric]
    Z = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), rest),
    ).fit_transform(columns)
    hidden = np.setdiff1d(np.arange(len(y)), rows)
    found = {}
    for learner, model in single_learners(name in NUMBERS).items():
        said = model.fit(Z[rows], y[rows]).predict(Z[hidden])
        if name in NUMBERS:
            found[learner] = relative_rmse(said, y[hidden])
        else:
            found[learner] = 100 * float(np.mean(said != y[hidden]))
    STORE.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found))
    return found


def relative_rmse(said, truth) -> float:
    """Return the root mean squared error in standard deviations of the truth."""
    return float(np.sqrt(np.mean((said - truth) ** 2)) / truth.std())


def problems(name, draws, first=0):
    """Yield (key, X, codes or numbers, labeled rows) of each draw."""
    if name.startswith("ssl"):
        number, m = name[3:].split("_")
        data = io.loadmat(mirror() / f"ssl-book/SSL,set={number},data.mat")
        splits = io.loadmat(mirror() / f"ssl-book/SSL,set={number},splits,labeled={m}.mat")
        X, y = np.asarray(data["X"], float), np.unique(data["y"], return_inverse=True)[1].ravel()
        X /= X.std()
        for draw, rows in enumerate(splits["idxLabs"]):
            yield f"{name}-{draw}", X, y, np.sort(rows.astype(int) - 1)
        return
    if name.startswith("fashion"):
        with np.load(mirror() / "fashion/fashion-sample-10000.npz") as data:
            X, y = data["X"].reshape(10_000, -1) / 255.0, data["y"].astype(int)
        X = X - X.mean(axis=0)
        X = X @ np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :100]
        n = int(name.split("_")[1])
    else:
        X, y = read_table(name)
        n = int(np.clip(0.1 * len(y), 30, 300))
    for draw in range(first, first + draws):
        rows = np.random.default_rng(100 + draw).choice(len(y), n, replace=False)
        yield f"{name}-{draw}", X, y, np.sort(rows)


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


def run(name, draws, first=0):
    """Return errors of members and schemes and CPU seconds, one row per draw."""
    members, table = default_members(), []
    for key, X, codes, rows in problems(name, draws, first):
        evidence = stored(key, members, X, codes, rows)
        task = Task(X, rows, codes[rows], int(codes.max()) + 1)
        hidden = np.ones(len(codes), bool)
        hidden[rows] = False

        def error(proba, codes=codes, hidden=hidden):
            return 100 * float(np.mean(proba.argmax(axis=1)[hidden] != codes[hidden]))

        row = {m.name: error(e.answer) for m, e in zip(members, evidence)}
        for scheme, options in SCHEMES.items():
            row[scheme] = error(combine(members, evidence, codes[rows], task=task, **options)[0])
        if name in TABLES:
            row |= singles(name, key, codes, rows)
        majority = np.bincount(codes[rows]).argmax()
        row["majority"] = 100 * float(np.mean(codes[hidden] != majority))
        row["rows"] = int(hidden.sum())
        row["CPU s"] = sum(e.seconds for e in evidence)
        table.append(pd.Series(row, name=key))
        print(key, f"{row['combined']:.2f}", f"{row['CPU s']:.1f} s", flush=True)
    return pd.DataFrame(table)


def run_numbers(name, draws, first=0):
    """Return relative errors of members and the combination, one row per draw."""
    table = []
    for key, X, y, rows in problems(name, draws, first):
        file = STORE / f"{key}@numbers.json"
        if file.exists():
            row = json.loads(file.read_text())
        else:
            fold = value_folds(y[rows], 10, np.random.default_rng(0))
            members = default_regressors()
            evidence = [examine_numbers(m, X, rows, y[rows], fold) for m in members]
            found = combine_numbers(members, evidence, rows, y[rows], fold)
            hidden = np.setdiff1d(np.arange(len(y)), rows)
            row = {
                m.name: relative_rmse(e.answer[hidden], y[hidden])
                for m, e in zip(members, evidence)
            }
            row["combined"] = relative_rmse(found["answer"][hidden], y[hidden])
            row |= singles(name, key, y, rows)
            inside = (y >= found["lower"]) & (y <= found["upper"])
            row["inside 90 %"] = float(inside[hidden].mean())
            row["CPU s"] = sum(e.seconds for e in evidence)
            STORE.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(row))
        table.append(pd.Series(row, name=key))
        print(key, f"{row['combined']:.3f}", f"{row['CPU s']:.1f} s", flush=True)
    return pd.DataFrame(table)


def compare(found):
    """Print the combination beside the single learners, over all tables and draws."""
    table = pd.concat(found.values())
    columns = [c for c in table if c.startswith("single ")]
    means = pd.DataFrame({name: t[["combined", *columns]].mean() for name, t in found.items()})
    print("mean over tables:", means.mean(axis=1).round(3).to_dict())
    best = table[columns].min(axis=1)
    if "majority" not in table:
        ratio = table["combined"] / best
        print(f"over the best single one: mean {ratio.mean():.3f}, largest {ratio.max():.2f}; ")
        print(f"rows inside of 90 % intervals: {table['inside 90 %'].mean():.1%}")
        return
    gap = (table["combined"] - best).sort_values()
    print(f"within one point of the best single one: {(gap <= 1).mean():.0%} of {len(gap)} draws")
    print("largest gaps:", gap.tail(4).round(1).to_dict())
    share = table["majority"] / 100
    behind = (table["combined"] - table["majority"]) / (
        100 * np.sqrt(share * (1 - share) / table["rows"])
    )
    print(f"behind the majority by at most {behind.max():.1f} standard errors")


def main():
    """Run the named tables and print the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    for option in ("--tables", "--book", "--numbers"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [*arguments.names, *(TABLES if arguments.tables else ())]
    names += [*(BOOK if arguments.book else ()), *(NUMBERS if arguments.numbers else ())]
    draws = arguments.draws, arguments.first
    found = {n: (run_numbers if n in NUMBERS else run)(n, *draws) for n in names}
    means = pd.DataFrame({name: table.mean() for name, table in found.items()})
    means["mean"] = means.mean(axis=1)
    with pd.option_context("display.width", 250, "display.max_columns", 30):
        print(means.round(3 if arguments.numbers else 2).to_string())
    for name in set(names) & set(PUBLISHED):
        place = sum(means.loc["combined", name] > p for p in PUBLISHED[name]) + 1
        print(f"{name}: {means.loc['combined', name]:.2f}, published {PUBLISHED[name]}: {place}.")
    tables = {n: t for n, t in found.items() if n in (*TABLES, *NUMBERS)}
    if tables:
        compare(tables)
    if arguments.csv:
        pd.concat(found.values()).round(3).to_csv(arguments.csv, index_label="draw")


if __name__ == "__main__":
    main()
