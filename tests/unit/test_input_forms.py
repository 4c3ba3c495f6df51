"""Every form of input in the table is read rightly, or one more command gets there."""

from pathlib import Path

import numpy as np
import pytest
from _input_forms import FORMS, N, page, read

from fewfold.datasets import frames, stored_tables
from fewfold.exceptions import InputError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_form(form, tmp_path):
    if form.refused:
        with pytest.raises(InputError, match=form.refused):
            read(form, tmp_path, form.options)
        if form.then:
            assert len(read(form, tmp_path, form.then).labeled) == form.labeled
        return
    found = read(form, tmp_path, form.options)
    assert found.X.shape[0] == N and len(found.labeled) == form.labeled
    assert np.isfinite(found.X).all()
    kinds = {c["name"]: c["kind"] for c in found.plan.columns} if found.plan else {}
    assert form.kinds.items() <= kinds.items()
    said = " ".join(found.sentences)
    for words in form.says:
        assert words in said


@pytest.mark.parametrize(
    "form", [form for form in FORMS if not form.refused], ids=lambda form: form.name
)
def test_a_large_table_is_read_as_a_small_one(form, tmp_path, monkeypatch):
    small = read(form, tmp_path, form.options)
    monkeypatch.setattr(frames, "LARGE_BYTES", 0)
    monkeypatch.setattr(stored_tables, "BLOCK_BYTES", 300)
    large = read(form, tmp_path, form.options)
    np.testing.assert_array_equal(large.X, small.X)
    np.testing.assert_array_equal(large.y, small.y)
    assert large.sentences == small.sentences
    assert large.ids == small.ids and large.feature_names == small.feature_names
    if small.plan is not None:
        assert large.plan.columns == small.plan.columns


def test_there_are_enough_forms():
    assert len(FORMS) >= 30 and len({form.name for form in FORMS}) == len(FORMS)


def test_the_page_is_what_its_command_writes():
    assert (ROOT / "docs/inputs.md").read_text(encoding="utf-8") == page()
