"""Model files: the same answers without the run, far rows, refusals."""

import time

import numpy as np
import pytest
from _labeling_material import CLASSES, TABLE, answered, rows, saved

from fewfold.exceptions import ArtifactError, InputError
from fewfold.graph.build import build_graph
from fewfold.labeling.clustering import cluster_answer, grouped
from fewfold.labeling.examining import Task
from fewfold.labeling.model_file import Model, save_model
from fewfold.methods.members import DataShape, members_for

# Their answer about a row is that about an equal new row; the others take it from the row's
# neighbors, and the number is by how much the confidence of a row may differ (docs/label.md).
INDUCTIVE = ("extra_trees", "forest", "logistic_1", "rbf_1_10", "clusters_4", "linear_tsvm",
             "rbf_tsvm", "low_density", "knn", "linear_svm")  # fmt: skip
TRANSDUCTIVE = {"diffusion": 0.25, "eigenbasis": 0.6, "metric_svm": 0.25}


def difference(tmp_path, names, **options):
    """Return how labels and confidences of `predict` differ from the answer's, on new rows."""
    task, arrays, path = saved(tmp_path, names, **options)
    said, new = Model.load(path).predict(task.X), ~arrays["given"]
    if not task.is_classes:
        return np.abs(said["label"] - arrays["label"])[new].max(), 0
    labels = np.mean(said["label"][new] != arrays["label"][new])
    return labels, np.abs(said["confidence"] - arrays["confidence"])[new].max()


@pytest.mark.parametrize("name", INDUCTIVE)
def test_predict_says_what_the_answer_says(tmp_path, name):
    labels, confidence = difference(tmp_path, (name,))
    assert labels == 0 and confidence < 1e-9


@pytest.mark.parametrize("name", TRANSDUCTIVE)
def test_predict_by_transductive_members_differs_little(tmp_path, name):
    labels, confidence = difference(tmp_path, (name,))
    assert labels <= 0.02 and confidence < TRANSDUCTIVE[name]


@pytest.mark.slow
def test_predict_of_the_whole_combination(tmp_path):
    names = tuple(m.name for m in members_for(DataShape("classification", 300, 30)))
    labels, confidence = difference(tmp_path, names)
    assert labels <= 0.01 and confidence < 0.1


@pytest.mark.parametrize("name", ["extra_trees", "boosting", "ridge", "kernel_ridge_1", "knn"])
def test_predict_of_numbers(tmp_path, name):
    assert difference(tmp_path, (name,), numbers=True)[0] < 1e-9


def test_new_rows_are_labeled_like_old_ones_and_far_ones_are_named(tmp_path):
    task, arrays, path = saved(tmp_path)
    model = Model.load(path)
    said = model.predict(task.X + np.float32(1e-4))
    assert np.mean(said["label"] == arrays["label"]) > 0.95
    assert (said["second"] != said["label"]).all()
    far = model.predict(task.X[:5] + 100)
    assert far["far"].all() and said["far"].mean() < 0.05
    with pytest.raises(InputError, match="3 features; the model was made with 4"):
        model.predict(task.X[:, :3])


def test_equal_runs_give_equal_model_files(tmp_path):
    """Though evidence says how long each candidate took, and HDF5 can note the time of writing."""
    files = []
    for number in range(2):
        answered.cache_clear()
        _, _, path = saved(tmp_path / str(number))
        files.append(path.read_bytes())
        time.sleep(1.1 - number)
    assert files[0] == files[1]


def test_arrays_that_members_share_are_stored_once(tmp_path):
    _, _, one = saved(tmp_path, ("diffusion",))
    _, _, two = saved(tmp_path, ("diffusion", "diffusion_free"))
    assert two.stat().st_size < 1.6 * one.stat().st_size


def test_damaged_and_missing_files_are_refused(tmp_path):
    task, _, path = saved(tmp_path)
    whole = path.read_bytes()
    place = whole.index(np.ascontiguousarray(task.X).tobytes()[:64]) + 1000
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    with pytest.raises(ArtifactError, match="damaged"):
        Model.load(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArtifactError):
        Model.load(path)
    with pytest.raises(InputError, match="no such model file"):
        Model.load(tmp_path / "nothing.h5")


def test_groups_from_eigenvectors(tmp_path):
    vectors = np.repeat(np.eye(3), [10, 20, 5], axis=0) + 0.01
    proba, label = grouped(vectors, 3, 0)
    assert np.bincount(label).tolist() == [20, 10, 5] and (proba.max(axis=1) > 0.9).all()
    code, X, _ = rows()
    task = Task(X, np.full(300, -1), "classification", 3, graphs={"rows": build_graph(X)})
    members, states, combination, arrays, notes = cluster_answer(task, 3, 0)
    assert notes["task"] == "clustering" and set(arrays["label"]) == {0, 1, 2}
    path = tmp_path / "model.h5"
    save_model(
        path, combination, members, states, task="clustering", classes=CLASSES, X=X,
        table_notes={**TABLE, "feature_names": None},
    )  # fmt: skip
    said = Model.load(path).predict(X + np.float32(1e-4))
    assert np.mean(said["label"] == arrays["label"]) > 0.95
