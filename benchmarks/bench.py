"""Ours beside the peers, same input, same threads, a fresh process each, in turns.

    python benchmarks/bench.py quick [--check]          no download; a few minutes
    python benchmarks/bench.py full [--only row ...]    needs MNIST (FEWFOLD_MIRROR or network)
    python benchmarks/bench.py losses                   sizes at which a peer wins
    python benchmarks/bench.py page                     docs/benchmarks.md from the stored results

Results: benchmarks/results/{quick,full,losses}.csv, one line per process. A ratio is the least CPU
time of the peer over the least of ours. ``--check`` writes nothing: it fails if a ratio has lost
more than 40 % of the committed one.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
COLUMNS = ["row", "contender", "repeat", "threads", "wall_s", "cpu_s", "ready_cpu_s", "peak_mb",
           "quality"]  # fmt: skip
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                    "NUMBA_NUM_THREADS")  # fmt: skip
NEEDS = {"pynndescent": "pynndescent", "k-means-constrained": "k_means_constrained"}
# Compiles for most of a minute in every process: `full` only.
SLOW_TO_COMPILE = ("pynndescent",)
# Share of a committed ratio that may be lost before the check fails.
ALLOWED_LOSS = 0.40


# ---------------------------------------------------------------- one measurement, in the child


def cpu_seconds(who=(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)):
    """CPU seconds of this process with its threads, and of its finished children."""
    used = [resource.getrusage(w) for w in who]
    return sum(u.ru_utime + u.ru_stime for u in used)


def status_mb(key):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(key)


def forget_peak():
    """Reset the kernel's record of this process's largest memory; return the memory now."""
    Path("/proc/self/clear_refs").write_text("5")
    return status_mb("VmRSS")


def measure(row, contender, path):
    """Runs in a process of its own; prints one line of JSON."""
    from speed_rows import ROWS

    with np.load(path) as arrays:
        data = {name: arrays[name] for name in arrays}
    ready = cpu_seconds()
    work, judge = ROWS[row].contenders[contender](data)
    ready = cpu_seconds() - ready
    before = forget_peak()
    children = cpu_seconds([resource.RUSAGE_CHILDREN])
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = work()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    peak = status_mb("VmHWM") - before
    if cpu_seconds([resource.RUSAGE_CHILDREN]) - children > cpu / 2:  # a program of its own
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    figures = {"wall_s": wall, "cpu_s": cpu, "ready_cpu_s": ready, "peak_mb": peak}
    print(json.dumps(figures | {"quality": float(judge(result))}))


# ---------------------------------------------------------------- the parent


def say(*words):
    print(*words, flush=True)


def prepare(row, mode, folder, threads):
    """Write a row's input once, in a process of its own; rows of the same input share it."""
    from speed_rows import ROWS

    entry = ROWS[row]
    size = entry.sizes[mode]
    path = Path(folder) / f"{entry.prepare.__module__}.{entry.prepare.__name__}.{size}.npz"
    if not path.exists():
        child([row, mode, str(path)], "--prepare", threads)
    return path


def write_input(row, mode, path):
    from speed_rows import ROWS

    np.savez(path, **ROWS[row].prepare(**ROWS[row].sizes[mode]))


def child(arguments, flag, threads):
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    # Compiled modules are kept, as in an ordinary installation: peers come with theirs.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, str(HERE / "bench.py"), flag, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def takes_part(contender, mode):
    if mode == "quick" and contender in SLOW_TO_COMPILE:
        return False
    return importlib.util.find_spec(NEEDS.get(contender, "numpy")) is not None


def present(row, mode):
    from speed_rows import ROWS

    return [c for c in ROWS[row].contenders if takes_part(c, mode)]


def run_row(row, mode, folder, repeats, threads, patience_s):
    """Measure all contenders in turns; yield one dict per process."""

    path = prepare(row, mode, folder, threads)
    contenders = present(row, mode)
    slow = set()
    for repeat in range(repeats):
        for contender in contenders:
            if contender in slow:
                continue
            text = child([row, contender, str(path)], "--measure", threads)
            figures = json.loads(text.strip().splitlines()[-1])
            if figures["cpu_s"] + figures["ready_cpu_s"] > patience_s:
                slow.add(contender)
            say(f"  {row}, {contender}: {figures['cpu_s']:.3f} s CPU, {figures['wall_s']:.3f} s, "
                f"{figures['peak_mb']:.0f} MB, quality {figures['quality']:.4g}")  # fmt: skip
            yield {"row": row, "contender": contender, "repeat": repeat, "threads": threads} | {
                key: float(f"{value:.4g}") for key, value in figures.items()
            }


def run(mode, only, repeats, threads, patience_s):
    from speed_rows import ROWS

    rows = [r for r in only or ROWS if mode in ROWS[r].sizes]
    found = []
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            if len(present(row, mode)) < 2:
                say(f"{row}: no peer is installed")
                continue
            say(f"{row} ({ROWS[row].sizes[mode]})")
            found += run_row(row, mode, folder, repeats, threads, patience_s)
    say(f"{time.perf_counter() - start:.0f} s in all")
    return found


# ---------------------------------------------------------------- results


def read_results(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = COLUMNS[2:]
    return [r | {key: float(r[key]) for key in numbers} for r in rows]


def write_results(path, found):
    """Replace the measured rows in the file, keep the others."""
    measured = {r["row"] for r in found}
    kept = [r for r in read_results(path) if r["row"] not in measured]
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for record in kept + found:
            writer.writerow(record | {key: f"{record[key]:g}" for key in COLUMNS[2:]})


def least(found, row, contender, key="cpu_s"):
    values = [r[key] for r in found if (r["row"], r["contender"]) == (row, contender)]
    return min(values) if values else None


def ratios(found):
    """Return {(row, peer): least CPU time of the peer / least of ours}."""
    from speed_rows import OURS

    pairs = dict.fromkeys((r["row"], r["contender"]) for r in found if r["contender"] != OURS)
    return {
        (row, peer): least(found, row, peer) / ours
        for row, peer in pairs
        if (ours := least(found, row, OURS))
    }


def losses(now, committed, allowed=ALLOWED_LOSS):
    """Return a sentence for each ratio below its committed value by more than is allowed."""
    return [
        f"{row} against {peer}: ratio {now[row, peer]:.2f}, committed {before:.2f}"
        for (row, peer), before in committed.items()
        if (row, peer) in now and now[row, peer] < (1 - allowed) * before
    ]


def check(found, path):
    bad = losses(ratios(found), ratios(read_results(path)))
    if bad:
        # A neighbor on the machine can spoil one row: what lost is measured once more.
        say("Measured again:", *bad, sep="\n  ")
    return bad


def main():
    if sys.argv[1:2] == ["--measure"]:
        return measure(*sys.argv[2:5])
    if sys.argv[1:2] == ["--prepare"]:
        return write_input(*sys.argv[2:5])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=["quick", "full", "losses", "page"])
    parser.add_argument("--only", nargs="+", help="rows, see speed_rows.py")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--patience", type=float, default=60.0,
                        help="a contender that took more CPU seconds is not repeated")  # fmt: skip
    parser.add_argument("--check", action="store_true", help="compare with the committed ratios")
    args = parser.parse_args()
    path = RESULTS / f"{args.mode}.csv"
    if args.mode != "page":
        settings = (args.repeats, args.threads, args.patience)
        found = run(args.mode, args.only, *settings)
        if args.check:
            bad = check(found, path)
            if bad:
                again = run(args.mode, sorted({b.split()[0] for b in bad}), *settings)
                bad = losses(ratios(found + again), ratios(read_results(path)))
            for line in bad:
                say("lost more than 40 %:", line)
            raise SystemExit(1 if bad else 0)
        write_results(path, found)
    import bench_page

    bench_page.write()


if __name__ == "__main__":
    main()
