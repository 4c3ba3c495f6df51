"""The 2-D picture of a dataset, packed for the page's script."""

from __future__ import annotations

import base64

import numpy as np

from fewfold.report import _svg
from fewfold.report.content import DatasetView, PredictionView
from fewfold.report.pictures import sheet

STEPS = 65535


def pack(values: np.ndarray, kind: str) -> str:
    """An array as base64 of its little-endian bytes, a quarter of the length of JSON."""
    return base64.b64encode(np.asarray(values).astype(f"<{kind}").tobytes()).decode("ascii")


def payload(view: DatasetView, first: str | None = None, sheet_bytes: int = 0) -> dict | None:
    """What the script needs to draw a dataset and to answer for each point under the pointer.

    Parameters
    ----------
    view : DatasetView
    first : str or None
        The method to list first.
    sheet_bytes : int
        How much a sheet of the points' images may take; 0 leaves the images out.

    Returns
    -------
    dict or None
        None where the dataset has no picture or no point with a finite position.
    """
    if view.map2d is None:
        return None
    places = np.asarray(view.map2d, dtype=np.float64)
    keep = np.isfinite(places).all(axis=1)
    places, rows = places[keep], np.asarray(view.shown, dtype=np.int64)[keep]
    if not len(rows):
        return None
    low = places.min(axis=0)
    # One scale for both axes: distances in the picture mean the same in all directions.
    span = float((places.max(axis=0) - low).max()) or 1.0
    steps = np.round((places - low) / span * STEPS)
    methods = list(view.predictions)
    methods.sort(key=lambda name: name != first)
    number = view.task == "regression"
    truth = None if view.y is None else np.asarray(view.y)[rows]
    images = None
    if view.images is not None and sheet_bytes > 0:
        images = sheet(view.images(rows), sheet_bytes)
    return {
        "task": view.task,
        "classes": view.class_names,
        "colors": list(_svg.SEQUENTIAL if number else _svg.CLASSES),
        "ramp": list(_svg.SEQUENTIAL),
        "kind": "f4" if number else "i2",
        "rows": pack(rows, "u4"),
        "x": pack(steps[:, 0], "u2"),
        "y": pack(steps[:, 1], "u2"),
        "truth": None if truth is None else pack(truth, "f4" if number else "i2"),
        "methods": [_method(name, view.predictions[name], rows, number) for name in methods],
        "images": images,
    }


def _method(name: str, prediction: PredictionView, rows: np.ndarray, number: bool) -> dict:
    given = np.isin(rows, np.asarray(prediction.labeled, dtype=np.int64))
    confidence = None
    if prediction.confidence is not None:
        share = np.asarray(prediction.confidence, dtype=float)[rows]
        # 255 stands for "not known".
        share = np.where(np.isfinite(share), np.round(np.clip(share, 0, 1) * 250), 255)
        confidence = pack(share, "u1")
    return {
        "name": name,
        "n_labeled": int(prediction.n_labeled),
        "trial": int(prediction.trial),
        "labels": pack(np.asarray(prediction.labels)[rows], "f4" if number else "i2"),
        "confidence": confidence,
        "given": pack(given, "u1"),
    }
