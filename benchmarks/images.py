"""Errors of the image views beside single methods: ``python benchmarks/images.py SET``.

Balanced draws from the training rows; error on the official test rows where there are any (USPS,
MNIST), otherwise on all unlabeled rows. `FEWFOLD_MIRROR` names the folder of the data.

    python benchmarks/images.py mnist --new --budgets 100   # test rows are not in the graphs
    python benchmarks/images.py mnist --all                 # all training rows are labeled

Both run the views alone, without the methods beside them. `--csv data/measured/images.csv` keeps
the errors of each draw, in place of older ones of the same methods.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.svm import SVC

from fewfold.datasets import load
from fewfold.graph.build import build_graph
from fewfold.methods.diffusion.estimator import diffuse
from fewfold.methods.views.description import angle_contrasts, graphs_of, is_turned
from fewfold.methods.views.estimator import ImageViewsClassifier
from fewfold.transforms.rotated import rotated_images

BUDGETS = {
    "fashion": (10, 100, 1000),
    "usps": (10, 100, 300),
    "coil20": (20, 40),
    "digits": (10, 50, 100),
    "series": (3, 30),
    "mnist": (10, 100, 1000),
    "usps-rotated": (10, 100, 300),
    "fashion-rotated": (10, 100, 1000),
    "digits-rotated": (10, 50, 100),
    "coil20-rotated": (20, 40),
}


def read(name):
    """Return rows scaled to at most 1, codes, the image shape, and a mask of test rows."""
    if name.endswith("-rotated"):
        X, y, shape, test = read(name.removesuffix("-rotated"))
        return rotated_images(X, shape, seed=1), y, shape, test
    if name == "fashion":
        path = Path(os.environ["FEWFOLD_MIRROR"]) / "fashion" / "fashion-sample-10000.npz"
        with np.load(path, allow_pickle=False) as file:
            X, y, shape, test = file["X"], file["y"], (28, 28), None
    else:
        data = load("cylinder_bell_funnel" if name == "series" else name)
        X, y, test = data.X, data.y, data.test_mask
        shape = data.image_shape or (X.shape[1],)
    X = np.asarray(X, np.float64)
    y = np.unique(y, return_inverse=True)[1]
    return X / np.abs(X).max(), y, shape, np.zeros(len(y), bool) if test is None else test


def draw(y, allowed, budget, seed):
    """Return balanced labeled rows among those allowed."""
    rng = np.random.default_rng(seed)
    classes = np.unique(y)
    rows = [rng.permutation(np.flatnonzero((y == c) & allowed)) for c in classes]
    return np.concatenate([r[: budget // len(classes)] for r in rows])


def answers(X, y, rows, shape, graphs, shared, seed, views_only=False):
    """Yield the name and the classes of all rows of each method."""
    given = np.full(len(y), -1)
    given[rows] = y[rows]
    model = ImageViewsClassifier(shape, random_state=0).fit(X, given, shared=shared)
    yield "views", model.transduction_
    yield "views, classifier alone", model.predict(X)
    if views_only:
        return
    k = y.max() + 1
    for name, W in graphs.items():
        for method, alpha in (("poisson", 0.9), ("spreading", 0.9), ("spreading", 0.99)):
            label = method if method == "poisson" else f"{method} {alpha}"
            proba, _ = diffuse(W, rows, y[rows], k, method=method, alpha=alpha, tol=1e-4)
            yield f"{label}, {name}", proba.argmax(axis=1)
    yield "RBF SVM, pixels", SVC(C=10).fit(X[rows], y[rows]).predict(X)
    trees = ExtraTreesClassifier(300, random_state=seed, n_jobs=1)
    yield "ExtraTrees, pixels", trees.fit(X[rows], y[rows]).predict(X)


def keep(path, table):
    """Merge errors (a row for each set, number of labels and draw; a column for each method)."""
    if path.exists():
        table = table.combine_first(pd.read_csv(path, index_col=list(table.index.names)))
    table.round(6).to_csv(path, lineterminator="\n")


def new_rows(X, y, shape, test, budgets, seeds):
    """Print the error of test rows that neither the graphs nor the features have seen."""
    seen, truth = X[~test], y[~test]
    start = time.process_time()
    shared = ImageViewsClassifier(shape, random_state=0).prepare(seen)
    print(f"prepared in {time.process_time() - start:.0f} CPU s", flush=True)
    for budget in budgets:
        errors, start = [], time.process_time()
        for seed in seeds:
            rows = draw(truth, np.ones(len(truth), bool), budget, seed)
            given = np.full(len(truth), -1)
            given[rows] = truth[rows]
            model = ImageViewsClassifier(shape, random_state=0).fit(seen, given, shared=shared)
            errors.append(100 * np.mean(model.predict(X[test]) != y[test]))
            print(f"  {budget} labels, draw {seed}: {errors[-1]:.2f}", flush=True)
        seconds = (time.process_time() - start) / len(errors)
        print(
            f"new rows, {budget} labels, {len(errors)} draws: {np.mean(errors):.2f} ± "
            f"{np.std(errors):.2f}, {seconds:.1f} CPU s each",
            flush=True,
        )


def all_labels(X, y, shape, test):
    """Print the error of test rows in the graphs where all training rows are labeled."""
    start = time.process_time()
    given = np.where(test, -1, y)
    model = ImageViewsClassifier(shape, random_state=0).fit(X, given)
    wrong = 100 * np.mean(model.transduction_[test] != y[test])
    seconds = time.process_time() - start
    print(f"all {(~test).sum()} labels: {wrong:.2f}, {seconds:.0f} CPU s, {model.details_}")


def main():
    """Print a table: mean and standard deviation of the error in %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=BUDGETS)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first", type=int, default=100, help="seed of the first draw")
    parser.add_argument("--angles", action="store_true", help="only whether images are turned")
    parser.add_argument("--budgets", type=int, nargs="+", help="by default those of the set")
    parser.add_argument("--views-only", action="store_true", help="not the methods beside them")
    parser.add_argument("--new", action="store_true", help="test rows are not in the graphs")
    parser.add_argument("--all", action="store_true", help="all training rows are labeled")
    parser.add_argument("--csv", type=Path, help="table to which the errors are added")
    options = parser.parse_args()
    X, y, shape, test = read(options.set)
    budgets = options.budgets or BUDGETS[options.set]
    if (options.new or options.all) and not test.any():
        parser.error(f"{options.set} has no test rows; --new and --all take usps or mnist.")
    if options.new:
        seeds = range(options.first, options.first + options.trials)
        new_rows(X, y, shape, test, budgets, seeds)
        return
    if options.all:
        all_labels(X, y, shape, test)
        return
    if options.angles:
        found = " / ".join(f"{value:.3f}" for value in angle_contrasts(X, shape))
        print(f"{options.set}: {found}; turned upright: {is_turned(X, shape)}")
        return
    start = time.process_time()
    shared = ImageViewsClassifier(shape, random_state=0).prepare(X)
    print(f"prepared in {time.process_time() - start:.0f} CPU s", flush=True)
    graphs = dict(zip(("invariant", "edges"), graphs_of(shared)))
    if not options.views_only:
        graphs["pixels"] = build_graph(X, n_neighbors=10, symmetrize="mean").W
    for budget in budgets:
        errors, start = {}, time.process_time()
        for trial in range(options.trials):
            rows = draw(y, ~test, budget, options.first + trial)
            judged = test if test.any() else ~np.isin(np.arange(len(y)), rows)
            options_of = (shape, graphs, shared, trial, options.views_only)
            for name, found in answers(X, y, rows, *options_of):
                errors.setdefault(name, []).append(100 * np.mean(found[judged] != y[judged]))
        seconds = (time.process_time() - start) / options.trials
        print(f"{options.set}, {budget} labels, {options.trials} draws, {seconds:.1f} CPU s each")
        for name, values in errors.items():
            print(f"  {name:<28}{np.mean(values):6.2f} ± {np.std(values):.2f}", flush=True)
        if options.csv:
            draws = range(options.first, options.first + options.trials)
            names = ["set", "labels", "draw"]
            index = pd.MultiIndex.from_product([[options.set], [budget], draws], names=names)
            keep(options.csv, pd.DataFrame(errors, index))


if __name__ == "__main__":
    main()
