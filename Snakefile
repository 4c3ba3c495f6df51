"""fewfold: labels for a whole dataset from a few, by the shape of the data."""

from snakemake.utils import min_version

from fewfold.pipeline import unfinished

min_version("9.10")


configfile: workflow.source_path("config/config.yaml")


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/graph.smk"
include: "workflow/rules/copies.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/label.smk"


if workflow.is_main_process:  # not in the jobs that it starts
    unfinished.warn_unless_forced()


onstart:
    if workflow.is_main_process:
        unfinished.set_out(
            f for job in workflow.dag.needrun_jobs() for f in job.output
        )


onsuccess:
    if workflow.is_main_process:
        unfinished.succeeded()


rule all:
    """Everything the config asks for: tables and report."""
    default_target: True
    input:
        layout.TARGETS,
