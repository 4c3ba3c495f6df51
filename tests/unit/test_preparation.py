"""How columns of a table become features."""

import json

import numpy as np
import pandas as pd
import pytest

from fewfold.datasets.table.columns import is_number
from fewfold.datasets.table.marks import column_text
from fewfold.datasets.table.options import FileOptions, Request
from fewfold.datasets.table.reading import read_file
from fewfold.exceptions import InputError
from fewfold.labeling.preparation import (
    check_plan,
    plan_columns,
    prepare_columns,
)


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


def simple_columns(frame: pd.DataFrame) -> list[dict]:
    """Describe the columns of a table that no reader has planned: numbers, else categories."""
    columns = []
    for name in frame:
        if is_number(frame[name]):
            columns.append({"name": name, "kind": "number"})
        else:
            words = sorted({word for word in column_text(frame[name]).tolist() if word})
            columns.append({"name": name, "kind": "category", "categories": words})
    return columns


def planned(frame):
    return plan_columns(frame, simple_columns(frame))


def test_columns_vary_alike_whatever_they_are(frame):
    plan = json.loads(json.dumps(planned(frame)))
    X, names = prepare_columns(frame, simple_columns(frame), plan)
    expected = ["height", "height missing", "income", "city=Bonn", "city=Oslo", "city=Rome"]
    assert names == expected
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(X[:, :3].std(axis=0), 1, atol=1e-5)
    assert X[:, 3:].var(axis=0).sum() == pytest.approx(1)


def test_ranks_of_a_skewed_column_keep_their_order_and_reach_new_rows(frame):
    plan = planned(frame)
    X, names = prepare_columns(frame, simple_columns(frame), plan)
    income = X[:, names.index("income")]
    assert abs(np.mean(income**3)) < 0.3
    order = np.argsort(frame["income"].to_numpy())
    assert (np.diff(income[order]) >= 0).all() and len(np.unique(income)) > 190
    new = frame.head(3).assign(income=[0.0, 1e12, frame["income"].median()], city="Lima")
    far, _ = prepare_columns(new, simple_columns(frame), plan)
    position = names.index("income")
    assert far[0, position] == pytest.approx(income.min())
    assert far[1, position] == pytest.approx(income.max())
    assert abs(far[2, position]) < 0.05
    assert np.isfinite(far).all() and (far[:, 3:] < 0).all()


def test_columns_that_share_a_unit_keep_their_proportions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20)) * np.linspace(1, 2, 20)
    plan = planned(pd.DataFrame(X))
    assert plan["unit"] is not None
    found, _ = prepare_columns(pd.DataFrame(X), simple_columns(pd.DataFrame(X)), plan)
    assert found[:, -1].std() > 1.5 * found[:, 0].std()
    mixed = pd.DataFrame(X * 10.0 ** (np.arange(20) % 5))
    assert planned(mixed)["unit"] is None


def test_a_missing_column_is_named(frame):
    plan = planned(frame)
    with pytest.raises(InputError, match="'city' is missing"):
        prepare_columns(frame.drop(columns="city"), simple_columns(frame), plan)


def test_a_file_is_prepared_as_its_reader_understands_it(frame, tmp_path):
    days = pd.date_range("2024-01-01", periods=len(frame)).astype(str)
    frame = frame.assign(
        number=np.arange(len(frame)), day=days, note=["good wine", "bad wine"] * 200,
        code=np.where(np.arange(len(frame)) % 7 == 0, "", frame["income"].round(2).astype(str)),
    )  # fmt: skip
    frame.loc[:30, "city"] = None
    frame.assign(kind="a").to_csv(tmp_path / "table.csv", index=False)
    options = FileOptions(target="kind", expand=["day", "note"], keep_constant=False)
    content = read_file(tmp_path / "table.csv", Request(options))
    columns = content.plan.columns
    plan = check_plan(json.loads(json.dumps(plan_columns(content.frame, columns))), columns)
    X, names = prepare_columns(content.frame, columns, plan)
    assert X.shape == (400, len(names)) and np.isfinite(X).all()
    assert "number" not in names and "constant" not in names  # names the rows; never changes
    assert {"code missing", "height missing"} <= set(names)
    for prefix in ("city=", "day: ", "note: "):
        part = [j for j, name in enumerate(names) if name.startswith(prefix)]
        assert X[:, part].var(axis=0).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 0.0}, {"scale": "wide"}, {"type": "number"}, {"name": 3}, {"means": [0.5]},
        {"means": ["a", "b", "c"]}, {"means": None},
    ],
)  # fmt: skip
def test_a_plan_of_a_strange_file_is_refused(frame, change):
    plan, columns = planned(frame[["city"]]), simple_columns(frame)
    assert check_plan(plan, columns) is plan
    plan["columns"][0].update(change)
    with pytest.raises(InputError):
        check_plan(plan, columns)
    income = planned(frame[["income"]])
    income["columns"][0]["quantiles"][3] = -1e9
    with pytest.raises(InputError, match="rising"):
        check_plan(income, columns)
