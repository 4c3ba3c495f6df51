"""Linear and RBF support vector machines on the features themselves, for any number of labels.

The learner ``svm`` reads a stored kernel and searches its settings on all labels. Here kernel
rows are computed for each draw and forgotten, and the search may see a sample of the labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fewfold.exceptions import InputError
from fewfold.kernels import FeatureKernel
from fewfold.learners import kernel_svm, linear_svm
from fewfold.training import Inputs, Outcome

KINDS = ("linear", "rbf")
# Labelled rows that C and gamma are chosen on.
CHOOSE_ROWS = 3000


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
    return train(inputs, labeled, targets, settings=chosen, **options)


def _only(inputs, rows):
    """Return the inputs of some rows: choosing need not predict any others."""
    few = replace(inputs, X=inputs.X[rows], X_new=None)
    if inputs.kernel is not None:
        kernel = _Distances(few)
        kernel.gamma = inputs.kernel.gamma
        few = replace(few, kernel=kernel)
    return few
