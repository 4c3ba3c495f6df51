"""What each kind of stage file holds; `artifacts.read` checks it, once, in one place.

Notes and the headers of arrays (shape, type, sizes that must agree) are compared when a file is
opened, which reads no array; the range of an array's values when the array is read. A results
folder or a cache may be shared, so a right seal does not make contents right.
"""

from __future__ import annotations

from fewfold.system.file_schema import (
    LARGEST_NUMBER,
    Array,
    StageSchema,
    anything,
    array,
    either,
    has,
    list_of,
    mapping,
    number,
    optional,
    real,
    text,
    truth,
    words,
)

_LARGE = {"low": -LARGEST_NUMBER, "high": LARGEST_NUMBER}
_COUNT = number(0, 1e15, whole=True)
_SHAPE = optional(list_of(number(1, 10**7, whole=True), 1, 3))
_TASK = text(("classification", "regression", "clustering"))
_TEXTS = list_of(words)
_SHARE = number(0, 1)


def _labels_agree(notes, sizes, names):
    if notes["task"] == "classification" and "y" in names and "classes" not in names:
        yield "a classification task lacks the names of its classes"


def _kernel_agrees(notes, sizes, names):
    columns = notes["n"] + notes["n_new"]
    if "columns" in sizes and sizes["columns"] != columns:
        yield f"K has {sizes['columns']} columns, n + n_new is {columns}"
    if notes["kind"] == "squared_distances" and notes["gamma"] is None:
        yield "gamma is missing beside squared distances"
    if notes["sparse"] is (notes["kind"] == "squared_distances") is True:
        yield "squared distances cannot be sparse"


# Arrays that each type of manifold must have; types of other packages are theirs to check.
_MANIFOLD = {
    "eigenbasis": {
        "eigenvectors": array("n", "p"),
        "eigenvalues": array("p"),
        "residuals": array("p"),
        "components": array("n", kinds="iu", low=0, below="n"),
        "degrees": array("n", low=0),
    },
    "embedding": {
        "embedding": array("n", "q"),
        "n_neighbors": array(kinds="iu", low=1, high=1e6),
    },
    "atlas": {
        "origin": array("d"),
        "basis": array("basis_d", "basis_r"),
        "means": array("charts", "r"),
        "directions": array("charts", "q", "r"),
        "dims": array("charts", kinds="iu", low=0, at_most="q"),
        "interior": array("n", kinds="iu", low=-1, below="charts"),
        "member_rows": array("members", kinds="iu", low=0, below="n"),
        "member_charts": array("members", kinds="iu", low=0, below="charts"),
        "energy": array("steps"),
        "energy_kind": array("kinds", kinds="iu"),
    },
    "hellinger": {"settings": array(5, low=0)},
    "sne": {"names": array("names", kinds="T")},
}
# Of an sne manifold: one group per rule of neighborhoods.
_NEIGHBORHOODS = {
    "D": array("n", "n", low=0),
    "*.P": array("n", "n", low=0, high=1.0001, sparse=True),
    "*.rule": array(1, kinds="T"),
    **{f"*.rule_{name}": array(1) for name in ("walk", "scale", "perplexity")},
    "*.rule_neighbors": array(1, kinds="iu", low=1),
    **{f"*.rule_{name}": array("n") for name in ("precision", "log_totals", "strength")},
    "*.rule_walks": array("n", "n"),
}
# Of a hellinger manifold: the projection, if any, and one group per cover.
_COVERS = {
    "mean": array("d"),
    "axes": array("d", "e"),
    "*.rows": array("m", kinds="iu", low=0),
    "*.covariances": array("m", "e", "e"),
    "*.cells": array("m", "e", "e"),
    "*.edges": array(2, "k", kinds="iu", low=0),
    "*.squared_hellinger": array("k", low=0, high=1),
}
# Of its partitions: one group per draw.
_PARTITIONS = {
    "*.bounds": array(5, kinds="iu", low=0),
    "*.scores": array(2),
    "*.kept": array("m", kinds="iu", low=0),
    "*.part": array("m", kinds="iu", low=0),
    "*.cell_part": array("m", kinds="iu", low=0),
    "*.own_part": array("l", kinds="iu", low=0),
    "*.row_part": array("n", kinds="iu", low=0),
    "*.row_part_new": array("new", kinds="iu", low=0),
    "*.points": array("m", "e"),
    "*.cell_covariances": array("m", "e", "e"),
    "*.W": array("m", "m", low=0, sparse=True),
    "*.notes": array("notes", kinds="T"),
}
_FINER = {
    f"finer_{name}": Array(
        tuple(d if d in ("n", "r") else f"finer_{d}" for d in spec.dims), spec.kinds, low=spec.low,
        below=spec.below and (spec.below if spec.below == "n" else f"finer_{spec.below}"),
        at_most=spec.at_most and f"finer_{spec.at_most}",
    )
    for name, spec in _MANIFOLD["atlas"].items()
    if name not in ("origin", "basis")
}  # fmt: skip


def _manifold_agrees(notes, sizes, names):
    wanted = dict(_MANIFOLD.get(notes["kind"], {}))
    if notes["kind"] == "atlas" and any(name.startswith("finer_") for name in names):
        wanted |= _FINER
    if missing := sorted(set(wanted) - set(names)):
        yield f"a manifold of type {notes['kind']} lacks the arrays {', '.join(missing)}"
    elif notes["kind"] == "embedding" and sizes["q"] == 0:
        yield "its map has no columns"
    elif notes["kind"] == "atlas":
        found, own = (sizes["basis_d"], sizes["basis_r"]), (sizes["d"], sizes["r"])
        # An empty basis: the atlas works in the space of the rows themselves.
        if found != own and not (found == (0, 0) and own[0] == own[1]):
            yield f"its basis has shape {found}, its charts need {own}"


def _encoding(prefix, suffix, n):
    q, d = f"{prefix}q", f"{prefix}d"
    return {
        f"{prefix}charts{suffix}": array(n, q, kinds="iu", low=0, high=10**7),
        f"{prefix}errors{suffix}": array(n, q),
        f"{prefix}member{suffix}": array(n, q, kinds="b"),
        f"{prefix}projections{suffix}": array(n, q, d, **_LARGE),
    }


def _points_agree(notes, sizes, names):
    for prefix, suffix in (("", ""), ("finer_", ""), ("", "_new"), ("finer_", "_new")):
        wanted = set(_encoding(prefix, suffix, "n"))
        if wanted & set(names) and not wanted <= set(names):
            yield f"it lacks the arrays {', '.join(sorted(wanted - set(names)))}"
    if not any(n in ("charts", "positions") or n.endswith(".bounds") for n in names):
        yield "it lacks the arrays of an encoding"
    finer = {"finer_charts", "finer_charts_new"} & set(names)
    if "charts_new" in names and len(finer) == 1:
        yield "only some of its rows have a finer encoding"


_KERNEL_NOTES = {
    "kind": text(("kernel", "squared_distances")),
    "n": _COUNT,
    "n_new": _COUNT,
    "gamma": optional(number(0, 1e300)),
    "sparse": truth,
    "type": optional(words),
    "levels": optional(list_of(mapping(either(real, truth, words)), 1, 1000)),
}
_METHOD = words
_COMPARISON = has(
    {
        "estimate": optional(has({k: real for k in ("value", "low", "high", "level", "n_labels")})),
        "members": list_of(has({"name": _METHOD, "family": words, "weight": real}), 1, 1000),
        "table": list_of(
            has({"method": _METHOD, "failed": _COUNT}
                | {k: real for k in ("loss", "difference", "standard_error", "seconds")})
        ),
    },
    {
        "reason": optional(words),
        "failed": mapping(words),
        "trivial": has({"answer": words, "value": real, "beaten": truth}),
        "confusion": list_of(list_of(_COUNT)),
        "n_folds": _COUNT,
    },
)  # fmt: skip
_WARNINGS = list_of(has({"kind": words, "text": words, "rows": list_of(_COUNT)}))
# The fields of `fewfold.graph.settings.GraphSettings`.
GRAPH_FIELDS = {
    "n_neighbors": number(1, 10**6, whole=True),
    "metric": text(),
    "method": text(("auto", "exact", "approximate")),
    "min_recall": _SHARE,
    "weights": text(("binary", "heat", "self_tuning", "relative")),
    "bandwidth": optional(number(1e-300, 1e300)),
    "symmetrize": text(("union", "mutual", "mean")),
    "canonicalize": list_of(text(), longest=100),
    "image_shape": _SHAPE,
    "candidates": number(1, 10**6, whole=True),
    "candidate_dims": number(0, 10**6, whole=True),
    "metric_options": mapping(anything),
}
_GRAPH_SETTINGS = has({}, GRAPH_FIELDS)
_LABELS = {
    "y": array("n", kinds="if", low=-1, below="k", nan=True),
    "test_mask": array("n", kinds="b"),
    "label_splits": array("splits", "labels", kinds="iu", low=0, below="n"),
    "groups": array("n", kinds="iu"),
}
_RAW = StageSchema(
    {
        "X": array("n", "d", kinds="fiub", nan=True, sparse=True),
        "feature_names": array("d", kinds="T"),
        "classes": array("k", kinds="T"),
        "ids": array("n", kinds="T"),
        **_LABELS,
    },
    notes={"task": optional(_TASK), "image_shape": _SHAPE},
    agree=_labels_agree,
)
# The third file that `fewfold label` makes of a table, beside features and labels.
LABEL_TABLE = StageSchema(
    {"ids": array("n", kinds="T"), "thumbnails": array("n", "height", "width", kinds="u")},
    notes={
        "id_name": words,
        "columns": optional(list_of(has({"name": words, "kind": words}))),
        "preparation": optional(has({"columns": list_of(has({"name": words, "type": words}))})),
        "sentences": _TEXTS,
        "target": optional(words),
        "file": words,
        "warnings": _WARNINGS,
    },
)

# The user's own graph.
OWN_WEIGHTS = StageSchema({"W": array("n", "n", kinds="f", low=0, sparse=True)}, ("W",))


def _answer_agrees(notes, sizes, names):
    numbers = {"low", "high"} if notes["task"] == "regression" else {"confidence", "second"}
    numbers |= {"label", "given"} | ({"proba"} if notes["task"] != "regression" else set())
    if missing := sorted(numbers - set(names)):
        yield f"an answer of task {notes['task']} lacks the arrays {', '.join(missing)}"


_GRAPH_NOTES = {
    "bandwidth": number(0, 1e300),
    "n_components": number(1, 1e15, whole=True),
    "recall": optional(_SHARE),
}
_GRAPH = {
    "W": array("n", "n", low=0, sparse=True),
    "indices": array("n", "k", kinds="iu", low=0, below="n"),
    "distances": array("n", "k", low=0),
    "scales": array("n", low=0),
    "component": array("n", kinds="iu", low=0, below="n"),
    "isolated": array("isolated", kinds="iu", low=0, below="n"),
}
# The rows in lists, or, where these save nothing, the rows alone.
_INDEX = {
    "middle": array("d", **_LARGE),
    "turn": array("d", "r", **_LARGE),
    "group_centers": array("groups", "r", **_LARGE),
    "groups": array("group_edges", kinds="i", low=0, at_most="lists"),
    "centers": array("lists", "r", **_LARGE),
    "starts": array("list_edges", kinds="i", low=0, at_most="n"),
    "rows": array("n", kinds="i", low=0, below="n"),
    "points": array("n", "r", **_LARGE),
    "norms": array("n", low=0),
    "full": array("n", "d", **_LARGE),
    "all_rows": array("n", "d", **_LARGE),
    "empty": array("empty", kinds="i", low=0, below="n"),
}


def _index_agrees(notes, sizes, names):
    if "all_rows" in names:
        if set(names) - {"all_rows", "empty"}:
            yield "it holds rows in lists and all rows"
        return
    if missing := sorted(set(_INDEX) - set(names) - {"turn", "full", "all_rows", "empty"}):
        yield f"it lacks the arrays {', '.join(missing)}"
        return
    if ("turn" in names) != ("full" in names):
        yield "wide rows need both turn and full"
    elif "turn" not in names and sizes["d"] != sizes["r"]:
        yield f"it has {sizes['r']} columns of points, of rows {sizes['d']}"
    for edges, of in (("group_edges", "groups"), ("list_edges", "lists")):
        if sizes[edges] != sizes[of] + 1 or not sizes[of]:
            yield f"it has {sizes[edges]} edges of {sizes[of]} {of}"
    if notes["recall"] is None or not 1 <= notes["probes"] or not 1 <= notes["spare"]:
        yield "it does not say how many lists are visited"


_KERNEL = {
    "rows": array("rows", kinds="iu", low=0),
    "K": array("rows", "columns", sparse=True),
}
_MAP = {"shown": array("shown", kinds="iu", low=0), "positions": array("shown", 2)}


def _whole(arrays, **more):
    """A schema all of whose arrays must be there."""
    return StageSchema(arrays, tuple(arrays), **more)


def _prepared_agrees(notes, sizes, names):
    for graph in notes["graphs"]:
        if notes.get(f"graph {graph}") is None:
            yield f"it says nothing of its graph {graph!r}"
    for member, (number_, keys) in notes["shared"].items():
        if not isinstance(number_, int) or not isinstance(keys, list):
            yield f"it does not say what it holds for {member!r}"


SCHEMAS = {
    "fetch_dataset": _RAW,
    "fewfold label": _RAW,
    "prepare_features": StageSchema(
        {
            "X": array("n", "d", kinds="fiu", sparse=True, **_LARGE),
            "X_new": array("m", "d", kinds="fiu", sparse=True, **_LARGE),
            "images": array("n", "pixels", kinds="fiu", **_LARGE),
            "images_new": array("m", "pixels", kinds="fiu", **_LARGE),
            "feature_names": array("d", kinds="T"),
        },
        ("X",),
        notes={
            "image_shape": _SHAPE,
            "oddities": optional(mapping(_COUNT)),
            "explained_variance": optional(real),
        },
    ),
    "prepare_labels": StageSchema(
        {
            "classes": array("k", kinds="T"),
            **_LABELS,
            "y_new": array("m", kinds="if", low=-1, below="k", nan=True),
            "groups_new": array("m", kinds="iu"),
            "ids": array("ids", kinds="T"),
        },
        ("y",),
        notes={"task": _TASK},
        agree=_labels_agree,
    ),
    "draw_splits": _whole(
        {
            "order": array("trials", "labels", kinds="iu", low=0),
            "budgets": array("budgets", kinds="iu", low=0, at_most="labels"),
        },
        notes={
            "evaluate": text(("unlabeled", "test")),
            "protocol": text(("transductive", "inductive")),
            "seed": number(0, 2**64, whole=True),
        },
    ),
    "index_neighbors": StageSchema(
        _INDEX,
        notes={"probes": _COUNT, "spare": _COUNT, "recall": optional(_SHARE)},
        agree=_index_agrees,
    ),
    "search_neighbors": StageSchema(
        {
            "indices": array("n", "k", kinds="iu", low=0),
            "distances": array("n", "k", low=0),
            "rows": array("n", kinds="iu", low=0),
        },
        ("indices", "distances"),
        notes={"recall": optional(_SHARE)},
    ),
    "build_graph": _whole(_GRAPH, notes=_GRAPH_NOTES, settings=_GRAPH_SETTINGS),
    "extend_graph": _whole({"weights": array("m", "n", low=0, sparse=True)}),
    "fit_manifold": StageSchema(
        {
            name: spec
            for arrays in (*_MANIFOLD.values(), _FINER, _COVERS, _NEIGHBORHOODS)
            for name, spec in arrays.items()
        },
        notes={"kind": text()},
        agree=_manifold_agrees,
        together=(tuple(key.removeprefix("*.") for key in _COVERS if "*" in key),),
    ),
    "encode_points": StageSchema(
        {
            **_encoding("", "", "n"),
            **_encoding("finer_", "", "n"),
            **_encoding("", "_new", "m"),
            **_encoding("finer_", "_new", "m"),
            "positions": array("n", "dims"),
            "positions_new": array("m", "dims"),
            **_PARTITIONS,
        },
        agree=_points_agree,
        together=(
            ("bounds", "scores", "kept", "part", "own_part", "row_part", "points", "W", "notes"),
            ("cell_part", "cell_covariances"),
        ),
    ),
    "compute_kernel_tile": _whole(_KERNEL, notes=_KERNEL_NOTES, agree=_kernel_agrees),
    "join_kernel": StageSchema(
        {
            "rows": array("rows", kinds="iu", low=0),
            "tiles": array("tiles", kinds="T"),
            "tile_starts": array("tiles", kinds="iu", low=0, at_most="rows"),
            "tile_digests": array("tiles", kinds="T"),
            "K": array("rows", "columns"),
        },
        ("rows", "tiles", "tile_starts", "tile_digests"),
        notes=_KERNEL_NOTES,
        agree=_kernel_agrees,
    ),
    "make_copies": _whole(
        {"rows": _KERNEL["rows"], "copies": array("rows", "copies", "d", **_LARGE)}
    ),
    "train_method": StageSchema(
        {
            "labels/*": array("n", kinds="if", low=-1, high=2**31, nan=True),
            "confidence/*": array("n", nan=True),
            "figures/*": array("figures", kinds="T"),
            "labels_new/*": array("n", kinds="if", low=-1, high=2**31, nan=True),
        },
        notes={
            "cells": list_of(
                has({"trial": _COUNT, "budget": _COUNT, "seed": number(0, 2**64, whole=True),
                     "fit_s": real, "predict_s": real, "status": words},
                    {"method": words})
            )
        },
    ),
    "prepare_candidates": StageSchema(
        {
            **_MAP,
            **{f"*.{name}": spec for name, spec in _GRAPH.items()},
        },
        tuple(_MAP),
        notes={
            "explained": optional(_SHARE),
            "graphs": list_of(text(), longest=100),
            "shared": mapping(list_of(either(_COUNT, _TEXTS), 2, 2)),
            **dict.fromkeys(
                ("graph rows", "graph near", "graph images"),
                optional(has({"settings": _GRAPH_SETTINGS, **_GRAPH_NOTES})),
            ),
        },
        agree=_prepared_agrees,
    ),
    "examine_candidates": StageSchema(
        {},  # shapes follow from the task: see fewfold.labeling.evidence_files
        notes={
            "members": list_of(
                has(
                    {"name": _METHOD, "seconds": real, "status": words},
                    {"arrays": _TEXTS, "notes": mapping(anything)},
                ),
                longest=1000,
            )
        },
    ),
    "label_rows": StageSchema(
        {
            "label": array("n", kinds="if", low=-1, high=2**31, nan=True),
            "confidence": array("n", nan=True),
            "second": array("n", kinds="iu", low=-1, high=2**31),
            "given": array("n", kinds="b"),
            "proba": array("n", "k", low=-1e-3, high=1 + 1e-3),
            "low": array("n", nan=True),
            "high": array("n", nan=True),
        },
        ("label", "given"),
        notes={
            "comparison": _COMPARISON,
            "task": _TASK,
            "warnings": _WARNINGS,
            "calibration_error": optional(has({"before": real, "after": real})),
        },
        agree=_answer_agrees,
    ),
    "draw_map": _whole(_MAP),
}  # fmt: skip
