"""Links between pages hold; prose is short lines in the words of the field."""

import re
from pathlib import Path

import pytest

from _words import INSTEAD
from fewfold.methods.registry import methods

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        ROOT / "config/README.md",
        ROOT / "data/README.md",
    ]
)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def anchors(page):
    """Return the anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    plain = [re.sub(r"[^\w\- ]", "", h.lower()) for h in headings]
    return {h.strip().replace(" ", "-") for h in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text()):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        file = (page.parent / target).resolve()
        assert file.exists(), f"{page.name}: {target} is not there"
        if anchor and file.suffix == ".md":
            assert anchor[1:] in anchors(file), f"{page.name}: {target}{anchor} is not there"


# Words of code are those of `make lint`; pages have some more.
PRIVATE = INSTEAD | {
    r"laws?": "cost model",
    r"go(es)? on": "resumes, continues",
    r"surest": "most confident",
    r"licences?": "license",
}


def prose(page, tables=False):
    """Yield number and text of the lines that are neither code nor formula (nor table)."""
    code = formula = False
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        text = line.strip()
        if text.startswith("```"):
            code = not code
        elif text.startswith("$$") or formula:
            formula ^= text.count("$$") == 1
        elif not code and not line.startswith("    ") and (tables or text[:1] != "|"):
            yield number, line


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_of_prose_are_short(page):
    long = [f"line {n} has {len(line)}" for n, line in prose(page) if len(line) > 120]
    assert not long, f"{page.name}: at most 120 characters; " + ", ".join(long)


WITHOUT_TITLES = [page for page in PAGES if page.name != "references.md"]  # titles of papers


@pytest.mark.parametrize("page", WITHOUT_TITLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_words_are_those_of_the_field(page):
    found = []
    for number, line in prose(page, tables=True):
        plain = re.sub(r"`[^`]*`|\([^)]*\)", "", line)
        for word, better in PRIVATE.items():
            if re.search(rf"\b{word}\b", plain, re.I):
                found.append(f"line {number}: {word} (say {better})")
    assert not found, f"{page.name}: " + "; ".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_formulas_and_tables_are_read_as_such(page):
    """A display formula is a paragraph of its own; rows of a table have the cells of its head."""
    lines = ["", *page.read_text(encoding="utf-8").split("\n"), ""]
    code, cells, opened = False, 0, False
    for number, line in enumerate(lines):
        text = line.strip()
        code ^= text.startswith("```")
        if code:
            continue
        if text.count("$$") and text.startswith("$$") and not opened:
            assert not lines[number - 1].strip(), f"line {number}: no blank line before $$"
        opened ^= text.count("$$") == 1
        if text.endswith("$$") and not opened:
            assert not lines[number + 1].strip(), f"line {number}: no blank line after $$"
        found = len(re.findall(r"(?<!\\)\|", text)) if text.startswith("|") else 0
        assert not (cells and found) or cells == found, f"line {number}: cells of the table"
        cells = found


def test_the_reference_names_the_candidates_of_label():
    page = (ROOT / "docs/label-reference.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|([^|]*)\|", page.split("## Candidates")[1].split("## Warnings")[0], re.M)
    candidates = {c.name or m.name for m in methods().values() for c in m.candidates}
    assert set(re.findall(r"`([^`]+)`", " ".join(rows))) == candidates


def test_papers_named_in_the_code_are_in_the_references():
    listed = re.findall(r"^\| (\S+) \|", (ROOT / "docs/references.md").read_text("utf-8"), re.M)
    code = "\n".join(path.read_text("utf-8") for path in ROOT.glob("src/**/*.py"))
    assert set(re.findall(r"\[([a-z]+-\d{4})[],; ]", code)) <= set(listed)


def test_github_runs_the_parts_of_ci():
    """`.github/workflows/ci.yml` has each `make` target of `.ci/run`, in its order."""
    parts = re.findall(r"^make (\S+)$", (ROOT / ".ci/run").read_text(), re.M)
    listed = re.search(r"target: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text())
    assert listed and listed[1].split(", ") == parts


def test_the_site_lists_every_page_once():
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}
    assert len(listed) == len(set(listed))
    missing = {page for page in pages - set(listed) if not page.startswith("notes/")}
    assert not missing, f"Add to nav of mkdocs.yml: {missing}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_conflict_marks(page):
    assert not re.search(r"^(<<<<<<< |>>>>>>> )", page.read_text(encoding="utf-8"), re.M)


def test_readme_names_no_page_twice():
    targets = [target for target, _ in LINK.findall((ROOT / "README.md").read_text())]
    assert len(targets) == len(set(targets))
