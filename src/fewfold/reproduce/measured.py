"""A run's table made small enough to commit: its summary, and the facts of the run."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pandas as pd

from fewfold.exceptions import InputError
from fewfold.pipeline.result_tables import read_table
from fewfold.pipeline.statistics import GROUP, summarize
from fewfold.reproduce.charts import chart_counts
from fewfold.reproduce.costs import by_stage, costs_of, longest_chain, time_on
from fewfold.system.location import project_root

COLUMNS = (
    "dataset method n_labeled protocol metric mean sd low high trials failed fit_s commit".split()
)  # fmt: skip
FACTS = (
    "key complete commit date seed draws machine cpu_s chain_s hours_2_cores hours_32_cores".split()
)  # fmt: skip


def read_metrics(folder) -> tuple[pd.DataFrame, bool]:
    """Return all rows of a run, and whether the run came to its end.

    Of an unfinished run the methods that were evaluated are taken.
    """
    results = Path(folder) / "results"
    if (results / "metrics.csv").exists():
        return read_table(results / "metrics.csv", "metrics"), True
    parts = sorted(results.glob("*/methods/*/trials_*.csv"))
    if not parts:
        raise InputError(
            f"{results} holds no metrics: this part has not been run. Run it without "
            "--table-only; what is finished is not computed again."
        )
    return pd.concat([read_table(part, "metrics") for part in parts], ignore_index=True), False


def collect(folder) -> pd.DataFrame:
    """Return the summary of a run with mean training seconds, and its stages' CPU seconds.

    Parameters
    ----------
    folder : path-like
        Where ``results/`` and ``logs/`` of the run are.

    Returns
    -------
    DataFrame
        With the columns `COLUMNS`; the commit is the last one before a row's files were written.
    """
    metrics, _ = read_metrics(folder)
    seconds = metrics.groupby(GROUP)["fit_s"].mean().round(3).reset_index()
    table = pd.DataFrame(summarize(metrics.to_dict("records"))).merge(seconds, on=GROUP, how="left")
    stages = by_stage(costs_of(Path(folder) / "logs", set(table["dataset"])))
    charts = chart_counts(Path(folder) / "results", set(table["dataset"]))
    parts = [frame.reindex(columns=COLUMNS) for frame in (table, stages, charts) if len(frame)]
    joined = pd.concat([part.astype(object) for part in parts], ignore_index=True).infer_objects()
    joined["commit"] = _commits(Path(folder) / "results", joined)
    for name in ("mean", "sd", "low", "high"):
        # Six digits are more than the draws support, and keep the committed file small.
        joined[name] = [float(f"{value:.6g}") for value in joined[name].astype(float)]
    return pd.read_csv(StringIO(joined.to_csv(index=False)), dtype={"commit": str})


def _commits(results, table):
    """Return the commit of each row: by the files of its method, else by those of its dataset."""
    known, found = {}, []
    for dataset, method in zip(table["dataset"], table["method"]):
        folder = results / dataset / "methods" / method.rpartition(":")[2]
        if not folder.is_dir():
            folder = results / dataset / "methods"
        if folder not in known:
            times = [p.stat().st_mtime for p in folder.rglob("trials_*.csv")]
            known[folder] = commit_at(datetime.fromtimestamp(max(times), UTC)) if times else ""
        found.append(known[folder])
    return found


def merge(before: pd.DataFrame | None, now: pd.DataFrame, config: dict) -> pd.DataFrame:
    """Return what was measured now, and rows of before that were not measured again.

    Rows of datasets and methods that the config no longer has are left out.
    """
    if before is None:
        return now
    run = config["run"]
    methods = {*run["methods"], "light"}
    kept = [
        dataset in run["datasets"] and (metric == "cpu_s" or method in methods or ":" in method)
        and (not method.startswith("train_method:") or method.partition(":")[2] in methods)
        for dataset, method, metric in zip(before["dataset"], before["method"], before["metric"])
    ]  # fmt: skip
    names = ["dataset", "method", "n_labeled", "metric"]
    joined = pd.concat([now, before[kept]], ignore_index=True).drop_duplicates(names)
    return joined.sort_values(names, kind="stable").reset_index(drop=True)


def facts(key: str, folder, table: pd.DataFrame, seed: int) -> dict:
    """Return the facts of a table: commits, seed, draws, machine without its name, and time.

    Parameters
    ----------
    key : str
    folder : path-like
        The run that measured its newest rows.
    table : DataFrame
        From `merge`: its stages give the time of the whole.
    seed : int
    """
    _, complete = read_metrics(folder)
    cells = table[table["metric"] != "cpu_s"]
    trials = sorted({int(n) for n in cells["trials"]})
    stages = table[table["metric"] == "cpu_s"]
    costs = pd.DataFrame({
        "dataset": stages["dataset"],
        "rule": stages["method"].str.partition(":")[0],
        "cpu_s": stages["mean"].astype(float),
    })  # fmt: skip
    work, chain = float(costs["cpu_s"].sum()), longest_chain(costs)
    written = [p.stat().st_mtime for p in Path(folder).glob("results/*/methods/*/trials_*.csv")]
    finished = datetime.fromtimestamp(max(written), UTC)
    return {
        "key": key,
        "complete": "yes" if complete else "no",
        "commit": commit_at(finished),
        "date": finished.strftime("%Y-%m-%d"),
        "seed": seed,
        "draws": f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}",
        "machine": machine(),
        "cpu_s": round(work),
        "chain_s": round(chain),
        "hours_2_cores": f"{time_on(2, work, chain) / 3600:.2f}",
        "hours_32_cores": f"{time_on(32, work, chain) / 3600:.2f}",
    }


def commit_at(moment: datetime) -> str:
    """Return the last commit before a moment: the code that the run had."""
    command = ["git", "rev-list", "-1", "--abbrev-commit", f"--before={moment.isoformat()}", "HEAD"]
    try:
        done = subprocess.run(
            command, cwd=project_root(), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip() or "unknown"


def machine() -> str:
    """Describe the machine without its name: processor, cores, memory, Python."""
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = " ".join(line.partition(":")[2].split())
                break
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (OSError, ValueError):
        memory = float("nan")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{cores} cores of {model}; {memory:.0f} GiB; {platform.system()}; "
        f"Python {platform.python_version()}"
    )


def write_measured(path, table: pd.DataFrame, known: dict) -> None:
    """Write the table with the facts as comment lines above it."""
    from fewfold.pipeline.artifacts import atomic_path

    head = "".join(f"# {name}: {known[name]}\n" for name in FACTS)
    with atomic_path(path) as part:
        Path(part).write_text(head + table.to_csv(index=False), encoding="utf-8")


def read_measured(path) -> tuple[pd.DataFrame, dict]:
    """Return the table and the facts that `write_measured` wrote."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    known = {}
    for line in lines:
        if not line.startswith("# "):
            break
        name, _, value = line[2:].partition(": ")
        known[name] = value
    missing = [name for name in FACTS if name not in known]
    if missing:
        raise InputError(
            f"{path}: the lines above the table lack {', '.join(missing)}. Write it again with "
            "'fewfold reproduce KEY --table-only --commit-table'."
        )
    table = pd.read_csv(StringIO("\n".join(lines[len(known) :])), dtype={"commit": str})
    if "commit" not in table:  # written before rows had their own
        table["commit"] = known["commit"].partition(";")[0]
    if list(table.columns) != COLUMNS:
        raise InputError(f"{path}: columns are not {', '.join(COLUMNS)}.")
    return table, known
