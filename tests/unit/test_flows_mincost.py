"""Assignment with least sizes, against brute force, networkx and HiGHS."""

import itertools

import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.graph.flows import constrained_assignment


def total(costs, part):
    return costs[np.arange(len(costs)), part].sum()


def brute_force(costs, bounds):
    n, k = costs.shape
    return min(
        total(costs, np.array(choice))
        for choice in itertools.product(range(k), repeat=n)
        if (np.bincount(choice, minlength=k) >= bounds).all()
    )


@pytest.mark.parametrize("seed", range(8))
def test_matches_brute_force(seed):
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(7, 3))
    costs[:, 0] -= 3  # everyone prefers the first part
    bounds = rng.integers(0, 3, 3)
    part = constrained_assignment(costs, bounds)
    assert (np.bincount(part, minlength=3) >= bounds).all()
    assert total(costs, part) == pytest.approx(brute_force(costs, bounds), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_matches_networkx_at_any_scale(scale):
    import networkx as nx

    rng = np.random.default_rng(1)
    whole = rng.integers(0, 1000, (60, 4))
    whole[:, 1] += 800
    graph = nx.DiGraph()
    for h in range(4):
        graph.add_node(("part", h), demand=12)
        graph.add_edge(("part", h), "sink", weight=0)
    graph.add_node("sink", demand=60 - 48)
    for i in range(60):
        graph.add_node(i, demand=-1)
        for h in range(4):
            graph.add_edge(i, ("part", h), weight=int(whole[i, h]), capacity=1)
    expected = nx.min_cost_flow_cost(graph)
    part = constrained_assignment(whole * scale, 12)
    assert total(whole, part) == expected


def test_matches_highs_on_a_larger_problem():
    from scipy import sparse
    from scipy.optimize import linprog

    rng = np.random.default_rng(2)
    n, k = 300, 4
    costs = rng.random((n, k)) + np.array([0.0, 0.3, 0.6, 0.9])
    each = sparse.kron(sparse.eye_array(n), np.ones((1, k)))
    size = sparse.kron(np.ones((1, n)), sparse.eye_array(k))
    solved = linprog(costs.ravel(), A_ub=-size, b_ub=np.full(k, -60), A_eq=each, b_eq=np.ones(n))
    assert total(costs, constrained_assignment(costs, 60)) == pytest.approx(solved.fun, rel=1e-9)


def test_loose_bounds_give_the_nearest_part():
    costs = np.random.default_rng(3).random((50, 3))
    assert (constrained_assignment(costs, 2) == costs.argmin(axis=1)).all()


def test_tight_bounds_split_evenly_even_when_all_costs_are_equal():
    part = constrained_assignment(np.zeros((9, 3)), 3)
    assert np.bincount(part).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    "costs, bounds, words",
    [
        (np.zeros((3, 2)), 2, "need 4 points, got 3"),
        (np.zeros((3, 2)), -1, "0 or more"),
        (np.full((3, 2), np.nan), 1, "finite"),
        (np.zeros(3), 1, "one row per point"),
    ],
)
def test_impossible_requests_say_why(costs, bounds, words):
    with pytest.raises(InputError, match=words):
        constrained_assignment(costs, bounds)
