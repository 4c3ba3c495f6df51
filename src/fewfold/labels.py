"""Labels: which rows have one, class codes, class columns.

A row of ``y`` is unlabeled if it holds -1, NaN, None, ``pandas.NA`` or, among strings and objects,
"" or "-1". Inside the package classes are codes 0..n_classes-1 with -1 for unlabeled rows, and
values to predict are floats with NaN.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from fewfold.exceptions import InputError, LabelWarning

UNLABELED = -1
# numpy turns the NaN of ["a", NaN] into this text when it makes an array of strings.
_NAN_AS_TEXT = "nan"


@dataclass(frozen=True)
class LabelSet:
    """The labels of some rows: what every classifier is fitted to.

    Parameters
    ----------
    rows : int ndarray of shape (n_labeled,)
        Labeled rows in ascending order, as `read_labels` gives them, or as drawn.
    codes : int ndarray of shape (n_labeled,)
        Their classes, as positions in ``classes``.
    classes : ndarray of shape (n_classes,)
        Names of the classes, sorted.
    n_samples : int
        All rows, labeled or not.
    """

    rows: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    n_samples: int

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def mask(self) -> np.ndarray:
        """Whether each row is labeled, shape (n_samples,)."""
        mask = np.zeros(self.n_samples, bool)
        mask[self.rows] = True
        return mask

    @property
    def unlabeled(self) -> np.ndarray:
        """Rows without a label, ascending."""
        return np.flatnonzero(~self.mask)

    @property
    def one_hot(self) -> np.ndarray:
        """1 in the column of each labeled row's class, shape (n_labeled, n_classes)."""
        return np.eye(self.n_classes)[self.codes]

    @property
    def names(self) -> np.ndarray:
        """Classes of the labeled rows by name, shape (n_labeled,)."""
        return self.classes[self.codes]

    def complete(self, predicted) -> np.ndarray:
        """Return the names of all rows: as given, and as predicted where nothing was given.

        Parameters
        ----------
        predicted : array of shape (n_samples,)
            Names of classes; those of labeled rows are replaced.
        """
        predicted = np.asarray(predicted)
        # A text array cuts off longer names than it was made for.
        names = predicted.astype(np.result_type(predicted, self.classes))
        names[self.rows] = self.names
        return names


def labeled_mask(y) -> np.ndarray:
    """Return which entries of ``y`` are labels: not -1, NaN, None, pandas.NA, "" or "-1".

    Parameters
    ----------
    y : array of shape (n_samples,)

    Returns
    -------
    bool ndarray of shape (n_samples,)

    Examples
    --------
    >>> labeled_mask([0, -1, 2]).tolist(), labeled_mask(["a", "", "-1"]).tolist()
    ([True, False, True], [True, False, False])
    >>> labeled_mask(np.array(["a", None, float("nan"), -1], dtype=object)).tolist()
    [True, False, False, False]
    """
    minus, missing = _marks(np.asarray(y))
    return ~(minus | missing)


def _marks(y):
    """Return which entries are -1, and which are missing."""
    if y.dtype.kind == "f":
        return y == UNLABELED, np.isnan(y)
    if y.dtype.kind in "iub":
        return (y == UNLABELED) & (y.dtype.kind != "b"), np.zeros(y.shape, bool)
    if y.dtype.kind == "U":
        return y == str(UNLABELED), (y == "") | (y == _NAN_AS_TEXT)
    minus = np.array([not _is_missing(v) and _is_minus_one(v) for v in y.ravel()], bool)
    missing = np.array([_is_missing(v) for v in y.ravel()], bool)
    return minus.reshape(y.shape), missing.reshape(y.shape)


def _is_missing(value):
    if value is None or (isinstance(value, str) and value == ""):
        return True
    same = value == value
    # pandas.NA compares to itself as NA, which is neither true nor false.
    return type(same).__name__ == "NAType" or not np.all(same)


def _is_minus_one(value):
    return value == str(UNLABELED) if isinstance(value, str) else bool(np.all(value == UNLABELED))


def read_labels(
    y, n_samples: int, *, name: str = "The classifier", min_classes: int = 1, numbered: bool = False
) -> LabelSet:
    """Read the labels that a user gives to ``fit``.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Classes: numbers or names; see the module for what marks an unlabeled row.
    n_samples : int
        Rows of ``X``.
    name : str
        Of the estimator, for messages.
    min_classes : int
        Classes needed at least; 0 allows no label at all.
    numbered : bool
        The caller knows that classes are numbered from 0, so -1 cannot have been meant as one.

    Returns
    -------
    LabelSet

    Examples
    --------
    >>> labels = read_labels(["b", "", "a", "b"], 4)
    >>> labels.rows.tolist(), labels.codes.tolist(), labels.classes.tolist()
    ([0, 2, 3], [1, 0, 1], ['a', 'b'])
    """
    y = _column(y, n_samples, name)
    minus, missing = _marks(y)
    rows = np.flatnonzero(~(minus | missing))
    values = _labels(y, rows)
    classes, codes = np.unique(values, return_inverse=True)
    if not numbered:
        _check_minus_one(minus, missing, classes)
    if len(classes) < min_classes:
        _refuse(name, classes, len(rows), min_classes)
    return LabelSet(rows, codes.astype(np.int64), classes, n_samples)


def read_values(y, n_samples: int, *, name: str = "The regressor") -> np.ndarray:
    """Read the values that a user gives to the ``fit`` of a regressor.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Numbers; NaN, None or pandas.NA in unlabeled rows.
    n_samples : int
        Rows of ``X``.
    name : str
        Of the estimator, for messages.

    Returns
    -------
    float64 ndarray of shape (n_samples,)
        NaN in unlabeled rows.

    Examples
    --------
    >>> read_values([1, None, 2.5], 3).tolist()
    [1.0, nan, 2.5]
    """
    y = _column(y, n_samples, name)
    if y.dtype.kind == "O":
        y = np.array([np.nan if _is_missing(v) else v for v in y], dtype=object)
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            f"{name} needs numbers in y, with NaN in unlabeled rows: {problem}. "
            "Convert y, or use a classifier."
        ) from problem
    _refuse_infinity(values)
    if np.isnan(values).all():
        raise InputError(
            f"{name} needs a value of at least one sample, but all {n_samples} are NaN. "
            "Give the values that are known."
        )
    return values


def _column(y, n_samples, name):
    """Return y as an array of one dimension and the right length."""
    if y is None:
        raise InputError(
            f"{name} requires y to be passed, but the target y is None. Give one label per row, "
            f"-1 where it is unknown."
        )
    from sklearn.utils.validation import column_or_1d

    y = column_or_1d(np.asarray(y), warn=True)
    if len(y) != n_samples:
        raise InputError(
            f"X has {n_samples} rows and y {len(y)} labels. Give one label per row, -1 where it "
            "is unknown."
        )
    return y


def _labels(y, rows):
    """Return the entries of the labeled rows, checked to be classes."""
    from sklearn.utils.multiclass import check_classification_targets

    values = y[rows]
    if values.dtype.kind == "O":
        is_text = np.array([isinstance(v, str) for v in values], bool)
        if is_text.any() and not is_text.all():
            text, other = rows[is_text][0], rows[~is_text][0]
            raise InputError(
                f"y mixes names and numbers: {y[text]!r} in row {text}, {y[other]!r} in row "
                f"{other}. Unknown label type: give all classes as text or all as numbers."
            )
        # Numbers in an object array (as pandas gives them beside None) are numbers again.
        values = values if is_text.any() else np.array(values.tolist())
    if values.dtype.kind == "f":
        _refuse_infinity(values)
    if len(values):
        with warnings.catch_warnings():
            # One label of each class is what this package is for.
            warnings.filterwarnings("ignore", message="The number of unique classes")
            try:
                check_classification_targets(values)
            except ValueError as problem:
                raise InputError(str(problem)) from problem
    return values


def _refuse_infinity(values):
    if np.isinf(values).any():
        raise InputError(
            f"Input y contains infinity (first: row {np.flatnonzero(np.isinf(values))[0]}). "
            "Give finite numbers, NaN where unknown."
        )


def _check_minus_one(minus, missing, classes):
    """Refuse classes -1 and 1; warn where -1 occurs with another mark and may be a class."""
    if not minus.any():
        return
    if len(classes) == 1 and str(classes[0]) in ("1", "1.0"):
        raise InputError(
            "y holds only -1 and 1, but -1 marks unlabeled rows, so that a single class is left. "
            "If -1 is a class, rename it, for example np.where(y == -1, 0, y), and mark unlabeled "
            "rows by -1 afterwards; if only class 1 is labeled, label rows of other classes too."
        )
    if missing.any():
        warnings.warn(
            f"y holds both -1 ({minus.sum()} rows) and missing values ({missing.sum()} rows): all "
            "are taken as unlabeled. If -1 is a class, rename it.",
            LabelWarning,
            stacklevel=4,
        )


def _refuse(name, classes, n_labeled, min_classes):
    if not n_labeled:
        raise InputError(
            f"No sample is labeled. {name} needs labels of {_count(min_classes)}: give the class "
            "of at least one sample of each, and -1, NaN, None or '' where it is unknown."
        )
    raise InputError(
        f"{name} needs labels of {_count(min_classes)}, found 1 class ({classes[0]!s}). "
        "Give labeled samples of other classes too; -1 marks unlabeled ones."
    )


def _count(min_classes):
    return "1 class or more" if min_classes < 2 else f"{min_classes} classes or more"


def known_mask(y) -> np.ndarray:
    """Return which rows are known, of targets as the stages of the workflow store them.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Class codes (whole numbers, -1 = unlabeled) or values to predict (floats, NaN).

    Returns
    -------
    bool ndarray of shape (n_samples,)

    Examples
    --------
    >>> known_mask([1, -1, 0]).tolist(), known_mask([-1.0, np.nan]).tolist()
    ([True, False, True], [True, False])
    """
    y = np.asarray(y)
    return ~np.isnan(y) if y.dtype.kind == "f" else y >= 0


def class_columns(values, present, n_classes: int) -> np.ndarray:
    """Place the columns of the classes of a draw among those of all classes.

    Parameters
    ----------
    values : array of shape (n_samples, n_present)
    present : int array of shape (n_present,)
        Codes of the classes that were drawn.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        0 in the columns of classes that were not drawn.

    Examples
    --------
    >>> class_columns([[0.25, 0.75]], [0, 2], 3).tolist()
    [[0.25, 0.0, 0.75]]
    """
    out = np.zeros((len(values), n_classes))
    out[:, present] = values
    return out
