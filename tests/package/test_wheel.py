"""A wheel in a new environment: the whole command line from any folder, without a checkout."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from _mounting import mounted

ROOT = Path(__file__).resolve().parents[2]
CONFIG = """
run: {datasets: [small], methods: [knn], labels: [6], trials: 1}
datasets:
  small: {source: file, options: {path: small.csv, target: kind}}
"""


def do(*command, cwd, code=0):
    keep = ("PATH", "HOME", "TMPDIR", "LANG", "FEWFOLD_MIRROR")
    clean = {k: v for k, v in os.environ.items() if k in keep}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=clean, text=True, timeout=900, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == code, done.stdout[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    do(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A new environment with the locked packages and the wheel; its packages are read-only."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=True)
    pip = [home / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    lock = ROOT / "dependencies/dev.lock"
    packages = [*pip, "--no-deps", "--require-hashes", "--requirement", lock]
    subprocess.run(list(map(str, packages)), check=True, capture_output=True)
    subprocess.run([*map(str, pip), "--no-deps", str(wheel)], check=True, capture_output=True)
    (site,) = home.glob("lib/*/site-packages")
    mounted("--bind", site, site, needs="a read-only folder of packages")
    mounted("-o", "remount,ro,bind", site, needs="a read-only folder of packages")
    yield home / "bin/fewfold"
    subprocess.run(["umount", "--lazy", str(site)], check=False)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    kinds = np.repeat(["ash", "oak"], 30)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["a"] += 6 * (kinds == "oak")
    frame["kind"] = kinds
    frame.to_csv(tmp_path / "small.csv", index=False)
    frame.loc[np.arange(60) % 30 >= 5, "kind"] = ""
    frame.to_csv(tmp_path / "partly.csv", index=False)
    (tmp_path / "small.yaml").write_text(CONFIG)
    return tmp_path


def test_the_wheel_holds_what_a_checkout_has(wheel):
    import zipfile

    names = set(zipfile.ZipFile(wheel).namelist())
    for part in ("workflow", "scripts", "config", "data/published"):
        for file in (ROOT / part).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                assert f"fewfold/project/{file.relative_to(ROOT)}" in names
    for file in (ROOT / "src/fewfold").rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".egg-info":
            assert f"{file.relative_to(ROOT / 'src')}" in names
    assert not [n for n in names if "__pycache__" in n or n.startswith("tests/")]


def test_doctor_finds_nothing_to_fix(installed, folder):
    said = do(installed, "doctor", cwd=folder)
    assert "ERROR" not in said and "fewfold/project" in said


def test_label_and_predict(installed, folder):
    said = do(installed, "label", "partly.csv", "--target", "kind", "--cores", "2", cwd=folder)
    answer = pd.read_csv(folder / "partly-labels/labels.csv")
    truth = pd.read_csv(folder / "small.csv")["kind"]
    assert (answer["label"] == truth).mean() > 0.95, said
    do(installed, "predict", "partly-labels/model.h5", "small.csv", cwd=folder)
    assert (pd.read_csv(folder / "predictions.csv")["label"] == truth).mean() > 0.95


def test_run(installed, folder):
    said = do(installed, "run", "--configfile", "small.yaml", "--out", "elsewhere", "--cores", "2",
              cwd=folder)  # fmt: skip
    assert "results/report/index.html" in said
    rows = pd.read_csv(folder / "elsewhere/results/metrics.csv")
    assert set(rows["status"]) == {"ok"}


def test_reproduce_knows_the_papers(installed, folder):
    assert "eigenbasis" in do(installed, "reproduce", cwd=folder)
    said = do(installed, "reproduce", "mbed", "--commit-table", cwd=folder, code=1)
    assert "Leave the option out" in said
