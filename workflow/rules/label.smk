"""Labelling the user's own file: choose a method, label all rows, report, model file.

Not part of the default target; `fewfold label` asks for these files.
"""


rule choose_method:
    """Compare the candidates on held-out labels."""
    input:
        unpack(jobs.inputs("choose_method")),
    output:
        **layout.OUTPUTS["choose_method"],
    log:
        layout.log("choose_method"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("choose_method"),
    params:
        files=jobs.candidate_batches,
        settings=jobs.choice_settings,
        code=jobs.code("choose_method"),
    message:
        "Choosing a method for {wildcards.dataset}"
    script:
        "../../scripts/choose_method.py"


rule label_rows:
    """Label all rows with the chosen method and all labels."""
    input:
        unpack(jobs.inputs("label_rows")),
    output:
        **layout.OUTPUTS["label_rows"],
    log:
        layout.log("label_rows"),
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("train_method"),
    params:
        files=jobs.chain_files,
        settings=jobs.answer_settings,
        code=jobs.answer_code("label_rows"),
    message:
        "Labelling all rows of {wildcards.dataset}"
    script:
        "../../scripts/label_rows.py"


rule cluster_rows:
    """Put the rows into groups, without labels."""
    input:
        unpack(jobs.inputs("cluster_rows")),
    output:
        **layout.OUTPUTS["cluster_rows"],
    log:
        layout.log("cluster_rows"),
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("train_method"),
    params:
        settings=jobs.cluster_settings,
        code=jobs.code("cluster_rows"),
    message:
        "Grouping the rows of {wildcards.dataset}"
    script:
        "../../scripts/cluster_rows.py"


rule save_model:
    """Write what is needed to label new rows."""
    input:
        unpack(jobs.inputs("save_model")),
    output:
        **layout.OUTPUTS["save_model"],
    log:
        layout.log("save_model"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("draw_map"),
    params:
        settings=jobs.model_settings,
        code=jobs.code("save_model"),
    message:
        "Saving the model of {wildcards.dataset}"
    script:
        "../../scripts/save_model.py"


rule make_label_report:
    """Write labels.csv, what to label next, and the report."""
    input:
        unpack(jobs.inputs("make_label_report")),
    output:
        **layout.OUTPUTS["make_label_report"],
    log:
        layout.log("make_label_report"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("make_report"),
    params:
        settings=jobs.label_report_settings,
        code=jobs.code("make_label_report"),
        templates=jobs.templates("report", "labeling"),
    message:
        "Writing the report of {wildcards.dataset}"
    script:
        "../../scripts/make_label_report.py"
