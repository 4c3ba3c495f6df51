"""The job table behind estimate and report is the one that Snakemake runs."""

import re
from collections import Counter

import pytest

from _project import Project
from fewfold.config.forecast import plan_of
from fewfold.config.label_jobs import LabelJobs

CONFIGS = ("config.yaml", "test/config.yaml", "test/invariance.yaml")


def snakemake_edges(project, directory, config):
    """{(rule, rule)} as `snakemake --rulegraph` draws them; `all` is a target, not a stage."""
    done = project.snakemake(directory, "--rulegraph", configs=[config])
    assert done.returncode == 0, done.stdout[-3000:]
    names = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)', done.stdout, re.MULTILINE))
    pairs = re.findall(r"^\s*(\d+) -> (\d+)", done.stdout, re.MULTILINE)
    assert pairs
    return {(names[a], names[b]) for a, b in pairs if names[b] != "all"}


@pytest.mark.parametrize("config", CONFIGS)
def test_edges_are_those_of_snakemake(project, tmp_path, config):
    path = project.folder / "config" / config
    jobs = LabelJobs(plan_of([path]), project.folder)
    assert set(jobs.edges()) == snakemake_edges(project, tmp_path, path)
    counting = Project(project.folder)
    counting.config = path
    assert Counter(job.stage for job in jobs.walk()) == counting.jobs(tmp_path / "run")
