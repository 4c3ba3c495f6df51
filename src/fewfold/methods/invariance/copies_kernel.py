"""The kernels that `InvariantSVC` chooses among, as matrices of the kernel stage.

The graph of a draw's copies depends on which rows are labeled, not on their labels, the penalty
or the folds. So for every draw there is a matrix for each width and strength of the grid: a
change of the SVM deforms nothing again.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from fewfold.exceptions import InputError
from fewfold.svm.kernels import KernelRows
from fewfold.transforms.naming import transform_or_default


class InvariantKernel(KernelRows):
    """Kernels deformed along the copies of each draw's labeled rows, row by row.

    Parameters
    ----------
    features : fewfold.pipeline.stage_files.Features
    stages : dict
        ``splits``: the draws.
    settings : dict
        ``variant``, ``transform``, ``base``, ``gamma``, ``deformation``, ``copies_graph``,
        ``n_neighbors``: as `InvariantSVC` takes them.

    Attributes
    ----------
    levels : list of dict
        Of each matrix: its draw (a digest of the labeled rows), width and strength.
    wanted_rows : int ndarray
        Row ``r`` of level ``i`` has the number ``i n + r``.
    """

    type = "invariant"
    gamma = None

    def __init__(self, features, stages: dict, settings: dict):
        from fewfold.methods.invariance.estimator import InvariantSVC

        X, X_new = features.for_graph(needs_images=True)
        self.X, self.X_new = _dense(X), None if X_new is None else _dense(X_new)
        self.n, self.n_new = len(self.X), 0 if X_new is None else len(X_new)
        own = {("kernel" if k == "base" else k): v for k, v in settings.items() if k != "type"}
        self._model = InvariantSVC(image_shape=features.image_shape, **own)
        same = kernel_key(settings, features.image_shape)
        self.levels, self._draws, numbers, seen = [], [], [], set()
        for trial, budget, seed in stages["splits"].draws():
            rows = np.sort(stages["splits"].order[trial, :budget])
            key = draw_key(rows)
            if not budget or key in seen:
                continue
            seen.add(key)
            nodes = self._model.nodes_of(self.X, rows)
            for gamma in self._model.widths(nodes):
                for strength in self._model.strengths():
                    numbers.append(len(self.levels) * self.n + rows)
                    self._draws.append((rows, nodes, seed))
                    self.levels.append(
                        {"n_labeled": int(budget), "draw": key, "settings": same,
                         "gamma": float(gamma), "deformation": float(strength)}
                    )  # fmt: skip
        self.wanted_rows = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
        self._solver = self._values = (None, None)

    def rows(self, indices) -> np.ndarray:
        """Return kernel rows by their numbers."""
        indices = np.asarray(indices)
        out = np.empty((len(indices), self.n_columns), np.float32)
        for level in np.unique(indices // self.n):
            here = np.flatnonzero(indices // self.n == level)
            rows = self._draws[level][0]
            out[here] = self._matrix(level)[np.searchsorted(rows, indices[here] % self.n)]
        return out

    def _matrix(self, level):
        if self._values[0] != level:
            (_, nodes, seed), wanted = self._draws[level], self.levels[level]
            at = wanted["draw"], wanted["gamma"]
            if self._solver[0] != at:
                self._solver = at, self._model.solver_of(nodes, wanted["gamma"], seed)
            deformed = self._solver[1].deform(wanted["deformation"])
            parts = [deformed.rows(self.X)]
            if self.n_new:
                parts.append(deformed.rows(self.X_new))
            self._values = level, np.concatenate(parts).T.astype(np.float32)
        return self._values[1]


def draw_key(rows: np.ndarray) -> str:
    """Return the name of a draw: a digest of its labeled rows."""
    return hashlib.sha256(np.sort(rows).astype("<i8").tobytes()).hexdigest()[:16]


def kernel_key(settings: dict, image_shape) -> str:
    """Return a digest of what the kernels of a draw depend on, but for width and strength."""
    found = {
        "transform": transform_or_default(settings.get("transform"), image_shape),
        "base": settings.get("base", "rbf"),
        "copies_graph": settings.get("copies_graph", "orbit"),
        "n_neighbors": settings.get("n_neighbors", 5),
        "variant": settings.get("variant", "default"),
    }
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


class StoredSolver:
    """The deformed kernels of one draw and width, read from a matrix."""

    def __init__(self, kernel, levels: dict[float, int], rows: np.ndarray):
        self._kernel, self._levels, self._rows = kernel, levels, rows

    def matrix(self, strength: float) -> np.ndarray:
        """Return the kernel between the labeled rows and all columns."""
        return self._kernel.all_rows(self._rows, self._levels[strength])

    def gram(self, strength: float, data_strength: float = 0.0) -> np.ndarray:
        """Return the deformed kernel among the labeled rows."""
        K = self.matrix(strength)[:, self._rows].astype(np.float64)
        return (K + K.T) / 2

    def deform(self, strength: float, data_strength: float = 0.0) -> StoredSolver:
        """Return itself: what is deformed is stored."""
        return self


def stored_solvers(kernel, rows, settings: dict, image_shape, gamma, strengths) -> dict | None:
    """Return {width: StoredSolver} of a draw; None where a kernel or strength is not stored."""
    if kernel is None or kernel.type != "invariant":
        return None
    key, same = draw_key(rows), kernel_key(settings, image_shape)
    found: dict[float, dict] = {}
    for i, level in enumerate(kernel.levels or []):
        if (level.get("draw"), level.get("settings")) == (key, same):
            found.setdefault(level["gamma"], {})[level["deformation"]] = i
    if gamma is not None:
        found = {gamma: found[gamma]} if gamma in found else {}
    if not found or not all(set(strengths) <= set(levels) for levels in found.values()):
        return None
    return {width: StoredSolver(kernel, levels, rows) for width, levels in found.items()}


class Later:
    """What is computed when it is first asked for."""

    def __init__(self, make):
        self._make, self._made = make, None

    def _get(self):
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getattr__(self, name):
        return getattr(self._get(), name)

    def __call__(self, *args):
        """Call what was made."""
        return self._get()(*args)


def _dense(X):
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if not np.isfinite(X).all():
        raise InputError("The rows hold values that are not finite.")
    return X if X.dtype.kind == "f" else X.astype(np.float64)
