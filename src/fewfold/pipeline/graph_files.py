"""Neighbors and graphs as stage files."""

from __future__ import annotations

import numpy as np

from fewfold.graph.build import GraphSettings, NeighborGraph
from fewfold.graph.neighbors import Neighbors
from fewfold.pipeline import artifacts


def write_neighbors(path, neighbors: Neighbors, *, first_row=0, stage="search_neighbors", **prov):
    """Write one tile of a neighbor search."""
    with artifacts.writing(path, stage, **prov) as out:
        out.add("indices", neighbors.indices)
        out.add("distances", neighbors.distances)
        out.note("first_row", int(first_row))
        out.note("recall", neighbors.recall)


def read_neighbors(paths, stage="search_neighbors") -> Neighbors:
    """Read the tiles of a neighbor search, in order, as one."""
    tiles = [artifacts.read(p, stage) for p in paths]
    n, k = sum(t.shape("indices")[0] for t in tiles), tiles[0].shape("indices")[1]
    for tile in tiles:
        if tile.shape("indices")[1] != k:
            tile.fail(f"holds {tile.shape('indices')[1]} neighbors per row, the first tile {k}")
        tile.check_rows("indices", tile["indices"], n)
    recalls = [t.note("recall") for t in tiles if t.note("recall") is not None]
    weights = [t.shape("indices")[0] for t in tiles if t.note("recall") is not None]
    return Neighbors(
        np.concatenate([t["indices"] for t in tiles]),
        np.concatenate([t["distances"] for t in tiles]),
        float(np.average(recalls, weights=weights)) if recalls else None,
    )


def write_graph(path, graph: NeighborGraph, **prov) -> None:
    """Write a graph with its components and isolated points."""
    with artifacts.writing(path, "build_graph", settings=graph.settings.to_dict(), **prov) as out:
        out.add("W", graph.W)
        out.add("indices", graph.neighbors.indices)
        out.add("distances", graph.neighbors.distances)
        out.add("scales", graph.scales)
        out.add("component", graph.component)
        out.add("isolated", graph.isolated)
        out.note("bandwidth", graph.bandwidth)
        out.note("n_components", int(graph.n_components))
        out.note("recall", graph.neighbors.recall)


def read_graph(path) -> NeighborGraph:
    """Read a graph back."""
    with artifacts.read(path, "build_graph") as file:
        component, count = file["component"], file.note("n_components")
        if len(component) and component.max() + 1 != count:
            file.fail(f"announces {count} components but numbers {component.max() + 1}")
        return NeighborGraph(
            W=file["W"],
            neighbors=Neighbors(file["indices"], file["distances"], file.note("recall")),
            settings=GraphSettings.from_dict(file.settings),
            scales=file["scales"],
            bandwidth=file.note("bandwidth"),
            n_components=count,
            component=component,
            isolated=file["isolated"],
        )
