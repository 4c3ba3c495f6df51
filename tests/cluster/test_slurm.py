"""The workflow on a real SLURM: same results, spread over nodes, surviving what clusters do.

Two runs are at work at once, so that one computes while the other waits: `default` (the default
config with fewer trials) and `troubled` (small datasets, each with a misfortune of its own).
"""

import re
import time

import numpy as np
import pytest

from conftest import Cluster

DEFAULT = {
    "run": {"trials": 2},
    "datasets": {"helix": {"options": {"n_samples": 1500}}},
    "kernels": {"rbf": {"tile_rows": 100}},  # digits: 400 labelled rows, four tiles
}
TROUBLES = ("cancelled", "lost", "slow")
SMALL = {
    "source": "gaussians_g50c",
    "options": {"n_samples": 120, "n_features": 5, "seed": 1},
    "scale": "standard",
}


def table(path, broken):
    """A file of two classes, in which one value may be infinite."""
    rng = np.random.default_rng(0)
    rows = [f"{a:.4f},{b:.4f},{'right' if a > 0 else 'left'}" for a, b in rng.normal(size=(60, 2))]
    if broken:
        rows[30] = "0.5,inf,right"
    else:
        rows[30] = "0.5,0.5,right"
    path.write_text("a,b,side\n" + "\n".join(rows) + "\n")


def troubled_config(path):
    failing = {"source": "file", "options": {"path": str(path), "target": "side"}}
    return {
        "run": {
            "datasets": [*TROUBLES, "failing"], "methods": ["knn", "rbf_svm"],
            "labels": [6], "trials": 2,
        },
        "datasets": {name: SMALL for name in TROUBLES} | {"failing": failing},
    }  # fmt: skip


def cancel_and_lose(cluster):
    """A person cancels one job, then a node goes down under another, and comes back."""
    number, _ = cluster.running("prepare_features", "cancelled")
    cluster.slurm("scancel", number)
    first, node = cluster.running("prepare_features", "lost")
    cluster.slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    try:
        end = time.monotonic() + 300
        while cluster.running("prepare_features", "lost")[1] == node:
            assert time.monotonic() < end
            time.sleep(0.5)
    finally:
        cluster.slurm("scontrol", "update", f"nodename={node}", "state=resume")
    return node


@pytest.fixture(scope="session")
def runs(slurm, code, tmp_path_factory):
    """Both runs on the cluster, and the same on this machine alone."""
    base = tmp_path_factory.mktemp("cluster")
    file = base / "table.csv"
    table(file, broken=True)
    troubled = Cluster(base / "troubled", code, slurm, troubled_config(file))
    troubled.fault("prepare_features@cancelled", "sleep 120")
    troubled.fault("prepare_features@lost", "sleep 60")
    troubled.fault("prepare_features@lost.always", "sleep 3")  # long enough to be seen at work
    # Not before the lost node is back: it could be lost with it.
    troubled.fault("fetch_dataset@slow.always", f"wait {troubled.faults}/go")
    started = [troubled.start("--set-resources", "fetch_dataset:runtime=attempt")]
    try:
        troubled.node = cancel_and_lose(troubled)
        troubled.fault("fetch_dataset@slow", "sleep 300")
        troubled.fault("go", "")
        default = Cluster(base / "default", code, slurm, DEFAULT)
        default.fault("compute_kernel_tile@digits.always", "sleep 4")
        started.append(default.start())
        here = Cluster(base / "local", code, slurm, DEFAULT)
        local = code / "workflow/profiles/default"
        assert here.run("--cores", "2", profile=local) == 0, here.said()
        default.code_at_end = started[1].wait(timeout=900)
        troubled.code_at_end = started[0].wait(timeout=900)
    finally:
        for process in started:
            process.kill()
    here_too = Cluster(base / "local_troubled", code, slurm, troubled_config(file))
    return {"troubled": troubled, "default": default, "here": here, "here_too": here_too,
            "file": file, "local": local}  # fmt: skip


def test_default_config_gives_the_same_tables_as_without_the_cluster(runs):
    assert runs["default"].code_at_end == 0, runs["default"].said()
    assert runs["default"].tables() == runs["here"].tables()


def test_tiles_of_one_kernel_run_on_both_nodes(runs):
    logs = list(runs["default"].folder.glob("logs/digits/kernels/rbf/compute_kernel_tile_*.log"))
    assert len(logs) == 4
    nodes = {re.match(r"on (\w+)", log.read_text())[1] for log in logs}
    assert nodes == {"node1", "node2"}


@pytest.mark.parametrize("dataset", TROUBLES)
def test_cancelled_lost_and_too_slow_jobs_are_tried_again(runs, dataset):
    cluster = runs["troubled"]
    for method in ("knn", "rbf_svm"):
        assert (cluster.folder / f"results/{dataset}/methods/{method}/metrics.csv").exists()
    assert "Trying to restart job" in cluster.said()


def jobs_of(cluster, rule, dataset):
    """What SLURM remembers of the attempts at a job."""
    name = f"Comment=rule_{rule}_wildcards_{dataset}\n"
    return [job for job in cluster.slurm("scontrol", "show", "jobs").split("\n\n") if name in job]


def outcomes(cluster, rule, dataset):
    """The state that each attempt at a job ended in, with its time limit."""
    return {
        re.search(r"JobState=(\w+)", job)[1]: re.search(r"TimeLimit=(\S+)", job)[1]
        for job in jobs_of(cluster, rule, dataset)
    }


def test_the_cancelled_job_was_run_again(runs):
    found = outcomes(runs["troubled"], "prepare_features", "cancelled")
    assert {"CANCELLED", "COMPLETED"} <= set(found)


def test_the_lost_job_ended_on_the_other_node(runs):
    jobs = jobs_of(runs["troubled"], "prepare_features", "lost")
    done = [job for job in jobs if "JobState=COMPLETED" in job]
    assert len(done) == 1
    assert re.search(r" NodeList=(\w+)", done[0])[1] != runs["troubled"].node


def test_the_job_over_its_time_limit_got_more(runs):
    found = outcomes(runs["troubled"], "fetch_dataset", "slow")
    assert found["TIMEOUT"] < found["COMPLETED"]  # as 00:01:00 < 00:02:00


def test_a_failing_job_shows_its_log_leaves_nothing_and_the_mended_run_completes(runs):
    cluster = runs["troubled"]
    assert cluster.code_at_end != 0
    assert "error: 1 values are NaN or infinite; the first is inf in row 30" in cluster.said()
    assert not (cluster.folder / "results/failing/features.h5").exists()
    assert not list(cluster.folder.rglob("*.part"))
    table(runs["file"], broken=False)
    assert cluster.run() == 0, cluster.said()
    assert runs["here_too"].run("--cores", "2", profile=runs["local"]) == 0
    assert cluster.tables() == runs["here_too"].tables()
