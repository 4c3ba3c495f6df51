"""Transformed copies of labelled rows, shared by the methods that learn from them."""


rule make_copies:
    """Transform the rows that some draw labels, on a grid of parameters."""
    input:
        features="results/{dataset}/features.h5",
        splits="results/{dataset}/splits.h5",
    output:
        copies="results/{dataset}/copies/{transform}.h5",
    log:
        "logs/{dataset}/copies/{transform}/make_copies.log",
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("make_copies"),
        runtime=minutes_of("make_copies"),
    params:
        settings=copies_settings,
        code=code_of("make_copies"),
    message:
        "Making the copies {wildcards.transform} of {wildcards.dataset}"
    script:
        "../../scripts/make_copies.py"
