"""Warnings about data that make labels unreliable."""

from __future__ import annotations

import warnings

import numpy as np
import xxhash
from scipy import sparse

from fewfold.datasets.table.plan import SPREAD_RATIO
from fewfold.svm.folds import stratified_folds
from fewfold.system.wording import counted

LISTED = 20
FALSE_WARNINGS = 0.1  # probability of a warning about correct labels
LEAK_ACCURACY, LEAK_BY_NAME = 0.98, 0.95
MOST_CUT = 150  # labels whose best cuts are looked for
DRIFT_SHARE = 0.05
OFF = "off the labeled rows"


FEWEST_EXPECTED = 5  # rows that a class should have by its share of the labels


def note(kind: str, text: str, rows=()) -> dict:
    """Return a warning as a plain dict: its kind, message, and row numbers (from 0)."""
    return {"kind": kind, "text": text, "rows": [int(r) for r in rows]}


def _rows_words(rows, most=8):
    words = ", ".join(str(int(r) + 1) for r in rows[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"row{'s' * (len(rows) > 1)} {words}{more}"


def single_examples(y, classes) -> list[dict]:
    """Classes with one labeled row."""
    counts = np.bincount(y[y >= 0], minlength=len(classes))
    few = [classes[c] for c in np.flatnonzero(counts == 1)]
    if not few:
        return []
    shown = ", ".join(map(repr, few[:8])) + (" and more" if len(few) > 8 else "")
    return [
        note(
            "single example",
            f"{len(few)} class{'es have' if len(few) > 1 else ' has'} one labeled row only "
            f"({shown}): nothing can check what is learned about "
            f"{'them' if len(few) > 1 else 'it'}. Label a few more.",
            np.flatnonzero((y >= 0) & (counts[np.maximum(y, 0)] == 1)),
        )
    ]


def contradicting_duplicates(X, y) -> list[dict]:
    """Rows that are equal in all features and carry different labels."""
    rows = np.flatnonzero(y >= 0)
    seen: dict = {}
    for row in rows:
        one = X[[row]].toarray() if sparse.issparse(X) else X[row]
        key = xxhash.xxh3_128_digest(np.ascontiguousarray(one).tobytes())
        seen.setdefault(key, []).append(int(row))
    bad = [group for group in seen.values() if len({int(y[r]) for r in group}) > 1]
    if not bad:
        return []
    first = bad[0]
    return [
        note(
            "contradicting duplicates",
            f"{sum(map(len, bad))} labeled rows are equal in all features but differ in their "
            f"label (first: {_rows_words(first)}). At least one label of each group is wrong, or "
            "a feature is missing that tells them apart.",
            [r for group in bad for r in group],
        )
    ]


def uneven_scales(X, names=None) -> list[dict]:
    """Columns whose spread dominates all distances.

    Tables are standardized when they are read, unless switched off; arrays are
    used as they are.
    """
    if sparse.issparse(X) or X.shape[1] < 2:
        return []
    spread = np.asarray(X[:: max(1, len(X) // 5000)], dtype=np.float64).std(axis=0)
    live = np.flatnonzero(spread > 0)
    if not len(live) or spread[live].max() <= SPREAD_RATIO * np.median(spread[live]):
        return []
    widest = int(np.argmax(spread))
    name = f"{names[widest]!r}" if names else f"number {widest + 1}"
    return [
        note(
            "scales",
            f"The columns' spreads reach from {spread[live].min():.3g} to {spread[widest]:.3g} "
            f"(column {name}), so the columns of largest spread alone decide which rows are "
            "similar. Scale them first (tables: --scale standard), unless this is intended.",
        )
    ]


def unlabeled_components(component, y) -> list[dict]:
    """Parts of the graph that no label reaches."""
    component, y = np.asarray(component), np.asarray(y)
    with_label = np.unique(component[y >= 0])
    lost = np.setdiff1d(np.unique(component), with_label)
    if not len(lost):
        return []
    rows = np.flatnonzero(np.isin(component, lost))
    return [
        note(
            "no label reaches",
            f"{counted(len(rows), 'row', 'lies', 'lie')} in {counted(len(lost), 'separate group')} "
            f"of the data without any label ({_rows_words(rows)}): the labels there are guesses. "
            "Label one row of each group.",
            rows,
        )
    ]


def off_the_labeled(scales, y) -> list[dict]:
    """Unlabeled rows in less dense regions than any labeled row.

    If the labeled rows were drawn from all, m of them would leave about one row in m + 1 beyond
    their least dense one; five times that share, and 5 %, is a drift.

    Parameters
    ----------
    scales : array of shape (n,)
        Each row's distance to its last neighbor in the graph.
    y : int array of shape (n,)
    """
    scales, known = np.asarray(scales), np.asarray(y) >= 0
    if not known.any() or known.all():
        return []
    rows = np.flatnonzero(~known & (scales > scales[known].max()))
    share = len(rows) / np.sum(~known)
    if share <= max(DRIFT_SHARE, 5 / (known.sum() + 1)):
        return []
    rows = rows[np.argsort(-scales[rows], kind="stable")]
    return [
        note(
            OFF,
            f"Farther from their neighbors than any labeled row: {counted(len(rows), 'row')}, "
            f"{100 * share:.0f} % of those without a label ({_rows_words(rows)}). The data have "
            "drifted, and the expected error does not hold for these rows. Label some of them.",
            rows,
        )
    ]


def suspected_labels(rows, codes, probability, said, eligible, classes) -> list[dict]:
    """Given labels that are probably wrong, by their held-out predictions.

    The calibrated out-of-fold probability of a given label is tested against Holm's
    thresholds over all labels: where labels are right and probabilities calibrated, the chance
    of any warning is at most `FALSE_WARNINGS`.

    Parameters
    ----------
    rows, codes : int arrays of shape (m,)
        The labeled rows and their classes.
    probability : array of shape (m,)
        Out-of-fold probability of each given label.
    said : int array of shape (m,)
        The predicted class.
    eligible : bool array of shape (m,)
        Where every candidate predicts another class than the given one.
    classes : list of str
    """
    m, found = len(rows), []
    for rank, i in enumerate(np.argsort(probability, kind="stable")):
        if probability[i] > FALSE_WARNINGS / (m - rank):
            break
        if eligible[i]:
            found.append(i)
    if not found:
        return []
    words = "; ".join(
        f"row {rows[i] + 1}: {classes[codes[i]]!r}, looks like {classes[said[i]]!r}"
        for i in found[:LISTED]
    )
    return [
        note(
            "suspected labels",
            f"{len(found)} given label{'s' * (len(found) > 1)} may be wrong: {words}. "
            f"{'They were' if len(found) > 1 else 'It was'} used as given.",
            [rows[i] for i in found],
        )
    ]


def leaking_columns(columns: dict, y, names=()) -> list[dict]:
    """Single columns that leak the label, such as an id in the order of the classes.

    Parameters
    ----------
    columns : dict of name to array of shape (n,)
        Numbers; row names as their order; categories in the order of their most frequent class.
    y : int array of shape (n,)
    names : collection of str
        Columns that name the rows, which should not predict the label at all.
    """
    rows = np.flatnonzero(y >= 0)
    if len(rows) < 20:
        return []
    counts = np.bincount(y[rows])
    common, found = counts.max() / len(rows), []
    # At most a few thresholds per class: a column that needs more is a feature, not a leak.
    n_leaves = max(2, 2 * len(counts))
    for name, values in columns.items():
        values = np.nan_to_num(np.asarray(values, dtype=np.float64)[rows])
        limit = LEAK_BY_NAME if name in names else LEAK_ACCURACY
        # Most columns can be excluded quickly, by their training error.
        some = slice(None, None, len(rows) // MOST_CUT + 1)
        if _fewest_errors(values[some], y[rows][some], n_leaves) > (
            2 * (1 - limit) * len(rows[some]) + 1
        ):
            continue
        right = _held_out_share(values, y[rows], n_leaves)
        if right >= limit and right > common + 0.1:
            found.append((name, right))
    used = "If it would not be known for new rows (a code, the result itself), leave it out"
    unused = (
        "It only names the rows and is not used, so nothing need be done if the table is sorted by "
        "class. Otherwise check how the names, or the labels, were given."
    )
    return [
        note(
            "leakage",
            f"The column {name!r} alone predicts {100 * right:.0f} % of the labels. "
            + (unused if name in names else f"{used} (--drop {name})."),
        )
        for name, right in found
    ]


def categories_by_class(values, y) -> np.ndarray:
    """Return categories as numbers, in the order of their most frequent class among the labels.

    So few cuts part those of one class from those of another.

    Examples
    --------
    >>> categories_by_class(["b", "a", "b", "c"], np.array([0, 1, -1, 0])).tolist()
    [0, 2, 0, 1]
    """
    names, code = np.unique(np.asarray(values, dtype=str), return_inverse=True)
    known = np.asarray(y) >= 0
    counts = np.zeros((len(names), y[known].max(initial=0) + 1))
    np.add.at(counts, (code[known], y[known]), 1)
    place = np.empty(len(names), dtype=np.int64)
    place[np.lexsort((np.arange(len(names)), counts.argmax(axis=1)))] = np.arange(len(names))
    return place[code]


def _fewest_errors(values, codes, n_leaves: int) -> int:
    """Return the training errors of the best splits of one column into ``n_parts`` parts."""
    _, group = np.unique(values, return_inverse=True)
    counts = np.zeros((group.max() + 2, codes.max() + 1))
    np.add.at(counts, (group + 1, codes), 1)
    counts = counts.cumsum(axis=0)
    # right[i, j]: labels of the most frequent class among the values i to j - 1
    right = (counts[None] - counts[:, None]).max(axis=2)
    right[np.tril_indices(len(right), -1)] = -len(codes)
    best = right[0]
    for _ in range(n_leaves - 1):
        best = (best[:, None] + right).max(axis=0)
    return len(codes) - int(best[-1])


def _held_out_share(values, codes, n_leaves):
    """Return the cross-validated accuracy of a small tree on one column."""
    from sklearn.model_selection import cross_val_predict
    from sklearn.tree import DecisionTreeClassifier

    folds = stratified_folds(codes, 0)
    if folds is None:
        return 0.0
    tree = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are many classes is not news
        said = cross_val_predict(tree, values[:, None], codes, cv=folds)
    return np.mean(said == codes)


def skewed_labels(y, predicted, classes) -> list[dict]:
    """Class shares among the labels far from those among all rows."""
    given = np.bincount(y[y >= 0], minlength=len(classes))
    found = np.bincount(predicted[predicted >= 0], minlength=len(classes))
    p, q = given / max(given.sum(), 1), found / max(found.sum(), 1)
    gap = np.abs(p - q) - 3 * np.sqrt(np.maximum(q * (1 - q), 1e-9) / max(given.sum(), 1))
    c = int(np.argmax(gap))
    if gap[c] < 0.1:
        return []
    return [
        note(
            "labels not typical",
            f"{classes[c]!r} has {100 * p[c]:.0f} % of the labels but {100 * q[c]:.0f} % of all "
            "rows as labeled here. The expected error holds for rows like the labeled ones.",
        )
    ]


def classes_not_answered(y, predicted, classes) -> list[dict]:
    """Classes with labels that no other row is given, though by their share several should be."""
    known = y >= 0
    given = np.bincount(y[known], minlength=len(classes))
    found = np.bincount(predicted[~known], minlength=len(classes))
    expected = given / max(given.sum(), 1) * (~known).sum()
    lost = np.flatnonzero((found == 0) & (expected >= FEWEST_EXPECTED))
    if not len(lost):
        return []
    shown = ", ".join(f"{classes[c]!r} ({given[c]} labels)" for c in lost[:8])
    return [
        note(
            "class without rows",
            f"No row without label is labeled {shown}{' and more' if len(lost) > 8 else ''}: "
            "these labels do not separate it from the others. Its rows are most likely among those "
            "of low confidence: label some of them.",
        )
    ]
