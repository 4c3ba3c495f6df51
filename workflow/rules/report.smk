"""The map of each dataset, and the report."""


rule draw_map:
    """Place rows in the plane for the report, without labels."""
    input:
        features="results/{dataset}/features.h5",
    output:
        picture="results/{dataset}/map.h5",
    log:
        "logs/{dataset}/draw_map.log",
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("draw_map"),
        runtime=minutes_of("draw_map"),
    params:
        settings=lambda wildcards: {"seed": plan.run["seed"]},
        code=code_of("draw_map"),
    message:
        "Drawing the map of {wildcards.dataset}"
    script:
        "../../scripts/draw_map.py"


rule draw_figures:
    """Draw a method's own pictures for the first trial with the most labels."""
    input:
        unpack(training_inputs),
    output:
        figures="results/{dataset}/methods/{method}/figures.h5",
    log:
        "logs/{dataset}/methods/{method}/draw_figures.log",
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("draw_figures"),
        runtime=minutes_of("draw_figures"),
    params:
        settings=figure_settings,
        code=figure_code,
    message:
        "Drawing the pictures of {wildcards.method} on {wildcards.dataset}"
    script:
        "../../scripts/draw_figures.py"


rule make_report:
    """Write the report: one HTML file that opens offline."""
    input:
        metrics="results/metrics.csv",
        summary="results/summary.csv",
        comparisons="results/comparisons.csv",
        stages=all_paths(report_files()),
    output:
        page="results/report/index.html",
    log:
        "logs/make_report.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("make_report"),
        runtime=minutes_of("make_report"),
    params:
        files=report_files(),
        settings=lambda wildcards: {
            "config": config,
            "skipped": [
                [name, method, reason]
                for name in plan.run["datasets"]
                for method, reason in plan.skipped(name).items()
            ],
            "edges": used_edges(),
        },
        code=code_of("make_report"),
        templates=templates_digest("report"),
    message:
        "Writing the report"
    script:
        "../../scripts/make_report.py"
