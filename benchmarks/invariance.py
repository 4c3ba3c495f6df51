"""Figures of [invariance-2006]: rotated USPS digits, 0-4 against 5-9, and beyond.

    python benchmarks/invariance.py table [--subsets 36] [--slow 36]
    python benchmarks/invariance.py ten-class
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


def table(n_subsets, n_slow, seed=0):
    """Print the paper's Table 1 with ours beside it."""
    straight, turned, digit, training, test = digits(seed)
    y = (digit >= 5).astype(int)
    order = np.random.default_rng(seed).permutation(training)
    low_rank = InvariantSVC(image_shape=SHAPE, cv=5, solver="lowrank", n_landmarks=200)
    machines = {
        "SVM unrotated": (straight, plain_svm),
        "SVM rotated": (turned, plain_svm),
        "VSV SVM": (turned, VirtualSupportVectorSVC(image_shape=SHAPE, cv=5).fit),
        "Graph SVM": (turned, InvariantSVC(image_shape=SHAPE, cv=5).fit),
        "Graph, low rank": (turned, low_rank.fit),
        "all virtual": (turned, AllVirtualSVC(image_shape=SHAPE, cv=5).fit),
    }
    # The first use compiles the resampling: not part of any machine's time.
    machines["Graph SVM"][1](turned[order[:20]], y[order[:20]])
    errors = {name: [] for name in machines}
    seconds = {name: [] for name in machines}
    for subset in range(n_subsets):
        rows = order[200 * subset : 200 * (subset + 1)]
        for name, (X, fit) in machines.items():
            if name in ("all virtual", "VSV SVM") and subset >= n_slow:
                continue
            start, cpu = time.perf_counter(), time.process_time()
            model = fit(X[rows], y[rows])
            seconds[name].append((time.perf_counter() - start, time.process_time() - cpu))
            errors[name].append(100 * np.mean(model.predict(X[test]) != y[test]))
        line = "  ".join(f"{name} {values[-1]:.1f}" for name, values in errors.items())
        print(f"subset {subset}: {line}", flush=True)
    print(f"\nrotated USPS, 0-4 against 5-9, {n_subsets} subsets of 200, {len(test)} test digits")
    print("machine          error %  (s.e.)  published   wall s   CPU s   subsets")
    for name, values in errors.items():
        wall, cpu = np.mean(seconds[name], axis=0)
        spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        print(
            f"{name:15s} {np.mean(values):8.2f}  ({spread:.2f})  {PUBLISHED.get(name, '-')!s:>9} "
            f"{wall:9.2f} {cpu:7.2f} {len(values):9d}"
        )
    graph_wall, graph_cpu = np.mean(seconds["Graph SVM"], axis=0)
    for name in ("VSV SVM", "all virtual"):
        wall, cpu = np.mean(seconds[name], axis=0)
        print(
            f"time of {name} / Graph SVM: {wall / graph_wall:.2f} wall, {cpu / graph_cpu:.2f} CPU"
        )
    both = len(errors["all virtual"])
    gap = np.mean(errors["Graph SVM"][:both]) - np.mean(errors["all virtual"])
    print(f"Graph SVM - all virtual on the same {both} subsets: {gap:+.2f} points")


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


def unlabelled(n_subsets, seed=0):
    """Print errors with 200 labels, without and with the unlabelled training digits."""
    _, turned, digit, training, test = digits(seed)
    y = (digit >= 5).astype(int)
    order = np.random.default_rng(seed).permutation(training)
    settings = {"image_shape": SHAPE, "cv": 5}
    found = []
    from fewfold.graph.build import GraphSettings, build_graph
    from fewfold.invariance.classifier import orbit_graph

    start = time.perf_counter()
    graph = build_graph(
        turned[training],
        GraphSettings(n_neighbors=10, **orbit_graph("rotation", SHAPE)),
    )
    print(f"data graph of {len(training)} digits: {time.perf_counter() - start:.1f} s", flush=True)
    place = np.empty(len(y), int)
    place[training] = np.arange(len(training))
    for subset in range(n_subsets):
        rows = order[200 * subset : 200 * (subset + 1)]
        partial = np.full(len(training), -1)
        partial[place[rows]] = y[rows]
        alone = InvariantSVC(**settings).fit(turned[rows], y[rows])
        joined = InvariantSVC(data_graph=graph, data_deformation=[1.0, 10.0, 100.0], **settings)
        joined.fit(turned[training], partial)
        pair = [100 * np.mean(m.predict(turned[test]) != y[test]) for m in (alone, joined)]
        found.append(pair)
        print(
            f"subset {subset}: alone {pair[0]:.2f}, joined {pair[1]:.2f}  {joined.choice_}",
            flush=True,
        )
    mean = np.mean(found, axis=0)
    print(f"mean of {n_subsets}: {mean[0]:.2f} % alone, {mean[1]:.2f} % with unlabelled digits")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["table", "ten-class", "unlabelled"])
    parser.add_argument("--subsets", type=int, default=36)
    parser.add_argument(
        "--slow", type=int, default=36, help="subsets for the machines on virtual samples"
    )
    arguments = parser.parse_args()
    if arguments.what == "table":
        table(arguments.subsets, arguments.slow)
    elif arguments.what == "ten-class":
        ten_class()
    else:
        unlabelled(arguments.subsets)


if __name__ == "__main__":
    main()
