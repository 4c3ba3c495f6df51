"""A few hundred cases of the fuzz of contents; `make fuzz` runs 5000."""

import pytest

from fuzz_contents import KINDS, fuzz


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fewfold.exceptions.FewfoldWarning")
def test_changed_contents_are_used_or_refused():
    counts, faults = fuzz(10 * len(KINDS), seed=7, echo=lambda text: None)
    assert not faults, faults
    assert sum(sum(count.values()) for count in counts.values()) == 10 * len(KINDS)
    # A fuzzer that only makes nonsense, or changes nothing, would find nothing.
    assert sum(count["used"] for count in counts.values()) > 50
    assert sum(count["refused"] for count in counts.values()) > 100
