"""Print what each choice of the invariant graph brings, on training labels only.

    FEWFOLD_MIRROR=... python benchmarks/graph_choices.py usps [coil20] [digits] [mnist]
        [--trials 5] [--only NAME ...]

Labels are drawn from training rows and errors counted on the other training rows: the official
test labels are not read. Sets without an official split use every second row.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from headline import errors_of, report, say

from fewfold.datasets import load
from fewfold.exceptions import FewfoldWarning
from fewfold.graph.build import GraphSettings, build_graph
from fewfold.methods.diffusion.estimator import image_graph_settings
from fewfold.pipeline.protocol import make_draws

FINE = {"displacement": 2, "window": 5}
PLAIN = {"metric": "euclidean", "weights": "self_tuning", "n_neighbors": 10, "symmetrize": "union"}

# Differences from the default of image_graph_settings.
CHOICES = {
    "default": {},
    "Euclidean": {**PLAIN, "canonicalize": [], "metric_options": {}, "method": "exact"},
    "Euclidean, deskewed": {**PLAIN, "canonicalize": ["deskew"], "metric_options": {}},
    "not deskewed": {"canonicalize": []},
    "centered only": {"canonicalize": ["center"]},
    "deskewed": {"canonicalize": ["deskew"]},
    "prototype (30 candidates, displacement 1)": {"candidates": 30, "metric_options": {}},
    "displacement 1 only": {"metric_options": {}},
    "fine displacement 2, window 3": {"metric_options": {"fine": {"displacement": 2}}},
    "fine on 16": {"metric_options": {"fine": FINE, "fine_candidates": 16}},
    "200 candidates": {"candidates": 200},
    "pixels, not gradients": {"metric_options": {"features": "pixels", "fine": FINE}},
    "gradients and pixels": {"metric_options": {"features": "both", "fine": FINE}},
    "tangent distance": {"metric": "tangent", "candidates": 30, "metric_options": {}},
    "5 neighbors": {"n_neighbors": 5},
    "8 neighbors": {"n_neighbors": 8},
    "10 neighbors": {"n_neighbors": 10},
    "binary weights": {"weights": "binary"},
    "self-tuning weights": {"weights": "self_tuning"},
    "union": {"symmetrize": "union"},
    "mutual": {"symmetrize": "mutual", "n_neighbors": 10},
}


def run(name, trials, only):
    data = load(name)
    n_classes = len(np.unique(data.y))
    tested = np.arange(len(data.y)) % 2 == 1 if data.test_mask is None else data.test_mask
    budgets = [n_classes, 2 * n_classes] if name == "coil20" else [n_classes, 10 * n_classes]
    order, budgets = make_draws(
        data.y, draw="balanced", budgets=budgets, trials=trials, seed=1, dataset=name,
        test_mask=tested,
    )  # fmt: skip
    say(f"{name}: error on training rows, {trials} draws")
    for title, changes in CHOICES.items():
        if only and title not in only:
            continue
        settings = image_graph_settings(data.image_shape, **changes).to_dict()
        if settings["metric"] not in ("euclidean", "cosine"):
            settings["metric_options"] = {**settings["metric_options"], "recall_sample": 3}
        start = time.process_time()
        graph = build_graph(data.X, GraphSettings.from_dict(settings))
        used = time.process_time() - start
        table = errors_of(graph.W, data.y, order, budgets, ~tested)
        report(f"{title} ({used:.0f} s CPU, {graph.n_components} comp.)", budgets, table)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[])
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", FewfoldWarning)
    for name in chosen.datasets:
        run(name, chosen.trials, chosen.only)


if __name__ == "__main__":
    main()
