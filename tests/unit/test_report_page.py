"""The page as a whole: complete, self-contained, safe, the same each time."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from _report_content import HOSTILE, content, dataset, figure, rows_of, tables

from fewfold.exceptions import InputError
from fewfold.pipeline.provenance import templates_digest
from fewfold.pipeline.result_tables import read_rows, write_table
from fewfold.report.content import (
    DatasetView,
    ExtraFigure,
    PredictionView,
    ReportContent,
)
from fewfold.report.page import render

VOID = {"meta", "link", "img", "br", "input"}


class Reader(HTMLParser):
    """Collects elements and checks that every element is closed where it should be."""

    def __init__(self, page):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, text):
        self.texts.append((self.open[-1] if self.open else "", text))

    def all(self, name):
        return [attributes for found, attributes in self.elements if found == name]


@pytest.fixture(scope="module")
def page():
    return render(content())


def test_everything_asked_for_is_on_the_page(page):
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "3 methods labeled 2 datasets (blobs and curve) from 10 to 100 labeled rows" in text
    assert "All results" in text and "Time and memory" in text and "Settings" in text
    assert "Not significantly worse: far." in text
    assert "Most confidently wrong" in text and "Predicted against true value" in text
    assert "skipped: needs classes" in text
    assert "error on unlabeled rows (%)" in text and "labeled rows (log scale)" in text
    assert "1 min 3 s" in text and "1.46 GB" in text
    assert "seed: 0" in text and "fewfold run" in text


def test_page_is_well_formed_and_accessible(page):
    reader = Reader(page)
    assert all(image.get("alt") for image in reader.all("img"))
    assert all(svg.get("aria-label") or svg.get("aria-hidden") for svg in reader.all("svg"))
    assert all(canvas.get("aria-label") for canvas in reader.all("canvas"))
    levels = [int(name[1]) for name, _ in reader.elements if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:]))
    ids = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for a in reader.all("a") if "href" in a]
    assert all(link[0] == "#" and link[1:] in ids for link in links)


def test_nothing_is_fetched_from_outside(page):
    reader = Reader(page)
    for _, attributes in reader.elements:
        for key in ("src", "href", "data", "action", "poster", "srcset"):
            value = attributes.get(key) or "#"
            assert value.startswith(("#", "data:")), value
    assert "@import" not in page and not re.search(r"url\((?!\$)", page)
    policy = [m for m in reader.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy[0]["content"]


def test_same_content_gives_same_page(page):
    assert render(content()) == page


def test_names_from_outside_are_escaped():
    view = dataset(name=HOSTILE, methods=(HOSTILE, "b"))
    view = replace(view, notes={HOSTILE: HOSTILE}, feature_names=[HOSTILE] * 20, images=None)
    given = content(
        name=HOSTILE,
        methods=(HOSTILE, "b"),
        title=HOSTILE,
        command=HOSTILE,
        created=HOSTILE,
        datasets={HOSTILE: view},
        config={HOSTILE: [HOSTILE]},
        versions={HOSTILE: HOSTILE},
        skipped=[(HOSTILE, HOSTILE, HOSTILE)],
        rule_edges=[(HOSTILE, "b")],
        extra_figures=[ExtraFigure(HOSTILE, HOSTILE, HOSTILE, HOSTILE, figure())],
        stages=rows_of("stages", (HOSTILE, HOSTILE, 1, 1, 1)),
    )
    given.metrics[0]["status"] = HOSTILE
    page = render(given)
    reader = Reader(page)
    plain = Reader(render(content()))
    assert len(reader.all("script")) == len(plain.all("script")) == 3
    assert HOSTILE not in page
    # Script text may not hold the string either: it would end the element early.
    assert not any("alert('x')</" in text for name, text in reader.texts if name == "script")
    assert any(HOSTILE in text for name, text in reader.texts if name == "h2")


def test_empty_content_still_makes_a_page():
    page = render(ReportContent())
    Reader(page)
    assert "Nothing was evaluated on any dataset." in page


def test_dataset_without_truth_or_predictions():
    view = DatasetView(5, 2, map2d=np.zeros((5, 2)), shown=np.arange(5))
    Reader(render(ReportContent(datasets={"bare": view})))
    guess = PredictionView(2, 0, np.array([0, 1, -1, 0, 1]), None, np.array([0, 1]))
    view = replace(view, predictions={"m": guess}, y=np.full(5, -1))
    page = render(ReportContent(datasets={"bare": view}))
    Reader(page)
    assert "Confusion matrix" not in page


def test_clustering_shows_counts_but_no_mistakes():
    metrics, summary = tables("c", "pair_error", {"m": 0.2}, budgets=(0,))
    view = replace(dataset(), task="clustering")
    page = render(ReportContent(metrics=metrics, summary=summary, datasets={"c": view}))
    assert "Clusters against classes" in page and "Most confidently wrong" not in page
    assert "pair error on unlabeled rows (%)" in page


def test_many_classes_become_a_list():
    page = render(ReportContent(datasets={"many": dataset(n=200, classes=40)}))
    assert "Confusion matrix" not in page and "true class" in page


def test_names_that_look_like_numbers(tmp_path):
    found = dict(zip(("metrics", "summary"), tables("20", "error", {"1": 0.1, "2": 0.2})))
    for name, rows in found.items():
        write_table(tmp_path / f"{name}.csv", name, rows)
    metrics, summary = (read_rows(tmp_path / f"{name}.csv", name) for name in found)
    view = dataset(methods=("2", "1"))
    page = render(ReportContent(metrics=metrics, summary=summary, datasets={"20": view}))
    assert page.count('class="dataset"') == 1
    assert "1, 10 labels, draw 0: 5 of" in page  # the best method's picture, not the other's


def test_one_failed_trial_is_counted_and_named():
    given = content()
    given.metrics[0] |= {"status": "not converged", "value": np.nan}
    page = render(given)
    assert "1 of which did not end well" in page and "1 trial: not converged (1)" in page


@pytest.mark.parametrize(
    "change, message",
    [
        ({"y": np.zeros(3)}, "60 rows but y has 3"),
        ({"task": "sorting"}, "task 'sorting'"),
        ({"map2d": None}, "both of map2d and shown"),
        ({"map2d": np.zeros((4, 2))}, r"shows 60 rows but map2d has shape \(4, 2\)"),
        ({"predictions": {"m": PredictionView(1, 0, np.zeros(2))}}, "labels of method 'm' have 2"),
    ],
)
def test_arrays_that_do_not_fit_are_named(change, message):
    with pytest.raises(InputError, match=message):
        render(ReportContent(datasets={"d": replace(dataset(), **change)}))


def test_size_stays_within_bounds():
    rng = np.random.default_rng(0)
    n = 3000
    images = rng.random((n, 28, 28))  # noise is the worst case for a PNG
    y = rng.integers(0, 10, n)
    predictions = {
        f"m{i}": PredictionView(100, 0, rng.integers(0, 10, n), rng.random(n), np.arange(100))
        for i in range(12)
    }
    views = {
        f"d{i}": DatasetView(
            n,
            784,
            y=y,
            map2d=rng.normal(size=(n, 2)),
            shown=np.arange(n),
            predictions=predictions,
            images=lambda rows: images[rows],
        )
        for i in range(5)
    }
    assert len(render(ReportContent(datasets=views))) < 6_000_000


def test_template_digest_is_stable_hex_and_follows_the_packages():
    digests = [templates_digest(*names) for names in (["report"], ["report"], ["labeling"])]
    assert re.fullmatch(r"[0-9a-f]{16}", digests[0])
    assert digests[0] == digests[1] != digests[2]
