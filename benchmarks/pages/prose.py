"""Prose of generated pages in lines that people can read; tables and code stay as they are."""

import textwrap


def wrapped(page: str) -> str:
    """Break lines of prose above 120 characters; items of lists keep their indentation."""
    return "\n".join(map(_line, page.split("\n")))


def _line(line):
    if len(line) <= 120 or line.startswith(("|", " ", "#", "!")):
        return line
    hang = "  " if line.startswith("- ") else ""
    return textwrap.fill(
        line, 120, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )
