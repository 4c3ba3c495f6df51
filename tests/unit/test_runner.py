"""Driving Snakemake: locks, commands, and what a failed run says."""

import os
import subprocess
import sys
import time

import pytest

from _mounting import mounted
from fewfold.exceptions import ConfigError, RunFailed
from fewfold.runner import _Watcher, run_snakemake, snakemake_command
from fewfold.system import light_snakemake, location
from fewfold.system.location import checkout, project_root
from fewfold.system.run_folder import only_run, remove_dead_parts, set_aside

HOLD = """
import sys, time
from pathlib import Path
from fewfold.system.run_folder import only_run
with only_run(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE,
                               text=True)  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_a_free_directory(tmp_path):
    with only_run(tmp_path / "new folder") as stale:
        assert stale == 0
    with only_run(tmp_path / "new folder") as stale:
        assert stale == 0


def test_two_runs_at_once(tmp_path, holder):
    message = rf"Another fewfold run \(process {holder.pid}\) is running in .*Wait for it to end"
    with pytest.raises(RunFailed, match=message), only_run(tmp_path):
        pass


def test_a_killed_run_does_not_block_the_next(tmp_path, holder):
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    for i in range(2):
        (locks / f"{i}.input.lock").write_text("results/a.h5\n")
    holder.kill()
    holder.wait()
    with only_run(tmp_path) as stale:
        assert stale == 2 and not list(locks.iterdir())


def test_a_snakemake_started_by_hand_is_seen(tmp_path):
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").write_text("")
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)  # snakemake"],
                             cwd=tmp_path)  # fmt: skip
    try:
        time.sleep(0.5)
        with pytest.raises(RunFailed, match=rf"Snakemake \(process {other.pid}\) is running"):
            with only_run(tmp_path):
                pass
        assert list(locks.iterdir())  # its locks stay
    finally:
        other.kill()
        other.wait()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFailed, match="Cannot write into"), only_run(tmp_path / "file"):
        pass


def test_a_read_only_folder(tmp_path):
    folder = tmp_path / "fixed"
    folder.mkdir()
    for words in (["--bind", str(folder), str(folder)], ["-o", "remount,ro,bind", str(folder)]):
        mounted(*words, needs="a read-only folder")
    try:
        with pytest.raises(RunFailed, match="Read-only file system. Choose a folder you may"):
            with only_run(folder):
                pass
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def test_commands(tmp_path, monkeypatch):
    monkeypatch.delenv("SNAKEMAKE_OUTPUT_CACHE", raising=False)
    command = snakemake_command(
        cores=3, configfiles=["a b.yaml", "$(x).yaml"], directory="d; e", targets=["results/x.csv"],
        forcerun=["make_report"],
    )  # fmt: skip
    assert command[command.index("--cores") + 1] == "3"
    assert command[command.index("--directory") + 1] == "d; e"
    place = command.index("--configfile")
    assert command[place + 1 : place + 3] == ["a b.yaml", "$(x).yaml"]
    assert command[-4:-2] == ["--forcerun", "make_report"]
    assert command[-2:] == ["--", "results/x.csv"] and "--cache" not in command
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(tmp_path))
    assert "--cache" in snakemake_command(cores=1)
    starts = {
        profile: snakemake_command(cores=1, profile=profile, light=True)[2]
        for profile in (None, "default", "slurm")
    }
    light = "fewfold.system.light_snakemake"
    assert starts == {None: light, "default": light, "slurm": "snakemake"}
    with pytest.raises(ConfigError, match="--profile nothing: no such profile. Known: default"):
        snakemake_command(cores=1, profile="nothing")


def test_the_workflow_is_the_packages_own_wherever_one_stands(tmp_path, monkeypatch):
    root = project_root()
    assert (root / "Snakefile").exists() and root == checkout()
    (tmp_path / "workflow/schemas").mkdir(parents=True)  # another Snakemake project
    (tmp_path / "scripts").mkdir()
    for name in ("Snakefile", "workflow/Snakefile"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert project_root() == root


def test_the_workflow_of_an_installed_package(tmp_path, monkeypatch):
    package = tmp_path / "site-packages/fewfold"
    package.mkdir(parents=True)
    monkeypatch.setattr(location, "PACKAGE", package)
    monkeypatch.setattr(location, "PACKAGED", package / "project")
    with pytest.raises(ConfigError, match="Install fewfold again"):
        project_root()
    (package / "project/workflow").mkdir(parents=True)
    (package / "project/workflow/Snakefile").touch()
    (package / "project/scripts").mkdir()
    assert project_root() == package / "project" and checkout() is None


def test_the_watcher_speaks_plainly():
    said = []
    watcher = _Watcher(said.append)
    for line in ("total    12\n", "Job 3: Fetching tiny\n", "1 of 12 steps (8%) done\n",
                 "Job 4: Preparing\n", "    error: the table is empty\n",
                 "error: the table is empty\n"):  # fmt: skip
        watcher.feed(line)
    assert said[0] == "[  1/12] Fetching tiny" and said[1].startswith("[  2/12] Preparing")
    assert said[2:] == ["error: the table is empty"]
    assert watcher.reason() == "the table is empty" and watcher.total == 12


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            ["ConfigError in file x, line 3:", "config: unknown key 'a' at run."],
            "config: unknown key",
        ),
        (["blah", "MissingInputException: Error in rule x"], "MissingInputException"),
        (
            [  # as SLURM 22.05 and its plugin say it
                "Error in rule fetch_dataset:",
                "    message: SLURM sbatch failed. The error message was "
                "'sbatch: error: invalid partition specified: batch",
                "sbatch: error: Batch job submission failed: Invalid partition name specified'.",
            ],
            "SLURM refused a job: invalid partition specified: batch; Batch job submission "
            "failed: Invalid partition name specified. Check with fewfold doctor",
        ),
        ([], "no output"),
    ],
)
def test_reasons(lines, reason):
    watcher = _Watcher(lambda _: None)
    for line in lines:
        watcher.feed(line)
    assert watcher.reason().startswith(reason)


def test_what_slurm_wrote_about_a_failed_job_is_quoted(tmp_path):
    watcher, log = _Watcher(print), tmp_path / "13.log"
    log.write_text(
        "srun: cluster configuration lacks support for cpu binding\n"
        "srun: error: Unable to confirm allocation for job 13\n"
        "slurmstepd: error: *** JOB 13 ON node1 CANCELLED DUE TO TIME LIMIT ***\n"
    )
    for line in (
        f"Job 11 has been submitted with SLURM jobid 13 (log: {log}).",
        "Error in rule make_report:",
        "    message: SLURM-job '13' failed, SLURM status is: 'FAILED'.",
    ):
        watcher.feed(line)
    assert watcher.reason() == (
        "rule make_report failed: Unable to confirm allocation for job 13; JOB 13 ON node1 "
        f"CANCELLED DUE TO TIME LIMIT (SLURM, in {log})."
    )


def test_a_profile_whose_executor_is_not_installed(tmp_path):
    (tmp_path / "config.yaml").write_text("executor: no-such-cluster\njobs: 2\n")
    message = "'no-such-cluster'.*pip install snakemake-executor-plugin-no-such-cluster"
    with pytest.raises(RunFailed, match=message):
        run_snakemake(directory=tmp_path / "run", cores=None, profile=tmp_path)


def test_this_process_is_not_its_own_rival(tmp_path):
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").write_text("")
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        with only_run(tmp_path) as stale:
            assert stale == 1
    finally:
        os.chdir(before)


def test_damaged_files_are_set_aside_below_results_only(tmp_path, monkeypatch):
    run, cache = tmp_path / "run", tmp_path / "cache"
    (run / "results/a b").mkdir(parents=True)
    cache.mkdir()
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(cache))
    inside, outside = run / "results/a b/f.h5", run / "mine.h5"
    for path in (inside, outside, tmp_path / "other.h5", cache / "deadbeef"):
        path.write_text("x")
    linked = run / "results/linked.h5"
    linked.symlink_to(cache / "deadbeef")
    said = ["results/a b/f.h5", "results/linked.h5", "mine.h5", "results/../../other.h5",
            str(tmp_path / "other.h5"), "results/none.h5"]  # fmt: skip
    assert set_aside(run, said) == [inside, linked]
    assert (run / "results/a b/f.h5.damaged").exists() and not inside.exists()
    assert (cache / "deadbeef.damaged").exists() and not os.path.lexists(linked)
    assert outside.exists() and (tmp_path / "other.h5").exists()


def test_unfinished_files_of_dead_processes_are_removed(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / "results").mkdir()
    living = tmp_path / f"results/.a.h5.{os.getpid()}.part"
    dead = tmp_path / f"results/.a.h5.{ended.pid}.part"
    for path in (living, dead):
        path.write_text("")
    assert remove_dead_parts(tmp_path) == 1
    assert living.exists() and not dead.exists()


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_light_start_leaves_libraries_out_unless_a_plugin_is_installed(tmp_path, is_installed):
    if is_installed:
        (tmp_path / "snakemake_executor_plugin_somewhere.py").touch()
    (tmp_path / "snakemake.py").write_text(
        "import importlib.util as u, sys\n"
        "print(__name__, sys.argv[1:], *(u.find_spec(n) is None for n in ('pandas', 'polars')))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "fewfold.system.light_snakemake", "--cores", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    missing = not is_installed and not light_snakemake.has_plugins()
    assert done.stdout.split("]")[1].split()[0] == str(missing)
    assert done.stdout.startswith("__main__ ['--cores', '1']")
