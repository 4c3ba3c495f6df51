"""Label-free computations of a labeling run: graphs, candidates' preparations, the map."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fewfold.graph.build import GraphSettings, NeighborGraph, build_graph
from fewfold.labeling.examining import Task, prepare
from fewfold.labeling.first_weights import explained_by_neighbors
from fewfold.linalg.laplacian import components
from fewfold.methods.members import ROWS_GRAPH, named_members
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.graph_files import add_graph, graph_in, read_graph
from fewfold.pipeline.layout import LABEL_COMMAND
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stage_schemas import OWN_WEIGHTS

STAGE = "prepare_candidates"


@dataclass(frozen=True)
class Prepared:
    """Graphs by name, arrays by member, the map, and the similarity of neighbors."""

    graphs: dict
    shared: dict
    shown: np.ndarray
    positions: np.ndarray
    explained: float | None


def compute_prepared(
    data, graph_files: dict, *, members, task, graphs: dict, seed: int, own_graph=None, quick=False
) -> Prepared:
    """Compute everything that needs no label.

    Parameters
    ----------
    data : Features
    graph_files : dict of name to path
        Graphs that rules of their own built, because there are many rows.
    members : list of str
    task : str
    graphs : dict of name to settings
        Of the graphs that are built here.
    seed : int
    own_graph : path-like, optional
        The user's weights, which take the place of those of all graphs.
    quick : bool
        Draw the map by principal components.
    """
    from fewfold.report.map_positions import map_rows

    found = {name: read_graph(file) for name, file in graph_files.items()}
    for name, settings in graphs.items():
        chosen = GraphSettings.from_dict(settings).for_images(data.image_shape)
        found[name] = build_graph(data.X, chosen)
    if own_graph is not None:
        found = {name: with_weights(graph, own_graph) for name, graph in found.items()}
    none = np.full(data.X.shape[0], np.nan)
    setting = Task(data.X, none, task, seed=seed, graphs=found, image_shape=data.image_shape)
    shown, positions = map_rows(data.X, n_shown=1000, random_state=seed, quick=quick)
    is_sparse = hasattr(data.X, "tocsr")
    return Prepared(
        graphs=found,
        shared={m.name: prepare(m, setting) for m in named_members(task, members)
                if m.prepares(task)},
        shown=shown,
        positions=positions,
        explained=None if is_sparse else explained_by_neighbors(data.X, seed=seed),
    )  # fmt: skip


def write_prepared(path, features, graph_files: dict, *, own_graph=None, **settings) -> None:
    """Compute and write everything that needs no label; settings as in `compute_prepared`."""
    found = compute_prepared(read_features(features), graph_files, own_graph=own_graph, **settings)
    # Graphs of other rules stay in their files, unless the user's weights replaced theirs.
    own = [name for name in found.graphs if own_graph is not None or name not in graph_files]
    sources = [features, *graph_files.values(), *([] if own_graph is None else [own_graph])]
    with writing(path, STAGE, seed=settings["seed"], inputs=sources) as out:
        for name in own:
            graph = found.graphs[name]
            notes = add_graph(out, graph, f"{name}.")
            out.note(f"graph {name}", {"settings": graph.settings.to_dict(), **notes})
        names = {}
        for number, (member, arrays) in enumerate(found.shared.items()):
            names[member] = [number, sorted(arrays)]
            for key, value in arrays.items():
                out.add(f"shared{number}.{key}", np.asarray(value))
        out.note("shared", names)
        out.note("graphs", sorted(own))
        out.note("explained", found.explained)
        out.add("shown", found.shown)
        out.add("positions", found.positions)


def with_weights(graph: NeighborGraph, path) -> NeighborGraph:
    """Return a graph with the user's weights; neighbors, for new rows, stay those of features."""
    with read(path, LABEL_COMMAND, schema=OWN_WEIGHTS) as file:
        W = file["W"]
        if W.shape != graph.W.shape:
            file.fail(f"holds a graph of {W.shape[0]} rows, not {graph.W.shape[0]}")
    count, component = components(W)
    isolated = np.flatnonzero(np.diff(W.indptr) == 0)
    return replace(graph, W=W, n_components=count, component=component, isolated=isolated)


def read_prepared(path, graph_files: dict, n_rows: int) -> Prepared:
    """Read what `write_prepared` wrote, and the graphs of other rules."""
    with read(path, STAGE) as file:
        own = file.note("graphs")  # also those of rules, if they got the user's weights
        graphs = {n: read_graph(file_) for n, file_ in graph_files.items() if n not in own}
        for name in own:
            notes = file.note(f"graph {name}")
            graphs[name] = graph_in(file, notes, notes["settings"], f"{name}.")
        shared = {
            member: {key: file[f"shared{number}.{key}"] for key in keys}
            for member, (number, keys) in file.note("shared").items()
        }
        shown, positions = file["shown"], file["positions"]
        explained = file.note("explained")
        file.check_rows("shown", shown, n_rows)
        if ROWS_GRAPH not in graphs:
            file.fail(f"lacks the graph {ROWS_GRAPH!r}")
        for name, graph in graphs.items():
            if graph.W.shape[0] != n_rows:
                file.fail(f"holds a graph {name!r} of {graph.W.shape[0]} rows, not {n_rows}")
    return Prepared(graphs, shared, shown, positions, explained)
