"""Every method that follows the contract: saved and loaded, it predicts what it predicted."""

import inspect
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_moons

from fewfold.exceptions import InputError, LabelWarning
from fewfold.graph.build import build_graph
from fewfold.methods import registry
from fewfold.methods.base import CLASSIFICATION, REGRESSION, ManifoldModel, load
from fewfold.methods.state import Field
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.chain_files import load_stages
from fewfold.pipeline.stage_files import Features, Splits

QUICK = {"mbed": {"n_steps": 60, "n_annealing": 8}}
CONTRACT = [
    m
    for m in registry.methods().values()
    if inspect.isclass(m.load()) and CLASSIFICATION in m.tasks
]
REGRESSORS = [
    m
    for m in registry.methods().values()
    if REGRESSION in m.tasks and inspect.isclass(load(m.regressor or m.target))
]


@pytest.fixture(scope="module")
def moons():
    X, codes = make_moons(200, noise=0.05, random_state=0)
    rng = np.random.default_rng(0)
    X = X @ rng.normal(size=(2, 12)) + 0.01 * rng.normal(size=(200, 12))
    y = np.full(160, -1)
    for code in (0, 1):
        y[np.flatnonzero(codes[:160] == code)[:6]] = code
    return X[:160], y, X[160:], codes


def fitted(method, X, y):
    stages = {}
    if method.needs.graph == "must" or "eigenbasis" in method.needs.manifold:
        stages["graph"] = build_graph(X, n_neighbors=8)
    for name in method.needs.manifold:
        if name == "eigenbasis":
            arrays, notes = registry.manifolds()[name].load()(None, stages["graph"], {}, seed=0)
            stages["manifold"] = ManifoldModel(arrays, {"laplacian": "random_walk"})
    model = method.build(QUICK.get(method.name, {}), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)  # of rows that no label reaches
        return model.fit(X, y, **stages)


@pytest.mark.parametrize("method", CONTRACT, ids=lambda m: m.name)
def test_saved_and_loaded_it_predicts_the_same(method, moons):
    X, y, X_new, codes = moons
    model = fitted(method, X, y)
    arrays, notes = model.to_arrays()
    assert all(isinstance(a, np.ndarray) or hasattr(a, "indptr") for a in arrays.values())
    again = type(model).from_arrays(arrays, notes)
    np.testing.assert_array_equal(again.predict_proba(X_new), model.predict_proba(X_new))
    np.testing.assert_array_equal(again.predict(X_new), model.predict(X_new))
    assert np.mean(model.transduction_ == codes[:160]) > 0.7


@pytest.mark.parametrize("method", CONTRACT, ids=lambda m: m.name)
def test_a_state_that_is_not_what_was_declared_is_refused(method, moons):
    X, y, _, _ = moons
    arrays, notes = fitted(method, X, y).to_arrays()
    fields = {f.name: f for f in method.load()._declare(notes) if isinstance(f, Field)}
    sizes = [size for f in fields.values() if f.name in arrays for size in f.shape]
    for name, value in arrays.items():
        if getattr(value, "dtype", np.dtype(int)).kind != "f" or value.ndim == 0:
            continue
        wrongs = [np.full_like(value, np.nan), value.astype("U8")]
        if sizes.count(fields[name].shape[0]) > 1:  # a size that another array shares
            wrongs.append(value[:-1])
        for wrong in wrongs:
            with pytest.raises(InputError, match=method.load().__name__):
                method.load().from_arrays({**arrays, name: wrong}, notes)


@pytest.mark.parametrize("method", REGRESSORS, ids=lambda m: m.name)
def test_a_saved_regressor_predicts_the_same(method, moons):
    X, y, X_new, _ = moons
    y = np.where(np.arange(len(X)) % 2, X[:, 0] + X[:, 1], np.nan)
    model = method.build({}, task=REGRESSION, random_state=0).fit(X, y)
    again = type(model).from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(again.predict(X_new), model.predict(X_new))
    values, proba = again.answer(X_new)
    assert proba is None and np.array_equal(values, model.predict(X_new))
    assert model.status_ == "ok" and np.isfinite(model.transduction_).all()


@pytest.mark.parametrize("mode", ["ssl", "global", "clairvoyant"])
@pytest.mark.parametrize("base", ["svm", "logistic", "nearest", "kernel", "ridge"])
def test_every_learner_of_the_parts_is_stored(moons, base, mode):
    X, y, X_new, codes = moons
    method = registry.methods()["multimanifold"]
    task = "regression" if base in ("kernel", "ridge") else "classification"
    given = np.where(y < 0, np.nan, y)
    model = method.build({"base": base, "mode": mode, "n_parts": 2}, task=task, random_state=0)
    model.fit(X, given, groups=codes[:160])
    again = type(model).from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(again.predict(X_new), model.predict(X_new))
    arrays, notes = model.to_arrays()
    with pytest.raises(InputError, match="learners"):
        type(model).from_arrays(arrays, {**notes, "learners": ["pickle"]})


@pytest.mark.parametrize("options", [{}, {"similarity": "local"}, {"similarity": "sparse"}])
@pytest.mark.parametrize("on_graph", [False, True])
def test_mbed_from_its_stage_is_mbed_alone(moons, tmp_path, options, on_graph):
    X, y, X_new, _ = moons
    stage = registry.manifolds()["sne"]
    graph = build_graph(X, n_neighbors=8) if on_graph else None
    features = Features(X, None, None, None, None, None)
    arrays, _ = stage.load()(features, graph, options, seed=0)
    path = tmp_path / "sne.h5"
    with writing(path, "fit_manifold") as out:
        for name, value in arrays.items():
            out.add(name, value)
        out.note("kind", "sne")
    manifold = load_stages({"manifold": path})["manifold"]
    method = registry.methods()["mbed"]
    alone, staged = (method.build(QUICK["mbed"] | options, random_state=0) for _ in range(2))
    alone.fit(X, y, graph=graph)
    staged.fit(X, y, graph=graph, manifold=manifold)
    np.testing.assert_array_equal(alone.predict_proba(X_new), staged.predict_proba(X_new))


def test_multimanifold_from_its_stages_is_multimanifold_alone(moons, tmp_path):
    X, y, X_new, _ = moons
    rows = np.flatnonzero(y >= 0)
    splits = Splits(rows[None], [len(rows)], "unlabeled", "inductive", 0)
    seed = next(splits.draws())[2]
    features = Features(X, X_new, None, None, None, None)
    stage = registry.manifolds()["hellinger"]
    arrays, _ = stage.load()(features, None, {"n_covers": 2}, seed=0)
    with writing(tmp_path / "m.h5", "fit_manifold") as out:
        for name, value in arrays.items():
            out.add(name, value)
        out.note("kind", "hellinger")
    with writing(tmp_path / "p.h5", "encode_points") as out:
        load(stage.encoder)(out, features, arrays, splits=splits, n_parts=2)
    found = load_stages({"manifold": tmp_path / "m.h5", "points": tmp_path / "p.h5"})
    manifold = replace(found["manifold"], points=found["points"], points_new=found["points_new"])
    method = registry.methods()["multimanifold"]
    settings = {"n_parts": 2, "n_covers": 2}
    alone, staged = (method.build(settings, random_state=seed) for _ in range(2))
    alone.fit(X, y)
    staged.fit(X, y, manifold=manifold)
    assert staged.partition_.covariances is None  # nothing was cut again
    np.testing.assert_array_equal(alone.predict_proba(X_new), staged.predict_proba(X_new))
    shown = staged.predict_proba(X_new, points=manifold.points_new)
    np.testing.assert_array_equal(alone.predict_proba(X_new), shown)
    np.testing.assert_array_equal(alone.label_distributions_, staged.label_distributions_)
