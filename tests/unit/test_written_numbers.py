"""Numbers written as text: where a dot or a comma stands between thousands."""

import numpy as np
import pytest

from fewfold.datasets.table.written_numbers import find_style, read_written


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["841 €", "249 €", "1.150 €"], [841, 249, 1150]),
        (["-900 €", "900 €", "-1.150 €"], [-900, 900, -1150]),
        (["2 kg", "1.250 kg"], [2, 1.25]),
        (["0.750 kg", "900 kg"], [0.75, 900]),
        (["1.899 €", "1.789 €"], [1.899, 1.789]),  # of a liter: nothing speaks against decimals
        (["1.234.567", "12"], [1234567, 12]),
        (["28", "27,5"], [28, 27.5]),
    ],
)
def test_a_dot_is_between_thousands_where_sizes_agree_so(cells, values):
    style = find_style(cells)
    np.testing.assert_allclose(read_written(np.array(cells, dtype=object), style), values)


def test_a_sign_that_the_user_gives_decides():
    assert find_style(["841 €", "1.150 €"], decimal=".")["thousands"] == ""
