"""Configs that no one should write: one sentence each, never a traceback."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fewfold.config.forecast import plan_of
from fewfold.config.reading import DEEPEST, check_plain, read_config
from fewfold.config.schema import read_schema, validate
from fewfold.exceptions import ConfigError

ROOT = Path(__file__).resolve().parents[2]
RUN = "run: {datasets: [digits], methods: [knn], labels: [%s], trials: 1}\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi")
)
CASES = {
    "infinite": (RUN % ".inf", r"run.labels\[0\] is inf; allowed: a finite number"),
    "not a number": (RUN % ".nan", r"run.labels\[0\] is nan; allowed: a finite number"),
    "5000 digits": (RUN % ("9" * 5000), "a number of more than 4300 digits"),
    "4000 digits": (RUN % ("9" * 4000), r"run.labels\[0\] is an integer of 13288 bits"),
    "whole-number key": ("1: 2\n", "the key 1 at the top level is not text.*'1'"),
    "whole-number key below": ("datasets: {5: {source: digits}}\n", "the key 5 at datasets is not"),
    "empty key": ("? \n: 1\n", "the key None at the top level is not text"),
    "list as a key": ("run: {[a, b]: 1}\n", "unhashable key"),
    "5000 levels": ("run: " + "[" * 5000 + "]" * 5000, f"too deeply; allowed: {DEEPEST}"),
    "100 levels": ("run: " + "[" * 100 + "]" * 100, f"holds more than {DEEPEST} levels"),
    "aliases of aliases": (BOMB, "more than 1000000 values|unknown key"),
    "date": ("run: {seed: 2020-01-01}\n", "run.seed is a date .2020-01-01.; .*put it in quotes"),
    "list": ("- a\n", "holds a list; expected: keys and values"),
    "unknown alias": ("run: *x\n", "undefined alias"),
    "tab": ("run:\n\tseed: 1\n", r"c.yaml, line 2: found a tab. Indent with spaces"),
    "open bracket": ("run: {labels: [1}\n", r"line 1: not YAML: expected ',' or '\]'.* line 1"),
    "two colons": ("run: seed: 1\n", "line 1: not YAML: mapping values are not allowed"),
    "bytes": (b"\x00\xff\xfe", "cannot be read"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_cannot_be_a_config(tmp_path, name):
    text, message = CASES[name]
    path = tmp_path / "c.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=message) as error:
        plan_of([path])
    assert len(str(error.value)) < 600


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"--configfile .*none.yaml: no such file"):
        read_config(tmp_path / "none.yaml")
    (tmp_path / "nine.yaml").touch()
    with pytest.raises(ConfigError, match=r"no such file. Did you mean .*nine.yaml'"):
        read_config(tmp_path / "none.yaml")


def test_an_empty_file_changes_nothing(tmp_path):
    (tmp_path / "c.yaml").write_text("# nothing\n")
    assert read_config(tmp_path / "c.yaml") == {}


@pytest.mark.parametrize("value", [[float("inf")], [10**5000], {1: 2}, {"a": {"b": float("nan")}}])
def test_the_schema_check_refuses_them_too(value):
    """What plain Snakemake merges does not pass through `read_config`."""
    schema = read_schema(ROOT)
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    validate(copy.deepcopy(config), schema)
    config["methods"]["knn"]["n_neighbors"] = value
    with pytest.raises(ConfigError):
        validate(config, schema)


def test_shipped_configs_are_plain():
    for path in (ROOT / "config").rglob("*.yaml"):
        check_plain(read_config(path))


@pytest.mark.parametrize("name", ["infinite", "5000 digits", "whole-number key", "5000 levels"])
def test_the_command_says_it_before_snakemake_starts(tmp_path, name):
    path = tmp_path / "c.yaml"
    path.write_text(CASES[name][0])
    done = subprocess.run(
        [sys.executable, "-m", "fewfold.cli", "run", "--configfile", path, "--out", tmp_path / "o"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith(("error: config: ", "error: --configfile "))
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "o/results").exists()
