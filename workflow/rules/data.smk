"""From sources to features, labels and labelled draws."""


rule fetch_dataset:
    """Read a published set, a generator or the user's file; download if need be."""
    input:
        files=source_files,
    output:
        raw="results/{dataset}/raw.h5",
    log:
        "logs/{dataset}/fetch_dataset.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("fetch_dataset"),
        runtime=minutes_of("fetch_dataset"),
    params:
        settings=source_settings,
        code=code_of("fetch_dataset"),
    message:
        "Fetching {wildcards.dataset}"
    script:
        "../../scripts/fetch_dataset.py"


rule prepare_features:
    """Check, scale and project the features; set new rows apart."""
    input:
        raw=prepared_from("features"),
    output:
        features="results/{dataset}/features.h5",
    log:
        "logs/{dataset}/prepare_features.log",
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        mem_mb=memory_of("prepare_features"),
        runtime=minutes_of("prepare_features"),
    params:
        settings=feature_settings,
        code=code_of("prepare_features"),
    message:
        "Preparing the features of {wildcards.dataset}"
    script:
        "../../scripts/prepare_features.py"


rule prepare_labels:
    """Keep the truth apart from the features, so that new labels re-run little."""
    input:
        raw=prepared_from("labels"),
    output:
        labels="results/{dataset}/labels.h5",
    log:
        "logs/{dataset}/prepare_labels.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("prepare_labels"),
        runtime=minutes_of("prepare_labels"),
    params:
        settings=holdout_settings,
        code=code_of("prepare_labels"),
    message:
        "Preparing the labels of {wildcards.dataset}"
    script:
        "../../scripts/prepare_labels.py"


rule draw_splits:
    """Draw the labelled rows of every trial, once for all methods."""
    input:
        labels="results/{dataset}/labels.h5",
    output:
        splits="results/{dataset}/splits.h5",
    log:
        "logs/{dataset}/draw_splits.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("draw_splits"),
        runtime=minutes_of("draw_splits"),
    params:
        settings=split_settings,
        code=code_of("draw_splits"),
    message:
        "Drawing the labelled rows of {wildcards.dataset}"
    script:
        "../../scripts/draw_splits.py"
