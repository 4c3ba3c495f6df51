"""The checked plan of the config, and the functions that rules take their inputs from."""

from pathlib import Path

import yaml

from fewfold.plan.parts import KERNELS, LEARNERS, MANIFOLDS
from fewfold.plan.plan import Plan
from fewfold.plan.schema import validate as validate_config
from fewfold.provenance import script_digest

ROOT = Path(workflow.basedir)

validate_config(
    config, yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
)
plan = Plan(config)


wildcard_constraints:
    dataset="[^/]+",
    graph="[^/]+?(?<!\\.new)",
    manifold="[^/]+?(?<!\\.points)",
    kernel="[^/]+",
    method="[^/]+",
    tile="[0-9]+",
    first="[0-9]+",
    last="[0-9]+",


def code_of(rule, *modules):
    """Digest of the library code behind a rule: a fix re-runs it, a comment does not."""
    return script_digest(ROOT / "scripts" / f"{rule}.py", *modules)


def plain(settings, leave_out=()):
    """A key-sorted plain dict: params are compared by their text."""
    return {k: settings[k] for k in sorted(settings) if k not in leave_out}


def seed_of(_):
    return plan.run["seed"]
