"""One sound file of each kind of stage, made by the workflow's own scripts, and its consumers.

A consumer reads a (changed) file as the program does, does with it what the next stage does, and
asserts what must hold of the result whatever the file said.
"""

import runpy
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
N_CLASSES = 3
TRANSFORM = {"name": "rotation", "step": 120}
CHAIN = ("features", "labels", "splits")
# The files of each method's chain beyond these three; changed one at a time.
METHODS = {
    "diffusion": (("graph", "extension"), {}),
    "eigenbasis": (("graph", "extension", "manifold"), {}),
    "embedded": (("embedding", "positions"), {"kind": "linear"}),
    "atlas_svm": (("atlas", "points"), {}),
    "svm": (("kernel",), {}),
    "mbed": (("sne",), {"n_annealing": 2, "n_steps": 12}),
    "multimanifold": (("hellinger", "partitions"), {}),
    "virtual_samples": (("copies",), {"cv": 3, "transform": TRANSFORM}),
}
# By which method a file is used.
USED_BY = {
    "features": "diffusion", "labels": "diffusion", "splits": "diffusion", "graph": "diffusion",
    "extension": "diffusion", "manifold": "eigenbasis", "embedding": "embedded",
    "positions": "embedded",
    "sne": "mbed", "hellinger": "multimanifold", "partitions": "multimanifold",
    "atlas": "atlas_svm", "points": "atlas_svm", "kernel": "svm", "copies": "virtual_samples",
}  # fmt: skip
STAGES = {
    "raw": "fetch_dataset", "features": "prepare_features", "labels": "prepare_labels",
    "splits": "draw_splits", "index": "index_neighbors", "neighbors": "search_neighbors",
    "graph": "build_graph",
    "extension": "extend_graph", "manifold": "fit_manifold", "embedding": "fit_manifold",
    "atlas": "fit_manifold", "sne": "fit_manifold", "hellinger": "fit_manifold",
    "points": "encode_points", "partitions": "encode_points",
    "positions": "encode_points", "tile": "compute_kernel_tile",
    "sparse_tile": "compute_kernel_tile", "kernel": "join_kernel", "copies": "make_copies",
    "predictions": "train_method", "prepared": "prepare_candidates",
    "evidence": "examine_candidates", "answer": "label_rows",
    "table": "fewfold label", "map": "draw_map",
}  # fmt: skip


def stage(name, *args, **options):
    """Run a script of the workflow."""
    runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))["main"](*args, **options)


def make_stage_files(folder):
    """Make all files of a small inductive dataset of images; returns kind -> path."""
    files = {name: str(folder / f"{name}.h5") for name in (*STAGES, "partial")}
    held = {"protocol": "inductive", "holdout": 0.2, "seed": 0}
    stage("fetch_dataset", files["raw"], source="digits",
          options={"n_samples": 60, "classes": ["0", "4", "6"]})  # fmt: skip
    stage("prepare_features", files["raw"], files["features"], scale="divide", divide_by=16.0,
          pca=None, **held)  # fmt: skip
    draws = {"dataset": "digits", "draw": "balanced", "labels_per_draw": [6, 12], "trials": 2,
             "evaluate": "unlabeled", "protocol": "inductive", "seed": 0}  # fmt: skip
    stage("prepare_labels", files["raw"], files["labels"], files["splits"], held_out=held,
          draws=draws)  # fmt: skip
    graph = {"n_neighbors": 5}
    stage("index_neighbors", files["features"], files["index"], search=INDEXED)
    stage("search_neighbors", files["features"], files["neighbors"], search=graph, tile=0,
          n_tiles=1)  # fmt: skip
    stage("build_graph", [files["neighbors"]], files["graph"], graph_settings=graph)
    stage("extend_graph", files["features"], files["graph"], files["extension"],
          graph_settings=graph)  # fmt: skip
    for name, kind, options in (("manifold", "eigenbasis", {"n_vectors": 8}),
                                ("embedding", "embedding", {"n_dims": 3}),
                                ("atlas", "atlas", {"n_dims": 2, "finer": 0.5}),
                                ("sne", "sne", {}), ("hellinger", "hellinger", {})):  # fmt: skip
        with_graph = files["graph"] if kind in ("eigenbasis", "atlas") else None
        stage("fit_manifold", files["features"], with_graph, files[name], kind=kind,
              options=options, seed=0)  # fmt: skip
    for name, kind in (
        ("points", "atlas"),
        ("positions", "embedding"),
        ("partitions", "hellinger"),
    ):
        _encode(kind, files, files[name])
    given = {k: files[k] for k in ("features", "splits", "points")}
    for name, kernel in (("tile", {"type": "rbf"}), ("sparse_tile", {"type": "atlas"})):
        stage("compute_kernel_tile", given, files[name], kernel=kernel, tile=0, n_tiles=1)
    stage("join_kernel", [files["tile"]], files["kernel"], settings={})
    stage("make_copies", files["features"], files["splits"], files["copies"],
          transform=TRANSFORM)  # fmt: skip
    stage("draw_map", files["features"], files["map"], seed=0)
    _make_answer(folder, files)
    return {name: Path(path) for name, path in files.items()}


def _encode(kind, files, out):
    given = {"features": files["features"], "manifold": files[kind]}
    given |= {"splits": files["splits"]} if kind == "hellinger" else {}
    options = {"q": 3} if kind == "atlas" else {}
    stage("encode_points", given, out, kind=kind, options=options)


def _make_answer(folder, files):
    from fewfold.pipeline.artifacts import writing

    chain = {k: files[k] for k in (*CHAIN, "graph", "extension")}
    stage("train_method", chain, files["predictions"], str(folder / "metrics.csv"),
          dataset="digits", methods={"predictions": {"learner": "diffusion", "options": {}}},
          first=0, last=2)  # fmt: skip
    n = 48
    with writing(files["table"], "fewfold label") as out:
        out.add("ids", [f"row {i}" for i in range(n)])
        out.note("columns", None)
        for key, value in (("id_name", "id"), ("sentences", ["48 rows."]), ("target", "kind"),
                           ("file", "a.csv"), ("warnings", [])):  # fmt: skip
            out.note(key, value)
    graph = {"n_neighbors": 5, "symmetrize": "mean"}
    stage("prepare_candidates", files["features"], {}, files["prepared"], members=MEMBERS,
          task="classification", graphs={"rows": graph}, seed=0)  # fmt: skip
    _relabel(files)
    stage("examine_candidates", _task(files), files["evidence"], members=MEMBERS, seed=0)
    _label(_task(files), files["answer"])


MEMBERS = ["diffusion", "eigenbasis", "clusters_2"]


def _label(task, answer):
    """Run the stage that labels; its other files go beside the answer."""
    names = {"model": "made_model.h5", "labels": "made.csv", "advice": "made_next.csv",
             "page": "made.html", "summary": "made.json"}  # fmt: skip
    outputs = {key: str(Path(answer).with_name(name)) for key, name in names.items()}
    shown = {"abstain": None, "spreadsheet_safe": False, "config": {}}
    stage("label_rows", task, outputs | {"answer": str(answer)}, shown=shown, members=MEMBERS,
          seed=0)  # fmt: skip


def _relabel(files):
    """Labels of which most are not given, as `fewfold label` has them."""
    from fewfold.pipeline.artifacts import read, writing

    with read(files["labels"], "prepare_labels") as file:
        y, classes = file["y"].copy(), file["classes"]
    y[24:] = -1
    with writing(files["partial"], "prepare_labels") as out:
        out.add("y", y)
        out.add("classes", classes)
        out.note("task", "classification")


def _task(files, **more):
    names = {"features": "features", "labels": "partial", "prepared": "prepared", "table": "table"}
    return {key: str(files[name]) for key, name in names.items()} | more


def use(kind, path, files):
    """Read a changed file, use it as the next stage does, and assert what must hold."""
    from fewfold.exceptions import FewfoldError

    files = {**files, kind: path, "made": path}
    refusal = None
    for run in (_MORE.get(kind), lambda f: _train(kind, f) if kind in USED_BY else
                _USES[kind](path, f)):  # fmt: skip
        try:
            if run is not None:
                run(files)
        except FewfoldError as error:  # what one stage refuses, another may yet take
            refusal = error
    if refusal is not None:
        raise refusal


def _train(kind, files):
    from fewfold.pipeline.chain_files import load_inputs
    from fewfold.pipeline.stage_files import read_splits
    from fewfold.pipeline.training import fit_draw

    learner = USED_BY[kind]
    extra, settings = METHODS[learner]
    aliases = {"embedding": "manifold", "atlas": "manifold", "positions": "points",
               "sne": "manifold", "hellinger": "manifold", "partitions": "points"}  # fmt: skip
    chain = {k: files[k] for k in CHAIN} | {aliases.get(k, k): files[k] for k in extra}
    inputs, truth = load_inputs(chain)
    splits = read_splits(chain["splits"], len(truth.y))
    if not len(splits.order) or not splits.budgets or not splits.budgets[-1]:
        return
    labeled = splits.order[0, : splits.budgets[-1]]
    if truth.task == "classification" and (truth.y[labeled] < 0).any():
        return  # a split of another dataset: the workflow refuses unlabeled rows when it draws
    outcome = fit_draw(learner, inputs, labeled, truth.y[labeled], n_classes=truth.n_classes,
                       seed=0, settings=settings)  # fmt: skip
    assert len(outcome.labels) == inputs.X.shape[0]
    if truth.task == "classification":
        for labels in (outcome.labels, outcome.labels_new):
            assert labels is None or ((labels >= -1) & (labels < truth.n_classes)).all()
        assert outcome.proba is None or np.isfinite(outcome.proba).all()


def _use_raw(path, files):
    held = {"protocol": "inductive", "holdout": 0.2, "seed": 0}
    out = path.with_name("made.h5")
    stage("prepare_features", path, out, scale="divide", divide_by=16.0, pca=None, **held)
    from fewfold.pipeline.stage_files import read_features, read_labels

    X = read_features(out).X
    assert np.isfinite(X.data if hasattr(X, "tocsr") else X).all()
    runpy.run_path(str(ROOT / "scripts/prepare_labels.py"))["write_labels"](path, out, **held)
    assert len(read_labels(out).y) == X.shape[0]


INDEXED = {"n_neighbors": 5, "method": "approximate"}


def _use_index(path, files):
    from fewfold.graph.build import GraphSettings
    from fewfold.graph.tiles import search_tile
    from fewfold.pipeline.index_files import reading_index

    with reading_index(path, INDEXED) as index:
        rows, found = search_tile(index, GraphSettings(**INDEXED), 0, 1)
    assert sorted(rows) == list(range(len(rows))) and found.indices.shape == (len(rows), 5)
    assert (found.indices >= 0).all() and (found.indices < len(rows)).all()
    assert np.isfinite(found.distances).all()


def _use_neighbors(path, files):
    from fewfold.graph.build import GraphSettings, graph_from_neighbors
    from fewfold.pipeline.graph_files import read_neighbors

    found = read_neighbors([path])
    W = graph_from_neighbors(found, GraphSettings(n_neighbors=5)).W
    assert np.isfinite(W.data).all() and (W.data >= 0).all() and (abs(W - W.T)).max() == 0


def _use_tile(path, files):
    from fewfold.pipeline.kernel_files import KernelMatrix, join_tiles

    out = path.with_name("made.h5")
    join_tiles(out, [path], settings={})
    kernel = KernelMatrix(out)
    rows = kernel.all_rows(kernel.row_numbers)
    assert np.isfinite(rows).all() and rows.shape[1] == kernel.n + kernel.n_new


def _use_predictions(path, files):
    from fewfold.pipeline.stage_files import read_labels
    from fewfold.report.gather import _predictions

    n = len(read_labels(files["labels"]).y)
    view = _predictions({"splits": files["splits"], "predictions": {"a": path}}, n)["a"]
    assert len(view.labels) == n == len(view.confidence)


def _use_prepared(path, files):
    out = path.with_name("made.h5")
    _label(_task({**files, "prepared": path}), out)
    _use_answer(out, {**files, "answer": out, "prepared": path})


def _use_evidence(path, files):
    out = path.with_name("made.h5")
    _label(_task(files, evidence=[str(path)]), out)
    _use_answer(out, {**files, "answer": out})


def _use_answer(path, files):
    from fewfold.labeling.finishing import Material, advise, finish
    from fewfold.labeling.report_page import render_answer

    material = Material.read(_task(files) | {"answer": str(files["answer"])})
    finished = finish(material)
    assert len(finished.table) == 48
    if material.notes["task"] == "classification":
        assert set(finished.table["label"]) <= {"0", "4", "6", ""}
    advise(material, finished)
    render_answer(material, finished, config={})


def _use_map(path, files):
    from fewfold.pipeline.artifacts import read

    with read(path, "draw_map") as file:
        assert len(file["shown"]) == len(file["positions"])


def _search_and_fit(files):
    out = Path(files["made"]).with_name("more.h5")
    stage("search_neighbors", files["features"], out, search={"n_neighbors": 5}, tile=0, n_tiles=1)
    stage("extend_graph", files["features"], files["graph"], out,
          graph_settings={"n_neighbors": 5})  # fmt: skip
    stage("draw_map", files["features"], out, seed=0)


def _extend_and_fit(files):
    out = Path(files["made"]).with_name("more.h5")
    stage("extend_graph", files["features"], files["graph"], out,
          graph_settings={"n_neighbors": 5})  # fmt: skip
    stage("fit_manifold", files["features"], files["graph"], out, kind="eigenbasis",
          options={"n_vectors": 8}, seed=0)  # fmt: skip


def _encode_again(kind):
    return lambda files: _encode(kind, files, Path(files["made"]).with_name("more.h5"))


def _compute_tiles(files):
    given = {k: files[k] for k in ("features", "splits", "points")}
    for kernel in ("rbf", "atlas"):
        stage("compute_kernel_tile", given, Path(files["made"]).with_name("more.h5"),
              kernel={"type": kernel}, tile=0, n_tiles=1)  # fmt: skip


def _copy(files):
    stage("make_copies", files["features"], files["splits"],
          Path(files["made"]).with_name("more.h5"), transform=TRANSFORM)  # fmt: skip


# Other stages that read the file, beside the one that trains.
_MORE = {
    "features": _search_and_fit, "graph": _extend_and_fit, "atlas": _encode_again("atlas"),
    "embedding": _encode_again("embedding"), "hellinger": _encode_again("hellinger"),
    "points": _compute_tiles, "splits": _copy,
}  # fmt: skip
_USES = {
    "raw": _use_raw, "index": _use_index, "neighbors": _use_neighbors, "tile": _use_tile,
    "sparse_tile": _use_tile,
    "predictions": _use_predictions, "prepared": _use_prepared, "evidence": _use_evidence,
    "answer": _use_answer, "table": _use_answer, "map": _use_map,
}  # fmt: skip
