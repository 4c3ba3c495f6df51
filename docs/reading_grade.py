"""Print the reading grade (Flesch-Kincaid) of README and tutorials; more than 10 is an error."""

import re
import sys
from pathlib import Path

import textstat

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *(ROOT / f"docs/{name}.md" for name in ("tutorial", "cluster", "add-a-method")),
    *sorted(ROOT.glob("docs/tutorials/*.md")),
]


def prose(page):
    """Return the sentences of a page: no code, tables, figures, headings or addresses."""
    text = re.sub(r"```.*?```", "", page, flags=re.S)
    text = re.sub(r"(?m)^(\||#|!\[|    ).*$", "", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "it", text)  # a name in code is one short word to a reader
    text = re.sub(r"(?m)^\s*[-*] ", "", text)
    return text.replace("*", "")


def main():
    """Print the grades; return 1 if one is above 10."""
    grades = {p: textstat.flesch_kincaid_grade(prose(p.read_text("utf-8"))) for p in PAGES}
    for page, grade in grades.items():
        print(f"{grade:5.1f}  {page.relative_to(ROOT)}")
    return int(max(grades.values()) > 10)


if __name__ == "__main__":
    sys.exit(main())
