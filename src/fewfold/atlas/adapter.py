"""What the workflow calls: manifold stage, kernel tiles and learners on an atlas."""

from __future__ import annotations

import time

import numpy as np

from fewfold.atlas.classifier import AtlasSVC
from fewfold.atlas.encoding import encode
from fewfold.atlas.fitting import fit_atlas
from fewfold.atlas.kernels import kernel_scales
from fewfold.atlas.learners import default_penalty
from fewfold.atlas.settings import AtlasSettings
from fewfold.exceptions import ConfigError
from fewfold.kernel_machines import fit_machines
from fewfold.training import Inputs, Outcome

_ROWS = 4096


def fit_manifold(
    X, settings: dict, *, neighbors=None, seed: int = 0, progress=None
) -> dict[str, np.ndarray]:
    """Fit an atlas and encode its own points: the arrays of the manifold stage.

    Parameters
    ----------
    X : array or sparse array of shape (n, n_features)
    settings : dict
        Fields of `AtlasSettings`, and ``q``, the charts that encode a point.
    neighbors : Neighbors or int array, optional
    seed : int
    progress : callable, optional

    Returns
    -------
    dict of ndarrays
        Those of `fit_atlas`, and those of `encode` with names that start with ``code_``.
    """
    settings = dict(settings)
    q = int(settings.pop("q", 10))
    unknown = sorted(set(settings) - set(AtlasSettings.__dataclass_fields__))
    if unknown:
        raise ConfigError(
            f"Unknown settings of an atlas {unknown}. Allowed: q, "
            f"{', '.join(AtlasSettings.__dataclass_fields__)}."
        )
    atlas = fit_atlas(X, settings, neighbors=neighbors, random_state=seed, progress=progress)
    code = encode(X, atlas, q, np.arange(X.shape[0]))
    return atlas | {f"code_{name}": value for name, value in code.items()}


def stored_code(manifold: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the encoding of the atlas's own points; that of new rows has names in ``_new``."""
    code = {
        name[5:]: v
        for name, v in manifold.items()
        if name.startswith("code_") and not name.endswith("_new")
    }
    return {name: np.asarray(value) for name, value in code.items()}


def scales_of(
    manifold: dict[str, np.ndarray], settings: dict, n_labeled: int | None = None
) -> tuple[float, float]:
    """Return ``gamma`` and ``sigma``: as set, or from the encoding and the number of labels."""
    gamma, sigma = kernel_scales(stored_code(manifold), len(manifold["means"]), n_labeled)
    return float(settings.get("gamma") or gamma), float(settings.get("sigma") or sigma)


def fit_predict(
    inputs: Inputs, labeled, targets, *, n_classes: int, seed: int, settings: dict
) -> Outcome:
    """Train an `AtlasSVC` on one labelled draw, with the atlas of the manifold stage.

    Parameters
    ----------
    inputs : Inputs
        ``manifold`` as made by `fit_manifold`; without it an atlas is fitted here.
    labeled : int array of shape (n_labelled,)
    targets : int array of shape (n_labelled,)
        Class codes.
    n_classes : int
        Classes of the dataset; a draw may miss some.
    seed : int
    settings : dict
        Options of `AtlasSVC` but ``atlas``.

    Returns
    -------
    Outcome
    """
    labeled, targets = np.asarray(labeled), np.asarray(targets)
    present, codes = np.unique(targets, return_inverse=True)
    model = AtlasSVC(**{"random_state": seed} | dict(settings))
    model.check_options()
    manifold = inputs.manifold
    if manifold is None:
        manifold = fit_manifold(inputs.X, {"q": model.q}, neighbors=_neighbors(inputs), seed=seed)
    if len(present) == 1:
        return _constant(inputs, present[0], n_classes)
    code = stored_code(manifold)
    model.atlas_ = {k: v for k, v in manifold.items() if not k.startswith("code_")}
    model.fit_code(code, labeled, codes)
    start = time.perf_counter()
    shares = model.shares(code)
    new = None
    if inputs.X_new is not None and inputs.X_new.shape[0]:
        q = max(v.shape[1] for name, v in code.items() if name.endswith("charts"))
        new = model.shares(encode(inputs.X_new, model.atlas_, q))
    details = {
        "gamma": model.options_.gamma,
        "sigma": model.options_.sigma,
        "C": model.options_.C,
        "n_charts": len(manifold["means"]),
    }
    outcome = _outcome(shares, new, present, n_classes, labeled, targets, details)
    outcome.predict_s = time.perf_counter() - start
    return outcome


def fit_predict_kernel(
    inputs: Inputs, labeled, targets, *, n_classes: int, seed: int, settings: dict
) -> Outcome:
    """Train support vector machines on the rows of a kernel stage.

    Parameters
    ----------
    inputs : Inputs
        ``kernel.rows(indices)`` are rows of the kernel over all points.
    labeled, targets, n_classes, seed : see `fit_predict`
    settings : dict
        ``scheme``, and ``C``, by default by `fewfold.atlas.learners.default_penalty`.

    Returns
    -------
    Outcome
    """
    labeled, targets = np.asarray(labeled), np.asarray(targets)
    present, codes = np.unique(targets, return_inverse=True)
    if len(present) == 1:
        return _constant(inputs, present[0], n_classes)
    rows = inputs.kernel.rows(labeled)
    own = rows[:, labeled]
    share = len(labeled) / rows.shape[1]
    C = settings.get("C") or default_penalty(float(own.diagonal().mean()), share)
    scheme = settings.get("scheme", "auto")
    machine = fit_machines(lambda r, c: own[np.ix_(r, c)], codes, len(present), float(C), scheme)

    def shares(K):
        parts = [machine.shares(K[:, s : s + _ROWS].T) for s in range(0, K.shape[1], _ROWS)]
        return np.concatenate(parts)

    new = None
    if inputs.X_new is not None and inputs.X_new.shape[0]:
        new = shares(inputs.kernel.new_rows(labeled[machine.support]))
    shared = shares(rows[machine.support])
    return _outcome(shared, new, present, n_classes, labeled, targets, {"C": float(C)})


def _neighbors(inputs):
    return None if inputs.graph is None else inputs.graph.neighbors


def _outcome(shares, new, present, n_classes, labeled, targets, details):
    labels, proba = _widen(shares, present, n_classes)
    labels[labeled] = targets
    labels_new, proba_new = (None, None) if new is None else _widen(new, present, n_classes)
    return Outcome(labels, proba, labels_new, proba_new, details=details)


def _widen(shares, present, n_classes):
    """Put the columns of the classes that were drawn among those of all classes."""
    proba = np.zeros((len(shares), n_classes))
    proba[:, present] = shares
    return present[shares.argmax(axis=1)].astype(np.int64), proba


def _constant(inputs, label, n_classes):
    """Return the only class that was drawn, for every row."""
    n = inputs.X.shape[0]
    new = None if inputs.X_new is None else inputs.X_new.shape[0]
    one = np.eye(n_classes)[label]
    return Outcome(
        np.full(n, label, np.int64),
        np.tile(one, (n, 1)),
        None if new is None else np.full(new, label, np.int64),
        None if new is None else np.tile(one, (new, 1)),
        status="one class drawn",
    )
