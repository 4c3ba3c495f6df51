"""Print the figures of docs/methods/multimanifold.md and docs/notes/multimanifold.md.

python benchmarks/multimanifold.py synthetic [--sets a,b] [--labeled 20,40] [--trials 10]
python benchmarks/multimanifold.py digits [--trials 10]
python benchmarks/multimanifold.py helix      (helix with less unlabeled data)
python benchmarks/multimanifold.py unit       (helix: weights of Hellinger distances, and all 1)
python benchmarks/multimanifold.py starts     (dollar sign, one draw, many starts of the cover)
python benchmarks/multimanifold.py times      (stage times for growing M)
python benchmarks/multimanifold.py flow       (constrained assignment against HiGHS)
python benchmarks/multimanifold.py paired --run FOLDER
    (the paired tests of a run of `fewfold reproduce multimanifold --out FOLDER`)

Each trial draws all rows again, as in the paper; --first 100 begins at another trial, --variant
published takes the paper's settings, --parts rule its number of parts.
"""

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
from scipy import stats
from sklearn.base import clone

from fewfold.datasets.synthetic import GENERATORS, generate
from fewfold.methods.multimanifold.estimators import MultiManifoldClassifier, MultiManifoldRegressor
from fewfold.methods.multimanifold.learners import fit_parts, make_learner, predict_parts
from fewfold.methods.multimanifold.partition import PartitionSettings, partition
from fewfold.methods.multimanifold.shape import fit_shape

SETS = ("dollar_sign", "surface_sphere", "density_change", "surface_helix", "martini")
BUDGETS = (20, 40, 80, 160, 320, 640)


def loss(task, guess, truth):
    return float(np.mean((guess - truth) ** 2 if task == "regression" else guess != truth))


def hide(task, y, n):
    hidden = y.copy()
    hidden[n:] = np.nan if task == "regression" else -1
    return hidden


def model_for(task, base, **options):
    kind = MultiManifoldRegressor if task == "regression" else MultiManifoldClassifier
    return kind(base, **options)


def one_trial(name, n, trial, n_unlabeled=20_000, n_test=20_000, **options):
    """Global, Clairvoyant and SSL on one draw; the first n rows are labeled."""
    seed = int(np.random.SeedSequence([trial, n]).generate_state(1)[0])
    data = generate(name, n_samples=n_unlabeled + n, n_test=n_test, seed=seed)
    task, test = data.task, data.test_mask
    X, y, groups = data.X[~test], data.y[~test], data.groups[~test]
    Xt, yt, gt = data.X[test], data.y[test], data.groups[test]
    base = make_learner("auto", task, trial)
    out = {}
    if task == "classification" and (y[:n] == y[0]).all():
        out["global"] = loss(task, np.full(len(yt), y[0]), yt)
    else:
        out["global"] = loss(task, clone(base).fit(X[:n], y[:n]).predict(Xt), yt)
    k = int(groups.max()) + 1
    is_classifier = task == "classification"
    learners, _ = fit_parts(
        base, X[:n], y[:n], groups[:n], k, np.zeros(k), is_classifier=is_classifier
    )
    out["clairvoyant"] = loss(task, predict_parts(learners, Xt, gt), yt)
    model = model_for(task, base, random_state=trial, **options).fit(X, hide(task, y, n))
    out["ssl"], out["parts"] = loss(task, model.predict(Xt), yt), model.n_parts_
    return out


def paired(a, b):
    """Two-tailed paired t-test; 1 when all pairs are equal."""
    difference = np.asarray(a) - np.asarray(b)
    return 1.0 if np.ptp(difference) == 0 else float(stats.ttest_rel(a, b).pvalue)


def row(values):
    return f"{np.mean(values):8.4f} ±{np.std(values, ddof=1):7.4f}"


def trials_of(args):
    return range(args.first, args.first + args.trials)


def options_of(args):
    given = {"cells": args.cells, "n_parts": args.parts, "variant": args.variant}
    return {name: value for name, value in given.items() if value}


def synthetic(args):
    options = options_of(args)
    print(f"M = {args.unlabeled}, {args.trials} trials, 20 000 test points; error or MSE")
    print("set              n    Global            SSL               Clairvoyant       p (paired)")
    for name in args.sets:
        for n in args.labeled:
            runs = [one_trial(name, n, t, args.unlabeled, **options) for t in trials_of(args)]
            g, s, c = ([r[key] for r in runs] for key in ("global", "ssl", "clairvoyant"))
            print(
                f"{name:15s} {n:4d} {row(g)} {row(s)} {row(c)}  {paired(g, s):.4f}  "
                f"parts {[r['parts'] for r in runs]}",
                flush=True,
            )


def digit_images(digits):
    """MNIST digits scaled down to 16 x 16 pixels: training rows, then official test rows."""
    from fewfold.datasets import load

    data = load("mnist", classes=[str(d) for d in digits], image_size=[16, 16])
    return np.asarray(data.X, np.float64), data.y, data.test_mask


def digits(args):
    print(f"MNIST 16 x 16, n = 20, M = 5000, {args.trials} trials, official test set")
    for chosen in ((2, 3), (1, 2, 3), (7, 8, 9)):
        X, y, test = digit_images(chosen)
        train = np.flatnonzero(~test)
        runs = []
        for trial in trials_of(args):
            pick = np.random.default_rng([trial, 2009]).permutation(train)[:5020]
            base = make_learner("auto", "classification", trial)
            best = clone(base).fit(X[pick[:20]], y[pick[:20]]).predict(X[test])
            model = MultiManifoldClassifier(base, random_state=trial, **options_of(args))
            model.fit(X[pick], hide("classification", y[pick], 20))
            runs.append(((best != y[test]).mean(), (model.predict(X[test]) != y[test]).mean()))
        g, s = zip(*runs)
        print(f"{chosen!s:10s} Global {row(g)}  SSL {row(s)}  p = {paired(g, s):.5f}", flush=True)


def helix(args):
    print("surface_helix, n = 80, growing M")
    for m in (1000, 3162, 10_000):
        runs = [one_trial("surface_helix", 80, t, m, **options_of(args)) for t in trials_of(args)]
        g, s = ([r[key] for r in runs] for key in ("global", "ssl"))
        print(f"M = {m:6d} Global {row(g)}  SSL {row(s)}  p = {paired(g, s):.4f}", flush=True)


def unit(args):
    print("surface_helix, n = 20, M = 20 000: weights from Hellinger distances, and all 1")
    for unit in (False, True):
        runs = [
            one_trial("surface_helix", 20, t, unit_weights=unit)["ssl"] for t in trials_of(args)
        ]
        print(f"unit_weights={unit!s:5s} SSL {row(runs)}", flush=True)


def from_run(args):
    """Global, SSL and Clairvoyant of a workflow run, trial by trial."""
    from fewfold.reproduce.measured import read_metrics

    table, _ = read_metrics(args.run)
    table = table.pivot_table(
        index=["dataset", "n_labeled", "trial"], columns="method", values="value"
    )
    print("set                n trials   Global            SSL               Clairvoyant       p")
    for (name, n), rows in table.groupby(level=["dataset", "n_labeled"]):
        rows = rows.dropna(subset=["global", "multimanifold"])
        if not len(rows):
            continue
        g, s = rows["global"].to_numpy(), rows["multimanifold"].to_numpy()
        told = rows["clairvoyant"].to_numpy() if "clairvoyant" in rows else np.array([np.nan])
        clairvoyant = " " * 17 if np.isnan(told).all() else row(told)
        print(f"{name:15s} {n:4d} {len(g):4d} {row(g)} {row(s)} {clairvoyant}  {paired(g, s):.5f}")


def partitions_by_start(X, labeled, settings):
    """Yield the partition by the cover from each starting point, with the paper's bandwidth."""
    shape = fit_shape(X, settings)
    alone = replace(settings, sigma=0.2)
    for cover in shape.covers:
        yield partition(X, labeled, alone, shape=replace(shape, covers=[cover]))


def starts(args):
    """One draw of the dollar sign, many starts: the paper's cover and ours."""
    print("dollar_sign, n = 20, one draw: purity of the partition from eight starts of the cover")
    data = generate("dollar_sign", n_samples=20_020, seed=1)
    labeled = np.arange(20_020) < 20
    for refits in (0, PartitionSettings().resolved().n_refits):
        settings = PartitionSettings(n_covers=8, n_refits=refits)
        purity = []
        for found in partitions_by_start(data.X, labeled, settings):
            table = np.zeros((2, 2))
            np.add.at(table, (data.groups[found.kept], found.part), 1)
            purity.append(table.max(axis=0).sum() / table.sum())
        print(f"n_refits={refits}:", " ".join(f"{p:.3f}" for p in purity), flush=True)


def times(args):
    partition(np.random.default_rng(0).random((500, 3)), np.arange(500) < 20)  # load modules
    print("seconds of the partition (default settings), surface_helix, n = 80")
    for m in (5000, 10_000, 20_000, 60_000, 200_000)[: args.sizes]:
        X = generate("surface_helix", n_samples=m + 80, seed=0).X
        labeled = np.arange(m + 80) < 80
        begin, begin_cpu = time.perf_counter(), time.process_time()
        found = partition(X, labeled)
        total, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
        kept = len(found.kept) - 80
        print(f"M = {m:7d} m = {kept:6d} total {total:.2f} (CPU {cpu:.2f})", flush=True)


def flow(args):
    from scipy import sparse
    from scipy.optimize import linprog

    from fewfold.graph.flows import constrained_assignment

    n, k, bound = 20_000, 5, 2500
    rng = np.random.default_rng(0)
    V, centers = rng.normal(size=(n, 4)), rng.normal(size=(k, 4))
    centers[0] *= 0.1  # most points prefer the first part, so the bounds bind
    costs = ((V[:, None] - centers) ** 2).sum(axis=2)
    constrained_assignment(costs[:100], 10)  # load the solver
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        part = constrained_assignment(costs, bound)
        seconds.append(time.perf_counter() - begin)
    ours = costs[np.arange(n), part].sum()
    each = sparse.kron(sparse.eye_array(n), np.ones((1, k)), format="csr")
    size = sparse.kron(np.ones((1, n)), sparse.eye_array(k), format="csr")
    begin = time.perf_counter()
    exact = linprog(costs.ravel(), -size, np.full(k, -bound), each, np.ones(n), method="highs")
    other = time.perf_counter() - begin
    print(
        f"{n} x {k}, bound {bound}: flow {np.median(seconds):.3f} s, HiGHS {other:.2f} s "
        f"({other / np.median(seconds):.0f} times), costs {ours:.6f} and {exact.fun:.6f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what",
        choices=["synthetic", "digits", "helix", "unit", "starts", "times", "flow", "paired"],
    )
    parser.add_argument("--sets", type=lambda text: text.split(","), default=SETS)
    parser.add_argument(
        "--labeled", type=lambda text: [int(v) for v in text.split(",")], default=BUDGETS
    )
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first trial's number")
    parser.add_argument("--variant", choices=["default", "published"])
    parser.add_argument("--parts", choices=["rule", "labels"])
    parser.add_argument("--unlabeled", type=int, default=20_000)
    parser.add_argument("--sizes", type=int, default=4, help="how many sizes `times` runs")
    parser.add_argument("--run", help="folder of the run that `paired` reads")
    parser.add_argument("--cells", choices=["gaussian", "euclidean"])
    args = parser.parse_args()
    unknown = set(args.sets) - set(GENERATORS)
    if unknown:
        sys.exit(f"unknown sets: {', '.join(sorted(unknown))}")
    if args.what == "paired" and not args.run:
        sys.exit("`paired` needs --run FOLDER, the --out of `fewfold reproduce multimanifold`.")
    (from_run if args.what == "paired" else globals()[args.what])(args)


if __name__ == "__main__":
    main()
