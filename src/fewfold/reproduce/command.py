"""``fewfold reproduce``: run a paper's experiments and show both numbers."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import yaml

from fewfold.exceptions import ConfigError, FewfoldError, RunFailed
from fewfold.pipeline.artifacts import atomic_path
from fewfold.reproduce.compare import compare, count, digits, in_words, judge_claims, tally
from fewfold.reproduce.measured import collect, facts, merge, read_measured, write_measured
from fewfold.reproduce.published import (
    KEYS,
    check_key,
    data_folder,
    read_claims,
    read_published,
    read_reasons,
    read_roles,
)
from fewfold.runner import run_locked
from fewfold.system.location import checkout, project_root
from fewfold.system.outputs import refuse_overwriting, run_directory
from fewfold.system.run_folder import only_run


def config_of(key: str) -> Path:
    """Return the config that holds a paper's experiments."""
    path = project_root() / "config/reproduce" / f"{check_key(key)}.yaml"
    if not path.exists():
        raise ConfigError(f"{path} is not there: this part's experiments are not written yet.")
    return path


def with_trials(config: dict, trials: int) -> dict:
    """Return a config that sets the number of draws, also where a dataset has its own.

    Draws that come with a dataset are as many as they are: its own number stays if lower.

    Examples
    --------
    >>> with_trials({"run": {"trials": 5}, "datasets": {"a": {"trials": 2}, "b": {}}}, 20)
    {'run': {'trials': 20}, 'datasets': {'a': {'trials': 20}}}
    """
    run, changes = config.get("run", {}), {}
    for name, dataset in config.get("datasets", {}).items():
        own = dataset.get("trials")
        if dataset.get("draw", run.get("draw")) == "given":
            changes[name] = {"trials": min(trials, own or run.get("trials", trials))}
        elif own is not None:
            changes[name] = {"trials": trials}
    return {"run": {"trials": trials}, **({"datasets": changes} if changes else {})}


def overrides(
    config: dict,
    trials: int | None = None,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
) -> dict:
    """Return a config with the draws, datasets and methods asked for; empty if none are.

    Examples
    --------
    >>> config = {"run": {"datasets": ["a", "b"], "methods": ["m"]}}
    >>> overrides(config, datasets=["b"])
    {'run': {'datasets': ['b']}}
    """
    changes = {} if trials is None else with_trials(config, trials)
    for what, names in (("datasets", datasets), ("methods", methods)):
        known = config["run"][what]
        wrong = [name for name in names or () if name not in known]
        if wrong:
            raise ConfigError(
                f"--{what} {wrong[0]}: this part has no such entry. Choose from {', '.join(known)}."
            )
        if names:
            changes.setdefault("run", {})[what] = list(names)
    return changes


def reproduce(
    key: str,
    *,
    cores: int,
    profile: str | None = None,
    trials: int | None = None,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
    table_only: bool = False,
    commit_table: bool = False,
    out: Path | None = None,
    echo=print,
) -> pd.DataFrame:
    """Run one paper's experiments and write its table, published beside measured.

    Parameters
    ----------
    key : str
        One of `KEYS`.
    cores, profile
        As for ``fewfold run``.
    trials : int, optional
        Number of draws; by default what the config says.
    datasets, methods : lists of str, optional
        Some of the config's entries; by default all.
    table_only : bool
        Run nothing: make the table from what is there.
    commit_table : bool
        Also write ``data/measured/KEY.csv``, from which the documentation is made. Rows that
        this run did not measure stay, with the commit that they are of.
    out : path-like, optional
        Folder of the run; by default ``results/reproduce/KEY``.

    Returns
    -------
    DataFrame
        Also in ``table.csv`` of the run's folder.
    """
    config = config_of(key)
    if commit_table and checkout() is None:
        raise ConfigError(
            "--commit-table writes data/measured of a checkout, and this fewfold was installed "
            "without one. Leave the option out: the table is in the run's folder anyway."
        )
    folder = Path(out) if out else (checkout() or Path.cwd()) / "results/reproduce" / key
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    changes = overrides(settings, trials, datasets, methods)
    refuse_overwriting([folder / OVERRIDES, folder / "table.csv"], [config])
    with only_run(run_directory(folder)) as stale:
        if not table_only:
            files = [config, *_overrides_file(folder, changes)]
            run_locked(
                folder, stale, cores=cores, configfiles=files, profile=profile, echo=echo
            )  # fmt: skip
        measured = collect(folder)
        table, claims = compare_with(key, measured)
        with atomic_path(folder / "table.csv") as part:
            table.to_csv(part, index=False)
    show(table, claims, echo)
    echo(f"Table: {folder / 'table.csv'}")
    if commit_table:
        target = data_folder("measured") / f"{key}.csv"
        before = read_measured(target)[0] if target.exists() else None
        joined = merge(before, measured, settings)
        write_measured(target, joined, facts(key, folder, joined, settings["run"].get("seed", 0)))
        echo(f"Wrote {target}; 'make reproduction-docs' brings it into docs/reproduction.md.")
    return table


OVERRIDES = "overrides.yaml"


def _overrides_file(folder, changes):
    if not changes:
        return []
    path = folder / OVERRIDES
    with atomic_path(path) as part:
        part.write_text(yaml.safe_dump(changes), encoding="utf-8")
    return [path.resolve()]


def reproduce_all(*, echo=print, out: Path | None = None, **options) -> None:
    """Run the experiments of all papers, one after the other; finished jobs are not run again.

    Parameters
    ----------
    echo : callable
    out : path-like, optional
        Folder that holds a folder per paper; by default ``results/reproduce``.
    **options
        Those of `reproduce`, but for ``datasets`` and ``methods``.
    """
    for line in overview():
        echo(line)
    failed = []
    for key in KEYS:
        echo(f"--- {key}")
        try:
            reproduce(key, out=None if out is None else Path(out) / key, echo=echo, **options)
        except FewfoldError as error:  # the other papers can still be run
            failed.append(key)
            echo(f"{key}: {error}")
    if failed:
        raise RunFailed(
            f"Not finished: {', '.join(failed)} (see above). The same command resumes; what is "
            "finished is not run again."
        )


def compare_with(key: str, measured: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a paper's cells and statements beside measured rows."""
    folder = data_folder("published")
    reasons = read_reasons(folder / "reasons.csv")
    claims = read_claims(folder / "claims.csv")
    cells = compare(read_published(folder / f"{key}.csv"), measured, reasons)
    return cells, judge_claims(claims[claims["paper"] == key], measured, reasons)


def show(table: pd.DataFrame, claims: pd.DataFrame, echo) -> None:
    """Print the cells that fewfold runs, the statements, and the counts."""
    rows = []
    for row in table[table["status"] != "published only"].to_dict("records"):
        published = row["value"] + (f" ± {row['spread']}" if row["spread"] else "")
        ours = digits(row["measured"], row["value"])
        if math.isfinite(row["measured_sd"]):
            ours += f" ± {digits(row['measured_sd'], row['value'])}"
        what = ", ".join(filter(None, (row["dataset"], row["setting"])))
        rows.append((row["where"], what, row["method"], row["n_labels"], published or "?", ours,
                     row["unit"], row["status"]))  # fmt: skip
    head = ("where", "data", "method", "labels", "published", "ours", "unit", "status")
    for line in aligned([head, *rows]) if rows else ():
        echo(line)
    for row in claims.to_dict("records"):
        values = [digits(math.nan if row[c] is None else row[c]) for c in ("left", "bound")]
        echo(f"{row['status']:>8}  {row['claim']}: {values[0]} {row['relation']} {values[1]}")
    for status in ("missed", "not run"):
        for row in table[(table["status"] == status) & (table["reason"] != "")].to_dict("records"):
            echo(f"{status}: {row['method']} on {row['dataset']}: {row['reason']}")
    found = tally(table, claims, read_roles(data_folder("published") / "roles.csv"))
    for (what, role), counted in found.items():
        if counted["compared"]:
            echo(f"{what}, {WORDS[role]}: {in_words(counted)} matched or beaten")
    c = count([*table["status"], *claims["status"]])
    echo(f"{c['not run']} not run, {c['published only']} published only.")


WORDS = {"published": "published variant", "ours": "fewfold's defaults", "rival": "other methods"}


def aligned(rows: list[tuple]) -> list[str]:
    """Pad the columns of a table of texts.

    Examples
    --------
    >>> aligned([("a", "bcd"), ("efg", "h")])
    ['a    bcd', 'efg  h']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in rows]


def overview() -> list[str]:
    """Return a line per part, and one for all: how long it takes, by what was last measured."""
    head = ("part", "2 cores", "32 cores", "draws", "last run", "entries not in these times")
    rows, total, missing = [head], [0.0, 0.0], 0
    for key in KEYS:
        path = data_folder("measured") / f"{key}.csv"
        if path.exists():
            table, f = read_measured(path)
            hours = [float(f[name]) for name in ("hours_2_cores", "hours_32_cores")]
            total = [a + b for a, b in zip(total, hours)]
            new, known = unmeasured(yaml.safe_load(config_of(key).read_text("utf-8")), table)
            missing += new
            times = [f"{h:.2f} h" for h in hours]
            rows.append((key, *times, f["draws"], f["date"], f"{new} of {known}"))
        else:
            rows.append((key, "?", "?", "", "not run yet", "all"))
    rows.append(("all", *(f"{h:.2f} h" for h in total), "", "", str(missing)))
    return aligned(rows)


def unmeasured(config: dict, table: pd.DataFrame) -> tuple[int, int]:
    """Return how many methods on datasets of a config were never measured, and how many there are.

    Examples
    --------
    >>> config = {"run": {"datasets": ["a", "b"], "methods": ["m"]},
    ...           "datasets": {"a": {}, "b": {"skip": {"m": "too slow"}}}}
    >>> unmeasured(config, pd.DataFrame({"dataset": ["b"], "method": ["m"]}))
    (1, 1)
    """
    run, measured = config["run"], set(zip(table["dataset"], table["method"]))
    wanted = [
        (dataset, method)
        for dataset in run["datasets"]
        for method in run["methods"]
        if method not in config["datasets"][dataset].get("skip", {})
    ]
    return sum(pair not in measured for pair in wanted), len(wanted)
