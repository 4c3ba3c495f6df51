"""Compare weights and ridge of the eigenbasis on data that the figures are not shown for.

    FEWFOLD_MIRROR=... python benchmarks/eigenbasis_choice.py [--draws 10]

The defaults (self-tuning weights, ridge by leaving labels out) were first seen to help on MNIST;
this repeats the comparison on USPS's training rows, digits and LETTER.
"""

import argparse

import numpy as np

from fewfold.datasets import load
from fewfold.eigenbasis import compute_basis, fit_predict
from fewfold.graph.build import build_graph
from fewfold.protocol import derive_seed
from fewfold.training import Inputs

SETS = {
    "usps (train rows)": ("usps", {"part": "train"}, (50, 100, 500)),
    "digits": ("digits", {}, (50, 100, 500)),
    "letter (first 6000)": ("letter", {"n_samples": 6000, "part": "train"}, (260, 1000)),
}


def mean_error(data, graph, basis, size, settings, count):
    errors = []
    for draw in range(count):
        rng = np.random.default_rng(derive_seed(1, "choice", size, draw))
        rows = rng.choice(data.n_samples, size, replace=False)
        out = fit_predict(
            Inputs(data.X, graph=graph, manifold=basis),
            rows,
            data.y[rows],
            n_classes=data.n_classes,
            seed=0,
            settings=settings,
        )
        rest = np.setdiff1d(np.arange(data.n_samples), rows)
        errors.append(100 * np.mean(out.labels[rest] != data.y[rest]))
    return np.mean(errors)


def main(count):
    print("error on unlabelled rows (%), mean of", count, "random draws")
    for title, (name, options, sizes) in SETS.items():
        data = load(name, **options)
        for weights in ("binary", "self_tuning"):
            graph = build_graph(data.X.astype(np.float32), n_neighbors=8, weights=weights)
            basis = compute_basis(graph, max(sizes) // 5, "random_walk")
            for ridge in (0.0, "loo"):
                errors = [
                    f"{size}: {mean_error(data, graph, basis, size, {'ridge': ridge}, count):.2f}"
                    for size in sizes
                ]
                print(f"{title:20s} {weights:12s} ridge {ridge}:  {'   '.join(errors)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    main(parser.parse_args().draws)
