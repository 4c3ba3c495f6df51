"""The workflow on a real SLURM: same results, spread over nodes, surviving what clusters do."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROFILE = Path(__file__).with_name("profile")
INJECT = ROOT / "tests/faults/inject"

# A small run with two kernel tiles per dataset and a few training jobs.
CONFIG = {
    "run": {
        "datasets": ["tiny"],
        "methods": ["knn", "rbf_svm"],
        "labels": [6, 12],
        "trials": 4,
        "trials_per_job": 4,
    },
    "datasets": {
        "tiny": {
            "source": "gaussians_g50c",
            "options": {"n_samples": 120, "n_features": 5, "seed": 1},
            "scale": "standard",
        }
    },
    "kernels": {"rbf": {"tile_rows": 12}},
}


class Cluster:
    """A folder on the cluster's file system, and the commands used on it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.faults = folder / "faults"
        self.faults.mkdir(parents=True)
        self.config = folder / "config.yaml"
        self.config.write_text(yaml.safe_dump(CONFIG))
        self.environment = {
            **environment,
            "PYTHONPATH": str(INJECT),
            "FEWFOLD_FAULTS": str(self.faults),
        }

    def command(self, profile=PROFILE, extra=()):
        return [
            sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"),
            "--workflow-profile", str(profile), "--directory", str(self.folder),
            "--configfile", str(self.config), *extra,
        ]  # fmt: skip

    def run(self, *extra, profile=PROFILE, timeout=600):
        return subprocess.run(
            self.command(profile, extra), env=self.environment, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
        )  # fmt: skip

    def start(self, *extra):
        self.output = open(self.folder / "output.txt", "w")
        return subprocess.Popen(
            self.command(PROFILE, extra), env=self.environment, cwd=ROOT,
            stdout=self.output, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def said(self):
        return (self.folder / "output.txt").read_text()

    def slurm(self, *words):
        return subprocess.run(
            words, env=self.environment, text=True, capture_output=True, check=True, timeout=60
        ).stdout

    def running(self, rule):
        """Wait for a job of a rule to run; return its SLURM number and node."""
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            for line in self.slurm("squeue", "-h", "-t", "R", "-o", "%i|%N|%k|%j").splitlines():
                if rule in line:
                    number, node = line.split("|")[:2]
                    return number, node
            time.sleep(0.5)
        raise AssertionError(f"no job of {rule} ran: {self.slurm('squeue')}")

    def tables(self):
        names = ("summary.csv", "comparisons.csv")
        return {n: (self.folder / "results" / n).read_bytes() for n in names}

    def fault(self, rule, words):
        (self.faults / rule).write_text(words)


@pytest.fixture
def cluster(slurm, tmp_path):
    return Cluster(tmp_path / "run", slurm)


@pytest.fixture(scope="session")
def local_tables(slurm, tmp_path_factory):
    """The same config run on this machine, without the scheduler."""
    here = Cluster(tmp_path_factory.mktemp("local") / "run", slurm)
    done = here.run("--cores", "2", profile=ROOT / "workflow/profiles/default")
    assert done.returncode == 0, done.stdout
    return here.tables()


def test_same_results_and_tiles_on_both_nodes(cluster, local_tables):
    # Tiles that take a moment, so that one node cannot do them all.
    cluster.fault("compute_kernel_tile", "sleep 6")
    done = cluster.run()
    assert done.returncode == 0, done.stdout
    assert cluster.tables() == local_tables
    logs = cluster.folder.glob("logs/tiny/kernels/rbf/compute_kernel_tile_*.log")
    nodes = {re.match(r"on (\w+)", log.read_text())[1] for log in logs}
    assert nodes == {"node1", "node2"}


def test_cancelled_job_and_lost_node(cluster, local_tables):
    """One job is cancelled by a person; then a node goes down under another."""
    cluster.fault("prepare_features", "sleep 60")
    cluster.fault("train_method", "sleep 60")
    process = cluster.start()
    number, _ = cluster.running("prepare_features")
    cluster.slurm("scancel", number)
    number, node = cluster.running("train_method")
    cluster.slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    try:
        assert process.wait(timeout=600) == 0, cluster.said()
    finally:
        process.kill()
        cluster.slurm("scontrol", "update", f"nodename={node}", "state=resume")
    assert cluster.tables() == local_tables
    assert "Trying to restart job" in cluster.said()


def test_job_over_its_time_limit_gets_more(cluster, local_tables):
    cluster.fault("fetch_dataset", "sleep 150")
    done = cluster.run("--set-resources", "fetch_dataset:runtime=attempt")
    assert done.returncode == 0, done.stdout
    assert "Trying to restart job" in done.stdout
    assert cluster.tables() == local_tables


def test_failing_job_shows_its_log_and_others_finish(cluster):
    for _ in range(5):
        # Every attempt fails: the fault is laid out again as soon as it is taken.
        cluster.fault("compute_kernel_tile", "fail")
        done = cluster.run("--retries", "0")
        if done.returncode:
            break
    assert done.returncode != 0
    assert "a fault was injected" in done.stdout
    base = cluster.folder / "results/tiny"
    assert (base / "methods/knn/metrics.csv").exists()
    assert not list(base.rglob("*.part"))
    again = cluster.run()
    assert again.returncode == 0, again.stdout
    assert os.path.exists(cluster.folder / "results/report/index.html")
