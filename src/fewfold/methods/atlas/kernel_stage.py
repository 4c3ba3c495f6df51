"""The kernel of an atlas as a kernel stage."""

from __future__ import annotations

import numpy as np

from fewfold.methods.atlas.arrays import finer_part
from fewfold.methods.atlas.kernels import atlas_kernel_rows, kernel_scales


class AtlasKernel:
    """The atlas kernel of encoded points, row by row (see `fewfold.svm.kernels.FeatureKernel`).

    Most pairs of points share no chart, so tiles are stored sparse. With a finer atlas the
    kernel is the mean of both, as in `AtlasSVC`.
    """

    is_sparse = True
    kind = "kernel"
    gamma = None

    def __init__(self, features, stages: dict, settings: dict):
        own, new = stages["points"], stages.get("points_new")
        self.n = len(own["charts"])
        self.n_new = 0 if new is None else len(new["charts"])
        self.code = own
        if self.n_new:
            self.code = {k: np.concatenate([v, new[k]]) for k, v in own.items()}
        shared = {
            "kind": settings.get("kind", "rbf"),
            "normalize": settings.get("normalize", True),
            "assignment": settings.get("assignment", "soft"),
        }
        self.levels = [(part, shared | _scales(part(own), settings)) for part in _levels(own)]

    @property
    def n_columns(self) -> int:
        """Columns of the matrix: rows of the dataset, then new rows."""
        return self.n + self.n_new

    def rows(self, indices) -> np.ndarray:
        """Return the kernel rows of some of the dataset's rows."""
        some = {name: value[indices] for name, value in self.code.items()}
        total = 0
        for level, options in self.levels:
            total = total + atlas_kernel_rows(level(some), level(self.code), **options)
        return total / len(self.levels)


def _levels(code):
    """Functions that take the coarse, and the finer, part out of an encoding."""
    return [lambda c: c] if finer_part(code) is None else [lambda c: c, finer_part]


def _scales(code, settings):
    gamma, sigma = kernel_scales(code, int(code["charts"].max()) + 1)
    return {
        "gamma": float(settings.get("gamma") or gamma),
        "sigma": float(settings.get("sigma") or sigma),
    }
