"""Linear and RBF support vector machines on the features themselves, for any number of labels.

The learner ``svm`` reads a stored kernel and searches its settings on all labels. Here kernel
rows are computed for each draw and forgotten, and the search may see a sample of the labels. Where
labels are many, only one pair of classes has its kernel in memory.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from fewfold.exceptions import InputError
from fewfold.kernel_machines import fit_machines
from fewfold.kernels import FeatureKernel, blocks_of, kernel_block
from fewfold.learners import kernel_svm, linear_svm, spread_over_classes
from fewfold.training import Inputs, Outcome

KINDS = ("linear", "rbf")
# Labelled rows that C and gamma are chosen on.
CHOOSE_ROWS = 3000
# Above this many labels, their distances to all rows are not kept: 60 000 of MNIST would take
# 17 GB, and libsvm twice as much again; one pair of classes takes 2 GB.
SLICE_ROWS = 6000


class _Distances:
    """Squared distances of some rows to all rows, computed when asked for."""

    kind = "squared_distances"

    def __init__(self, inputs: Inputs):
        self._source = FeatureKernel(inputs, {}, {"type": "rbf", "gamma": "cv"})
        self.n, self.n_new, self.gamma = self._source.n, self._source.n_new, self._source.gamma

    def all_rows(self, indices) -> np.ndarray:
        return self._source.rows(indices)


def feature_svm(
    inputs: Inputs, labeled, targets, *, n_classes: int, seed: int, settings: dict
) -> Outcome:
    """Train a support vector machine on the features.

    Settings: ``kind`` ("linear": one class against the rest; "rbf": pairs of classes), ``C`` and
    ``gamma`` (a number or "cv"), ``choose_rows``: how many of the labelled rows, drawn at
    random, choose what is "cv".
    """
    kind = settings.get("kind", "rbf")
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is unknown. Choose one of {', '.join(KINDS)}.")
    train = linear_svm
    if kind == "rbf":
        train, inputs = kernel_svm, replace(inputs, kernel=_Distances(inputs))
    searched = ("C", "gamma") if kind == "rbf" else ("C",)
    chosen = {name: settings.get(name, "cv") for name in searched}
    limit = int(settings.get("choose_rows", CHOOSE_ROWS))
    options = {"n_classes": n_classes, "seed": seed}
    labeled, targets = np.asarray(labeled), np.asarray(targets)
    if "cv" in chosen.values() and len(labeled) > limit:
        some = np.random.default_rng(seed).permutation(len(labeled))[:limit]
        few = _only(inputs, labeled[some])
        found = train(few, np.arange(limit), targets[some], settings=chosen, **options).details
        chosen = {name: found.get(name, value) for name, value in chosen.items()}
    numbers = "cv" not in chosen.values() and len(np.unique(targets)) > 1
    if kind == "rbf" and numbers and len(labeled) > SLICE_ROWS:
        return _pair_by_pair(inputs, labeled, targets, n_classes, **chosen)
    return train(inputs, labeled, targets, settings=chosen, **options)


def _only(inputs, rows):
    """Return the inputs of some rows: choosing need not predict any others."""
    few = replace(inputs, X=inputs.X[rows], X_new=None)
    if inputs.kernel is not None:
        kernel = _Distances(few)
        kernel.gamma = inputs.kernel.gamma
        few = replace(few, kernel=kernel)
    return few


def _pair_by_pair(inputs, labeled, targets, n_classes, C, gamma):
    """Train RBF machines of all pairs of classes, one pair's kernel in memory at a time."""
    classes, codes = np.unique(targets, return_inverse=True)
    L = inputs.X[labeled]

    def kernel(rows, columns):
        return kernel_block("rbf", L[rows], L[columns], gamma=gamma)

    machine = fit_machines(kernel, codes, len(classes), float(C), "pairs", balanced=False)
    support = L[machine.support]

    def predict(X):
        parts = [
            machine.shares(kernel_block("rbf", X[rows], support, gamma=gamma))
            for rows in blocks_of(0, X.shape[0], support.shape[0])
        ]
        proba = spread_over_classes(np.concatenate(parts), classes, n_classes)
        return classes[proba[:, classes].argmax(axis=1)], proba

    start = time.perf_counter()
    found = predict(inputs.X)
    new = (None, None) if inputs.X_new is None else predict(inputs.X_new)
    details = {"C": float(C), "n_support": len(machine.support), "gamma": float(gamma)}
    seconds = time.perf_counter() - start
    return Outcome(*found, *new, predict_s=seconds, details=details)
