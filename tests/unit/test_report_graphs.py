"""The table of methods that stand on several graphs."""

from _report_content import rows_of

from fewfold.report.content import ReportContent
from fewfold.report.graphs import OWN, by_graph
from fewfold.report.page import render

CONFIG = {
    "run": {"methods": ["plain", "fine", "ridge", "basis_a", "basis_b", "charts", "charts_fine"]},
    "graphs": {"euclidean": {}, "invariant": {}},
    "manifolds": {
        "a": {"type": "eigenbasis", "graph": "euclidean"},
        "b": {"type": "eigenbasis", "graph": "invariant"},
        "c": {"type": "atlas"},
        "d": {"type": "atlas", "graph": "invariant"},
    },
    "methods": {
        "plain": {"learner": "diffusion", "graph": "euclidean"},
        "fine": {"learner": "diffusion", "graph": "invariant"},
        "ridge": {"learner": "diffusion", "graph": "invariant", "method": "spreading"},
        "basis_a": {"learner": "eigenbasis", "manifold": "a"},
        "basis_b": {"learner": "eigenbasis", "manifold": "b"},
        "charts": {"learner": "atlas_svm", "manifold": "c"},
        "charts_fine": {"learner": "atlas_svm", "manifold": "d"},
    },
}


def content(means, config=CONFIG):
    rows = [
        ("digits", method, 10, "transductive", "error", mean, 0.01, mean, mean, 5, 0)
        for method, mean in means.items()
    ]
    summary = rows_of("summary", *rows)
    return ReportContent(summary=summary, config=config)


def test_twins_stand_in_one_row_with_the_best_marked():
    table = by_graph(
        content({"plain": 0.04, "fine": 0.01, "ridge": 0.5, "basis_a": 0.1, "basis_b": 0.2,
                 "charts": 0.3, "charts_fine": 0.25}),
        "digits",
    )  # fmt: skip
    assert table["graphs"] == ["euclidean", "invariant", OWN]
    assert table["rows"] == [
        ("plain / fine", 10, [("4.00 %", False), ("1.00 %", True), None]),
        ("basis_a / basis_b", 10, [("10.0 %", True), ("20.0 %", False), None]),
        ("charts / charts_fine", 10, [None, ("25.0 %", True), ("30.0 %", False)]),
    ]


def test_a_method_without_a_twin_or_without_figures_is_left_out():
    assert by_graph(content({"plain": 0.04, "ridge": 0.01}), "digits") is None
    assert by_graph(content({"plain": 0.04, "fine": float("nan")}), "digits") is None
    assert by_graph(content({"plain": 0.04, "fine": 0.01}, config={}), "digits") is None


def test_the_page_shows_the_table():
    page = render(content({"plain": 0.04, "fine": 0.01}))
    assert "What the graph changes" in page and "plain / fine" in page
    assert "What the graph changes" not in render(content({"plain": 0.04}))
