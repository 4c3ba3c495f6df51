"""The checked plan of the config; `jobs` and `layout` give rules their inputs, settings and paths."""

from pathlib import Path

from fewfold.config.label_jobs import LabelJobs
from fewfold.config.plan import Plan
from fewfold.config.schema import read_schema
from fewfold.config.schema import validate as validate_config
from fewfold.pipeline import layout

ROOT = Path(workflow.basedir)

validate_config(config, read_schema(ROOT))
jobs = LabelJobs(Plan(config), ROOT)


# Jobs of a second or two: not worth a place in a cluster's queue.
localrules:
    prepare_labels,
    join_kernel,
    collect_metrics,


wildcard_constraints:
    **layout.WILDCARDS,
