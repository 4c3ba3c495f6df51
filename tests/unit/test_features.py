"""The files of prepared rows, labels and draws come back as they were written."""

import numpy as np
import pytest
from scipy import sparse

from fewfold.exceptions import ArtifactError
from fewfold.pipeline import artifacts
from fewfold.pipeline.stage_files import read_features, read_labels, read_splits


def test_features(tmp_path):
    X = np.arange(6.0).reshape(2, 3)
    with artifacts.writing(tmp_path / "f.h5", "prepare_features") as out:
        out.add("X", X)
        out.add("images", X * 2)
        out.add("images_new", X * 3)
        out.add("feature_names", ["a", "", "ü"])
        out.note("image_shape", [1, 3])
    found = read_features(tmp_path / "f.h5")
    assert found.image_shape == (1, 3) and found.feature_names == ["a", "", "ü"]
    assert found.X_new is None
    assert found.for_graph(True)[0][0, 1] == 2 and found.for_graph(True)[1][0, 1] == 3
    assert found.for_graph(False)[0][0, 1] == 1 and found.for_graph(False)[1] is None


def test_sparse_features_without_images(tmp_path):
    with artifacts.writing(tmp_path / "f.h5", "prepare_features") as out:
        out.add("X", sparse.csr_array(np.eye(3)))
        out.add("X_new", sparse.csr_array(np.eye(3)[:1]))
        out.note("image_shape", None)
    found = read_features(tmp_path / "f.h5")
    assert sparse.issparse(found.X) and found.X_new.shape == (1, 3)
    assert found.image_shape is None and found.for_graph(True)[0] is found.X


def test_labels(tmp_path):
    with artifacts.writing(tmp_path / "l.h5", "prepare_labels") as out:
        out.add("y", np.array([0, -1, 1]))
        out.add("classes", ["cat", "ö"])
        out.note("task", "classification")
    found = read_labels(tmp_path / "l.h5")
    assert (
        found.n_classes == 2 and found.task == "classification" and found.y.tolist() == [0, -1, 1]
    )
    assert found.test_mask is None and found.groups is None and found.y_new is None
    with artifacts.writing(tmp_path / "r.h5", "prepare_labels") as out:
        out.add("y", np.array([0.5, np.nan]))
        out.note("task", "regression")
    assert read_labels(tmp_path / "r.h5").n_classes == 0
    with pytest.raises(ArtifactError, match="stage 'prepare_labels'"):
        read_features(tmp_path / "l.h5")


def test_splits(tmp_path):
    with artifacts.writing(tmp_path / "s.h5", "draw_splits") as out:
        out.add("order", np.array([[5, 1, 7], [1, 9, 0]]))
        out.add("budgets", np.array([1, 3]))
        out.note("evaluate", "unlabeled")
        out.note("protocol", "transductive")
        out.note("seed", 3)
    found = read_splits(tmp_path / "s.h5")
    assert found.budgets == [1, 3] and found.seed == 3
    assert found.labeled_rows.tolist() == [0, 1, 5, 7, 9]
