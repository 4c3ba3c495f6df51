"""Neighbour graphs: tiles of the search, the weighted graph, its extension to new rows."""

# Settings that do not change which neighbours are found.
WEIGHT_KEYS = ("weights", "bandwidth", "symmetrize", "tile_rows")


def rerank_modules(graph):
    """Modules behind a graph's own metric, beyond what the script imports."""
    return []


def search_settings(wildcards):
    return {
        "search": plain(config["graphs"][wildcards.graph], WEIGHT_KEYS),
        "tile": int(wildcards.tile),
        "n_tiles": plan.graph_tiles(wildcards.dataset, wildcards.graph),
    }


def graph_settings(wildcards):
    shape = plan.image_shape(wildcards.dataset)
    return {
        "graph_settings": plain(config["graphs"][wildcards.graph], ("tile_rows",)),
        "image_shape": list(shape) if shape else None,
    }


def neighbor_tiles(wildcards):
    count = plan.graph_tiles(wildcards.dataset, wildcards.graph)
    return expand(
        "results/{dataset}/graphs/{graph}/neighbors_{tile}.h5",
        tile=range(count),
        **wildcards,
    )


rule search_neighbors:
    """Find the nearest rows of one tile of rows."""
    input:
        features="results/{dataset}/features.h5",
    output:
        neighbors="results/{dataset}/graphs/{graph}/neighbors_{tile}.h5",
    log:
        "logs/{dataset}/graphs/{graph}/search_neighbors_{tile}.log",
    cache: True
    threads: 2
    params:
        settings=search_settings,
        code=code_of("search_neighbors"),
    message:
        "Searching neighbours in {wildcards.dataset} ({wildcards.graph}, tile {wildcards.tile})"
    script:
        "../../scripts/search_neighbors.py"


rule build_graph:
    """Weigh and symmetrise the neighbours; note components and isolated points."""
    input:
        tiles=neighbor_tiles,
    output:
        graph="results/{dataset}/graphs/{graph}.h5",
    log:
        "logs/{dataset}/graphs/{graph}/build_graph.log",
    threads: 1
    params:
        settings=graph_settings,
        code=code_of("build_graph"),
    message:
        "Building the graph {wildcards.graph} of {wildcards.dataset}"
    script:
        "../../scripts/build_graph.py"


rule extend_graph:
    """Weigh the graph's nodes for rows that it never saw."""
    input:
        features="results/{dataset}/features.h5",
        graph="results/{dataset}/graphs/{graph}.h5",
    output:
        extension="results/{dataset}/graphs/{graph}.new.h5",
    log:
        "logs/{dataset}/graphs/{graph}/extend_graph.log",
    cache: True
    threads: 2
    params:
        code=code_of("extend_graph"),
    message:
        "Attaching new rows of {wildcards.dataset} to {wildcards.graph}"
    script:
        "../../scripts/extend_graph.py"
