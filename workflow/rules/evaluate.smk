"""From predictions to tables."""


rule collect_metrics:
    """Put all rows into one table, summarize it and compare the methods."""
    input:
        unpack(jobs.inputs("collect_metrics")),
    output:
        **reported("collect_metrics"),
    log:
        layout.log("collect_metrics"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("collect_metrics"),
    params:
        code=jobs.code("collect_metrics"),
    message:
        "Collecting the metrics"
    script:
        "../../scripts/collect_metrics.py"
