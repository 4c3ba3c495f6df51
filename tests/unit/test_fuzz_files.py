"""Any CSV file: it becomes a dataset, or is refused with a fewfold error; nothing else happens.

More cases: FEWFOLD_FUZZ=5000 pytest -s tests/unit/test_fuzz_files.py
"""

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fewfold.datasets import describe, load
from fewfold.exceptions import FewfoldError, FewfoldWarning
from fewfold.labeling.intake import read_input
from fewfold.linalg.preparation import check_finite, fit_preparation

CASES = int(os.environ.get("FEWFOLD_FUZZ", "150"))
COUNTS = {"read": 0, "refused": 0}

CELLS = st.one_of(
    st.sampled_from(
        ["", "1", "2.5", "-3e4", "nan", "NaN", "inf", "-inf", "1e999", "NA", "null", "True", "x",
         "1,5", '"', '""', "'", "2024-01-01", "0x1F", "=1+1", "$(id)", "`id`", "../up", "a;b",
         "\x00", "y", "ä", "\ufeff", " 1 ", "9" * 400, "1_000", "١٢", "\r", "1\n2"]
    ),
    st.floats(width=32).map(str),
    st.integers(-5, 5).map(str),
    st.text(max_size=6),
)  # fmt: skip
HEADERS = st.one_of(st.sampled_from(["a", "b", "label", "id", "", "a b", "a;b", "1"]), CELLS)


@st.composite
def files(draw):
    """Bytes that look like a table, more or less."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    width, height = draw(st.sampled_from([1, 2, 2, 3, 3, 4])), draw(st.integers(0, 12))
    regular = draw(st.integers(0, 3)) > 0
    cell = st.integers(-9, 9).map(str) if draw(st.booleans()) else CELLS
    plain_header = draw(st.booleans())
    header = [f"c{i}" if plain_header else draw(HEADERS) for i in range(width - 1)] + ["label"]
    rows = [header]
    for _ in range(height):
        count = width if regular else draw(st.integers(0, width + 1))
        rows.append(
            [draw(cell) for _ in range(max(0, count - 1))]
            + [draw(st.sampled_from(["u", "v", "w", ""]))]
        )
    sep = draw(st.sampled_from([",", ",", ",", ";", "\t", "|"]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    encoding = draw(st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "latin-1", "utf-16"]))
    return end.join(sep.join(row) for row in rows).encode(encoding, "replace")


def read_for_the_workflow(path, target):
    shape = describe("file", path=str(path), target=target)
    data = load("file", path=str(path), target=target)
    assert data.X.shape == (shape.n_samples, shape.n_features)
    check_finite(data.X)
    fitted = fit_preparation(data.X, scale="standard")
    assert np.isfinite(np.asarray(fitted.project(fitted.rescale(data.X)))).all()


def read_for_the_label_command(path, target):
    read_input(path, target)


@settings(
    max_examples=CASES, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)  # fmt: skip
@given(files(), st.sampled_from(["label"] * 6 + ["a", "../up", ""]))
@example(b"", "label")
@example(b"label\n", "label")
@example(b"id,label\n0,u", "label")
@example(b"a,label\n1,u\n1e38,v\n-1e38,u\n", "label")
@example(b"a,label\n" + b"1,u\n" * 3, "label")
def test_any_file_is_read_or_refused(data, target):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FewfoldWarning)
        path = Path(folder) / "table.csv"
        path.write_bytes(data)
        for read in (read_for_the_workflow, read_for_the_label_command):
            try:
                read(path, target)
                COUNTS["read"] += 1
            except FewfoldError as error:
                assert len(str(error)) > 10
                COUNTS["refused"] += 1
        assert os.listdir(folder) == ["table.csv"]  # nothing was written beside it


def test_both_outcomes_were_met_and_counted():
    if not sum(COUNTS.values()):
        pytest.skip("nothing was counted yet: runs together with the tests before it in this file")
    print(f"\nfiles tried: {sum(COUNTS.values())} readings ({COUNTS})")
    assert min(COUNTS.values()) > 0
