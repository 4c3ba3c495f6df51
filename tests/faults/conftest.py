"""Runs of the tiny config in folders of their own, disturbed by injected faults."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INJECT = Path(__file__).with_name("inject")


class Sandbox:
    """A folder in which the tiny config is run, and faults to come."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.faults = folder / "faults"
        self.faults.mkdir(parents=True)

    def fault(self, rule, words):
        (self.faults / rule).write_text(words)

    @property
    def unused_faults(self):
        return [p.name for p in self.faults.iterdir() if not p.name.endswith(".taken")]

    def command(self, *more, cores=2):
        return [
            sys.executable, "-m", "fewfold.cli", "run", "--cores", str(cores),
            "--out", str(self.folder), "--configfile", str(ROOT / "config/test/config.yaml"), *more,
        ]  # fmt: skip

    @property
    def environment(self):
        path = os.pathsep.join([str(INJECT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        return {**os.environ, "PYTHONPATH": path, "FEWFOLD_FAULTS": str(self.faults)}

    def run(self, *more, cores=2, timeout=600):
        return subprocess.run(
            self.command(*more, cores=cores), env=self.environment, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
        )  # fmt: skip

    def start(self, *more, cores=2):
        return subprocess.Popen(
            self.command(*more, cores=cores), env=self.environment, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def tables(self):
        """The tables that must not depend on what happened on the way."""
        results = self.folder / "results"
        return {n: (results / n).read_bytes() for n in ("summary.csv", "comparisons.csv")}

    def leftovers(self):
        return [str(p) for p in (self.folder / "results").rglob("*.part")]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """A finished run that nothing disturbed."""
    sandbox = Sandbox(tmp_path_factory.mktemp("undisturbed"))
    done = sandbox.run()
    assert done.returncode == 0, done.stdout
    return sandbox


@pytest.fixture
def sandbox(tmp_path):
    """A fresh folder."""
    return Sandbox(tmp_path / "run")


@pytest.fixture
def finished(undisturbed, tmp_path):
    """A copy of the finished run, to damage."""
    target = tmp_path / "copy"
    shutil.copytree(undisturbed.folder, target, symlinks=True)
    shutil.rmtree(target / "faults")
    return Sandbox(target)
