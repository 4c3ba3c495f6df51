"""How the columns of a table become features: a plan of plain values, stored as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fewfold.datasets.registry import nearest
from fewfold.datasets.table.columns import (
    CONSTANT,
    LEFT_OUT,
    NAMES_ROWS,
    TYPES,
    Wish,
    describe_column,
    describe_plain_numbers,
    is_number,
    number_column,
)
from fewfold.datasets.table.encoding import COLUMN_TYPES, count_features
from fewfold.datasets.table.marks import column_text
from fewfold.datasets.table.messages import Place, listed
from fewfold.datasets.table.written_numbers import numbers_among, style_words
from fewfold.exceptions import InputError
from fewfold.system.wording import counted

SCALES = ("auto", "standard", "none")
# Spreads that differ by more than this: large columns would drown the others in any distance.
SPREAD_RATIO = 5.0
MANY = 0.4  # share of numbers from which a column of codes is named
MOST_LOOKED_AT = 2000  # rows, for that
FEWEST_NAMES = 20  # rows from which whole numbers that all differ may be names
AS_ASKED = LEFT_OUT
SCALED = "Number columns are standardized (mean 0, standard deviation 1)"
_WORDS = {
    "date": "dates, which become years, season, weekday and, where given, hour",
    "text": "free text, which becomes the main directions of its weighted words (TF-IDF, SVD)",
    "code": "names or codes of many kinds, compared by their letters",
    "vector": "lists of numbers, used as they are",
}


@dataclass(frozen=True)
class TablePlan:
    """How a table's columns are used.

    Attributes
    ----------
    columns : list of dict
        Those that become features, each with ``name``, ``kind`` and what its encoding needs.
    id_column : str or None
        Names the rows of the answer.
    ignored : list of (name, reason)
    notes : list of str
        What else a reader should know, in words.
    """

    columns: list
    id_column: str | None = None
    ignored: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    @property
    def n_features(self) -> int:
        """How many features the columns become."""
        return count_features(self.columns)

    @property
    def constant(self) -> set:
        """Columns left out because they never change."""
        return {name for name, why in self.ignored if why == CONSTANT}

    @property
    def naming(self) -> list:
        """All columns that name the rows."""
        return [name for name, why in self.ignored if why == NAMES_ROWS]

    def sentences(self, n_rows: int) -> list[str]:
        """Say in plain words what was understood."""
        parts = []
        for kind in COLUMN_TYPES:
            names = [c["name"] for c in self.columns if c["kind"] == kind]
            if names:
                plural = "s" if len(names) > 1 else ""
                parts.append(f"{len(names)} {kind} column{plural} ({listed(names)})")
        lines = [f"{n_rows} rows; features: {', '.join(parts)}."]
        if self.id_column:
            lines.append(f"Rows are named by the column {self.id_column!r}.")
        others = [(name, why) for name, why in self.ignored if name != self.id_column]
        for why in dict.fromkeys(why for _, why in others):
            lines.append(f"Not used: {listed([n for n, w in others if w == why])} ({why}).")
        return [*lines, *self.notes]


def understand_table(
    frame,
    target: str | None,
    *,
    place: Place | None = None,
    ids: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    expand: Sequence[str] = (),
    keep: Sequence[str] = (),
    types: dict | None = None,
    decimal: str | None = None,
    keep_constant: bool = False,
) -> TablePlan:
    """Decide what each column of a table is.

    Parameters
    ----------
    frame : pandas.DataFrame
    target : str or None
        The label column, which is not a feature.
    place : Place, optional
        For messages.
    ids : str, optional
        The column that names the rows; found by its name and values if not given.
    drop, features : sequence of str
        Columns to leave out, or the only ones to use.
    expand : sequence of str
        Columns of free text, even if they look like categories.
    keep : sequence of str
        Columns to use even if they look like names of the rows.
    types : dict of column to type
        See `fewfold.datasets.table.columns.TYPES`.
    decimal : {".", ","}, optional
        The decimal sign of numbers that are written as text.
    keep_constant : bool
        Use columns of numbers that never change.

    Returns
    -------
    TablePlan

    Raises
    ------
    InputError
        Naming every column that cannot be used as it is, or if no feature is left.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": [7, 8, 9], "size": [1.0, 2.5, 2.0], "kind": list("aba")})
    >>> plan = understand_table(frame, None)
    >>> plan.id_column, [c["kind"] for c in plan.columns]
    ('id', ['number', 'category'])
    """
    place = place or Place()
    types = dict(types or {})
    named = [*([] if ids is None else [ids]), *drop, *(features or ()), *expand, *keep, *types]
    _check_named(frame, named, place)
    _check_types(types, decimal, place)
    used = [c for c in (features or frame.columns) if c not in (target, ids) and c not in drop]
    ignored = [(name, AS_ASKED) for name in drop]
    if ids is not None:
        ignored.append((ids, NAMES_ROWS))
    columns, problems = [], {}
    ready = describe_plain_numbers(frame, [n for n in used if n not in types])
    for name in used:
        found = ready.get(name)
        if found is None:
            wish = Wish(types.get(name), name in keep, keep_constant, decimal)
            try:
                found = _described(name, frame[name], place, wish, name in expand)
            except InputError as error:
                problems[name] = error
                continue
        if found["kind"] not in ("id", "unused"):
            columns.append(found)
            continue
        ignored.append((name, found["why"]))
        if found["kind"] == "id" and ids is None:
            ids = name
    _raise_all(problems, place)
    plan = TablePlan(columns, ids, ignored)
    if not columns:
        plan = _use_the_id(plan, frame, place)
    notes = [
        *_notes_on_reading(plan.columns),
        *([] if decimal else _notes_on_decimals(plan.columns, frame, place)),
        *_notes_on_codes(plan.columns, frame, place),
        *_notes_on_names(plan, frame, place),
        *_notes_on_gaps(plan.columns),
    ]
    return replace(plan, notes=notes)


def _described(name, series, place, wish, expand):
    found = describe_column(name, series, place, wish)
    if expand and found["kind"] != "date":
        found = describe_column(name, series, place, replace(wish, type="text"))
    return found


def _check_types(types, decimal, place):
    for name, kind in types.items():
        if kind not in TYPES:
            given = place.option("types", [f"{name}={kind}"])
            raise InputError(f"{place.where}: {given}; allowed types: {', '.join(TYPES)}.")
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal={decimal!r}; allowed: '.' and ','.")


def _raise_all(problems: dict, place) -> None:
    """Raise what is wrong with the columns: all of it, with one command that leaves them out."""
    if not problems:
        return
    first = next(iter(problems.values()))
    if len(problems) == 1:
        raise first
    shown = [f"({i}) {error}" for i, error in enumerate(list(problems.values())[:8], start=1)]
    more = f" And {len(problems) - 8} more." if len(problems) > 8 else ""
    drop = place.option("drop", list(problems))
    numbers = ""
    if all("=number" in str(error) for error in problems.values()):
        asked = place.option("types", [f"{name}=number" for name in problems])
        numbers = f" To take the cells that are not numbers as empty: {asked}"
    raise InputError(
        f"{place.where}: {len(problems)} columns cannot be used as they are. {' '.join(shown)}"
        f"{more} To leave all of them out: {drop}{numbers}"
    ) from first


def _notes_on_reading(columns):
    """Say how cells were understood that are not plain numbers and categories."""
    lines, styles = [], {}
    for c in columns:
        if "written" in c and (words := style_words(c["written"])):
            styles.setdefault(words, []).append(c["name"])
    for words, names in styles.items():
        lines.append(f"Numbers of {listed(names)} are read from text: {words}.")
    others = {c["name"]: c["n_others"] for c in columns if c.get("others_empty")}
    if others:
        cells = counted(sum(others.values()), "cell")
        lines.append(f"Taken as empty, since not a number: {cells} of {listed(list(others))}.")
    grouped = [c["name"] for c in columns if c.get("other")]
    if grouped:
        lines.append(f"Rare categories of {listed(grouped)} are taken together.")
    for kind, words in _WORDS.items():
        names = [c["name"] for c in columns if c["kind"] == kind]
        if names:
            lines.append(f"{listed(names)}: {words}.")
    return lines


def _notes_on_decimals(columns, frame, place):
    """Name columns with decimal points beside ones with decimal commas: 1.150 may be 1150."""
    commas = [c["name"] for c in columns if c.get("written", {}).get("decimal") == ","]
    if not commas:
        return []
    points = [
        c["name"]
        for c in columns
        if c["kind"] == "number" and "written" not in c and _thousandths(frame[c["name"]])
    ]
    if not points:
        return []
    comma = place.option("decimal", ",")
    return [
        f"{listed(points)}: read with decimal points, {listed(commas)} with decimal commas. If "
        f"the points are between thousands, give the decimal sign ({comma})."
    ]


def _thousandths(series):
    """Whether numbers may be whole ones with a point between thousands: 1.15 for 1.150."""
    if not is_number(series):
        return False
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    values = 1000 * values[np.isfinite(values)]
    whole = np.abs(values - np.rint(values)) < 1e-6
    return bool(whole.all() and (values % 1000 > 0.5).any())


def _notes_on_codes(columns, frame, place):
    """Name columns that are numbers in many cells, but not alike enough to be read as such."""
    lines = []
    for name in (c["name"] for c in columns if c["kind"] == "code"):
        cells = [cell for cell in column_text(frame[name].iloc[:MOST_LOOKED_AT]) if cell]
        count, units, other = numbers_among(cells)
        if count < MANY * len(cells):
            continue
        if len(units) > 1:
            lines.append(
                f"{name!r}: numbers of several units ({listed(units)}). To use them as numbers, "
                "write all in one unit."
            )
        else:
            asked = place.option("types", [f"{name}=number"])
            lines.append(
                f"{name!r}: {count} of {counted(len(cells), 'cell')} are numbers, others such as "
                f"{other!r} are not. To use the numbers, write all cells alike, or take the "
                f"others as empty ({asked})."
            )
    return lines


def _notes_on_names(plan, frame, place):
    """Name a column of numbers that may be the rows' names, where nothing else is."""
    if plan.id_column is not None or len(frame) < FEWEST_NAMES:
        return []
    found = [
        c["name"]
        for c in plan.columns
        if c["kind"] == "number" and _is_different_everywhere(frame[c["name"]])
    ]
    if len(found) != 1 or len(plan.columns) == 1:
        return []
    return [
        f"{found[0]!r}: a different whole number in each row, used as a number. If it only names "
        f"the rows: {place.option('ids', found)}"
    ]


def _is_different_everywhere(series):
    is_whole = getattr(series.dtype, "kind", "") in "iu"
    return is_whole and series.iloc[:FEWEST_NAMES].is_unique and series.is_unique


def _check_named(frame, names, place):
    for name in names:
        if name not in frame.columns:
            guess = nearest(str(name), [str(n) for n in frame.columns])
            hint = f" Did you mean {guess!r}?" if guess else ""
            raise InputError(
                f"{place.where}: no column {name!r}.{hint} "
                f"Columns: {listed(list(frame.columns), 12)}."
            )


def _use_the_id(plan, frame, place):
    """Take the numbers that name the rows as the feature, where there is nothing else."""
    name = plan.id_column
    if name is not None and is_number(frame[name]):
        only = number_column(name, frame[name], place)
        if only["kind"] == "number":
            return TablePlan([only], None, [(n, w) for n, w in plan.ignored if n != name])
    left = "; ".join(f"{n!r}: {w}" for n, w in plan.ignored[:5])
    raise InputError(
        f"{place.where}: no column is left for features "
        f"({left or 'the target is the only column'}). "
        "Give a table with at least one column of numbers or categories besides the target."
    )


def _notes_on_gaps(columns):
    gaps = {c["name"]: c["n_missing"] for c in columns if c.get("n_missing")}
    if not gaps:
        return []
    cells = counted(sum(gaps.values()), "empty cell", "is", "are")
    return [f"{cells} filled with the column's median, in {listed(list(gaps))}."]


def choose_scaling(plan: TablePlan, scale: str = "auto", is_image: bool = False) -> TablePlan:
    """Set each number column's offset and factor; say so in the notes where they change anything.

    ``auto`` standardizes when the spreads of the number columns differ by more than
    `SPREAD_RATIO` from their median, or when there are categories too (which are 0 or 1).
    """
    if scale not in SCALES:
        raise InputError(f"scale={scale!r}; allowed: {', '.join(SCALES)}.")
    numbers = [c for c in plan.columns if c["kind"] == "number"]
    spreads = np.array([c["spread"] for c in numbers if c["spread"] > 0])
    mixed = len(numbers) < len(plan.columns)
    uneven = len(spreads) and spreads.max() > SPREAD_RATIO * float(np.median(spreads))
    standard = scale == "standard" or (
        scale == "auto" and not is_image and bool(len(spreads)) and bool(uneven or mixed)
    )
    columns = [_scaled(c, standard) if c["kind"] == "number" else c for c in plan.columns]
    notes = list(plan.notes)
    if standard:
        why = "as asked" if scale == "standard" else "there are categories too"
        if uneven:
            why = f"their spreads reach from {spreads.min():.3g} to {spreads.max():.3g}"
        notes.append(f"{SCALED} ({why}).")
    return replace(plan, columns=columns, notes=notes)


def _scaled(column, standard):
    if not standard:
        return {**column, "offset": 0.0, "factor": 1.0}
    spread = column["spread"] or 1.0
    return {**column, "offset": column["mean"], "factor": 1 / spread}


def keep_pixels(plan: TablePlan, frame, image_shape, place: Place) -> TablePlan:
    """Put pixels that never change back in their place: they are part of the image."""
    constant = {name for name in plan.constant if is_number(frame[name])}
    if len(plan.columns) + len(constant) != int(np.prod(image_shape)):
        return plan
    known = {c["name"]: c for c in plan.columns}
    columns = []
    for name in frame.columns:
        if name in known:
            columns.append(known[name])
        elif name in constant:
            pixel = number_column(name, frame[name], place, keep_constant=True)
            columns.append(_scaled(pixel, standard=False))
    ignored = [(n, w) for n, w in plan.ignored if n not in constant]
    return replace(plan, columns=columns, ignored=ignored)
