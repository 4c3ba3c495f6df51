"""The neighborhoods that Mbed embeds, as a manifold stage: nothing in them depends on labels."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.graph.weights import as_matrix
from fewfold.methods.mbed.neighborhoods import DiffusedNeighborhoods, probabilities_of_walk
from fewfold.methods.mbed.options import option
from fewfold.methods.mbed.rule_state import RULE_STATE, rule_from_state, rule_state
from fewfold.methods.mbed.selection import Neighborhoods, fit_neighborhoods
from fewfold.methods.state import Field, check_state


def fit_manifold(features, graph, options: dict, *, seed: int):
    """Return the arrays and notes of the manifold stage ``sne``."""
    X, metric = features.X, "euclidean"
    if graph is not None:
        X, metric = as_matrix(graph.neighbors, graph.neighbors.distances, X.shape[0]), "precomputed"
    elif isinstance(X, np.ndarray):
        X = np.asarray(X, np.float64)  # as the estimator reads its rows
    found = fit_neighborhoods(
        X,
        similarity=option(
            options.get("variant", "default"), "similarity", options.get("similarity")
        ),
        metric=metric,
        max_exact=options.get("max_exact", 5000),
        n_neighbors=options.get("n_neighbors", 30),
        perplexity=options.get("perplexity", 5.0),
        walk=options.get("walk", 0.97),
    )
    print(f"neighborhoods: {', '.join(found.names)}")
    return neighborhoods_to_arrays(found), {}


def neighborhoods_to_arrays(found: Neighborhoods) -> dict:
    """Return neighborhoods as the arrays of a manifold file."""
    arrays = {"names": list(found.names)}
    if found.D is not None:
        arrays["D"] = found.D
    for name, (rule, P) in found.rules.items():
        if not isinstance(rule, DiffusedNeighborhoods):  # its P follows from its walks
            arrays[f"{name}.P"] = P
        for key, value in rule_state(rule).items():
            if isinstance(value, str):
                arrays[f"{name}.{key}"] = [value]
            elif value is not None:
                arrays[f"{name}.{key}"] = np.atleast_1d(value)
    return arrays


def neighborhoods_from_arrays(arrays: dict, n: int) -> Neighborhoods:
    """Return the neighborhoods of n rows that a manifold file holds.

    Raises
    ------
    InputError
        Where they are not those of n rows.
    """
    rules = {}
    for name in arrays["names"]:
        if f"{name}.rule" not in arrays:
            continue
        values = {"metric_": "euclidean"}
        for field in RULE_STATE:
            value = arrays.get(f"{name}.{field.name}")
            if value is not None and not isinstance(field, Field):
                value = value[0].item() if isinstance(value, np.ndarray) else value[0]
            values[field.name] = value
        plain = {f.name: values[f.name] for f in RULE_STATE}
        check_state("The manifold 'sne'", RULE_STATE, plain, plain)
        rule = rule_from_state(values)
        P = arrays.get(f"{name}.P")
        if isinstance(rule, DiffusedNeighborhoods):
            P = probabilities_of_walk(rule.R)
        if P is None or P.shape != (n, n) or len(values) > 1:
            raise InputError(f"The neighborhoods {name!r} are not those of {n} rows. Run again.")
        rules[name] = rule, P
    D = arrays.get("D")
    if D is None and not set(rules) >= set(arrays["names"]):
        raise InputError("The neighborhoods lack the distances D. Run their stage again.")
    if D is not None and D.shape != (n, n) or not {*rules, "global"} >= set(arrays["names"]):
        raise InputError(f"The neighborhoods are not those of {n} rows. Run their stage again.")
    return Neighborhoods(list(arrays["names"]), rules, D)
