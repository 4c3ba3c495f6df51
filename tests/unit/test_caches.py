"""A user without a home, and a package in a place that cannot be written to."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from _project import copy_project

IMPORTS = """
import importlib, os, pkgutil, sys
import fewfold
compiled = []
for module in pkgutil.walk_packages(fewfold.__path__, "fewfold."):
    source = module.module_finder.find_spec(module.name).origin
    text = open(source).read()
    if "fewfold.system.compiled import" in text and "njit(" in text:
        importlib.import_module(module.name)
        compiled.append(module.name)
print(len(compiled), os.environ["XDG_CACHE_HOME"])
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy whose folders take no compiled code: __pycache__ is a file. (Root may write anything.)

    The home is below a file, which nobody can create.
    """
    made = copy_project(tmp_path_factory.mktemp("fixed") / "project")
    for folder in (made.folder / "src").rglob("*"):
        if folder.is_dir() and folder.name != "__pycache__":
            shutil.rmtree(folder / "__pycache__", ignore_errors=True)
            (folder / "__pycache__").write_text("")
    return made


def homeless(project, tmp_path):
    environment = project.environment | {"HOME": str(project.folder / "Snakefile" / "home")}
    environment |= {"TMPDIR": str(tmp_path / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR", "FEWFOLD_PRIVATE_CACHE"):
        environment.pop(name, None)
    (tmp_path / "tmp").mkdir(exist_ok=True)
    return environment


def call(project, tmp_path, *words):
    return subprocess.run(
        [sys.executable, *map(str, words)], env=homeless(project, tmp_path), cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_compiled_modules_are_imported_and_nothing_is_left(project, tmp_path):
    done = call(project, tmp_path, "-c", IMPORTS)
    assert done.returncode == 0, done.stderr
    count, folder = done.stdout.split()
    assert int(count) >= 5 and Path(folder).parent == tmp_path / "tmp"
    assert not Path(folder).exists()


def test_the_doctor_says_so(project, tmp_path):
    done = call(project, tmp_path, "-m", "fewfold.cli", "doctor")
    assert "warning  caches: HOME" in done.stdout and "Set XDG_CACHE_HOME" in done.stdout
    assert "ok       compiled code" in done.stdout
    assert not list((tmp_path / "tmp").glob("fewfold-cache-*"))


@pytest.mark.slow
def test_label_works(project, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{'xy'[i % 2] if i < 20 else ''}"
             for i, (a, b) in enumerate(rng.normal(size=(50, 2)) + 4 * (np.arange(50) % 2)[:, None])
             ]  # fmt: skip
    (tmp_path / "my.csv").write_text("a,b,kind\n" + "\n".join(lines) + "\n")
    done = call(project, tmp_path, "-m", "fewfold.cli", "label", "my.csv", "--target", "kind",
                "--methods", "diffusion,knn", "--cores", "2")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr and (tmp_path / "my-labels/labels.csv").exists()


def test_a_user_with_a_home_keeps_it(tmp_path, monkeypatch):
    from fewfold.system.caches import ensure_cache

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert ensure_cache() is None
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path / "mine")
