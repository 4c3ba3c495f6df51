"""Labeling sessions with simulated people: are promises kept, and what do they cost?

    python benchmarks/session.py promise [--runs 60] [--sets digits,usps]   runs and stores
    python benchmarks/session.py table --store benchmarks/results/session.csv    prints the table
    python benchmarks/session.py latency [--rows 1000,10000,100000]     seconds after an answer

Six sets of at most 2000 rows: digits, USPS, LETTER, a sample of Fashion-MNIST and two tables. A
run starts without labels and lets `LabelingSession` choose; the person errs at a rate of 0, 2 or
5 % (the same answer to the same row whenever asked). After every answer the interval of the
present labels is compared with the truth, and so is every claim that could be made of the promise;
those of classes and bands after every fifth. A run ends after 300 answers in any case.
An error is a label other than the person's answer would be; errors against the truth are stored
beside it. Runs that are in the store (results/session/runs.csv) are not run again; those of the
docs are in benchmarks/results/session.csv.
Real data: FEWFOLD_MIRROR. Graphs and responses are kept under results/session.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from evidence import mirror

from fewfold.graph.build import GraphSettings, build_graph
from fewfold.labeling.intake import read_input
from fewfold.methods.diffusion.estimator import image_graph_settings
from fewfold.methods.diffusion.solver import Solver
from fewfold.session import first_rows
from fewfold.session.session import LabelingSession

CACHE = Path("results/session")
RESULTS = Path(__file__).parent / "results/session.csv"  # runs of the docs
SETS = ("digits", "usps", "letter", "fashion", "banknote-authentication", "pima-indians-diabetes")
SHAPES = {"digits": (8, 8), "usps": (16, 16), "fashion": (28, 28)}
SHARES = (0.05, 0.1, 0.2)  # promised, in turn over the seeds
RATES = (0.0, 0.02)  # of wrong answers
MOST_ROWS, MOST_ANSWERS = 2000, 300
LEAST_WHOLE = 700  # rows; runs over fewer are about coverage only


def read_rows(name, most=MOST_ROWS):
    """Return features and class codes of at most so many rows."""
    if name == "fashion":
        with np.load(mirror() / "fashion/fashion-sample-10000.npz") as data:
            X, y = data["X"], data["y"]
    elif name in ("digits", "usps", "letter"):
        from fewfold.datasets import load

        data = load(name)
        X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    else:
        path = mirror() / f"tables/{name}.csv.gz"
        target = pd.read_csv(path).iloc[:, -1]  # of both tables the last column
        X = read_input(path, n_clusters=2, drop=[target.name]).X
        y = np.unique(target, return_inverse=True)[1]
    X = np.asarray(X, dtype=np.float32).reshape(len(y), -1)
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    return X[rows], np.unique(np.asarray(y)[rows], return_inverse=True)[1]


def share_bases():
    """Compute the functions behind the first rows once per graph (dense here: no seed in them)."""
    known, compute = {}, first_rows.compute_basis

    def shared(graph, count, **options):
        if (id(graph), count) not in known:
            known[id(graph), count] = compute(graph, count, **options)
        return known[id(graph), count]

    first_rows.compute_basis = shared


class Prepared:
    """The graph of a set, with all responses."""

    def __init__(self, name, most=MOST_ROWS):
        X, self.y = read_rows(name, most)
        shape = SHAPES.get(name)
        settings = GraphSettings(n_neighbors=10, symmetrize="mean")
        if shape is not None:
            settings = image_graph_settings(shape)
        self.X = X
        self.graph = build_graph(X, settings)
        file = CACHE / f"{name}-{len(X)}.npy"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, Solver(self.graph.W, tol=1e-6).solve(np.arange(len(X))))
        self.responses = np.load(file)


def one_run(data: Prepared, share, rate, seed, most_answers=MOST_ANSWERS) -> dict:
    """Simulate one session to its end."""
    rng = np.random.default_rng([seed, 5])
    k = int(data.y.max()) + 1
    said = data.y.copy()
    slips = np.flatnonzero(rng.random(len(said)) < rate)
    said[slips] = (said[slips] + rng.integers(1, k, len(slips))) % k
    names = [str(c) for c in range(k)]
    session = LabelingSession(
        data.graph, np.full(len(said), -1), names, promise=share, seed=seed,
        features=data.X, responses=data.responses,
    )  # fmt: skip
    missed = missed_group = broken = broken_truth = False
    reached = None
    for _ in range(most_answers):
        state = session.promise()
        if state.kind in ("kept", "person", "not reachable"):
            break
        row = session.suggest().row
        session.answer(row, names[said[row]])
        labels, _ = session.labels()
        error = np.mean(labels != said)
        reached = session.record.n_answers if reached is None and error <= share else reached
        is_fifth = session.record.n_answers % 5 == 0
        found = session.estimate(groups=is_fifth)
        missed |= not found.low - 1e-12 <= error <= found.high + 1e-12
        if is_fifth:
            missed_group |= _group_missed(session, labels, said, found)
        broken |= _is_broken(session, said, share)
        broken_truth |= rate > 0 and _is_broken(session, data.y, share)
    state = session.promise()
    final = session.record.final_labels() if session.record.promises else session.labels()[0]
    doubtful = state.doubtful if state.doubtful is not None else np.empty(0, np.int64)
    rest = np.setdiff1d(np.arange(len(said)), doubtful)
    return {
        "outcome": state.kind, "answers": session.record.n_answers, "doubtful": len(doubtful),
        "reached": reached, "broken": broken, "broken_truth": broken_truth, "missed": missed,
        "missed_group": missed_group,
        "error": np.mean(final[rest] != said[rest]),
        "to_truth": np.mean(final[rest] != data.y[rest]),
        "width": found.high - found.low, "freezes": len(session.record.promises),
    }  # fmt: skip


def _group_missed(session, labels, said, found):
    last = found.frozen
    if last is None:
        return False
    wrong = labels[last.rows] != said[last.rows]
    groups = [(found.classes[session.classes[c]], last.labels == c) for c in np.unique(last.labels)]
    edges = [(n, *map(float, n.split(" to "))) for n in found.bands]
    groups += [
        (found.bands[n], (last.confidence >= low) & ((last.confidence < high) | (high == 1)))
        for n, low, high in edges
    ]
    return any(not part.low <= wrong[inside].sum() <= part.high for part, inside in groups)


def _is_broken(session, right, share):
    """Whether any claim that the latest frozen labels allow now is false."""
    record = session.record
    if not record.promises:
        return False
    final = record.final_labels()
    for number in range(1, record.promises[-1].n_kept(record.answers) + 1):
        rest = np.ones(len(right), bool)
        rest[record.doubtful(number)] = False
        if np.mean(final[rest] != right[rest]) > share:
            return True
    return False


def run(arguments):
    """Run what is not stored yet, all sets in turn."""
    share_bases()
    shares = [float(share) for share in arguments.shares.split(",")]
    done = pd.DataFrame(columns=["set", "rate", "seed"])
    if arguments.store.exists():
        done = pd.read_csv(arguments.store)
    known = set(zip(done["set"], done["rate"].astype(float), done["seed"]))
    prepared, rows, end = {}, [], time.monotonic() + arguments.seconds
    for seed in range(arguments.first, arguments.runs):
        for name in arguments.sets.split(","):
            for rate in RATES:
                if (name, rate, seed) in known or time.monotonic() > end:
                    continue
                if name not in prepared:
                    prepared[name] = Prepared(name, arguments.most_rows)
                share, start = shares[seed % len(shares)], time.process_time()
                found = one_run(prepared[name], share, rate, seed, arguments.most_answers)
                row = {"set": name, "rate": rate, "seed": seed, "share": share, **found}
                row |= {"rows": len(prepared[name].y), "most": arguments.most_answers}
                rows.append({**row, "cpu_s": round(time.process_time() - start, 2)})
        _store(rows, arguments.store)
        if rows:
            print(f"seed {seed}: {len(rows)} runs", flush=True)
        rows = []


def _store(rows, path):
    if rows:
        frame = pd.DataFrame(rows).round(5)
        frame.to_csv(path, mode="a", header=not path.exists(), index=False)


def table(arguments):
    """Print coverage of all stored runs, and costs of those over all rows of a set."""
    runs = pd.read_csv(arguments.store)
    print("| set | wrong answers | runs | with a claim | broken | against the truth | interval "
          "missed | class or band missed |")  # fmt: skip
    print("| --- " * 8 + "|")
    parts = [*runs.groupby(["set", "rate"], sort=False), *runs.groupby("rate"), ("", runs)]
    for key, part in parts:
        name, rate = key if isinstance(key, tuple) else ("all", key)
        names = ("broken", "broken_truth", "missed", "missed_group")
        cells = " | ".join(f"{part[n].sum()} ({100 * part[n].mean():.1f} %)" for n in names)
        claims = part["outcome"].isin(["kept", "person"]).sum()
        rate = "all" if rate == "" else f"{100 * rate:g} %"
        print(f"| {name} | {rate} | {len(part)} | {claims} | {cells} |")
    print()
    print("| set | promise | wrong answers | runs | kept | rest to a person | not ended | answers "
          "| rows to a person | error at the end | against the truth |")  # fmt: skip
    print("| --- " * 11 + "|")
    for (name, share, rate), part in whole_sets(runs).groupby(["set", "share", "rate"], sort=False):
        kinds = part["outcome"].value_counts()
        counts = [int(kinds.get(k, 0)) for k in ("kept", "person")]
        ended = part[part["outcome"].isin(["kept", "person"])]
        print(f"| {name} | {100 * share:g} % | {100 * rate:g} % | {len(part)} | {counts[0]} | "
              f"{counts[1]} | {len(part) - sum(counts)} | {_last_columns(ended)}")  # fmt: skip


def whole_sets(runs):
    """Return the runs over as many rows of their set, and with as many answers, as any."""
    return runs[(runs["rows"] >= LEAST_WHOLE) & (runs["most"] == runs["most"].max())]


def _last_columns(ended):
    """Medians and means over the runs that ended with a promise."""
    if ended.empty:
        return "- | - | - | - |"
    errors = " | ".join(f"{100 * ended[name].mean():.1f} %" for name in ("error", "to_truth"))
    return f"{ended['answers'].median():.0f} | {ended['doubtful'].median():.0f} | {errors} |"


def latency(arguments):
    """Print how long the page waits after an answer, through HTTP, from the command as served."""
    from sklearn.datasets import make_blobs

    print("| rows | until the page is served, s | after an answer, median s | slowest s "
          "| CPU s of the server, median | most |")  # fmt: skip
    print("| --- " * 6 + "|")
    for n in map(int, arguments.rows.split(",")):
        X, y = make_blobs(n, n_features=10, centers=10, cluster_std=4.0, random_state=0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            frame = pd.DataFrame(X.astype(np.float32), columns=[f"x{j}" for j in range(10)])
            frame.to_parquet(path)
            start = time.monotonic()
            with served(path) as (process, address):
                ready = time.monotonic() - start
                found = np.array(list(timed_answers(process, address, y, arguments.answers)))
        half = found[len(found) // 2 :]  # with labels enough for all that a session does
        print(f"| {n} | {ready:.1f} | {np.median(half[:, 0]):.3f} | {half[:, 0].max():.3f} | "
              f"{np.median(half[:, 1]):.2f} | {half[:, 1].max():.2f} |", flush=True)  # fmt: skip


@contextmanager
def served(path):
    """Serve a file with the command; yields the process and the page's address."""
    command = [sys.executable, "-m", "fewfold.cli", "label", str(path), "--target", "y",
               "--serve", "--no-browser"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in process.stdout:
            if found := re.search(r"http://127\S+", line):
                yield process, found[0]
                break
    finally:
        process.terminate()
        process.wait(30)


def timed_answers(process, address, y, count):
    """Answer rows through HTTP; yields seconds until the new state is here, and the server's."""
    _, _, host, token, *_ = address.split("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    headers = {"content-type": "application/json", "origin": f"http://{host}"}

    def ask(method, path, given=None):
        body = None if given is None else json.dumps({"tab": "a", **given})
        connection.request(method, f"/{token}/api/{path}", body, headers if body else {})
        answer = connection.getresponse()
        found = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"{path}: {found}")
        return found

    for c in np.unique(y):
        ask("POST", "class", {"name": str(c)})
    state = ask("GET", "state?tab=a")
    for _ in range(count):
        row, start, cpu = state["row"]["row"], time.monotonic(), _cpu_s(process.pid)
        state = ask("POST", "answer", {"row": row, "class": str(y[row])})
        yield time.monotonic() - start, _cpu_s(process.pid) - cpu


def _cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    """Run a command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("promise", "table", "latency"))
    parser.add_argument("--runs", type=int, default=120)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--most-rows", type=int, default=MOST_ROWS)
    parser.add_argument("--most-answers", type=int, default=MOST_ANSWERS)
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--rows", default="1000,10000,100000")
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--store", type=Path, default=CACHE / "runs.csv")
    arguments = parser.parse_args()
    arguments.store.parent.mkdir(parents=True, exist_ok=True)
    {"promise": run, "table": table, "latency": latency}[arguments.command](arguments)


if __name__ == "__main__":
    main()
