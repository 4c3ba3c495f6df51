"""The last fit: the chosen method with all labels, and groups where there are no labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.labeling.calibration import calibrate, calibration_error, fit_calibration
from fewfold.labeling.results import answer_classes, read_held_out
from fewfold.labeling.voting import VOTE, combine
from fewfold.labeling.warnings_ import suspected_labels
from fewfold.labels import known_mask
from fewfold.pipeline.chain_files import load_inputs
from fewfold.pipeline.protocol import derive_seed
from fewfold.pipeline.training import Outcome, fit_draw

COVERED = 0.9  # share of held-out numbers within the stated range


def fit_one(files: dict, entry: dict, seed: int):
    """Fit one method of a config on all labels.

    Parameters
    ----------
    files : dict
        The chain's files.
    entry : dict
        The method's config entry, with its learner.
    seed : int

    Returns
    -------
    inputs, truth, labelled, outcome
    """
    inputs, truth = load_inputs(files)
    known = known_mask(truth.y)
    labelled = np.flatnonzero(known)
    outcome = fit_draw(
        entry["learner"],
        inputs,
        labelled,
        truth.y[labelled],
        n_classes=truth.n_classes,
        seed=derive_seed(seed, "answer"),
        settings={k: v for k, v in entry.items() if k != "learner"},
    )
    return inputs, truth, labelled, outcome


def fit_answer(choice, files: dict, methods: dict, seed: int) -> tuple[dict, dict]:
    """Fit the chosen method, or all that vote, on all labels and make the answer of it.

    Parameters
    ----------
    choice : Artifact
        Of stage choose_method.
    files : dict of method to its chain's files
    methods : dict of method to its config entry
    seed : int

    Returns
    -------
    arrays, notes : dict
    """
    comparison = choice.note("comparison")
    method = comparison["chosen"]
    named = comparison.get("members", []) if method == VOTE else [method]
    calibrated = comparison.get("calibrations", {}) if method == VOTE else files
    if not named or not set(named) <= set(files) & set(methods) & set(calibrated):
        choice.fail(f"chose {named}, which are not all among the candidates")
    if method == VOTE:
        inputs, truth, labelled, outcome = _fit_vote(comparison, files, methods, seed)
        learner = VOTE
    else:
        inputs, truth, labelled, outcome = fit_one(files[method], methods[method], seed)
        learner = methods[method]["learner"]
    held_out = read_held_out(choice, method)
    if held_out is not None:
        choice.check_rows("rows held out", held_out["rows"], len(truth.y))
    notes = {
        "comparison": comparison,
        "method": method,
        "learner": learner,
        "status": outcome.status,
        "details": _plain(outcome.details),
        "task": truth.task,
    }
    if truth.task == "regression":
        arrays, more = _numbers(truth.y, outcome, held_out)
    else:
        arrays, more = _classes(inputs, truth, outcome, held_out, labelled)
    return arrays, {**notes, **more}


def _fit_vote(comparison, files, methods, seed):
    labels, sure, statuses = [], [], []
    for member in comparison["members"]:
        inputs, truth, labelled, outcome = fit_one(files[member], methods[member], seed)
        labels.append(outcome.labels.astype(np.int64))
        sure.append(calibrate(outcome.proba.max(axis=1), *comparison["calibrations"][member]))
        if outcome.status != "ok":
            statuses.append(f"{member}: {outcome.status}")
    proba = combine(labels, sure, truth.n_classes)
    known = np.max(labels, axis=0) >= 0
    joined = Outcome(
        labels=np.where(known, proba.argmax(axis=1), -1),
        proba=proba,
        status="; ".join(statuses) or "ok",
        details={"members": ", ".join(comparison["members"])},
    )
    return inputs, truth, labelled, joined


def _plain(details):
    kinds = (bool, int, float, str)
    return {
        k: v.item() if isinstance(v, np.generic) else v
        for k, v in details.items()
        if isinstance(v, (*kinds, np.generic))
    }


def _numbers(y, outcome, held_out):
    value = np.where(np.isnan(y), outcome.labels, y)
    width = np.nan
    if held_out is not None:
        width = float(np.quantile(np.sqrt(held_out["losses"]), COVERED))
    reach = np.where(np.isnan(y), width, 0.0)
    arrays = {"label": value, "low": value - reach, "high": value + reach, "given": ~np.isnan(y)}
    return arrays, {"warnings": [], "calibration": [1.0, 0.0], "width": width}


def _classes(inputs, truth, outcome, held_out, labelled):
    slope, shift, warnings, quality = 1.0, 0.0, [], None
    if held_out is not None:
        right = held_out["losses"] == 0
        slope, shift = fit_calibration(held_out["confidence"], right)
        sure = calibrate(held_out["confidence"], slope, shift)
        quality = {
            "before": calibration_error(np.nan_to_num(held_out["confidence"]), right),
            "after": calibration_error(np.nan_to_num(sure), right),
        }
        rows, start = np.unique(held_out["rows"], return_index=True)
        split = [np.split(v, start[1:]) for v in (held_out["labels"].astype(int), sure)]
        warnings = suspected_labels(
            rows, truth.y, [v.tolist() for v in split[0]], [v.tolist() for v in split[1]],
            truth.classes,
        )  # fmt: skip
    labels, guessed = fill_unknown(inputs.X, truth.y, outcome.labels, labelled)
    label, confidence, second = answer_classes(truth.y, labels, outcome.proba, slope, shift)
    confidence[guessed] = 1 / truth.n_classes
    proba = outcome.proba
    if proba is None:
        proba = np.eye(truth.n_classes)[label]
    arrays = {
        "label": label,
        "confidence": confidence,
        "second": second,
        "given": truth.y >= 0,
        "guessed": guessed,
        "proba": proba.astype(np.float32),
    }
    return arrays, {
        "warnings": warnings,
        "calibration": [slope, shift],
        "calibration_error": quality,
    }


def fill_unknown(X, y, labels, labelled):
    """Give rows that a method could not label the label of the nearest labelled row.

    Returns
    -------
    labels : int ndarray of shape (n,)
    guessed : bool ndarray of shape (n,)
    """
    labels = np.asarray(labels).astype(np.int64)
    guessed = (labels < 0) & (y < 0)
    if guessed.any():
        from fewfold.graph.neighbors import nearest_neighbors

        found = nearest_neighbors(X[labelled], 1, query=X[guessed])
        labels[guessed] = y[labelled][found.indices[:, 0]]
    return labels, guessed


def cluster_answer(vectors, n_clusters: int, seed: int) -> tuple[dict, dict]:
    """Group rows by k-means on the graph's smoothest functions (spectral clustering).

    Parameters
    ----------
    vectors : ndarray of shape (n, at least n_clusters)
        Eigenvectors, smoothest first.
    n_clusters, seed : int

    Returns
    -------
    arrays, notes : dict
        As of `fit_answer`; groups are numbered by size, the largest first. The confidence is
        the share of the nearest centre in exp(-distance^2), not calibrated.
    """
    from sklearn.cluster import KMeans

    rows = np.asarray(vectors[:, :n_clusters], dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1)
    model = KMeans(n_clusters, n_init=20, random_state=seed).fit(rows)
    order = np.argsort(-np.bincount(model.labels_, minlength=n_clusters), kind="stable")
    distance = model.transform(rows)[:, order] ** 2
    width = max(float(np.median(distance.min(axis=1))), 1e-12)
    score = np.exp(-(distance - distance.min(axis=1, keepdims=True)) / (2 * width))
    proba = score / score.sum(axis=1, keepdims=True)
    label = distance.argmin(axis=1)
    rest = proba.copy()
    rest[np.arange(len(rest)), label] = -1
    arrays = {
        "label": label,
        "confidence": proba.max(axis=1),
        "second": rest.argmax(axis=1),
        "given": np.zeros(len(label), dtype=bool),
        "guessed": np.zeros(len(label), dtype=bool),
        "proba": proba.astype(np.float32),
    }
    comparison = {"chosen": "spectral clustering", "reason": "there are no labels"}
    notes = {"comparison": comparison, "method": "spectral clustering", "learner": "clusters",
             "status": "ok", "details": {}, "task": "clustering", "warnings": [],
             "calibration": [1.0, 0.0], "calibration_error": None}  # fmt: skip
    return arrays, notes


def dense(rows) -> np.ndarray:
    """Return rows as an array."""
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
