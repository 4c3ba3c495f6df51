"""From sources to features, labels and labeled draws."""


rule fetch_dataset:
    """Read a published set, a generator or the user's file; download if need be."""
    input:
        unpack(jobs.inputs("fetch_dataset")),
    output:
        **layout.OUTPUTS["fetch_dataset"],
    log:
        layout.log("fetch_dataset"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("fetch_dataset"),
    params:
        settings=jobs.source_settings,
        code=jobs.code("fetch_dataset"),
    message:
        "Fetching {wildcards.dataset}"
    script:
        "../../scripts/fetch_dataset.py"


rule prepare_features:
    """Check, scale and project the features; set new rows apart."""
    input:
        unpack(jobs.inputs("prepare_features")),
    output:
        **layout.OUTPUTS["prepare_features"],
    log:
        layout.log("prepare_features"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("prepare_features"),
    params:
        settings=jobs.feature_settings,
        code=jobs.code("prepare_features"),
    message:
        "Preparing the features of {wildcards.dataset}"
    script:
        "../../scripts/prepare_features.py"


rule prepare_labels:
    """Keep the truth apart from the features; draw the labeled rows of every trial."""
    input:
        unpack(jobs.inputs("prepare_labels")),
    output:
        **layout.OUTPUTS["prepare_labels"],
    log:
        layout.log("prepare_labels"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("prepare_labels"),
    params:
        settings=jobs.label_settings,
        code=jobs.code("prepare_labels"),
    message:
        "Preparing the labels and draws of {wildcards.dataset}"
    script:
        "../../scripts/prepare_labels.py"
