"""Runs of the smallest config in folders of their own, disturbed by injected faults."""

import csv
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from _project import copy_project, heed_interrupts

HERE = Path(__file__).parent


class Sandbox:
    """A folder in which a small config is run, and faults to come."""

    cores = 2

    def __init__(self, folder: Path, code: Path, config: Path = HERE / "config.yaml"):
        self.folder, self.code, self.config = folder, code, config
        self.faults = folder / "faults"
        self.faults.mkdir(parents=True, exist_ok=True)
        self.more_environment = {}

    def fault(self, rule, words):
        (self.faults / rule).write_text(words)

    @property
    def died(self):
        """The rules of which a job was killed."""
        return {p.stem for p in self.faults.glob("*.died")}

    @property
    def command(self):
        return [
            sys.executable, "-m", "fewfold.cli", "run", "--cores", str(self.cores),
            "--out", str(self.folder), "--configfile", str(self.config),
        ]  # fmt: skip

    @property
    def environment(self):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SNAKEMAKE", "PYTEST"))}
        path = os.pathsep.join([str(HERE / "inject"), str(self.code / "src")])
        faults = {"PYTHONPATH": path, "FEWFOLD_FAULTS": str(self.faults), "OMP_NUM_THREADS": "1"}
        return clean | faults | self.more_environment

    def start(self, prepare=heed_interrupts):
        return subprocess.Popen(
            self.command, env=self.environment, cwd=self.code, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=prepare,
        )  # fmt: skip

    def run(self, timeout=600):
        process = self.start()
        said, _ = process.communicate(timeout=timeout)
        assert "Traceback" not in said
        return subprocess.CompletedProcess(self.command, process.returncode, said)

    def completes(self):
        """The plain re-run that every fault ends with; returns what it said."""
        done = self.run()
        assert done.returncode == 0, done.stdout
        assert self.leftovers() == []
        return done.stdout

    def wait_for(self, pattern, process, seconds=300):
        """Wait until a run has made a file."""
        end = time.monotonic() + seconds
        while not list(self.folder.glob(pattern)):
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < end, f"no {pattern}"
            time.sleep(0.1)

    def tables(self):
        """What must not depend on what happened on the way: all but the seconds taken."""
        results = self.folder / "results"
        found = {n: (results / n).read_bytes() for n in ("summary.csv", "comparisons.csv")}
        with open(results / "metrics.csv", newline="") as file:
            rows = [
                {k: v for k, v in row.items() if k not in ("fit_s", "predict_s")}
                for row in csv.DictReader(file)
            ]
        return found | {"metrics.csv": rows}

    def leftovers(self):
        return [str(p) for p in (self.folder / "results").rglob(".*.part")]


@pytest.fixture(scope="session")
def shared(tmp_path_factory, request):
    """A folder that all workers of this test run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "faults"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def undisturbed(shared):
    """A finished run that nothing disturbed, made once, of a copy of the project.

    Of a copy, so that edits while the tests run are not taken for changes.
    """
    with open(shared / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "project").exists():
            copy_project(shared / "project")
            Sandbox(shared / "run", shared / "project").completes()
    return Sandbox(shared / "run", shared / "project")


@pytest.fixture(scope="session")
def code(undisturbed):
    return undisturbed.code


@pytest.fixture
def sandbox(tmp_path, code):
    """A fresh folder."""
    return Sandbox(tmp_path / "run", code)


@pytest.fixture
def finished(undisturbed, tmp_path, code):
    """A copy of the finished run, to damage."""
    target = tmp_path / "copy"
    shutil.copytree(undisturbed.folder, target, symlinks=True)
    shutil.rmtree(target / "faults")
    return Sandbox(target, code)
