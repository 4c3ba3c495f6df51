"""The checked plan of the config, and the functions that rules take their inputs from."""

from pathlib import Path

import yaml

from fewfold.plan.parts import KERNELS, LEARNERS, MANIFOLDS
from fewfold.plan import resources as requests
from fewfold.plan.estimate import sizes_of
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


def kind_and_jobs(stage, wildcards):
    """The kind of graph, manifold, kernel or learner of a job, and how many share its stage."""
    for wildcard, section, key in (
        ("graph", "graphs", "metric"),
        ("manifold", "manifolds", "type"),
        ("kernel", "kernels", "type"),
        ("method", "methods", "learner"),
    ):
        if hasattr(wildcards, wildcard):
            name = getattr(wildcards, wildcard)
            jobs = (
                plan.graph_tiles(wildcards.dataset, name)
                if stage == "search_neighbors"
                else 1
            )
            return config[section][name].get(key, ""), jobs
    return "", 1


def sizes_for(stage, wildcards):
    """The sizes that a job's requests follow from; without a dataset, those of the largest."""
    if not hasattr(wildcards, "dataset"):
        return max(sizes_of(plan, name) for name in plan.run["datasets"])
    name = wildcards.dataset
    if stage in ("fetch_dataset", "prepare_features"):
        return sizes_of(plan, name)._replace(d=plan.describe(name).n_features)
    sizes = sizes_of(
        plan, name, all_draws=stage in ("compute_kernel_tile", "make_copies")
    )
    if stage == "compute_kernel_tile":
        tile_rows = config["kernels"][wildcards.kernel].get("tile_rows", 4000)
        return sizes._replace(labels=min(sizes.labels, tile_rows))
    return sizes


def memory_of(stage):
    """What a job of this stage asks for in MB; twice as much with each attempt."""

    def ask(wildcards, attempt):
        kind, _ = kind_and_jobs(stage, wildcards)
        return requests.grow(
            requests.memory_mb(stage, sizes_for(stage, wildcards), kind), attempt
        )

    return ask


def minutes_of(stage):
    """How long a job of this stage may run in minutes; twice as long with each attempt."""

    def ask(wildcards, attempt):
        kind, jobs = kind_and_jobs(stage, wildcards)
        return requests.grow(
            requests.runtime_min(stage, sizes_for(stage, wildcards), kind, jobs),
            attempt,
        )

    return ask
