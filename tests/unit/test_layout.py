"""Paths of the workflow: each stage's outputs, logs and cost files, and back."""

import pytest

from fewfold.pipeline import layout

VALUES = {
    "dataset": "a.b", "graph": "g.new1", "manifold": "m", "kernel": "k-1", "transform": "t",
    "method": "points", "tile": "3", "first": "0", "last": "10",
}  # fmt: skip


@pytest.mark.parametrize("stage", layout.OUTPUTS)
def test_every_output_leads_back_to_its_stage(stage):
    for name in layout.OUTPUTS[stage]:
        found, wildcards = layout.producer(layout.path(stage, name, **VALUES))
        assert found == stage
        assert dict(wildcards) == {key: VALUES[key] for key, _ in wildcards}


def test_logs_lie_as_the_outputs_do():
    assert layout.log("fetch_dataset") == "logs/{dataset}/fetch_dataset.log"
    assert layout.log("collect_metrics") == "logs/collect_metrics.log"
    assert (
        layout.log("train_method")
        == "logs/{dataset}/methods/{method}/train_method_{first}_{last}.log"
    )


@pytest.mark.parametrize("stage", layout.OUTPUTS)
def test_a_cost_file_names_its_job(stage, tmp_path):
    log = tmp_path / layout.log(stage).format(**VALUES)
    log.parent.mkdir(parents=True)
    file = log.with_suffix(".cost.tsv")
    file.touch()
    (found,) = layout.cost_files(tmp_path / "logs")
    assert (found.path, found.stage) == (file, stage)
    assert found.dataset == ("a.b" if "{dataset}" in layout.log(stage) else "")
    folders = "/".join(log.relative_to(tmp_path).parts[2:-1])
    assert found.target == folders
