"""The atlas as a manifold stage, and its kernel as a kernel stage."""

from __future__ import annotations

import numpy as np

from fewfold.artifacts import read
from fewfold.atlas.fitting import fit_atlas
from fewfold.atlas.kernels import atlas_kernel_rows, kernel_scales

CODE = ("charts", "errors", "projections", "member")


def fit_manifold(features, graph, options: dict, *, seed: int):
    """Return the arrays and notes of an atlas; a graph, if given, lends its neighbours."""
    settings = {k: v for k, v in options.items() if k != "q"}
    neighbors = None if graph is None else graph.neighbors
    last = []

    def progress(what, done, total):
        if what != last:
            last[:] = [what]
            print(f"{what}: {done} of {total}", flush=True)

    atlas = fit_atlas(
        features.X, settings, neighbors=neighbors, random_state=seed, progress=progress
    )
    first, last_energy = atlas["energy"][0], atlas["energy"][-1]
    print(f"{len(atlas['means'])} charts, energy {first:.4g} to {last_energy:.4g}")
    return atlas, {"n_charts": len(atlas["means"])}


class AtlasKernel:
    """The atlas kernel of encoded points, row by row (see `fewfold.kernels.FeatureKernel`).

    Most pairs of points share no chart, so tiles are stored sparse.
    """

    is_sparse = True
    kind = "kernel"
    gamma = None

    def __init__(self, features, files, settings: dict):
        with read(files["points"], "encode_points") as file:
            self.code = {name: file[name] for name in CODE}
            self.n = len(self.code["charts"])
            self.n_new = 0
            if "charts_new" in file:
                new = {name: file[f"{name}_new"] for name in CODE}
                self.n_new = len(new["charts"])
                self.code = {k: np.concatenate([v, new[k]]) for k, v in self.code.items()}
        own = {name: value[: self.n] for name, value in self.code.items()}
        gamma, sigma = kernel_scales(own)
        self.options = {
            "gamma": float(settings.get("gamma") or gamma),
            "sigma": float(settings.get("sigma") or sigma),
            "kind": settings.get("kind", "rbf"),
            "normalize": settings.get("normalize", True),
            "assignment": settings.get("assignment", "soft"),
        }

    @property
    def n_columns(self) -> int:
        """Columns of the matrix: rows of the dataset, then new rows."""
        return self.n + self.n_new

    def rows(self, indices) -> np.ndarray:
        """Return the kernel rows of some of the dataset's rows."""
        some = {name: value[indices] for name, value in self.code.items()}
        return atlas_kernel_rows(some, self.code, **self.options)
