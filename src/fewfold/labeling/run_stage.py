"""The stages of labeling over files: evaluate candidates; combine, label, save, report."""

from __future__ import annotations

import json

from fewfold.labeling.answering import answer
from fewfold.labeling.clustering import cluster_answer
from fewfold.labeling.evidence_files import read_evidence, write_evidence
from fewfold.labeling.examining import N_FOLDS, Task, examine
from fewfold.labeling.finishing import Material, advise, finish
from fewfold.labeling.model_file import save_model
from fewfold.labeling.prepared import Prepared, compute_prepared, read_prepared
from fewfold.methods.members import named_members
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import atomic_path, read, writing
from fewfold.pipeline.stage_files import Labels, check_rows, read_features, read_labels
from fewfold.pipeline.stage_schemas import LABEL_TABLE
from fewfold.system.plain_text import guarded_table


def read_task(
    files: dict, *, seed: int, quick: bool = False, **here
) -> tuple[Task, Labels, Prepared]:
    """Read rows, labels and what was prepared; without a file of it, compute it ``here``."""
    data, truth = read_features(files["features"]), read_labels(files["labels"])
    if "prepared" in files:
        prepared = read_prepared(files["prepared"], files.get("graphs", {}), data.X.shape[0])
    else:
        prepared = compute_prepared(
            data, {}, task=truth.task, seed=seed, own_graph=files.get("own_graph"), quick=quick,
            **here,
        )  # fmt: skip
    check_rows([("labels", len(truth.y), data.X.shape[0])])
    task = Task(
        data.X,
        truth.y,
        truth.task,
        truth.n_classes if truth.task == "classification" else 0,
        seed,
        prepared.graphs,
        prepared.shared,
        data.image_shape,
        0 if quick else N_FOLDS,
        prepared.explained,
    )
    return task, truth, prepared


def examine_some(files: dict, path, *, members, seed, quick=False) -> None:
    """Evaluate candidates and write their predictions."""
    task, truth, _ = read_task(files, seed=seed, quick=quick)
    chosen = named_members(truth.task, members)
    write_evidence(path, chosen, task, inputs=[files["features"], files["labels"]])


def label_rows(files: dict, answer_path, model_path, *, members, seed, quick=False,
               priors=None, n_clusters=None, graphs=None) -> Prepared:  # fmt: skip
    """Combine the candidates, label all rows, and write the answer and the model file.

    Parameters
    ----------
    files : dict
        ``features``, ``labels``, ``table``; ``prepared``, ``graphs`` {name: path} and
        ``evidence`` [path] where jobs of their own made them.
    answer_path, model_path : path-like
    members : list of str
    seed : int
    quick : bool
        Hold nothing out.
    priors : "labels", "equal", dict or None
    n_clusters : int, optional
        Put the rows into groups instead.
    graphs : dict of name to settings, optional
        To build, without ``files["prepared"]``.

    Returns
    -------
    Prepared
        Label-free computations, read or made here.
    """
    task, truth, prepared = read_task(files, seed=seed, quick=quick, members=members, graphs=graphs)
    with read(files["table"], layout.LABEL_COMMAND, schema=LABEL_TABLE) as file:
        table = {key: file.note(key) for key in ("columns", "preparation", "target", "id_name")}
    if n_clusters:
        chosen, states, combination, arrays, notes = cluster_answer(task, n_clusters, seed)
    else:
        chosen = named_members(truth.task, members)
        known = read_evidence(files.get("evidence", ()), task)
        evidence = []
        for member in chosen:
            evidence.append(known.get(member.name) or examine(member, task))
            print(f"{member.name}: {evidence[-1].status}, {evidence[-1].seconds:.2f} CPU s")
        combination, arrays, notes = answer(chosen, evidence, task, truth.classes, priors)
        states = [(e.arrays, e.notes) for e in evidence]
    sources = [files["features"], files["labels"]]
    with writing(answer_path, "label_rows", seed=seed, inputs=sources) as out:
        for name, values in arrays.items():
            out.add(name, values)
        for key, value in notes.items():
            out.note(key, value)
    data = read_features(files["features"])
    save_model(
        model_path,
        combination,
        chosen,
        states,
        task=notes["task"],
        classes=truth.classes if notes["task"] != "regression" else None,
        X=data.X,
        table_notes={**table, "feature_names": data.feature_names},
        image_shape=data.image_shape,
        inputs=sources,
    )
    return prepared


def report_rows(files, outputs, prepared, *, abstain, spreadsheet_safe, config) -> None:
    """Write the answer as a table, what to label next, the summary and the page.

    Parameters
    ----------
    files : dict
        As in `label_rows`.
    outputs : dict
        Paths: ``answer`` and ``model``, which are there; ``labels``, ``advice``, ``page`` and
        ``summary``.
    prepared : Prepared
        From `label_rows`.
    abstain : float or None
    spreadsheet_safe : bool
    config : dict
        Shown under the settings.
    """
    from fewfold.labeling.report_page import render_answer

    written = {name: outputs[name] for name in ("answer", "model")}
    material = Material.read({**files, **written}, prepared)
    finished = finish(material, abstain=abstain)
    page = render_answer(material, finished, config=config)
    for key, table in (("labels", finished.table), ("advice", advise(material, finished))):
        with atomic_path(outputs[key]) as part:
            (guarded_table(table) if spreadsheet_safe else table).to_csv(part, index=False)
    with atomic_path(outputs["page"]) as part:
        part.write_text(page, encoding="utf-8")
    with atomic_path(outputs["summary"]) as part:
        part.write_text(json.dumps(finished.summary, indent=1), encoding="utf-8")
