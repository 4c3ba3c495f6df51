"""The one representation of all datasets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewfold.exceptions import InputError
from fewfold.labels import known_mask


@dataclass(frozen=True, eq=False)
class Dataset:
    """Points, targets, and what else is known about them.

    Parameters
    ----------
    name : str
        Name of the source.
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features; sparse for text.
    y : ndarray of shape (n_samples,)
        Class codes 0..K-1 (int64, -1 = unlabeled), or float64 targets (NaN = unlabeled).
    task : {'classification', 'regression'}
        What ``y`` holds.
    classes : list of str or None
        Name of each class code; None for regression.
    test_mask : bool ndarray of shape (n_samples,) or None
        Rows of the official test set.
    label_splits : int ndarray of shape (n_splits, n_labels) or None
        Published choices of labeled rows, counted from 0.
    image_shape : tuple of int or None
        Height and width where rows are images; ``(length,)`` where they are series.
    feature_names, ids : list of str or None
        Names of the columns and of the rows.
    groups : int ndarray of shape (n_samples,) or None
        The true manifold or decision set of each row, for generated sets.
    notes : tuple of str
        What reading decided, in words.

    Examples
    --------
    >>> import numpy as np
    >>> Dataset("two", np.eye(2), np.array([0, -1]), classes=["a"]).n_labeled
    1
    """

    name: str
    X: Any
    y: np.ndarray
    task: str = "classification"
    classes: list[str] | None = None
    test_mask: np.ndarray | None = None
    label_splits: np.ndarray | None = None
    image_shape: tuple[int, ...] | None = None
    feature_names: list[str] | None = None
    ids: list[str] | None = None
    groups: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        n = self.X.shape[0]
        for field in ("y", "test_mask", "groups", "ids"):
            value = getattr(self, field)
            if value is not None and len(value) != n:
                raise InputError(
                    f"dataset {self.name!r}: {field} has {len(value)} entries, X has {n} rows. "
                    "Give one entry per row."
                )
        if self.task not in ("classification", "regression"):
            raise InputError(
                f"dataset {self.name!r}: task={self.task!r}; allowed: classification, regression."
            )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for regression."""
        return None if self.classes is None else len(self.classes)

    @property
    def labeled(self) -> np.ndarray:
        """Bool mask of the rows whose target is known."""
        return known_mask(self.y)

    @property
    def n_labeled(self) -> int:
        """Number of rows whose target is known."""
        return int(self.labeled.sum())

    def take(self, rows: np.ndarray) -> Dataset:
        """Keep some rows, in the order given.

        Parameters
        ----------
        rows : int ndarray of shape (n_kept,)
            Row numbers, each at most once.

        Returns
        -------
        Dataset
            Published label splits are kept only where all their rows are.
        """
        rows = np.asarray(rows)
        new = np.full(self.n_samples, -1, dtype=np.int64)
        new[rows] = np.arange(len(rows))
        splits = self.label_splits
        if splits is not None:
            splits = new[splits]
            splits = None if (splits < 0).any() else splits
        parts = {name: getattr(self, name) for name in ("X", "y", "test_mask", "groups")}
        parts = {name: None if part is None else part[rows] for name, part in parts.items()}
        ids = None if self.ids is None else [self.ids[i] for i in rows]
        return replace(self, **parts, ids=ids, label_splits=splits)


@dataclass(frozen=True)
class Description:
    """The shape of a dataset, known without loading it."""

    name: str
    task: str
    n_samples: int
    n_features: int
    n_classes: int | None
    n_test: int = 0
    n_splits: int = 0
    sparse: bool = False
    image_shape: tuple[int, ...] | None = None
