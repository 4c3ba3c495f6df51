"""fewfold as a module of another Snakemake workflow, and its two Snakefiles."""

import pandas as pd
import pytest

from _project import ROOT

SNAKEFILE = """
SMALL = dict(source="gaussians_g50c", options=dict(n_samples=60, seed=1))
RUN = dict(datasets=["tiny"], methods=["knn"], labels=[6], trials=1)
module fewfold:
    snakefile: "{}"
    config: dict(run=RUN, datasets=dict(tiny=SMALL))
use rule * from fewfold as fewfold_*

rule best:
    default_target: True
    input: metrics="results/metrics.csv", page="results/report/index.html"
    output: "best.txt"
    shell: "grep -c knn {{input.metrics}} > {{output}}"
"""


@pytest.mark.slow
def test_a_workflow_imports_ours_and_adds_a_rule(project, tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(project.folder / "workflow/Snakefile"))
    command = ["-m", "snakemake", "--cores", "2", "--directory", tmp_path / "work"]
    done = project.run(project.python, *command, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    rows = pd.read_csv(tmp_path / "work/results/metrics.csv")
    assert int((tmp_path / "work/best.txt").read_text()) == len(rows) > 0
    assert set(rows["status"]) == {"ok"} and set(rows["dataset"]) == {"tiny"}


def test_both_snakefiles_ask_for_the_same(finished):
    project, directory = finished
    for snakefile in ("Snakefile", "workflow/Snakefile"):
        done = project.run(
            project.python, "-m", "snakemake", "--snakefile", project.folder / snakefile,
            "--directory", directory, "--configfile", project.config, "--dry-run", "--cores", "1",
        )  # fmt: skip
        assert done.returncode == 0 and "Nothing to be done" in done.stdout, done.stdout[-2000:]


def test_every_caption_is_used():
    from fewfold.pipeline import layout

    captions = {path.stem for path in (ROOT / "workflow/report").glob("*.rst")}
    assert captions == {n for s in ("collect_metrics", "make_report") for n in layout.OUTPUTS[s]}
