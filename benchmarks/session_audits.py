"""Audits of frozen labels: how likely is it that anything false could ever be said?

    python benchmarks/session_audits.py [--sets digits,usps]   computes and stores
    python benchmarks/session_audits.py --table                prints the table

The sets and people of benchmarks/session.py. Sessions of two seeds are frozen after 60 and after
150 answers. The audit's order is random, so the numbers of draws and of wrong ones among them are
a Markov chain with known chances. Its probability of ever entering a region is computed exactly,
draw by draw to the last row: every time to look or stop, and every way to choose what is asked, is
covered, and nothing is left to the chance of a simulation.

- missed: the number of wrong labels leaves the interval after any number of draws;
- false: the first set of rows for which a promise (shares of benchmarks/session.py) is not true is
  ever proven; as if all smaller sets had been proven;
- edge: the same for all rows and a promise of one wrong label less than there are, the hardest
  case. A bet against the truth that is followed to its end loses everything or passes 1 / alpha,
  so this is alpha less what the last draw overshoots.

All at alpha = 0.05 for one freeze, where a session gives each of its freezes a part of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import betaln
from session import RATES, SETS, SHARES, Prepared

from fewfold.session.audit import UNANSWERED, Frozen, Promise
from fewfold.session.sequences import _PRIOR, log_evidence, log_likelihood
from fewfold.session.session import LabelingSession

STORE = Path(__file__).parent / "results/session_audits.csv"
ALPHA, FREEZES, SEEDS = 0.05, (60, 150), (0, 1)
FALSE = [f"false {share:g}" for share in SHARES]


def chance_of_entering(n_rows, n_wrong, is_inside):
    """Return the probability that a random order of the rows ever enters a region.

    ``is_inside(seen, wrong)``: whether a number of draws with each number of wrong ones is in it.
    """
    counts = np.arange(n_wrong + 1)
    at, entered = np.where(counts == 0, 1.0, 0.0), 0.0
    for seen in range(1, n_rows + 1):
        left = n_rows - seen + 1
        turns_wrong = np.clip((n_wrong - counts) / left, 0, 1)
        moved = at * (1 - turns_wrong)
        moved[1:] += (at * turns_wrong)[:-1]
        inside = is_inside(seen, counts)
        entered += moved[inside].sum()
        at = np.where(inside, 0.0, moved)
    return float(entered)


def ever_missed(n_rows, n_wrong):
    """Return the probability that the true number ever leaves the interval."""
    a, b = _PRIOR

    def is_inside(seen, wrong):
        fits = (wrong <= seen) & (n_wrong - wrong <= n_rows - seen)
        k = np.minimum(wrong, seen)
        mixed = betaln(a + k, b + seen - k) - betaln(a, b)
        true = log_likelihood(n_rows, n_wrong, seen, k)
        return fits & (true <= mixed + np.log(ALPHA / 2))

    return chance_of_entering(n_rows, n_wrong, is_inside)


def ever_proven(n_rows, allowed, n_wrong):
    """Return the probability that at most ``allowed`` wrong rows are ever proven."""
    if allowed >= n_rows:
        return 1.0
    # The evidence falls with each wrong row: for each number of draws, the most that prove it.
    draws = np.arange(1, n_rows + 1)
    most, fails = np.full(n_rows, -1), np.minimum(draws, allowed) + 1
    while np.any(fails - most > 1):
        middle = (most + fails) // 2
        proven = log_evidence(n_rows, allowed, draws, middle) >= np.log(1 / ALPHA)
        most, fails = np.where(proven, middle, most), np.where(proven, fails, middle)
    return chance_of_entering(n_rows, n_wrong, lambda seen, wrong: wrong <= most[seen - 1])


def audit(frozen, wrong):
    """Return the probabilities that something false is ever said of one freeze."""
    n, n_wrong = len(wrong), int(wrong.sum())
    found = {"rows": n, "wrong": n_wrong, "missed": ever_missed(n, n_wrong)}
    found["edge"] = ever_proven(n, n_wrong - 1, n_wrong) if n_wrong else 0.0
    for share in SHARES:
        promise = Promise.plan(frozen, share)
        sets = [promise.inside(j) for j in range(len(promise.sizes))]
        untrue = [j for j, inside in enumerate(sets) if wrong[inside].sum() > promise.allowed(j)]
        if untrue:
            inside, allowed = sets[untrue[0]], promise.allowed(untrue[0])
            chance = ever_proven(int(inside.sum()), allowed, int(wrong[inside].sum()))
            found[f"false {share:g}"] = chance
        else:
            found[f"false {share:g}"] = np.nan  # the promise is true for all sets
    return found


def run(arguments):
    """Run sets that are not stored yet."""
    done = set(pd.read_csv(STORE)["set"]) if STORE.exists() else set()
    for name in arguments.sets.split(","):
        if name in done:
            continue
        data, rows = Prepared(name), []
        for rate in RATES:
            for seed in SEEDS:
                rows += one_session(data, name, rate, seed)
        frame = pd.DataFrame(rows).round(6)
        frame.to_csv(STORE, mode="a", header=not STORE.exists(), index=False)
        print(name, frame[["missed", "edge", *FALSE]].max().to_dict(), flush=True)


def one_session(data, name, rate, seed):
    """Freeze a session's labels twice, and audit each."""
    rng = np.random.default_rng([seed, 11, int(1000 * rate)])
    k = int(data.y.max()) + 1
    said = np.where(rng.random(len(data.y)) < rate, rng.integers(0, k, len(data.y)), data.y)
    names = [str(c) for c in range(k)]
    session = LabelingSession(data.graph, np.full(len(said), -1), names, seed=seed,
                              features=data.X, responses=data.responses)  # fmt: skip
    found = []
    for n in range(1, max(FREEZES) + 1):
        row = session.suggest().row
        session.answer(row, names[said[row]])
        if n in FREEZES:
            labels, confidence = session.labels()
            rows = np.flatnonzero(session.record.answers == UNANSWERED)
            frozen = Frozen(rows, labels[rows], confidence[rows], n, ALPHA)
            result = audit(frozen, labels[rows] != said[rows])
            found.append({"set": name, "rate": rate, "seed": seed, "answers": n, **result})
    return found


def table():
    """Print what is stored: mean and largest probability."""
    runs = pd.read_csv(STORE)
    print("| set | freezes | an interval misses | untrue promises | false claim | at the edge |")
    print("| --- " * 6 + "|")
    for name, part in [*runs.groupby("set", sort=False), ("all", runs)]:
        false = part[FALSE].stack().dropna()
        cells = [_mean_and_most(p) for p in (part["missed"], false, part["edge"])]
        print(f"| {name} | {len(part)} | {cells[0]} | {len(false)} | {cells[1]} | {cells[2]} |")


def _mean_and_most(values):
    return f"{100 * values.mean():.2f} ({100 * values.max():.2f}) %" if len(values) else "-"


def main():
    """Run, or print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    table() if arguments.table else run(arguments)


if __name__ == "__main__":
    main()
