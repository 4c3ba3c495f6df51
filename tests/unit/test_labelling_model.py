"""Model files: the same answers without the run, far rows, refusals."""

import time

import numpy as np
import pytest
from _labelling_material import material
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from fewfold.exceptions import ArtifactError, InputError
from fewfold.graph.build import build_graph
from fewfold.labeling.finishing import write_model
from fewfold.labeling.fitting import cluster_answer, fill_unknown
from fewfold.labeling.model_file import Model, save_model
from fewfold.methods.diffusion.estimator import diffuse, image_graph_settings
from fewfold.pipeline.artifacts import writing


def saved(tmp_path, learner="diffusion", details=None):
    code, found = material()
    found.notes.update(learner=learner, details=details or {})
    for name in ("features", "labels", "graph"):
        found.files[name] = tmp_path / f"{name}.h5"
        found.files[name].write_bytes(b"x")
    path = tmp_path / "model.h5"
    write_model(found, path, {"diffusion": learner})
    return code, found, path


def test_new_rows_are_labelled_like_old_ones(tmp_path):
    code, found, path = saved(tmp_path)
    model = Model.load(path)
    X = found.features.X
    said = model.predict(X + 1e-4)
    assert np.mean(said["label"] == found.answer["label"]) > 0.97
    assert (said["second"] != said["label"]).all()
    far = model.predict(X[:5] + 100)
    assert far["far"].all() and said["far"].mean() < 0.05
    with pytest.raises(InputError, match="3 features; the model was made with 4"):
        model.predict(X[:, :3])


def test_equal_runs_give_equal_model_files(tmp_path):
    """Though an answer says how long each method took, and HDF5 can note the time of writing."""
    files = []
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        _, found, path = saved(tmp_path / str(number))
        comparison = {**found.notes["comparison"], "table": [{"seconds": 0.1 + number}]}
        found.notes["comparison"] = comparison
        found.files["answer"] = path.with_name("answer.h5")
        with writing(found.files["answer"], "label_rows") as out:
            out.note("comparison", comparison)
        write_model(found, path, {})
        files.append(path.read_bytes())
        time.sleep(1.1 - number)
    assert files[0] == files[1]


def test_a_model_of_images_knows_images_it_never_saw(tmp_path):
    X, digit = load_digits(return_X_y=True)
    X, old, new = X.astype(np.float32), np.arange(600), np.arange(600, 800)
    y = np.full(600, -1)
    y[:100] = digit[:100]
    graph = build_graph(X[old], image_graph_settings((8, 8)))
    proba, _ = diffuse(graph.W, np.arange(100), digit[:100], 10, sources="classes")
    path = tmp_path / "model.h5"
    save_model(
        path, method="image_diffusion", learner="diffusion", details={}, task="classification",
        classes=list("0123456789"), X=X[old], y=y, answer={"proba": proba}, graph=graph,
        table_notes={}, calibration=(1.0, 0.0), image_shape=(8, 8),
    )  # fmt: skip
    said = Model.load(path).predict(X[new])
    assert np.mean(said["label"] != digit[new]) < 0.15  # 17.5 % on the plain graph


def test_knn_and_svm_need_the_labelled_rows_only(tmp_path):
    code, found, path = saved(tmp_path, "knn", {"n_neighbors": 3})
    model = Model.load(path)
    given = np.flatnonzero(found.truth.y >= 0)
    assert model.X.shape[0] == 30
    X = found.features.X
    nearest = np.argsort(((X[:, None] - X[given][None]) ** 2).sum(axis=2), axis=1)[:, :3]
    votes = np.array([np.bincount(found.truth.y[given][r], minlength=3) for r in nearest])
    said = model.predict(X)["label"]
    clear = votes.max(axis=1) >= 2
    assert (said[clear] == votes.argmax(axis=1)[clear]).all()
    code, found, path = saved(tmp_path, "svm", {"C": 10.0, "gamma": 0.2})
    expected = SVC(C=10.0, gamma=0.2).fit(X[given], found.truth.y[given]).decision_function(X)
    assert (Model.load(path).predict(X)["label"] == expected.argmax(axis=1)).mean() > 0.99


def test_damaged_and_missing_files_are_refused(tmp_path):
    _, found, path = saved(tmp_path)
    whole = path.read_bytes()
    place = whole.index(np.ascontiguousarray(found.features.X).tobytes()) + 1000
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    with pytest.raises(ArtifactError, match="damaged"):
        Model.load(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArtifactError):
        Model.load(path)
    with pytest.raises(InputError, match="no such model file"):
        Model.load(tmp_path / "nothing.h5")


def test_rows_out_of_reach_take_the_nearest_label():
    X = np.array([[0.0], [1.0], [9.0], [8.0]])
    y = np.array([0, -1, 1, -1])
    labels, guessed = fill_unknown(X, y, np.array([0, -1, 1, -1]), np.array([0, 2]))
    assert labels.tolist() == [0, 0, 1, 1] and guessed.tolist() == [False, True, False, True]


def test_groups_from_eigenvectors():
    vectors = np.repeat(np.eye(3), [10, 20, 5], axis=0) + 0.01
    arrays, notes = cluster_answer(vectors, 3, 0)
    assert np.bincount(arrays["label"]).tolist() == [20, 10, 5]
    assert (arrays["confidence"] > 0.9).all() and notes["task"] == "clustering"
