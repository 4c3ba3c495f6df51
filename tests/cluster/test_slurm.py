"""The workflow on a real SLURM: same results, spread over nodes, surviving what clusters do.

Two runs are at work at once, so that one computes while the other waits: `default` (the default
config with fewer trials) and `troubled` (small datasets, each with a misfortune of its own).
"""

import re

import numpy as np
import pytest

from conftest import Cluster
from fewfold.doctor import check_profile

# All methods of the default config, on fewer rows and draws.
DEFAULT = {
    "run": {"trials": 2, "labels": [50]},
    "datasets": {
        "digits": {"options": {"n_samples": 600}},
        "helix": {"options": {"n_samples": 1000}},
    },
    "kernels": {"rbf": {"tile_rows": 40}},  # 160 labeled rows of helix: four tiles
}
TROUBLES = ("cancelled", "lost", "slow")
SMALL = {
    "source": "gaussians_g50c",
    "options": {"n_samples": 120, "n_features": 5, "seed": 1},
    "scale": "standard",
}


def table(path, broken):
    """A file of two classes, in which one value may be infinite: an array, which no plan reads."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "right", "left")
    X[30], y[30] = [0.5, np.inf if broken else 0.5], "right"
    np.savez(path, X=X, y=y)


def troubled_config(path):
    failing = {"source": "file", "options": {"path": str(path)}}
    return {
        "run": {
            "datasets": [*TROUBLES, "failing"], "methods": ["knn"],
            "labels": [6], "trials": 2,
        },
        "datasets": {name: SMALL for name in TROUBLES} | {"failing": failing},
    }  # fmt: skip


# The slow job and the lost one begin on different nodes; another attempt may go anywhere.
WHERE = (
    "fetch_dataset:constraint='node2'",
    "fetch_dataset:runtime=attempt",
    "prepare_features:constraint='node1' if attempt == 1 else 'node1|node2'",
)


def cancel_and_lose(cluster):
    """A person cancels one job, then a node goes down under another, and comes back."""
    number, _ = cluster.asleep("prepare_features", "cancelled")
    cluster.slurm("scancel", number)
    _, node = cluster.asleep("prepare_features", "lost")
    cluster.slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    try:
        cluster.until(lambda: states(cluster, "prepare_features", "lost")[-1] == "COMPLETED")
    finally:
        cluster.slurm("scontrol", "update", f"nodename={node}", "state=resume")
    return node


@pytest.fixture(scope="session")
def runs(slurm, code, tmp_path_factory):
    """Both runs on the cluster, and the same on this machine alone."""
    base = tmp_path_factory.mktemp("cluster")
    file, fixed = base / "table.npz", base / "fixed.npz"
    table(file, broken=True)
    table(fixed, broken=False)
    troubled = Cluster(base / "troubled", code, slurm, troubled_config(file))
    troubled.fault("prepare_features@cancelled", "sleep 1000")
    troubled.fault("prepare_features@lost", "sleep 1000")
    troubled.fault("fetch_dataset@slow.always", f"wait {troubled.faults}/go")
    default = Cluster(base / "default", code, slurm, DEFAULT)
    default.fault("compute_kernel_tile@helix.always", f"wait {default.faults}/spread")
    here = Cluster(base / "local", code, slurm, DEFAULT)
    here_too = Cluster(base / "local_troubled", code, slurm, troubled_config(fixed))
    local = {"profile": code / "workflow/profiles/default"}
    started = [troubled.start("--set-resources", *WHERE)]
    try:
        troubled.node = cancel_and_lose(troubled)
        started.append(default.start())
        tiles = "rule_compute_kernel_tile_wildcards_helix"
        default.until(lambda: default.nodes_of(tiles) == {"node1", "node2"})
        default.fault("spread", "")
        troubled.until(lambda: "TIMEOUT" in states(troubled, "fetch_dataset", "slow"))
        troubled.fault("go", "")
        assert here_too.run("--cores", "1", **local) == 0, here_too.said()
        assert here.run("--cores", "2", **local) == 0, here.said()
        troubled.code_at_end = started[0].wait(timeout=1800)
        troubled.said_at_end = troubled.said()
        if troubled.code_at_end:
            troubled.left = sorted(p.name for p in troubled.folder.rglob(".*.part"))
            troubled.made = (troubled.folder / "results/failing/features.h5").exists()
            table(file, broken=False)
            started.append(troubled.start())
            troubled.code_when_fixed = started[-1].wait(timeout=1800)
        default.code_at_end = started[1].wait(timeout=1800)
    finally:
        for process in started:
            process.kill()
    return {"troubled": troubled, "default": default, "here": here, "here_too": here_too}


def test_default_config_gives_the_same_tables_as_without_the_cluster(runs):
    assert runs["default"].code_at_end == 0, runs["default"].said()
    assert runs["default"].tables() == runs["here"].tables()


def test_tiles_of_one_kernel_run_on_both_nodes(runs):
    logs = list(runs["default"].folder.glob("logs/helix/kernels/rbf/compute_kernel_tile_*.log"))
    assert len(logs) == 4
    nodes = {re.match(r"on (\w+)", log.read_text())[1] for log in logs}
    assert nodes == {"node1", "node2"}


@pytest.mark.parametrize("dataset", TROUBLES)
def test_cancelled_lost_and_too_slow_jobs_are_tried_again(runs, dataset):
    cluster = runs["troubled"]
    assert list((cluster.folder / f"results/{dataset}/methods/knn").glob("trials_*.csv"))
    assert "Trying to restart job" in cluster.said()


def jobs_of(cluster, rule, dataset):
    """What SLURM remembers of the attempts at a job, the first one first."""
    name = f"Comment=rule_{rule}_wildcards_{dataset} "
    found = cluster.slurm("scontrol", "show", "jobs").split("\n\n")
    found = [job for job in found if name in job.replace("\n", " \n")]
    return sorted(found, key=lambda job: int(re.search(r"JobId=(\d+)", job)[1]))


def states(cluster, rule, dataset):
    return [re.search(r"JobState=(\w+)", j)[1] for j in jobs_of(cluster, rule, dataset)] or ["none"]


def test_the_cancelled_job_was_run_again(runs):
    found = states(runs["troubled"], "prepare_features", "cancelled")
    assert found[0] == "CANCELLED" and found[-1] == "COMPLETED"


def test_the_lost_job_ended_on_the_other_node(runs):
    jobs = jobs_of(runs["troubled"], "prepare_features", "lost")
    assert states(runs["troubled"], "prepare_features", "lost")[0] == "NODE_FAIL"
    done = [job for job in jobs if "JobState=COMPLETED" in job]
    assert len(done) == 1
    assert re.search(r" NodeList=(\w+)", done[0])[1] != runs["troubled"].node


def test_the_job_over_its_time_limit_got_more(runs):
    jobs = jobs_of(runs["troubled"], "fetch_dataset", "slow")
    limits = {re.search(r"JobState=(\w+)", job)[1]: re.search(r"TimeLimit=(\S+)", job)[1]
              for job in jobs}  # fmt: skip
    assert limits["TIMEOUT"] < limits["COMPLETED"]  # as 00:01:00 < 00:02:00


def test_a_job_asks_for_what_its_rule_says_and_can_be_recognized(runs):
    """Memory and time of the first attempt, doubled in the next; the rule's name in squeue."""
    first, *_, last = jobs_of(runs["troubled"], "prepare_features", "cancelled")
    memory = [int(re.search(r"MinMemoryNode=(\d+)M", job)[1]) for job in (first, last)]
    assert memory[1] > 1.9 * memory[0]
    assert "JobName=fewfold_" in first


def test_a_failing_job_shows_its_log_leaves_nothing_and_the_fixed_run_completes(runs):
    cluster = runs["troubled"]
    assert cluster.code_at_end != 0
    words = "error: 1 values are NaN or infinite; the first is inf in row 30"
    assert words in cluster.said_at_end
    assert not cluster.made and cluster.left == []
    assert cluster.code_when_fixed == 0, cluster.said()
    assert cluster.tables() == runs["here_too"].tables()


def test_the_doctor_knows_the_partitions(slurm, tmp_path, monkeypatch):
    """A profile that names a partition the cluster has not would fail at its first job."""
    monkeypatch.setenv("SLURM_CONF", slurm["SLURM_CONF"])
    for name, level in (("main", "ok"), ("batch", "error")):
        settings = f"executor: slurm\ndefault-resources:\n  - slurm_partition={name}\n"
        (tmp_path / "config.yaml").write_text(settings, encoding="utf-8")
        found = check_profile(str(tmp_path))[-1]
        assert found.level == level and "main* (2 nodes)" in found.found
