"""Who leads, who is as good, and how numbers read."""

import math
import re

import numpy as np
import pytest
from _report_content import content, rows_of, tables

from fewfold.report import _svg, curves
from fewfold.report import tables as report_tables
from fewfold.report.content import ReportContent, where
from fewfold.report.findings import (
    leaders,
    main_metric,
    mean_times,
    number,
    ordered,
    plain,
    what_was_run,
)


def compare(*rows):
    return rows_of("comparisons", *(("d", 10, a, b, "error", -0.1, p / 2, p) for a, b, p in rows))


def test_leader_and_its_equals():
    metrics, summary = tables("d", "error", {"a": 0.2, "b": 0.1, "c": 0.3, "e": 0.4}, (10,))
    tests = compare(("b", "a", 0.4), ("c", "b", 0.01), ("a", "c", 0.9), ("b", "e", math.nan))
    (leader,) = leaders(ReportContent(metrics, summary, tests), "d")
    assert (leader.method, leader.n_labeled, leader.trials) == ("b", 10, 4)
    assert leader.mean == pytest.approx(0.1)
    assert leader.ties == ("a",) and leader.worse == ("c",) and leader.untested == ("e",)


def test_p_value_of_exactly_five_per_cent_is_not_significant():
    metrics, summary = tables("d", "error", {"a": 0.1, "b": 0.2}, (10,))
    (leader,) = leaders(ReportContent(metrics, summary, compare(("a", "b", 0.05))), "d")
    assert leader.ties == ("b",)


def test_method_with_failures_does_not_lead():
    metrics, summary = tables("d", "error", {"a": 0.01, "b": 0.1}, (10,))
    where(summary, method="a")[0]["failed"] = 2
    (leader,) = leaders(ReportContent(metrics, summary), "d")
    assert leader.method == "b"
    summary = [{**row, "failed": 1} for row in summary]
    (leader,) = leaders(ReportContent(metrics, summary), "d")
    assert leader.method == "a"


def test_an_oracle_is_shown_but_not_ranked():
    from fewfold.report.page import render

    metrics, summary = tables("d", "error", {"told": 0.01, "a": 0.1, "b": 0.2}, (10,))
    methods = {
        "told": {"learner": "multimanifold", "mode": "clairvoyant"},
        "a": {"learner": "multimanifold", "mode": "ssl"},
    }
    page = ReportContent(metrics, summary, config={"methods": methods})
    (leader,) = leaders(page, "d")
    assert leader.method == "a" and leader.untested == ("b",)
    assert "Not ranked: told, which was given the true sets" in render(page)
    alone = ReportContent(*tables("d", "error", {"told": 0.01}, (10,)), config={"methods": methods})
    assert leaders(alone, "d")[0].method == "told"


def test_higher_is_better_for_accuracy_and_nan_never_leads():
    metrics, summary = tables("d", "accuracy", {"a": 0.5, "b": 0.7, "c": 0.9}, (10,))
    where(summary, method="c")[0]["mean"] = math.nan
    (leader,) = leaders(ReportContent(metrics, summary), "d")
    assert leader.method == "b"


def test_tests_without_protocol_belong_to_the_first_one():
    parts = [
        tables("d", "error", {"a": 0.1, "b": 0.2}, (10,), p) for p in ("inductive", "transductive")
    ]
    summary = [row for part in parts for row in part[1]]
    tests = compare(("a", "b", 0.6))
    first, second = leaders(ReportContent(parts[0][0], summary, tests), "d")
    assert (first.protocol, first.ties) == ("transductive", ("b",))
    assert (second.protocol, second.untested) == ("inductive", ("b",))
    tests = [{**test, "protocol": "inductive"} for test in tests]
    first, second = leaders(ReportContent(parts[0][0], summary, tests), "d")
    assert first.untested == ("b",) and second.ties == ("b",)


def test_main_metric_prefers_error():
    _, one = tables("d", "nmi", {"a": 0.1})
    _, two = tables("d", "error", {"a": 0.1})
    assert main_metric([*one, *two], "d") == "error"
    assert main_metric(one, "d") == "nmi"
    assert main_metric(one, "other") is None


@pytest.mark.parametrize(
    "value, metric, text",
    [
        (0.0105, "error", "1.05 %"),
        (0.09996, "error", "10.0 %"),
        (0.0, "error", "0.00 %"),
        (1.0, "pair_error", "100.0 %"),
        (math.nan, "error", "–"),
        (123456.0, "mse", "123000"),
        (1e-9, "mse", "1.00e-09"),
        (-0.5, "mse", "-0.5"),
        (100.0, "mse", "100"),
    ],
)
def test_numbers_read_well(value, metric, text):
    assert number(value, metric) == text


def test_plain_is_within_half_a_per_cent():
    for value in np.random.default_rng(0).lognormal(0, 5, 200):
        assert float(plain(value)) == pytest.approx(value, rel=0.0051)


def test_sentence_counts_trials_once_per_draw():
    metrics, _ = tables("d", "error", {"a": 0.1, "b": 0.2}, (10, 20), trials=3)
    twice = [*metrics, *({**row, "metric": "nll"} for row in metrics)]
    words = what_was_run(ReportContent(metrics=twice))
    assert words == (
        "2 methods labeled 1 dataset (d) from 10 to 20 labeled rows, "
        "over 3 random draws of the labeled rows: 12 trials in all."
    )


def test_mean_times_ignores_missing():
    metrics, _ = tables("d", "error", {"a": 0.1}, (10,), trials=2)
    metrics[0]["fit_s"], metrics[1]["fit_s"] = 2.0, math.nan
    assert list(mean_times(metrics).values()) == [(2.0, pytest.approx(0.1))]


def test_ordered_keeps_the_rest_in_place():
    assert ordered(["x", "b", "a", "x"], ("a", "b")) == ["a", "b", "x"]


def test_spread_keeps_order_gap_and_bounds():
    rng = np.random.default_rng(1)
    for _ in range(50):
        positions = list(rng.uniform(0, 100, 6))
        placed = _svg.spread(positions, 12, 0, 100)
        order = np.argsort(positions)
        assert np.all(np.diff(np.array(placed)[order]) >= 12 - 1e-6)
        assert min(placed) >= -1e-9 and max(placed) <= 100 + 1e-9


def test_ticks_lie_within_and_are_round():
    assert _svg.linear_ticks(0.0, 0.37) == [0.0, 0.1, 0.2, 0.3]
    assert _svg.log_ticks(0.7, 30) == [1, 2, 5, 10, 20]
    assert _svg.linear_ticks(3, 3) == [3.0]


def test_curves_use_per_cent_and_log_axis_only_when_needed():
    _, summary = tables("d", "error", {"a": 0.01, "b": 0.5})
    series = curves.gather(summary, "d", "transductive", "error")
    assert [s.name for s in series] == ["a", "b"]
    assert series[0].mean[0] == pytest.approx(1.0)
    assert "(%), log scale" in curves.figure(
        series, "error (%)", "error", width=900, label="x", about={}
    )
    near = curves.gather(
        tables("d", "error", {"a": 0.4, "b": 0.5}, (10, 20))[1], "d", "transductive", "error"
    )
    assert "(%), log scale" not in curves.figure(
        near, "error (%)", "error", width=900, label="x", about={}
    )


@pytest.mark.parametrize("width", [1000, 350])
@pytest.mark.parametrize("budgets", [(10,), (0,), (0, 10), (10, 100, 1000)])
def test_marks_stay_inside_the_picture(width, budgets):
    _, summary = tables("d", "error", {f"m{i}": 0.001 * 2**i for i in range(12)}, budgets)
    summary[0] |= {"low": -1.0, "high": math.nan}
    series = curves.gather(summary, "d", "transductive", "error")
    svg = curves.figure(series, "error (%)", "error", width=width, label="x", about={})
    height = float(re.search(r'viewBox="0 0 \d+ (\d+)"', svg)[1])
    for x, y in re.findall(r'd="M(-?[\d.]+) (-?[\d.]+)', svg):
        assert -1 <= float(x) <= width + 1 and -1 <= float(y) <= height + 1
    assert "nan" not in svg and "inf" not in svg


def test_methods_keep_their_look_across_datasets():
    one = tables("d", "error", {"a": 0.3, "b": 0.1})[1]
    two = tables("e", "error", {"b": 0.3})[1]
    both = [*one, *two]
    assert curves.styles(both, "d")["b"] == curves.styles(both, "e")["b"] == 1


def test_stages_add_up():
    rows = report_tables.stages(content().stages)
    assert rows[0]["jobs"] == 2 and rows[0]["total"] == "1 min 3 s" and rows[0]["time_bar"] == 100
    assert report_tables.stages([]) == []


def test_result_rows_sort_by_number_and_hold_times():
    given = content()
    row = report_tables.results(given)[0]
    assert row[2] == ("10", 10.0) and row[5][0] == "10.0" and row[5][1] == pytest.approx(0.1)
    assert row[10] == ("0.5", 0.5)


def test_settings_keep_their_order_and_take_numpy():
    text = report_tables.settings_text({"b": np.float32(0.5), "a": (1, {"c": None})})
    assert text == "b: 0.5\na:\n- 1\n- c: null\n"
