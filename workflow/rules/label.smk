"""Labelling the user's own file: choose a method, label all rows, report, model file.

Not part of the default target; `fewfold label` asks for these files.
"""


rule choose_method:
    """Compare the candidates on held-out labels."""
    input:
        labels="results/{dataset}/labels.h5",
        splits="results/{dataset}/splits.h5",
        batches=lambda wildcards: flat_paths(candidate_batches(wildcards)),
    output:
        choice="results/{dataset}/choice.h5",
    log:
        "logs/{dataset}/choose_method.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("choose_method"),
        runtime=minutes_of("choose_method"),
    params:
        files=candidate_batches,
        settings=lambda wildcards: {
            "methods": label_methods(wildcards),
            **{
                k: v for k, v in label_settings().items() if k in ("n_folds", "reason")
            },
        },
        code=code_of("choose_method"),
    message:
        "Choosing a method for {wildcards.dataset}"
    script:
        "../../scripts/choose_method.py"


rule label_rows:
    """Label all rows with the chosen method and all labels."""
    input:
        choice="results/{dataset}/choice.h5",
        files=lambda wildcards: flat_paths(chain_files(wildcards)),
    output:
        answer="results/{dataset}/answer.h5",
    log:
        "logs/{dataset}/label_rows.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        mem_mb=memory_of("train_method"),
        runtime=minutes_of("train_method"),
    params:
        files=chain_files,
        settings=lambda wildcards: {
            "methods": method_entries(wildcards),
            "seed": plan.run["seed"],
        },
        code=label_code("label_rows"),
    message:
        "Labelling all rows of {wildcards.dataset}"
    script:
        "../../scripts/label_rows.py"


rule cluster_rows:
    """Put the rows into groups, without labels."""
    input:
        features="results/{dataset}/features.h5",
        manifold="results/{dataset}/manifolds/basis.h5",
    output:
        clusters="results/{dataset}/clusters.h5",
    log:
        "logs/{dataset}/cluster_rows.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        mem_mb=memory_of("train_method"),
        runtime=minutes_of("train_method"),
    params:
        settings=lambda wildcards: {
            "n_clusters": label_settings().get("classes"),
            "seed": plan.run["seed"],
        },
        code=code_of("cluster_rows"),
    message:
        "Grouping the rows of {wildcards.dataset}"
    script:
        "../../scripts/cluster_rows.py"


rule save_model:
    """Write what is needed to label new rows."""
    input:
        answer=answer_file,
        features="results/{dataset}/features.h5",
        labels="results/{dataset}/labels.h5",
        graph=position_graph,
        table="input/table.h5",
    output:
        model="results/{dataset}/label/model.h5",
    log:
        "logs/{dataset}/save_model.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("draw_map"),
        runtime=minutes_of("draw_map"),
    params:
        settings=lambda wildcards: {
            "learners": {
                m: config["methods"][m]["learner"] for m in label_methods(wildcards)
            }
        },
        code=code_of("save_model"),
    message:
        "Saving the model of {wildcards.dataset}"
    script:
        "../../scripts/save_model.py"


rule make_label_report:
    """Write labels.csv, what to label next, and the report."""
    input:
        answer=answer_file,
        features="results/{dataset}/features.h5",
        labels="results/{dataset}/labels.h5",
        graph=position_graph,
        picture="results/{dataset}/map.h5",
        table="input/table.h5",
        model="results/{dataset}/label/model.h5",
    output:
        labels="results/{dataset}/label/labels.csv",
        advice="results/{dataset}/label/label_next.csv",
        page="results/{dataset}/label/report.html",
        summary="results/{dataset}/label/summary.json",
    log:
        "logs/{dataset}/make_label_report.log",
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("make_report"),
        runtime=minutes_of("make_report"),
    params:
        settings=lambda wildcards: {
            "abstain": label_settings().get("abstain"),
            "config": {
                k: config[k] for k in ("run", "datasets", "label") if k in config
            },
        },
        code=code_of("make_label_report"),
        templates=templates_digest("report", "labelling"),
    message:
        "Writing the report of {wildcards.dataset}"
    script:
        "../../scripts/make_label_report.py"
