"""A new method costs one folder: a package of its own, found by its entry point."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

RECORD = """
from fewfold.methods.base import Candidate, Method
from fewfold.methods.parameters import Parameter, one_of

RECORDS = (
    Method(
        name="majority",
        target="majority_method.estimator:Majority",
        parameters=(Parameter("which", one_of("most", "fewest"), "class answered", "most"),),
        figures="majority_method.figures:draw",
        cost_like="knn",
        candidates=(Candidate("Toys.", settings={"which": "fewest"}, name="rarest"),),
    ),
)
"""

ESTIMATOR = """
import numpy as np

from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier
from fewfold.methods.state import Field


class Majority(SemiSupervisedClassifier):
    _state = (CLASSES, Field("shares_", "float", ("k",), low=0, high=1))

    def __init__(self, which="most"):
        self.which = which

    def fit(self, X, y):
        labels = self._read_labels(y, X.shape[0])
        shares = labels.one_hot.mean(axis=0)
        self.shares_ = shares if self.which == "most" else (1 - shares) / (1 - shares).sum()
        return self._finish(None, np.tile(self.shares_, (X.shape[0], 1)))

    def _decide(self, X):
        return np.tile(self.shares_, (X.shape[0], 1)), np.ones(X.shape[0], bool)
"""

FIGURES = """
from matplotlib.figure import Figure


def draw(model, inputs, y, labeled):
    figure = Figure()
    figure.subplots().bar(model.classes_, model.shares_)
    yield "Shares of a toy", "As labeled.", figure
"""

CONFIG = """
run: {datasets: [tiny], methods: [knn, most, fewest], labels: [12], trials: 2}
datasets:
  tiny: {source: gaussians_g50c, options: {n_samples: 120, n_features: 5, seed: 1}}
methods:
  most: {learner: majority, which: most}
  fewest: {learner: majority, which: fewest}
"""


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "site"
    for name, text in {
        "majority_method/__init__.py": RECORD,
        "majority_method/estimator.py": ESTIMATOR,
        "majority_method/figures.py": FIGURES,
        "majority_method-1.0.dist-info/METADATA": "Name: majority-method\nVersion: 1.0\n",
        "majority_method-1.0.dist-info/entry_points.txt": (
            "[fewfold.methods]\nmajority = majority_method\n"
        ),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def fewfold(package, *words):
    return subprocess.run(
        [sys.executable, "-m", "fewfold.cli", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip


@pytest.mark.slow
def test_a_method_of_another_package_runs_and_is_reported(package, tmp_path):
    config, out = tmp_path / "c.yaml", tmp_path / "out"
    config.write_text(CONFIG)
    done = fewfold(package, "run", "--configfile", config, "--out", out, "--cores", 2)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(out / "results/metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    error = {m: [float(r["value"]) for r in rows if r["method"] == m] for m in ("most", "fewest")}
    assert len(error["most"]) == 2 and all(0.3 < value < 0.7 for value in error["most"])
    page = (out / "results/report/index.html").read_text()
    assert "Shares of a toy" in page
    # A change of its code trains it again, and nothing else.
    path = package / "majority_method/estimator.py"
    path.write_text(path.read_text() + "\nADDED = 1\n")
    again = fewfold(package, "run", "--configfile", config, "--out", out, "--cores", 2)
    assert again.returncode == 0, again.stdout + again.stderr
    logs = {p: p.stat().st_mtime for p in (out / "logs").rglob("train_method*.log")}
    newest = sorted(logs, key=logs.get)[-2:]
    assert {p.parent.name for p in newest} == {"most", "fewest"}


def test_its_settings_are_checked_like_any_others(package, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text(CONFIG.replace("which: most", "which: median"))
    done = fewfold(package, "run", "--configfile", config, "--out", tmp_path / "out")
    assert done.returncode and "median" in done.stderr and "most" in done.stderr


@pytest.mark.slow
def test_it_labels_a_table_and_its_state_predicts(package, tmp_path):
    rows = [f"{i % 7},{'ab'[i % 3 > 0] if i < 30 else ''}" for i in range(90)]
    table, out = tmp_path / "t.csv", tmp_path / "out"
    table.write_text("\n".join(["x,kind", *rows]) + "\n")
    words = ("label", table, "--target", "kind", "--methods", "majority", "--out", out)
    done = fewfold(package, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "by rarest" in done.stdout and "do not show that the answer is better" in done.stdout
    assert "rarest" in (out / "report.html").read_text()
    with open(out / "labels.csv", newline="") as file:
        made = list(csv.DictReader(file))
    assert {row["label"] for row in made[30:]} == {"a"}
    said = fewfold(package, "predict", out / "model.h5", table, "--out", tmp_path / "p.csv")
    assert said.returncode == 0, said.stdout + said.stderr
    with open(tmp_path / "p.csv", newline="") as file:
        new = list(csv.DictReader(file))
    for key in ("label", "confidence"):
        assert [row[key] for row in new[30:]] == [row[key] for row in made[30:]]
    # Without the package the file is refused; nothing of it is imported.
    alone = fewfold(tmp_path / "nowhere", "predict", out / "model.h5", table)
    assert alone.returncode and "'majority', which is not installed" in alone.stdout + alone.stderr
    # And it is a candidate by default, beside all others.
    both = fewfold(package, *words[:4], "--out", tmp_path / "all")
    assert both.returncode == 0, both.stdout + both.stderr
    assert "rarest" in (tmp_path / "all/summary.json").read_text()
