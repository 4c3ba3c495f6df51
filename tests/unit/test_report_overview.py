"""The chart of all datasets and methods, and the conclusion drawn from it."""

import re
from dataclasses import replace

import pytest
from _report_content import content, rows_of, tables

from fewfold.report.content import ReportContent, where
from fewfold.report.overview import chart, conclusion, gather


def two_sets(**changes):
    """Method a leads on the first set, b on the second; c was run on the first only."""
    parts = [
        tables("one", "error", {"a": 0.10, "b": 0.12, "c": 0.30}),
        tables("two", "error", {"a": 0.40, "b": 0.10}),
    ]
    metrics, summary = ([*one, *two] for one, two in zip(*parts))
    tests = [("one", n, "a", m, "error", -0.1, p, p) for n in (10, 100)
             for m, p in (("b", 0.5), ("c", 0.001))]  # fmt: skip
    tests += [("two", n, "a", "b", "error", 0.3, 0.001, 0.001) for n in (10, 100)]
    comparisons = rows_of("comparisons", *tests)
    return ReportContent(metrics, summary, comparisons, **changes)


def test_ranks_ratios_and_ties_of_each_column():
    found = gather(two_sets())
    assert [(c.dataset, c.n_labeled) for c in found.columns] == [
        ("one", 10), ("one", 100), ("two", 10), ("two", 100)]  # fmt: skip
    assert found.methods == ("a", "b", "c")
    assert found.mean_ranks == {"a": 1.5, "b": 1.5, "c": 3.0}
    cell = found.cells["b", 0]
    assert cell.rank == 2 and cell.is_tied and cell.ratio == pytest.approx(1.2)
    assert not found.cells["a", 2].is_tied and found.cells["a", 2].ratio == pytest.approx(4)
    assert ("c", 2) not in found.cells
    assert found.wins("b") == (4, 4) and found.wins("c") == (0, 2)


def test_the_conclusion_names_who_is_never_significantly_worse():
    text = conclusion(gather(two_sets()))
    assert text.startswith("Best with the most labels: a on one (1.09 % with 100 labels) and b on")
    assert "b is best, or not significantly worse than the best, in 4 of 4" in text
    assert "no other method reaches that" in text
    assert conclusion(gather(ReportContent())) == ""


def test_a_method_that_was_not_run_everywhere_is_named_too():
    given = two_sets()
    for test in where(given.comparisons, method_b="c"):
        test["p_adjusted"] = 0.9
    assert "So in all comparisons in which they were run: c (2)." in conclusion(gather(given))


def test_many_methods_of_equal_standing_are_counted_and_the_first_in_rank_is_named():
    metrics, summary = tables("one", "error", {m: 0.1 + k / 1e4 for k, m in enumerate("abcdef")})
    equal = [("one", n, "a", m, "error", -0.1, 0.9, 0.9) for n in (10, 100) for m in "bcdef"]
    text = conclusion(gather(ReportContent(metrics, summary, rows_of("comparisons", *equal))))
    assert "6 methods are each best" in text and text.endswith("a has the lowest mean rank.")


def test_an_oracle_has_no_rank_and_is_last():
    methods = {"a": {"learner": "multimanifold", "mode": "clairvoyant"}}
    found = gather(two_sets(config={"methods": methods}))
    assert found.methods[-1] == "a" and found.cells["b", 0].rank == 1
    assert "a is" not in conclusion(found) and "not ranked" in found.cells["a", 0].words


def test_one_draw_is_said_and_nothing_called_tied():
    metrics, summary = tables("one", "error", {"a": 0.1, "b": 0.2}, budgets=(10,), trials=1)
    text = conclusion(gather(ReportContent(metrics, summary)))
    assert text == (
        "a has the best error on one with 10 labels: 10.0 %. "
        "With one draw only, no difference could be tested."
    )


@pytest.mark.parametrize("width", [1000, 350])
def test_every_value_is_in_the_chart_and_inside_it(width):
    found = gather(two_sets())
    drawn = chart(found, width=width, about={"a": "Says <a>."})
    assert drawn.count('class="cell"') == len(found.cells)
    assert "a: Says &lt;a&gt;." in drawn
    right = float(re.search(r'viewBox="0 0 (\d+)', drawn)[1])
    assert right <= width
    edges = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn)
    assert edges and all(float(x) + float(w) <= right for x, w in edges)


def test_many_columns_become_one_per_dataset_and_zero_has_a_ratio():
    metrics, summary = tables("d", "error", {"a": 0.0, "b": 0.002}, budgets=tuple(range(1, 31)))
    found = gather(ReportContent(metrics, summary))
    assert found.is_cut and [c.n_labeled for c in found.columns] == [30]
    assert found.cells["a", 0].ratio == 1 and found.cells["b", 0].ratio == 1  # both below 0.1 %


def test_higher_is_better_for_scores():
    given = content()
    summary = [{**row, "metric": "ari"} for row in where(given.summary, metric="error")]
    found = gather(replace(given, summary=summary))
    assert found.methods[0] == "far" and found.cells["near", 0].ratio == pytest.approx(3)
