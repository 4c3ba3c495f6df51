"""The kernel of an atlas as a kernel stage."""

from __future__ import annotations

import numpy as np

from fewfold.methods.atlas import BUDGET
from fewfold.methods.atlas.encoding import take_rows
from fewfold.methods.atlas.learners import KernelOptions, scaled_options
from fewfold.svm.kernels import KernelRows


class AtlasKernel(KernelRows):
    """The atlas kernel of encoded points, row by row (see `fewfold.svm.kernels.FeatureKernel`).

    Most pairs of points share no chart, so tiles are stored sparse. With a finer atlas the
    kernel is the mean of both, as in `AtlasSVC`, whose ``sigma`` is the wider the fewer labels
    there are: with ``sigma="budget"`` there is a matrix for each number of labels.
    """

    is_sparse = True
    type = "atlas"
    gamma = None

    def __init__(self, features, stages: dict, settings: dict):
        own, new = stages["points"], stages.get("points_new")
        self.n = len(own["charts"])
        self.n_new = 0 if new is None else len(new["charts"])
        self.code = own
        if self.n_new:
            self.code = {k: np.concatenate([v, new[k]]) for k, v in own.items()}
        atlas = stages["manifold"].arrays if "manifold" in stages else None
        by_budget = settings.get("sigma") == BUDGET
        budgets = [b for b in stages["splits"].budgets if b] if by_budget else [None]
        self._options = [kernel_options(own, atlas, settings, count) for count in budgets]
        self.levels = None
        if by_budget:
            found = zip(budgets, self._options)
            self.levels = [{"n_labeled": count, **level_of(options)} for count, options in found]

    def rows(self, indices) -> np.ndarray:
        """Return kernel rows; row ``r`` of level ``i`` has the number ``i n + r``."""
        indices = np.asarray(indices)
        out = np.empty((len(indices), self.n_columns), np.float32)
        for level, options in enumerate(self._options):
            here = np.flatnonzero(indices // self.n == level)
            if len(here):
                out[here] = options.matrix(take_rows(self.code, indices[here] % self.n), self.code)
        return out


def kernel_options(code, atlas, settings: dict, n_labeled: int | None) -> KernelOptions:
    """Return the scales of the kernel for a number of labels, as `AtlasSVC` takes them."""
    sigma = settings.get("sigma")
    return scaled_options(
        code,
        atlas,
        n_labeled,
        settings.get("gamma"),
        None if sigma == BUDGET else sigma,
        kernel=settings.get("kind", "rbf"),
        normalize=settings.get("normalize", True),
        assignment=settings.get("assignment", "soft"),
    )


def level_of(options: KernelOptions) -> dict:
    """Return what tells one matrix of the kernel from another, as plain values."""
    finer = options.finer
    return {
        "kind": options.kernel,
        "normalize": options.normalize,
        "assignment": options.assignment,
        "gamma": float(options.gamma),
        "sigma": float(options.sigma),
        "finer_gamma": float(finer.gamma) if finer else 0.0,
        "finer_sigma": float(finer.sigma) if finer else 0.0,
    }
