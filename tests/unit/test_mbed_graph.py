"""Mbed on a neighbor graph: sparse distances in the estimator, a named graph in the workflow."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from fewfold import MbedClassifier
from fewfold.config.plan import Plan
from fewfold.config.schema import read_schema, validate
from fewfold.exceptions import ConfigError, DataWarning, InputError
from fewfold.graph.build import build_graph, extend_graph
from fewfold.methods.mbed.neighborhoods import GraphNeighborhoods, SparseNeighborhoods
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.stage_files import read_labels
from fewfold.pipeline.training import Inputs, fit_draw

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"n_steps": 60, "n_annealing": 8, "random_state": 0}


def _crescents(n=240, seed=0):
    """Two interlocked half circles, which only a graph (or its walks) keeps apart."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, np.pi, n)
    codes = np.arange(n) % 2
    X = np.column_stack([np.cos(t), np.sin(t)])
    X[codes == 1] = [1, 0.4] - X[codes == 1]
    y = np.full(n, -1)
    y[:8] = codes[:8]
    return X + rng.normal(0, 0.07, X.shape), codes, y


def test_listed_neighbors_give_the_probabilities_of_a_search():
    X = np.random.default_rng(0).normal(size=(80, 4))
    D = kneighbors_graph(X, 9, mode="distance")
    searched = SparseNeighborhoods(9, 4.0).fit(X)
    listed = GraphNeighborhoods(4.0).fit(D)
    np.testing.assert_allclose(listed.toarray(), searched.toarray(), atol=1e-4)


def test_lists_of_different_lengths_and_zero_distances():
    # Row 0 lists itself, a duplicate at distance 0 and one more; row 2 has a single neighbor.
    D = sparse.csr_array(
        (np.array([0.0, 0.0, 2.0, 0.0, 1.0]), [0, 1, 2, 0, 1], [0, 3, 4, 5]), shape=(3, 3)
    )
    P = GraphNeighborhoods(2.0).fit(D)
    assert P.toarray()[0, 0] == 0 and P.toarray()[2].tolist() == [0, 1, 0]
    assert P.toarray()[0, 1] > P.toarray()[0, 2] > 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)


def test_a_point_without_neighbors_is_named():
    D = sparse.csr_array(np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]]))
    with pytest.raises(InputError, match="1 of 3 points have no neighbor.*row 2"):
        GraphNeighborhoods(2.0).fit(D)


@pytest.mark.parametrize("max_exact, similarity", [(5000, "diffused"), (100, "sparse")])
def test_estimator_on_sparse_distances(max_exact, similarity):
    X, codes, y = _crescents()
    D = kneighbors_graph(X, 8, mode="distance")
    model = MbedClassifier(metric="precomputed", max_exact=max_exact, **QUICK).fit(D, y)
    assert model.similarity_ == similarity
    assert np.mean(model.transduction_ != codes) < 0.05
    # The rows' own lists, as if they were new: they land in their classes.
    assert np.mean(model.predict(D) != codes) < 0.05


def test_what_a_graph_cannot_give_is_refused():
    X, _, y = _crescents(60)
    D = kneighbors_graph(X, 5, mode="distance")
    with pytest.raises(InputError, match="similarity='global'"):
        MbedClassifier(metric="precomputed", variant="published", **QUICK).fit(D, y)
    model = MbedClassifier(metric="precomputed", **QUICK).fit(D, y)
    with pytest.raises(InputError, match="must be sparse too"):
        model.predict(D.toarray())


@pytest.mark.parametrize("weights", ["binary", "self_tuning"])
def test_adapter_embeds_the_graph_and_places_new_rows_by_its_extension(weights):
    X, codes, y = _crescents(300)
    rows, fresh = slice(0, 240), slice(240, 300)
    graph = build_graph(X[rows], n_neighbors=8, weights=weights)
    # The features given are worthless: whatever is right comes from the graph.
    inputs = Inputs(
        X=np.zeros((240, 1)),
        X_new=np.zeros((60, 1)),
        graph=graph,
        extension=extend_graph(graph, X[rows], X[fresh]),
    )
    labeled = np.flatnonzero(y[rows] >= 0)
    outcome = fit_draw(
        "mbed", inputs, labeled, y[labeled], n_classes=2, seed=0,
        settings={"n_steps": 60, "n_annealing": 8},
    )  # fmt: skip
    assert outcome.details["similarity"] == "diffused"
    assert np.mean(outcome.labels != codes[rows]) < 0.03
    assert np.mean(outcome.labels_new != codes[fresh]) < 0.05


def _config():
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["methods"]["mbed_graph"] = {"learner": "mbed", "graph": "invariant", "n_steps": 60}
    config["run"] |= {"datasets": ["digits"], "methods": ["mbed_graph"]}
    return config


def test_a_config_may_name_the_graph():
    config = _config()
    validate(config, read_schema(ROOT))
    assert Plan(config).used("graphs", "mbed_graph") == ["invariant"]
    config["methods"]["mbed_graph"]["graph"] = "invarant"
    with pytest.raises(ConfigError, match="Did you mean 'invariant'"):
        Plan(config)


def test_stages_from_images_over_the_invariant_graph_to_labels(tmp_path):
    """The workflow's scripts, one after the other, with held-out rows."""

    def stage(name, *args, **options):
        runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))["main"](*args, **options)

    names = ("raw", "features", "labels", "splits", "tile", "graph", "extension", "out")
    files = {name: str(tmp_path / f"{name}.h5") for name in names}
    settings = dict(_config()["graphs"]["invariant"])
    settings.pop("tile_rows")
    held = {"protocol": "inductive", "holdout": 0.2, "seed": 0}
    # Of 0, 1, 2 a knot of fifteen 1s lies between the 1s and the 2s: five of the 60 held-out rows
    # are in it and follow it, right or wrong. These classes have no such knot.
    options = {"n_samples": 300, "classes": ["0", "4", "6"]}
    stage("fetch_dataset", files["raw"], source="digits", options=options)
    with pytest.warns(DataWarning, match="constant columns"):
        stage(
            "prepare_features", files["raw"], files["features"],
            scale="divide", divide_by=16.0, pca=None, **held,
        )  # fmt: skip
    draws = {"dataset": "digits", "draw": "balanced", "labels_per_draw": [6], "trials": 1,
             "evaluate": "unlabeled", "protocol": "inductive", "seed": 0}  # fmt: skip
    places = files["raw"], files["labels"], files["splits"]
    stage("prepare_labels", *places, held_out=held, draws=draws)
    stage("search_neighbors", files["features"], files["tile"], search=settings, tile=0, n_tiles=1)
    stage("build_graph", [files["tile"]], files["graph"], graph_settings=settings,
          image_shape=[8, 8])  # fmt: skip
    stage("extend_graph", files["features"], files["graph"], files["extension"],
          graph_settings=settings, image_shape=[8, 8])  # fmt: skip
    given = ("features", "labels", "splits", "graph", "extension")
    stage("train_method", {name: files[name] for name in given}, files["out"],
          str(tmp_path / "metrics.csv"), dataset="digits", first=0, last=1,
          methods={"mbed": {"learner": "mbed", "options": {"n_steps": 60}}})  # fmt: skip
    truth = read_labels(files["labels"])
    with read(files["out"], "train_method") as out:
        assert out.note("cells")[0]["details"]["similarity"] == "diffused"
        assert np.mean(out["labels/0/6"] != truth.y) < 0.02
        assert np.mean(out["labels_new/0/6"] != truth.y_new) < 0.02
