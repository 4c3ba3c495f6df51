"""The N-th write, fsync or rename below a run's folder fails, or its process is killed.

Counted over all processes of a run, in C (inject/nth_write.c), so that HDF5's and Snakemake's own
writes are among them. After each fault the same command ends with the tables of a run that nothing
disturbed. FEWFOLD_NTH=1 tries every N, k every k-th; by default 6 of each fault are tried.
"""

import collections
import os
import shutil
import signal
import subprocess

import pytest

from _mounting import mounted
from _project import copy_project
from conftest import HERE, Sandbox

CONFIG = HERE / "nth_write.yaml"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    target = tmp_path_factory.mktemp("library") / "nth_write.so"
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("failing the N-th write needs a C compiler (cc): runs where there is one")
    source = HERE / "inject/nth_write.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", target, source, "-ldl"], check=True)
    return target


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("nth") / "project").folder


class Counted(Sandbox):
    """A run of which one write fails."""

    def __init__(self, folder, code, library):
        super().__init__(folder, code, CONFIG)
        self.library, self.counter = library, folder.with_suffix(".count")

    def disturb(self, fault):
        """Run with a fault, such as "7 EIO"; return how it ended and how many writes there were."""
        self.counter.write_bytes(bytes(8))
        self.more_environment = {
            "LD_PRELOAD": str(self.library), "NTH_FOLDER": str(self.folder),
            "NTH_COUNTER": str(self.counter), "NTH_FAULT": fault,
        }  # fmt: skip
        process = self.start()
        said, _ = process.communicate(timeout=600)
        if process.returncode == -signal.SIGKILL:  # the command itself: nobody stops its children
            os.killpg(process.pid, signal.SIGKILL)
        self.more_environment = {}
        assert "Traceback" not in said, said
        return process.returncode, int.from_bytes(self.counter.read_bytes(), "little"), said


@pytest.fixture(scope="module")
def plain(project, library, tmp_path_factory):
    """A run that nothing disturbed: its tables, and the number of its writes."""
    sandbox = Counted(tmp_path_factory.mktemp("plain") / "run", project, library)
    code, writes, said = sandbox.disturb("count")
    assert code == 0, said
    return sandbox.tables(), writes


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO", "KILL"])
def test_after_a_failed_write_the_same_command_completes(fault, plain, project, library, tmp_path):
    tables, writes = plain
    assert writes > 100  # stage files, logs, and what Snakemake notes
    step = int(os.environ.get("FEWFOLD_NTH", "0")) or writes // 6
    start = {"ENOSPC": 1, "EIO": 1 + step // 3, "KILL": 1 + 2 * step // 3}[fault]
    ended = collections.Counter()
    for n in range(start, writes + 1, step):
        sandbox = Counted(tmp_path / f"run{n}", project, library)
        code, reached, said = sandbox.disturb(f"{n} {fault}")
        if reached < n:
            ended["not reached"] += 1
            continue
        ended["stopped with a message" if code == 1 else "killed" if code < 0 else "completed"] += 1
        assert code in (0, 1, -signal.SIGKILL), (n, said)
        assert code != 1 or "error: " in said, (n, said)
        sandbox.completes()
        assert sandbox.tables() == tables, n
        shutil.rmtree(sandbox.folder)
    print(f"{fault}: {sum(ended.values())} of {writes} writes tried, {dict(ended)}")
    assert ended["stopped with a message"] + ended["killed"] > 0


@pytest.mark.parametrize("size", ["40k", "80k", "120k"])
def test_a_full_disk_that_holds_the_logs_too_is_one_sentence(size, plain, project, tmp_path):
    small = tmp_path / "disk"
    small.mkdir()
    mounted("-t", "tmpfs", "-o", f"size={size}", "tmpfs", small, needs="a small disk")
    try:
        sandbox = Sandbox(small / "run", project, CONFIG)
        failed = sandbox.run()
        assert failed.returncode == 1
        last = failed.stdout.splitlines()[-1]
        assert last.startswith("error: The run did not finish: ")
        assert "No space left on device" in last
        for words in ("Errno", "synchronously", "time =", "OSError"):
            assert words not in failed.stdout
        subprocess.run(["mount", "-o", "remount,size=16m", small], check=True)  # space is freed
        sandbox.completes()
        assert sandbox.tables() == plain[0]
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)
