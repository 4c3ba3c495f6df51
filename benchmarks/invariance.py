"""Figures of [invariance-2006]: rotated USPS digits, 0-4 against 5-9, and beyond.

    python benchmarks/invariance.py table [--subsets 36] [--slow 36]
    python benchmarks/invariance.py ten-class
    python benchmarks/invariance.py kernel-stage
    python benchmarks/invariance.py unlabelled [--subsets 4]

FEWFOLD_MIRROR, or a download, gives the USPS digits. Settings are chosen by cross-validation on
each training subset; test labels are read to count errors only.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from sklearn.svm import SVC

from fewfold import InvariantSVC
from fewfold.datasets import load
from fewfold.invariance import AllVirtualSVC, VirtualSupportVectorSVC, rotated_images
from fewfold.invariance.selection import PENALTIES, WIDTHS
from fewfold.kernels import median_gamma

SHAPE = (16, 16)
PUBLISHED = {"SVM unrotated": 12.0, "SVM rotated": 34.0, "VSV SVM": 13.1, "Graph SVM": 12.5}


def digits(seed=0):
    """Return straight and turned digits in 0..1, their classes, and training and test rows."""
    data = load("usps")
    X = np.asarray(data.X, np.float32)
    X = (X - X.min()) / (X.max() - X.min())
    training, test = np.flatnonzero(~data.test_mask), np.flatnonzero(data.test_mask)
    return X, rotated_images(X, SHAPE, seed), np.asarray(data.y, int), training, test


def plain_svm(X, y):
    """Return a machine without knowledge of rotation, chosen from the same grid by 5 folds."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    width = median_gamma(X)
    grid = {"C": list(PENALTIES), "gamma": [f * width for f in WIDTHS]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return GridSearchCV(SVC(), grid, cv=folds).fit(X, y)


def machines(straight, turned):
    """Return each machine's digits and fit function, all with 5 folds over the same grid."""
    low_rank = InvariantSVC(image_shape=SHAPE, cv=5, solver="lowrank", n_landmarks=200)
    return {
        "SVM unrotated": (straight, plain_svm),
        "SVM rotated": (turned, plain_svm),
        "Graph SVM": (turned, InvariantSVC(image_shape=SHAPE, cv=5).fit),
        "Graph low rank": (turned, low_rank.fit),
        "VSV SVM": (turned, VirtualSupportVectorSVC(image_shape=SHAPE, cv=5).fit),
        "all virtual": (turned, AllVirtualSVC(image_shape=SHAPE, cv=5).fit),
    }


def table(first, n_subsets, names, out, seed=0):
    """Train and test on some subsets, append what was found to a file, and print the table."""
    straight, turned, digit, training, test = digits(seed)
    y = (digit >= 5).astype(int)
    order = np.random.default_rng(seed).permutation(training)
    # The first use compiles the resampling: not part of any machine's time.
    InvariantSVC(image_shape=SHAPE).fit(turned[order[:20]], y[order[:20]])
    for subset in range(first, first + n_subsets):
        rows = order[200 * subset : 200 * (subset + 1)]
        for name, (X, fit) in machines(straight, turned).items():
            if names and name not in names:
                continue
            start, cpu = time.perf_counter(), time.process_time()
            model = fit(X[rows], y[rows])
            cpu, wall = time.process_time() - cpu, time.perf_counter() - start
            error = 100 * np.mean(model.predict(X[test]) != y[test])
            line = f"{name},{subset},{error:.4f},{wall:.3f},{cpu:.3f}"
            print(line, flush=True)
            with open(out, "a", encoding="utf-8") as file:
                file.write(line + "\n")
    summary(out)


def summary(path):
    """Print the paper's Table 1 with ours beside it, from a file of `table`."""
    import pandas as pd

    found = pd.read_csv(path, names=["machine", "subset", "error", "wall", "cpu"])
    found = found.drop_duplicates(["machine", "subset"], keep="last")
    print("rotated USPS, 0-4 against 5-9, subsets of 200, 2007 test digits; s per subset")
    print(f"{'machine':16s} error %   s.e.  published  wall s   CPU s  subsets")
    for name, rows in found.groupby("machine", sort=False):
        spread = rows.error.std() / np.sqrt(len(rows))
        print(
            f"{name:16s} {rows.error.mean():7.2f} {spread:6.2f} {PUBLISHED.get(name, '-')!s:>10}"
            f" {rows.wall.mean():7.2f} {rows.cpu.mean():7.2f} {len(rows):8d}"
        )
    pairs = found.pivot(index="subset", columns="machine", values=["error", "wall", "cpu"])
    for name in ("VSV SVM", "all virtual"):
        both = pairs.dropna(subset=[("error", name), ("error", "Graph SVM")])
        if len(both):
            mean = both.mean()
            print(
                f"{name} against Graph SVM on the same {len(both)} subsets: error "
                f"{mean['error', name]:.2f} against {mean['error', 'Graph SVM']:.2f} %, time "
                f"x {mean['cpu', name] / mean['cpu', 'Graph SVM']:.2f} CPU, "
                f"x {mean['wall', name] / mean['wall', 'Graph SVM']:.2f} wall"
            )


def ten_class(n_train=1000, seed=0):
    """Print error, time and peak memory of ten classes from 1000 digits of 24 copies."""
    _, turned, digit, training, test = digits(seed)
    rows = np.random.default_rng(seed).permutation(training)[:n_train]
    start = time.perf_counter()
    model = InvariantSVC(image_shape=SHAPE).fit(turned[rows], digit[rows])
    fit_s = time.perf_counter() - start
    error = 100 * np.mean(model.predict(turned[test]) != digit[test])
    start = time.perf_counter()
    plain = plain_svm(turned[rows], digit[rows])
    plain_error = 100 * np.mean(plain.predict(turned[test]) != digit[test])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"10 classes, {n_train} digits, {model.n_nodes_} nodes: error {error:.2f} % "
        f"(plain SVM {plain_error:.2f} %), fit {fit_s:.1f} s, peak memory {peak:.2f} GiB"
    )


def unlabelled(first, n_subsets, n_digits, seed=0):
    """Print errors with 200 labels, without and with the other training digits unlabelled."""
    _, turned, digit, training, test = digits(seed)
    y = (digit >= 5).astype(int)
    order = np.random.default_rng(seed).permutation(training)
    found = []
    for subset in range(first, first + n_subsets):
        rows = np.roll(order, -200 * subset)[:n_digits]
        partial = np.where(np.arange(len(rows)) < 200, y[rows], -1)
        alone = InvariantSVC(image_shape=SHAPE, cv=5)
        joined = InvariantSVC(image_shape=SHAPE, cv=5, data_deformation=[100.0, 10.0])
        alone.fit(turned[rows], partial)
        joined.fit(turned[rows], partial)
        pair = [100 * np.mean(m.predict(turned[test]) != y[test]) for m in (alone, joined)]
        found.append(pair)
        print(f"subset {subset}: {pair[0]:.2f} alone, {pair[1]:.2f} joined", flush=True)
    mean = np.mean(found, axis=0)
    print(
        f"200 labels, {n_subsets} subsets: {mean[0]:.2f} % alone, {mean[1]:.2f} % with "
        f"{n_digits - 200} unlabelled digits through the data graph"
    )


def kernel_stage(n_labels=100, n_trials=5, seed=0):
    """Print errors of the kernel stage on all USPS digits as they are, plain and deformed."""
    import tempfile
    from pathlib import Path

    from fewfold.features import Features
    from fewfold.graph.build import build_graph
    from fewfold.graph.files import write_graph
    from fewfold.invariance import DeformedKernel

    straight, _, digit, _, _ = digits(seed)
    features = Features(straight, None, None, None, SHAPE, None)
    rng = np.random.default_rng(seed)
    draws = [rng.permutation(len(straight))[:n_labels] for _ in range(n_trials)]
    wanted = np.unique(draws)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.h5"
        write_graph(path, build_graph(straight, n_neighbors=10))
        for strength, landmarks in ((0.0, None), (1000.0, None), (1000.0, 3000)):
            start = time.process_time()
            kernel = DeformedKernel(
                features, {"graph": path}, {"deformation": strength, "n_landmarks": landmarks or 1}
            )
            kernel._exact = landmarks is None
            K = kernel.rows(wanted).astype(float)
            seconds = time.process_time() - start
            errors = []
            for draw in draws:
                rows = K[np.searchsorted(wanted, draw)]
                model = SVC(C=10.0, kernel="precomputed").fit(rows[:, draw], digit[draw])
                rest = np.setdiff1d(np.arange(len(digit)), draw)
                errors.append(100 * np.mean(model.predict(rows[:, rest].T) != digit[rest]))
            print(
                f"USPS {len(digit)} digits, {n_labels} labels, deformation {strength:g}, "
                f"{'exact' if landmarks is None else f'{landmarks} landmarks'}: error "
                f"{np.mean(errors):.2f} % of {n_trials} draws, {seconds:.1f} s CPU",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "what", choices=["table", "summary", "ten-class", "unlabelled", "kernel-stage"]
    )
    parser.add_argument("--first", type=int, default=0, help="first subset")
    parser.add_argument("--subsets", type=int, default=36)
    parser.add_argument("--machines", default="", help="names, joined by commas; default all")
    parser.add_argument("--unlabelled", type=int, default=7291, help="training digits in the graph")
    parser.add_argument("--out", default="invariance-table.csv")
    arguments = parser.parse_args()
    if arguments.what == "table":
        names = [name for name in arguments.machines.split(",") if name]
        table(arguments.first, arguments.subsets, names, arguments.out)
    elif arguments.what == "summary":
        summary(arguments.out)
    elif arguments.what == "ten-class":
        ten_class()
    elif arguments.what == "kernel-stage":
        kernel_stage()
    else:
        unlabelled(arguments.first, arguments.subsets, arguments.unlabelled)


if __name__ == "__main__":
    main()
