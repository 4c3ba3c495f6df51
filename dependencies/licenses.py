"""Write docs/licenses.md: the license of every package that fewfold needs when it runs.

`make licenses` runs this. It ends with an error, and writes nothing, if a package says nothing
about its license or has one of the GPL family only.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).resolve().parents[1] / "docs" / "licenses.md"

HEADER = """# Licenses of what fewfold needs

Made by `make licenses` from the metadata of the installed packages: all that fewfold needs on
Linux. A package under the GPL alone is refused (`tests/unit/test_dependencies.py`).

| package | license | needed by |
| --- | --- | --- |
"""

# Packages whose metadata name the GPL for parts that are not installed.
EXCUSED = {
    "docutils": "BSD-2-Clause and others; the GPL is of its Emacs mode only",
}


def closure(package="fewfold"):
    """Packages needed at run time: {name: names of those that need it}."""
    found, waiting = {}, [(package, "", frozenset())]
    seen = set()
    while waiting:
        name, parent, extras = waiting.pop()
        found.setdefault(name, set()).add(parent)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for text in metadata.requires(name) or ():
            need = Requirement(text)
            environments = [{"extra": extra} for extra in (extras or {""})]
            if need.marker is None or any(need.marker.evaluate(e) for e in environments):
                child = canonicalize_name(need.name)
                waiting.append((child, name, frozenset(need.extras)))
    del found[package]
    return found


def license_of(name):
    """What a package says of its license, in short; an empty text if nothing."""
    about = metadata.metadata(name)
    if about.get("License-Expression"):
        return about["License-Expression"]
    classifiers = [
        c.split(" :: ")[-1] for c in about.get_all("Classifier", []) if c.startswith("License")
    ]
    text = (about.get("License") or "").strip().splitlines()
    short = text[0].strip() if text and len(text[0]) < 60 else ""
    named = [c for c in classifiers if c != "OSI Approved"]
    return " or ".join(named) or short or _first_line(name)


def _first_line(name):
    """The title of the license file that a package brings with it."""
    for file in metadata.files(name) or ():
        if file.name.upper().startswith("LICEN"):
            return file.read_text().strip().splitlines()[0]
    return ""


def is_refused(license):
    """Whether a license is unknown, or of the GPL family (the LGPL too) without an alternative."""
    choices = re.split(r"\bor\b", license, flags=re.IGNORECASE)
    return not license or all(
        re.search(r"GPL|GNU|General Public", text) for text in choices if text.strip()
    )


def table():
    """Rows of (package, license, needed by), without versions: these are in dev.lock."""
    return [
        (name, EXCUSED.get(name) or license_of(name), ", ".join(sorted(parents)))
        for name, parents in sorted(closure().items())
    ]


def page(rows):
    return HEADER + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main():
    rows = table()
    bad = [
        f"{name} ({license or 'says nothing'})"
        for name, license, _ in rows
        if name not in EXCUSED and is_refused(license)
    ]
    if bad:
        sys.exit(f"License not allowed at run time: {', '.join(bad)}. Remove the dependency.")
    PAGE.write_text(page(rows), encoding="utf-8")
    print(f"{PAGE.relative_to(Path.cwd())}: {len(rows)} packages, none under the GPL alone")


if __name__ == "__main__":
    main()
