"""A wheel in a new environment: the whole command line from any folder, without a checkout."""

import os
import shutil
import subprocess
import sys
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


KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "FEWFOLD_MIRROR")


def do(*command, cwd, code=0, keep=KEPT):
    clean = {k: v for k, v in os.environ.items() if keep is None or k in keep}
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


def environment(home, wheel, python=sys.executable):
    """Make a new environment with the locked packages and the wheel; returns its fewfold."""
    do(python, "-m", "venv", home, cwd=home.parent)
    pip = [home / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    lock = ROOT / "dependencies/dev.lock"
    do(*pip, "--no-deps", "--require-hashes", "--requirement", lock, cwd=home.parent, keep=None)
    do(*pip, "--no-deps", wheel, cwd=home.parent, keep=None)
    return home / "bin/fewfold"


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A new environment whose packages are read-only."""
    home = tmp_path_factory.mktemp("environment") / "new"
    command = environment(home, wheel)
    (site,) = home.glob("lib/*/site-packages")
    mounted("--bind", site, site, needs="a read-only folder of packages")
    mounted("-o", "remount,ro,bind", site, needs="a read-only folder of packages")
    yield command
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


def images(folder):
    """Digits as PNG: a third in subfolders by class, the others in unlabeled/."""
    from PIL import Image
    from sklearn.datasets import load_digits

    data, truth = load_digits(n_class=4), {}
    for i in range(150):
        name = f"{data.target[i]}/{i}.png" if i % 3 == 0 else f"unlabeled/{i}.png"
        (folder / "digits" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((data.images[i] * 15).astype(np.uint8)).save(folder / "digits" / name)
        truth[name] = str(data.target[i])
    return ["digits"], truth


def embeddings(folder):
    rng = np.random.default_rng(0)
    kinds = np.repeat(["ash", "oak"], 40)
    X = rng.normal(size=(80, 16)) + 3 * (kinds == "oak")[:, None]
    frame = pd.DataFrame({"id": [f"t{i}" for i in range(80)], "embedding": list(X.astype("f4"))})
    frame["kind"] = np.where(np.arange(80) % 4 == 0, kinds, None)
    frame.to_parquet(folder / "my.parquet")
    return ["my.parquet", "--target", "kind"], dict(zip(frame["id"], kinds))


def cells(folder):
    import h5py

    rng = np.random.default_rng(0)
    kinds = np.repeat(["B", "T"], 40)
    with h5py.File(folder / "my.h5ad", "w") as file:
        file["X"] = rng.poisson(3 + 4 * (kinds == "T")[:, None] * (np.arange(9) % 2), (80, 9)) * 1.0
        for group, n in (("obs", 80), ("var", 9)):
            node = file.create_group(group)
            node.attrs["_index"] = "_index"
            node.attrs["column-order"] = np.array(["kind"] if group == "obs" else [], dtype="S")
            node["_index"] = [f"{group}{i}" for i in range(n)]
        file["obs"]["kind"] = np.where(np.arange(80) % 4 == 0, kinds, "Unknown").tolist()
    return ["my.h5ad", "--target", "kind"], {f"obs{i}": k for i, k in enumerate(kinds)}


@pytest.mark.parametrize("write", [images, embeddings, cells], ids=lambda f: f.__name__)
def test_what_newcomers_have(installed, tmp_path, write):
    """From a fresh environment to labels in one command, and again in a file of another kind."""
    arguments, truth = write(tmp_path)
    said = do(installed, "label", *arguments, "--quick", "--cores", "2", "--out", "done.csv",
              cwd=tmp_path)  # fmt: skip
    answer = pd.read_csv(tmp_path / "done-labels/labels.csv", dtype=str)
    right = [truth[row] == label for row, label in zip(answer.iloc[:, 0], answer["label"])]
    assert len(right) == len(truth) and np.mean(right) > 0.85, said
    assert len(pd.read_csv(tmp_path / "done.csv")) == len(truth)
    do(installed, "predict", "done-labels/model.h5", arguments[0], "--out", "new.parquet",
       cwd=tmp_path)  # fmt: skip
    assert len(pd.read_parquet(tmp_path / "new.parquet")) == len(truth)


def interpreter(version):
    """Another Python of this machine, or None."""
    own = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    for path in (shutil.which(f"python{version}"), *sorted(own)):
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    return None


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_other_versions_of_python(wheel, folder, tmp_path_factory, version):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"needs Python {version}, runs where one is installed")
    command = environment(tmp_path_factory.mktemp("environment") / "new", wheel, python)
    assert "ERROR" not in do(command, "doctor", cwd=folder)
    do(command, "label", "partly.csv", "--target", "kind", "--cores", "2", cwd=folder)
    answer = pd.read_csv(folder / "partly-labels/labels.csv")
    assert (answer["label"] == pd.read_csv(folder / "small.csv")["kind"]).mean() > 0.95
    do(command, "run", "--configfile", "small.yaml", "--out", "run", "--cores", "2", cwd=folder)
    assert set(pd.read_csv(folder / "run/results/metrics.csv")["status"]) == {"ok"}
