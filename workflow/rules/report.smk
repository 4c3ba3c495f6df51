"""The map of each dataset, and the report."""


rule draw_map:
    """Place rows in the plane for the report, without labels."""
    input:
        unpack(jobs.inputs("draw_map")),
    output:
        **layout.OUTPUTS["draw_map"],
    log:
        layout.log("draw_map"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("draw_map"),
    params:
        settings={"seed": jobs.seed},
        code=jobs.code("draw_map"),
    message:
        "Drawing the map of {wildcards.dataset}"
    script:
        "../../scripts/draw_map.py"


rule make_report:
    """Write the report: one HTML file that opens offline."""
    input:
        unpack(jobs.inputs("make_report")),
    output:
        **reported("make_report"),
    log:
        layout.log("make_report"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("make_report"),
    params:
        files=jobs.report_files(),
        settings=jobs.report_settings,
        code=jobs.code("make_report"),
        templates=jobs.templates("report"),
    message:
        "Writing the report"
    script:
        "../../scripts/make_report.py"
