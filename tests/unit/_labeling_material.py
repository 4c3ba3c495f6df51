"""A small labeled set with everything the last stages of labeling read."""

from functools import cache

import numpy as np

from fewfold.graph.build import build_graph
from fewfold.labeling.answering import answer
from fewfold.labeling.examining import Task, examine
from fewfold.labeling.finishing import Material
from fewfold.labeling.model_file import save_model
from fewfold.methods.members import named_members
from fewfold.pipeline.stage_files import Features, Labels

HOSTILE = "</script><b>x</b>"
CLASSES = ["rose", HOSTILE, "百合"]
TABLE = {"columns": None, "preparation": None, "target": "species", "id_name": "row"}


def rows(n=300, labeled=30, seed=0):
    rng = np.random.default_rng(seed)
    code = np.arange(n) % 3
    X = (rng.normal(size=(n, 4)) + 3 * np.eye(3, 4)[code]).astype(np.float32)
    y = np.full(n, -1)
    chosen = rng.permutation(n)[:labeled]
    y[chosen] = code[chosen]
    return code, X, y


@cache
def answered(
    names=("diffusion", "logistic_1"), n=300, labeled=30, seed=0, n_folds=10, numbers=False
):
    """Examine and combine candidates; returns task, members, evidence and the answer."""
    code, X, y = rows(n, labeled, seed)
    if numbers:
        y = np.where(y >= 0, X[:, 0] + X[:, 1] ** 2, np.nan)
    task = Task(X, y, "regression" if numbers else "classification", 0 if numbers else 3, seed,
                {"rows": build_graph(X, n_neighbors=8)}, n_folds=n_folds)  # fmt: skip
    members = named_members(task.task, names)
    evidence = [examine(member, task) for member in members]
    return task, members, evidence, answer(members, evidence, task, CLASSES)


def saved(folder, names=("diffusion", "logistic_1"), **options):
    """Write a model file; returns the task, the answer's arrays and the path."""
    task, members, evidence, (combination, arrays, _) = answered(names, **options)
    folder.mkdir(exist_ok=True, parents=True)
    source = folder / "none.h5"
    source.write_bytes(b"x")
    path = folder / f"{names[0]}_{len(names)}.h5"
    save_model(
        path, combination, members, [(e.arrays, e.notes) for e in evidence], task=task.task,
        classes=CLASSES if task.is_classes else None, X=task.X,
        table_notes={**TABLE, "feature_names": None}, inputs=[source],
    )  # fmt: skip
    return task, arrays, path


def material(n=300, labeled=30, seed=0, image_shape=(2, 2), ids=None):
    code, X, y = rows(n, labeled, seed)
    task, _, _, (_, arrays, notes) = answered(n=n, labeled=labeled, seed=seed)
    return code, Material(
        answer=dict(arrays),
        notes={**notes, "comparison": dict(notes["comparison"])},
        features=Features(X, None, None, None, image_shape, list("abcd")),
        truth=Labels(y, None, "classification", CLASSES, None, None, None, None, None),
        graph=task.graphs["rows"],
        ids=ids,
        table={
            **TABLE, "sentences": ["300 rows."], "file": f"my {HOSTILE}.csv",
            "warnings": [{"kind": "demo", "text": f"mind {HOSTILE}", "rows": []}],
        },
        shown=np.arange(0, n, 2),
        positions=X[::2, :2],
        model_bytes=1000,
    )  # fmt: skip
