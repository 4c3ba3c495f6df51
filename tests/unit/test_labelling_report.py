"""The report of a labeling run, in a real browser where there is one."""

import base64
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from _labeling_material import HOSTILE, material

from _report_chromium import Page
from fewfold.labeling.finishing import advise, finish
from fewfold.labeling.leave_out import solve_responses
from fewfold.labeling.preparation import plan_columns, prepare_columns
from fewfold.labeling.report_page import (
    SHOWN,
    class_rows,
    make_view,
    reasons_for,
    render_answer,
    row_facts,
    telling_columns,
)
from fewfold.labeling.warnings_ import OFF
from fewfold.report.map_positions import add_rows


@pytest.fixture(scope="module")
def made():
    _, found = material()
    return found, finish(found)


def test_the_page_says_the_answer_first_and_escapes_everything(made):
    found, finished = made
    page = render_answer(found, finished, config={"run": {"seed": 0}})
    assert page == render_answer(found, finished, config={"run": {"seed": 0}})
    body = page[page.index("<body>") :]
    assert body.index("Expected error") < body.index("canvas")
    assert "The column <strong>species</strong> is filled in: 270 rows labeled" in body
    assert "Trivial baseline" in body and 'class="confusion"' in body and "because of rows" in body
    assert '<abbr title="Label all samples from a few by diffusion' in body
    assert HOSTILE not in body and "百合" in body
    assert "default-src 'none'" in page


def test_the_labels_behind_a_row_are_those_whose_removal_lowers_its_score(made):
    """The shares are exact: they sum to the score of the row's class, and name the nearest."""
    found, _ = made
    row = int(np.flatnonzero(~found.answer["given"])[0])
    names = [int(word) - 1 for word in reasons_for(found, np.array([row]))[row].split(", ")]
    assert 1 <= len(names) <= 3
    assert (found.truth.y[names] == found.answer["label"][row]).all()
    labeled = np.flatnonzero(found.truth.y >= 0)
    whole = solve_responses(found.graph.W, labeled)
    sources = whole.sources(np.ones(len(labeled), bool), found.truth.y[labeled], 3)
    shares = whole.G[row] * sources[:, int(found.answer["label"][row])]
    assert labeled[shares.argmax()] == names[0]


def test_tables(made):
    found, finished = made
    rows = class_rows(found)
    assert sum(r["given"] for r in rows) == 30 and sum(r["found"] for r in rows) == 270
    advice = advise(found, finished)
    assert len(advice) == 20 and not found.answer["given"][advice["row_number"] - 1].any()
    assert finished.table["row"].tolist() == list(range(1, 301))
    half = finish(found, abstain=0.999)
    assert half.summary["n_left_empty"] == int((half.table["label"] == "").sum()) > 0


def test_pages_without_comparison_groups_and_numbers():
    _, found = material()
    plain = {"estimate": None, "table": [], "members": [{"name": "knn", "weight": 1.0}]}
    found.notes.update(comparison={**plain, "reason": "9 labels are too few"},
                       calibration_error=None)  # fmt: skip
    page = render_answer(found, finish(found), config={})
    assert "not known" in page and "9 labels are too few" in page and "not calibrated" in page
    found.notes.update(task="clustering", comparison={**plain, "reason": "no labels"})
    page = render_answer(found, finish(found), config={})
    assert "300 rows in 3 groups" in page and "labels given" not in page
    numbers = {"label": found.features.X[:, 0].astype(float), "given": found.answer["given"]}
    numbers |= {"low": numbers["label"] - 1, "high": numbers["label"] + 1}
    y = np.where(numbers["given"], numbers["label"], np.nan)
    found.notes.update(task="regression", comparison={**plain, "reason": "few"})
    features = replace(found.features, image_shape=None)
    changed = replace(found, answer=numbers, truth=replace(found.truth, y=y, classes=None),
                      features=features)  # fmt: skip
    finished = finish(changed)
    assert list(finished.table)[-2:] == ["low", "high"] and len(finished.advised)
    page = render_answer(changed, finished, config={})
    assert "canvas" in page and "because of rows" not in page and "90&nbsp;% range" in page
    assert advise(changed, finished)["row_number"].is_unique


def test_rows_missing_in_the_picture_stand_beside_their_neighbors():
    X = np.array([[0.0], [1.0], [2.0], [1.01]])
    shown, places = add_rows(X, np.arange(3), np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([3]))
    assert shown.tolist() == [0, 1, 2, 3] and np.allclose(places[3], [1, 0], atol=0.05)


def test_what_stands_out_is_told_in_the_units_of_the_file():
    _, found = material(image_shape=None)
    columns = [
        {"name": "a", "kind": "number", "offset": 100.0, "factor": 0.5},
        {"name": "b", "kind": "number", "offset": 0.0, "factor": 1.0},
        {"name": "soil", "kind": "category", "categories": ["clay", "sand"]},
    ]
    X = np.array([[3.0, 0.25, 0.0, 1.0]] * 300, dtype=np.float32)
    names = ["a", "b", "soil=clay", "soil=sand"]
    features = replace(found.features, X=X, feature_names=names)
    changed = replace(found, features=features, table=found.table | {"columns": columns})
    assert row_facts(changed, 5) == "a = 106, soil = sand, b = 0.25"


def test_an_empty_cell_is_not_shown_as_the_median():
    _, found = material(image_shape=None)
    rng = np.random.default_rng(0)
    area = np.where(rng.random(300) < 0.2, np.nan, rng.normal(70, 10, 300))
    frame = pd.DataFrame({"area": area, "rooms": rng.integers(1, 6, 300).astype(float)})
    read = [{"name": name, "kind": "number"} for name in frame]
    plan = plan_columns(frame, read)
    X, names = prepare_columns(frame, read, plan)
    assert names == ["area", "area missing", "rooms"]
    table = found.table | {"columns": read, "preparation": plan}
    features = replace(found.features, X=X, feature_names=names)
    changed = replace(found, features=features, table=table)
    gap, known = np.flatnonzero(np.isnan(area))[0], np.flatnonzero(np.isfinite(area))[0]
    rooms = f"rooms = {frame['rooms'][gap]:.0f}"
    assert sorted(row_facts(changed, gap, 5).split(", ")) == ["area empty", rooms]
    assert f"area = {area[known]:.4g}" in row_facts(changed, known, 5)


def test_tooltips_have_the_columns_that_differ_most_between_labels():
    _, found = material(image_shape=None, ids=[f"id {i}" for i in range(300)])
    X = found.features.X.copy()
    label = found.answer["label"]
    X[:, 0], X[:, 1] = 0.5, label - 1.0  # a constant column, and one that tells the labels
    X[:, 2:] = np.eye(3)[label][:, :2]
    X[3::5, 2:] = [1, 0]  # some rows of other labels are clay
    columns = [
        {"name": "a", "kind": "number", "offset": 0.0, "factor": 1.0},
        {"name": "size", "kind": "number", "offset": 100.0, "factor": 0.5},
        {"name": "soil", "kind": "category", "categories": ["clay", "sand"]},
    ]
    features = replace(found.features, X=X, feature_names=["a", "size", "soil=clay", "soil=sand"])
    changed = replace(found, features=features, table=found.table | {"columns": columns})
    rows = np.arange(60)
    size, soil, a = telling_columns(changed, rows)
    assert [size["name"], soil["name"], a["name"]] == ["size", "soil", "a"]
    assert soil["words"] == ["clay", "sand"]

    def values(column):
        return np.frombuffer(base64.b64decode(column["values"]), "<f4").tolist()[:3]

    rows = rows[:3]
    assert values(size) == [98.0 + 2 * int(c) for c in label[rows]]  # in the units of the file
    assert values(soil) == [(0, 1, -1)[c] for c in label[rows]]
    page = render_answer(changed, finish(changed), config={})
    assert '"columns": [{"name": "size"' in page and '"id 0"' in page


def test_drifted_rows_have_a_view_of_their_own():
    _, found = material(image_shape=None)
    off = np.flatnonzero(~found.answer["given"])[:60]
    scales = np.where(np.isin(np.arange(300), off), 99.0, found.graph.scales)
    moved = replace(found, graph=replace(found.graph, scales=scales))
    finished = finish(moved)
    assert [w["rows"] for w in finished.warnings if w["kind"] == OFF] == [off.tolist()]
    view = make_view(moved, off)
    labels = view.predictions["rows far from all labeled ones"].labels
    assert (labels[off] >= 0).all() and (np.delete(labels, off) == -1).all()
    assert np.isin(off, view.shown).all()
    assert "rows far from all labeled ones" in render_answer(moved, finished, config={})
    assert "rows far from all labeled ones" not in render_answer(found, finish(found), config={})


def hover(page, x, y):
    """Point at a place until the page answers: a busy machine may draw late."""
    tip = "Array.from(document.querySelectorAll('.tip:not([hidden]) > div'), d => d.textContent)"
    for _ in range(20):
        page.mouse("mouseMoved", x, y)
        page.frame()
        if lines := page.run(tip):
            return lines
        page.run("new Promise(r => setTimeout(r, 100))")
    return []


@pytest.mark.browser
def test_hover_and_zoom_in_the_browser_and_no_request(made, tmp_path):
    found, finished = made
    path = tmp_path / "report.html"
    path.write_text(render_answer(found, finished, config={}), encoding="utf-8")
    with Page(path.as_uri()) as page:
        spot = """(() => {
          const box = document.querySelector('[data-map]');
          box.scrollIntoView({block: 'center', behavior: 'instant'});
          const canvas = box.querySelector('canvas[data-side=guess]');
          const r = canvas.getBoundingClientRect();
          const data = JSON.parse(document.getElementById('maps').textContent).map;
          const bytes = (t) => Uint8Array.from(atob(t), c => c.charCodeAt(0));
          const [x, y] = [data.x, data.y].map(t => new Uint16Array(bytes(t).buffer));
          const row = new Uint32Array(bytes(data.rows).buffer)[7];
          const e = [Math.max(...x) / 65535, Math.max(...y) / 65535];
          const w = canvas.clientWidth, h = canvas.clientHeight;
          const room = Math.min((w - 28) / e[0], (h - 28) / e[1]);
          return [r.left + canvas.clientLeft + w / 2 + (x[7] / 65535 - e[0] / 2) * room,
                  r.top + canvas.clientTop + h / 2 - (y[7] / 65535 - e[1] / 2) * room,
                  Number(canvas.dataset.scale), row];
        })()"""
        page.frame()  # the map is drawn with the first frame
        x, y, scale, row = page.run(spot)
        assert scale == 1 and row == 8  # rows count from 1
        lines = hover(page, x, y)
        name = found.classes[found.answer["label"][7]]
        assert f"row {row}" in lines and f"prediction: {name}" in lines
        page.run("new Promise(r => setTimeout(r, 350))")
        page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-60)
        page.frame()
        assert page.run(spot)[2] > 1
        before = page.run("document.querySelector('canvas[data-side=guess]').toDataURL()")
        page.run(
            "(() => { const s = document.querySelector('.map select.mode'); s.value = 'confidence';"
            "s.dispatchEvent(new Event('change')); })()"
        )
        page.frame()
        assert page.run("document.querySelector('canvas[data-side=guess]').toDataURL()") != before
        assert page.errors == [] and page.messages == []
        assert [u for u in page.requests if not u.startswith("data:")] == [path.as_uri()]


@pytest.mark.browser
def test_ten_thousand_points_are_drawn_without_lag(tmp_path):
    _, found = material(n=12_000, labeled=60, image_shape=None)
    path = tmp_path / "report.html"
    path.write_text(render_answer(found, finish(found), config={}), encoding="utf-8")
    with Page(path.as_uri()) as page:
        page.frame()
        times = page.run("""(async () => {
          const canvas = document.querySelector('canvas[data-side=guess]');
          canvas.scrollIntoView({block: 'center', behavior: 'instant'});
          const button = document.querySelector('.map button.in');
          const next = () => new Promise(r => requestAnimationFrame(r));
          const times = [];
          for (let i = 0; i < 9; i++) {
            const start = performance.now();
            button.click();
            await next();  // both pictures are drawn in this frame
            canvas.getContext('2d').getImageData(0, 0, 1, 1);
            times.push(performance.now() - start);
          }
          return [Number(canvas.dataset.scale), ...times];
        })()""")
        words = page.run("document.querySelector('#main').innerText")
        assert int(words.split(" of 12000 rows")[0].split()[-1]) >= SHOWN
        assert times[0] > 5 and np.median(times[1:]) < 500, times  # a busy machine
        assert page.errors == []
