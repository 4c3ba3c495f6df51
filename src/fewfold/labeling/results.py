"""From stage files to the answer: choice, labels with calibrated confidence, tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fewfold.labeling import choosing
from fewfold.labeling.calibration import calibrate
from fewfold.labeling.voting import VOTE, held_out_vote
from fewfold.labels import known_mask
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.chain_files import cells_of


def gather_held_out(y, splits, batches, task):
    """Read what a method said of held-out rows.

    Parameters
    ----------
    y : ndarray of shape (n,)
    splits : Splits
    batches : list of path
        Prediction files of one method.

    Returns
    -------
    dict
        ``rows``; ``losses``, ``labels``, ``confidence``: one list per labelled row; ``seconds``
        per fit; ``failed``: statuses that are not ok.
    """
    known = known_mask(y)
    rows = np.flatnonzero(known)
    place = {int(r): i for i, r in enumerate(rows)}
    found = {k: [[] for _ in rows] for k in ("losses", "labels", "confidence")}
    seconds, failed = [], []
    for batch in batches:
        with read(batch, "train_method") as file:
            for cell in cells_of(file, splits, len(y)):
                trial, budget = cell["trial"], cell["budget"]
                labels = file[f"labels/{trial}/{budget}"]
                sure = file[f"confidence/{trial}/{budget}"]
                seconds.append(cell["fit_s"] + cell["predict_s"])
                if cell["status"] not in ("ok", "not converged"):
                    failed.append(cell["status"])
                for row in np.setdiff1d(rows, splits.order[trial, :budget]):
                    i = place[int(row)]
                    if task == "regression":
                        loss = (labels[row] - y[row]) ** 2
                    else:
                        loss = labels[row] != y[row]
                    found["losses"][i].append(float(loss))
                    found["labels"][i].append(float(labels[row]))
                    found["confidence"][i].append(float(sure[row]))
    return {"rows": rows, **found, "seconds": float(np.mean(seconds)), "failed": failed}


def compare(found: dict, task: str, n_folds: int, seed: int = 0, n_classes: int = 2) -> dict:
    """Choose among methods and say what to expect.

    Parameters
    ----------
    found : dict of method to the result of `gather_held_out`

    Returns
    -------
    dict
        Plain values: ``chosen``, ``runner_up``, ``estimate`` and ``table`` (a list of rows).
    """
    names = list(found)
    losses = np.array([choosing.mean_losses(found[m]["losses"]) for m in names])
    judged = ~np.isnan(losses[0])
    losses = losses[:, judged]
    # A method that failed somewhere cannot be trusted with the rest; NaN would also win argmin.
    losses[~np.isfinite(losses)] = np.inf if task == "regression" else 1.0
    vote = names.index(VOTE) if VOTE in names else None
    trusted = names.index(choosing.TRUSTED) if choosing.TRUSTED in names else None
    best = choosing.pick(losses, vote, trusted)
    means = losses.mean(axis=1)
    order = np.argsort(means, kind="stable")
    others = [names[i] for i in order if i != best]
    expected = choosing.estimate(losses, best, vote, task, n_folds, seed, n_classes, trusted)
    table = []
    for i in order:
        gain = losses[i] - losses[best]
        table.append(
            {
                "method": names[i],
                "loss": _root(means[i], task),
                "difference": float(gain.mean()),
                "standard_error": float(gain.std(ddof=1) / np.sqrt(len(gain))),
                "seconds": round(found[names[i]]["seconds"], 3),
                "failed": len(found[names[i]]["failed"]),
            }
        )
    return {
        "chosen": names[best],
        "runner_up": others[0] if others else None,
        "estimate": {
            k: getattr(expected, k) for k in ("value", "low", "high", "level", "n_labels")
        },
        "table": table,
    }


def _root(value, task):
    return float(np.sqrt(value)) if task == "regression" else float(value)


def answer_classes(y, labels, proba, slope, shift):
    """Join given and predicted labels, with calibrated confidence and the second choice.

    Parameters
    ----------
    y : int ndarray of shape (n,)
        Given codes, -1 unlabelled.
    labels : int ndarray of shape (n,)
        Predicted codes, -1 not known.
    proba : ndarray of shape (n, n_classes) or None
    slope, shift : float

    Returns
    -------
    label, second : int ndarrays of shape (n,)
        -1 not known.
    confidence : ndarray of shape (n,)
        1 for given labels, the share of the commonest class at least for unknown ones.
    """
    n = len(y)
    given = y >= 0
    label = np.where(given, y, labels).astype(np.int64)
    confidence, second = np.full(n, np.nan), np.full(n, -1)
    if proba is not None:
        confidence = calibrate(proba.max(axis=1), slope, shift)
        rest = proba.copy()
        rest[np.arange(n), np.maximum(label, 0)] = -1
        second = np.where(label >= 0, rest.argmax(axis=1), -1)
        second[rest.max(axis=1) <= 0] = -1
    confidence[labels < 0] = 0.0
    confidence[given] = 1.0
    return label, confidence, second


def labels_table(answer: dict, classes, ids, id_name, abstain=None) -> pd.DataFrame:
    """Return the table that becomes labels.csv, in input order.

    Parameters
    ----------
    answer : dict of arrays
        ``label``, ``confidence``, ``given``; ``second`` for classes, ``low`` and ``high`` for
        numbers.
    abstain : float, optional
        Labels less sure than this are left empty.
    """
    n = len(answer["label"])
    names = ids if ids is not None else np.arange(1, n + 1)
    table = pd.DataFrame({id_name: names})
    given = answer["given"].astype(bool)
    if classes is None:
        table["label"] = answer["label"]
        table["confidence"] = np.where(given, 1.0, np.nan)
        table["was_labeled"] = given
        table["second_label"] = ""
        table["low"], table["high"] = answer["low"], answer["high"]
        return table
    words = np.array([*classes, ""], dtype=object)
    label = answer["label"].copy()
    if abstain is not None:
        label[~given & ~(answer["confidence"] >= abstain)] = -1
    table["label"] = words[label]
    table["confidence"] = np.round(answer["confidence"], 4)
    table["was_labeled"] = given
    table["second_label"] = words[answer["second"]]
    return table


def choose_and_record(out, truth, splits, files: dict, n_folds: int) -> dict:
    """Compare the candidates and write what each said of held-out rows into a stage file.

    Parameters
    ----------
    out : fewfold.pipeline.artifacts.Writer
    truth, splits : Labels, Splits
    files : dict of method to prediction files
    n_folds : int
    """
    found = {
        method: gather_held_out(truth.y, splits, batches, truth.task)
        for method, batches in files.items()
    }
    voters, calibrations = [], {}
    if truth.task == "classification" and len(found) > 1:
        entry, voters, calibrations = held_out_vote(found, truth.y, truth.n_classes)
        if voters:
            found[VOTE] = entry
    comparison = compare(found, truth.task, n_folds, splits.seed, truth.n_classes or 2)
    comparison |= {"members": voters, "calibrations": calibrations}
    out.note("comparison", comparison)
    for method, held_out in found.items():
        counts = [len(one) for one in held_out["losses"]]
        out.add(f"held_out.{method}.rows", np.repeat(held_out["rows"], counts))
        for key in ("losses", "labels", "confidence"):
            flat = [value for one in held_out[key] for value in one]
            out.add(f"held_out.{method}.{key}", np.array(flat, dtype=np.float64))
    return comparison


def read_held_out(choice, method: str) -> dict | None:
    """Read what a method said of held-out rows: flat arrays, one entry per time held out."""
    if f"held_out.{method}.rows" not in choice:
        return None
    keys = ("rows", "losses", "labels", "confidence")
    found = {key: choice[f"held_out.{method}.{key}"] for key in keys}
    if len({len(values) for values in found.values()}) > 1:
        choice.fail(f"has arrays of different lengths about the held-out rows of {method!r}")
    return found
