"""Single rows to check: confused classes, and the most confident mistakes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.report.content import DatasetView, PredictionView
from fewfold.report.findings import plain
from fewfold.report.pictures import image_addresses, shrink

MOST_CLASSES = 30  # a larger confusion matrix is shown as a list of its largest entries
LARGEST_IMAGE = 64


@dataclass(frozen=True)
class Sample:
    """A row with its caption; ``image`` is an address or None."""

    row: int
    truth: str
    guess: str
    confidence: str
    image: str | None
    facts: str


@dataclass(frozen=True)
class Confusion:
    """Counts of true class against prediction over the unlabeled rows.

    ``columns`` has one more entry, "unknown", when some rows got no label.
    """

    counts: np.ndarray
    rows: list[str]
    columns: list[str]

    @property
    def shares(self) -> np.ndarray:
        """Each row of counts as a share of its sum."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)

    def largest(self, count: int = 15) -> list[tuple[str, str, int]]:
        """The most frequent mistakes: true class, prediction, count."""
        off = self.counts.copy()
        np.fill_diagonal(off[:, : len(self.rows)], 0)
        order = np.argsort(-off, axis=None, kind="stable")[:count]
        pairs = zip(*np.unravel_index(order, off.shape))
        return [(self.rows[i], self.columns[j], int(off[i, j])) for i, j in pairs if off[i, j]]


def judged(view: DatasetView, prediction: PredictionView) -> np.ndarray:
    """Rows that count: their truth is known and the method was not given it."""
    if view.y is None:
        return np.empty(0, dtype=np.int64)
    known = np.isfinite(view.y) if view.task == "regression" else np.asarray(view.y) >= 0
    known = known.copy()
    known[np.asarray(prediction.labeled, dtype=np.int64)] = False
    return np.flatnonzero(known)


def confusion(view: DatasetView, prediction: PredictionView) -> Confusion | None:
    """Count true classes against predictions, or None where no truth is known."""
    rows = judged(view, prediction)
    if not len(rows) or view.task == "regression":
        return None
    names = view.class_names
    truth = np.asarray(view.y)[rows].astype(np.int64)
    guess = np.asarray(prediction.labels)[rows].astype(np.int64)
    guess = np.where(guess < 0, len(names), guess)
    counts = np.zeros((len(names), len(names) + 1), dtype=np.int64)
    np.add.at(counts, (truth, guess), 1)
    if not counts[:, -1].any():
        return Confusion(counts[:, :-1], names, names)
    return Confusion(counts, names, [*names, "unknown"])


def confident_mistakes(view: DatasetView, prediction: PredictionView, count: int) -> np.ndarray:
    """Wrong rows, the most confident first; for regression those farthest from the truth."""
    rows = judged(view, prediction)
    labels = np.asarray(prediction.labels)[rows]
    if view.task == "regression":
        away = np.abs(labels - np.asarray(view.y)[rows])
        rows, away = rows[np.isfinite(away)], away[np.isfinite(away)]
        return rows[np.argsort(-away, kind="stable")][:count]
    wrong = rows[(labels != np.asarray(view.y)[rows]) & (labels >= 0)]
    if prediction.confidence is not None:
        confidence = np.nan_to_num(np.asarray(prediction.confidence, dtype=float)[wrong], nan=-1)
        wrong = wrong[np.argsort(-confidence, kind="stable")]
    return wrong[:count]


def examples(view: DatasetView, prediction: PredictionView, count: int) -> np.ndarray:
    """Rows whose label was given, by class; at most ``count``, evenly taken from all."""
    given = np.asarray(prediction.labeled, dtype=np.int64)
    if view.y is not None:
        given = given[np.argsort(np.asarray(view.y)[given], kind="stable")]
    if len(given) <= count:
        return given
    return given[np.linspace(0, len(given) - 1, count).round().astype(np.int64)]


def describe(view: DatasetView, prediction: PredictionView, rows: np.ndarray) -> list[Sample]:
    """Words and pictures for some rows."""
    rows = np.asarray(rows, dtype=np.int64)
    if not len(rows):
        return []
    images = [None] * len(rows)
    if view.images is not None:
        stack = np.asarray(view.images(rows), dtype=np.float64)
        images = image_addresses(shrink(stack, LARGEST_IMAGE))
    facts = [""] * len(rows)
    if view.images is None and view.values is not None:
        facts = [top_values(values, view.feature_names) for values in _dense(view.values(rows))]
    samples = []
    for row, image, fact in zip(rows.tolist(), images, facts):
        confidence = ""
        if prediction.confidence is not None and np.isfinite(prediction.confidence[row]):
            confidence = f"{100 * prediction.confidence[row]:.0f}\N{NO-BREAK SPACE}%"
        truth = _name(view, view.y[row]) if view.y is not None else "unknown"
        guess = _name(view, prediction.labels[row])
        samples.append(Sample(row, truth, guess, confidence, image, fact))
    return samples


def top_values(values: np.ndarray, names, count: int = 5) -> str:
    """The features of largest size of one row, as ``name = value``.

    >>> top_values(np.array([0.0, -3.0, 1.5]), ["a", "b", "c"])
    'b = -3, c = 1.5'
    """
    values = np.asarray(values, dtype=float).ravel()
    order = np.argsort(-np.abs(values), kind="stable")[:count]
    words = (str(names[i]) if names is not None else f"column {i}" for i in order)
    return ", ".join(f"{word} = {plain(values[i])}" for word, i in zip(words, order) if values[i])


def _dense(values) -> np.ndarray:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def _name(view: DatasetView, value) -> str:
    if view.task == "regression":
        return plain(float(value))
    return "unknown" if value < 0 else view.class_names[int(value)]
