"""The contents of a model file that are allowed; everything else is refused when it is opened."""

from __future__ import annotations

import math
import re

import numpy as np

from fewfold.datasets.table.encoding import count_features
from fewfold.exceptions import FewfoldError
from fewfold.labeling.preparation import check_plan, prepared_width
from fewfold.methods.registry import methods
from fewfold.pipeline.stage_schemas import GRAPH_FIELDS
from fewfold.system.file_schema import (
    LARGEST_NUMBER,
    anything,
    array,
    list_of,
    mapping,
    number,
    optional,
    record,
    text,
    truth,
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


_STYLE = record({
    "decimal": text((".", ",")), "thousands": text(("", ".", ",")),
    "before": text(longest=10), "after": text(longest=20),
})  # fmt: skip


def _kind(name, required=None, more=None):
    return record({"name": column_name, "kind": text((name,)), **(required or {})}, more)


def _text_plan(value, sizes):
    """Allow words with their weights and directions, as many of each as there are words."""
    fault = _TEXT(value, sizes)
    if fault is not None:
        return fault
    n = len(value["terms"])
    if len(set(value["terms"])) < n:
        return "has a term twice"
    lengths = {len(value["weights"]), *map(len, value["directions"])}
    return None if lengths == {n} else f"has {n} terms, and {sorted(lengths)} weights of them"


_TEXT = _kind("text", {
    "terms": list_of(column_name, 1, 500),
    "weights": list_of(number(0, 1000), 1, 500),
    "directions": list_of(list_of(number(-10, 10), 1, 500), 1, 32),
})  # fmt: skip
_KINDS = {
    "number": _kind(
        "number",
        _NUMBERS,
        {"written": _STYLE, "others_empty": truth, "n_others": number(0, 1e12, whole=True)},
    ),
    "category": _kind("category", {"categories": list_of(column_name, 1, 1000)}, {"other": truth}),
    "date": _kind("date", {"fill": number(-1e5, 9e4)}, {"day_first": truth, "hour": truth}),
    "text": _text_plan,
    "code": _kind("code"),
    "vector": _kind("vector", {"length": number(1, 100_000, whole=True)}),
}


def COLUMN(value, sizes) -> str | None:
    """Allow the plan of one column, by its kind (fewfold.datasets.table.plan)."""
    kind = value.get("kind") if isinstance(value, dict) else None
    return _KINDS[kind if isinstance(kind, str) and kind in _KINDS else "number"](value, sizes)


# `fewfold label` makes no other graphs; see `image_graph_settings` of diffusion.
_SMALL = number(0, 100, whole=True)
_DEFORMATION = {
    "displacement": _SMALL, "window": _SMALL, "margin": optional(_SMALL),
    "features": text(("gradient", "pixels", "both")),
}  # fmt: skip
GRAPH = record(
    GRAPH_FIELDS
    | {
        "metric": text(("euclidean", "cosine", "deformation", "tangent")),
        "canonicalize": list_of(text(("center", "deskew", "scale", "rotate")), longest=4),
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
MEMBER = record(
    {
        "name": NAME,
        "method": NAME,
        "weight": number(0, 1),
        "exponent": number(1e-3, 1e3),
        "arrays": mapping(number(0, 10**6, whole=True)),
        "notes": mapping(anything),
    }
)
_NOTES = {
    "members": list_of(MEMBER, 1, 1000),
    "reference": number(0, 10**6, whole=True),
    "far": number(0, 1e300),
    "factors": optional(list_of(number(0, 1e6), 1, 100_000)),
    "task": text(("classification", "regression", "clustering")),
    "calibration": list_of(number(-1e3, 1e3), 2, 2),
    "low": optional(FINITE),
    "n_features": number(1, MOST_FEATURES, whole=True),
    "image_shape": optional(list_of(number(1, MOST_FEATURES, whole=True), 1, 3)),
    "columns": optional(list_of(COLUMN, 1, MOST_FEATURES)),
    "preparation": optional(anything),
    "feature_names": optional(list_of(column_name, 1, MOST_FEATURES)),
    "target": optional(column_name),
    "id_name": optional(column_name),
}
_ROWS = array("rows", "d", kinds="fiu", low=-LARGE, high=LARGE, sparse=True)


def read_model(file) -> tuple[dict, list, object]:
    """Read and check all that a model file holds.

    Parameters
    ----------
    file : fewfold.pipeline.artifacts.Artifact

    Returns
    -------
    notes : dict
        With ``classes``, where there are any.
    members : list of (name, estimator)
    reference : array of shape (rows, d)
    """
    found = {key: file.note(key) for key in _NOTES}
    for key, check in _NOTES.items():
        if (fault := check(found[key], {})) is not None:
            file.fail(f"does not fit: {key} {fault}")
    if found["preparation"] is not None:
        try:
            check_plan(found["preparation"], found["columns"] or [])
        except FewfoldError as error:
            file.fail(f"does not fit: {error}")
    if found["task"] != "regression":
        if "classes" not in file:
            file.fail("does not fit: it lacks the names of its classes")
        found["classes"] = file["classes"]
        if (fault := list_of(column_name, 1, 100_000)(found["classes"], {})) is not None:
            file.fail(f"does not fit: classes {fault}")
    pool = _read_pool(file, found)
    for disagrees, sentence in _agreements(found, pool):
        if disagrees:
            file.fail(f"does not fit: {sentence}")
    members = [_member(file, entry, found, pool) for entry in found["members"]]
    return found, members, pool[found["reference"]]


def _read_pool(file, found) -> dict:
    """Read the arrays that members name; a file with others was not written by fewfold."""
    named = {found["reference"]}.union(*(set(m["arrays"].values()) for m in found["members"]))
    there = {name for name in file.names() if name != "classes"}
    wanted = {f"array{number}" for number in named}
    if missing := sorted(wanted - there):
        file.fail(f"lacks the arrays {', '.join(missing[:5])}")
    if unknown := sorted(there - wanted):
        file.fail(f"has unknown arrays {', '.join(unknown[:5])}")
    pool = {}
    for number_ in sorted(named):
        value = file[f"array{number_}"]
        if not isinstance(value, list):
            data = value.data if hasattr(value, "tocsr") else value
            if data.dtype.kind == "f" and data.size and not np.isfinite(data).all():
                file.fail(f"does not fit: array{number_} holds numbers that are not finite")
        pool[number_] = value
    return pool


def _agreements(found, pool):
    """Yield what must agree between the parts of a model file: whether it fails, and words."""
    fault = _ROWS(pool[found["reference"]], {"d": found["n_features"]})
    yield fault is not None, f"reference {fault}"
    d, columns, names = found["n_features"], found["columns"], found["feature_names"]
    if found["preparation"] is not None:
        count = prepared_width(found["preparation"])
        yield count != d, f"its columns give {count} features, not {d}"
    elif columns is not None:
        yield (
            count_features(columns) != d,
            f"its columns give {count_features(columns)} features, not {d}",
        )
    if names is not None:
        yield len(names) != d, f"feature_names has {len(names)} entries, not {d}"
    if found["image_shape"] is not None:
        shape = found["image_shape"]
        yield math.prod(shape) != d, f"image_shape is {shape}, rows have {d} features"
    k = len(found.get("classes", ()))
    if found["factors"] is not None:
        count = len(found["factors"])
        yield count != k, f"factors has {count} entries, there are {k} classes"
        yield not any(found["factors"]), "all its factors are 0"
    total = sum(m["weight"] for m in found["members"])
    yield not 0.99 < total < 1.01, f"the weights of its members sum to {total:g}, not 1"


def _member(file, entry, found, pool):
    """Restore a member through its method's own checks; its name is only ever looked up."""
    name = entry["method"]
    if name not in methods():
        shown = re.sub(r"[^ -~]", "?", name)[:60]
        file.fail(f"was made with the method {shown!r}, which is not installed")
    method = methods()[name]
    regression = found["task"] == "regression"
    if (found["task"] if regression else "classification") not in method.tasks:
        file.fail(f"does not fit: {name} does not do {found['task']}")
    fault = _graph_fault(entry, found, pool)
    if fault is not None:
        file.fail(f"does not fit: graph_settings of {name} {fault}")
    arrays = {key: pool[number_] for key, number_ in entry["arrays"].items()}
    arrays = {k: np.array(v, dtype=str) if isinstance(v, list) else v for k, v in arrays.items()}
    try:
        model = method.estimator_class(found["task"]).from_arrays(arrays, entry["notes"])
    except FewfoldError as error:
        file.fail(f"does not fit: {error}")
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        file.fail(f"does not fit: {name} cannot be restored ({error})")
    d = getattr(model, "n_features_in_", found["n_features"])
    if d != found["n_features"]:
        file.fail(f"does not fit: {name} needs {d} features, rows have {found['n_features']}")
    if not regression:
        _check_classes(file, name, model, len(found["classes"]))
    return entry["name"], model


def _graph_fault(entry, found, pool) -> str | None:
    """Say what is wrong with the settings of a graph that a member places new rows in."""
    settings = entry["notes"].get("graph_settings")
    if settings is None:
        return None
    if (fault := GRAPH(settings, {})) is not None:
        return fault
    rows = pool.get(entry["arrays"].get("X_fit_"))
    count, shape = settings["n_neighbors"], settings["image_shape"]
    if rows is not None and np.ndim(rows) == 2 and count > rows.shape[0]:
        return f"ask for {count} neighbors among {rows.shape[0]} rows"
    if shape is not None and math.prod(shape) != found["n_features"]:
        return f"have the image shape {shape}, rows have {found['n_features']} features"
    return None


def _check_classes(file, name, model, n_classes):
    codes = np.asarray(model.classes_)
    fits = codes.ndim == 1 and codes.dtype.kind in "iuf" and len(codes) > 0
    if fits:
        whole = codes.astype(np.int64)
        fits = (whole == codes).all() and (np.diff(whole) > 0).all()
        fits = fits and whole[0] >= 0 and whole[-1] < n_classes
    if not fits:
        file.fail(f"does not fit: {name} names other classes than the {n_classes} of the file")
