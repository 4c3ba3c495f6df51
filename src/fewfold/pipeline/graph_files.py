"""Neighbors and graphs as stage files."""

from __future__ import annotations

import numpy as np

from fewfold.graph.build import GraphSettings, NeighborGraph
from fewfold.graph.neighbors import Neighbors
from fewfold.pipeline import artifacts

_ARRAYS = ("W", "scales", "component", "isolated")
_NEIGHBORS = ("indices", "distances")


def write_neighbors(path, neighbors: Neighbors, rows=None, *, stage="search_neighbors", **prov):
    """Write one tile of a neighbor search; ``rows`` are its rows' numbers if not consecutive."""
    with artifacts.writing(path, stage, **prov) as out:
        out.add("indices", neighbors.indices)
        out.add("distances", neighbors.distances)
        if rows is not None:
            out.add("rows", rows)
        out.note("recall", neighbors.recall)


def read_neighbors(paths, stage="search_neighbors") -> Neighbors:
    """Read the tiles of a neighbor search as one: in order, or by the numbers of their rows."""
    tiles = [artifacts.read(p, stage) for p in paths]
    n, k = sum(t.shape("indices")[0] for t in tiles), tiles[0].shape("indices")[1]
    for tile in tiles:
        if tile.shape("indices")[1] != k:
            tile.fail(f"holds {tile.shape('indices')[1]} neighbors per row, the first tile {k}")
        tile.check_rows("indices", tile["indices"], n)
    indices = np.empty((n, k), np.int64)
    distances = np.empty((n, k), np.float32)
    for tile, rows in zip(tiles, _rows_of(tiles, n)):
        indices[rows], distances[rows] = tile["indices"], tile["distances"]
    return Neighbors(indices, distances, _recall_of(tiles))


def _rows_of(tiles, n):
    """Return the rows of each tile, which must be all rows, each once."""
    if not any("rows" in tile for tile in tiles):
        edges = np.cumsum([0, *(tile.shape("indices")[0] for tile in tiles)])
        return [slice(a, b) for a, b in zip(edges[:-1], edges[1:])]
    rows = [tile["rows"] for tile in tiles]
    seen = np.zeros(n, bool)
    for tile, own in zip(tiles, rows):
        tile.check_rows("rows", own, n)
        if seen[own].any() or len(np.unique(own)) < len(own):
            tile.fail("names rows that another tile has, or a row twice")
        seen[own] = True
    return rows


def _recall_of(tiles):
    """Return the tiles' mean recall; that of their index where all have the same."""
    known = [t for t in tiles if t.note("recall") is not None]
    recalls = [t.note("recall") for t in known]
    if len(set(recalls)) < 2:
        return recalls[0] if recalls else None
    return float(np.average(recalls, weights=[t.shape("indices")[0] for t in known]))


def add_graph(out, graph: NeighborGraph, prefix: str = "") -> dict:
    """Add the arrays of a graph to a file; return what else `graph_in` needs, as plain values."""
    for key in _ARRAYS:
        out.add(prefix + key, getattr(graph, key))
    for key in _NEIGHBORS:
        out.add(prefix + key, getattr(graph.neighbors, key))
    return {
        "bandwidth": float(graph.bandwidth),
        "n_components": int(graph.n_components),
        "recall": graph.neighbors.recall,
    }


def graph_in(file, notes: dict, settings: dict, prefix: str = "") -> NeighborGraph:
    """Return a graph whose arrays an open file holds."""
    arrays = {key: file[prefix + key] for key in (*_ARRAYS, *_NEIGHBORS)}
    component, count = arrays["component"], notes["n_components"]
    if len(component) and component.max() + 1 != count:
        file.fail(f"announces {count} components but numbers {component.max() + 1}")
    for key in ("indices", "isolated", "component"):
        file.check_rows(prefix + key, arrays[key], len(arrays["scales"]))
    neighbors = Neighbors(*(arrays.pop(key) for key in _NEIGHBORS), notes["recall"])
    return NeighborGraph(
        neighbors=neighbors,
        settings=GraphSettings.from_dict(settings),
        bandwidth=notes["bandwidth"],
        n_components=count,
        **arrays,
    )


def write_graph(path, graph: NeighborGraph, **prov) -> None:
    """Write a graph with its components and isolated points."""
    with artifacts.writing(path, "build_graph", settings=graph.settings.to_dict(), **prov) as out:
        for key, value in add_graph(out, graph).items():
            out.note(key, value)


def read_graph(path) -> NeighborGraph:
    """Read a graph back."""
    with artifacts.read(path, "build_graph") as file:
        notes = {key: file.note(key) for key in ("bandwidth", "n_components", "recall")}
        return graph_in(file, notes, file.settings)
