"""Transformed copies as a stage, and the deformed kernel on top of the atlas kernel."""

import numpy as np
import pytest

from _project import Project, copy_project
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.copies_files import CopiesFile
from fewfold.pipeline.stage_files import read_features, read_splits
from fewfold.transforms import virtual_samples

METHODS = ("graph_svm", "virtual_support_vectors", "atlas_joined")
TARGETS = [f"results/digits/methods/{m}/trials_0_2.h5" for m in METHODS]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(project, directory) with three methods trained; all that they have in common made once."""
    folder = tmp_path_factory.mktemp("copies")
    project = copy_project(folder / "project")
    project.config = project.folder / "config/test/invariance.yaml"
    done = project.snakemake(folder / "run", "--cores", "2", *TARGETS)
    assert done.returncode == 0, done.stdout[-4000:]
    return project, folder / "run"


def jobs(trained, **changes):
    project, directory = trained
    return Project.jobs(project, directory, {k.replace("__", "."): v for k, v in changes.items()})


@pytest.mark.slow
def test_methods_share_one_file_of_copies(trained):
    results = trained[1] / "results/digits"
    assert [p.name for p in (results / "copies").iterdir()] == ["rotation.h5"]
    splits = read_splits(results / "splits.h5")
    labeled = splits.order.ravel()
    assert len(np.unique(labeled)) == 80  # draws share no row
    features = read_features(results / "features.h5")
    np.testing.assert_array_equal(
        CopiesFile(results / "copies/rotation.h5").of(labeled),
        virtual_samples(features.X[labeled], (8, 8), "rotation"),
    )


@pytest.mark.slow
def test_every_method_learned(trained):
    truth = read(trained[1] / "results/digits/labels.h5", "prepare_labels")["y"]
    for target in TARGETS:
        with read(trained[1] / target, "train_method") as file:
            assert {cell["status"] for cell in file.note("cells")} == {"ok"}
            assert np.mean(file["labels/0/40"] != truth) < 0.6  # of ten classes


@pytest.mark.slow
def test_copies_are_made_again_only_if_the_transform_changes(trained):
    assert "make_copies" not in jobs(trained, methods__graph_svm__deformation=10.0)
    assert (
        jobs(trained, methods__graph_svm__transform={"name": "rotation", "step": 30})["make_copies"]
        == 1
    )
