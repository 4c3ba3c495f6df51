"""The two files every later stage starts from: features without labels, labels without features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewfold.exceptions import ArtifactError
from fewfold.pipeline import artifacts, layout
from fewfold.pipeline.protocol import derive_seed
from fewfold.pipeline.stage_schemas import SCHEMAS


@dataclass(frozen=True)
class Features:
    """Prepared rows: ``X`` the training rows, ``X_new`` the out-of-sample rows."""

    X: Any
    X_new: Any
    images: Any
    images_new: Any
    image_shape: tuple | None
    feature_names: list | None

    def for_graph(self, needs_images: bool):
        """Return the rows, and new rows, a graph is searched in: pixels where it needs images."""
        if needs_images and self.images is not None:
            return self.images, self.images_new
        return self.X, self.X_new


def _reading(path, stage):
    """Open a file of a stage, or the one that a command wrote in its place, by the same schema."""
    maker = layout.stage_of(path)
    if maker != layout.LABEL_COMMAND:
        return artifacts.read(path, stage)
    return artifacts.read(path, maker, schema=SCHEMAS[stage])


def read_features(path, *, images: bool = True) -> Features:
    """Open a file of stage prepare_features, or the features that `fewfold label` wrote.

    Dense rows are mapped, not read: what a stage works on at a time is what its memory holds, and
    jobs of one node share the pages. Without ``images`` the pixels beside principal components,
    most of such a file, are left alone.
    """
    with _reading(path, "prepare_features") as file:
        shape = file.note("image_shape")
        names = ("X", "X_new", "images", "images_new") if images else ("X", "X_new")
        rows = {name: file.mapped(name) for name in names if name in file}
        return Features(
            X=rows["X"],
            X_new=rows.get("X_new"),
            images=rows.get("images"),
            images_new=rows.get("images_new"),
            image_shape=tuple(shape) if shape else None,
            feature_names=file.get("feature_names"),
        )


@dataclass(frozen=True)
class Labels:
    """The truth about the rows of `Features`: codes (-1 unknown) or floats (NaN unknown)."""

    y: np.ndarray
    y_new: np.ndarray | None
    task: str
    classes: list | None
    test_mask: np.ndarray | None
    label_splits: np.ndarray | None
    groups: np.ndarray | None
    groups_new: np.ndarray | None
    ids: list | None

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return len(self.classes) if self.classes else 0


def read_labels(path) -> Labels:
    """Read a file of stage prepare_labels, or the labels that `fewfold label` wrote."""
    with _reading(path, "prepare_labels") as file:
        names = ("test_mask", "label_splits", "groups", "groups_new", "ids", "classes", "y_new")
        return Labels(y=file["y"], task=file.note("task"), **{n: file.get(n) for n in names})


@dataclass(frozen=True)
class Splits:
    """Labeled draws: trial t with budget b labels ``order[t, :b]``."""

    order: np.ndarray
    budgets: list
    evaluate: str
    protocol: str
    seed: int

    def draws(self):
        """Yield (trial, budget, seed) of every draw."""
        for trial in range(len(self.order)):
            for budget in self.budgets:
                yield trial, budget, derive_seed(self.seed, trial, budget)

    @property
    def labeled_rows(self) -> np.ndarray:
        """All rows that some draw labels, sorted: the kernel rows that training needs."""
        return np.unique(self.order)


def read_splits(path, n_rows: int | None = None) -> Splits:
    """Read a file of stage draw_splits; ``n_rows``, if given, is the number of rows it is about."""
    with artifacts.read(path, "draw_splits") as file:
        order = file["order"]
        if n_rows is not None:
            file.check_rows("order", order, n_rows)
        return Splits(
            order,
            file["budgets"].tolist(),
            file.note("evaluate"),
            file.note("protocol"),
            file.note("seed"),
        )


def check_rows(found) -> None:
    """Refuse files that are not about the same rows.

    Parameters
    ----------
    found : iterable of (str, int, int or None)
        The name of a file, the number of its rows, and that of the features it belongs to.
    """
    for name, rows, wanted in found:
        if rows != wanted:
            raise ArtifactError(
                f"The file of the {name} is about {rows} rows, the features have {wanted}. "
                "Move it away and run again."
            )
