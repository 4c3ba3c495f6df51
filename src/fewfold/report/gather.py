"""From stage files to what the report shows."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np

from fewfold.pipeline.artifacts import read
from fewfold.pipeline.chain_files import cells_of
from fewfold.pipeline.result_tables import read_rows
from fewfold.pipeline.stage_files import check_rows, read_features, read_labels, read_splits
from fewfold.pipeline.stages import read_costs
from fewfold.report import findings
from fewfold.report.content import (
    DatasetView,
    ExtraFigure,
    PredictionView,
    ReportContent,
)
from fewfold.report.map_positions import add_rows

_PACKAGES = (
    "fewfold",
    "snakemake",
    "numpy",
    "scipy",
    "scikit-learn",
    "faiss-cpu",
    "ortools",
    "h5py",
)

_STAGE = ("rule", "target", "seconds", "max_rss_mb", "cpu_percent")


def gather(tables, datasets, config, *, skipped=(), edges=(), logs="logs") -> ReportContent:
    """Collect the content of a report.

    Parameters
    ----------
    tables : dict
        Paths of metrics, summary and comparisons.
    datasets : dict
        For each dataset the paths of its features, labels, splits, map, graphs, manifolds and
        each method's last batch of predictions.
    config : dict
        Shown as it is.
    skipped : list of (dataset, method, reason)
    edges : list of (rule, rule)
    logs : path-like
        Where stages left what they cost.
    """
    rows = {name: read_rows(path, name) for name, path in tables.items()}
    return ReportContent(
        **rows,
        datasets={name: _dataset_view(files)
                  for name, files in datasets.items()},
        stages=stage_costs(logs),
        rule_edges=[tuple(e) for e in edges],
        config=config,
        versions=_versions(),
        command="fewfold run",
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        extra_figures=_drawn_figures(datasets),
        skipped=[tuple(s) for s in skipped],
    )  # fmt: skip


def _drawn_figures(datasets):
    found = []
    for dataset, files in datasets.items():
        for method, path in files["predictions"].items():
            with read(path, "train_method") as file:
                if "figures/titles" not in file:
                    continue
                parts = [file[f"figures/{key}"] for key in ("titles", "captions", "addresses")]
                found += [ExtraFigure(t, c, dataset, method, image) for t, c, image in zip(*parts)]
    return found


def _versions():
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}


def stage_costs(logs) -> list[dict]:
    """Read what each stage took from the files beside the logs."""
    rows = []
    for cost in read_costs(logs):
        target = "/".join(filter(None, (cost["dataset"], cost["target"]))) or "all"
        percent = 100 * cost["cpu_s"] / cost["s"] if cost["s"] else 0.0
        values = cost["rule"], target, cost["s"], cost["max_rss_mb"], min(percent, 6400)
        rows.append(dict(zip(_STAGE, values)))
    return rows


def _dataset_view(files):
    data, truth = read_features(files["features"]), read_labels(files["labels"])
    check_rows([("labels", len(truth.y), data.X.shape[0])])
    with read(files["map"], "draw_map") as picture:
        shown, positions = picture["shown"], picture["positions"]
        picture.check_rows("shown", shown, data.X.shape[0])
    predictions = _predictions(files, data.X.shape[0])
    labeled = next(iter(predictions.values())).labeled[:500]
    shown, positions = add_rows(data.X, shown, positions, labeled)
    pixels = data.images if data.images is not None else data.X
    shape = data.image_shape
    is_image = shape is not None and len(shape) == 2 and pixels.shape[1] == int(np.prod(shape))
    return DatasetView(
        n_rows=data.X.shape[0],
        n_features=data.X.shape[1],
        task=truth.task,
        classes=truth.classes,
        image_shape=shape if is_image else None,
        y=truth.y,
        map2d=positions,
        shown=shown,
        predictions=predictions,
        images=(lambda rows: pixels[rows].reshape(len(rows), *shape)) if is_image else None,
        values=_dense_rows(data.X),
        feature_names=data.feature_names,
        notes=_notes(files),
    )


def _dense_rows(X):
    return lambda rows: X[rows].toarray() if hasattr(X, "toarray") else X[rows]


def _predictions(files, n_rows):
    """Each method's prediction on the first trial with the most labels."""
    splits, views = read_splits(files["splits"], n_rows), {}
    budget = splits.budgets[-1]
    for method, path in files["predictions"].items():
        with read(path, "train_method") as batch:
            cells = cells_of(batch, splits, n_rows, method)
            trial = cells[0]["trial"]
            wanted = [c["name"] for c in cells if (c["trial"], c["budget"]) == (trial, budget)]
            if not wanted:
                batch.fail(f"holds no prediction of trial {trial} with {budget} labels")
            name = wanted[0]
            views[method] = PredictionView(
                n_labeled=budget,
                trial=trial,
                labels=batch[f"labels/{name}"],
                confidence=batch[f"confidence/{name}"],
                labeled=splits.order[trial, :budget],
            )
    return views


def _notes(files):
    notes = {}
    with read(files["features"], "prepare_features") as features:
        for key, count in (features.note("oddities") or {}).items():
            if count:
                notes[key.replace("_", " ")] = count
        share = features.note("explained_variance")
        if share is not None:
            notes["variance kept by PCA"] = f"{100 * share:.1f} %"
    for name, path in files.get("graphs", {}).items():
        with read(path, "build_graph") as graph:
            isolated = graph.shape("isolated")[0]
            notes[f"graph {name}"] = (
                f"{findings.counted(graph.note('n_components'), 'component')}, "
                f"{findings.counted(isolated, 'isolated point')}"
            )
            if graph.note("recall") is not None:
                notes[f"graph {name}, recall of the search"] = f"{graph.note('recall'):.3f}"
    return notes
