"""Figures of the atlas on real data, each beside its rivals of the same run.

    FEWFOLD_MIRROR=... python benchmarks/atlas.py mnist [--draws 20] [--labels 100 600 1000]
    FEWFOLD_MIRROR=... python benchmarks/atlas.py usps|letter|semeion [--splits 20]
    FEWFOLD_MIRROR=... python benchmarks/atlas.py scaling

Atlas methods use the library's defaults, which no label of a test row touches; MNIST's charts have
30 dimensions, as in the paper. The RBF and linear machines choose gamma and C by cross-validation
on the labelled rows. MNIST: one atlas of all 70 000 images, error on the 10 000 test images.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from fewfold.atlas import AtlasSVC, encode, fit_atlas
from fewfold.atlas.charts import cheapest, reconstruction_errors
from fewfold.atlas.description import describe_charts
from fewfold.atlas.encoding import take_rows
from fewfold.atlas.fitting import charts_of, reduce_space, to_reduced
from fewfold.atlas.kernels import atlas_kernel_rows, kernel_scales
from fewfold.datasets import load

ATLAS_METHODS = {
    "AtlasRBF": {"kernel": "rbf"},
    "AtlasRBF hard": {"kernel": "rbf", "assignment": "hard"},
    "AtlasLinear": {"kernel": "linear", "solver": "sgd"},
    "AtlasLinear hard": {"kernel": "linear", "solver": "sgd", "assignment": "hard"},
    "AtlasQuad": {"kernel": "quad", "solver": "sgd"},
    "AtlasQuadCross": {"kernel": "quadcross", "solver": "sgd"},
    "1-NN in the atlas": {"kernel": "nearest"},
}


def show(*values):
    print(*values, flush=True)


def rival_error(name, X, y, train, test):
    """Error of a usual machine; gamma and C by 3 folds of the labelled rows, 3000 at most."""
    gamma = 1 / (X.shape[1] * X.var())
    model, grid = {
        "RBF SVM": (SVC(cache_size=500), {"gamma": gamma * np.array([0.5, 1, 2]), "C": [3, 10]}),
        "linear SVM": (LinearSVC(max_iter=3000), {"C": [0.003, 0.03, 0.3]}),
        "1-NN": (KNeighborsClassifier(1), {}),
    }[name]
    some = np.random.default_rng(0).permutation(train)[:3000]
    found = GridSearchCV(model, grid, cv=3, refit=False).fit(X[some], y[some])
    model.set_params(**found.best_params_).fit(X[train], y[train])
    return 100 * np.mean(model.predict(X[test]) != y[test])


def fit(X, y, settings):
    wall, cpu = time.perf_counter(), time.process_time()
    atlas = fit_atlas(X, settings)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    about = describe_charts(atlas, y)
    show(
        f"atlas of {X.shape[0]} points: {wall:.1f} s wall, {cpu:.1f} s CPU; "
        f"{len(about['size'])} charts of dimension {atlas['directions'].shape[1]}, "
        f"price {atlas['mdl']:.4g}, median size {np.median(about['size']):.0f}, "
        f"median purity {100 * np.median(about['purity']):.1f} %, "
        f"{100 * about['overlap']:.0f} % of points in several charts"
    )
    return atlas, encode(X, atlas, rows=np.arange(X.shape[0]))


def stored(path, X, y, settings):
    if path is None or not path.exists():
        atlas, code = fit(X, y, settings)
        if path is not None:
            np.savez(path, **atlas, **{f"code_{name}": code[name] for name in code})
        return atlas, code
    with np.load(path) as arrays:
        everything = {name: arrays[name] for name in arrays}
    show(f"stored atlas: {len(everything['means'])} charts, price {everything['mdl']:.4g}")
    code = {name[5:]: v for name, v in everything.items() if name.startswith("code_")}
    return {name: v for name, v in everything.items() if not name.startswith("code_")}, code


def atlas_error(method, atlas, code, y, train, test):
    model = AtlasSVC(**ATLAS_METHODS[method])
    model.atlas_ = atlas
    model.fit_code(code, train, y[train])
    return 100 * np.mean(model.shares(take_rows(code, test)).argmax(axis=1) != y[test])


def report(errors):
    for name, values in errors.items():
        show(f"  {name:18s} {np.mean(values):6.2f} % +- {np.std(values):.2f} ({len(values)} runs)")


def draw(y, rows, size, rng):
    """Draw rows at random until every class is among them (as the paper's protocol does)."""
    while True:
        chosen = rng.choice(rows, size, replace=False)
        if len(np.unique(y[chosen])) == len(np.unique(y)):
            return chosen


def run_mnist(args):
    data = load("mnist")
    X, y = data.X.astype(np.float32) / max(float(data.X.max()), 1.0), data.y
    train, test = np.flatnonzero(~data.test_mask), np.flatnonzero(data.test_mask)
    # The price of the paper's Table 2, for pixels in [0, 1].
    atlas, code = stored(args.store, X, y, {"n_dims": 30, "mdl": args.mdl})
    for size in args.labels:
        errors = {}
        for number in range(args.draws):
            rows = draw(y, train, size, np.random.default_rng([0, size, number]))
            for name in ("AtlasRBF", "AtlasLinear"):
                errors.setdefault(name, []).append(atlas_error(name, atlas, code, y, rows, test))
            if number < args.rival_draws:
                error = rival_error("RBF SVM", X, y, rows, test)
                errors.setdefault("RBF SVM", []).append(error)
        show(f"MNIST, {size} labels")
        report(errors)


def run_full(args):
    data = load(args.what)
    X, y = data.X, data.y
    atlas, code = fit(X, y, {})
    if data.test_mask is not None:
        splits = [(np.flatnonzero(~data.test_mask), np.flatnonzero(data.test_mask))]
    else:
        orders = [np.random.default_rng([1, s]).permutation(len(y)) for s in range(args.splits)]
        splits = [(o[: len(y) // 2], o[len(y) // 2 :]) for o in orders]
    errors = {}
    for train, test in splits:
        for name in args.methods or ATLAS_METHODS:
            start = time.process_time()
            errors.setdefault(name, []).append(atlas_error(name, atlas, code, y, train, test))
            if len(splits) == 1:
                show(f"  {name}: {errors[name][-1]:.2f} %, {time.process_time() - start:.0f} s CPU")
        for name in ("RBF SVM", "linear SVM", "1-NN")[: args.rivals]:
            errors.setdefault(name, []).append(rival_error(name, X, y, train, test))
    show(f"{args.what}, all labels")
    report(errors)


def run_scaling(args):
    data = load("mnist")
    X = data.X.astype(np.float32) / 255
    Z = to_reduced(X, *reduce_space(X, 150), np.float32)
    for n in (10_000, 20_000, 40_000, 70_000):
        rows = np.random.default_rng(0).permutation(len(Z))[:n]
        part = Z[rows]
        cpu = time.process_time()
        atlas = fit_atlas(part, {"n_dims": 30})
        fitted = time.process_time()
        code = encode(part, atlas)
        encoded = time.process_time()
        gamma, sigma = kernel_scales(code, len(atlas["means"]))
        tile = take_rows(code, np.arange(1000))
        atlas_kernel_rows(tile, code, gamma, sigma)
        kernel = time.process_time()
        squares = np.einsum("nd,nd->n", part, part)
        np.exp((2 * part[:1000] @ part.T - squares[:1000, None] - squares) / sigma**2)
        dense = time.process_time()
        show(
            f"n = {n}: {len(atlas['means'])} charts; CPU s: atlas {fitted - cpu:.1f}, encoding "
            f"{encoded - fitted:.2f} ({1e9 * (encoded - fitted) / n**1.5:.0f} ns per n^1.5), "
            f"1000 kernel rows {kernel - encoded:.2f}, of a dense RBF kernel {dense - kernel:.2f}"
        )


def check_errors():
    """Largest difference between blocked float32 errors and the definition in float64."""
    X = load("usps").X[:2000]
    atlas = fit_atlas(X.astype(np.float32), {"n_dims": 20})
    charts = charts_of(atlas)
    Z = to_reduced(X, atlas["origin"], atlas["basis"], np.float32)
    fast = reconstruction_errors(Z, charts)
    slow = np.empty(fast.shape)
    for i in range(len(charts)):
        away = Z.astype(np.float64) - charts.means[i]
        inside = away @ charts.directions[i].T.astype(np.float64)
        slow[:, i] = (away**2).sum(axis=1) - (inside**2).sum(axis=1)
    same = np.mean(cheapest(fast, 10) == cheapest(slow, 10))
    show(f"errors: largest gap {np.abs(fast - slow).max():.1e}, same charts {100 * same:.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["mnist", "usps", "letter", "semeion", "scaling", "errors"])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rival-draws", type=int, default=20)
    parser.add_argument("--methods", nargs="+", choices=list(ATLAS_METHODS))
    parser.add_argument("--rivals", type=int, default=3, help="how many rivals, full labels")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 600, 1000])
    parser.add_argument("--mdl", type=float, default=1000.0, help="price of a chart, MNIST")
    parser.add_argument("--store", type=Path, help="keep the atlas of MNIST here, and use it again")
    args = parser.parse_args()
    if args.what == "mnist":
        run_mnist(args)
    elif args.what == "scaling":
        run_scaling(args)
    elif args.what == "errors":
        check_errors()
    else:
        run_full(args)


if __name__ == "__main__":
    main()
