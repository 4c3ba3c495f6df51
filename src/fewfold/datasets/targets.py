"""Labels, partly empty, from the user's files to codes or numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fewfold.datasets import arrays, frames
from fewfold.datasets.table.marks import SURE_MARKS, UNLABELED_MARKS, cell_text
from fewfold.datasets.text_tables import decode
from fewfold.exceptions import InputError
from fewfold.system.file_schema import LARGEST_NUMBER
from fewfold.system.wording import counted

LONGEST_NAME = 1000  # of a class, which stands in tables, pages and pictures


class Target(NamedTuple):
    """Labels as numbers.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        int64 codes with -1, or float64 with NaN, where there is no label.
    classes : list of str or None
        Name of each code; None for regression.
    task : {'classification', 'regression'}
    marks : dict of str to int
        What was taken as "no label", and in how many rows; "" stands for blank cells.
    """

    y: np.ndarray
    classes: list[str] | None
    task: str
    marks: dict = {}

    def mark_sentences(self, option: str = "--unlabeled ''") -> list[str]:
        """Say which marks were taken as "no label", and how to take them as classes."""
        named = {mark: n for mark, n in self.marks.items() if mark}
        if not named:
            return []
        words = " and ".join(
            f"{counted(n, 'row', 'is', 'are')} marked {mark!r}" for mark, n in named.items()
        )
        return [f"{words}, taken as unlabeled; {option} takes this as a class."]


def one_per_row(values: np.ndarray, n_samples: int, where: str) -> np.ndarray:
    """Check that there is one label for each row of the features."""
    values = values.ravel() if max(values.shape, default=0) == values.size else values
    if values.ndim != 1 or len(values) != n_samples:
        raise InputError(
            f"{where}: has the shape {values.shape}, the features have {n_samples} rows. "
            "Give one label per row."
        )
    return values


def read_labels(path: str | Path, n_samples: int) -> np.ndarray:
    """Read one label per row from an NPY file, or from text with one label per line.

    Parameters
    ----------
    path : str or Path
    n_samples : int
        Rows of the features.

    Returns
    -------
    ndarray of shape (n_samples,)
        Numbers, or text with "" for unlabeled rows.
    """
    file = frames.existing_file(path)
    if file.suffix.lower() == ".npy":
        values = arrays.read_npy(file, text=True)
    else:
        text = decode(file, file.read_bytes(), "utf-8")
        text = text.replace("\r\n", "\n").removesuffix("\n")
        values = np.array([line.strip() for line in text.split("\n")], dtype=object)
        if len(values) == n_samples + 1:
            raise InputError(
                f"{file}: has {len(values)} lines for {n_samples} rows. If the first line "
                f"({values[0]!r}) is a heading, remove it: one label per line, nothing else."
            )
    return one_per_row(np.asarray(values), n_samples, str(file))


def encode_target(
    values: np.ndarray,
    *,
    task: str = "auto",
    where: str = "target",
    unlabeled: Sequence[str] | None = None,
    alternative: str = "",
) -> tuple[np.ndarray, list[str] | None, str]:
    """Turn label values, partly empty, into codes (or numbers to predict).

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Text, numbers or objects; None and NaN are empty.
    task : {'auto', 'classification', 'regression'}
        ``auto`` takes numbers with decimals, or more than 20 different whole numbers of which
        most occur once, for regression, and all else for classes.
    where : str
        Named in errors.
    unlabeled : sequence of str, optional
        Values that mean "no label" besides blank cells. By default those of `SURE_MARKS` if some
        cells are blank, else those of `UNLABELED_MARKS` that occur; -1 only for classes.
    alternative : str
        What else can be done if there is no label, for the message.

    Returns
    -------
    Target

    Examples
    --------
    >>> import numpy as np
    >>> encode_target(np.array(["cat", "", "dog", "None"])).classes
    ['None', 'cat', 'dog']
    >>> encode_target(np.array(["cat", "?", "dog", ""])).marks
    {'': 1, '?': 1}
    """
    if task not in ("auto", "classification", "regression"):
        raise InputError(f"task={task!r}; allowed: auto, classification, regression.")
    # Objects: an array of fixed width would give every cell the length of the longest.
    text = np.empty(len(values), dtype=object)
    text[:] = [cell_text(v) for v in np.asarray(values).tolist()]
    if unlabeled is None:
        # Where some cells are blank, "None" or "Unknown" is not needed as a mark: it is a class.
        marks = set(SURE_MARKS if _is_one_of(text, {""}).any() else UNLABELED_MARKS)
    else:
        marks = {str(m).strip() for m in unlabeled} | {""}
    missing = _is_one_of(text, marks - {"-1"})
    if task == "auto":
        task = _guess_task(text[~missing])
        if task == "classification" and unlabeled is None and _is_regression_but_for_marks(text):
            task = "regression"
    if task == "regression":
        if unlabeled is None:
            missing = _is_one_of(text, set(UNLABELED_MARKS) - {"-1"})
        return Target(_regression(text, missing, where), None, task, _counted(text, missing))
    missing |= _is_one_of(text, marks)
    classes = _sorted_names(sorted(set(text[~missing].tolist())))
    if not classes:
        raise InputError(
            f"{where}: no row is labeled ({len(text)} rows, all empty or marked unlabeled). "
            f"Label at least one row of each of two classes{alternative}."
        )
    if len(classes) == 1:
        hint = (
            f" ({', '.join(map(repr, named))} was taken as unlabeled; if it is a class, give "
            "unlabeled=[''], in a command --unlabeled ''.)"
            if (named := [mark for mark in _counted(text, missing) if mark])
            else ""
        )
        raise InputError(
            f"{where}: only one class is labeled ({classes[0]!r}, {int((~missing).sum())} of "
            f"{len(text)} rows). At least two are needed: label some rows of another class.{hint}"
        )
    _check_class_names(classes, where)
    code = {c: i for i, c in enumerate(classes)}
    y = np.array([-1 if gone else code[v] for v, gone in zip(text.tolist(), missing)], np.int64)
    return Target(y, classes, task, _counted(text, missing))


def _counted(text: np.ndarray, missing: np.ndarray) -> dict:
    return dict(sorted(Counter(text[missing].tolist()).items()))


def _is_regression_but_for_marks(text: np.ndarray) -> bool:
    """Whether all cells but some "NA" or "?" are numbers with decimals: those are not classes."""
    rest = text[~_is_one_of(text, set(UNLABELED_MARKS) - {"-1"})]
    return len(rest) > 0 and _guess_task(rest) == "regression"


def _check_class_names(classes: list[str], where: str) -> None:
    for name in classes:
        if "\0" in name or len(name) > LONGEST_NAME:
            fault = "holds a NUL character" if "\0" in name else f"has {len(name)} characters"
            raise InputError(
                f"{where}: the class name {name[:40]!r} {fault}; allowed: text of up to "
                f"{LONGEST_NAME} characters without NUL. Correct these cells."
            )


def _is_one_of(text: np.ndarray, marks: set) -> np.ndarray:
    return np.array([cell in marks for cell in text.tolist()], dtype=bool)


def _guess_task(text: np.ndarray) -> str:
    try:
        numbers = text.astype(np.float64)
    except ValueError:
        return "classification"
    if not len(numbers) or not np.isfinite(numbers).all():
        return "classification"
    if (numbers != np.rint(numbers)).any():
        return "regression"
    different = len(np.unique(numbers))
    return "regression" if different > 20 and different > len(numbers) / 2 else "classification"


def _regression(text: np.ndarray, missing: np.ndarray, where: str) -> np.ndarray:
    y = np.full(len(text), np.nan)
    for i in np.flatnonzero(~missing):
        try:
            y[i] = float(text[i])
        except ValueError:
            y[i] = np.inf
        if not abs(y[i]) <= LARGEST_NUMBER:
            raise InputError(
                f"{where}, row {i + 1}: found {str(text[i])!r}, where a finite number up to "
                f"{LARGEST_NUMBER:.0e} is expected (task regression). Correct it, or set task to "
                "classification."
            )
    if missing.all():
        raise InputError(
            f"{where}: no row is labeled ({len(text)} rows, all empty). Give some targets."
        )
    return y


def _sorted_names(names: list[str]) -> list[str]:
    try:
        return sorted(names, key=float)
    except ValueError:
        return sorted(names)
