"""No command writes over what it reads, into a folder at work, or into one it cannot use."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fewfold.config.plan import Plan
from fewfold.exceptions import ConfigError, InputError, RunFailed
from fewfold.labeling import label, predict
from fewfold.labeling.publishing import OUTPUTS, check_published
from fewfold.system.outputs import (
    check_output_file,
    refuse_overwriting,
    run_directory,
    writable_folder,
)

HOLD = """
import sys, time
from pathlib import Path
from fewfold.system.run_folder import only_run
with only_run(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def state(folder):
    """Every file below a folder, and its bytes."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def flowers(path, n=60):
    rng = np.random.default_rng(0)
    code = np.arange(n) % 2
    frame = pd.DataFrame(rng.normal(size=(n, 3)) + 4 * code[:, None], columns=list("abc"))
    frame["species"] = np.where(np.arange(n) < 20, np.array(["rose", "tulip"])[code], "")
    frame.to_csv(path, index=False)
    return path


# --- the rule itself


def test_paths_are_compared_with_their_links_followed(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(table)
    (tmp_path / "folder").mkdir()
    (tmp_path / "there").symlink_to(tmp_path, target_is_directory=True)
    os.link(table, tmp_path / "hard.csv")
    same = ["table.csv", "link.csv", "hard.csv", "folder/../table.csv", "there/table.csv"]
    for name in same:
        for output, source in ((tmp_path / name, table), (table, tmp_path / name)):
            with pytest.raises(InputError, match="would be overwritten. Choose another --out"):
                refuse_overwriting([output], [source])
    refuse_overwriting([tmp_path / "new.csv", tmp_path / "folder"], [table])


def test_an_input_in_a_folder_of_ours_and_an_output_in_an_input_folder(tmp_path):
    (tmp_path / "results/table").mkdir(parents=True)
    (tmp_path / "results/table/raw.h5").write_text("")
    with pytest.raises(InputError, match="where fewfold keeps files of its own"):
        refuse_overwriting([tmp_path / "results"], [tmp_path / "results/table/raw.h5"])
    with pytest.raises(InputError, match="would be written into the input folder"):
        refuse_overwriting([tmp_path / "results/labels.csv"], [tmp_path / "results"])


# --- label


@pytest.mark.parametrize("name", ["labels.csv", "label_next.csv"])
def test_label_does_not_overwrite_its_input(tmp_path, name):
    flowers(tmp_path / name)
    before = state(tmp_path)
    with pytest.raises(InputError, match=f"{name} is an input, and would be overwritten"):
        label(tmp_path / name, "species", out=tmp_path)
    link = tmp_path / "elsewhere"
    link.symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(InputError, match="is an input, and would be overwritten"):
        label(tmp_path / name, "species", out=link)
    link.unlink()
    assert state(tmp_path) == before


def test_label_does_not_overwrite_an_input_among_its_own_files(tmp_path):
    (tmp_path / "input").mkdir()
    flowers(tmp_path / "input/mine.csv")
    with pytest.raises(InputError, match="where fewfold keeps files of its own"):
        label(tmp_path / "input/mine.csv", "species", out=tmp_path)


def test_label_does_not_replace_files_of_other_people(tmp_path):
    flowers(tmp_path / "my.csv")
    (tmp_path / "labels.csv").write_text("id,label\n1,mine\n")
    before = state(tmp_path)
    with pytest.raises(InputError, match="labels.csv was not written by fewfold, or was changed"):
        label(tmp_path / "my.csv", "species", out=tmp_path)
    after = state(tmp_path)
    after.pop(".snakemake/fewfold.lock")
    assert after == before


def test_its_own_files_are_known_by_their_digest(tmp_path):
    made = tmp_path / "results/table/label"
    made.mkdir(parents=True)
    for file in OUTPUTS:
        (made / file).write_text(f"new {file}")
        (tmp_path / file).write_text(f"new {file}")
    check_published(tmp_path, "table")
    (tmp_path / "summary.json").write_text("edited")
    with pytest.raises(InputError, match="summary.json"):
        check_published(tmp_path, "table")


def test_a_refused_label_changes_nothing_of_the_run_at_work(tmp_path):
    flowers(tmp_path / "my.csv")
    out = tmp_path / "out"
    out.mkdir()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(out)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        before = state(out)
        with pytest.raises(RunFailed, match="is running in"):
            label(tmp_path / "my.csv", "species", out=out)
        assert state(out) == before and not (out / "input").exists()
    finally:
        holder.kill()
        holder.wait()


# --- predict


def test_predict_does_not_overwrite_its_inputs(tmp_path):
    rows, model = flowers(tmp_path / "n.csv"), tmp_path / "m.h5"
    model.write_bytes(b"a model")
    (tmp_path / "link.csv").symlink_to(rows)
    before = state(tmp_path)
    for out in (rows, model, tmp_path / "link.csv", tmp_path / "x/../n.csv"):
        with pytest.raises(InputError, match="is an input, and would be overwritten"):
            predict(model, rows, out)
    with pytest.raises(InputError, match="is a folder. Give the name of a file"):
        predict(model, rows, tmp_path)
    assert state(tmp_path) == before


# --- run


def small_plan(options):
    run = {"datasets": ["mine"], "methods": ["knn"], "labels": [4], "trials": 1, "seed": 0,
           "draw": "random", "evaluate": "unlabeled", "protocol": "transductive"}  # fmt: skip
    return Plan(
        {
            "run": run,
            "datasets": {"mine": {"source": "file", "options": options}},
            "methods": {"knn": {"learner": "knn"}},
        }
    )


@pytest.mark.parametrize("place", ["results/mine/own.csv", "results/metrics.csv", "logs/own.csv"])
def test_run_does_not_overwrite_a_source(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / place).parent.mkdir(parents=True)
    frame = pd.read_csv(flowers(tmp_path / place))
    frame.assign(species=np.where(frame["a"] > 2, "x", "y")).to_csv(place, index=False)
    with pytest.raises(ConfigError, match="datasets.mine.options: .* is an input, and"):
        small_plan({"path": place, "target": "species"})
    os.replace(place, "own.csv")
    small_plan({"path": "own.csv", "target": "species"})


# --- folders


def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file/below/it"):
        with pytest.raises(InputError, match=r"--out .*/file.* is a file. Give a folder"):
            writable_folder(path)
        with pytest.raises(InputError, match="is a file. Give a folder"):
            check_output_file(path / "new.csv")
    with pytest.raises(InputError, match="cannot be made"):
        writable_folder(tmp_path / ("x" * 300))
    with pytest.raises(InputError, match="cannot be made"):
        writable_folder(tmp_path / "nul\0")
    assert writable_folder(tmp_path / "a/b").is_dir()


@pytest.mark.parametrize("name", ["{0}", "a } b", "{dataset}/below"])
def test_a_run_in_a_folder_with_braces_is_refused_in_words(tmp_path, name):
    with pytest.raises(InputError, match="Snakemake cannot work in .*because of the braces"):
        run_directory(tmp_path / name)
    folder = tmp_path / "{x}"
    folder.mkdir()
    flowers(folder / "{y}.csv")
    with pytest.raises(InputError, match="braces in its name. Choose another --out"):
        label(folder / "{y}.csv", "species")
    assert [p.name for p in folder.iterdir()] == ["{y}.csv"]
