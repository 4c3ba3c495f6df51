"""Diffusion without each fold, from one block of solves, against a fit for each fold."""

import numpy as np
import pytest

from fewfold import DiffusionClassifier
from fewfold.graph.build import build_graph
from fewfold.labeling import examining
from fewfold.labeling.examining import Task, examine
from fewfold.methods.diffusion import solver
from fewfold.methods.members import named_members


@pytest.fixture(scope="module")
def parts():
    """Five groups in three parts of the graph; one part has a single label, one has none."""
    rng = np.random.default_rng(0)
    center = np.array([[0, 0], [2.5, 0], [0, 2.5], [40, 40], [80, 80]], dtype=float)
    code = np.repeat([0, 1, 2, 1, 0], [120, 90, 60, 30, 20])
    place = np.repeat(np.arange(5), [120, 90, 60, 30, 20])
    X = center[place] + rng.normal(size=(len(code), 2)) * 0.8
    y = np.full(len(code), np.nan)
    rows = np.r_[rng.choice(270, 24, replace=False), 280]
    y[rows] = code[rows]
    return X, y, build_graph(X, n_neighbors=6)


SETTINGS = [
    {},
    {"priors": "estimated"},
    {"priors": "uniform", "sources": "labels"},
    {"sources": "labels"},
    {"method": "spreading", "alpha": 0.9, "priors": "estimated"},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("many", [solver.MANY_ROWS, 10])
@pytest.mark.filterwarnings("ignore")
def test_folds_at_once_are_those_of_single_fits(parts, settings, many, monkeypatch):
    monkeypatch.setattr(solver, "MANY_ROWS", many)
    X, y, graph = parts
    rows = np.flatnonzero(~np.isnan(y))
    fold = np.arange(len(rows)) % 5
    options = {"tol": 1e-10, "max_iter": 20_000, **settings}
    model = DiffusionClassifier(**options)
    found = model.fit_folds(X, y, fold, graph=graph)
    for held in range(5):
        kept = y.copy()
        kept[rows[fold == held]] = np.nan
        single = DiffusionClassifier(**options).fit(X, kept, graph=graph)
        out = rows[fold == held]
        expected = single.label_distributions_[out]
        lost = ~single.is_reached_[out]
        known = y[rows[fold != held]].astype(int)
        expected[lost] = np.bincount(known, minlength=3) / len(known)
        np.testing.assert_allclose(found[fold == held], expected, atol=1e-5)
    whole = DiffusionClassifier(**options).fit(X, y, graph=graph)
    np.testing.assert_allclose(model.label_distributions_, whole.label_distributions_, atol=1e-5)
    np.testing.assert_array_equal(model.transduction_, whole.transduction_)
    assert not model.is_reached_.all()
    new = X[:5] + 0.01
    np.testing.assert_allclose(model.predict_proba(new), whole.predict_proba(new), atol=1e-5)


def test_candidates_of_many_rows_say_what_they_say_of_few(parts, monkeypatch):
    X, y, graph = parts
    names = ["diffusion", "diffusion_equal", "spreading", "rbf_1_10", "extra_trees"]
    members = named_members("classification", names)
    graphs = {"rows": graph, "near": graph}
    codes = np.where(np.isnan(y), -1, y).astype(np.int64)

    def said():
        task = Task(X, codes, "classification", 3, graphs=dict(graphs))
        return [examine(member, task) for member in members]

    few = said()
    monkeypatch.setattr(examining, "MANY_ROWS", 10)
    for one, other in zip(few, said(), strict=True):
        assert one.status == other.status == "ok"
        assert other.answer.dtype == np.float32
        np.testing.assert_allclose(one.answer, other.answer, atol=2e-3)
        np.testing.assert_allclose(one.held_out, other.held_out, atol=2e-3)
