"""Evaluation of each candidate: out-of-fold predictions, predictions of all rows, state."""

from __future__ import annotations

import inspect
import time
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fewfold.exceptions import FewfoldError
from fewfold.labels import class_columns, known_mask
from fewfold.methods.base import CLASSIFICATION, ManifoldModel
from fewfold.methods.members import Member
from fewfold.pipeline.protocol import derive_seed

N_FOLDS = 10
FEW_LABELS = 20  # below this number of labels, leave-one-out
MANY_ROWS = 20_000


@dataclass
class Task:
    """Rows, labels, folds, and label-free computations shared by candidates.

    Attributes
    ----------
    X : array of shape (n, d)
    y : ndarray of shape (n,)
        Codes with -1, or values with NaN.
    task : str
    n_classes : int
        0 for regression.
    seed : int
    graphs : dict of name to NeighborGraph
    prepared : dict of member to dict of arrays
    image_shape : tuple or None
    n_folds : int
        0: nothing is held out.
    explained : float or None
        See `fewfold.labeling.first_weights.explained_by_neighbors`.
    """

    X: Any
    y: np.ndarray
    task: str
    n_classes: int = 0
    seed: int = 0
    graphs: dict = field(default_factory=dict)
    prepared: dict = field(default_factory=dict)
    image_shape: tuple | None = None
    n_folds: int = N_FOLDS
    explained: float | None = None

    def __post_init__(self):
        self.rows = np.flatnonzero(known_mask(self.y))
        self.targets = self.y[self.rows]
        self.fold = make_folds(self.targets, self.task, self.n_folds, self.seed)

    @cached_property
    def dense(self) -> np.ndarray:
        """The rows as double-precision numbers."""
        return np.asarray(self.X, dtype=np.float64)

    @property
    def has_many_rows(self) -> bool:
        """Whether predicting all rows without each fold is too expensive."""
        return self.X.shape[0] > MANY_ROWS

    @property
    def is_classes(self) -> bool:
        """Whether the targets are classes."""
        return self.task == CLASSIFICATION


def make_folds(targets, task: str, n_folds: int = N_FOLDS, seed: int = 0) -> np.ndarray:
    """Assign labels to folds: leave-one-out below 20, stratified by class (or value) above.

    Examples
    --------
    >>> fold = make_folds(np.repeat([0, 1], 20), "classification", 5)
    >>> np.bincount(fold).tolist()
    [8, 8, 8, 8, 8]
    """
    m = len(targets)
    if not n_folds or m < 2:
        return np.zeros(0, np.int64)
    if m < FEW_LABELS:
        return np.arange(m)
    rng = np.random.default_rng(derive_seed(seed, "folds"))
    order = rng.permutation(m)
    order = order[np.argsort(targets[order], kind="stable")]
    fold = np.empty(m, dtype=np.int64)
    if task == CLASSIFICATION:
        fold[order] = np.arange(m) % n_folds
        return fold
    # Regression: each fold gets one of every run of consecutive values.
    for start in range(0, m, n_folds):
        part = order[start : start + n_folds]
        fold[part] = rng.permutation(n_folds)[: len(part)]
    return fold


@dataclass
class Evidence:
    """Predictions of one candidate.

    Attributes
    ----------
    held_out : ndarray of shape (m, k), or (n_folds, n) for numbers
        Probabilities of each label without its fold; the values of all rows without each fold.
    answer : ndarray of shape (n, k) or (n,)
    arrays, notes : dict
        Its fitted state.
    seconds : float
        CPU time of all of it.
    status : str
    """

    held_out: np.ndarray | None
    answer: np.ndarray | None
    arrays: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)
    seconds: float = 0.0
    status: str = "ok"


def prepare(member: Member, task: Task) -> dict:
    """Compute the label-free part of a candidate."""
    model = _build(member, task)
    X = task.dense if hasattr(model, "fit_codes") else task.X
    return model.prepare(X, **_taken(model.prepare, {"graph": task.graphs.get(member.graph)}))


def examine(member: Member, task: Task) -> Evidence:
    """Fit a candidate without each fold, and to all labels.

    A candidate that fails has the reason as its status, and gets no weight.
    """
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reported in the status
            found = _examine(member, task)
    except (FewfoldError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        found = Evidence(None, None, status=f"failed: {str(error)[:200]}")
    found.seconds = time.process_time() - start
    return found


def _examine(member, task):
    key = member.prepared_like or member.name
    if key not in task.prepared and hasattr(member.method.estimator_class(task.task), "prepare"):
        task.prepared[key] = prepare(member, task)
    shared = task.prepared.get(key)
    n_folds = int(task.fold.max()) + 1 if len(task.fold) else 0
    if task.is_classes and n_folds and task.has_many_rows:
        at_once = _examine_at_once(member, task)
        if at_once is not None:
            return at_once
    parts = [task.fold == held for held in range(n_folds)]
    splits = [(~out, task.rows[out] if task.is_classes else None) for out in parts]
    fits = _fits(member, task, [*splits, (np.ones(len(task.rows), bool), None)], shared)
    held_out = None
    if n_folds and task.is_classes:
        held_out = np.zeros((len(task.rows), task.n_classes))
        for out in parts:
            held_out[out] = next(fits)[1]
    elif n_folds:
        held_out = np.array([next(fits)[1] for _ in parts])
    model, answer = next(fits)
    if not all(np.isfinite(part).all() for part in (held_out, answer) if part is not None):
        raise ValueError("its predictions are not finite")
    if model is None:
        raise ValueError("all labels are of one class")
    return _evidence(model, held_out, answer, task)


def _evidence(model, held_out, answer, task):
    arrays, notes = model.to_arrays()
    if task.has_many_rows:
        answer = answer.astype(np.float32)  # half the memory, and seven digits
    return Evidence(held_out, answer, arrays, notes, status=getattr(model, "status_", "ok"))


def _examine_at_once(member, task):
    """Evaluate a candidate that computes all folds at the cost of a few fits; None otherwise."""
    model = _build(member, task)
    if not hasattr(model, "fit_folds") or len(np.unique(task.targets)) < 2:
        return None
    y = np.full(task.X.shape[0], np.nan)
    y[task.rows] = task.targets
    held_out = model.fit_folds(task.X, y, task.fold, **_stages(model, member, task, None))
    held_out = class_columns(held_out, model.classes_.astype(np.int64), task.n_classes)
    answer = _all_classes(model, task.targets, task)
    if not (np.isfinite(held_out).all() and np.isfinite(answer).all()):
        raise ValueError("its predictions are not finite")
    return _evidence(model, held_out, answer, task)


def _build(member, task):
    seed = derive_seed(task.seed, "candidate", member.name) % 2**31
    return member.build(
        task.task, random_state=seed, n_classes=task.n_classes, image_shape=task.image_shape
    )


def _fits(member, task, splits, shared):
    """Yield the model and the predictions for each split: labels kept, rows wanted."""
    first = _build(member, task)
    one_class = len(np.unique(task.targets)) < 2
    if not task.is_classes or one_class or not hasattr(first, "fit_each"):
        yield from (_fit(member, task, kept, shared, wanted) for kept, wanted in splits)
        return
    models = [first, *(_build(member, task) for _ in splits[1:])]
    labels = [(task.rows[kept], task.targets[kept].astype(np.int64)) for kept, _ in splits]
    first.fit_each(models, task.dense, shared, labels, task.n_classes)
    for model, (_, wanted) in zip(models, splits):
        wanted = np.arange(task.X.shape[0]) if wanted is None else wanted
        yield model, model.decide_rows(task.dense, shared, wanted)


def _fit(member, task, kept, shared, wanted):
    """Fit to some labels; return the model and its predictions for ``rows`` (None: all)."""
    wanted = np.arange(task.X.shape[0]) if wanted is None else wanted
    rows, targets = task.rows[kept], task.targets[kept]
    if task.is_classes and len(np.unique(targets)) < 2:
        return None, np.tile(np.eye(task.n_classes)[int(targets[0])], (len(wanted), 1))
    model = _build(member, task)
    if task.is_classes and hasattr(model, "fit_codes"):
        model.fit_codes(task.dense, shared, rows, targets.astype(np.int64), task.n_classes)
        return model, model.decide_rows(task.dense, shared, wanted)
    # NaN marks unlabeled rows of either task; codes are never mistaken for a mark.
    y = np.full(task.X.shape[0], np.nan)
    y[rows] = targets
    model.fit(task.X, y, **_stages(model, member, task, shared))
    if not task.is_classes:
        return model, model.transduction_[wanted]
    return model, _all_classes(model, targets, task)[wanted]


def _all_classes(model, targets, task):
    """Return the class probabilities of all rows, with a column for every class."""
    proba = class_columns(
        model.label_distributions_, model.classes_.astype(np.int64), task.n_classes
    )
    reached = getattr(model, "is_reached_", None)
    if reached is not None and not reached.all():
        counts = np.bincount(targets.astype(np.int64), minlength=task.n_classes)
        proba[~reached] = counts / counts.sum()  # no label reaches them: as the labels are
    return proba


def _stages(model, member, task, shared):
    found = {"graph": task.graphs.get(member.graph)}
    if shared is not None:
        found |= {"manifold": ManifoldModel(shared), "shared": shared}
    return _taken(model.fit, found)


def _taken(function, found):
    """Return the values that are there and that a function has an argument for."""
    takes = inspect.signature(function).parameters
    return {name: value for name, value in found.items() if value is not None and name in takes}
