"""Every path of the workflow, once: what each stage writes, its log and its cost file.

Rules, the plan's job table, the report and the benchmarks all take paths from here. Templates hold
Snakemake's wildcards: ``"results/{dataset}/features.h5"``.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

# What each stage writes: {rule: {name of the output: template}}.
OUTPUTS = {
    "fetch_dataset": {"raw": "results/{dataset}/raw.h5"},
    "prepare_features": {"features": "results/{dataset}/features.h5"},
    "prepare_labels": {
        "labels": "results/{dataset}/labels.h5",
        "splits": "results/{dataset}/splits.h5",
    },
    "index_neighbors": {"index": "results/{dataset}/graphs/{graph}/index.h5"},
    "search_neighbors": {"neighbors": "results/{dataset}/graphs/{graph}/neighbors_{tile}.h5"},
    "build_graph": {"graph": "results/{dataset}/graphs/{graph}.h5"},
    "extend_graph": {"extension": "results/{dataset}/graphs/{graph}.new.h5"},
    "make_copies": {"copies": "results/{dataset}/copies/{transform}.h5"},
    "fit_manifold": {"manifold": "results/{dataset}/manifolds/{manifold}.h5"},
    "encode_points": {"points": "results/{dataset}/manifolds/{manifold}.points.h5"},
    "compute_kernel_tile": {"tile": "results/{dataset}/kernels/{kernel}/tile_{tile}.h5"},
    "join_kernel": {"kernel": "results/{dataset}/kernels/{kernel}.h5"},
    "train_method": {
        "predictions": "results/{dataset}/methods/{method}/trials_{first}_{last}.h5",
        "metrics": "results/{dataset}/methods/{method}/trials_{first}_{last}.csv",
    },
    "draw_map": {"picture": "results/{dataset}/map.h5"},
    "collect_metrics": {
        "metrics": "results/metrics.csv",
        "summary": "results/summary.csv",
        "comparisons": "results/comparisons.csv",
    },
    "make_report": {"page": "results/report/index.html"},
    "prepare_candidates": {"prepared": "results/{dataset}/label/prepared.h5"},
    "examine_candidates": {"evidence": "results/{dataset}/label/candidates_{tile}.h5"},
    "label_rows": {
        "answer": "results/{dataset}/label/answer.h5",
        "model": "results/{dataset}/label/model.h5",
        "labels": "results/{dataset}/label/labels.csv",
        "advice": "results/{dataset}/label/label_next.csv",
        "page": "results/{dataset}/label/report.html",
        "summary": "results/{dataset}/label/summary.json",
    },
}

# The model file is a stage by itself: it leaves the run's folder.
MODEL_FILE = "label_rows.model"

# Kinds of stage files that a rule of another name writes beside its own: (rule, output).
WRITTEN_BY = {
    "draw_splits": ("prepare_labels", "splits"),
    MODEL_FILE: ("label_rows", "model"),
}

# What `fewfold run` asks for.
TARGETS = (*OUTPUTS["collect_metrics"].values(), *OUTPUTS["make_report"].values())

# What `fewfold label` asks for, and copies to the top of its folder.
LABEL_TARGETS = tuple(
    OUTPUTS["label_rows"][name] for name in ("labels", "advice", "page", "summary", "model")
)

# What the command `fewfold label` itself writes from the user's file, as files of this stage.
LABEL_COMMAND = "fewfold label"
FEATURES, LABELS, TABLE = "input/features.h5", "input/labels.h5", "input/table.h5"
OWN_GRAPH = "input/graph.h5"

# What a wildcard may stand for; two endings tell files of one folder apart.
WILDCARDS = {
    "dataset": r"[^/]+",
    "graph": r"[^/]+?(?<!\.new)",
    "manifold": r"[^/]+?(?<!\.points)",
    "kernel": r"[^/]+",
    "transform": r"[^/]+",
    "method": r"[^/]+",
    "tile": r"[0-9]+",
    "first": r"[0-9]+",
    "last": r"[0-9]+",
}

# Folders of logs follow those of results.
_FOLDERS = {
    "dataset": "{dataset}",
    "graph": "graphs/{graph}",
    "manifold": "manifolds/{manifold}",
    "kernel": "kernels/{kernel}",
    "transform": "copies/{transform}",
    "method": "methods/{method}",
}
_NUMBERS = ("tile", "first", "last")


def path(stage: str, output: str | None = None, **wildcards) -> str:
    """Return the path of a stage's output; of its only or first one without a name.

    ``stage`` may also be a kind of file of `WRITTEN_BY`.

    Examples
    --------
    >>> path("build_graph", dataset="digits", graph="euclidean")
    'results/digits/graphs/euclidean.h5'
    """
    stage, output = WRITTEN_BY.get(stage, (stage, output))
    templates = OUTPUTS[stage]
    return (templates[output] if output else next(iter(templates.values()))).format(**wildcards)


def log(stage: str) -> str:
    """Return the template of a stage's log.

    Examples
    --------
    >>> log("search_neighbors")
    'logs/{dataset}/graphs/{graph}/search_neighbors_{tile}.log'
    """
    names = re.findall(r"{(\w+)}", next(iter(OUTPUTS[stage].values())))
    folders = [folder for name, folder in _FOLDERS.items() if name in names]
    numbers = "".join(f"_{{{name}}}" for name in _NUMBERS if name in names)
    return "/".join(["logs", *folders, f"{stage}{numbers}.log"])


@cache
def _patterns():
    found = []
    for stage, templates in OUTPUTS.items():
        for output, template in templates.items():
            pieces = re.split(r"{(\w+)}", template)
            pieces[0::2] = map(re.escape, pieces[0::2])
            pieces[1::2] = (f"(?P<{name}>{WILDCARDS[name]})" for name in pieces[1::2])
            found.append((stage, output, re.compile("".join(pieces))))
    return found


@cache
def producer(file: str) -> tuple[str, tuple] | None:
    """Return the stage that makes a file and its wildcards as pairs, or None for a user's file.

    Examples
    --------
    >>> producer("results/digits/graphs/euclidean.new.h5")
    ('extend_graph', (('dataset', 'digits'), ('graph', 'euclidean')))
    >>> producer("my/own.csv") is None
    True
    """
    found = _matched(file)
    return None if found is None else (found[0], tuple(found[2].groupdict().items()))


@cache
def _matched(file):
    """Return the rule, the output and the match of a file's path; None for a user's file."""
    for stage, output, pattern in _patterns():
        if match := pattern.fullmatch(file):
            return stage, output, match
    return None


def stage_of(path) -> str | None:
    """Return what kind of stage file a path is, wherever the run's folder is; None if not known.

    Examples
    --------
    >>> stage_of("/home/me/run/results/digits/raw.h5"), stage_of("run/input/table.h5")
    ('fetch_dataset', 'fewfold label')
    """
    parts = Path(path).parts
    if "/".join(parts[-2:]) in (FEATURES, LABELS, TABLE, OWN_GRAPH):
        return LABEL_COMMAND
    for start in (i for i, part in enumerate(parts) if part == "results"):
        if found := _matched("/".join(parts[start:])):
            kinds = {by: kind for kind, by in WRITTEN_BY.items()}
            return kinds.get(found[:2], found[0])
    return None


class CostFile(NamedTuple):
    """Where a job left what it took: its stage, its dataset ("" for none), the folder within."""

    path: Path
    stage: str
    dataset: str
    target: str


def cost_files(logs) -> list[CostFile]:
    """List the cost files below a folder of logs, sorted by path."""
    found = []
    for file in sorted(Path(logs).glob("**/*.cost.tsv")):
        dataset, *folders = [*file.relative_to(logs).parts[:-1]] or [""]
        stage = re.sub(r"(_\d+)*\.cost\.tsv$", "", file.name)
        found.append(CostFile(file, stage, dataset, "/".join(folders)))
    return found
