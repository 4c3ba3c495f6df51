"""The config that a labeling run hands to the workflow."""

from dataclasses import replace

import numpy as np
import pytest

from fewfold.exceptions import ArtifactError
from fewfold.graph.build import GraphSettings
from fewfold.labeling import workspace
from fewfold.labeling.intake import Intake
from fewfold.methods.diffusion.estimator import image_graph_settings
from fewfold.pipeline import artifacts, layout


def intake(n=200, side=8, labeled=40):
    rng = np.random.default_rng(0)
    y = np.full(n, -1)
    y[:labeled] = np.arange(labeled) % 2
    X = rng.uniform(size=(n, side * side)).astype(np.float32)
    return Intake(X, y, "classification", ["a", "b"], None, None, "row", image_shape=(side, side))


def config_of(found, asked=None):
    members = workspace.choose_members(found, asked)
    return workspace.make_config(found, members, seed=0, settings={"task": found.task})


@pytest.mark.parametrize("side", [8, 16])
def test_the_graph_of_images_is_the_one_diffusion_would_build(side):
    config = config_of(intake(side=side))
    assert "image_diffusion" in config["label"]["members"]
    built = GraphSettings.from_dict(config["graphs"]["images"]).for_images((side, side))
    assert built == image_graph_settings((side, side))


def test_tables_have_no_graph_of_images():
    config = config_of(replace(intake(), image_shape=None))
    assert list(config["graphs"]) == ["near", "rows"] and "batches" not in config["label"]
    assert "image_diffusion" not in config["label"]["members"]


def test_many_rows_are_examined_by_several_jobs():
    label = config_of(replace(intake(n=6000, side=2), image_shape=None))["label"]
    assert sorted(name for batch in label["batches"] for name in batch) == sorted(label["members"])
    assert len(label["batches"]) > 4


@pytest.mark.parametrize(("n", "neighbors"), [(3, 2), (6, 5), (11, 10), (200, 10)])
def test_small_tables_ask_for_as_many_neighbors_as_there_are(n, neighbors):
    graphs = config_of(intake(n=n, labeled=2))["graphs"]
    assert graphs["rows"]["n_neighbors"] == neighbors
    assert graphs["images"]["n_neighbors"] == min(6, n - 1)


def test_damaged_inputs_are_written_again_and_say_what_makes_them(tmp_path):
    found = intake()
    workspace.write_inputs(tmp_path, found, {})
    path = tmp_path / "input/features.h5"
    whole = path.read_bytes()
    place = whole.find(np.ascontiguousarray(found.X).tobytes()[:64])
    damaged = bytearray(whole)
    damaged[place + 1] ^= 0x10
    path.write_bytes(damaged)
    with artifacts.read(path, layout.stage_of(path)) as file:
        with pytest.raises(ArtifactError, match="the command 'fewfold label' makes it again"):
            file["X"]
    workspace.write_inputs(tmp_path, found, {})
    with artifacts.read(path, layout.stage_of(path)) as file:
        assert np.array_equal(file["X"], found.X)
