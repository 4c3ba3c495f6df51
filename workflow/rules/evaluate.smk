"""From predictions to tables."""


rule evaluate_method:
    """Score one method on one dataset: a row per draw and label budget."""
    input:
        labels="results/{dataset}/labels.h5",
        splits="results/{dataset}/splits.h5",
        batches=prediction_batches,
    output:
        metrics="results/{dataset}/methods/{method}/metrics.csv",
    log:
        "logs/{dataset}/methods/{method}/evaluate_method.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("evaluate_method"),
        runtime=minutes_of("evaluate_method"),
    params:
        settings=lambda wildcards: {
            "dataset": wildcards.dataset,
            "method": wildcards.method,
        },
        code=code_of("evaluate_method"),
    message:
        "Evaluating {wildcards.method} on {wildcards.dataset}"
    script:
        "../../scripts/evaluate_method.py"


rule collect_metrics:
    """Put all rows into one table, summarise it and compare the methods."""
    input:
        parts=[f"results/{d}/methods/{m}/metrics.csv" for d, m in plan.pairs],
    output:
        metrics="results/metrics.csv",
        summary="results/summary.csv",
        comparisons="results/comparisons.csv",
    log:
        "logs/collect_metrics.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("collect_metrics"),
        runtime=minutes_of("collect_metrics"),
    params:
        code=code_of("collect_metrics"),
    message:
        "Collecting the metrics"
    script:
        "../../scripts/collect_metrics.py"
