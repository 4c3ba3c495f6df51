"""Runs that are killed, doubled or damaged: the same command goes on and ends the same."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

SAID = "A run before this one was killed; going on where it stopped."


def tables(directory):
    return [(directory / f"results/{n}.csv").read_bytes() for n in ("summary", "comparisons")]


@pytest.fixture
def started(finished, tmp_path):
    """A copy of the finished run with one method's training to do again."""
    project, directory = finished
    copy = tmp_path / "run"
    shutil.copytree(directory, copy)
    shutil.rmtree(copy / "results/tiny/methods/knn")
    for name in ("metrics", "summary", "comparisons"):
        (copy / f"results/{name}.csv").unlink()
    words = ["run", "--cores", "1", "--configfile", str(project.config), "--out", str(copy)]
    return project, directory, copy, words


def start(project, words):
    return subprocess.Popen(
        [sys.executable, "-m", "fewfold.cli", *words], env=project.environment,
        cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


@pytest.mark.slow
def test_kill_9_of_everything_then_the_same_command(started):
    project, directory, copy, words = started
    process = start(project, words)
    wait_for(lambda: list((copy / ".snakemake/locks").glob("*.lock")))
    os.killpg(process.pid, signal.SIGSTOP)  # so that it cannot end meanwhile
    second = project.fewfold(*words)
    assert second.returncode == 1 and len(second.stdout.splitlines()) == 1
    assert f"Another fewfold run (process {process.pid}) is at work" in second.stdout
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert list((copy / ".snakemake/locks").glob("*.lock"))
    again = project.fewfold(*words)
    assert again.returncode == 0, again.stdout
    assert again.stdout.splitlines()[0] == SAID and "Report: " in again.stdout
    assert tables(copy) == tables(directory)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["flipped", "other stage"])
def test_a_damaged_artifact_is_named_and_made_anew(started, damage):
    project, directory, copy, words = started
    target = copy / "results/tiny/splits.h5"
    before = target.stat()
    data = bytearray(target.read_bytes())
    if damage == "flipped":
        place = data.find(b"note:")
        data[place + 8] ^= 0xFF
    else:
        data = (copy / "results/tiny/labels.h5").read_bytes()
    target.write_bytes(data)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    broken = project.fewfold(*words)
    assert broken.returncode == 1 and "Traceback" not in broken.stdout
    assert "splits.h5" in broken.stdout and "rule draw_splits makes it anew" in broken.stdout
    target.unlink()
    again = project.fewfold(*words)
    assert again.returncode == 0, again.stdout
    assert tables(copy) == tables(directory)
