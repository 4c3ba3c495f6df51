"""Stage files with other contents and a right seal are refused when they are opened or read."""

import numpy as np
import pytest

from _resealed import change_file
from fewfold.exceptions import ArtifactError
from fewfold.graph.build import build_graph
from fewfold.pipeline import artifacts
from fewfold.pipeline.graph_files import read_graph, read_neighbors, write_graph, write_neighbors
from fewfold.pipeline.stage_files import read_features, read_splits


@pytest.fixture
def graph(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    built = build_graph(X, n_neighbors=4)
    write_graph(tmp_path / "graph.h5", built)
    write_neighbors(tmp_path / "neighbors.h5", built.neighbors)
    return tmp_path


@pytest.mark.parametrize("recall", ["high", [0.5], 2.0, True])
def test_a_recall_that_is_not_a_share(graph, recall):
    path = change_file(graph / "neighbors.h5", notes={"recall": recall})
    with pytest.raises(ArtifactError, match="does not fit: note recall is"):
        read_neighbors([path])


def test_neighbors_that_are_not_among_the_rows(graph):
    indices = read_neighbors([graph / "neighbors.h5"]).indices
    indices[3, 1] = 30
    for name, read in (("neighbors", lambda p: read_neighbors([p])), ("graph", read_graph)):
        path = change_file(graph / f"{name}.h5", arrays={"indices": indices})
        with pytest.raises(ArtifactError, match="indices|names row 30"):
            read(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"arrays": {"scales": np.ones(29)}},
        {"arrays": {"scales": np.full(30, np.nan)}},
        {"arrays": {"component": np.full(30, -1)}},
        {"arrays": {"W/data": np.ones(3)}},
        {"arrays": {"W/shape": np.array([30, 31])}},
        {"remove": ["isolated"]},
        {"remove": ["note:bandwidth"]},
        {"notes": {"n_components": 7}},
        {"settings": {"n_neighbors": "four"}},
    ],
)
def test_graphs(graph, changes):
    read_graph(graph / "graph.h5")
    with pytest.raises(ArtifactError):
        read_graph(change_file(graph / "graph.h5", **changes))


def test_sparse_entries_out_of_order(graph):
    W = read_graph(graph / "graph.h5").W
    indices = W.indices.copy()
    indices[:2] = indices[1::-1]
    with pytest.raises(ArtifactError, match="out of order or given twice"):
        read_graph(change_file(graph / "graph.h5", arrays={"W/indices": indices}))


def test_features_and_splits(tmp_path):
    with artifacts.writing(tmp_path / "f.h5", "prepare_features") as out:
        out.add("X", np.ones((4, 2), np.float32))
        out.add("X_new", np.ones((2, 3), np.float32))
    with pytest.raises(ArtifactError, match=r"X_new has shape \(2, 3\), where d is 2"):
        read_features(tmp_path / "f.h5")
    with artifacts.writing(tmp_path / "s.h5", "draw_splits") as out:
        out.add("order", np.array([[0, 9]]))
        out.add("budgets", np.array([2]))
        for key, value in (("evaluate", "test"), ("protocol", "inductive"), ("seed", 0)):
            out.note(key, value)
    assert read_splits(tmp_path / "s.h5", 10).budgets == [2]
    with pytest.raises(ArtifactError, match="names row 9 in 'order', where the dataset has 9"):
        read_splits(tmp_path / "s.h5", 9)
    path = change_file(tmp_path / "s.h5", arrays={"budgets": np.array([3])})
    with pytest.raises(ArtifactError, match="budgets holds 3 to 3; allowed: 0 to 2"):
        read_splits(path)
