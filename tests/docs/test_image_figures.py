"""The table of the notes on images shows what `benchmarks/images.py --csv` stored."""

from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
STORED = pd.read_csv(ROOT / "data/measured/images.csv")
# Cells of a row of the table, each of one or two methods.
CELLS = (
    ("views",),
    ("poisson, invariant", "spreading 0.99, invariant"),
    ("spreading 0.9, edges", "spreading 0.99, edges"),
    ("RBF SVM, pixels", "ExtraTrees, pixels"),
)


def rows_of_notes():
    """Return the cells of each row of the table by the name of the set and the labels."""
    found, name = {}, ""
    for line in (ROOT / "docs/notes/images.md").read_text().splitlines():
        cells = [cell.strip().replace("*", "") for cell in line.split("|")[1:-1]]
        if len(cells) == 2 + len(CELLS) and cells[1].isdigit():
            name = cells[0].split(" ")[0] or name
            found[name, int(cells[1])] = cells[2:]
    return found


@pytest.mark.parametrize("key", STORED.groupby(["set", "labels"]).groups, ids=str)
def test_notes_show_the_stored_figures(key):
    draws = STORED.set_index(["set", "labels"]).loc[key]
    assert len(draws) == 10
    for cell, names in zip(rows_of_notes()[key], CELLS, strict=True):
        if draws[list(names)].notna().all(axis=None):
            spread = f" ± {draws[names[0]].std(ddof=0):.2f}" if len(names) == 1 else ""
            assert cell == " / ".join(f"{draws[name].mean():.2f}" for name in names) + spread
