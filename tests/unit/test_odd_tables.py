"""Odd tables: each is answered sensibly, or refused with one clear sentence.

The reader, the first warnings, all stages of the answer by six fast candidates; in one process.
"""

import numpy as np
import pandas as pd
import pytest

from fewfold.exceptions import InputError
from fewfold.graph.build import GraphSettings, build_graph
from fewfold.labeling import workspace
from fewfold.labeling.answering import answer
from fewfold.labeling.command import first_warnings
from fewfold.labeling.examining import Task, examine
from fewfold.labeling.intake import read_input
from fewfold.methods.members import named_members

CLASSES = ("extra_trees", "logistic_1", "rbf_1_10", "clusters_2", "diffusion", "low_density")
NUMBERS = ("extra_trees", "ridge", "knn")


def table(n=60, k=2, m=20, d=3, names=None):
    """Rows of k classes in turn, of which the first m are labeled."""
    rng = np.random.default_rng(0)
    code = np.arange(n) % k
    centers = 3 * np.eye(k, d) if k <= d else 5 * rng.normal(size=(k, d))
    X = (rng.normal(size=(n, d)) + centers[code]).round(3)
    names = names or [f"c{c}" for c in range(k)]
    label = np.array([names[c] for c in code], dtype=object)
    label[m:] = ""
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)]).assign(t=label)


def cells(frame, rows, column, value):
    frame = frame.astype(object)
    frame.loc[rows, column] = value
    return frame


def numbers(values, m=30):
    frame = table()
    return cells(
        frame.assign(t=np.asarray(values(frame.x0.to_numpy()), object)), slice(m, None), "t", ""
    )


def one_label_of_a_class():
    frame = table()
    frame.loc[[i for i in range(20) if i % 2 and i > 1], "t"] = ""
    return frame


def every_label_its_own_class():
    return table().assign(t=[f"name{i}" if i < 20 else "" for i in range(60)])


def all_missing_where_labeled():
    return cells(table(), slice(0, 20), ["x0", "x1", "x2"], np.nan)


ANSWERED = {
    "one label per class": lambda: table(m=2),
    "one label of a class": one_label_of_a_class,
    "two rows per class": lambda: table(n=4, m=2),
    "three rows": lambda: table(n=3, m=2),
    "all labels but one": lambda: table(m=59),
    "one column": lambda: table()[["x0", "t"]],
    "1000 columns of 60 rows": lambda: table(d=1000),
    "one cell differs": lambda: table().assign(x0=[1.5] * 59 + [1.6], x1=1, x2=2),
    "every row eight times": lambda: pd.concat([table(n=10, m=4)] * 8, ignore_index=True),
    "an empty column": lambda: table().assign(x1=np.nan),
    "empty rows": lambda: cells(table(), slice(20, 40), ["x0", "x1", "x2"], np.nan),
    "labeled rows are empty": all_missing_where_labeled,
    "constant columns beside one": lambda: table().assign(x1=7, x2=""),
    "columns twice": lambda: table().assign(x3=lambda f: f.x0, x4=lambda f: f.x0),
    "classes in other letters": lambda: table(names=["Łódź 🌳", "東京"]),
    "classes with leading zeros": lambda: table(names=["01", "02"]),
    "classes true and false": lambda: table(names=["True", "False"]),
    "classes -1 and 1": lambda: table(names=["-1", "1"]),
    "classes with lines": lambda: table(names=["line\none", "line\ntwo"]),
    "classes with commas and quotes": lambda: table(names=["a,b", 'say "hi"']),
    "classes like formulas": lambda: table(names=["=1+1", "@x"]),
    "classes like paths": lambda: table(names=["../../etc", "a/b"]),
    "classes with spaces around": lambda: table(names=[" a b ", "a  c"]),
    "40 classes of two labels": lambda: table(n=160, k=40, m=80, d=5),
    "every label its own class": every_label_its_own_class,
    "one in fifty": lambda: table(n=200).assign(
        t=["rare" if i < 2 else "common" if i < 100 else "" for i in range(200)]
    ),
    "numbers below zero": lambda: numbers(lambda x: (-3 * x - 5).round(2)),
    "numbers, many zeros": lambda: numbers(lambda x: np.maximum(2 * x, 0).round(2)),
    "numbers, two labels": lambda: numbers(lambda x: (x + 0.001).round(4), m=2),
    "numbers of two values": lambda: numbers(lambda x: np.where(x > 1, 1.5, 2.5)),
}

REFUSED = {
    "no columns of features": (lambda: table()[["t"]], "no column is left"),
    "constant columns": (lambda: table().assign(x0=5, x1=5, x2=5), "the same value in all rows"),
    "empty columns": (lambda: table().assign(x0="", x1="", x2=""), "no column is left"),
    "only names of rows": (
        lambda: table()[["t"]].assign(id=[f"r{i}" for i in range(60)]), "names the rows"),
    "too large": (lambda: cells(table(), 3, "x0", 1e300), "row 4 .*finite numbers up to 1e"),
    "infinite": (lambda: cells(table(), 3, "x0", "-Infinity"), "found -inf"),
    "overflow": (lambda: cells(table(), 3, "x0", "1e999"), "found inf"),
    "too small": (
        lambda: table().assign(x0=lambda f: f.x0 * 1e-300), "'x0'.*Rescale the column"),
    "words among numbers": (lambda: cells(table(), 5, "x0", "broken"), "found 'broken'"),
    "one number in two spellings": (
        lambda: cells(table(names=["1", "2"]), 0, "t", "1.0"),
        "'1' .* and '1.0' .*two spellings.*--keep-spellings"),
    "one number with a zero before": (
        lambda: table(k=3, m=30, names=["1", "01", "2"]), "two spellings"),
    "two spellings": (lambda: cells(table(), 0, "t", "C0"), "two spellings"),
    "one class": (lambda: table(names=["c", "c"]), "only one class is labeled"),
    "no label": (lambda: table(m=0), "no row is labeled"),
    "no cell to fill": (lambda: table(m=60), "nothing to do"),
    "one number only": (
        lambda: numbers(lambda x: np.full(60, 2.5)), "are the number 2.5.*two different"),
    "numbers too large": (lambda: numbers(lambda x: x * 1e300), "finite number up to 1e"),
}  # fmt: skip


def read(frame, folder, **options):
    path = folder / "my.csv"
    frame.to_csv(path, index=False)
    return read_input(path, "t", **options)


def answered(intake):
    """The answer of a few candidates, as the command makes it."""
    numeric = intake.task == "regression"
    members = named_members(intake.task, NUMBERS if numeric else CLASSES)
    n = len(intake.y)
    graphs = {
        name: build_graph(
            intake.X, GraphSettings.from_dict(workspace.graph_settings(name, n, None))
        )
        for name in {m.graph for m in members if m.graph}
    }
    task = Task(intake.X, intake.y, intake.task, len(intake.classes or ()), 0, graphs)
    evidence = [examine(member, task) for member in members]
    return answer(members, evidence, task, intake.classes)


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("name", ANSWERED)
def test_odd_tables_are_answered(name, tmp_path):
    intake = read(ANSWERED[name](), tmp_path)
    assert all(sentence.isprintable() for sentence in intake.sentences)
    assert isinstance(first_warnings(intake), list)
    _, arrays, notes = answered(intake)
    known = arrays["given"]
    np.testing.assert_array_equal(arrays["label"][known], intake.y[known])
    estimate = notes["comparison"]["estimate"]
    if intake.task == "regression":
        assert np.isfinite(arrays["label"]).all()
        assert (arrays["low"] <= arrays["label"]).all() and (
            arrays["label"] <= arrays["high"]
        ).all()
    else:
        assert set(arrays["label"]) <= set(range(len(intake.classes)))
        assert ((arrays["confidence"] > 0) & (arrays["confidence"] <= 1)).all()
        np.testing.assert_allclose(arrays["proba"].sum(axis=1), 1, atol=1e-6)
    assert estimate is not None or notes["comparison"]["reason"]
    assert estimate is None or estimate["low"] <= estimate["value"] <= estimate["high"]


@pytest.mark.parametrize("name", REFUSED)
def test_odd_tables_are_refused(name, tmp_path):
    make, words = REFUSED[name]
    with pytest.raises(InputError, match=words) as caught:
        read(make(), tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mark", ["?", "NA", "N/A", "nan", "null"])
def test_marks_of_missing_cells_are_no_classes(mark, tmp_path):
    intake = read(cells(table(), slice(40, 49), "t", mark), tmp_path)
    assert intake.classes == ["c0", "c1"] and len(intake.labeled) == 20
    assert any(f"10 rows are marked '{mark}'" in s for s in intake.sentences)
    assert any("--unlabeled ''" in s for s in intake.sentences)
    assert (
        len(read(cells(table(), slice(40, 49), "t", mark), tmp_path, unlabeled=[""]).classes) == 3
    )


@pytest.mark.parametrize("mark", ["None", "unknown", "Unlabeled"])
def test_a_class_that_may_mean_no_label_is_named(mark, tmp_path):
    frame = cells(table(), slice(40, 49), "t", mark)
    intake = read(frame, tmp_path)
    assert mark in intake.classes
    assert any(f"--unlabeled {mark}" in s and "10 rows" in s for s in intake.sentences)
    assert read(frame, tmp_path, unlabeled=[mark]).classes == ["c0", "c1"]


def test_minus_one_beside_blank_cells(tmp_path):
    two = read(table(names=["-1", "1"]), tmp_path)
    assert not any("--unlabeled" in s for s in two.sentences)
    three = read(table(k=3, m=30, names=["-1", "0", "1"]), tmp_path)
    assert any("--unlabeled -1" in s for s in three.sentences)


@pytest.mark.parametrize("blank", [False, True])
def test_a_category_that_gives_the_label_away_is_named(blank, tmp_path):
    frame = table(n=120, k=3, m=60)
    frame["copy"] = frame["t"] if blank else [f"c{i % 3}" for i in range(120)]
    frame["other"] = np.random.default_rng(0).choice(["a", "b", "c"], 120)
    found = [w["text"] for w in first_warnings(read(frame, tmp_path)) if w["kind"] == "leakage"]
    assert any("'copy'" in text for text in found) and not any("'other'" in text for text in found)


def test_numbers_of_few_values_may_be_classes(tmp_path):
    intake = read(ANSWERED["numbers of two values"](), tmp_path)
    assert any("2 different values" in s and "--task classification" in s for s in intake.sentences)
    assert not any(
        "--task" in s for s in read(ANSWERED["numbers below zero"](), tmp_path).sentences
    )


def test_a_column_asked_to_be_numbers_that_has_none_is_refused(tmp_path):
    """It was left out as empty, and the labels were made without it."""
    times = ["1 h", "20 min", "2 h", "35 min"]
    (tmp_path / "a.csv").write_text(
        "time,width,y\n" + "".join(f"{t},{i},{'uv'[i % 2]}\n" for i, t in enumerate(times))
    )
    with pytest.raises(InputError, match="'time' cannot be read as number .*'1 h'"):
        read_input(tmp_path / "a.csv", "y", types={"time": "number"})
