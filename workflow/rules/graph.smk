"""Neighbor graphs: tiles of the search, the weighted graph, its extension to new rows."""


rule index_neighbors:
    """Sort many rows into lists, once for all tiles of their approximate search."""
    input:
        unpack(jobs.inputs("index_neighbors")),
    output:
        **layout.OUTPUTS["index_neighbors"],
    log:
        layout.log("index_neighbors"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("index_neighbors"),
    params:
        settings=jobs.index_settings,
        code=jobs.code("index_neighbors"),
    message:
        "Indexing {wildcards.dataset} for the search of {wildcards.graph}"
    script:
        "../../scripts/index_neighbors.py"


rule search_neighbors:
    """Find the nearest rows of one tile of rows."""
    input:
        unpack(jobs.inputs("search_neighbors")),
    output:
        **layout.OUTPUTS["search_neighbors"],
    log:
        layout.log("search_neighbors"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("search_neighbors"),
    params:
        settings=jobs.search_settings,
        code=jobs.graph_code("search_neighbors"),
    message:
        "Searching neighbors in {wildcards.dataset} ({wildcards.graph}, tile {wildcards.tile})"
    script:
        "../../scripts/search_neighbors.py"


rule build_graph:
    """Weigh and symmetrize the neighbors (of few rows, search them first); note components."""
    input:
        unpack(jobs.inputs("build_graph")),
    output:
        **layout.OUTPUTS["build_graph"],
    log:
        layout.log("build_graph"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("build_graph"),
    params:
        settings=jobs.graph_settings,
        code=jobs.graph_code("build_graph"),
    message:
        "Building the graph {wildcards.graph} of {wildcards.dataset}"
    script:
        "../../scripts/build_graph.py"


rule extend_graph:
    """Weigh the graph's nodes for rows that it never saw."""
    input:
        unpack(jobs.inputs("extend_graph")),
    output:
        **layout.OUTPUTS["extend_graph"],
    log:
        layout.log("extend_graph"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("extend_graph"),
    params:
        settings=jobs.graph_settings,
        code=jobs.graph_code("extend_graph"),
    message:
        "Attaching new rows of {wildcards.dataset} to {wildcards.graph}"
    script:
        "../../scripts/extend_graph.py"
