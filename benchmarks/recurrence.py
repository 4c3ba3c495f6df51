"""What the recurrence in vector registers gains over the plain numba loop, step by step.

    python benchmarks/recurrence.py [--rows 60000]

Both loops run in turn on one graph; a row of the table is the least time of several runs. The
share of the eigensolver's whole time is in the last row.
"""

import argparse
import time

import numpy as np

from fewfold.graph.build import build_graph
from fewfold.linalg import _chebyshev, _recurrence
from fewfold.linalg.eigensolver import laplacian_eigenpairs

WIDTHS = (8, 16, 32)
REPEATS = 15


def step_seconds(W, width, dtype) -> dict[str, float]:
    """Return the least seconds of one step of each loop."""
    rng = np.random.default_rng(0)
    Y, data = rng.normal(size=(W.shape[0], width)).astype(dtype), W.data.astype(dtype)
    scalars = dtype(0.5), dtype(0.3), dtype(0.2)
    loops = {"vector": _recurrence.recur, "plain": _recurrence.plain_recur}
    best = dict.fromkeys(loops, np.inf)
    for _ in range(REPEATS):
        for name, loop in loops.items():
            old = Y.copy()
            start = time.perf_counter()
            loop(W.indptr, W.indices, data, Y, old, *scalars, 0, W.shape[0])
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def solver_seconds(W, loop) -> float:
    """Return the seconds of 20 eigenvectors with one of the loops."""
    before, _recurrence.recur = _recurrence.recur, loop
    try:
        start = time.perf_counter()
        laplacian_eigenpairs(W, 20, n_jobs=1)
        return time.perf_counter() - start
    finally:
        _recurrence.recur = before


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    n = parser.parse_args().rows
    points = np.random.default_rng(0).normal(size=(n, 8)).astype(np.float32)
    W = build_graph(points, n_neighbors=10, method="approximate").W.tocsr()
    W = W[_chebyshev.bandwidth_order(W, 8)][:, _chebyshev.bandwidth_order(W, 8)]
    print("| loop over | plain | vector | gain |\n| --- | --- | --- | --- |")
    for dtype in (np.float32, np.float64):
        for width in WIDTHS:
            found = step_seconds(W, width, dtype)
            plain, fast = 1e3 * found["plain"], 1e3 * found["vector"]
            what = f"{width} columns, {dtype.__name__}"
            print(f"| {what} | {plain:.1f} ms | {fast:.1f} ms | {plain / fast:.1f} |")
    loops = (_recurrence.plain_recur, _recurrence.recur)
    times = [min(solver_seconds(W, loop) for _ in range(2)) for loop in loops]
    what = f"20 eigenvectors, n = {n}"
    print(f"| {what} | {times[0]:.2f} s | {times[1]:.2f} s | {times[0] / times[1]:.1f} |")


if __name__ == "__main__":
    main()
