"""Time the eigensolver on MNIST's 8-neighbor graph, beside scipy's eigsh, in one run.

    FEWFOLD_MIRROR=... python benchmarks/eigensolver.py [--small] [--no-peer]

Each measurement is a process of its own, after a warm-up on a small graph, so that peak memory is
its own and compilation is not timed. Prints wall and CPU seconds: on a busy machine compare CPU.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

KINDS = ("symmetric", "unnormalized")


def mnist_graph(n, folder):
    from fewfold.datasets import load
    from fewfold.graph.build import build_graph
    from fewfold.linalg.preparation import fit_preparation

    data = load("mnist")
    X = np.asarray(data.X[~data.test_mask][:60_000], np.float32) / 255
    X = fit_preparation(X, pca=100).transform(X)[:n]
    W = build_graph(X, n_neighbors=8, weights="binary").W
    path = Path(folder) / f"graph{n}.npz"
    sparse.save_npz(path, sparse.csr_matrix(W))
    return str(path)


def measure(path, p, kind, solver):
    """Runs in a process of its own: solve, and print one line of JSON."""
    from fewfold.linalg.eigensolver import laplacian_eigenpairs
    from fewfold.linalg.laplacian import laplacian

    W = sparse.csr_array(sparse.load_npz(path))
    L = laplacian(W, kind)
    if solver == "fewfold":
        few = np.arange(2000)
        laplacian_eigenpairs(W[few][:, few], 30, kind, tol=1e-4)
    wall, cpu = time.perf_counter(), time.process_time()
    if solver == "fewfold":
        pairs = laplacian_eigenpairs(W, p, kind)
        values, V = pairs.eigenvalues, pairs.eigenvectors
    else:
        values, V = plain_eigsh(L, p, kind)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    residual = max(np.linalg.norm(L @ V[:, j] - values[j] * V[:, j]) for j in range(V.shape[1]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        json.dumps(
            {"wall": wall, "cpu": cpu, "residual": residual, "peak": peak, "last": values[-1]}
        )
    )


def plain_eigsh(L, p, kind):
    from scipy.sparse.linalg import eigsh

    top = 2.0 if kind == "symmetric" else 2.0 * float(L.diagonal().max())
    shifted = sparse.csr_matrix(top * sparse.eye_array(L.shape[0]) - L)
    start = np.random.default_rng(0).standard_normal(L.shape[0])
    values, V = eigsh(shifted, k=p, which="LA", tol=1e-4, v0=start)
    order = np.argsort(-values)
    return top - values[order], V[:, order]


def run(n, path, p, kind, solver):
    command = [sys.executable, __file__, "--measure", path, str(p), kind, solver]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    row = json.loads(done.stdout.strip().splitlines()[-1])
    print(
        f"| {solver} | {kind} | {n} | {p} | {row['wall']:.1f} | {row['cpu']:.1f} | "
        f"{row['residual']:.1e} | {row['peak']:.2f} | {row['last']:.6f} |",
        flush=True,
    )
    return row


def main(small, peer):
    n_full = 6000 if small else 60_000
    with tempfile.TemporaryDirectory() as folder:
        graphs = {n: mnist_graph(n, folder) for n in (n_full // 4, n_full // 2, n_full)}
        print("| solver | Laplacian | n | p | wall s | CPU s | residual | peak GiB | last value |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for kind in KINDS:
            ours = run(n_full, graphs[n_full], 200, kind, "fewfold")
            if peer and kind == "symmetric":
                theirs = run(n_full, graphs[n_full], 200, kind, "eigsh")
                again = run(n_full, graphs[n_full], 200, kind, "fewfold")
                for unit in ("wall", "cpu"):
                    ratio = theirs[unit] / np.mean([ours[unit], again[unit]])
                    print(f"eigsh / fewfold, {unit}: {ratio:.1f}", flush=True)
        for n, path in graphs.items():
            for p in (50, 200, 500):
                if n == n_full or p == 200:
                    run(n, path, p, "symmetric", "fewfold")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], int(sys.argv[3]), *sys.argv[4:6])
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("--small", action="store_true", help="6000 rows, a quick check")
        parser.add_argument("--no-peer", action="store_true", help="leave eigsh out")
        options = parser.parse_args()
        main(options.small, not options.no_peer)
