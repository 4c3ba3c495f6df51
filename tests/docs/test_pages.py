"""Links between pages hold."""

import re
from pathlib import Path

import pytest

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
