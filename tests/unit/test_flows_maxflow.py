"""Minimum cuts against exhaustive search and networkx."""

import itertools

import numpy as np
import pytest

from fewfold.exceptions import InputError
from fewfold.graph.flows import minimum_cut


def cut_cost(side, source, sink, tails, heads, capacities):
    cost = source[~side].sum() + sink[side].sum()
    for u, v, c in zip(tails, heads, capacities):
        cost += c * (side[u] and not side[v])
    return cost


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("integer", [False, True])
def test_equals_exhaustive_search(seed, integer):
    rng = np.random.default_rng(seed)
    n, arcs = 7, 14
    source, sink, caps = (rng.exponential(10, size) for size in (n, n, arcs))
    source[rng.random(n) < 0.5] = 0
    sink[rng.random(n) < 0.5] = 0
    if integer:
        source, sink, caps = (np.rint(a) for a in (source, sink, caps))
    tails, heads = rng.integers(0, n, arcs), rng.integers(0, n, arcs)
    network = (source, sink, tails, heads, caps)
    sides = [np.array(s, bool) for s in itertools.product([0, 1], repeat=n)]
    costs = np.array([cut_cost(s, *network) for s in sides])
    value, side = minimum_cut(*network)
    assert value == pytest.approx(costs.min(), rel=1e-9)
    assert cut_cost(side, *network) == pytest.approx(value, rel=1e-12)
    if integer:  # ties are exact: the smallest source side wins
        best = [s.sum() for s, c in zip(sides, costs) if c == costs.min()]
        assert side.sum() == min(best)


def test_equals_networkx_on_a_larger_network():
    import networkx

    rng = np.random.default_rng(0)
    n, arcs = 60, 400
    source, sink = rng.integers(0, 50, n), rng.integers(0, 50, n)
    tails, heads, caps = (
        rng.integers(0, n, arcs),
        rng.integers(0, n, arcs),
        rng.integers(1, 9, arcs),
    )
    graph = networkx.DiGraph()
    for u, v, c in zip(tails, heads, caps):
        old = graph[u][v]["capacity"] if graph.has_edge(u, v) else 0
        graph.add_edge(int(u), int(v), capacity=int(c) + old)
    for v in range(n):
        graph.add_edge("s", v, capacity=int(source[v]))
        graph.add_edge(v, "t", capacity=int(sink[v]))
    value, _ = minimum_cut(source, sink, tails, heads, caps)
    assert value == networkx.maximum_flow_value(graph, "s", "t")


def test_degenerate_networks():
    value, side = minimum_cut([0, 0], [0, 0])
    assert value == 0 and not side.any()
    value, side = minimum_cut([2, 0], [0, 0], [0], [1], [1])  # nothing flows out
    assert value == 0 and side.tolist() == [True, True]
    value, side = minimum_cut([0, 0], [3, 1], [0], [1], [1])  # nothing flows in
    assert value == 0 and not side.any()
    value, side = minimum_cut([1e-9], [2e-9])
    assert value == pytest.approx(1e-9, rel=1e-9)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_capacities_are_refused(bad):
    with pytest.raises(InputError, match="not negative"):
        minimum_cut([1.0], [bad])


def test_lengths_must_agree():
    with pytest.raises(InputError, match="one per node"):
        minimum_cut([1.0, 2.0], [1.0])
