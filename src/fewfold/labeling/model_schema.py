"""The contents of a model file that are allowed; everything else is refused when it is opened."""

from __future__ import annotations

import math

from fewfold.system.file_schema import (
    LARGEST_NUMBER,
    FileSchema,
    array,
    either,
    list_of,
    mapping,
    number,
    optional,
    record,
    text,
)

MOST_FEATURES = 10**7
NAME = text(longest=200)
FINITE = number(-1e300, 1e300)
LARGE = LARGEST_NUMBER

_NUMBERS = {key: FINITE for key in ("fill", "offset", "mean")} | {
    "factor": number(-1e30, 1e30),
    "spread": number(0, 1e300),
    "n_missing": number(0, 1e12, whole=True),
}


# A name is that of the user's table, where it may hold any character but NUL.
def column_name(value, sizes) -> str | None:
    """Allow the name of a column or class."""
    is_name = isinstance(value, str) and len(value) <= 10_000 and "\0" not in value
    return None if is_name else "is not a name of up to 10000 characters without NUL"


COLUMN = either(
    record({"name": column_name, "kind": text(("number",)), **_NUMBERS}),
    record({"name": column_name, "kind": text(("category",)),
            "categories": list_of(column_name, 1, 1000)}),
    record({"name": column_name, "kind": text(("date", "text"))}),
)  # fmt: skip

# `fewfold label` makes no other graphs; see fewfold.diffusion.image_graph_settings.
_SMALL = number(0, 100, whole=True)
_DEFORMATION = {
    "displacement": _SMALL, "window": _SMALL, "margin": optional(_SMALL),
    "features": text(("gradient", "pixels", "both")),
}  # fmt: skip
GRAPH = record(
    {
        "n_neighbors": number(1, 10_000, whole=True),
        "metric": text(("euclidean", "cosine", "deformation", "tangent")),
        "method": text(("exact", "approximate")),
        "weights": text(("binary", "heat", "self_tuning", "relative")),
        "bandwidth": optional(number(1e-300, 1e300)),
        "symmetrize": text(("union", "mutual", "mean")),
        "canonicalize": list_of(text(("center", "deskew", "scale", "rotate")), longest=4),
        "image_shape": optional(list_of(number(1, 10_000, whole=True), 1, 3)),
        "candidates": number(1, 100_000, whole=True),
        "candidate_dims": number(0, 100_000, whole=True),
        "metric_options": record(
            {},
            {
                **_DEFORMATION,
                "fine": record({}, _DEFORMATION),
                "fine_candidates": number(1, 10_000, whole=True),
                "recall_sample": number(0, 1000, whole=True),
            },
        ),
    }
)
_COMMON = {
    "method": NAME,
    "learner": text(("graph", "knn", "svm")),
    "task": text(("classification", "regression")),
    "n_features": number(1, MOST_FEATURES, whole=True),
    "n_stored": number(1, 1e10, whole=True),
    "calibration": list_of(FINITE, 2, 2),
    "far": optional(number(0, 1e300)),
    "image_shape": optional(list_of(number(1, MOST_FEATURES, whole=True), 1, 3)),
    "columns": optional(list_of(COLUMN, 1, MOST_FEATURES)),
    "feature_names": optional(list_of(column_name, 1, MOST_FEATURES)),
    "target": optional(column_name),
    "id_name": optional(column_name),
    "details": mapping(either(FINITE, text())),
}
_X = array("n", "d", kinds="fiu", low=-LARGE, high=LARGE, sparse=True)
_HEAD = record({k: _COMMON[k] for k in ("task", "learner")})


def read_model(file) -> dict:
    """Read and check all that a model file holds.

    Parameters
    ----------
    file : fewfold.pipeline.artifacts.Artifact

    Returns
    -------
    dict
        Arrays and notes by name.
    """
    head = {key: file.note(key) for key in ("task", "learner")}
    if (fault := _HEAD(head, {})) is not None:
        file.fail(f"does not fit: {fault}")
    n_classes = len(file["classes"]) if "classes" in file else 0
    found = schema_of(head["task"], head["learner"], n_classes).check(file)
    for disagrees, sentence in _agreements(found):
        if disagrees:
            file.fail(f"does not fit: {sentence}")
    return found


def _agreements(found):
    """Yield what must agree between the parts of a model file: whether it fails, and words."""
    n, d = found["X"].shape
    yield found["n_features"] != d, f"n_features is {found['n_features']}, X has {d} columns"
    yield found["n_stored"] != n, f"n_stored is {found['n_stored']}, X has {n} rows"
    columns, names, graph = found["columns"], found["feature_names"], found.get("graph")
    if columns is not None:
        yield _width(columns) != d, f"its columns give {_width(columns)} features, X has {d}"
    if names is not None:
        yield len(names) != d, f"feature_names has {len(names)} entries, X has {d} columns"
    if graph is not None:
        k, shape = graph["n_neighbors"], graph["image_shape"]
        yield k > n, f"n_neighbors is {k}, X has {n} rows"
        if shape is not None:
            yield math.prod(shape) != d, f"image_shape is {shape}, X has {d} columns"
    if found["learner"] == "svm":
        one = found["task"] == "regression" or len(set(found["targets"].tolist())) < 2
        yield one, "an SVM needs labels of two classes"


def _width(columns) -> int:
    """Features that a plan of columns gives, see fewfold.datasets.table.encoding."""
    sizes = {"number": 1, "date": 5, "text": 256}
    return sum(sizes.get(c["kind"]) or len(c["categories"]) for c in columns)


def schema_of(task: str, learner: str, n_classes: int) -> FileSchema:
    """Return the schema of a model file for its task and learner."""
    regression = task == "regression"
    notes = dict(_COMMON)
    classes = {} if regression else {"classes": list_of(column_name, 1, 100_000)}
    if learner == "graph":
        notes |= {"graph": GRAPH, "bandwidth": number(1e-300, 1e300)}
        low, high = (-LARGE, LARGE) if regression else (0, 1 + 1e-3)
        own = {
            "values": array("n", 1 if regression else n_classes, low=low, high=high),
            "scales": array("n", low=0, high=1e300),
        }
    else:
        if learner == "knn":
            need = {"n_neighbors": number(1, 1e6, whole=True)}
        else:
            need = {"C": number(1e-12, 1e12), "gamma": number(0, 1e12)}
        notes["details"] = _with(notes["details"], need)
        if regression:
            own = {"targets": array("n", kinds="f", low=-1e300, high=1e300)}
        else:
            own = {"targets": array("n", kinds="iu", low=0, high=n_classes - 1)}
    return FileSchema(notes, {"X": _X, **own, **classes}, {})


def _with(check, need):
    def checked(value, sizes):
        fault = check(value, sizes)
        if fault is not None:
            return fault
        missing = sorted(set(need) - set(value))
        if missing:
            return f"lacks {missing}"
        faults = (f"{key} {found}" for key in need if (found := need[key](value[key], sizes)))
        return next(faults, None)

    return checked
