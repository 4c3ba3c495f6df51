"""`fewfold label`: from a file with a mostly empty column to labels, a report and a model."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.artifacts import atomic_path
from fewfold.exceptions import InputError
from fewfold.labelling import warnings_, workspace
from fewfold.labelling.intake import Intake, read_input
from fewfold.labelling.words import model_words, summary_lines

OUTPUTS = ("labels.csv", "label_next.csv", "report.html", "model.h5", "summary.json")
MOST_LEAK_CHECKS = 200


@dataclass(frozen=True)
class Labelled:
    """What a labelling run made: the table of labels, a summary, and the folder it is in."""

    table: pd.DataFrame
    summary: dict
    folder: Path

    @property
    def report(self) -> Path:
        """The report's path."""
        return self.folder / "report.html"

    @property
    def model(self) -> Path:
        """The model file's path."""
        return self.folder / "model.h5"


def label(
    path,
    target=None,
    *,
    out=None,
    task="auto",
    classes=None,
    methods=None,
    image_shape=None,
    images=True,
    ids=None,
    drop=(),
    features=None,
    expand=(),
    scale="auto",
    abstain=None,
    keep_spellings=False,
    cores=1,
    profile=None,
    seed=0,
    echo=lambda text: None,
) -> Labelled:
    """Label every row of a file from the rows that have a label.

    Parameters
    ----------
    path : path-like
        CSV, TSV, Parquet, NPZ, HDF5 or h5ad.
    target : str, optional
        The label column (for arrays, by default ``y``); not needed with ``classes``.
    out : path-like, optional
        Folder for the answer and all stage files; by default ``<file>-labels`` beside the file.
        Called again, only what changed is computed.
    task : {"auto", "classification", "regression"}
    classes : int, optional
        Use no labels and put the rows into this many groups.
    methods : sequence of str, optional
        The candidates; the first is the default where labels are too few to compare.
    image_shape : (height, width), optional
        If the features are pixels, row by row. Square images are recognised without it.
    images : bool
        Whether to look for images.
    ids, drop, features, expand, scale
        See `fewfold.labelling.table_features`.
    abstain : float, optional
        Leave labels empty that are less sure than this.
    keep_spellings : bool
        Take class names that differ in case or spaces as different classes.
    cores, profile
        For Snakemake.
    seed : int
    echo : callable
        Is told what happens, in words.

    Returns
    -------
    Labelled

    Raises
    ------
    InputError
        If the file cannot be used: what is wrong, where, and what to do.
    """
    if abstain is not None and not 0 <= abstain <= 1:
        raise InputError(f"--abstain {abstain}: allowed is a number from 0 to 1, such as 0.9.")
    path = Path(path).expanduser()
    intake = read_input(
        path, target, task=task, ids=ids, drop=drop, features=features, expand=expand,
        scale=scale, image_shape=image_shape, images=images, n_clusters=classes,
        keep_spellings=keep_spellings,
    )  # fmt: skip
    echo(f"{path.name}:")
    for sentence in intake.sentences:
        echo(f"  {sentence}")
    name = workspace.NAME
    folder = Path(out) if out is not None else path.with_name(f"{path.stem}-labels")
    prepare(folder, name, path, target, intake, methods, abstain, classes, seed, echo)
    run(folder, name, cores=cores, profile=profile, echo=echo)
    return publish(folder, name, echo)


def prepare(
    folder, name, path, target, intake: Intake, methods, abstain, n_clusters, seed, echo
) -> None:
    """Write the imported files and the config of the run."""
    image_shape = intake.image_shape
    n_labels = len(intake.labelled)
    chosen = workspace.methods_to_compare(
        intake.task, intake.X.shape[0], n_labels, image_shape, methods
    )
    folds, reason = workspace.plan_folds(intake, chosen, seed)
    if reason is not None:
        chosen = chosen[:1]
        if intake.task != "clustering":
            echo(f"  Methods are not compared: {reason}. {chosen[0]} is used, the default.")
    else:
        echo(f"  Comparing {len(chosen)} methods on held-out labels: {', '.join(chosen)}.")
    settings = {
        "task": intake.task,
        "compare": folds is not None and intake.task != "clustering",
        "reason": reason,
        "n_folds": None if folds is None else folds.n_folds,
        "classes": n_clusters,
        "abstain": abstain,
    }
    config = workspace.make_config(
        name, intake, chosen, folds, image_shape=image_shape, seed=seed, settings=settings
    )
    notes = {"target": target, "file": path.name, "warnings": first_warnings(intake)}
    folder.mkdir(parents=True, exist_ok=True)
    workspace.write_inputs(folder, intake, folds, image_shape, notes)
    workspace.write_config(folder, config)


def first_warnings(intake: Intake) -> list[dict]:
    """Warnings that need no method: they concern the file."""
    found = []
    if intake.image_shape is None:
        found = warnings_.uneven_scales(intake.X, intake.feature_names)
    if intake.task != "classification":
        return found
    found = [
        *found,
        *warnings_.single_examples(intake.y, intake.classes),
        *warnings_.contradicting_duplicates(intake.X, intake.y),
    ]
    if intake.frame is not None:
        columns = {}
        names = [n for n, why in intake.plan.ignored if why == "names the rows"]
        for id_column in names:
            values = intake.frame[id_column]
            columns[id_column] = np.unique(values.astype(str), return_inverse=True)[1]
            if values.dtype.kind in "iuf":
                columns[id_column] = values.to_numpy()
        for c in intake.plan.columns[:MOST_LEAK_CHECKS]:
            if c["kind"] == "number":
                columns[c["name"]] = intake.frame[c["name"]].to_numpy(dtype=float, na_value=np.nan)
        found += warnings_.leaking_columns(columns, intake.y, names)
    return found


def run(folder: Path, name: str, *, cores, profile, echo) -> int:
    """Run the workflow in the folder; returns how many jobs ran."""
    from fewfold.runner import run_snakemake

    targets = [f"results/{name}/label/{file}" for file in OUTPUTS]
    return run_snakemake(
        directory=folder,
        cores=cores,
        configfiles=[(folder / "input/config.yaml").resolve()],
        profile=profile,
        targets=targets,
        echo=echo,
    )


def publish(folder: Path, name: str, echo) -> Labelled:
    """Copy the answer to the top of the folder, whole files only, and say what it is."""
    source = folder / "results" / name / "label"
    for file in OUTPUTS:
        with atomic_path(folder / file) as part:
            shutil.copyfile(source / file, part)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    for line in summary_lines(summary):
        echo(line)
    for warning in summary["warnings"]:
        echo(f"Warning: {warning['text']}")
    echo(f"Labels: {folder / 'labels.csv'}")
    echo(f"What to label next: {folder / 'label_next.csv'}")
    echo(f"Model for new rows: {folder / 'model.h5'} ({model_words(summary)})")
    echo(f"Report: {folder / 'report.html'}")
    table = pd.read_csv(folder / "labels.csv", keep_default_na=False, na_values={"confidence": ""})
    return Labelled(table, summary, folder)
