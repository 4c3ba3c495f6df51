"""How columns of a table become features."""

import json

import numpy as np
import pandas as pd
import pytest

from fewfold.exceptions import InputError
from fewfold.labeling.preparation import plan_columns, prepare_columns


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    height = rng.normal(170, 10, 400)
    height[:20] = np.nan
    return pd.DataFrame(
        {
            "height": height,
            "income": np.exp(rng.normal(10, 2, 400)),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], 400),
            "constant": 1,
        }
    )


def test_columns_vary_alike_whatever_they_are(frame):
    plan = json.loads(json.dumps(plan_columns(frame)))
    X, names = prepare_columns(frame, plan)
    expected = ["height", "height missing", "income", "city=Bonn", "city=Oslo", "city=Rome"]
    assert names == expected
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(X[:, :3].std(axis=0), 1, atol=1e-8)
    assert X[:, 3:].var(axis=0).sum() == pytest.approx(1)


def test_ranks_of_a_skewed_column_keep_their_order_and_reach_new_rows(frame):
    plan = plan_columns(frame)
    X, names = prepare_columns(frame, plan)
    income = X[:, names.index("income")]
    assert abs(np.mean(income**3)) < 0.3
    order = np.argsort(frame["income"].to_numpy())
    assert (np.diff(income[order]) >= 0).all() and len(np.unique(income)) > 190
    new = frame.head(3).assign(income=[0.0, 1e12, frame["income"].median()], city="Lima")
    far, _ = prepare_columns(new, plan)
    position = names.index("income")
    assert far[0, position] == pytest.approx(income.min())
    assert far[1, position] == pytest.approx(income.max())
    assert abs(far[2, position]) < 0.05
    assert np.isfinite(far).all() and (far[:, 3:] < 0).all()


def test_columns_that_share_a_unit_keep_their_proportions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20)) * np.linspace(1, 2, 20)
    plan = plan_columns(pd.DataFrame(X))
    assert plan["unit"] is not None
    found, _ = prepare_columns(pd.DataFrame(X), plan)
    assert found[:, -1].std() > 1.5 * found[:, 0].std()
    mixed = pd.DataFrame(X * 10.0 ** (np.arange(20) % 5))
    assert plan_columns(mixed)["unit"] is None


def test_a_missing_column_is_named(frame):
    plan = plan_columns(frame)
    with pytest.raises(InputError, match="'city' is missing"):
        prepare_columns(frame.drop(columns="city"), plan)
