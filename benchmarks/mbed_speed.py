"""Print the figures of docs/notes/mbed.md that are about the gradient.

FEWFOLD_MIRROR=... python benchmarks/mbed_speed.py speed [550] [2000] [uspst] [--seeds 3]
                                                       against plain NumPy and SciPy's CG
python benchmarks/mbed_speed.py sampled                sampled gradient against the exact one
python benchmarks/mbed_speed.py precision              float32 against float64
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from mbed import hide, say, splits_of
from mbed_reference import mbed_cost, sne_term
from scipy.optimize import minimize

from fewfold import MbedClassifier
from fewfold.datasets import load
from fewfold.datasets.synthetic import gaussians_g50c
from fewfold.methods.mbed.annealing import (
    Problem,
    anneal,
    confidence,
    lambda_schedule,
    radius_of,
    soften,
)
from fewfold.methods.mbed.cost import class_terms
from fewfold.methods.mbed.gradient import DenseSNE, workers
from fewfold.methods.mbed.neighborhoods import GlobalNeighborhoods, SparseNeighborhoods
from fewfold.methods.mbed.sampled import SampledSNE
from fewfold.methods.mbed.similarities import dissimilarities
from fewfold.methods.mbed.starts import start_from_labels


def plain_sne(Y, P, constant):
    """The gradient as one would write it first: float64, whole matrices."""
    norms = (Y**2).sum(axis=1)
    D = norms[:, None] + norms - 2 * Y @ Y.T
    E = np.exp(-D)
    np.fill_diagonal(E, 0)
    Z = E.sum(axis=1)
    value = constant + (P * D).sum() + np.log(Z).sum()
    R = P - E / Z[:, None]
    R = R + R.T
    return value, 2 * (R.sum(axis=1)[:, None] * Y - R @ Y)


class _Enough(Exception):
    pass


def scipy_run(P, problem, radius, Y, n_annealing, budgets):
    """SciPy's CG over the same schedule, each step stopped at the given number of gradients."""
    positive = P[P > 0]
    constant = float((positive * np.log(positive)).sum())
    for lam, budget in zip(lambda_schedule(radius, n_annealing - 1), budgets):
        targets = soften(problem.targets, confidence(lam, radius, problem.n_classes))
        best = [np.inf, Y]
        count = [0]

        def cost(flat, lam=lam, targets=targets, best=best, count=count, budget=budget):
            if count[0] == budget:
                raise _Enough
            count[0] += 1
            y = flat.reshape(problem.n, -1)
            value, gradient = plain_sne(y, P, constant)
            more, more_gradient = class_terms(y, problem.directions, lam, problem.labeled, targets)
            if value + more < best[0]:
                best[:] = value + more, y.copy()
            return value + more, (gradient + more_gradient).ravel()

        try:
            minimize(cost, Y.ravel(), jac=True, method="CG", options={"gtol": 0, "maxiter": 10**6})
        except _Enough:
            pass
        Y = best[1]
    return Y


def points(name):
    """Return X, y: g50c for 550, as many rows of its distribution for a number, else a dataset."""
    if not name.isdigit() or name == "550":
        data = load("g50c" if name == "550" else name)
        return data.X[:2000], data.y[:2000]
    return gaussians_g50c(int(name), np.random.default_rng(0))[:2]


def speed(names, n_steps, n_seeds):
    """Time and final cost of both from the same starts; costs are averaged over seeds.

    With ten classes (uspst) the cost has many optima: even float32 and float64 gradients under
    the same line search end up to 3 % apart from one start. With two classes there is one.
    """
    for name in names or ["550", "2000"]:
        X, y = points(name)
        size, K = len(X), len(np.unique(y))
        labeled = np.random.default_rng(0).choice(size, 50, replace=False)
        problem = Problem(size, K, K, labeled, np.eye(K)[y[labeled]])
        P = GlobalNeighborhoods(1 / K).fit(dissimilarities(X))
        found = [race(P, problem, seed, n_steps) for seed in range(n_seeds)]
        (ours, ours_cpu, theirs, theirs_cpu, cost, their_cost) = np.mean(found, axis=0)
        say(
            f"{name}, n={size}, d={K}, {n_seeds} start(s): fewfold {ours:.2f} s wall "
            f"({ours_cpu:.2f} s CPU), NumPy float64 + SciPy CG {theirs:.2f} s ({theirs_cpu:.2f}): "
            f"{theirs / ours:.1f} times faster by wall, {theirs_cpu / ours_cpu:.1f} by CPU; mean "
            f"final cost {cost:.4f} against {their_cost:.4f} "
            f"({100 * (cost / their_cost - 1):+.2f} %)"
        )


def race(P, problem, seed, n_steps):
    """One run of either from the default start; (wall, CPU) of ours and theirs, final costs."""
    n, K = problem.n, problem.n_classes
    rng = np.random.default_rng(seed)
    walks = start_from_labels(P, problem.directions, problem.labeled, problem.targets, 0.97, rng)
    with workers() as pool:
        sne = DenseSNE(P, pool)
        anneal(sne, problem, rng, n_total=30)  # first touch of buffers, compiled code
        wall, cpu = time.perf_counter(), time.process_time()
        path = anneal(sne, problem, rng, n_total=n_steps, start=walks)
        ours, ours_cpu = time.perf_counter() - wall, time.process_time() - cpu
    P64 = P.astype(np.float64)
    P64 /= P64.sum(axis=1, keepdims=True)
    start = walks * (np.sqrt(1e-3 * path.radius) / radius_of(walks))
    budgets = [step.n_gradients for step in path.steps]
    wall, cpu = time.perf_counter(), time.process_time()
    Y = scipy_run(P64, problem, path.radius, start, 20, budgets)
    theirs, theirs_cpu = time.perf_counter() - wall, time.process_time() - cpu
    last = path.steps[-1]
    targets = soften(problem.targets, last.confidence)
    rest = (problem.directions, last.lam, problem.labeled, targets)
    costs = [mbed_cost(np.float64(y), P64, *rest)[0] for y in (last.Y, Y)]
    say(
        f"  n={n}, d={K}, start {seed}: {path.n_gradients} gradients, {theirs / ours:.1f} times "
        f"faster by wall, {theirs_cpu / ours_cpu:.1f} by CPU, cost {costs[0]:.4f} against "
        f"{costs[1]:.4f}"
    )
    return ours, ours_cpu, theirs, theirs_cpu, *costs


def sampled():
    data = load("digits")
    P = SparseNeighborhoods(30, 5.0).fit(data.X.astype(np.float32))
    seen, _ = hide(data.y, splits_of(data, 5, 1)[0])
    model = MbedClassifier(similarity="sparse", random_state=0, n_steps=200).fit(data.X, seen)
    dense = P.toarray().astype(np.float64)
    with workers() as pool:
        for number in (0, 9, 18):
            Y = model.path_.steps[number].Y.astype(np.float64)
            exact = sne_term(Y, dense)
            for size in (200, 500, 1000):
                value, gradient = SampledSNE(P, pool, size, np.random.default_rng(0))(Y)
                cosine = np.vdot(exact[1], gradient)
                cosine /= np.linalg.norm(exact[1]) * np.linalg.norm(gradient)
                say(
                    f"digits, step {number}, {size} of {len(Y)} columns: value "
                    f"{100 * (value / exact[0] - 1):+.2f} %, cosine of gradients {cosine:.4f}"
                )


def precision():
    for name in ("g50c", "digits"):
        data = load(name)
        K = len(np.unique(data.y))
        P = GlobalNeighborhoods(1 / K).fit(dissimilarities(data.X))
        rng = np.random.default_rng(0)
        with workers() as pool:
            sne = DenseSNE(P, pool)
            for scale in (0.01, 0.1, 0.3, 1.0):
                Y = rng.normal(0, scale, (len(P), K))
                value, gradient = sne(Y)
                exact, exact_gradient = sne_term(Y, P.astype(np.float64))
                off = np.abs(gradient - exact_gradient).max() / np.abs(exact_gradient).max()
                say(
                    f"{name} scale {scale}: value off by {abs(value - exact) / len(P):.1e} a "
                    f"point, gradient by {off:.1e} of its largest entry"
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["speed", "sampled", "precision"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    {
        "speed": lambda: speed(args.names, args.steps, args.seeds),
        "sampled": sampled,
        "precision": precision,
    }[args.part]()


if __name__ == "__main__":
    main()
