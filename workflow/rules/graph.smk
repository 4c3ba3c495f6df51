"""Neighbour graphs: tiles of the search, the weighted graph, its extension to new rows."""


rule search_neighbors:
    """Find the nearest rows of one tile of rows."""
    input:
        features="results/{dataset}/features.h5",
    output:
        neighbors="results/{dataset}/graphs/{graph}/neighbors_{tile}.h5",
    log:
        "logs/{dataset}/graphs/{graph}/search_neighbors_{tile}.log",
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        mem_mb=memory_of("search_neighbors"),
        runtime=minutes_of("search_neighbors"),
    params:
        settings=search_settings,
        code=graph_code("search_neighbors"),
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
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("build_graph"),
        runtime=minutes_of("build_graph"),
    params:
        settings=graph_settings,
        code=graph_code("build_graph"),
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
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        mem_mb=memory_of("extend_graph"),
        runtime=minutes_of("extend_graph"),
    params:
        code=graph_code("extend_graph"),
    message:
        "Attaching new rows of {wildcards.dataset} to {wildcards.graph}"
    script:
        "../../scripts/extend_graph.py"
