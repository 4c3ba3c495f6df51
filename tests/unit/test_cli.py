"""The command line: help, errors in one sentence, the list of datasets."""

import subprocess
import sys


def fewfold(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "fewfold.cli", *words], capture_output=True, text=True, cwd=cwd,
        check=False,
    )  # fmt: skip


def test_help_lists_the_commands():
    done = fewfold("--help")
    assert done.returncode == 0
    for command in ("run", "report", "datasets", "label", "predict", "doctor"):
        assert command in done.stdout


def test_datasets_are_listed():
    done = fewfold("datasets")
    assert done.returncode == 0 and "digits" in done.stdout and "mnist" in done.stdout


def test_an_unknown_profile_is_one_sentence(tmp_path):
    done = fewfold("run", "--profile", "nothing", "--out", str(tmp_path / "out"))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: --profile nothing: no such profile. Known: default")
    assert not (tmp_path / "out/results").exists()


def test_no_cores_at_all(tmp_path):
    assert fewfold("run", "--cores", "0", cwd=tmp_path).returncode == 2
