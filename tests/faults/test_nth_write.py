"""The N-th write, fsync or rename below a run's folder fails, or its process is killed.

Counted over all processes of a run, in C (inject/nth_write.c), so that HDF5's and Snakemake's own
writes are among them. After each fault the same command ends with the tables of a run that nothing
disturbed, and with stage files that fit their digests.

    FEWFOLD_NTH=3 python -m pytest -s tests/faults/test_nth_write.py -k failed_write

FEWFOLD_NTH=3: every N, with the three faults in turn. 1: every N with every fault. k: every k-th N
of each fault. By default about 6 of each fault are tried.
"""

import collections
import os
import shutil
import signal
import subprocess
from pathlib import PurePath

import pytest

from _mounting import mounted
from _project import copy_project
from conftest import HERE, Sandbox
from fewfold.verify import verify_folder

CONFIG = HERE / "nth_write.yaml"
FAULTS = ("ENOSPC", "EIO", "KILL")


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
    """A run of which one write fails. One job at a time: the N-th write is always the same."""

    cores = 1

    def __init__(self, folder, code, library):
        super().__init__(folder, code, CONFIG)
        self.library, self.counter = library, folder.with_suffix(".count")

    def disturb(self, fault):
        """Run with a fault, such as "7 EIO"; return exit code, number of writes, and words."""
        self.counter.write_bytes(bytes(4096))
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
        return process.returncode, int.from_bytes(self.counter.read_bytes()[:8], "little"), said

    @property
    def failed_call(self):
        """The call that failed and its file, such as "rename results/metrics.csv"."""
        return self.counter.read_bytes()[8:].split(b"\0")[0].decode()

    def is_sound(self, tables):
        """The tables are those of an undisturbed run, and every file fits its digests."""
        assert self.tables() == tables
        assert [f.path for f in verify_folder(self.folder) if f.state == "damaged"] == []
        assert self.leftovers() == []


@pytest.fixture(scope="module")
def plain(project, library, tmp_path_factory):
    """A run that nothing disturbed: its tables, and the number of its writes."""
    sandbox = Counted(tmp_path_factory.mktemp("plain") / "run", project, library)
    code, writes, said = sandbox.disturb("count")
    assert code == 0, said
    return sandbox.tables(), writes


def disturb_and_repeat(sandbox, tables, n, fault):
    """One case: the faulted run, then the same command; return how the first ended."""
    code, reached, said = sandbox.disturb(f"{n} {fault}")
    assert reached >= n, "not reached: the number of writes is not the same in every run"
    assert code in (0, 1, -signal.SIGKILL), said
    if code == 1:
        assert said.splitlines()[-1].startswith("error: "), said
    if code == 0:  # it claims to be finished
        sandbox.is_sound(tables)
    sandbox.completes()
    sandbox.is_sound(tables)
    return {0: "completed", 1: "stopped with a message"}.get(code, "killed")


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_failed_write_the_same_command_completes(fault, plain, project, library, tmp_path):
    tables, writes = plain
    assert writes > 100  # stage files, logs, and what Snakemake notes
    step = int(os.environ.get("FEWFOLD_NTH", "0")) or writes // 6
    start = 1 + FAULTS.index(fault) * step // 3
    ended, completed, faults = collections.Counter(), collections.Counter(), []
    for n in range(start, writes + 1, step):
        sandbox = Counted(tmp_path / f"run{n}", project, library)
        try:
            outcome = disturb_and_repeat(sandbox, tables, n, fault)
        except AssertionError as error:
            outcome = "FAILED"
            faults.append(f"{n} {fault}: {sandbox.failed_call}: {error}")
        ended[outcome] += 1
        if outcome == "completed":
            completed[PurePath(sandbox.failed_call).parts[0]] += 1
        shutil.rmtree(sandbox.folder)
    print(f"{fault}: {sum(ended.values())} of {writes} writes tried, {dict(ended)}")
    print(f"  completed: the failed call was {dict(completed)}")
    assert not faults, "\n\n".join(faults)
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
