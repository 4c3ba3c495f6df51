"""Counts in messages: a noun and its verb agree with the number."""


def plural(count: int, noun: str) -> str:
    """Return the noun, in the plural where needed.

    >>> plural(1, "row"), plural(0, "empty cell")
    ('row', 'empty cells')
    """
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str, one: str = "", many: str = "") -> str:
    """Return a count and its noun, and the verb that fits.

    >>> counted(1, "row"), counted(2, "row"), counted(1, "row", "lies", "lie")
    ('1 row', '2 rows', '1 row lies')
    """
    return f"{count} {plural(count, noun)} {one if count == 1 else many}".rstrip()
