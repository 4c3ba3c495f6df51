"""Print the headline figures: a few labels diffused over invariant graphs.

    FEWFOLD_MIRROR=... python benchmarks/headline.py [mnist] [inductive] [usps] [rotated] [coil20]
                                     [digits] [series] [rate] [scaling] [--trials 10]

Draws are balanced and taken from the training rows; settings are the defaults of
``fewfold.methods.diffusion.estimator.image_graph_settings``, fixed before any test label was
looked at.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from dataclasses import replace

import numpy as np
import peers

from fewfold.datasets import load
from fewfold.exceptions import FewfoldWarning
from fewfold.graph.build import GraphSettings, build_graph, extend_graph
from fewfold.methods.diffusion.estimator import diffuse, extend_labels, image_graph_settings
from fewfold.pipeline.protocol import make_draws
from fewfold.transforms.images import affine

PARTS = ("mnist", "inductive", "usps", "rotated", "coil20", "digits", "series", "rate",
         "scaling")  # fmt: skip


def clock(start):
    return f"{time.perf_counter() - start:.1f} s"


def say(*words):
    print(*words, flush=True)


def build(X, settings, name):
    start, cpu = time.perf_counter(), time.process_time()
    graph = build_graph(X, settings)
    recall = graph.neighbors.recall
    say(
        f"  graph {name}: {len(X)} rows, {clock(start)} wall, "
        f"{time.process_time() - cpu:.1f} s CPU, {graph.n_components} component(s)"
        + ("" if recall is None else f", candidates' recall {recall:.3f}"),
    )
    return graph


def diffused(W, y, **options):
    """Return a function (labeled rows) -> labels of all rows, -1 where no label reaches."""
    n_classes = int(y.max()) + 1

    def label(labeled):
        proba, scores = diffuse(W, labeled, y[labeled], n_classes, **options)
        return np.where(scores.is_reached, proba.argmax(axis=1), -1)

    return label


def report(title, budgets, table, seconds=None):
    cells = [
        f"{b} labels {row.mean():.2f} +- {row.std(ddof=1):.2f} %" for b, row in zip(budgets, table)
    ]
    say(f"  {title}: " + ", ".join(cells) + ("" if seconds is None else f"  ({seconds:.1f} s)"))


def compare(name, X, y, settings, budgets, trials, test_mask=None, seed=0):
    """Print invariant graph, Euclidean graph, graphlearning and scikit-learn on the same draws."""
    order, budgets = make_draws(
        y, draw="balanced", budgets=budgets, trials=trials, seed=seed, dataset=name,
        test_mask=test_mask,
    )  # fmt: skip
    evaluated = np.ones(len(y), bool) if test_mask is None else test_mask

    def run(title, label):
        start = time.perf_counter()
        table = peers.error_table(label, y, order, budgets, evaluated)
        report(title, budgets, table, time.perf_counter() - start)

    graph = build(X, settings, "invariant")
    run("Poisson, invariant graph", diffused(graph.W, y))
    run("spreading, invariant graph", diffused(graph.W, y, method="spreading"))
    plain = build(X, GraphSettings(), "Euclidean")
    run("Poisson, Euclidean graph", diffused(plain.W, y))
    run("graphlearning Poisson", peers.graphlearning(X, y))
    run("scikit-learn LabelSpreading", peers.scikit_learn_spreading(X, y))


def mnist(trials):
    start = time.perf_counter()
    data = load("mnist")
    say(f"MNIST, test images in the graph (read in {clock(start)})")
    compare("mnist", data.X, data.y, image_graph_settings((28, 28)), [10, 100, 600, 1000], trials,
            data.test_mask)  # fmt: skip
    say(f"  whole: {clock(start)}")


def inductive(trials):
    data = load("mnist")
    say("MNIST, graph of the 60 000 training images; test images by extension")
    train = ~data.test_mask
    X, y = data.X[train], data.y[train]
    order, budgets = make_draws(
        y, draw="balanced", budgets=[10, 100], trials=trials, seed=0, dataset="mnist"
    )
    graph = build(X, image_graph_settings((28, 28)), "invariant")
    start = time.perf_counter()
    extension = extend_graph(graph, X, data.X[~train])
    say(f"  10 000 new images attached in {clock(start)}")
    table = np.empty((len(budgets), trials))
    for b, budget in enumerate(budgets):
        for t, rows in enumerate(order):
            labeled = rows[:budget]
            proba, scores = diffuse(graph.W, labeled, y[labeled], 10)
            new, _ = extend_labels(extension, proba, scores.is_reached)
            table[b, t] = 100 * np.mean(new.argmax(axis=1) != data.y[~train])
    report("Poisson, test error", budgets, table)


def usps(trials):
    data = load("usps")
    say("USPS, standard split, test images in the graph")
    compare("usps", data.X, data.y, image_graph_settings((16, 16)), [10, 100, 300], trials,
            data.test_mask)  # fmt: skip


def rotated(trials):
    data = load("usps")
    say("USPS turned at random, rotation-invariant metric")
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, len(data.X))
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    X = affine(data.X.reshape(-1, 16, 16), np.moveaxis(turn, 2, 0)).reshape(len(data.X), -1)
    settings = image_graph_settings(
        (16, 16), canonicalize=["center"], metric="orbit", candidates=30,
        metric_options={"transforms": "rotation", "recall_sample": 2},
    )  # fmt: skip
    compare("usps", X, data.y, settings, [10, 100, 300], trials, data.test_mask)


def coil20(trials):
    data = load("coil20")
    say("COIL-20, 1 and 2 labels per object")
    compare("coil20", data.X, data.y, image_graph_settings((32, 32)), [20, 40], trials)


def digits(trials):
    data = load("digits")
    say("scikit-learn's digits")
    compare("digits", data.X, data.y, image_graph_settings((8, 8)), [10, 50, 100], trials)


def series(trials):
    data = load("cylinder_bell_funnel", seed=0)
    say("cylinder, bell, funnel: 1500 series of 128 values")
    settings = image_graph_settings(data.image_shape)
    compare("cylinder_bell_funnel", data.X.astype(np.float32), data.y, settings, [3, 30], trials)


def rate(trials):
    from fewfold.transforms.deformation import DeformationMetric

    metric = DeformationMetric((28, 28))
    rng = np.random.default_rng(0)
    features = metric.prepare(rng.random((20000, 784), dtype=np.float32))
    candidates = rng.integers(0, 20000, (20000, 30))
    metric.distances(features[:10], features, candidates[:10])
    start, cpu = time.perf_counter(), time.process_time()
    metric.distances(features, features, candidates)
    used = time.process_time() - cpu
    say(
        f"re-ranking 28 x 28: {candidates.size / used:.3g} pairs per second of CPU and core, "
        f"{candidates.size / (time.perf_counter() - start):.3g} per second of wall clock"
    )


def scaling(trials):
    data = load("mnist")
    say("time of the invariant graph and of one diffusion")
    settings = image_graph_settings((28, 28))
    settings = replace(settings, metric_options={**settings.metric_options, "recall_sample": 0})
    rows = np.random.default_rng(0).permutation(len(data.X))
    for n in (10_000, 20_000, 40_000, 70_000):
        X, y = data.X[rows[:n]], data.y[rows[:n]]
        graph = build(X, settings, "invariant")
        order, _ = make_draws(y, draw="balanced", budgets=[100], trials=1, seed=0, dataset="mnist")
        start, cpu = time.perf_counter(), time.process_time()
        diffuse(graph.W, order[0], y[order[0]], 10)
        say(f"    diffusion {clock(start)} wall, {time.process_time() - cpu:.1f} s CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--trials", type=int, default=10)
    chosen = parser.parse_args()
    # Rows that no label reaches count as errors here; the warning would repeat per draw.
    warnings.simplefilter("ignore", FewfoldWarning)
    say(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    for part in chosen.parts or PARTS:
        globals()[part](chosen.trials)


if __name__ == "__main__":
    main()
