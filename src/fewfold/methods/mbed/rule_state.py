"""The fitted rules of neighborhoods as plain arrays, and back."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.mbed.neighborhoods import (
    DiffusedNeighborhoods,
    GlobalNeighborhoods,
    GraphNeighborhoods,
    LocalNeighborhoods,
    SparseNeighborhoods,
)
from fewfold.methods.parameters import count, number, one_of, positive
from fewfold.methods.state import Field, Setting

_RULES = {
    "global": GlobalNeighborhoods,
    "local": LocalNeighborhoods,
    "graph": GraphNeighborhoods,
    "sparse": SparseNeighborhoods,
}
RULE_STATE = (
    Setting("rule", one_of(*_RULES)),
    Setting("rule_walk", number(above=0, below=1), optional=True),
    Setting("rule_scale", positive(), optional=True),
    Setting("rule_perplexity", number(1), optional=True),
    Setting("rule_neighbors", count(), optional=True),
    Field("rule_precision", "float", ("n",), low=0, optional=True),
    Field("rule_log_totals", "float", ("n",)),
    Field("rule_strength", "float", ("n",), low=0, optional=True),
    Field("rule_walks", "float", ("n", "n"), optional=True),
)


def rule_state(rule) -> dict:
    """Return the state of a fitted rule; that of a diffused one is its local rule's and a walk."""
    values = dict.fromkeys(field.name for field in RULE_STATE)
    if isinstance(rule, DiffusedNeighborhoods):
        values |= rule_state(rule.local)
        return values | {
            "rule_walk": float(rule.walk),
            "rule_strength": rule.strength,
            "rule_walks": rule.R,
        }
    values["rule"] = next(name for name, kind in _RULES.items() if type(rule) is kind)
    values["rule_log_totals"] = np.asarray(rule.log_totals)
    if isinstance(rule, GlobalNeighborhoods):
        return values | {"rule_scale": float(rule.scale)}
    values |= {"rule_perplexity": float(rule.perplexity_), "rule_precision": rule.precision}
    if isinstance(rule, SparseNeighborhoods):
        values["rule_neighbors"] = int(rule.k)
    return values


def rule_from_state(values: dict):
    """Take a rule's state out of checked values and return the rule."""
    found = {field.name: values.pop(field.name) for field in RULE_STATE}
    name, perplexity = found["rule"], found["rule_perplexity"]
    needed = {"global": ["scale"], "sparse": ["perplexity", "precision", "neighbors"]}
    diffused = ["walk", "walks", "strength"]
    if all(found[f"rule_{key}"] is None for key in diffused):
        diffused = []
    for key in [*needed.get(name, ["perplexity", "precision"]), *diffused]:
        if found[f"rule_{key}"] is None:
            raise InputError(f"The model has no 'rule_{key}', which its rule {name!r} needs.")
    if name == "global":
        rule = GlobalNeighborhoods(0.5)
        rule.scale = found["rule_scale"]
    elif name == "sparse":
        rule = SparseNeighborhoods(found["rule_neighbors"], perplexity, values["metric_"])
        rule.k = found["rule_neighbors"]
    else:
        rule = _RULES[name](perplexity)
    rule.log_totals = found["rule_log_totals"]
    if name != "global":
        rule.perplexity_, rule.precision = perplexity, found["rule_precision"]
    if not diffused:
        return rule
    walking = DiffusedNeighborhoods(perplexity, found["rule_walk"], rule)
    walking.R, walking.strength = found["rule_walks"], found["rule_strength"]
    return walking
