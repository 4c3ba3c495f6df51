"""What the atlas costs, and the largest training set. Errors: config/reproduce/atlas.yaml.

    FEWFOLD_MIRROR=... python benchmarks/atlas.py fit usps|mnist [--one]
    FEWFOLD_MIRROR=... python benchmarks/atlas.py scaling
    FEWFOLD_MIRROR=... python benchmarks/atlas.py full usps|letter|semeion [--methods rbf svm_rbf]
    python benchmarks/atlas.py all-labels results/reproduce/atlas/results/mnist [--kernel rbf]
    python benchmarks/atlas.py plane docs/images/atlas-plane.png
    FEWFOLD_MIRROR=... python benchmarks/atlas.py errors

``fit``: the default of two atlases, or one as in the paper, from raw features to charts.
``scaling``: MNIST in parts, stage by stage, beside a dense RBF kernel matrix of the same rows.
``full``: all training labels of the smaller sets.
``all-labels``: the 60 000 training labels of MNIST on the atlas of a finished run.
"""

import argparse
import resource
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fewfold.datasets import load
from fewfold.methods.atlas import fitting
from fewfold.methods.atlas.arrays import charts_of
from fewfold.methods.atlas.charts import cheapest, reconstruction_errors
from fewfold.methods.atlas.description import describe_charts
from fewfold.methods.atlas.encoding import encode, take_rows
from fewfold.methods.atlas.estimator import AtlasSVC
from fewfold.methods.atlas.fitting import fit_atlas
from fewfold.methods.atlas.kernels import atlas_kernel_rows, kernel_scales
from fewfold.methods.atlas.space import reduce_space, to_reduced
from fewfold.methods.baselines.feature_svm import FeatureSVC

SIZES = (10_000, 20_000, 40_000, 70_000)
FULL = ("svm_linear", "linear", "linear_hard", "quad", "quadcross", "svm_rbf", "rbf", "rbf_hard",
        "nearest")  # fmt: skip


def show(*values):
    print(*values, flush=True)


def peak_gib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Clock:
    """Wall and CPU seconds of named steps."""

    def __init__(self):
        self.wall, self.cpu = {}, {}

    @contextmanager
    def __call__(self, name):
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
        self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu

    @contextmanager
    def around(self, module, *functions):
        """Time functions of a module under their own names while inside."""
        kept = {name: getattr(module, name) for name in functions}

        def timed(name):
            def run(*args, **kwargs):
                with self(name):
                    return kept[name](*args, **kwargs)

            return run

        for name in functions:
            setattr(module, name, timed(name))
        try:
            yield
        finally:
            for name, function in kept.items():
                setattr(module, name, function)


def pixels(name):
    data = load(name)
    X = data.X.astype(np.float32)
    return (X / 255 if name == "mnist" else X), data.y


def run_fit(args):
    X, y = pixels(args.what)
    settings = {"n_dims": 30, "mdl": 1000.0} if args.what == "mnist" else {}
    clock = Clock()
    with clock("fit"):
        atlas = fit_atlas(X, settings | ({"finer": None} if args.one else {}))
    about = describe_charts(atlas, y)
    finer = f" and {len(atlas['finer_means'])}" if "finer_means" in atlas else ""
    show(
        f"{args.what}, {'one atlas' if args.one else 'two atlases'}: {clock.cpu['fit']:.1f} s CPU "
        f"({clock.cpu['fit'] / 2:.1f} s on two cores), {clock.wall['fit']:.1f} s wall, peak "
        f"{peak_gib():.1f} GiB; {len(about['size'])}{finer} charts of dimension "
        f"{atlas['directions'].shape[1]}, median purity {100 * np.median(about['purity']):.1f}"
        f" %, {100 * about['impure']:.1f} % of points not of their chart's main class, "
        f"{100 * about['overlap']:.0f} % in several charts"
    )


def run_scaling(args):
    """CPU seconds of each step; its growth as a power of n, fitted to all sizes."""
    X, _ = pixels("mnist")
    Z = to_reduced(X, *reduce_space(X, 150), np.float32)
    order = np.random.default_rng(0).permutation(len(Z))
    found = {}
    for n in args.sizes:
        clock, rows = Clock(), order[:n]
        part = np.ascontiguousarray(Z[rows])
        with clock.around(fitting, "assign_points", "reconstruction_errors", "propose_charts"):
            with clock("whole atlas"):
                atlas = fit_atlas(part, {"n_dims": 30, "finer": None})
        memory = peak_gib()
        with clock("encoding"):
            code = encode(part, atlas)
        gamma, sigma = kernel_scales(code, len(atlas["means"]))
        tile = take_rows(code, np.arange(1000))
        atlas_kernel_rows(take_rows(tile, np.arange(2)), tile, gamma, sigma)  # compiled by now
        with clock("1000 kernel rows"):
            K = atlas_kernel_rows(tile, code, gamma, sigma)
        raw = np.ascontiguousarray(X[rows])
        for label, features in (("same, dense RBF, 784 features", raw), ("same, 150", part)):
            with clock(label):
                dense_rbf(features[:1000], features, sigma)
        steps = ", ".join(f"{name} {seconds:.2f}" for name, seconds in clock.cpu.items())
        show(
            f"n = {n}: {len(atlas['means'])} charts, density of the kernel {np.mean(K > 0):.2f}, "
            f"peak of the atlas {memory:.1f} GiB; CPU s: {steps}"
        )
        for name, seconds in clock.cpu.items():
            found.setdefault(name, []).append(seconds)
    logs = np.log(args.sizes)
    for name, seconds in found.items():
        power = np.polyfit(logs, np.log(seconds), 1)[0] if len(args.sizes) > 1 else np.nan
        extra = (
            " (rows fixed: 1 more for the whole matrix)" if "1000" in name or "same" in name else ""
        )
        show(f"{name}: grows as n^{power:.2f}{extra}")


def dense_rbf(A, B, sigma):
    """RBF kernel by one matrix product: what a dense method computes."""
    K = A @ B.T
    K *= 2
    K -= np.einsum("nd,nd->n", A, A)[:, None]
    K -= np.einsum("nd,nd->n", B, B)
    K /= np.float32(sigma**2)
    return np.exp(np.minimum(K, 0, out=K), out=K)


def run_all_labels(args):
    """Train on every training row of a finished run; sub-kernels one pair at a time."""
    from fewfold.pipeline.chain_files import load_inputs

    folder = args.folder
    files = {name: folder / f"{name}.h5" for name in ("features", "labels")}
    files["manifold"] = folder / f"manifolds/{args.manifold}.h5"
    files["points"] = folder / f"manifolds/{args.manifold}.points.h5"
    inputs, truth = load_inputs(files)
    code, atlas = inputs.manifold.points, inputs.manifold.arrays
    if args.one:
        code = {k: v for k, v in code.items() if not k.startswith("finer_")}
        atlas = {k: v for k, v in atlas.items() if not k.startswith("finer_")}
    train = np.flatnonzero(~truth.test_mask)
    test = np.flatnonzero(truth.test_mask)
    if args.labels:
        train = np.random.default_rng(0).permutation(train)[: args.labels]
    model = AtlasSVC(kernel=args.kernel, solver=args.solver, assignment=args.assignment)
    model.atlas_ = atlas
    clock = Clock()
    with clock("train"):
        model.fit_code(code, train, truth.y[train])
    with clock("predict"):
        shares = model.shares(take_rows(code, test))
    error = 100 * np.mean(shares.argmax(axis=1) != truth.y[test])
    show(
        f"{args.kernel} {args.assignment}, {'one atlas' if args.one else 'two atlases'}, "
        f"{len(train)} labels: error {error:.2f} % on {len(test)} test rows; training "
        f"{clock.cpu['train']:.0f} s CPU, prediction {clock.cpu['predict']:.0f} s CPU, peak "
        f"{peak_gib():.1f} GiB"
    )


def run_full(args):
    """Errors with full labels: own split, or random halves; atlas of all rows, defaults only."""
    data = load(args.what)
    X, y = np.asarray(data.X, np.float64), np.unique(data.y, return_inverse=True)[1]
    atlas = fit_atlas(X)
    code = encode(X, atlas, rows=np.arange(len(X)))
    found = {name: [] for name in args.methods}
    for split in range(args.splits if data.test_mask is None else 1):
        order = np.random.default_rng(split).permutation(len(X))
        train, test = order[: len(X) // 2], order[len(X) // 2 :]
        if data.test_mask is not None:
            train, test = np.flatnonzero(~data.test_mask), np.flatnonzero(data.test_mask)
        for name in args.methods:
            labels = full_labels(name, X, y, atlas, code, train, test)
            found[name].append(100 * np.mean(labels != y[test]))
    for name, errors in found.items():
        spread = f" ± {np.std(errors, ddof=1):.2f} ({len(errors)} splits)" if errors[1:] else ""
        show(f"{args.what}, {len(train)} labels, {name}: {np.mean(errors):.2f} %{spread}")


def full_labels(name, X, y, atlas, code, train, test):
    if name.startswith("svm_"):  # C and gamma by cross-validation on 2000 of the labeled rows
        known = np.full(len(y), -1)
        known[train] = y[train]
        return FeatureSVC(name[4:], choose_rows=2000).fit(X, known).transduction_[test]
    kernel, _, assignment = name.partition("_")
    model = AtlasSVC(kernel=kernel, assignment=assignment or "soft")
    model.atlas_ = atlas
    model.fit_code(code, train, y[train])
    return model.shares(take_rows(code, test)).argmax(axis=1)


def run_plane(args):
    from plane_atlas import plane_figure

    args.file.parent.mkdir(parents=True, exist_ok=True)
    plane_figure().savefig(args.file, dpi=72)
    show(f"written: {args.file}")


def run_errors(args):
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)

    def command(name, function):
        added = commands.add_parser(name)
        added.set_defaults(function=function)
        return added

    fit = command("fit", run_fit)
    fit.add_argument("what", choices=["usps", "mnist"])
    fit.add_argument("--one", action="store_true", help="one atlas, as in the paper")
    scaling = command("scaling", run_scaling)
    scaling.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    full = command("full", run_full)
    full.add_argument("what", choices=["usps", "letter", "semeion"])
    full.add_argument("--splits", type=int, default=10, help="of data without a split of its own")
    full.add_argument("--methods", nargs="+", default=FULL, choices=FULL)
    every = command("all-labels", run_all_labels)
    every.add_argument("folder", type=Path, help="results/mnist of a finished run")
    every.add_argument("--manifold", default="charts_mnist")
    every.add_argument("--kernel", default="rbf", choices=["rbf", "linear", "quad", "quadcross"])
    every.add_argument("--assignment", default="soft", choices=["soft", "hard"])
    every.add_argument("--solver", default="auto", choices=["auto", "sgd", "batch"])
    every.add_argument("--one", action="store_true", help="leave the finer atlas out")
    every.add_argument("--labels", type=int, help="fewer training rows, at random")
    command("plane", run_plane).add_argument("file", type=Path)
    command("errors", run_errors)
    args = parser.parse_args()
    args.function(args)


if __name__ == "__main__":
    main()
