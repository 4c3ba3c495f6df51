"""What each candidate of ``fewfold label`` says on sets whose truth is known, kept in files.

The pieces are those of the command: the reader of files, the stage that prepares candidates, the
fits without each fold. What a candidate says is kept under ``results/answer/`` by its settings, so
that ways to combine are compared in seconds. Delete the folder after a change of a candidate.

A set is named as a file of ``tables/`` in FEWFOLD_MIRROR, as ``ssl1_10`` (set 1 of the SSL book
with 10 labels; sets 1, 5, 6; 10 or 100 labels), as one of `OTHERS`, as one of `MADE`, as one of
`COLUMNS`, or as in `fresh_sets.py`.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import fresh_sets
import numpy as np
import pandas as pd
from scipy import io

from fewfold.labeling import workspace
from fewfold.labeling.examining import Evidence, Task, examine
from fewfold.labeling.intake import Intake, read_input
from fewfold.labeling.prepared import read_prepared, write_prepared

STORE = Path("results/answer")
TABLES = (
    "banknote-authentication", "ecoli", "glass", "ionosphere", "pima-indians-diabetes", "wine",
    "german", "winequality-white", "adult-6000",
)  # fmt: skip
NUMBERS = ("auto-imports", "housing")
BOOK = tuple(f"ssl{s}_{m}" for m in (10, 100) for s in (1, 5, 6))
# Sets that took no part in the choice of candidates and first weights.
OTHERS = ("iris", "breast_cancer", "g50c", "g10n", "uspst", "semeion", "letter")
MADE = tuple(f"made_{i}" for i in range(12))
# Numbers: a column of a set is to be told from the others (and from the class), by its place among
# the columns of numbers with 30 or more different values.
COLUMNS = (
    *(f"{name}@{place}" for place in (0, 1) for name in (*TABLES, "iris", "breast_cancer")),
    "diabetes@0", "diabetes@1", *(f"friedman{i}@0" for i in (1, 2, 3)),
)  # fmt: skip


def mirror() -> Path:
    """Return the folder of the real data."""
    return Path(os.environ["FEWFOLD_MIRROR"])


@dataclass(frozen=True)
class Problem:
    """A file whose truth is known, and the rows whose labels are given in each draw."""

    name: str
    frame: pd.DataFrame
    target: str
    truth: np.ndarray
    splits: tuple = ()
    n_labels: int | None = None

    @property
    def is_numbers(self) -> bool:
        """Whether the target is a number."""
        return self.name in NUMBERS or "@" in self.name

    def labeled(self, draw: int, m: int | None = None) -> np.ndarray:
        """Return the labeled rows of a draw: published, or m at random (by default 10 %)."""
        if self.splits and m is None:
            return np.sort(self.splits[draw])
        m = self.n_labels if m is None else m
        m = int(np.clip(0.1 * len(self.truth), 30, 300)) if m is None else m
        rng = np.random.default_rng(100 + draw)
        return np.sort(rng.choice(len(self.truth), m, replace=False))

    def blanked(self, rows) -> pd.DataFrame:
        """Return the table with the labels of some rows only."""
        known = np.zeros(len(self.truth), bool)
        known[rows] = True
        return self.frame.assign(**{self.target: pd.Series(self.truth).where(known).to_numpy()})


def _columns(X, target) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.DataFrame(np.asarray(X), columns=[f"x{j}" for j in range(np.shape(X)[1])])
    return frame, np.array([f"k{c}" for c in np.asarray(target).ravel()], dtype=object)


def _mat(path):
    found = io.loadmat(mirror() / path)
    return np.asarray(found["X"], float), found["y"].ravel(), found


def _other(name):
    from sklearn import datasets

    if name in ("iris", "breast_cancer", "diabetes"):
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    if name.startswith("friedman"):
        return getattr(datasets, f"make_{name}")(400, noise=1.0, random_state=0)
    if name in ("g50c", "g10n", "uspst"):
        return _mat(f"lds/{name}.mat")[:2]
    from fewfold.datasets import load

    data = load(name)
    rows = np.random.default_rng(0).permutation(len(data.y))[:1600]
    return np.asarray(data.X, float)[rows], data.y[rows]


def _made(number):
    """A made-up set: classes, columns that say nothing, noise and shape differ with the number."""
    from sklearn import datasets

    rng = np.random.default_rng([number, 5])
    n = int(rng.integers(250, 900))
    if number % 3 == 2:  # smooth or interacting functions of a few columns
        X = rng.normal(size=(n, int(rng.integers(4, 20))))
        score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
        return X * 10 ** rng.uniform(-2, 2, X.shape[1]), (score > np.quantile(score, 0.6)) * 1
    informative = int(rng.integers(3, 8))
    columns = informative + int(rng.integers(0, 25))
    k = int(rng.integers(2, 5))
    X, y = datasets.make_classification(
        n, columns, n_informative=informative, n_redundant=0, n_classes=k,
        n_clusters_per_class=int(rng.integers(1, 4)) if informative > 3 else 1,
        class_sep=float(rng.uniform(0.8, 2)), flip_y=float(rng.choice([0, 0.05, 0.15])),
        weights=None if number % 2 else [0.6] + [0.4 / (k - 1)] * (k - 2), random_state=number,
    )  # fmt: skip
    return X * 10 ** rng.uniform(-2, 2, columns), y


def _column(name):
    """A set whose target is one of its columns of numbers; see `COLUMNS`."""
    base, place = name.split("@")
    if base == "diabetes" or base.startswith("friedman"):
        X, y = _other(base)
        frame = _columns(X, y)[0].assign(answer=y)
    else:
        found = problem(base)
        frame = found.frame.assign(kind_=found.truth)
    many = [c for c in frame if pd.api.types.is_numeric_dtype(frame[c])]
    many = [c for c in many if frame[c].nunique() >= 30]
    target = many[-1 - int(place)] if "answer" in frame else many[int(place)]
    frame = frame[frame[target].notna()].reset_index(drop=True)
    return Problem(name, frame.drop(columns=target), target, frame[target].to_numpy(float))


@cache
def problem(name: str) -> Problem:
    """Return a set by its name."""
    if "@" in name:
        return _column(name)
    if name in (*fresh_sets.CHOOSE, *fresh_sets.CONFIRM):
        asked = int(name.split("~~")[1]) if "~~" in name else None
        frame, truth = fresh_sets.read(name)
        return Problem(name, frame, "kind_", truth, n_labels=asked)
    if name.startswith("ssl"):
        number, m = name[3:].split("_")
        X, y, _ = _mat(f"ssl-book/SSL,set={number},data.mat")
        splits = io.loadmat(mirror() / f"ssl-book/SSL,set={number},splits,labeled={m}.mat")
        frame, truth = _columns(X, y)
        given = tuple(rows.astype(int) - 1 for rows in splits["idxLabs"])
        return Problem(name, frame, "kind", truth, given)
    if name.startswith("made_") or name in OTHERS:
        frame, truth = _columns(*(_made(int(name[5:])) if name[:5] == "made_" else _other(name)))
        return Problem(name, frame, "kind", truth)
    entries = json.loads((mirror() / "MANIFEST.json").read_text())
    entry = next(entry for entry in entries if entry["name"] == name)
    target = entry["notes"].split("target column: ")[1].split(" ")[0]
    frame = pd.read_csv(mirror() / entry["file"])
    frame = frame[frame[target].notna()].reset_index(drop=True)
    if name in NUMBERS:
        truth = frame[target].to_numpy(float)
    else:  # classes of fewer than 10 rows are left out
        counts = frame[target].value_counts()
        frame = frame[frame[target].isin(counts[counts >= 10].index)].reset_index(drop=True)
        truth = ("k" + frame[target].astype(str)).to_numpy(object)
    return Problem(name, frame.drop(columns=target), target, truth)


@dataclass
class Material:
    """The features of a set, and what the candidates prepared without labels."""

    problem: Problem
    intake: Intake
    prepared: object

    def task(self, rows, seed: int = 0) -> tuple[Task, list]:
        """Return the task with the labels of some rows, and the names of the classes."""
        truth, n = self.problem.truth, len(self.problem.truth)
        if self.problem.is_numbers:
            y, classes = np.full(n, np.nan), None
            y[rows] = truth[rows]
        else:
            classes = sorted(set(truth[rows]))
            y = np.full(n, -1)
            y[rows] = [classes.index(name) for name in truth[rows]]
        task = Task(
            self.intake.X, y, self.intake.task, len(classes or ()), seed, self.prepared.graphs,
            dict(self.prepared.shared), self.intake.image_shape,
            explained=self.prepared.explained,
        )  # fmt: skip
        return task, classes

    def members(self, rows) -> list:
        """Return the candidates that the command takes for these labels."""
        y = np.full(len(self.problem.truth), -1 if self.intake.classes else np.nan)
        y[rows] = 0
        return workspace.choose_members(replace(self.intake, y=y))


def _key(member) -> str:
    settings = json.dumps([member.method.name, member.settings, member.graph], sort_keys=True)
    return f"{member.name}.{zlib.crc32(settings.encode()):08x}"


@cache
def material(name: str) -> Material:
    """Read a set as the command does, and prepare its candidates (kept in a stage file)."""
    found = problem(name)
    folder = STORE / (name.split("_1")[0] if name.startswith("ssl") else _plain(name))
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "table.csv"
    found.blanked(found.labeled(0)).to_csv(table, index=False)
    task = "regression" if found.is_numbers else "classification"
    intake = read_input(table, found.target, task=task)
    chosen = workspace.choose_members(intake)
    digest = zlib.crc32("".join(map(_key, chosen)).encode())
    path = folder / f"prepared.{digest:08x}.h5"
    config = workspace.make_config(intake, chosen, seed=0, settings={})
    if not path.exists():
        workspace.write_inputs(folder, intake, {"target": "", "file": "", "warnings": []})
        write_prepared(
            path, folder / workspace.FEATURES, {}, members=[m.name for m in chosen],
            task=intake.task, graphs=config["graphs"], seed=0,
        )  # fmt: skip
    return Material(found, intake, read_prepared(path, {}, len(intake.y)))


def _plain(name):
    return name.replace(":", ".").replace("/", ".")


def _folder(name, rows, draw, m):
    return STORE / _plain(name) / f"{len(rows)}-{draw}{'' if m is None else '-random'}"


def evidence(name: str, draw: int, m: int | None = None, members=None) -> tuple:
    """Return members, what they said, the task, classes and truth of one draw of a set."""
    found = material(name)
    rows = found.problem.labeled(draw, m)
    task, classes = found.task(rows)
    members = found.members(rows) if members is None else members
    said = []
    for member in members:
        file = _folder(name, rows, draw, m) / f"{_key(member)}.npz"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            one = examine(member, task)
            empty = np.empty(0)
            np.savez(
                file, held_out=empty if one.held_out is None else one.held_out, status=one.status,
                answer=empty if one.answer is None else one.answer, seconds=one.seconds,
            )  # fmt: skip
        with np.load(file) as data:
            parts = [data[key] if data[key].size else None for key in ("held_out", "answer")]
            status = str(data["status"])
            said.append(Evidence(*parts, seconds=float(data["seconds"]), status=status))
    return members, said, task, classes, found.problem.truth


def single_learners(numbers: bool) -> dict:
    """Return what one line of scikit-learn gives, by name."""
    from sklearn import ensemble, linear_model, model_selection, svm

    if numbers:
        return {
            "forest": ensemble.RandomForestRegressor(300, random_state=0),
            "extra": ensemble.ExtraTreesRegressor(300, random_state=0),
            "boosting": ensemble.HistGradientBoostingRegressor(random_state=0),
            "linear": linear_model.RidgeCV(np.logspace(-3, 3, 13)),
            "svm": model_selection.GridSearchCV(svm.SVR(), {"C": [1, 100, 10000]}, cv=3),
        }
    grid = {"C": [1, 10, 100], "gamma": ["scale", 0.01, 0.1]}
    return {
        "forest": ensemble.RandomForestClassifier(300, random_state=0),
        "extra": ensemble.ExtraTreesClassifier(300, random_state=0),
        "boosting": ensemble.HistGradientBoostingClassifier(random_state=0),
        "linear": linear_model.LogisticRegressionCV(Cs=5, cv=3, max_iter=500),
        "svm": model_selection.GridSearchCV(svm.SVC(), grid, cv=3),
    }


def loss(problem: Problem, said, hidden) -> float:
    """Return the error in %, or the root mean squared error in standard deviations."""
    truth = problem.truth[hidden]
    if problem.is_numbers:
        return float(np.sqrt(np.mean((np.asarray(said, float) - truth) ** 2)) / truth.std())
    return 100 * float(np.mean(np.asarray(said).astype(str) != truth.astype(str)))


def singles(name: str, draw: int, m: int | None = None) -> dict:
    """Return the losses of the single learners and of the trivial answer on one draw."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    found = problem(name)
    rows = found.labeled(draw, m)
    file = _folder(name, rows, draw, m) / "singles.json"
    if file.exists():
        return json.loads(file.read_text())
    numeric = [c for c in found.frame if pd.api.types.is_numeric_dtype(found.frame[c])]
    rest = [c for c in found.frame if c not in numeric]
    Z = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), rest),
    ).fit_transform(found.frame)
    hidden = np.setdiff1d(np.arange(len(Z)), rows)
    given = found.truth[rows] if found.is_numbers else found.truth[rows].astype(str)
    losses = {}
    for key, model in single_learners(found.is_numbers).items():
        try:
            losses[key] = loss(found, model.fit(Z[rows], given).predict(Z[hidden]), hidden)
        except ValueError:  # a class with too few labels for its folds
            losses[key] = float("nan")
    values, counts = np.unique(given, return_counts=True)
    trivial = given.mean() if found.is_numbers else values[counts.argmax()]
    losses["trivial"] = loss(found, np.full(len(hidden), trivial), hidden)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(losses))
    return losses
