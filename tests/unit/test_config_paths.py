"""Paths in a config are relative to the config file."""

import pytest
import yaml

from fewfold.config.paths import resolve_paths


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    return tmp_path


def config(path, **more):
    return {"datasets": {"mine": {"source": "file", "options": {"path": path, **more}}}}


def resolved(folder, given, name="my.yaml"):
    file = folder / name
    file.write_text(yaml.safe_dump(given))
    return resolve_paths(given, [file])["datasets"]["mine"]["options"]


def test_a_file_beside_the_config(folder):
    (folder / "my.csv").touch()
    (folder / "labels.txt").touch()
    assert resolved(folder, config("my.csv", labels="labels.txt", target="a")) == {
        "path": "../my.csv", "labels": "../labels.txt", "target": "a"
    }  # fmt: skip


def test_what_was_read_before_still_is(folder):
    (folder / "run/my.csv").touch()
    assert resolved(folder, config("my.csv"))["path"] == "my.csv"  # only in the working folder
    assert resolved(folder, config("gone.csv"))["path"] == "gone.csv"
    absolute = str(folder / "run/my.csv")
    assert resolved(folder, config(absolute))["path"] == absolute
    assert resolved(folder, config("my.csv"), "run/my.yaml")["path"] == "my.csv"


def test_the_config_that_names_it_decides(folder):
    for place in ("data/a.csv", "a.csv"):
        (folder / place).touch()
    (folder / "first.yaml").write_text(yaml.safe_dump(config("a.csv")))
    (folder / "data/last.yaml").write_text(yaml.safe_dump(config("a.csv")))
    (folder / "data/other.yaml").write_text("run: {trials: 2}")
    files = [folder / n for n in ("first.yaml", "data/last.yaml", "data/other.yaml", "gone.yaml")]
    both = resolve_paths(config("a.csv"), files)
    assert both["datasets"]["mine"]["options"]["path"] == "../data/a.csv"


STRANGE = [{}, {"datasets": 3}, {"datasets": {"a": None}},
           {"datasets": {"a": {"source": "file", "options": 1}}}]  # fmt: skip


@pytest.mark.parametrize("strange", STRANGE)
def test_what_validation_will_refuse_is_left_alone(strange):
    assert resolve_paths(strange, []) == strange
