"""What is imported is declared, what is declared is used and locked, and nothing is GPL."""

import ast
import importlib.util
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Names of conda packages that are not those of PyPI.
CONDA_NAMES = {
    "matplotlib-base": "matplotlib",
    "ortools-python": "ortools",
    "python-xxhash": "xxhash",
    "snakemake-minimal": "snakemake",
}


def requirements(*extras):
    texts = [*PROJECT["dependencies"]]
    for extra in extras:
        texts += PROJECT["optional-dependencies"][extra]
    return {canonicalize_name(need.name): need for need in map(Requirement, texts)}


def imported(*folders):
    """Packages that are imported, anywhere in a file, each with one file that does."""
    found = {}
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module]
                for name in names:
                    found.setdefault(name.split(".")[0], path.relative_to(ROOT))
    return {n: p for n, p in found.items() if n not in sys.stdlib_module_names and n != "fewfold"}


def providers(name):
    found = metadata.packages_distributions().get(name, [name])
    return {canonicalize_name(package) for package in found}


def locked(*names):
    text = "".join((ROOT / "dependencies" / f"{name}.lock").read_text() for name in names)
    return dict(re.findall(r"^([\w.-]+)==(\S+) \\\n +--hash=sha256:[0-9a-f]{64}", text, re.M))


@pytest.fixture(scope="module")
def licenses():
    spec = importlib.util.spec_from_file_location("licenses", ROOT / "dependencies/licenses.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_everything_that_is_imported_is_declared():
    optional = requirements("excel", "serve").keys()
    lacking = {n: p for n, p in imported("src", "scripts").items() if not providers(n) & optional}
    assert not lacking


def test_everything_that_is_declared_is_used():
    used = {package for name in imported("src", "scripts") for package in providers(name)}
    assert requirements().keys() - used == {"snakemake"}  # started as a program


@pytest.mark.parametrize("extra", ["dev", "slurm", "peers"])
def test_everything_that_is_declared_is_locked_with_digests(extra):
    versions = locked("dev", extra)
    for name, need in requirements(extra).items():
        assert need.specifier.contains(versions[name]), name


def test_the_lock_holds_everything_that_is_needed_at_run_time(licenses):
    assert licenses.closure().keys() <= locked("dev").keys()


def test_the_conda_environment_asks_for_the_same():
    listed = yaml.safe_load((ROOT / "workflow/envs/fewfold.yaml").read_text())["dependencies"]
    found = {}
    assert listed.pop() == {"pip": ["fewfold"]}
    for text in listed:
        name, _, specifier = text.partition(" ")
        found[CONDA_NAMES.get(name, name)] = specifier
    del found["python"], found["pip"]
    assert found == {name: str(need.specifier) for name, need in requirements().items()}


def test_the_page_of_licenses_is_what_its_command_writes(licenses):
    assert (ROOT / "docs/licenses.md").read_text() == licenses.page(licenses.table())


def test_no_package_at_run_time_is_under_the_gpl_alone(licenses):
    refused = {name for name, text, _ in licenses.table() if licenses.is_refused(text)}
    assert refused == licenses.EXCUSED.keys()


@pytest.mark.parametrize("text", ["", "GPL-3.0-only", "GNU General Public License v3 (GPLv3)"])
def test_unknown_and_gpl_licenses_are_refused(licenses, text):
    assert licenses.is_refused(text)


@pytest.mark.parametrize("text", ["MIT", "MPL-2.0 AND MIT", "GPL-2.0 OR BSD-3-Clause"])
def test_other_licenses_are_allowed(licenses, text):
    assert not licenses.is_refused(text)
