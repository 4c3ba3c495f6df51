"""What `fewfold doctor --plan` says before a run, against what a run took."""

import csv
from collections import Counter

import pytest
import yaml

from fewfold.config.estimate import estimate
from fewfold.config.forecast import REFERENCE_S, exercise, plan_of


def costs(folder):
    """[(rule, CPU seconds, MB)] of the jobs that ran, as they measured themselves."""
    found = []
    for path in (folder / "logs").rglob("*.cost.tsv"):
        with open(path, newline="") as file:
            row = next(csv.DictReader(file, delimiter="\t"))
        rule = path.name.split(".")[0].rstrip("0123456789_")
        found.append((rule, float(row["cpu_s"]), float(row["max_rss_mb"])))
    return found


def within_three(said, took):
    return took / 3 < said < 3 * took


@pytest.mark.slow
def test_estimate_is_within_a_factor_of_three_of_a_real_run(finished):
    project, folder = finished
    said, took = estimate(plan_of([project.config])), costs(folder)
    # The run was at another time, when this noisy machine may have been as fast as the reference.
    slowness = sorted((1.0, exercise() / REFERENCE_S))
    cpu_s = sum(seconds for _, seconds, _ in took)
    low, high = (factor * said.cpu_s for factor in slowness)
    print(f"CPU: said {low:.0f} to {high:.0f} s, took {cpu_s:.0f} s")
    assert low < 3 * cpu_s and high > cpu_s / 3
    memory = max(mb for _, _, mb in took)
    print(f"memory: said {said.memory_mb:.0f} MB, took {memory:.0f} MB")
    assert within_three(said.memory_mb, memory)
    stored = sum(p.stat().st_size for p in (folder / "results").rglob("*") if p.is_file())
    print(f"storage: said {said.storage / 1e6:.1f} MB, took {stored / 1e6:.1f} MB")
    assert stored / 3 < said.storage < 3 * stored + 2e6  # a report alone is a MB or two


@pytest.mark.slow
@pytest.mark.parametrize("config", ["test/config.yaml", "config.yaml"])
def test_jobs_are_counted_as_snakemake_counts_them(project, tmp_path, config):
    path = project.folder / "config" / config
    counting = type(project)(project.folder)
    counting.config = path
    found = Counter()
    for stage in estimate(plan_of([path])).stages:
        found[stage.rule] += stage.jobs
    assert dict(found) == counting.jobs(tmp_path / "run")


def test_the_command_prints_the_estimate_and_runs_nothing(project, tmp_path):
    done = project.fewfold("doctor", "--plan", project.config, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout
    for word in ("jobs", "CPU", "time", "memory", "storage", "train_method"):
        assert f"\n{word}" in f"\n{done.stdout}"
    assert not (tmp_path / "out").exists()
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(yaml.safe_dump({"run": {"datsets": ["digits"]}}))
    done = project.fewfold("doctor", "--plan", wrong)
    assert done.returncode == 1 and len(done.stdout.splitlines()) == 1
    assert "Did you mean" in done.stdout or "datasets" in done.stdout
