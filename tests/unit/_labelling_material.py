"""A small labelled set with everything the last stages of labelling read."""

import numpy as np

from fewfold.graph.build import build_graph
from fewfold.labeling.finishing import Material
from fewfold.labeling.results import answer_classes
from fewfold.methods.diffusion.estimator import diffuse
from fewfold.pipeline.stage_files import Features, Labels

HOSTILE = "</script><b>x</b>"


def material(n=300, labelled=30, seed=0, image_shape=(2, 2), ids=None):
    rng = np.random.default_rng(seed)
    code = np.arange(n) % 3
    X = (rng.normal(size=(n, 4)) + 3 * np.eye(3, 4)[code]).astype(np.float32)
    y = np.full(n, -1)
    rows = rng.permutation(n)[:labelled]
    y[rows] = code[rows]
    graph = build_graph(X, n_neighbors=8)
    given = np.flatnonzero(y >= 0)
    proba, scores = diffuse(graph.W, given, y[given], 3)
    label, confidence, second = answer_classes(y, proba.argmax(axis=1), proba, 1.0, 0.0)
    classes = ["rose", HOSTILE, "百合"]
    comparison = {
        "chosen": "diffusion",
        "runner_up": "knn",
        "estimate": {"value": 0.05, "low": 0.02, "high": 0.11, "level": 0.95, "n_labels": labelled},
        "table": [
            {"method": m, "loss": v, "difference": v - 0.05, "standard_error": 0.02,
             "seconds": 0.1, "failed": 0}
            for m, v in (("diffusion", 0.05), ("knn", 0.08))
        ],
    }  # fmt: skip
    return code, Material(
        answer={
            "label": label, "confidence": confidence, "second": second, "given": y >= 0,
            "guessed": ~scores.is_reached, "proba": proba.astype(np.float32),
        },
        notes={
            "comparison": comparison, "method": "diffusion", "learner": "diffusion",
            "status": "ok", "details": {"n_iterations": 7}, "task": "classification",
            "warnings": [], "calibration": [1.0, 0.0], "width": None,
            "calibration_error": {"before": 0.04, "after": 0.02},
        },
        features=Features(X, None, None, None, image_shape, list("abcd")),
        truth=Labels(y, None, "classification", classes, None, None, None, None, None),
        graph=graph,
        ids=ids,
        table={
            "id_name": "row", "columns": None, "sentences": ["300 rows."], "target": "species",
            "file": f"my {HOSTILE}.csv",
            "warnings": [{"kind": "demo", "text": f"mind {HOSTILE}", "rows": []}],
        },
        shown=np.arange(0, n, 2),
        positions=X[::2, :2],
        model_bytes=1000,
    )  # fmt: skip
