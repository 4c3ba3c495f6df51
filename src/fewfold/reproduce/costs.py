"""What a run cost, and how long it takes with more cores."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fewfold.pipeline.stages import read_costs


def costs_of(logs, datasets) -> pd.DataFrame:
    """Return what each job took: dataset, rule, target, s, cpu_s, max_rss_mb.

    Parameters
    ----------
    logs : path-like
        The run's folder of logs.
    datasets : collection of str
        Only these, and jobs of none; logs may also hold jobs of an earlier config.
    """
    found = [c for c in read_costs(logs) if c["dataset"] in {"", *datasets}]
    columns = ["dataset", "rule", "target", "s", "cpu_s", "max_rss_mb"]
    return pd.DataFrame(found, columns=columns)


def longest_chain(costs: pd.DataFrame) -> float:
    """Return an upper bound of the longest chain of jobs that wait for each other, in CPU s.

    Within a dataset each stage is taken to wait for the slowest job of every other; datasets do
    not wait for each other; jobs of no dataset (tables, report) come last.
    """
    own = costs[costs["dataset"] != ""]
    slowest = own.groupby(["dataset", "rule"])["cpu_s"].max()
    chain = slowest.groupby("dataset").sum().max() if len(slowest) else 0.0
    return float(chain + costs.loc[costs["dataset"] == "", "cpu_s"].sum())


def time_on(cores: int, work: float, chain: float) -> float:
    """Return Graham's bound: no greedy schedule takes longer than this.

    Examples
    --------
    >>> time_on(32, 3200.0, 50.0)
    148.4375
    """
    return work / cores + chain * (1 - 1 / cores)


def by_stage(costs: pd.DataFrame) -> pd.DataFrame:
    """Sum the CPU seconds of each dataset's stages, as rows of a measured table."""
    own = costs[costs["dataset"] != ""].copy()
    names = [Path(t).name for t in own["target"]]
    own["method"] = [f"{rule}:{name}" if name else rule for rule, name in zip(own["rule"], names)]
    sums = own.groupby(["dataset", "method"], sort=True)["cpu_s"].agg(["sum", "size"]).reset_index()
    return pd.DataFrame(
        {
            "dataset": sums["dataset"],
            "method": sums["method"],
            "n_labeled": 0,
            "protocol": "stage",
            "metric": "cpu_s",
            "mean": sums["sum"],
            "trials": sums["size"],
        }
    )
