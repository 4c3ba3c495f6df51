"""`fewfold label`: from a file with a mostly empty column to labels, a report and a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.exceptions import InputError
from fewfold.labeling import warnings_, workspace
from fewfold.labeling.completed import Completed, folder_and_file
from fewfold.labeling.exports import NEEDS_MAP, extra_files
from fewfold.labeling.given import stored_input
from fewfold.labeling.intake import Intake, read_input
from fewfold.labeling.priors import class_shares, parse_priors
from fewfold.labeling.publishing import Labeled, check_folder, check_published, publish
from fewfold.pipeline import layout
from fewfold.system.outputs import check_output_file, check_run_directory, run_directory
from fewfold.system.run_folder import only_run

MOST_LEAK_CHECKS = 200


def label(
    path,
    target=None,
    *,
    also=(),
    graph=None,
    out=None,
    classes=None,
    methods=None,
    priors=None,
    quick=False,
    abstain=None,
    spreadsheet_safe=False,
    keep_spellings=False,
    cores=1,
    profile=None,
    seed=0,
    echo=lambda text: None,
    **reading,
) -> Labeled:
    """Label every row of a file from the rows that have a label.

    Parameters
    ----------
    path : path-like or data frame
        A file (docs/label.md lists them), "-" for standard input, or a pandas or polars frame.
    target : str, optional
        The label column (for arrays, by default ``y``); not needed with ``classes``.
    also : sequence of str
        Further files to write, see `fewfold.labeling.exports.EXPORTS`.
    graph : str, optional
        Your own graph over the rows: an NPZ file of sparse weights, ``obsp:NAME`` of an h5ad
        file, or ``distances:`` before either. Used instead of the graph of the features.
    out : path-like, optional
        Folder for the answer and all stage files; by default ``<file>-labels`` beside the file
        (a temporary folder for a data frame). Called again, only what changed is computed. Or a
        file for the completed table, of the kind its name says (``done.parquet``, ``done.xlsx``);
        the folder is then ``done-labels``.
    classes : int, optional
        Use no labels and put the rows into this many groups.
    methods : sequence of str, optional
        The candidates, or methods for all candidates of these (docs/label.md).
    priors : str or dict, optional
        Class shares among all rows: "labels" (as the labels have them), "equal", or a share for
        each class, as a dict or as "a=0.8,b=0.2". By default equal where the labels leave no
        doubt of it.
    quick : bool
        Answer by a few candidates without holding labels out: no error is stated.
    abstain : float, optional
        Leave labels with a lower confidence empty.
    spreadsheet_safe : bool
        Put an apostrophe before ids and names that a spreadsheet would take for a formula.
    keep_spellings : bool
        Take class names that differ in case or spaces as different classes.
    cores : int
        Cores used at once.
    profile : str, optional
        Snakemake profile, such as "slurm" (docs/cluster.md).
    seed : int
        Of folds, forests and k-means; the same seed gives the same labels.
    echo : callable
        Called with progress messages.
    **reading
        How the file is read: the attributes of `fewfold.datasets.table.options.FileOptions`, such
        as ``labels``, ``task``, ``ids``, ``drop``, ``types`` or ``image_shape``. Here numbers are
        scaled and images are looked for by default.

    Returns
    -------
    Labeled
        ``table`` (a row per row of the file), ``summary``, paths of the files such as ``model``,
        and ``predict`` for new rows.

    Raises
    ------
    InputError
        If the file cannot be used: what is wrong, where, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> table = iris.data.assign(species=iris.target_names[iris.target])
    >>> table.loc[np.arange(150) % 5 > 0, "species"] = ""
    >>> found = label(table, target="species", quick=True)
    >>> new = ~found.table["was_labeled"]
    >>> truth = iris.target_names[iris.target]
    >>> bool(np.mean(found.table["label"][new] == truth[new]) > 0.8)
    True
    """
    if abstain is not None and not 0 <= abstain <= 1:
        raise InputError(f"--abstain {abstain}; allowed: a number from 0 to 1, such as 0.9.")
    out, wanted = folder_and_file(out)
    path, folder = stored_input(path, out)
    check_folder(folder, path)
    if wanted is not None:
        check_output_file(wanted, inputs=[path])
    check_run_directory(folder)
    intake = read_input(
        path, target, n_clusters=classes, keep_spellings=keep_spellings, graph=graph, **reading
    )
    if isinstance(priors, str):
        priors = parse_priors(priors)
    if intake.task == "classification" and priors is not None:
        class_shares(priors, intake.y[intake.labeled], intake.classes)  # names of all classes
    extras = extra_files(
        Completed(path, target, reading.get("delimiter"), reading.get("encoding"), wanted),
        also,
        intake.task,
        spreadsheet_safe,
    )
    echo(f"{path.name}:")
    for sentence in intake.sentences:
        echo(f"  {sentence}")
    name = workspace.NAME
    # One lock around all three: another run in this folder would change files in use.
    with only_run(run_directory(folder)) as stale:
        check_published(folder, name, extras)
        answer = {
            "classes": classes,
            "abstain": abstain,
            "spreadsheet_safe": bool(spreadsheet_safe),
            "priors": priors,
            "quick": bool(quick),
        }
        with_map = NEEDS_MAP in also
        prepare(folder, path, target, intake, methods, answer, seed, echo, with_map=with_map)
        run(folder, name, stale, cores=cores, profile=profile, echo=echo)
        return publish(folder, name, echo, extras)


def prepare(
    folder, path, target, intake: Intake, methods, answer: dict, seed, echo, *, with_map=False
) -> None:
    """Write features, labels and the config of the run; ``answer`` lists its tables."""
    members = workspace.choose_members(intake, methods, quick=answer["quick"])
    if answer["quick"] and members:
        echo(f"  Predicting by {', '.join(m.name for m in members)}, without a comparison.")
    elif members:
        methods_used = list(dict.fromkeys(m.method.name for m in members))
        echo(f"  Combining {len(members)} candidates, judged on held-out labels: "
             f"{', '.join(methods_used)}.")  # fmt: skip
    if members and not methods and (words := workspace.left_out(intake, quick=answer["quick"])):
        echo(f"  {words}")
    settings = {"task": intake.task, **answer}
    config = workspace.make_config(intake, members, seed=seed, settings=settings, with_map=with_map)
    notes = {"target": target, "file": path.name, "warnings": first_warnings(intake)}
    workspace.write_inputs(folder, intake, notes)
    workspace.write_config(folder, config)


def first_warnings(intake: Intake) -> list[dict]:
    """Warnings that need no method: they concern the file."""
    found = []
    if intake.image_shape is None and intake.preparation is None:
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
        names = intake.plan.naming
        for id_column in names:
            values = intake.frame[id_column]
            numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
            if np.isnan(numbers).any():
                numbers = pd.factorize(values.astype(str), sort=True)[0]
            columns[id_column] = numbers
        # Only labeled rows count: all rows of many columns would take as much as the table.
        labeled, y = intake.labeled, intake.y[intake.labeled]
        columns = {name: values[labeled] for name, values in columns.items()}
        for c in intake.plan.columns[:MOST_LEAK_CHECKS]:
            if c["kind"] not in ("number", "category"):
                continue
            values = intake.frame[c["name"]].iloc[labeled]
            if c["kind"] == "number":
                columns[c["name"]] = values.to_numpy(dtype=float, na_value=np.nan)
            else:
                columns[c["name"]] = warnings_.categories_by_class(values.astype(str), y)
        found += warnings_.leaking_columns(columns, y, names)
    return found


def run(folder: Path, name: str, stale: int, *, cores, profile, echo) -> int:
    """Run the workflow in the locked folder; returns how many jobs ran."""
    from fewfold.runner import run_locked

    return run_locked(
        folder,
        stale,
        cores=cores,
        configfiles=[(folder / "input/config.yaml").resolve()],
        profile=profile,
        targets=[target.format(dataset=name) for target in layout.LABEL_TARGETS],
        echo=echo,
        light=True,
    )
