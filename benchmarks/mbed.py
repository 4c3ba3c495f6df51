"""Print the figures of docs/notes/mbed.md.

    FEWFOLD_MIRROR=... python benchmarks/mbed.py errors [g50c] [g10n] [text] [uspst] [coil20]
                                                 [--variant published] [--splits 10] [--steps 500]
    python benchmarks/mbed.py clusters [g50c] [text]       pair errors without labels
    python benchmarks/mbed.py heldout                      labels of held-out points, g50c
    python benchmarks/mbed.py large [20000] [--graph] [--labels 1000]   MNIST: time, memory, 1-NN
    python benchmarks/mbed.py starts [digits] [semeion]    restarts, starts, preconditioning
    python benchmarks/mbed.py budgets [digits] [semeion]   do more labels help
    python benchmarks/mbed.py figures [FILE.png]           Figures 2 and 3: USPS digits 2, 4 and 8
    python benchmarks/mbed.py choose [moons] [wine] ...    global or diffused, by which criterion

The gradient's speed and precision are in mbed_speed.py. Settings are the estimator's defaults,
chosen on scikit-learn's sets, generated ones and Semeion (`starts`, `choose`), not on the others.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.neighbors import KNeighborsClassifier

from fewfold import MbedClassifier
from fewfold.datasets import load
from fewfold.graph.build import build_graph
from fewfold.methods.mbed.annealing import (
    Problem,
    anneal,
)
from fewfold.methods.mbed.figures import picture_plane
from fewfold.methods.mbed.gradient import DenseSNE, workers
from fewfold.methods.mbed.neighborhoods import (
    DiffusedNeighborhoods,
    GlobalNeighborhoods,
)
from fewfold.methods.mbed.optimize import conjugate_gradients
from fewfold.methods.mbed.similarities import dissimilarities
from fewfold.methods.mbed.starts import spectral_coordinates, start_from_labels, turn_to_labels
from fewfold.pipeline.training import Inputs, fit_draw


def say(*words):
    print(*words, flush=True)


def splits_of(data, per_class=2, count=10):
    if data.label_splits is not None:
        return [np.asarray(rows) for rows in data.label_splits]
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(data.y == k) for k in np.unique(data.y)]
    return [
        np.concatenate([rng.choice(rows, per_class, replace=False) for rows in classes])
        for _ in range(count)
    ]


def hide(y, labeled):
    seen = np.full(len(y), -1)
    seen[labeled] = y[labeled]
    return seen, seen == -1


def errors(names, variant, n_splits, n_steps):
    for name in names or ["g50c", "g10n", "text", "uspst", "coil20"]:
        data = load(name)
        found, chosen, walks, start = [], [], [], time.perf_counter()
        for seed, labeled in enumerate(splits_of(data)[:n_splits]):
            seen, hidden = hide(data.y, labeled)
            model = MbedClassifier(variant=variant, n_steps=n_steps, random_state=seed)
            model.fit(data.X, seen)
            found.append(100 * np.mean(model.transduction_[hidden] != data.y[hidden]))
            chosen.append(model.similarity_)
            if model.start_distributions_ is not None:
                walks.append(start_error(model, data.y, hidden))
        seconds = (time.perf_counter() - start) / len(found)
        spread = np.std(found, ddof=min(1, len(found) - 1))
        say(
            f"{name} {variant}, {n_steps} steps: error {np.mean(found):.2f} +- {spread:.2f} % over "
            f"{len(found)} splits {np.round(found, 1).tolist()}, {seconds:.1f} s a run, "
            f"neighborhoods {sorted(set(chosen))}"
        )
        if walks:
            say(f"  label walk alone {np.mean(walks):.2f} %")


def start_error(model, y, hidden):
    """Error in % of the walk that the annealing started from."""
    walk = model.classes_[model.start_distributions_.argmax(axis=1)]
    return 100 * np.mean(walk[hidden] != y[hidden])


def budgets(names, n_steps, n_draws):
    """Errors on the rows that no budget labels, for growing numbers of labels per class."""
    sizes = (2, 5, 10, 30)
    for name in names or ["digits", "semeion"]:
        data = load(name)
        classes = [np.flatnonzero(data.y == k) for k in np.unique(data.y)]
        found, walks = np.zeros((2, n_draws, len(sizes)))
        for draw in range(n_draws):
            rng = np.random.default_rng(draw)
            order = [rng.permutation(rows) for rows in classes]
            hidden = np.concatenate([rows[sizes[-1] :] for rows in order])
            for place, size in enumerate(sizes):
                seen, _ = hide(data.y, np.concatenate([rows[:size] for rows in order]))
                model = MbedClassifier(n_steps=n_steps, random_state=draw).fit(data.X, seen)
                found[draw, place] = 100 * np.mean(model.transduction_[hidden] != data.y[hidden])
                walks[draw, place] = start_error(model, data.y, hidden)
        found, walks = (values.mean(axis=0).round(1).tolist() for values in (found, walks))
        say(f"{name}, {sizes} labels per class, {n_draws} draws, {n_steps} steps: error {found} %")
        say(f"  label walk {walks} %")


# ---------------------------------------------------------------- which neighborhoods


def generated(name, seed):
    """Small data that no table of the papers uses, as (X, y)."""
    from sklearn import datasets

    rng = np.random.default_rng(seed)
    if name.startswith("moons"):
        return datasets.make_moons(400, noise=int(name[5:] or 10) / 100, random_state=seed)
    if name == "circles":
        return datasets.make_circles(400, noise=0.08, factor=0.4, random_state=seed)
    if name == "blobs":
        return datasets.make_blobs(400, 8, centers=5, cluster_std=2.5, random_state=seed)
    codes = np.repeat([0, 1], 200)
    if name == "spiral":
        t = np.sqrt(rng.uniform(0.05, 1, 400)) * 3 * np.pi
        turns = t + np.pi * codes
        X = np.stack([t * np.cos(turns), t * np.sin(turns)], axis=1) / 10
        return X + rng.normal(0, 0.03, X.shape), codes
    if name.startswith("gauss"):
        d = int(name[5:])
        apart = {10: 1.3, 30: 1.65, 100: 2.0}[d]
        return rng.normal(size=(400, d)) + np.outer(
            2 * codes - 1, np.full(d, apart / d**0.5)
        ), codes
    read = {"iris": datasets.load_iris, "wine": datasets.load_wine}
    read |= {"cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
    X, y = read[name](return_X_y=True)
    rows = rng.permutation(len(X))[:600]
    spread = X.std(axis=0)
    X = X / 16 if name == "digits" else (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return X[rows], y[rows]


CHOOSE = (
    "moons6 moons10 moons15 circles spiral gauss10 gauss30 gauss100 blobs iris wine digits cancer"
)


def choose(names, n_draws):
    """Errors with either neighborhoods, and with those that each criterion takes."""
    total = []
    for name in names or CHOOSE.split():
        rows = []
        for per_class in (2, 5, 15):
            for seed in range(50, 50 + n_draws):
                X, y = generated(name, seed)
                rng = np.random.default_rng(seed)
                groups = [np.flatnonzero(y == k) for k in np.unique(y)]
                labeled = [rng.choice(g, per_class, replace=False) for g in groups]
                seen, hidden = hide(y, np.concatenate(labeled))
                both = []
                for similarity in ("global", "diffused", "auto"):
                    model = MbedClassifier(similarity=similarity, n_steps=150, random_state=seed)
                    model.fit(X, seen)
                    wrong = 100 * np.mean(model.transduction_[hidden] != y[hidden])
                    both.append((wrong, model.path_.kept.criterion))
                (a, J_a), (b, J_b), (auto, _) = both
                rows.append((a, b, a if J_a > J_b else b, auto, min(a, b)))
        total.append(np.mean(rows, axis=0))
        say(f"{name:9s}" + "".join(f"{v:9.2f}" for v in total[-1]))
    say("mean     " + "".join(f"{v:9.2f}" for v in np.mean(total, axis=0)))
    say("columns: global, diffused, larger J, auto, better of both in hindsight")


def pair_error(a, b):
    upper = np.triu_indices(len(a), 1)
    return 100 * np.mean((a[:, None] == a)[upper] != (b[:, None] == b)[upper])


def clusters(names, n_steps):
    from sklearn.cluster import KMeans

    for name in names or ["g50c", "text"]:
        data = load(name)
        K = len(np.unique(data.y))
        means = KMeans(K, n_init=10, random_state=0).fit_predict(data.X)
        say(f"{name} k-means, 10 starts: pair error {pair_error(means, data.y):.2f} %")
        for variant, n_init in (("default", 1), ("published", 10)):
            options = {"variant": variant, "n_init": n_init, "n_steps": n_steps}
            model = MbedClassifier(K, random_state=0, **options).fit(data.X)
            say(
                f"{name} Mbed {variant}, {n_init} start(s), {n_steps} steps: pair error "
                f"{pair_error(model.transduction_, data.y):.2f} % ({model.similarity_})"
            )


def heldout():
    data = load("g50c")
    same, wrong_in, wrong_out = [], [], []
    for seed, labeled in enumerate(splits_of(data)):
        rng = np.random.default_rng(seed)
        seen, hidden = hide(data.y, labeled)
        out = rng.choice(np.flatnonzero(hidden), 100, replace=False)
        rest = np.setdiff1d(np.arange(len(data.y)), out)
        whole = MbedClassifier(random_state=seed).fit(data.X, seen)
        part = MbedClassifier(random_state=seed).fit(data.X[rest], seen[rest])
        placed = part.predict(data.X[out])
        same.append(100 * np.mean(placed == whole.transduction_[out]))
        wrong_in.append(100 * np.mean(whole.transduction_[out] != data.y[out]))
        wrong_out.append(100 * np.mean(placed != data.y[out]))
    say(
        f"g50c, 100 held-out points, 10 splits: same label as if embedded {np.mean(same):.1f} % "
        f"{np.array(same).tolist()}; error placed {np.mean(wrong_out):.2f} %, embedded "
        f"{np.mean(wrong_in):.2f} %"
    )


# ---------------------------------------------------------------- Figures 2 and 3


def figures(path):
    """SNE, clusters and 50 labels on the digits 2, 4, 8 of USPS's test set, as in the paper."""
    from matplotlib.figure import Figure

    data = load("usps", classes=["2", "4", "8"])
    X, y = np.asarray(data.X[data.test_mask], np.float64), data.y[data.test_mask]
    labeled = np.random.default_rng(0).choice(len(y), 50, replace=False)
    seen, hidden = hide(y, labeled)
    P = GlobalNeighborhoods(1 / 3).fit(dissimilarities(X))
    with workers() as pool:
        start = np.random.default_rng(0).normal(0, np.sqrt(0.1), (len(y), 2))
        plain = conjugate_gradients(DenseSNE(P, pool), start, 200).Y
    steps = 10 + 19 * 10  # 10 conjugate-gradient steps in each of 20 annealing steps
    options = {"variant": "published", "n_steps": steps, "random_state": 0}
    clusters = MbedClassifier(3, **options).fit(X)
    classes = MbedClassifier(**options).fit(X, seen)
    renamed = best_names(clusters.transduction_, y)
    wrong = int(np.sum(renamed != y)), int(np.sum((classes.transduction_ != y)[hidden]))
    kept = clusters.path_.best + 2, classes.path_.best + 2  # the radius is step 1 in the paper
    say(f"{len(y)} images. Clusters: {wrong[0]} in the wrong one, step {kept[0]} kept; 50 labels: "
        f"{wrong[1]} of the {hidden.sum()} others wrong, step {kept[1]} kept")  # fmt: skip
    plane = picture_plane(classes.embedding_, classes.directions_, y)
    own = picture_plane(clusters.embedding_, clusters.directions_, y)
    top = [
        ("SNE", plain, None),
        (f"Mbed, clusters (step {kept[0]})", clusters.embedding_ @ own, None),
    ]
    top += [(f"Mbed, 50 labels (step {kept[1]})", classes.embedding_ @ plane, labeled)]
    rest = [(f"step {n}", classes.path_.steps[n - 2].Y @ plane, labeled) for n in (2, 5, 13, 17)]
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(3, 2))
    for part, panels in ((above, top), (below, rest)):
        for axes, (title, points, marked) in zip(part.subplots(1, len(panels)), panels):
            for k, color in enumerate(("#0072b2", "#d55e00", "#009e73")):
                axes.scatter(*points[y == k].T, s=4, color=color, label="248"[k])
                if marked is not None:
                    rows = marked[y[marked] == k]
                    axes.scatter(*points[rows].T, s=26, color=color, edgecolors="black")
            axes.set_title(title, fontsize=9)
            axes.set_xticks([])
            axes.set_yticks([])
    above.axes[0].legend(frameon=False, markerscale=3, loc="best")
    figure.savefig(path, dpi=90)


def best_names(found, y):
    """Clusters with the names under which most rows agree."""
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((3, 3))
    np.add.at(table, (found, y), 1)
    return linear_sum_assignment(-table)[1][found]


# ---------------------------------------------------------------- large n


def large(sizes, n_steps, on_graph, n_labels):
    data = load("mnist")
    for size in [int(s) for s in sizes] or [20_000]:
        rng = np.random.default_rng(0)
        rows = rng.choice(60_000, size, replace=False)
        X, y = np.asarray(data.X[rows], np.float32), data.y[rows]
        labeled = np.concatenate(
            [rng.choice(np.flatnonzero(y == k), n_labels // 10, replace=False) for k in range(10)]
        )
        seen, hidden = hide(y, labeled)
        wall, cpu = time.perf_counter(), time.process_time()
        if on_graph:
            model = fit_on_graph(X, labeled, y[labeled], n_steps)
        else:
            model = MbedClassifier(random_state=0, n_steps=n_steps).fit(X, seen)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        nearest = KNeighborsClassifier(1).fit(X[labeled], y[labeled])
        steps = [(s.Y @ model.directions_.T).argmax(axis=1) for s in model.path_.steps]
        steps = [round(100 * float(np.mean(codes[hidden] != y[hidden])), 2) for codes in steps]
        say(
            f"MNIST {size} rows, {n_labels} labels{', invariant graph' * on_graph}: error "
            f"{100 * np.mean(model.transduction_[hidden] != y[hidden]):.2f} %, 1-NN "
            f"{100 * np.mean(nearest.predict(X[hidden]) != y[hidden]):.2f} %; {wall:.0f} s wall, "
            f"{cpu:.0f} s CPU, peak {peak:.2f} GiB, {model.path_.n_gradients} gradients"
        )
        say(f"  error by annealing step {steps}, kept {model.path_.best}, label walk "
            f"{start_error(model, y, hidden):.2f}")  # fmt: skip
        if not on_graph:
            place_fresh(model, nearest, data)


def fit_on_graph(X, labeled, targets, n_steps):
    """The headline's graph (config/headline.yaml), then Mbed on it, as the workflow does."""
    graph = build_graph(
        X / 255, n_neighbors=6, canonicalize=["deskew"], metric="deformation",
        metric_options={"fine": {"displacement": 2, "window": 5}}, candidates=100,
        method="approximate", weights="relative", symmetrize="mean", image_shape=[28, 28],
    )  # fmt: skip
    inputs = Inputs(X=X, graph=graph)
    settings = {"n_steps": n_steps}
    draw = {"n_classes": 10, "seed": 0, "settings": settings}
    return fit_draw("mbed", inputs, labeled, targets, **draw).model


def place_fresh(model, nearest, data):
    fresh, y = np.asarray(data.X[60_000:62_000], np.float32), data.y[60_000:62_000]
    start = time.perf_counter()
    wrong = np.mean(model.predict(fresh) != y)
    say(
        f"  2000 new rows placed in {time.perf_counter() - start:.1f} s: error "
        f"{100 * wrong:.2f} %, 1-NN {100 * np.mean(nearest.predict(fresh) != y):.2f} %"
    )


# ---------------------------------------------------------------- better optima


def laplacian_preconditioner(P):
    """Inverse curvature of the attraction, ``2 L`` with L the Laplacian of P + P^T, damped."""
    S = np.add(P, P.T, dtype=np.float64)
    strength = S.sum(axis=1)
    factor = cho_factor(2 * (np.diag(strength) - S) + 0.2 * strength.mean() * np.eye(len(S)))
    return lambda gradient: cho_solve(factor, gradient)


def starts(names, n_steps, n_draws):
    """What lowers the cost or raises J, on the two sets that the defaults were chosen on."""
    for name in names or ["digits", "semeion"]:
        data = load(name)
        K, D = len(np.unique(data.y)), dissimilarities(data.X)
        rules = {"global": GlobalNeighborhoods(1 / K), "diffused": DiffusedNeighborhoods(5, 0.97)}
        for rule, neighborhoods in rules.items():
            P = neighborhoods.fit(D)
            found = {}
            for labeled in splits_of(data, 5, n_draws):
                for way, figures in one_draw(P, data.y, K, labeled, n_steps).items():
                    found.setdefault(way, []).append(figures)
            for way, figures in found.items():
                cost, J, error = np.mean(figures, axis=0)
                say(f"{name} {rule} {way}: last cost {cost:.3f}, J {J:.1f}, error {error:.1f} %")


def one_draw(P, y, K, labeled, n_steps):
    n = len(P)
    problem = Problem(n, K, K, labeled, np.eye(K)[y[labeled]])
    spectral = turn_to_labels(
        spectral_coordinates(P, K), problem.directions, labeled, problem.targets
    )
    rng = np.random.default_rng(0)
    walks = start_from_labels(P, problem.directions, labeled, problem.targets, 0.97, rng)
    scale = laplacian_preconditioner(P)
    _, hidden = hide(y, labeled)
    with workers() as pool:
        sne = DenseSNE(P, pool)

        def run(seed=0, **options):
            path = anneal(sne, problem, np.random.default_rng(seed), n_total=n_steps, **options)
            kept = path.kept
            codes = (kept.Y @ problem.directions.T).argmax(axis=1)
            error = 100 * np.mean(codes[hidden] != y[hidden])
            return path.steps[-1].cost, kept.criterion, error

        restarts = [run(seed) for seed in range(5)]
        return {
            "random": restarts[0],
            "random, largest J of 5": max(restarts, key=lambda r: r[1]),
            "random, least cost of 5": min(restarts),
            "random, preconditioned": run(precondition=scale),
            "spectral": run(start=spectral),
            "labels": run(start=walks),
            "labels, preconditioned": run(start=walks, precondition=scale),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--variant", default="default")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--labels", type=int, default=1000)
    args = parser.parse_args()
    {
        "errors": lambda: errors(args.names, args.variant, args.splits, args.steps),
        "clusters": lambda: clusters(args.names, args.steps),
        "heldout": heldout,
        "figures": lambda: figures((args.names or ["docs/images/reproduction_mbed.png"])[0]),
        "large": lambda: large(args.names, args.steps, args.graph, args.labels),
        "starts": lambda: starts(args.names, args.steps, args.splits),
        "budgets": lambda: budgets(args.names, args.steps, args.splits),
        "choose": lambda: choose(args.names, args.splits),
    }[args.part]()


if __name__ == "__main__":
    main()
