"""Answers until an error is reached and promised, beside random rows and uncertainty sampling.

    python benchmarks/session_peers.py run [--runs 3] [--sets digits,usps]   runs and stores
    python benchmarks/session_peers.py table    prints the tables
    python benchmarks/session_peers.py cold     the first rows, beside random ones

The sets of benchmarks/session.py. Ours: a session from no label on, its labels after each answer.
The others learn an RBF SVM (C = 10, scaled columns) from rows drawn at random, or chosen by modAL's
uncertainty sampling (least margin) after 10 random ones, five at a time. "Promised" by
Clopper-Pearson: half of the answers are random rows held back from the SVM, and the bound is looked
at every 20 answers without a correction for looking often (which favors it). Ours: sessions of
benchmarks/session.py with the same seeds, whose rows left to a person count as answers.
Not in the lock files: pip install modAL-python. The store is benchmarks/results/session_peers.csv.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import beta
from session import RESULTS, SETS, SHARES, Prepared, share_bases, whole_sets
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewfold.session.first_rows import rows_to_label_first
from fewfold.session.live_answer import LiveAnswer
from fewfold.session.session import LabelingSession

STORE = Path(__file__).parent / "results/session_peers.csv"
MOST, EVERY, START, BATCH = 400, 10, 10, 5
LOOKS = (20, 50, 100, 200)
COLD = (5, 10, 20, 40)


def svm_labels(X, rows, y):
    """Labels of all rows by an SVM, answered rows as answered."""
    if len(np.unique(y[rows])) < 2:
        found = np.full(len(y), y[rows[0]])
    else:
        found = SVC(C=10).fit(X[rows], y[rows]).predict(X)
    found[rows] = y[rows]
    return found


def live_labels(data, rows):
    """Our labels of all rows after answers to some."""
    live = LiveAnswer(data.graph.W, int(data.y.max()) + 1, data.X, data.responses)
    live.start(np.asarray(rows), data.y[rows])
    found = live.proba().argmax(axis=1)
    found[rows] = data.y[rows]
    return found


def session(data, seed):
    """Rows in the order of a session, and the error after each tenth answer."""
    names = [str(c) for c in range(int(data.y.max()) + 1)]
    ours = LabelingSession(data.graph, np.full(len(data.y), -1), names, seed=seed,
                           features=data.X, responses=data.responses)  # fmt: skip
    errors = {}
    for n in range(1, MOST + 1):
        row = ours.suggest().row
        ours.answer(row, names[data.y[row]])
        if n % EVERY == 0:
            errors[n] = np.mean(ours.labels()[0] != data.y)
    return errors, {}


def random_ours(data, seed):
    """Random rows and our labels: what the choice of rows alone brings."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    counts = range(EVERY, MOST + 1, EVERY)
    return {n: np.mean(live_labels(data, order[:n]) != data.y) for n in counts}, {}


def random_svm(data, seed):
    """Random rows and an SVM."""
    return _with_bound(data, np.random.default_rng(seed).permutation(len(data.y))[:MOST], seed)


def uncertainty(data, seed):
    """Rows of least margin of an SVM, by modAL."""
    from modAL.models import ActiveLearner
    from modAL.uncertainty import margin_sampling

    warnings.filterwarnings("ignore", category=FutureWarning)  # modAL needs predict_proba of SVC
    rng = np.random.default_rng(seed)
    rows = [int(r) for r in rng.permutation(len(data.y))[:START]]
    while len(rows) < MOST:
        left = np.setdiff1d(np.arange(len(data.y)), rows)
        chosen = rng.permutation(len(left))[:BATCH]
        if len(np.unique(data.y[rows])) > 1:
            svm = SVC(C=10, probability=True, random_state=0)
            learner = ActiveLearner(svm, margin_sampling, data.scaled[rows], data.y[rows])
            chosen, _ = learner.query(data.scaled[left], n_instances=BATCH)
        rows += [int(left[i]) for i in chosen]
    return _with_bound(data, np.array(rows), seed)


def _with_bound(data, rows, seed):
    """Errors of an SVM on the first rows; answers until a bound on random others says a share."""
    found = {n: svm_labels(data.scaled, rows[:n], data.y) for n in range(EVERY, MOST + 1, EVERY)}
    order = np.random.default_rng([seed, 1]).permutation(len(data.y))
    bounds = {}
    for n, labels in found.items():
        # A person answers the held-back rows too, so their labels are right afterwards.
        held = order[~np.isin(order, rows[:n])][:n]
        wrong = int(np.sum(labels[held] != data.y[held]))
        left = len(data.y) - n - len(held)
        bounds[2 * n] = beta.ppf(0.95, wrong + 1, len(held) - wrong) * left / len(data.y)
    promised = {
        share: min((n for n, bound in bounds.items() if bound <= share), default=np.inf)
        for share in SHARES
    }
    return {n: np.mean(labels != data.y) for n, labels in found.items()}, promised


WAYS = {"session": session, "random rows, our labels": random_ours,
        "random rows, SVM": random_svm, "uncertainty, SVM": uncertainty}  # fmt: skip


def run(arguments):
    """Run what is not stored yet."""
    stored = pd.read_csv(STORE) if STORE.exists() else pd.DataFrame(columns=["set", "way", "seed"])
    done = set(zip(stored["set"], stored["way"], stored["seed"]))
    for name in arguments.sets.split(","):
        data = None
        for seed in range(arguments.runs):
            for way in [w for w in WAYS if (name, w, seed) not in done]:
                data = data or _prepared(name)
                errors, promised = WAYS[way](data, seed)
                row = {"set": name, "way": way, "seed": seed}
                row |= {f"at {n}": errors[n] for n in LOOKS}
                for share in SHARES:
                    reached = min((n for n, e in errors.items() if e <= share), default=np.inf)
                    row[f"reached {share:g}"] = reached
                    row[f"promised {share:g}"] = promised.get(share, np.nan)
                frame = pd.DataFrame([row]).round(4)
                frame.to_csv(STORE, mode="a", header=not STORE.exists(), index=False)
                print(name, way, seed, flush=True)


def _prepared(name):
    data = Prepared(name)
    data.scaled = StandardScaler().fit_transform(data.X)
    return data


def _promised_by_sessions():
    """Return medians of answers, rows left to a person included, by set and share."""
    runs = whole_sets(pd.read_csv(RESULTS)).query("rate == 0")
    total = (runs["answers"] + runs["doubtful"]).where(runs["outcome"].isin(["kept", "person"]))
    return total.fillna(np.inf).groupby([runs["set"], runs["share"].round(4)]).median()


def table(_):
    """Print errors after numbers of answers, and answers until a share is reached or promised."""
    runs = pd.read_csv(STORE)
    ours = _promised_by_sessions()
    more = [f"{what} {100 * share:g} %" for what in ("reached", "promised") for share in SHARES]
    print("| " + " | ".join(["set", "labels", *map(str, LOOKS), *more]) + " |")
    print("| --- " * (2 + len(LOOKS) + 2 * len(SHARES)) + "|")
    for (name, way), part in runs.groupby(["set", "way"], sort=False):
        errors = [f"{100 * part[f'at {n}'].mean():.1f}" for n in LOOKS]
        reached = [part[f"reached {share:g}"].median() for share in SHARES]
        promised = [part[f"promised {share:g}"].median() for share in SHARES]
        if way == "session":
            promised = [ours.get((name, share), np.nan) for share in SHARES]
        words = ["" if n != n else "-" if n == np.inf else f"{n:.0f}" for n in reached + promised]
        print("| " + " | ".join([name, way, *errors, *words]) + " |")


def cold(arguments):
    """Print errors from the rows to label first, beside as many random ones."""
    share_bases()
    print("| set | rows | typical rows: error | classes met | random rows: error | classes met |")
    print("| --- " * 6 + "|")
    for name in arguments.sets.split(","):
        data = Prepared(name)
        for count in COLD:
            found = []
            for seed in range(arguments.runs):
                random = np.random.default_rng(seed).permutation(len(data.y))[:count]
                typical = rows_to_label_first(data.graph, count, seed=seed)
                for rows in (typical, random):
                    errors = np.mean(live_labels(data, rows) != data.y)
                    found.append((100 * errors, len(np.unique(data.y[rows]))))
            means = np.array(found).reshape(-1, 4).mean(axis=0)
            cells = " | ".join(f"{v:.1f}{u}" for v, u in zip(means, (" %", "", " %", "")))
            print(f"| {name} | {count} | {cells} |", flush=True)


def main():
    """Run a command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("run", "table", "cold"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    arguments = parser.parse_args()
    {"run": run, "table": table, "cold": cold}[arguments.command](arguments)


if __name__ == "__main__":
    main()
