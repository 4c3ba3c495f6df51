"""Figures of [invariance-2006] beside the table of `fewfold reproduce invariance`.

    python benchmarks/invariance.py times [--subsets 3]
    python benchmarks/invariance.py shelf [--subsets 3]
    python benchmarks/invariance.py ten-class [--solver lowrank | plain] [--folds 0]
    python benchmarks/invariance.py kernel-stage

FEWFOLD_MIRROR, or a download, gives the USPS digits. Settings are chosen by cross-validation on
each training subset; test labels are read to count errors only.
"""

from __future__ import annotations

import argparse
import resource
import time
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
from sklearn.svm import SVC

from fewfold import InvariantSVC
from fewfold.datasets import load
from fewfold.methods.invariance import baselines as baselines_module
from fewfold.methods.invariance import estimator as estimator_module
from fewfold.methods.invariance import samples as samples_module
from fewfold.methods.invariance.baselines import AllVirtualSVC, VirtualSupportVectorSVC
from fewfold.methods.invariance.blocks import BlockSystem
from fewfold.methods.invariance.deformed import BaseKernel
from fewfold.methods.invariance.selection import PENALTIES, WIDTHS
from fewfold.svm.folds import stratified_folds
from fewfold.svm.kernels import median_gamma
from fewfold.transforms import virtual_samples
from fewfold.transforms.rotated import rotated_images

SHAPE = (16, 16)


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


def machines():
    """Return the machines that know the turns, all with 5 folds over the same widths and C."""
    return {
        "Graph SVM": InvariantSVC(image_shape=SHAPE, cv=5),
        "Graph SVM, one gamma": InvariantSVC(image_shape=SHAPE, cv=5, deformation=100.0),
        "VSV SVM": VirtualSupportVectorSVC(image_shape=SHAPE, cv=5),
        "all virtual": AllVirtualSVC(image_shape=SHAPE, cv=5),
    }


# Where the time of a fit goes: functions whose CPU time, with all that they call, is the part's.
PARTS = {
    "copies": [(samples_module, "virtual_samples")],
    "kernel": [
        (BaseKernel, "__call__"),
        (baselines_module._Kernel, "_values"),
        (baselines_module._Kernel, "among_samples"),
    ],
    "factor": [(BlockSystem, "correction"), (BlockSystem, "coefficients")],
    "QP": [(SVC, "fit"), (SVC, "predict")],
}


@contextmanager
def clocks():
    """Give the CPU seconds spent in each part, counted while the context lasts."""
    spent = dict.fromkeys(PARTS, 0.0)

    def clocked(function, part):
        def call(*arguments, **options):
            start = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                spent[part] += time.process_time() - start

        return call

    with ExitStack() as stack:
        for part, places in PARTS.items():
            for owner, name in places:
                wrapped = clocked(getattr(owner, name), part)
                stack.enter_context(mock.patch.object(owner, name, wrapped))
        yield spent


def fit_costs(model, X, y) -> dict:
    """Fit a model and return CPU seconds: of the parts, of the rest, and in all."""
    with clocks() as costs:
        start = time.process_time()
        model.fit(X, y)
        whole = time.process_time() - start
    return {**costs, "rest": whole - sum(costs.values()), "all": whole}


class Shelf:
    """Virtual samples given to scikit-learn's SVC as it comes: it computes its kernels itself.

    With ``first`` the copies are those of the support vectors of a first machine.
    """

    def __init__(self, first):
        self.first = first

    def fit(self, X, y):
        """Choose width and C by the same 5 folds as the others, and fit."""
        copies = virtual_samples(X, SHAPE, "rotation")
        width = median_gamma(copies.reshape(-1, X.shape[1]))
        grid = [{"gamma": f * width, "C": C} for f in WIDTHS for C in PENALTIES]
        folds = stratified_folds(y, 0, 5)
        errors = [
            np.mean(
                [np.mean(self._train(X, copies, y, a, g).predict(X[b]) != y[b]) for a, b in folds]
            )
            for g in grid
        ]
        best = grid[int(np.argmin(errors))]
        self.machine = self._train(X, copies, y, np.arange(len(y)), best)
        return self

    def _train(self, X, copies, y, rows, options):
        if self.first:
            rows = rows[SVC(cache_size=1000, **options).fit(X[rows], y[rows]).support_]
        virtual = copies[rows].reshape(-1, X.shape[1])
        labels = np.repeat(y[rows], copies.shape[1])
        return SVC(cache_size=1000, **options).fit(virtual, labels)


def contests(what, by_quarters):
    """Return what is compared: a heading, how sectors are found, and the machines."""
    if what == "times":
        return [
            ("quarter turns used", by_quarters, machines()),
            ("not used", lambda *_: 1, machines()),
        ]
    graph = {"Graph SVM": machines()["Graph SVM"]}
    shelf = {"VSV SVM": Shelf(first=True), "all virtual": Shelf(first=False)}
    return [("quarter turns used", by_quarters, graph), ("SVC as it comes", by_quarters, shelf)]


def times(what, n_subsets, seed=0):
    """Print where CPU time goes: with and without the turns' symmetry, or of SVC as it comes."""
    _, turned, digit, training, _ = digits(seed)
    y = (digit >= 5).astype(int)
    order = np.random.default_rng(seed).permutation(training)
    # The first use compiles the resampling: not part of any machine's time.
    InvariantSVC(image_shape=SHAPE, cv=None).fit(turned[order[:20]], y[order[:20]])
    found = {}
    for subset in range(n_subsets):
        rows = order[200 * subset : 200 * (subset + 1)]
        for kind, symmetry, models in contests(what, estimator_module.ring_symmetry):
            with (
                mock.patch.object(estimator_module, "ring_symmetry", symmetry),
                mock.patch.object(baselines_module, "ring_symmetry", symmetry),
            ):
                for name, model in models.items():
                    costs = fit_costs(model, turned[rows], y[rows])
                    found.setdefault((kind, name), []).append(costs)
    show_times(found, n_subsets)


def show_times(found, n_subsets):
    """Print the table: CPU seconds of the parts, and the whole over that of Graph SVM."""
    names = [*PARTS, "rest", "all"]
    print(f"CPU s per subset of 200, model selection included, mean of {n_subsets} subsets")
    print(f"{'':18s} {'':20s}" + "".join(f"{n:>8s}" for n in names) + "  over Graph SVM")
    for (kind, name), costs in found.items():
        mean = {n: np.mean([c[n] for c in costs]) for n in names}
        # SVC as it comes has no Graph SVM of its own kind: the default one is its measure.
        graph = found.get((kind, "Graph SVM")) or found["quarter turns used", "Graph SVM"]
        ratio = mean["all"] / np.mean([c["all"] for c in graph])
        values = "".join(f"{mean[n]:8.2f}" for n in names)
        print(f"{kind:18s} {name:20s}{values} {ratio:8.2f}")


def ten_class(solver, folds, n_train=1000, seed=0):
    """Print error, time and peak memory of ten classes from 1000 digits of 24 copies."""
    _, turned, digit, training, test = digits(seed)
    rows = np.random.default_rng(seed).permutation(training)[:n_train]
    start = time.process_time()
    if solver == "plain":
        model = plain_svm(turned[rows], digit[rows])
    else:
        model = InvariantSVC(image_shape=SHAPE, cv=folds or None, solver=solver)
        model.fit(turned[rows], digit[rows])
    fit_s = time.process_time() - start
    error = 100 * np.mean(model.predict(turned[test]) != digit[test])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    chosen = "" if solver == "plain" else f", {model.n_nodes_} nodes, {model.choice_}"
    print(
        f"10 classes, {n_train} digits, {solver}: error {error:.2f} %, fit {fit_s:.1f} s CPU, "
        f"peak memory {peak:.2f} GiB{chosen}"
    )


def kernel_stage(n_labels=100, n_trials=5, seed=0):
    """Print errors of the kernel stage on all USPS digits as they are, plain and deformed."""
    from fewfold.graph.build import build_graph
    from fewfold.methods.invariance.kernel_stage import DeformedKernel
    from fewfold.pipeline.stage_files import Features

    straight, _, digit, _, _ = digits(seed)
    features = Features(straight, None, None, None, SHAPE, None)
    rng = np.random.default_rng(seed)
    draws = [rng.permutation(len(straight))[:n_labels] for _ in range(n_trials)]
    wanted = np.unique(draws)
    graph = build_graph(straight, n_neighbors=10)
    for strength, landmarks in ((0.0, None), (1000.0, None), (1000.0, 3000)):
        start = time.process_time()
        kernel = DeformedKernel(
            features, {"graph": graph}, {"deformation": strength, "n_landmarks": landmarks or 1}
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
    parser.add_argument("what", choices=["times", "shelf", "ten-class", "kernel-stage"])
    parser.add_argument("--subsets", type=int, default=3)
    parser.add_argument("--solver", choices=["auto", "lowrank", "plain"], default="auto")
    parser.add_argument("--folds", type=int, default=5, help="ten-class: 0 takes the defaults")
    arguments = parser.parse_args()
    if arguments.what in ("times", "shelf"):
        times(arguments.what, arguments.subsets)
    elif arguments.what == "ten-class":
        ten_class(arguments.solver, arguments.folds)
    else:
        kernel_stage()


if __name__ == "__main__":
    main()
