"""The folder of a labeling run: stored features and labels, and the config Snakemake reads."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import yaml

from fewfold.datasets.catalog import STORED
from fewfold.exceptions import ArtifactError, InputError
from fewfold.labeling.choosing import TRUSTED, FoldPlan, make_folds, too_few
from fewfold.labeling.intake import Intake
from fewfold.labeling.sizes import MANY_ROWS
from fewfold.pipeline import artifacts
from fewfold.pipeline.layout import FEATURES, LABEL_COMMAND, LABELS, TABLE

NAME = "table"  # of the dataset in the config: no published one may have it

# Compared by default. The slow or special ones run when asked for with --methods.
CANDIDATES = {
    "classification": [
        "diffusion",
        "knn",
        "rbf_svm",
        "graph_svm",
        "metric_svm",
        "spreading",
        "eigenbasis",
        "atlas",
    ],
    "regression": ["multimanifold_global", "knn"],
}
FEW_ROWS = ("atlas",)  # left out of many rows: charts are found by rounds of graph cuts
IMAGE_METHOD, IMAGE_METHODS = TRUSTED, (TRUSTED, "image_spreading")
# Short ways: with up to 100 labels better than the default of 0.995 (docs/label.md).
SPREADING = {"method": "spreading", "alpha": 0.9}
DEFAULT_NEIGHBORS = 10  # of the graph "euclidean" in config/config.yaml
OTHERS = {
    "classification": ["linear_svm", "label_spreading", "mbed", "multimanifold", *IMAGE_METHODS],
    "regression": ["multimanifold"],
}


def methods_to_compare(task, n_rows, n_labels, image_shape, asked=None) -> list[str]:
    """Return the candidates, the default first.

    Raises
    ------
    InputError
        For a method that does not exist or does not do the task.
    """
    if task == "clustering":
        return ["eigenbasis"]
    known = [*CANDIDATES[task], *OTHERS[task]]
    if asked:
        for name in asked:
            if name not in known:
                raise InputError(
                    f"--methods: {name!r} is not known for {task}. Choose from {', '.join(known)}."
                )
            if name in IMAGE_METHODS and image_shape is None:
                raise InputError(f"--methods {name} needs --image-shape, for example 28 28.")
        return list(dict.fromkeys(asked))
    names = [m for m in CANDIDATES[task] if m not in FEW_ROWS or n_rows <= MANY_ROWS]
    if task == "classification" and image_shape is not None:
        names = [*IMAGE_METHODS, *names]
    return names


def describe_input(intake: Intake, folds: FoldPlan | None, image_shape) -> dict:
    """Return what the plan of the run must know of the features and labels before it reads them."""
    clustering = intake.task == "clustering"
    return {
        "task": "classification" if clustering else intake.task,
        "n_samples": int(intake.X.shape[0]),
        "n_features": int(intake.X.shape[1]),
        "n_classes": len(intake.classes) if intake.classes else None,
        "n_splits": 0 if clustering else 1 if folds is None else len(folds.splits),
        "sparse": hasattr(intake.X, "tocsr"),
        "image_shape": None if image_shape is None else [int(s) for s in image_shape],
    }


def make_config(name, intake: Intake, methods, folds: FoldPlan | None, *, image_shape, seed,
                settings) -> dict:  # fmt: skip
    """Return what differs from the default config.

    ``settings`` is the ``label`` section: what the last rules need to know.
    """
    n_labels = len(intake.labelled)
    trials = 1 if folds is None else len(folds.splits)
    budget = n_labels if folds is None else folds.splits.shape[1]
    dataset = {
        "source": STORED,
        "options": {
            "features": FEATURES,
            "labels": LABELS,
            "shape": describe_input(intake, folds, image_shape),
        },
        "scale": "unit" if hasattr(intake.X, "tocsr") else "none",
    }
    if image_shape is not None:
        dataset["image_shape"] = [int(s) for s in image_shape]
    clustering = intake.task == "clustering"
    config = {
        "run": {
            "datasets": [name],
            "methods": methods,
            "labels": [1 if clustering else int(budget)],
            "trials": trials,
            "seed": int(seed),
            "draw": "random" if clustering else "given",
            "evaluate": "unlabeled",
            "protocol": "transductive",
            # One job per method for small data; batches that can run side by side otherwise.
            "trials_per_job": trials if intake.X.shape[0] * trials < 150_000 else 10,
        },
        "datasets": {name: dataset},
        "methods": {
            # Whoever labels rows at hand has more of one class than of another.
            "diffusion": {"sources": "classes"},
            "spreading": {"learner": "diffusion", "graph": "euclidean", **SPREADING},
            "graph_svm": {"learner": "graph_svm", "kernel": "rbf", "graph": "euclidean", "C": "cv"},
            "metric_svm": {"learner": "metric_svm", "graph": "euclidean"},
        },
        "label": settings,
    }
    if intake.task == "classification":
        # As many eigenvectors as the eigenbasis asks for by default (fewer for many rows), in
        # steps: one more label must not compute them again.
        steps = (200,) if intake.X.shape[0] <= MANY_ROWS else (60, 120, 240)
        most = next((k for k in steps if 0.2 * n_labels <= k), 400)
        most = min(most, max(2, intake.X.shape[0] // 3))
        config["manifolds"] = {"basis": {"n_vectors": most}}
        config["methods"]["eigenbasis"] = {"max_vectors": most}
        config.setdefault("graphs", {})["near"] = {"n_neighbors": 5}
        config["methods"]["spreading"]["graph"] = "near"
    if intake.X.shape[0] > MANY_ROWS and not hasattr(intake.X, "tocsr"):
        graphs = config.setdefault("graphs", {})
        for graph in {"euclidean", *graphs}:
            graphs.setdefault(graph, {})["method"] = "approximate"
    if image_shape is not None:
        from fewfold.methods.diffusion.estimator import image_graph_settings

        graph = image_graph_settings(image_shape).to_dict()
        # All of them: what is left out here would be the config's default for other graphs.
        config.setdefault("graphs", {})["images"] = {
            k: v for k, v in graph.items() if k != "image_shape"
        }
        config["methods"][IMAGE_METHOD] = {
            "learner": "diffusion", "graph": "images", "method": "poisson", "sources": "classes",
        }  # fmt: skip
        config["methods"]["image_spreading"] = {
            "learner": "diffusion", "graph": "images", **SPREADING,
        }  # fmt: skip
    config["methods"]["multimanifold"] = {"learner": "multimanifold", "mode": "ssl"}
    config["methods"]["multimanifold_global"] = {"learner": "multimanifold", "mode": "global"}
    if clustering:
        count = int(settings["classes"])
        config["manifolds"] = {"basis": {"n_vectors": max(count + 1, 2)}}
    _cap_neighbors(config, intake.X.shape[0] - 1)
    return config


def _cap_neighbors(config, most):
    """Ask graphs of a small table for as many neighbours as there are."""
    graphs = config.setdefault("graphs", {})
    if most < DEFAULT_NEIGHBORS:
        graphs.setdefault("euclidean", {})["n_neighbors"] = max(1, most)
    for settings in graphs.values():
        for key in ("n_neighbors", "candidates"):
            if settings.get(key) is not None:
                settings[key] = max(1, min(settings[key], most))


def plan_folds(intake: Intake, methods, seed: int) -> tuple[FoldPlan | None, str | None]:
    """Return the folds, or None with the reason why methods are not compared."""
    reason = too_few(intake.y, intake.task)
    if reason is None:
        return make_folds(intake.y, intake.task, seed=seed), None
    return None, reason


def write_inputs(
    folder: Path, intake: Intake, folds: FoldPlan | None, image_shape, notes: dict
) -> None:
    """Write features, labels and what is known of the table, each only if it changed.

    So files that depend on neither keep being up to date. ``notes`` are plain values for the
    last rules: target, file, warnings.
    """
    task = "classification" if intake.task == "clustering" else intake.task

    def features(out):
        out.add("X", intake.X)
        if intake.feature_names:
            out.add("feature_names", [str(n).replace("\0", " ") for n in intake.feature_names])
        out.note("image_shape", None if image_shape is None else [int(s) for s in image_shape])

    def labels(out):
        out.add("y", intake.y)
        if intake.classes:
            out.add("classes", [str(c) for c in intake.classes])
        splits = intake.labelled[None, :] if folds is None else folds.splits
        if splits.size:
            out.add("label_splits", np.asarray(splits, dtype=np.int64))
        out.note("task", task)

    def table(out):
        if intake.ids is not None:
            out.add("ids", [str(i).replace("\0", " ") for i in intake.ids])
        out.note("id_name", intake.id_name)
        out.note("columns", None if intake.plan is None else intake.plan.columns)
        out.note("sentences", intake.sentences)
        for key, value in notes.items():
            out.note(key, value)

    _write_if_changed(folder / TABLE, table)
    _write_if_changed(folder / FEATURES, features)
    _write_if_changed(folder / LABELS, labels)


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
    """Write a text file whole, unless it says the same already."""
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
