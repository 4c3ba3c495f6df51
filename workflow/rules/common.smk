"""The checked plan of the config; `jobs` and `layout` give rules their inputs, settings and paths."""

from fewfold.config.defaults import with_defaults
from fewfold.config.label_jobs import LabelJobs
from fewfold.config.paths import resolve_paths
from fewfold.config.plan import Plan
from fewfold.config.schema import read_schema
from fewfold.config.schema import validate as validate_config
from fewfold.pipeline import layout
from fewfold.system.location import workflow_root

ROOT = workflow_root(workflow.current_basedir)

# A workflow that imports this one as a module gives its own config, without the defaults.
config = resolve_paths(with_defaults(config, ROOT), workflow.overwrite_configfiles)
validate_config(config, read_schema(ROOT))
jobs = LabelJobs(Plan(config), ROOT)


def reported(stage):
    """Return the outputs of a stage as parts of Snakemake's own report."""
    return {
        name: report(path, caption=f"../report/{name}.rst", category="Results")
        for name, path in layout.OUTPUTS[stage].items()
    }


# Jobs of a second or two: not worth a place in a cluster's queue.
localrules:
    prepare_labels,
    join_kernel,
    collect_metrics,


wildcard_constraints:
    **layout.WILDCARDS,
