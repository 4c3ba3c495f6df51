"""What a message about a table has to name: the file, the line, and the option to use."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a table comes from, and how its reader's options are written there.

    Attributes
    ----------
    where : str
        The file.
    command : bool
        Options are those of a command (``--drop a``), not of Python or a config (``drop=['a']``).
    line_of : callable, optional
        From a row, counted from 0, to its line in a text file (or None).
    first : int
        The first row of a block that is read by itself.

    Examples
    --------
    >>> Place("my.csv").cell(2, "size")
    "my.csv, row 3, column 'size'"
    >>> Place(command=False).option("drop", ["size"]), Place().option("drop", ["size"])
    ("drop=['size']", '--drop size')
    """

    where: str = "the file"
    command: bool = True
    line_of: Callable[[int], int | None] | None = None
    first: int = 0

    def cell(self, row: int, column: str) -> str:
        """Name a cell; rows are counted from 0 here and from 1 in the message."""
        row += self.first
        line = None if self.line_of is None else self.line_of(row)
        found = "" if line is None else f" (line {line})"
        return f"{self.where}, row {row + 1}{found}, column {column!r}"

    def option(self, name: str, values: Sequence) -> str:
        """Write an option as the reader of the message would."""
        if self.command:
            flag = f"--{name.replace('_', '-')}"
            if name == "image_shape":
                return f"{flag} {' '.join(map(str, values))}"
            return " ".join(f"{flag} {shlex.quote(str(value))}" for value in values)
        return f"{name}={(values[0] if name in ('ids', 'decimal') else list(values))!r}"


def listed(names: Sequence, most: int = 4) -> str:
    """Quote the first names, and count the others.

    >>> listed("abcde", 2)
    "'a', 'b' and 3 more"
    """
    words = ", ".join(map(repr, names[:most]))
    return words if len(names) <= most else f"{words} and {len(names) - most} more"
