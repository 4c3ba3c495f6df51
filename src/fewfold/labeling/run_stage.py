"""The stages of labeling over files: examine candidates; combine, label, save the model."""

from __future__ import annotations

from fewfold.labeling.answering import answer
from fewfold.labeling.clustering import cluster_answer
from fewfold.labeling.evidence_files import read_evidence, write_evidence
from fewfold.labeling.examining import N_FOLDS, Task, examine
from fewfold.labeling.model_file import save_model
from fewfold.labeling.prepared import read_prepared
from fewfold.methods.members import named_members
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.stage_files import read_features, read_labels
from fewfold.pipeline.stage_schemas import LABEL_TABLE


def read_task(files: dict, *, seed: int, quick: bool = False) -> tuple[Task, object]:
    """Read rows, labels and what was prepared; returns the task and the file of labels."""
    data, truth = read_features(files["features"]), read_labels(files["labels"])
    prepared = read_prepared(files["prepared"], files.get("graphs", {}), data.X.shape[0])
    if len(truth.y) != data.X.shape[0]:
        from fewfold.exceptions import ArtifactError

        raise ArtifactError(
            f"The file of the labels is about {len(truth.y)} rows, the features have "
            f"{data.X.shape[0]}. Move it away and run again."
        )
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
    return task, truth


def examine_some(files: dict, path, *, members, seed, quick=False) -> None:
    """Examine candidates and write what they said."""
    task, truth = read_task(files, seed=seed, quick=quick)
    chosen = named_members(truth.task, members)
    write_evidence(path, chosen, task, inputs=[files["features"], files["labels"]])


def label_rows(files: dict, answer_path, model_path, *, members, seed, quick=False,
               priors=None, n_clusters=None) -> None:  # fmt: skip
    """Combine the candidates, label all rows, and write the answer and the model file.

    Parameters
    ----------
    files : dict
        ``features``, ``labels``, ``prepared``, ``table``; ``graphs`` {name: path} and
        ``evidence`` [path] where jobs of their own made them.
    answer_path, model_path : path-like
    members : list of str
    seed : int
    quick : bool
        Hold nothing out.
    priors : "labels", "equal", dict or None
    n_clusters : int, optional
        Put the rows into groups instead.
    """
    task, truth = read_task(files, seed=seed, quick=quick)
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
