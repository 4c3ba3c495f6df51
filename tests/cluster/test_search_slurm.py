"""A neighbor search in tiles on a real SLURM, one node of which dies in the middle of it."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from conftest import SCRIPT, Cluster
from fewfold.pipeline.artifacts import read

# Chunks of rows are searched whole: 100 000 rows are 16 of them, so four in a tile.
N = 100_000
CONFIG = {
    "tile_rows": 25_000,
    "run": {"datasets": ["big"], "methods": ["diffusion"], "labels": [20], "trials": 1},
    "datasets": {"big": {"source": "curved_manifolds", "scale": "none",
                         "options": {"n_samples": N, "n_features": 10, "seed": 1}}},
}  # fmt: skip
GRAPH = "results/big/graphs/euclidean.h5"


@pytest.fixture(scope="module")
def runs(slurm, code, tmp_path_factory):
    """The graph from tiles while a node dies, and from one job on this machine alone."""
    base = tmp_path_factory.mktemp("search")
    tiled = Cluster(base / "tiled", code, slurm, CONFIG)
    whole = {key: value for key, value in CONFIG.items() if key != "tile_rows"}
    here = Cluster(base / "here", code, slurm, whole)
    local = {"profile": code / "workflow/profiles/default"}
    assert here.run("--cores", "2", "--", GRAPH, **local) == 0, here.said()
    tiled.fault("search_neighbors@big.always", f"wait {tiled.faults}/go")
    home = Path(slurm["SLURM_CONF"]).parents[1]
    process = tiled.start("--", GRAPH)
    try:
        tiles = "rule_search_neighbors_wildcards_big"
        tiled.until(lambda: len(at_work(tiled, tiles)) == 4)
        tiled.before = at_work(tiled, tiles)
        subprocess.run([SCRIPT, "kill", home, "node2"], check=True, timeout=60)
        tiled.fault("go", "")
        tiled.code_at_end = process.wait(timeout=900)
    finally:
        process.kill()
        subprocess.run([SCRIPT, "start", home, "2", "4", "12000"], check=True, timeout=120)
    return {"tiled": tiled, "here": here}


def at_work(cluster, start):
    """The node of each running job whose comment starts so."""
    lines = cluster.slurm("squeue", "-h", "-t", "R", "-o", "%N|%k").splitlines()
    return [node for node, comment in (x.split("|") for x in lines) if comment.startswith(start)]


def test_tiles_of_a_search_run_on_both_nodes(runs):
    assert Counter(runs["tiled"].before) == {"node1": 2, "node2": 2}


def test_each_tile_is_a_quarter_of_the_work(runs):
    """So two nodes take half of what one takes; here they share the same two cores."""
    logs = runs["tiled"].folder.glob("logs/big/graphs/euclidean/search_neighbors_*.log")
    found = [re.search(rf"^(\d+) of {N} rows, recall", log.read_text(), re.M) for log in logs]
    rows = [int(match[1]) for match in found]
    assert len(rows) == 4 and sum(rows) == N and max(rows) < 1.05 * N / 4


def test_tiles_of_a_node_that_died_are_searched_on_the_other(runs):
    cluster = runs["tiled"]
    assert cluster.code_at_end == 0, cluster.said()
    logs = list(cluster.folder.glob("logs/big/graphs/euclidean/search_neighbors_*.log"))
    assert len(logs) == 4
    assert {re.match(r"on (\w+)", log.read_text())[1] for log in logs} == {"node1"}
    jobs = cluster.slurm("scontrol", "show", "jobs").split("\n\n")
    lost = [job for job in jobs if "JobState=NODE_FAIL" in job and str(cluster.folder) in job]
    assert lost and all(" NodeList=node2" in job for job in lost)


def test_the_graph_is_that_of_one_job_to_the_bit(runs):
    tiled, whole = (read(runs[key].folder / GRAPH, "build_graph") for key in ("tiled", "here"))
    with tiled, whole:
        assert tiled.note("recall") == whole.note("recall") >= 0.99
        for name in ("indices", "distances", "scales", "component"):
            np.testing.assert_array_equal(tiled[name], whole[name])
        assert (tiled["W"] != whole["W"]).nnz == 0
