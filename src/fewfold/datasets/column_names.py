"""Names of a table's columns: their checks, and errors that list them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fewfold.datasets.registry import nearest
from fewfold.exceptions import InputError

MOST_COLUMNS = 200_000


def check_names(file: Path, names: Sequence[str]) -> list[str]:
    """Refuse duplicate column names and too many; name the nameless by their place."""
    names = named(file, names)
    for name, count in Counter(names).items():
        if count > 1:
            places = [str(i) for i, n in enumerate(names, 1) if n == name]
            raise InputError(
                f"{file}: column name {name!r} occurs {count} times (columns "
                f"{', '.join(places)}). Names must differ: rename or remove all but one."
            )
    return names


def named(file: Path, names: Sequence[str]) -> list[str]:
    """Refuse too many columns; name the nameless by their place."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{file}: has {len(names)} columns; allowed in a table: {MOST_COLUMNS}. Save it as an "
            "array (NPZ or HDF5), where a column takes 8 bytes per row and nothing besides."
        )
    return [str(n).strip() or f"column_{i}" for i, n in enumerate(names, 1)]


def numbered(names: Sequence[str]) -> list[str]:
    """Tell columns of one name apart as pandas does.

    >>> numbered(["a", "b", "a"])
    ['a', 'b', 'a.1']
    """
    taken, found = set(names), []
    seen: Counter = Counter()
    for name in names:
        new = name
        while seen[name] and new in taken:
            new, seen[name] = f"{name}.{seen[name]}", seen[name] + 1
        seen[name] += new == name
        taken.add(new)
        found.append(new)
    return found


def check_wanted(file: Path, names: Sequence[str], only) -> None:
    """Refuse options that name columns which do not exist."""
    known = set(names)  # a list would be searched once per column, of which there may be many
    for name in only or ():
        if name not in known:
            raise missing_column(file, name, names)


def missing_column(file: Path, name: str, names: Sequence[str], what: str = "column") -> InputError:
    """Build the error for a column that is not there, with the nearest name."""
    guess = nearest(name, names)
    hint = f" Did you mean {guess!r}?" if guess else ""
    if not guess and sum(map(is_number, names)) >= len(names) / 2:
        hint = f" The first line looks like data; {name_command(file, len(names))}"
    return InputError(f"{file}: no {what} {name!r}.{hint} Columns: {some_names(names)}.")


def name_command(file: Path, n_columns: int) -> str:
    """Return a command that writes a text table again with names of its columns."""
    new = file.with_name(f"{file.stem}_named.csv")
    return (
        f"to add names to it: (seq -s, -f column_%g {n_columns}; cat {str(file)!r}) > "
        f"{str(new)!r} (with the delimiter of the file instead of the comma)."
    )


def is_number(text: str) -> bool:
    """Whether a cell is a plain number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def some_names(names: Sequence[str], most: int = 12) -> str:
    """List the first columns."""
    return ", ".join(map(str, names[:most])) + (", ..." if len(names) > most else "")
