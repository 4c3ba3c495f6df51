"""Bad input: one clear message each, and nothing left behind.

The stages run here as the workflow runs them, script by script, in this process; a few cases go
through Snakemake itself.
"""

import copy
import runpy
from pathlib import Path

import numpy as np
import pytest
import yaml

from fewfold.config.plan import Plan
from fewfold.config.schema import read_schema, validate
from fewfold.exceptions import FewfoldError

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = read_schema(ROOT)
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def stage(name):
    return runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))["main"]


def run_stages(folder, options, *, labels=(4,), draw="random", **dataset):
    """Config to scores of k-NN on the user's file; returns the errors."""
    config = copy.deepcopy(DEFAULT)
    config["datasets"] = {"mine": {"source": "file", "options": options, **dataset}}
    config["run"] |= {"datasets": ["mine"], "methods": ["knn"], "labels": list(labels),
                      "trials": 2, "draw": draw}  # fmt: skip
    validate(config, SCHEMA)
    plan = Plan(config)
    entry = plan.dataset("mine")
    files = {n: str(folder / f"{n}.h5") for n in ("raw", "features", "labels", "splits", "out")}
    held = {"protocol": entry["protocol"], "holdout": 0.2, "seed": 0}
    stage("fetch_dataset")(files["raw"], source="file", options=options)
    stage("prepare_features")(
        files["raw"], files["features"], scale=entry.get("scale", "none"), divide_by=1.0,
        pca=entry.get("pca"), **held,
    )  # fmt: skip
    draws = {"dataset": "mine", "draw": draw, "labels_per_draw": list(labels), "trials": 2,
             "evaluate": entry["evaluate"], "protocol": entry["protocol"], "seed": 0}  # fmt: skip
    places = files["raw"], files["labels"], files["splits"]
    stage("prepare_labels")(*places, held_out=held, draws=draws)
    metrics = folder / "metrics.csv"
    stage("train_method")(
        {n: files[n] for n in ("features", "labels", "splits")}, files["out"], metrics,
        dataset="mine", methods={"knn": {"learner": "knn", "options": {}}}, first=0, last=2,
    )  # fmt: skip
    return metrics.read_text().splitlines()


def table(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {"path": str(path), "target": "species"}


def rows(n=12, labels="ab"):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{rng.normal():.3f},{labels[i % len(labels)]}" for i in range(n)]
    return "width,height,species\n" + "\n".join(lines) + "\n"


def fails(tmp_path, match, options, **more):
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(FewfoldError, match=match) as error:
        run_stages(out, options, **more)
    assert not list(out.rglob("*.part")) and not (out / "metrics.csv").exists()
    assert len(str(error.value)) < 1000
    return str(error.value)


def works(tmp_path, options, **more):
    out = tmp_path / "out"
    out.mkdir()
    return run_stages(out, options, **more)


def test_a_good_table_works(tmp_path):
    assert len(works(tmp_path, table(tmp_path, rows()))) == 3


def test_missing_file(tmp_path):
    fails(tmp_path, r"nowhere\.csv", {"path": str(tmp_path / "nowhere.csv"), "target": "species"})


@pytest.mark.parametrize("text", ["", "\n\n", "width,height,species\n"])
def test_empty_csv(tmp_path, text):
    fails(tmp_path, r"t\.csv", table(tmp_path, text))


def test_one_class(tmp_path):
    fails(
        tmp_path,
        "only one class is labeled .'a', 12 of 12 rows",
        table(tmp_path, rows(labels="a")),
    )


def test_no_label_at_all(tmp_path):
    text = rows().replace(",a\n", ",\n").replace(",b\n", ",\n")
    fails(tmp_path, "(?i)label", table(tmp_path, text))


def test_one_labeled_point(tmp_path):
    text = rows().replace(",a\n", ",\n").replace(",b\n", ",\n").replace(",\n", ",a\n", 1)
    fails(tmp_path, "only one class is labeled .'a', 1 of 12 rows", table(tmp_path, text))


def test_all_labeled(tmp_path):
    fails(tmp_path, "No row is left to evaluate", table(tmp_path, rows()), labels=[12])
    # A budget beyond the rows is found before anything runs.
    with pytest.raises(FewfoldError, match="labels: 13, but the dataset has 12 rows"):
        run_stages(tmp_path / "none", table(tmp_path, rows()), labels=[13])


def test_a_class_seen_once(tmp_path):
    text = rows() + "0.5,0.5,rare\n"
    assert len(works(tmp_path, table(tmp_path, text), draw="stratified")) == 3


def test_infinity_names_the_row_and_the_column(tmp_path):
    lines = rows().splitlines()
    lines[5] = "1.0,inf,a"
    found = fails(tmp_path, "height", table(tmp_path, "\n".join(lines)))
    assert "row" in found


@pytest.mark.parametrize("gap", ["nan", ""])
def test_a_missing_cell_is_filled_as_by_label(tmp_path, gap):
    lines = rows().splitlines()
    lines[5] = f"1.0,{gap},a"
    assert len(works(tmp_path, table(tmp_path, "\n".join(lines)))) == 3


def test_text_in_a_number_column(tmp_path):
    lines = rows().splitlines()
    lines[4] = "1.0,tall,b"
    fails(tmp_path, "height(?s:.)*tall|tall(?s:.)*height", table(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize("line", ["1.0,2.0", "1.0,2.0,a,9,9"])
def test_ragged_rows(tmp_path, line):
    lines = rows().splitlines()
    lines[6] = line
    fails(tmp_path, r"t\.csv|row|line", table(tmp_path, "\n".join(lines)))


def test_a_target_that_is_not_there(tmp_path):
    options = table(tmp_path, rows()) | {"target": "specis"}
    fails(tmp_path, "species", options)


@pytest.mark.parametrize("name", ["größe 日本.csv", "a b.csv", "a'b\".csv", "a;b.csv", "$(x).csv"])
def test_odd_file_names_work(tmp_path, name):
    text = rows().replace("width", "Breite größer").replace(",a\n", ",Käfer; $(x)\n")
    assert len(works(tmp_path, table(tmp_path, text, name))) == 3


def test_absurd_sizes(tmp_path):
    fails(tmp_path, "pca=1000000 for 12 rows x 2 columns; allowed: 1 to 2",
          table(tmp_path, rows()), pca=1000000)  # fmt: skip


def test_binary_rubbish(tmp_path):
    fails(tmp_path, r"t\.csv", table(tmp_path, bytes(range(256)) * 20))


# --- through Snakemake -----------------------------------------------------------------------


def workflow(project, tmp_path, changes):
    config = tmp_path / "bad.yaml"
    config.write_text(yaml.safe_dump(changes, allow_unicode=True))
    out = tmp_path / "out"
    done = project.fewfold("run", "--cores", "1", "--configfile", config, "--out", out)
    return done, out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"run": {"trails": 3}}, "unknown key 'trails' at run. Did you mean 'trials'?"),
        ({"run": {"methods": ["knm"]}}, "run.methods names 'knm'"),
        ({"datasets": {"../../up": {"source": "digits"}}}, "allowed: letters, digits"),
    ],
)
def test_a_bad_config_is_one_sentence_and_starts_nothing(project, tmp_path, changes, message):
    done, out = workflow(project, tmp_path, changes)
    assert done.returncode == 1 and message in done.stdout
    assert "Traceback" not in done.stdout and len(done.stdout.splitlines()) <= 3
    assert not (out / "results").exists()


@pytest.mark.slow
def test_a_job_that_fails_says_why_and_leaves_no_output(project, tmp_path):
    options = table(tmp_path, rows())
    done, out = workflow(
        project, tmp_path,
        {"run": {"datasets": ["mine"], "methods": ["knn"], "labels": [4]},
         "datasets": {"mine": {"source": "file", "options": options, "pca": 9}}},
    )  # fmt: skip
    assert done.returncode == 1
    assert "pca=9 for 12 rows x 2 columns; allowed: 1 to 2" in done.stdout
    assert "Traceback" not in done.stdout
    assert not list((out / "results").rglob("features.h5")) and not list(out.rglob("*.part"))
    assert not (out / "results/metrics.csv").exists()
