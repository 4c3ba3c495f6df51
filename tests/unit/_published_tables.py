"""What the tables of data/published must hold: checked here once, not whenever they are read."""

from fewfold.exceptions import InputError
from fewfold.reproduce.published import (
    COLUMNS,
    KEYS,
    ROLES,
    UNITS,
    read_claims,
    read_published,
    read_roles,
)

SOURCES = ("text", "eye", "recovered", "drawn")  # drawn: in a picture only, value not known
RELATIONS = ("below", "at most")


def check_published(path):
    """Read the published values of one paper; raise for the first line that is wrong."""
    table = read_published(path)
    for line, row in enumerate(table.to_dict("records"), start=2):
        problem = _problem(row)
        if problem:
            raise InputError(f"{path}, line {line}: {problem}")
    named = [c for c in COLUMNS if c not in ("value", "spread", "note", "source")]
    twice = table[table.duplicated(named)]
    if len(twice):
        raise InputError(f"{path}, line {twice.index[0] + 2}: this cell stands there twice.")
    return table


def _problem(row):
    """Say what is wrong with a row, or return None."""
    if row["source"] not in SOURCES:
        return f"source {row['source']!r}; allowed: {', '.join(SOURCES)}."
    if row["tuned_on_test"] not in ("yes", "no", "unknown"):
        return f"tuned_on_test {row['tuned_on_test']!r}; allowed: yes, no, unknown."
    if (row["value"] == "") != (row["source"] == "drawn"):
        return "a value is missing exactly where the source is 'drawn'."
    for name in ("value", "spread"):
        if row[name] and not _is_number(row[name]):
            return f"{name} {row[name]!r} is not a number."
    given = [bool(row[c]) for c in ("our_dataset", "our_method", "our_n_labels")]
    if any(given) and not all(given):
        return "our_dataset, our_method, our_n_labels: give all three, or none."
    if all(given) and row["unit"] not in UNITS:
        return f"unit {row['unit']!r} has no counterpart; known are {', '.join(UNITS)}."
    if all(given) and not row["our_n_labels"].isdigit():
        return f"our_n_labels {row['our_n_labels']!r} is not a whole number."
    return None


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_claims(path):
    """Read the papers' statements; raise for the first line that is wrong."""
    table = read_claims(path)
    for line, row in enumerate(table.to_dict("records"), start=2):
        cell, value = bool(row["right_method"]), bool(row["right_value"])
        numbers = [row[c] for c in ("factor", "plus", "right_value") if row[c]]
        if row["relation"] not in RELATIONS:
            problem = f"relation {row['relation']!r}; allowed: {', '.join(RELATIONS)}."
        elif row["unit"] not in UNITS:
            problem = f"unit {row['unit']!r}; known are {', '.join(UNITS)}."
        elif row["paper"] not in KEYS or row["sharpest"] not in ("yes", "no"):
            problem = "paper must be a key, sharpest yes or no."
        elif cell == value:
            problem = "compare with a cell (right_dataset, ...) or with right_value, not both."
        elif not all(map(_is_number, numbers)):
            problem = "factor, plus and right_value are numbers."
        else:
            continue
        raise InputError(f"{path}, line {line}: {problem}")
    return table


def check_roles(path):
    """Read the roles of our methods; raise for the first line that is wrong."""
    table = read_roles(path)
    for line, row in enumerate(table.to_dict("records"), start=2):
        if row["paper"] not in KEYS or row["role"] not in ROLES:
            raise InputError(
                f"{path}, line {line}: paper {row['paper']!r}, role {row['role']!r}; roles are "
                f"{', '.join(ROLES)}."
            )
    return table
