"""Labeling the user's own file: prepare, examine candidates, label and report.

Not part of the default target; `fewfold label` asks for these files.
"""


rule prepare_candidates:
    """Compute what candidates need and no label changes: graphs, kernels, clusters, the map."""
    input:
        unpack(jobs.inputs("prepare_candidates")),
    output:
        **layout.OUTPUTS["prepare_candidates"],
    log:
        layout.log("prepare_candidates"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("prepare_candidates"),
    params:
        files=jobs.label_graphs,
        settings=jobs.preparation_settings,
        code=jobs.answer_code("prepare_candidates"),
    message:
        "Preparing the candidates"
    script:
        "../../scripts/prepare_candidates.py"


rule examine_candidates:
    """Hold labels out of some candidates, and fit them to all labels (many rows only)."""
    input:
        unpack(jobs.inputs("examine_candidates")),
    output:
        **layout.OUTPUTS["examine_candidates"],
    log:
        layout.log("examine_candidates"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("examine_candidates"),
    params:
        files=jobs.task_files,
        settings=jobs.examination_settings,
        code=jobs.answer_code("examine_candidates"),
    message:
        "Examining candidates ({wildcards.tile})"
    script:
        "../../scripts/examine_candidates.py"


rule label_rows:
    """Combine the candidates, label all rows, write the model for new rows, and the report."""
    input:
        unpack(jobs.inputs("label_rows")),
    output:
        **layout.OUTPUTS["label_rows"],
    log:
        layout.log("label_rows"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("label_rows"),
    params:
        files=jobs.answer_files,
        settings=jobs.answer_settings,
        shown=jobs.label_report_settings,
        code=jobs.answer_code("label_rows"),
        templates=jobs.templates("report", "labeling"),
    message:
        "Labeling all rows"
    script:
        "../../scripts/label_rows.py"
