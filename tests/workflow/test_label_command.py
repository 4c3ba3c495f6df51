"""`fewfold label` and `fewfold predict` as a newcomer runs them, on small files."""

import json
import signal
import subprocess
import sys

import h5py
import numpy as np
import pandas as pd
import pytest

from _cells import write_h5ad
from _project import ROOT, Project, copy_project, heed_interrupts

FAST = ("--methods", "diffusion,logistic_1", "--cores", "2")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    return copy_project(tmp_path_factory.mktemp("label") / "project")


def make_file(folder, n=150, labeled=40, seed=0):
    """Three clouds in four columns, a category that says nothing, ids, few labels."""
    rng = np.random.default_rng(seed)
    code = np.arange(n) % 3
    frame = pd.DataFrame(rng.normal(size=(n, 4)) + 4 * np.eye(3, 4)[code], columns=list("abcd"))
    frame.insert(0, "plant_id", [f"plant {i}" if i else 'plant, "0"' for i in range(n)])
    frame["soil"] = rng.choice(["clay", "sand"], n)
    truth = np.array(["rosé", "tulip", "百合"], dtype=object)[code]
    shown = truth.copy()
    shown[rng.permutation(n)[labeled:]] = ""
    frame["species"] = shown
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / "my.csv", index=False)
    return frame, truth


@pytest.fixture(scope="module")
def labeled(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("flowers")
    frame, truth = make_file(folder)
    done = project.fewfold("label", "my.csv", "--target", "species", *FAST, cwd=folder)
    assert done.returncode == 0, done.stdout[-3000:]
    return folder, frame, truth, done.stdout


def test_the_answer(labeled):
    folder, frame, truth, said = labeled
    out = folder / "my-labels"
    table = pd.read_csv(out / "labels.csv", keep_default_na=False)
    assert list(table) == ["plant_id", "label", "confidence", "was_labeled", "second_label"]
    assert table["plant_id"].tolist() == frame["plant_id"].tolist()
    given = frame["species"] != ""
    assert (table["was_labeled"] == given).all()
    assert (table["label"][given] == frame["species"][given]).all()
    assert (table["label"] != "").all() and np.mean(table["label"] != truth) < 0.1
    assert table["confidence"].between(0, 1).all()
    assert (table["second_label"][~given] != table["label"][~given]).all()
    summary = json.loads((out / "summary.json").read_text())
    expected = summary["comparison"]["estimate"]
    assert 0 <= expected["low"] <= expected["value"] <= expected["high"] <= 1
    assert "40 of 150 rows have a label" in said and "95 % interval" in said
    assert "Always answering" in said and summary["comparison"]["trivial"]["beaten"]
    advice = pd.read_csv(out / "label_next.csv")
    assert len(advice) == 20 and not set(advice["plant_id"]) & set(frame["plant_id"][given])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "百合" in page and "http://" not in page.replace("http://www.w3.org", "")


def test_called_again_nothing_runs_and_one_more_label_leaves_the_graph_alone(project, labeled):
    folder, frame, truth, _ = labeled
    prepared = folder / "my-labels/results/table/label/prepared.h5"
    features = folder / "my-labels/input/features.h5"
    before = prepared.stat().st_mtime_ns, features.stat().st_mtime_ns
    again = project.fewfold("label", "my.csv", "--target", "species", *FAST, cwd=folder)
    assert again.returncode == 0 and "[  1/" not in again.stdout, again.stdout[-2000:]
    changed = frame.copy()
    row = changed.index[changed["species"] == ""][0]
    changed.loc[row, "species"] = truth[row]
    changed.to_csv(folder / "my.csv", index=False)
    more = project.fewfold("label", "my.csv", "--target", "species", *FAST, cwd=folder)
    assert more.returncode == 0, more.stdout[-3000:]
    assert "Preparing the candidates" not in more.stdout
    assert "Labeling all rows" in more.stdout and "41 of 150" in more.stdout
    assert (prepared.stat().st_mtime_ns, features.stat().st_mtime_ns) == before


@pytest.mark.slow
def test_predict_on_the_same_rows_says_what_labels_csv_says(project, labeled):
    folder, *_ = labeled
    words = ("--target", "species", "--methods", "extra_trees,logistic_1", "--out", "trees")
    done = project.fewfold("label", "my.csv", *words, cwd=folder)
    assert done.returncode == 0, done.stdout[-3000:]
    done = project.fewfold("predict", "trees/model.h5", "my.csv", "--out", "p.csv", cwd=folder)
    assert done.returncode == 0, done.stdout[-3000:]
    made = pd.read_csv(folder / "trees/labels.csv", keep_default_na=False)
    said = pd.read_csv(folder / "p.csv", keep_default_na=False)
    new = ~made["was_labeled"]
    for column in ("label", "confidence", "second_label"):
        assert (made[column] == said[column])[new].all(), column


@pytest.mark.slow
def test_all_candidates_and_quick(project, labeled):
    folder, _, truth, _ = labeled
    for name, words in (("all", ()), ("quick", ("--quick",)), ("equal", ("--priors", "equal"))):
        done = project.fewfold("label", "my.csv", "--target", "species", "--out", name, *words,
                               cwd=folder)  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:]
        table = pd.read_csv(folder / name / "labels.csv", keep_default_na=False)
        assert np.mean(table["label"] != truth) < 0.1
        assert ("No error can be stated: --quick" in done.stdout) is (name == "quick")
    bad = project.fewfold("label", "my.csv", "--target", "species", "--priors", "tulip=1",
                          "--out", "none", cwd=folder)  # fmt: skip
    assert bad.returncode == 1 and "Give a share for each" in bad.stdout


def test_predict(project, labeled):
    folder, frame, truth, _ = labeled
    new, expected = make_file(folder / "new", n=60, labeled=0, seed=5)
    new = new.drop(columns="species")
    new.to_csv(folder / "new.csv", index=False)
    done = project.fewfold("predict", "my-labels/model.h5", "new.csv", cwd=folder)
    assert done.returncode == 0, done.stdout[-2000:]
    table = pd.read_csv(folder / "predictions.csv")
    assert np.mean(table["label"] != expected) < 0.1 and not table["far"].mean() > 0.3
    new.assign(a=new["a"] + 50).to_csv(folder / "off.csv", index=False)
    off = project.fewfold("predict", "my-labels/model.h5", "off.csv", "--out", "o.csv", cwd=folder)
    assert "The data may have drifted" in off.stdout and pd.read_csv(folder / "o.csv")["far"].all()
    new.assign(soil="rock").to_csv(folder / "soil.csv", index=False)
    rock = project.fewfold(
        "predict", "my-labels/model.h5", "soil.csv", "--out", "o.csv", cwd=folder
    )
    assert "'soil' has values that the model does not know ('rock')" in rock.stdout
    new.drop(columns=["b"]).to_csv(folder / "short.csv", index=False)
    bad = project.fewfold(
        "predict", "my-labels/model.h5", "short.csv", "--out", "s.csv", cwd=folder
    )
    assert bad.returncode == 1 and "'b' is missing" in bad.stdout
    assert "Traceback" not in bad.stdout and not (folder / "s.csv").exists()


def test_a_bad_file_leaves_nothing_behind(project, tmp_path):
    (tmp_path / "bad.csv").write_text("a,species\n1,x\n2,y\n")
    done = project.fewfold("label", "bad.csv", "--target", "species", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout.startswith("error: ")
    assert "Traceback" not in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.slow
def test_interrupted_and_called_again_it_goes_on(project, tmp_path):
    make_file(tmp_path)
    words = ["label", "my.csv", "--target", "species", "--cores", "1"]
    command = [sys.executable, "-m", "fewfold.cli", *words]
    with subprocess.Popen(command, cwd=tmp_path, env=project.environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          preexec_fn=heed_interrupts) as started:  # fmt: skip
        said = ""
        for line in started.stdout:
            said += line
            if "Preparing the candidates" in said and "Labeling" in line:
                started.send_signal(signal.SIGINT)
                break
        said += started.stdout.read()
    assert started.returncode != 0 and "resumes from here" in said, said[-3000:]
    assert "Traceback" not in said and not (tmp_path / "my-labels/labels.csv").exists()
    again = project.fewfold(*words, cwd=tmp_path)
    assert again.returncode == 0, again.stdout[-3000:]
    assert "Preparing the candidates" not in again.stdout
    assert len(pd.read_csv(tmp_path / "my-labels/labels.csv")) == 150


@pytest.mark.slow
def test_groups_without_labels(project, tmp_path):
    frame, truth = make_file(tmp_path, n=90)
    frame.drop(columns=["species", "soil"]).to_csv(tmp_path / "my.csv", index=False)
    done = project.fewfold("label", "my.csv", "--classes", "3", "--cores", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    groups = pd.read_csv(tmp_path / "my-labels/labels.csv")["label"]
    table = pd.crosstab(groups, truth)
    assert table.shape == (3, 3) and table.max(axis=1).sum() > 80


@pytest.mark.slow
def test_numbers(project, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(120, 2))
    y = X[:, 0] + 0.05 * rng.normal(size=120)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["size"] = np.where(np.arange(120) < 60, y, np.nan)
    frame.to_csv(tmp_path / "my.csv", index=False)
    words = ("--target", "size", "--task", "regression", "--cores", "2")
    done = project.fewfold("label", "my.csv", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    table = pd.read_csv(tmp_path / "my-labels/labels.csv")
    error = np.abs(table["label"] - y)[60:]
    assert error.mean() < 0.15 and "Always answering the mean" in done.stdout
    inside = (table["low"] <= y) & (y <= table["high"])
    assert inside[60:].mean() > 0.75
    done = project.fewfold("predict", "my-labels/model.h5", "my.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]


def save_as(frame, target, path):
    """Write a table in the format of the path's ending; arrays as X and y."""
    numbers = frame[list("abcd")].to_numpy()
    if path.suffix == ".tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".parquet":
        frame.replace({target: {"": None}}).to_parquet(path)
    elif path.suffix == ".npz":
        np.savez(path, X=numbers, y=frame[target].to_numpy(dtype=str))
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["X"] = numbers
            file.create_dataset("y", data=frame[target].tolist(), dtype=h5py.string_dtype())
    else:
        kinds = frame[target].replace("", None).astype(object)
        kinds = kinds.where(kinds.notna(), None).tolist()
        write_h5ad(path, numbers.astype(np.float32), {target: kinds}, list("abcd"))


@pytest.mark.parametrize(
    "suffix",
    ["npz", *(pytest.param(s, marks=pytest.mark.slow) for s in ("tsv", "parquet", "h5", "h5ad"))],
)
def test_other_formats(project, tmp_path, suffix):
    frame, truth = make_file(tmp_path, n=90, labeled=15)
    (tmp_path / "my.csv").unlink()
    file = tmp_path / f"flowers.{suffix}"
    save_as(frame, "species", file)
    words = () if suffix in ("npz", "h5") else ("--target", "species")
    # trees do not mind that chance gave one class 2 labels and another 8
    trees = ("--methods", "extra_trees", "--cores", "2")
    done = project.fewfold("label", file.name, *words, *trees, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "15 of 90 rows have a label" in done.stdout
    table = pd.read_csv(tmp_path / "flowers-labels/labels.csv", keep_default_na=False)
    assert np.mean(table["label"] != truth) < 0.1 and table["was_labeled"].sum() == 15
    if not words:
        assert table["row"].tolist() == list(range(1, 91))
    else:
        cells = [f"c{i}" for i in range(90)]
        assert table.iloc[:, 0].tolist() == (
            cells if suffix == "h5ad" else frame["plant_id"].tolist()
        )
    done = project.fewfold("predict", "flowers-labels/model.h5", file.name, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]
    again = pd.read_csv(tmp_path / "predictions.csv", keep_default_na=False)
    assert np.mean(again["label"] != truth) < 0.1
    if suffix == "npz":
        np.savez(tmp_path / "wide.npz", X=np.zeros((5, 7)))
        bad = project.fewfold("predict", "flowers-labels/model.h5", "wide.npz", "--out", "no.csv",
                              cwd=tmp_path)  # fmt: skip
        assert bad.returncode == 1 and "7 features" in bad.stdout and "4" in bad.stdout
        assert "Traceback" not in bad.stdout and not (tmp_path / "no.csv").exists()


@pytest.mark.slow
def test_abstaining_and_few_labels(project, tmp_path):
    make_file(tmp_path, labeled=9)
    words = ("--target", "species", "--abstain", "0.99", "--cores", "2")
    done = project.fewfold("label", "my.csv", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "Expected error" in done.stdout  # each label was held out on its own
    table = pd.read_csv(tmp_path / "my-labels/labels.csv", keep_default_na=False)
    assert ((table["label"] == "") == (~table["was_labeled"] & (table["confidence"] < 0.99))).all()


@pytest.mark.slow
def test_the_config_of_the_tutorial_runs_on_the_file_that_label_reads(project, tmp_path):
    """One reader: names of rows, categories and empty cells are the same in both commands."""
    frame, _ = make_file(tmp_path, n=240, labeled=130)
    frame.loc[[3, 7], "b"] = np.nan
    frame.to_csv(tmp_path / "my.csv", index=False)
    page = (ROOT / "docs/tutorials/compare.md").read_text(encoding="utf-8")
    block = next(part for part in page.split("```") if part.startswith("yaml\n# my.yaml"))
    (tmp_path / "my.yaml").write_text(block.removeprefix("yaml\n"), encoding="utf-8")
    words = ("run", "--configfile", "my.yaml", "--out", "my-results", "--cores", "2")
    done = project.fewfold(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    table = pd.read_csv(tmp_path / "my-results/results/metrics.csv")
    assert set(table["n_labeled"]) == {20, 100} and set(table["status"]) == {"ok"}
    assert table[table["n_labeled"] == 100].groupby("method")["value"].mean().max() < 0.2
    log = (tmp_path / "my-results/logs/mine/fetch_dataset.log").read_text(encoding="utf-8")
    assert "Rows are named by the column 'plant_id'" in log and "2 empty cells are filled" in log
