"""What a report shows: plain tables and arrays, gathered by whoever ran the experiment.

The page is a pure function of a :class:`ReportContent`; nothing here reads files or configs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fewfold.exceptions import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASKS = ("classification", "regression", "clustering")


def where(rows: Sequence[Mapping], **values) -> list[Mapping]:
    """Return the rows of a table that have these values.

    >>> where([{"a": 1, "b": 2}, {"a": 1, "b": 3}], a=1, b=3)
    [{'a': 1, 'b': 3}]
    """
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


@dataclass(frozen=True)
class PredictionView:
    """One method's prediction on one labeled draw of a dataset.

    Parameters
    ----------
    n_labeled, trial : int
        Which draw this is.
    labels : array of shape (n_rows,)
        Class codes (-1: not known), or floats for regression.
    confidence : array of shape (n_rows,) or None
        In [0, 1], the method's trust in each label.
    labeled : int array
        Row numbers whose label the method was given.
    """

    n_labeled: int
    trial: int
    labels: np.ndarray
    confidence: np.ndarray | None = None
    labeled: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class DatasetView:
    """A dataset as the report shows it.

    Parameters
    ----------
    n_rows, n_features : int
    task : {"classification", "regression", "clustering"}
    classes : sequence of str or None
        Names of the class codes.
    image_shape : (height, width) or None
    y : array of shape (n_rows,) or None
        True codes (-1: not known) or floats (NaN: not known).
    map2d : array of shape (n_shown, 2) or None
        Position of each shown row in the 2-D picture.
    shown : int array of shape (n_shown,) or None
        Row numbers of the picture's points, a few thousand at most.
    predictions : mapping of method name to PredictionView
    images : callable or None
        ``images(rows)`` gives an array of shape (len(rows), height, width).
    notes : mapping
        Plain facts to list, such as the number of graph components.
    values : callable or None
        ``values(rows)`` gives an array of shape (len(rows), n_features), used to describe
        single rows of data that are not images.
    feature_names : sequence of str or None
    """

    n_rows: int
    n_features: int
    task: str = "classification"
    classes: Sequence[str] | None = None
    image_shape: tuple[int, int] | None = None
    y: np.ndarray | None = None
    map2d: np.ndarray | None = None
    shown: np.ndarray | None = None
    predictions: Mapping[str, PredictionView] = field(default_factory=dict)
    images: Callable[[np.ndarray], np.ndarray] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    values: Callable[[np.ndarray], np.ndarray] | None = None
    feature_names: Sequence[str] | None = None

    @property
    def class_names(self) -> list[str]:
        """Names of all class codes that occur, ``"0", "1", ...`` where none were given."""
        highest = -1
        arrays = [self.y, *(view.labels for view in self.predictions.values())]
        if self.task != "regression":
            for codes in arrays:
                if codes is not None and len(codes):
                    highest = max(highest, int(np.max(codes)))
        names = [str(name) for name in self.classes or ()]
        return names + [str(code) for code in range(len(names), highest + 1)]


@dataclass(frozen=True)
class ExtraFigure:
    """A matplotlib figure, or its data address, with its words; ``dataset`` may be None."""

    title: str
    caption: str
    dataset: str | None
    method: str | None
    figure: Figure | str


@dataclass(frozen=True)
class ReportContent:
    """Everything a report shows. Tables are rows (mappings) with the columns of
    `fewfold.pipeline.result_tables`.

    Parameters
    ----------
    metrics : sequence of rows
        One row per dataset, method, n_labeled, trial and metric.
    summary : sequence of rows
        Mean, s.d. and 95 % interval ``low`` to ``high`` over the trials. Errors are shares.
    comparisons : sequence of rows
        Paired tests between methods, corrected for their number. A key ``protocol`` is
        used where present; without it a test belongs to the dataset's first protocol.
    datasets : mapping of name to DatasetView
    stages : sequence of rows
        Time and memory of every job.
    rule_edges : sequence of (rule, rule)
    config, versions : mapping
    command, created : str
    extra_figures : sequence of ExtraFigure
    skipped : sequence of (dataset, method, reason)
    title : str
    """

    metrics: Sequence[Mapping[str, Any]] = ()
    summary: Sequence[Mapping[str, Any]] = ()
    comparisons: Sequence[Mapping[str, Any]] = ()
    datasets: Mapping[str, DatasetView] = field(default_factory=dict)
    stages: Sequence[Mapping[str, Any]] = ()
    rule_edges: Sequence[tuple[str, str]] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    created: str = ""
    extra_figures: Sequence[ExtraFigure] = ()
    skipped: Sequence[tuple[str, str, str]] = ()
    title: str = "fewfold report"


def check(content: ReportContent) -> None:
    """Raise InputError where an array does not fit its dataset."""
    for name, view in content.datasets.items():
        _check_view(name, view)


def _check_view(name: str, view: DatasetView) -> None:
    if view.task not in TASKS:
        raise InputError(f"Dataset {name!r} has task {view.task!r}; use one of {', '.join(TASKS)}.")
    if view.y is not None and len(view.y) != view.n_rows:
        raise InputError(f"Dataset {name!r} has {view.n_rows} rows but y has {len(view.y)}.")
    if (view.map2d is None) != (view.shown is None):
        raise InputError(f"Dataset {name!r} needs both of map2d and shown, or neither.")
    if view.map2d is not None and np.shape(view.map2d) != (len(view.shown), 2):
        raise InputError(
            f"Dataset {name!r} shows {len(view.shown)} rows but map2d has shape "
            f"{np.shape(view.map2d)}; give one (x, y) pair per shown row."
        )
    for method, prediction in view.predictions.items():
        for part in ("labels", "confidence"):
            values = getattr(prediction, part)
            if values is not None and len(values) != view.n_rows:
                raise InputError(
                    f"Dataset {name!r} has {view.n_rows} rows but the {part} of method "
                    f"{method!r} have {len(values)}; give one per row."
                )
