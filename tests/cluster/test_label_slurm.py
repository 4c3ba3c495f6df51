"""`fewfold label --profile` and the gallery's cluster script on the nodes of a real SLURM."""

import subprocess
import sys

import numpy as np
import pandas as pd

from conftest import HERE


def test_label_runs_on_the_cluster(slurm, code, tmp_path):
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    table = pd.DataFrame(rng.normal(size=(90, 3)) + 4 * np.eye(3)[kind], columns=list("abc"))
    names = np.array(["oak", "ash", "elm"], dtype=object)[kind]
    table["tree"] = np.where(np.arange(90) < 15, names, "")
    table.to_csv(tmp_path / "trees.csv", index=False)
    environment = slurm | {"PYTHONPATH": str(code / "src")}
    command = [
        sys.executable, "-m", "fewfold.cli", "label", "trees.csv", "--target", "tree",
        "--methods", "diffusion", "--profile", str(HERE / "profile"),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, timeout=900,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    answer = pd.read_csv(tmp_path / "trees-labels/labels.csv")
    assert np.mean(answer["label"] != names) < 0.1 and (tmp_path / "trees-labels/model.h5").exists()
    jobs = subprocess.run(["scontrol", "show", "jobs"], env=slurm, text=True, check=True,
                          capture_output=True).stdout.split("\n\n")  # fmt: skip
    ours = [job for job in jobs if str(tmp_path) in job]
    for rule in ("prepare_candidates", "label_rows"):
        assert any(f"rule_{rule}_" in job and "COMPLETED" in job for job in ours), (rule, jobs)


def test_gallery_script_runs_on_the_cluster(slurm, code, tmp_path):
    script = HERE.parents[1] / "docs/examples/cluster_run.py"
    command = [sys.executable, script, "figure.png", HERE / "profile"]
    environment = slurm | {"PYTHONPATH": str(code / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, timeout=900,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "figure.png").exists()
    jobs = subprocess.run(["scontrol", "show", "jobs"], env=slurm, text=True, check=True,
                          capture_output=True).stdout  # fmt: skip
    assert "rule_train_method_wildcards_digits" in jobs
