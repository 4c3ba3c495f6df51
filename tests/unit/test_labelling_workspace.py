"""The config that a labelling run hands to the workflow."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from fewfold.exceptions import ArtifactError
from fewfold.graph.build import GraphSettings
from fewfold.labeling import workspace
from fewfold.labeling.intake import Intake
from fewfold.methods.diffusion.estimator import image_graph_settings
from fewfold.pipeline import artifacts, layout


def intake(n=200, side=8, labelled=40):
    rng = np.random.default_rng(0)
    y = np.full(n, -1)
    y[:labelled] = np.arange(labelled) % 2
    X = rng.uniform(size=(n, side * side)).astype(np.float32)
    return Intake(X, y, "classification", ["a", "b"], None, None, "row", image_shape=(side, side))


@pytest.mark.parametrize("side", [8, 16])
def test_the_graph_of_images_is_the_one_diffusion_would_build(side):
    found = intake(side=side)
    methods = workspace.methods_to_compare("classification", 200, 40, found.image_shape)
    assert methods[0] == "image_diffusion"
    config = workspace.make_config(
        "table", found, methods, None, image_shape=found.image_shape, seed=0, settings={}
    )
    assert config["methods"]["image_diffusion"]["graph"] == "images"
    built = GraphSettings.from_dict(config["graphs"]["images"]).for_images((side, side))
    assert built == image_graph_settings((side, side))


def test_tables_have_no_graph_of_images():
    found = intake()
    methods = workspace.methods_to_compare("classification", 200, 40, None)
    config = workspace.make_config(
        "table", found, methods, None, image_shape=None, seed=0, settings={}
    )
    assert "images" not in config["graphs"] and "image_diffusion" not in config["methods"]


@pytest.mark.parametrize(("n", "neighbours"), [(3, 2), (6, 5), (11, None), (200, None)])
def test_small_tables_ask_for_as_many_neighbours_as_there_are(n, neighbours):
    found = intake(n=n, labelled=2)
    config = workspace.make_config(
        "table", found, ["diffusion"], None, image_shape=(8, 8), seed=0, settings={}
    )
    assert config["graphs"].get("euclidean", {}).get("n_neighbors") == neighbours
    assert config["graphs"]["near"]["n_neighbors"] == min(5, n - 1)
    assert config["graphs"]["images"]["n_neighbors"] == min(6, n - 1)


def test_the_default_number_of_neighbours_is_that_of_the_config():
    file = Path(__file__).parents[2] / "config/config.yaml"
    graphs = yaml.safe_load(file.read_text())["graphs"]
    assert graphs["euclidean"]["n_neighbors"] == workspace.DEFAULT_NEIGHBORS


def test_damaged_inputs_are_written_again_and_say_what_makes_them(tmp_path):
    found = intake()
    workspace.write_inputs(tmp_path, found, None, (8, 8), {})
    path = tmp_path / "input/features.h5"
    whole = path.read_bytes()
    place = whole.find(np.ascontiguousarray(found.X).tobytes()[:64])
    damaged = bytearray(whole)
    damaged[place + 1] ^= 0x10
    path.write_bytes(damaged)
    with artifacts.read(path, layout.stage_of(path)) as file:
        with pytest.raises(ArtifactError, match="the command 'fewfold label' makes it again"):
            file["X"]
    workspace.write_inputs(tmp_path, found, None, (8, 8), {})
    with artifacts.read(path, layout.stage_of(path)) as file:
        assert np.array_equal(file["X"], found.X)
