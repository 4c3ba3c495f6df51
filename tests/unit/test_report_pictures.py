"""Samples, images, maps and the rule graph."""

import base64
import io
import itertools
import re
from graphlib import CycleError

import numpy as np
import pytest
from _report_content import dataset, figure, regression

from fewfold.report import maps, pictures, rulegraph, samples
from fewfold.report.content import DatasetView, PredictionView


def decode(address):
    from PIL import Image

    return Image.open(io.BytesIO(base64.b64decode(address.split(",", 1)[1])))


def unpack(text, kind):
    return np.frombuffer(base64.b64decode(text), dtype=f"<{kind}")


def test_confusion_counts_unlabeled_rows_only():
    y = np.array([0, 0, 1, 1, -1, 1])
    guess = PredictionView(1, 0, np.array([1, 0, 0, 1, 1, -1]), None, np.array([0]))
    found = samples.confusion(DatasetView(6, 1, y=y, predictions={"m": guess}), guess)
    assert found.columns == ["0", "1", "unknown"]
    assert found.counts.tolist() == [[1, 0, 0], [1, 1, 1]]
    assert found.shares[1] == pytest.approx([1 / 3] * 3)
    assert found.largest() == [("1", "0", 1), ("1", "unknown", 1)]


def test_confusion_equals_brute_force():
    view = dataset(n=90, classes=4)
    guess = view.predictions["far"]
    found = samples.confusion(view, guess).counts
    for a, b in itertools.product(range(4), repeat=2):
        count = sum(
            view.y[i] == a and guess.labels[i] == b for i in range(90) if i not in guess.labeled
        )
        assert found[a, b] == count


def test_confident_mistakes_come_first_and_are_mistakes():
    view = dataset()
    guess = view.predictions["near"]
    rows = samples.confident_mistakes(view, guess, 4)
    wrong = np.flatnonzero(guess.labels != view.y)
    assert len(wrong) == 6 and set(rows) <= set(wrong)
    assert np.all(np.diff(guess.confidence[rows]) <= 0)
    assert guess.confidence[rows].min() >= np.sort(guess.confidence[wrong])[-4]


def test_rows_not_known_are_no_mistakes():
    view = DatasetView(3, 1, y=np.array([0, 1, 0]))
    guess = PredictionView(0, 0, np.array([-1, 0, 0]), np.array([0.9, np.nan, 1]))
    assert samples.confident_mistakes(view, guess, 9).tolist() == [1]


def test_regression_lists_the_largest_residuals():
    view = regression()
    labels = view.y.copy()
    labels[[7, 13]] += [0.5, -0.9]
    labels[21] = np.nan
    guess = PredictionView(0, 0, labels)
    assert samples.confident_mistakes(view, guess, 2).tolist() == [13, 7]
    assert samples.describe(view, guess, [13])[0].guess == "-0.83"


def test_examples_are_spread_over_the_classes():
    view = dataset(n=300, classes=3)
    guess = PredictionView(300, 0, view.y, None, np.arange(300)[::-1])
    rows = samples.examples(view, guess, 30)
    assert len(rows) == len(set(rows)) == 30
    assert np.bincount(view.y[rows]).tolist() == [10, 10, 10]


def test_sparse_values_are_described():
    from scipy import sparse

    matrix = sparse.csr_array(np.array([[0.0, 2.0], [5.0, 0.0]]))
    view = DatasetView(
        2, 2, y=np.array([0, 1]), values=lambda rows: matrix[rows], feature_names=["cat", "dog"]
    )
    guess = PredictionView(0, 0, np.array([1, 0]))
    assert [s.facts for s in samples.describe(view, guess, [0, 1])] == ["dog = 2", "cat = 5"]


def test_png_of_sixteen_levels_reads_back():
    gray = np.arange(16, dtype=np.uint8).reshape(4, 4)
    image = decode(pictures.data_address("image/png", pictures.png(gray, bits=4)))
    assert np.array_equal(np.asarray(image.convert("L")), 17 * gray)


def test_constant_and_nan_images_do_not_fail():
    assert pictures.gray_levels(np.full((1, 2, 2), 3.0)).tolist() == [[[0, 0], [0, 0]]]
    assert pictures.gray_levels(np.array([[[np.nan, 1.0]]])).tolist() == [[[0, 255]]]
    assert len(pictures.image_addresses(np.empty((0, 3, 3)))) == 0


def test_shrink_averages_blocks():
    images = np.arange(32.0).reshape(2, 4, 4)
    small = pictures.shrink(images, 2)
    assert small.shape == (2, 2, 2)
    assert small[0, 0, 0] == np.mean([0, 1, 4, 5])
    assert pictures.shrink(np.ones((1, 5, 3)), 2).shape == (1, 2, 1)


def test_sheet_holds_each_image_at_its_place():
    images = np.random.default_rng(0).integers(0, 16, (7, 3, 4)) / 15.0
    images[0, 0, :2] = [0, 1]
    sheet = pictures.sheet(images, 10_000)
    gray = np.asarray(decode(sheet["src"]).convert("L"))
    assert (sheet["w"], sheet["h"], sheet["columns"]) == (4, 3, 3)
    for i in range(7):
        top, left = i // 3 * 3, i % 3 * 4
        part = gray[top : top + 3, left : left + 4]
        assert np.array_equal(part, 17 * pictures.gray_levels(images, 16)[i])
    assert pictures.sheet(np.random.default_rng(0).random((500, 28, 28)), 2_000) is None


def test_figure_is_the_same_each_time_and_large_ones_become_raster():
    assert pictures.figure_address(figure()) == pictures.figure_address(figure())
    assert pictures.figure_address(figure()).startswith("data:image/svg+xml")
    heavy = figure()
    heavy.axes[0].scatter(*np.random.default_rng(0).random((2, 9000)))
    assert pictures.figure_address(heavy).startswith("data:image/png")


def test_map_keeps_shape_rows_and_answers():
    view = dataset(n=30)
    places = np.asarray(view.map2d).copy() * [4, 1]
    places[5] = np.nan
    shown = np.arange(30)[::-1]
    from dataclasses import replace

    packed = maps.payload(replace(view, map2d=places, shown=shown), "far")
    rows = unpack(packed["rows"], "u4")
    assert rows.tolist() == [r for i, r in enumerate(shown) if i != 5]
    keep = np.delete(places, 5, axis=0)
    x, y = unpack(packed["x"], "u2"), unpack(packed["y"], "u2")
    assert x.max() == 65535 and y.max() < 65535
    span = np.ptp(keep[:, 0])
    assert np.allclose(np.c_[x, y] / 65535 * span + keep.min(axis=0), keep, atol=1e-4)
    assert [m["name"] for m in packed["methods"]] == ["far", "near"]
    far = packed["methods"][0]
    assert np.array_equal(unpack(far["labels"], "i2"), view.predictions["far"].labels[rows])
    confidence = unpack(far["confidence"], "u1") / 250
    assert np.allclose(confidence, view.predictions["far"].confidence[rows], atol=0.0021)
    assert np.flatnonzero(unpack(far["given"], "u1")).tolist() == [
        i for i, r in enumerate(rows) if r < 3
    ]


def test_map_of_one_place_and_of_none():
    view = DatasetView(2, 1, map2d=np.ones((2, 2)), shown=np.arange(2))
    assert unpack(maps.payload(view)["x"], "u2").tolist() == [0, 0]
    view = DatasetView(2, 1, map2d=np.full((2, 2), np.nan), shown=np.arange(2))
    assert maps.payload(view) is None


def test_layers_lie_below_all_they_depend_on():
    rng = np.random.default_rng(0)
    for _ in range(30):
        edges = [(f"r{a}", f"r{b}") for a, b in np.sort(rng.integers(0, 12, (20, 2))) if a < b]
        level = rulegraph.layers(edges)
        assert all(level[a] < level[b] for a, b in edges)
        for rule, depth in level.items():  # no lower than needed
            above = [level[a] for a, b in edges if b == rule]
            assert depth == max(above, default=-1) + 1


def test_rule_graph_names_every_rule_and_has_no_overlap():
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d"), ("x", "d"), ("d", "d")]
    svg = rulegraph.draw(edges)
    assert re.findall(r"<text[^>]*>(\w)</text>", svg) == ["a", "x", "b", "c", "d"]
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', svg)
    boxes = [tuple(map(float, box)) for box in found]
    for (x1, y1, w1), (x2, y2, w2) in itertools.combinations(boxes, 2):
        assert y1 != y2 or x1 + w1 <= x2 or x2 + w2 <= x1
    assert svg.count('class="edge"') == 6


def test_circular_and_empty_rule_graphs():
    assert rulegraph.draw([]) == ""
    assert rulegraph.draw([("a", "b"), ("b", "a")]) == rulegraph.draw([("a", "b")])
    with pytest.raises(CycleError):
        rulegraph.draw([("a", "b"), ("b", "c"), ("c", "a")])


def test_boxes_of_random_rule_graphs_keep_apart_and_inside():
    rng = np.random.default_rng(3)
    for _ in range(10):
        pairs = np.sort(rng.integers(0, 15, (25, 2)))
        svg = rulegraph.draw(
            [(f"rule_{a}" * (1 + a % 3), f"rule_{b}" * (1 + b % 3)) for a, b in pairs]
        )
        width = float(re.search(r'viewBox="0 0 (\d+)', svg)[1])
        found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', svg)
        boxes = [tuple(map(float, box)) for box in found]
        assert len(boxes) == len({i for a, b in pairs if a != b for i in (a, b)})
        assert all(x >= 0 and x + w <= width + 1 for x, _, w in boxes)
        for (x1, y1, w1), (x2, y2, w2) in itertools.combinations(boxes, 2):
            assert y1 != y2 or x1 + w1 < x2 or x2 + w2 < x1
