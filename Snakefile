"""fewfold: labels for a whole dataset from a few, by the shape of the data."""

from snakemake.utils import min_version

min_version("9.10")


configfile: workflow.source_path("config/config.yaml")


include: "workflow/rules/common.smk"
include: "workflow/rules/settings.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/graph.smk"
include: "workflow/rules/copies.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/label_settings.smk"
include: "workflow/rules/label.smk"


rule all:
    """Everything the config asks for: tables and report."""
    default_target: True
    input:
        "results/metrics.csv",
        "results/summary.csv",
        "results/comparisons.csv",
        "results/report/index.html",
