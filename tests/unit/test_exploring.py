"""Neighbors of neighbors: what they add to candidates, in one process and as jobs."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.datasets import load_digits

from fewfold.config.jobs import Jobs
from fewfold.config.plan import Plan
from fewfold.graph import exploring
from fewfold.graph import settings as graph_settings
from fewfold.graph.build import GraphSettings, build_graph, find_neighbors
from fewfold.graph.neighbors import Neighbors
from fewfold.pipeline import artifacts

ROOT = Path(__file__).resolve().parents[2]
FEW = {
    "n_neighbors": 5, "metric": "deformation", "candidates": 6,
    "metric_options": {"recall_sample": 300, "fine": {"window": 5}, "fine_candidates": 6},
}  # fmt: skip
SETTINGS = GraphSettings(**FEW, image_shape=[8, 8])


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:300].astype(np.float32)


@pytest.fixture(scope="module")
def found(digits):
    return find_neighbors(digits, SETTINGS)


def test_more_of_the_true_neighbors_are_found(digits, found):
    options = {"fine": {"window": 5}, "fine_candidates": 299}
    everyone = FEW | {"candidates": 299, "metric_options": options}
    true = find_neighbors(digits, GraphSettings(**everyone, image_shape=[8, 8])).indices
    more = exploring.explore(digits, found, SETTINGS)

    def share(indices):
        return np.mean([len(np.intersect1d(a, b)) / 5 for a, b in zip(indices, true)])

    assert share(more.indices) > share(found.indices) + 0.1
    # The recall is measured among ten times as many rows as the finer metric ranks.
    assert more.recall == pytest.approx(share(more.indices), abs=0.03)
    assert (more.distances <= found.distances).all()
    assert (np.diff(more.distances, axis=1) >= 0).all()
    for row, indices in enumerate(more.indices):
        assert len({row, *indices}) == 6


def test_enough_is_left_as_it_is(digits, found):
    enough = GraphSettings(**FEW, image_shape=[8, 8], min_recall=0.1)
    assert exploring.explore(digits, found, enough) is found
    unknown = Neighbors(found.indices, found.distances)
    assert exploring.explore(digits, unknown, SETTINGS) is unknown


def test_rows_that_point_at_a_row_come_nearest_first():
    indices = np.array([[1, 2], [2, 3], [3, 1], [1, 0]])
    distances = np.array([[1, 2], [1, 3], [1, 2], [1, 9]])
    # 3 and 0 are nearest to row 1 (2 is farther); only one row points at 0, so its second stands.
    assert exploring.pointing_at(Neighbors(indices, distances)).tolist() == [
        [3, 2], [0, 3], [1, 0], [2, 1],
    ]  # fmt: skip


def test_rows_that_several_neighbors_lead_to_come_first():
    known = np.array([[1, 2], [3, 4], [3, 0], [5, 0], [0, 1], [0, 1]])
    around = np.hstack([known, known])
    got = exploring.second_neighbors(np.array([0]), around, known)[0]
    assert got.shape == (exploring.WIDTH,)
    assert got[:2].tolist() == [3, 4] and set(got[2:]) == {0}


def test_blocks_do_not_change_the_result(digits, found, monkeypatch):
    whole = exploring.explore(digits, found, SETTINGS)
    monkeypatch.setattr(exploring, "_BLOCK", 70)
    parts = exploring.explore(digits, found, SETTINGS)
    np.testing.assert_array_equal(parts.indices, whole.indices)
    np.testing.assert_array_equal(parts.distances, whole.distances)


def test_the_stages_explore_as_one_process_does(digits, monkeypatch, tmp_path):
    monkeypatch.setattr(graph_settings, "FEW_TO_EXPLORE", 200)
    with artifacts.writing(tmp_path / "features.h5", "prepare_features") as out:
        out.add("X", digits)
        out.note("image_shape", [8, 8])
    script = {name: runpy.run_path(str(ROOT / f"scripts/{name}.py"))["main"]
              for name in ("search_neighbors", "build_graph")}  # fmt: skip
    tiles = [tmp_path / f"neighbors_{t}.h5" for t in range(2)]
    for number, tile in enumerate(tiles):
        script["search_neighbors"](
            tmp_path / "features.h5", tile, search=FEW, tile=number, n_tiles=2
        )
    script["build_graph"](
        tiles, tmp_path / "graph.h5", graph_settings=FEW, image_shape=[8, 8],
        features=tmp_path / "features.h5",
    )  # fmt: skip
    with artifacts.read(tmp_path / "graph.h5", "build_graph") as got:
        whole = build_graph(digits, SETTINGS)
        assert (got["W"] != whole.W).nnz == 0
    assert whole.neighbors.recall > find_neighbors(digits, SETTINGS).recall


@pytest.mark.parametrize(("n", "explores"), [(80_000, False), (80_001, True)])
def test_the_job_reads_the_images_where_it_explores(n, explores):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["run"] |= {"datasets": ["many"], "methods": ["invariant_diffusion"]}
    config["datasets"] = {
        "many": {"source": "deformed_mnist", "options": {"n_samples": n, "seed": 0}}
    }
    jobs = Jobs(Plan(config))
    (one,) = [job for job in jobs.walk() if job.stage == "build_graph"]
    inputs = jobs.inputs("build_graph")(one.wildcards)
    assert len(inputs["tiles"]) > 1
    assert ("features" in inputs) == explores
