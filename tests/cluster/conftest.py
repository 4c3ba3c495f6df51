"""A real SLURM with two virtual nodes, and runs of the workflow on it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from _project import copy_project

HERE = Path(__file__).parent
SCRIPT = HERE / "slurm.sh"
INJECT = HERE.parent / "faults/inject"


@pytest.fixture(scope="session")
def slurm():
    """Start SLURM; yields the environment in which its commands work.

    A cluster test that cannot have a cluster fails: it must not look as if it had passed.
    """
    if shutil.which("slurmctld") is None:
        pytest.fail("SLURM is not installed: run these tests by 'make test-cluster'")
    if os.geteuid() != 0:
        pytest.fail("the cluster tests start SLURM's daemons, which needs root")
    # Paths of sockets must be short: not below pytest's own folder.
    home = Path("/tmp") / f"fewfold-slurm-{os.getpid()}"
    subprocess.run([SCRIPT, "start", home, "2", "4", "12000"], check=True, timeout=120)
    try:
        yield {**os.environ, "SLURM_CONF": str(home / "etc/slurm.conf")}
    finally:
        subprocess.run([SCRIPT, "stop", home], check=False, timeout=120)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def code(tmp_path_factory):
    """A copy of the project: edits while the tests run are not taken for changes."""
    folder = copy_project(tmp_path_factory.mktemp("code") / "project").folder
    yield folder
    # SLURM does not end the processes of a node that was set down.
    subprocess.run(["pkill", "-9", "-f", str(folder)], check=False)


class Cluster:
    """A folder on the cluster's file system, and the commands used on it."""

    def __init__(self, folder: Path, code: Path, environment: dict, config: dict):
        self.folder, self.code = folder, code
        self.faults = folder / "faults"
        self.faults.mkdir(parents=True)
        self.config = folder / "config.yaml"
        self.config.write_text(yaml.safe_dump(config, sort_keys=False))
        path = os.pathsep.join([str(INJECT), str(code / "src")])
        faults = {"PYTHONPATH": path, "FEWFOLD_FAULTS": str(self.faults)}
        self.environment = environment | faults
        # A job starts Python three times: let it keep the bytecode.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def start(self, *extra, profile=HERE / "profile"):
        """Start a run; what it says goes to a file."""
        command = [
            sys.executable, "-m", "snakemake", "--snakefile", str(self.code / "workflow/Snakefile"),
            "--workflow-profile", str(profile), "--directory", str(self.folder),
            "--configfile", str(self.config), *extra,
        ]  # fmt: skip
        with open(self.folder / "output.txt", "a") as output:
            return subprocess.Popen(
                command, env=self.environment, cwd=self.code, stdout=output,
                stderr=subprocess.STDOUT,
            )  # fmt: skip

    def run(self, *extra, timeout=1800, **options):
        return self.start(*extra, **options).wait(timeout=timeout)

    def said(self):
        return (self.folder / "output.txt").read_text()

    def slurm(self, *words):
        return subprocess.run(
            words, env=self.environment, text=True, capture_output=True, check=True, timeout=60
        ).stdout

    def running(self, rule, dataset, seconds=600):
        """Wait for a job to run; return its SLURM number and node."""
        name, end = f"rule_{rule}_wildcards_{dataset}", time.monotonic() + seconds
        while time.monotonic() < end:
            for line in self.slurm("squeue", "-h", "-t", "R", "-o", "%i|%N|%k").splitlines():
                number, node, comment = line.split("|")
                if comment == name:
                    return number, node
            time.sleep(0.5)
        raise AssertionError(f"{name} did not run:\n{self.slurm('squeue')}\n{self.said()[-3000:]}")

    def nodes_of(self, start):
        """The nodes on which jobs whose comment starts so are at work."""
        lines = self.slurm("squeue", "-h", "-t", "R", "-o", "%N|%k").splitlines()
        return {
            node for node, comment in (x.split("|") for x in lines) if comment.startswith(start)
        }

    def asleep(self, rule, dataset):
        """Wait for a job to run and to have met its fault; return its SLURM number and node."""
        self.until(lambda: list(self.faults.glob(f"{rule}@{dataset}.*.taken")))
        return self.running(rule, dataset)

    def until(self, true, seconds=900):
        """Wait until something is so."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"{self.slurm('squeue')}\n{self.said()[-3000:]}"
            time.sleep(0.5)

    def tables(self):
        names = ("summary.csv", "comparisons.csv")
        return {n: (self.folder / "results" / n).read_bytes() for n in names}

    def fault(self, name, words):
        (self.faults / name).write_text(words)
