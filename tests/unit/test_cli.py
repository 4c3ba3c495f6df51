"""The command line: help, errors in one sentence, the list of datasets."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fewfold as package
from fewfold import __version__, cli
from fewfold.exceptions import Stopped

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize(("command", "option"), [("run", "--configfile"), ("report", "--out")])
def test_a_path_without_its_option(command, option, tmp_path):
    done = fewfold(command, "mine", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith(f"a path needs its option: fewfold {command} {option} mine.\n")


def test_no_cores_at_all(tmp_path):
    assert fewfold("run", "--cores", "0", cwd=tmp_path).returncode == 2


def test_version_and_short_help():
    done = fewfold("--version")
    assert done.returncode == 0 and done.stdout.strip() == f"fewfold {__version__}"
    for words in (["-h"], ["label", "-h"]):
        assert "Usage" in fewfold(*words).stdout


def test_the_versions_agree():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)[1]
    released = re.search(r"^## \[(\d\S+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert cited == released == __version__


def test_completion_is_offered():
    assert "--show-completion" in fewfold("--help").stdout


def test_report_without_a_run(tmp_path):
    done = fewfold("report", cwd=tmp_path)
    assert done.returncode == 1 and "holds no results of a run" in done.stderr
    assert not list(tmp_path.iterdir())


def test_interrupts_are_no_errors(monkeypatch, capsys):
    for raised, said in ((Stopped("Stopped. It resumes."), "Stopped. It resumes."),
                         (KeyboardInterrupt(), "Stopped.")):  # fmt: skip
        monkeypatch.setattr(cli, "app", raising(raised))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 130 and capsys.readouterr().err.strip() == said


def raising(error):
    def app():
        raise error

    return app


def test_editors_see_the_public_names():
    """The imports for type checkers name the same objects as the table that is used."""
    tree = ast.parse(Path(package.__file__).read_text())
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    found = {alias.asname: node.module for node in checked.body for alias in node.names}
    assert found == package._PUBLIC
    assert (Path(package.__file__).parent / "py.typed").exists()
