"""Take the pictures of the two reports that the pages show, in a headless Chromium.

    fewfold run                                  # the default comparison
    fewfold label wines.csv --target grower      # the table of docs/tutorial.md
    python benchmarks/pages/report_pictures.py results/report/index.html wines-labels/report.html

Needs ``chromium`` on PATH.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from _report_chromium import Page  # noqa: E402

PICTURES = {"report.png": 1180, "label-report.png": 960}  # name: height; both are 1180 wide


def main(pages):
    """Write the top of each page into docs/images."""
    for (name, height), path in zip(PICTURES.items(), pages, strict=True):
        with Page(Path(path).resolve().as_uri(), width=1180, height=height) as page:
            page.frame()
            page.screenshot(ROOT / "docs/images" / name, whole=False)


if __name__ == "__main__":
    main(sys.argv[1:])
