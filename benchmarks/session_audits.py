"""Thousands of audits of frozen labels: how often could anything false have been said?

    python benchmarks/session_audits.py [--sets digits,usps] [--audits 200]   runs and stores
    python benchmarks/session_audits.py --table                               prints the table

The sets and people of benchmarks/session.py. Sessions of two seeds are frozen after 60 and after
150 answers. Of each freeze the audit's order is drawn many times, and followed to its last row, so
that every time to look or stop, and every way to choose what is asked, is covered:

- missed: the number of wrong labels leaves the interval after any number of draws;
- false: the first set of rows for which the promise (share of benchmarks/session.py) is not true
  is ever proven; counted as if all smaller sets had been proven;
- false at the edge: the same for all rows and a promise of one wrong label less than there are,
  the hardest case.

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
from fewfold.session.sequences import _GRID, _PRIOR, log_likelihood
from fewfold.session.session import LabelingSession

STORE = Path(__file__).parent / "results/session_audits.csv"
ALPHA, FREEZES, SEEDS = 0.05, (60, 150), (0, 1)


def ever_missed(n_rows, draws):
    """Whether the true number ever leaves the interval, of each row of draws."""
    seen = np.arange(1, n_rows + 1)
    wrong = np.cumsum(draws, axis=1)
    a, b = _PRIOR
    mixed = betaln(a + wrong, b + seen - wrong) - betaln(a, b)
    true = log_likelihood(n_rows, int(draws[0].sum()), seen[None, :], wrong)
    return np.any(true <= mixed + np.log(ALPHA / 2), axis=1)


def ever_proven(n_rows, allowed, draws):
    """Whether the evidence that at most this many are wrong ever passes 1 / alpha."""
    seen = np.arange(1, n_rows + 1)[None, :]
    wrong = np.cumsum(draws, axis=1)
    fewer, parts = np.unique(np.floor(_GRID * (allowed + 1)).astype(int), return_counts=True)
    total = np.full(wrong.shape, -np.inf)
    bottom = log_likelihood(n_rows, allowed + 1, seen, wrong)
    for count, part in zip(fewer, parts):
        top = log_likelihood(n_rows, count, seen, wrong) + np.log(part / parts.sum())
        total = np.logaddexp(total, top)
    with np.errstate(invalid="ignore"):
        found = np.where(wrong > allowed, -np.inf, total - bottom)
    return np.any(found >= np.log(1 / ALPHA), axis=1)


def audit(frozen, wrong, share, n_audits, rng):
    """Draw many orders of one freeze; returns shares of audits with something false."""
    n = len(wrong)
    draws = np.array([rng.permutation(n) for _ in range(n_audits)])
    found = {"audits": n_audits, "missed": ever_missed(n, wrong[draws]).sum()}
    promise = Promise.plan(frozen, share)
    sets = [promise.inside(j) for j in range(len(promise.sizes))]
    untrue = [j for j, inside in enumerate(sets) if wrong[inside].sum() > promise.allowed(j)]
    found["untrue"] = bool(untrue)
    found["false"] = 0
    if untrue:
        inside = sets[untrue[0]]
        size, allowed = int(inside.sum()), promise.allowed(untrue[0])
        part = wrong[inside]
        some = np.array([part[rng.permutation(size)] for _ in range(n_audits)])
        found["false"] = ever_proven(size, allowed, some).sum()
    found["edge"] = ever_proven(n, int(wrong.sum()) - 1, wrong[draws]).sum() if wrong.any() else 0
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
                rows += one_session(data, name, rate, seed, arguments.audits)
        frame = pd.DataFrame(rows)
        frame.to_csv(STORE, mode="a", header=not STORE.exists(), index=False)
        print(frame[["audits", "missed", "false", "edge"]].sum().to_dict(), flush=True)


def one_session(data, name, rate, seed, n_audits):
    """Freeze a session's labels twice, and audit each many times."""
    rng = np.random.default_rng([seed, 11, int(1000 * rate)])
    k = int(data.y.max()) + 1
    said = np.where(rng.random(len(data.y)) < rate, rng.integers(0, k, len(data.y)), data.y)
    names = [str(c) for c in range(k)]
    session = LabelingSession(data.graph, np.full(len(said), -1), names, seed=seed,
                              responses=data.responses)  # fmt: skip
    found = []
    for n in range(1, max(FREEZES) + 1):
        row = session.suggest().row
        session.answer(row, names[said[row]])
        if n in FREEZES:
            labels, confidence = session.labels()
            rows = np.flatnonzero(session.record.answers == UNANSWERED)
            frozen = Frozen(rows, labels[rows], confidence[rows], n, ALPHA)
            share = SHARES[name] + rate
            result = audit(frozen, labels[rows] != said[rows], share, n_audits, rng)
            found.append({"set": name, "rate": rate, "seed": seed, "answers": n, **result})
    return found


def table():
    """Print what is stored."""
    runs = pd.read_csv(STORE)
    print(
        "| set | audits | an interval missed | audits of untrue promises | false claim "
        "| false at the edge |"
    )
    print("| --- " * 6 + "|")
    for name, part in [*runs.groupby("set", sort=False), ("all", runs)]:
        total, n = part["audits"].sum(), part.loc[part["untrue"], "audits"].sum()
        false = f"{100 * part['false'].sum() / n:.2f} %" if n else "-"
        print(f"| {name} | {total} | {100 * part['missed'].sum() / total:.2f} % | {n} | {false} | "
              f"{100 * part['edge'].sum() / total:.2f} % |")  # fmt: skip


def main():
    """Run, or print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    table() if arguments.table else run(arguments)


if __name__ == "__main__":
    main()
