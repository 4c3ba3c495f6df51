"""The checked plan of the config, and the functions that rules take their inputs from."""

from pathlib import Path

import yaml

from fewfold.plan.parts import KERNELS, LEARNERS, MANIFOLDS
from fewfold.plan import resources as requests
from fewfold.plan.plan import Plan
from fewfold.plan.schema import validate as validate_config
from fewfold.provenance import script_digest

ROOT = Path(workflow.basedir)

validate_config(
    config, yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
)
plan = Plan(config)


# Jobs of a second or two: not worth a place in a cluster's queue.
localrules:
    prepare_labels,
    draw_splits,
    join_kernel,
    evaluate_method,
    collect_metrics,


wildcard_constraints:
    dataset="[^/]+",
    graph="[^/]+?(?<!\\.new)",
    manifold="[^/]+?(?<!\\.points)",
    kernel="[^/]+",
    transform="[^/]+",
    method="[^/]+",
    tile="[0-9]+",
    first="[0-9]+",
    last="[0-9]+",


def code_of(stage, *modules, leave_out=()):
    """Digest of the library code behind a rule: a fix re-runs it, a comment does not."""
    return script_digest(
        ROOT / "scripts" / f"{stage}.py", *modules, leave_out=leave_out
    )


def plain(settings, leave_out=()):
    """A key-sorted plain dict: params are compared by their text."""
    return {k: settings[k] for k in sorted(settings) if k not in leave_out}


def sizes_of(name):
    """Rows, columns, labels and fits of a dataset, for the requests below."""
    shape, budgets = plan.describe(name), plan.dataset(name)["labels"]
    fits = len(budgets) * plan.run["trials_per_job"]
    return shape.n_samples, shape.n_features, plan.largest_budget(name), fits


def memory_of(rule):
    """What a job of this rule asks for in MB; more with each attempt."""

    def ask(wildcards, attempt):
        if not hasattr(wildcards, "dataset"):
            needs = [sizes_of(name)[:3] for name in plan.run["datasets"]]
            return requests.grow(
                max(requests.memory_mb(rule, *size) for size in needs), attempt
            )
        return requests.grow(
            requests.memory_mb(rule, *sizes_of(wildcards.dataset)[:3]), attempt
        )

    return ask


def minutes_of(rule):
    """How long a job of this rule may run in minutes; longer with each attempt."""

    def ask(wildcards, attempt):
        if not hasattr(wildcards, "dataset"):
            return requests.grow(10, attempt)
        return requests.grow(
            requests.runtime_min(rule, *sizes_of(wildcards.dataset)), attempt
        )

    return ask
