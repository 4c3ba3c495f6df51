"""The folder of a labeling run: stored features and labels, and the config Snakemake reads."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from fewfold.datasets.catalog import STORED
from fewfold.exceptions import ArtifactError
from fewfold.graph.settings import GraphSettings
from fewfold.labeling.intake import Intake
from fewfold.methods.members import (
    IMAGES_GRAPH,
    NEAR_GRAPH,
    ROWS_GRAPH,
    DataShape,
    members_for,
    too_many_rows,
)
from fewfold.pipeline import artifacts
from fewfold.pipeline.layout import FEATURES, LABEL_COMMAND, LABELS, OWN_GRAPH, TABLE

NAME = "table"  # dataset name in the config; no published dataset may have it
N_NEIGHBORS, FEW_NEIGHBORS = 10, 5
BATCH_ROWS = 5000  # from here on candidates run in separate jobs


def choose_members(intake: Intake, asked=None, *, quick: bool = False) -> list:
    """Return the candidates for a file; none for groups without labels."""
    if intake.task == "clustering":
        return []
    return members_for(_shape_of(intake), asked, quick=quick)


def left_out(intake: Intake, *, quick: bool = False) -> str:
    """Describe which candidates the number of rows excludes; "" if none."""
    names = too_many_rows(_shape_of(intake), quick=quick)
    if not names:
        return ""
    return (f"Left out, as they take too long for {intake.X.shape[0]:,} rows: {', '.join(names)} "
            "(--methods asks for them all the same).")  # fmt: skip


def _shape_of(intake):
    return DataShape(
        intake.task,
        intake.X.shape[0],
        len(intake.labeled),
        hasattr(intake.X, "tocsr"),
        intake.image_shape is not None,
    )


def graph_settings(name: str, n_rows: int, image_shape) -> dict:
    """Return the settings of one of the three graphs that candidates name."""
    if name == IMAGES_GRAPH:
        from fewfold.methods.diffusion.estimator import image_graph_settings

        found = image_graph_settings(image_shape).to_dict()
    else:
        count = FEW_NEIGHBORS if name == NEAR_GRAPH else N_NEIGHBORS
        found = GraphSettings(n_neighbors=count, symmetrize="mean").to_dict()
    for key in ("n_neighbors", "candidates"):
        if found.get(key) is not None:
            found[key] = max(1, min(found[key], n_rows - 1))
    return {k: v for k, v in found.items() if k != "image_shape"}


def describe_input(intake: Intake) -> dict:
    """Return facts about features and labels that the plan of the run needs."""
    shape = intake.image_shape
    return {
        "task": "regression" if intake.task == "regression" else "classification",
        "n_samples": int(intake.X.shape[0]),
        "n_features": int(intake.X.shape[1]),
        "n_classes": len(intake.classes) if intake.classes else None,
        "n_splits": 0,
        "sparse": hasattr(intake.X, "tocsr"),
        "image_shape": None if shape is None else [int(s) for s in shape],
    }


def make_config(intake: Intake, members, *, seed, settings, with_map: bool = False) -> dict:
    """Return what differs from the default config.

    ``settings`` is what the ``label`` section says of the answer. ``with_map`` keeps the map and
    the graphs in a file of their own, also where the answer is to be quick.
    """
    n_rows, shape = intake.X.shape[0], intake.image_shape
    options = {"features": FEATURES, "labels": LABELS, "shape": describe_input(intake)}
    dataset = {"source": STORED, "options": options, "scale": "none"}
    if shape is not None:
        dataset["image_shape"] = [int(s) for s in shape]
    # The graph also shows which rows are outliers, and which to label next.
    graphs = {ROWS_GRAPH, *(m.graph for m in members if m.graph)}
    label = {**settings, "members": [m.name for m in members], "graphs": sorted(graphs)}
    if intake.graph is not None:
        label["own_graph"] = True
    if settings.get("quick") and n_rows <= BATCH_ROWS and not with_map:
        label["one_job"] = True  # starting Python three times takes longer than the computation
    if n_rows > BATCH_ROWS:
        families = dict.fromkeys(m.family for m in members)
        label["batches"] = [[m.name for m in members if m.family == f] for f in families]
    return {
        "run": {
            "datasets": [NAME],
            "methods": [],
            "labels": [max(1, len(intake.labeled))],
            "trials": 1,
            "seed": int(seed),
            "draw": "random",
            "evaluate": "unlabeled",
            "protocol": "transductive",
        },
        "datasets": {NAME: dataset},
        "graphs": {graph: graph_settings(graph, n_rows, shape) for graph in sorted(graphs)},
        "label": label,
    }


def write_inputs(folder: Path, intake: Intake, notes: dict) -> None:
    """Write features, labels and what is known of the table, each only if it changed.

    So files that depend on neither stay up to date. ``notes`` are plain values for the
    last rules: target, file, warnings.
    """
    task = "classification" if intake.task == "clustering" else intake.task
    image_shape = intake.image_shape

    def features(out):
        out.add("X", as_compared(intake.X))
        if intake.feature_names:
            out.add("feature_names", [str(n).replace("\0", " ") for n in intake.feature_names])
        out.note("image_shape", None if image_shape is None else [int(s) for s in image_shape])

    def labels(out):
        out.add("y", intake.y)
        if intake.classes:
            out.add("classes", [str(c) for c in intake.classes])
        out.note("task", task)

    def table(out):
        if intake.ids is not None:
            out.add("ids", [str(i).replace("\0", " ") for i in intake.ids])
        if intake.thumbnails is not None:
            out.add("thumbnails", intake.thumbnails)
        out.note("id_name", intake.id_name)
        out.note("columns", None if intake.plan is None else intake.plan.columns)
        out.note("preparation", intake.preparation)
        out.note("sentences", intake.sentences)
        for key, value in notes.items():
            out.note(key, value)

    def graph(out):
        out.add("W", intake.graph)

    if intake.graph is not None:
        _write_if_changed(folder / OWN_GRAPH, graph)
    _write_if_changed(folder / TABLE, table)
    _write_if_changed(folder / FEATURES, features)
    _write_if_changed(folder / LABELS, labels)


def as_compared(X):
    """Return rows as they are compared: sparse ones (counts, texts) brought to length 1."""
    if not hasattr(X, "tocsr"):
        return X
    from fewfold.linalg.preparation import unit_rows

    return unit_rows(X.tocsr())


def _write_if_changed(path: Path, fill) -> bool:
    fresh = path.with_name(f".{path.name}.fresh")
    path.parent.mkdir(parents=True, exist_ok=True)
    with artifacts.writing(fresh, LABEL_COMMAND) as out:
        fill(out)
    try:
        with artifacts.read(fresh, LABEL_COMMAND) as new:
            try:
                with artifacts.read(path, LABEL_COMMAND) as old:
                    if old.content == new.content:
                        old.check()  # a damaged file is written again
                        return False
            except ArtifactError:
                pass
        os.replace(fresh, path)
        return True
    finally:
        fresh.unlink(missing_ok=True)


def write_text_if_changed(path: Path, text: str) -> None:
    """Write a text file atomically, unless its contents are the same."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    with artifacts.atomic_path(path) as part:
        part.write_text(text, encoding="utf-8")


def write_config(folder: Path, config: dict) -> Path:
    """Write the config of the run and return its path."""
    path = folder / "input/config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_if_changed(path, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    return path
