"""One run end to end: tables, report, nothing to do afterwards, the same anywhere."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = [
    "dataset", "method", "n_labeled", "trial", "seed", "protocol", "metric", "value",
    "fit_s", "predict_s", "status",
]  # fmt: skip


@pytest.mark.slow
def test_metrics_have_the_agreed_columns_and_every_row(finished):
    metrics = pd.read_csv(finished[1] / "results/metrics.csv")
    assert list(metrics.columns) == COLUMNS
    counts = metrics.groupby(["dataset", "method"]).size().to_dict()
    assert counts == {
        ("tiny", "eigenbasis"): 8,  # 4 trials x 2 budgets
        ("tiny", "knn"): 8,
        ("tiny", "rbf_svm"): 8,
        ("tiny_inductive", "eigenbasis"): 4,  # 2 trials
        ("tiny_inductive", "knn"): 4,
    }
    assert set(metrics["n_labeled"]) == {6, 12} and set(metrics["metric"]) == {"error"}
    assert set(metrics["status"]) == {"ok"}
    assert (
        metrics["value"].between(0, 1).all() and (metrics[["fit_s", "predict_s"]] >= 0).all().all()
    )
    by_dataset = metrics.groupby("dataset")["protocol"].unique()
    assert by_dataset["tiny"].tolist() == ["transductive"]
    assert by_dataset["tiny_inductive"].tolist() == ["inductive"]
    # Methods share the draws: one seed for each dataset, trial and budget.
    assert (metrics.groupby(["dataset", "trial", "n_labeled"])["seed"].nunique() == 1).all()


def test_summary_and_comparisons_follow_from_the_metrics(finished):
    results = finished[1] / "results"
    metrics, summary = (pd.read_csv(results / f"{n}.csv") for n in ("metrics", "summary"))
    assert len(summary) == 10
    means = metrics.groupby(["dataset", "method", "n_labeled"])["value"].mean().to_numpy()
    assert summary["mean"].to_numpy() == pytest.approx(means)
    comparisons = pd.read_csv(results / "comparisons.csv")
    assert len(comparisons) == 2 * 3 + 2 * 1  # pairs of methods at each budget
    assert comparisons["p_adjusted"].dropna().between(0, 1).all()


def test_the_report_is_one_file_that_opens_offline(finished):
    page = (finished[1] / "results/report/index.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>") and "</html>" in page
    loads = re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=.(?!data:|#)(\w+)", page)
    assert loads == []
    for word in ("tiny", "tiny_inductive", "knn", "rbf_svm", "eigenbasis"):
        assert word in page


def test_nothing_is_left_half_written(finished):
    assert not list(finished[1].rglob("*.part"))
    assert not list((finished[1] / ".snakemake/incomplete").glob("*"))
    assert {p.suffix for p in (finished[1] / "results").rglob("*") if p.is_file()} == {
        ".h5", ".csv", ".html",
    }  # fmt: skip


def test_every_job_has_a_log_and_its_cost(finished):
    logs = list((finished[1] / "logs").rglob("*.log"))
    costs = list((finished[1] / "logs").rglob("*.cost.tsv"))
    assert len(logs) == len(costs) == 24
    for cost in costs:
        table = pd.read_csv(cost, sep="\t")
        assert list(table.columns) == ["s", "cpu_s", "max_rss_mb"]
        assert 0 < table["max_rss_mb"][0] < 4000


def test_a_second_run_has_nothing_to_do(finished):
    project, directory = finished
    before = {p: p.stat().st_mtime_ns for p in (directory / "results").rglob("*")}
    done = project.fewfold(
        "run", "--cores", "2", "--configfile", project.config, "--out", directory
    )
    assert done.returncode == 0, done.stdout
    assert "Nothing to do: everything is up to date." in done.stdout
    assert "results/report/index.html" in done.stdout.splitlines()[-1]
    assert before == {p: p.stat().st_mtime_ns for p in (directory / "results").rglob("*")}


@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_snakemake_lint(snakefile):
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint", "--snakefile", snakefile],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_snakefmt():
    files = [
        ROOT / "Snakefile",
        ROOT / "workflow/Snakefile",
        *sorted((ROOT / "workflow").rglob("*.smk")),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "snakefmt", "--check", *map(str, files)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_default_config_passes_a_dry_run(project, tmp_path):
    done = project.snakemake(
        tmp_path, "--dry-run", "--cores", "1", configs=[project.folder / "config/config.yaml"]
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "make_report" in done.stdout and not (tmp_path / "results").exists()
