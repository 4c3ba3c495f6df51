"""Every form of input in the table is read rightly, or one more command gets there."""

from pathlib import Path

import numpy as np
import pytest
from _input_forms import FORMS, N, page, read

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


def test_there_are_enough_forms():
    assert len(FORMS) >= 30 and len({form.name for form in FORMS}) == len(FORMS)


def test_the_page_is_what_its_command_writes():
    assert (ROOT / "docs/inputs.md").read_text(encoding="utf-8") == page()
