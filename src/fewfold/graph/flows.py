"""Network flows on arrays of arcs, solved by OR-tools."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError

# ---------------------------------------------------------------------------------------------
# Maximum flow and minimum cut
# ---------------------------------------------------------------------------------------------

# OR-tools works on 64-bit integers. Sums of capacities stay below 2**53, so that neither the
# solver's sums overflow nor their way back to floats loses digits.
_MAX_TOTAL = 2.0**52


def minimum_cut(
    source_capacities, sink_capacities, tails=(), heads=(), capacities=()
) -> tuple[float, np.ndarray]:
    """Cut a network of capacities into a source and a sink side at the least cost.

    The cut pays ``source_capacities[v]`` for every node on the sink side, ``sink_capacities[v]``
    for every node on the source side, and ``capacities[a]`` for every arc ``a`` that leads from
    a node on the source side to one on the sink side.

    Parameters
    ----------
    source_capacities, sink_capacities : array of shape (n_nodes,)
        Capacities of the arcs source -> node and node -> sink, zero or more.
    tails, heads : int array of shape (n_arcs,)
        Ends of the arcs between nodes.
    capacities : array of shape (n_arcs,)
        Their capacities, zero or more.

    Returns
    -------
    value : float
        Cost of the cut, computed from the capacities as given.
    source_side : bool ndarray of shape (n_nodes,)
        Of all cuts of least cost, the one with the smallest source side.

    Notes
    -----
    Capacities are scaled to integers with a relative rounding of about ``n_arcs * 2**-52`` of
    their sum; integer input of moderate size is solved exactly.

    Examples
    --------
    >>> value, side = minimum_cut([5, 0], [0, 7], [0], [1], [3])
    >>> value, side.tolist()
    (3.0, [True, False])
    """
    from ortools.graph.python import max_flow

    from_source, to_sink, arcs = (
        _capacities(c) for c in (source_capacities, sink_capacities, capacities)
    )
    tails, heads = np.asarray(tails, np.int32), np.asarray(heads, np.int32)
    n = len(from_source)
    if len(to_sink) != n or not len(tails) == len(heads) == len(arcs):
        raise InputError(
            f"source and sink capacities have {n} and {len(to_sink)} entries, tails, heads and "
            f"capacities {len(tails)}, {len(heads)} and {len(arcs)}. Give one per node and arc."
        )
    total = from_source.sum() + to_sink.sum() + arcs.sum()
    if total == 0:
        return 0.0, np.zeros(n, bool)
    scale = 2.0 ** np.floor(np.log2(_MAX_TOTAL / total))
    source, sink = n, n + 1
    first, last = np.flatnonzero(from_source), np.flatnonzero(to_sink)
    solver = max_flow.SimpleMaxFlow()
    # The arc of capacity 0 makes sure that source and sink exist.
    solver.add_arcs_with_capacity(
        np.concatenate([np.full(len(first), source), last, tails, [source]]).astype(np.int32),
        np.concatenate([first, np.full(len(last), sink), heads, [sink]]).astype(np.int32),
        np.rint(np.concatenate([from_source[first], to_sink[last], arcs, [0.0]]) * scale).astype(
            np.int64
        ),
    )
    status = solver.solve(source, sink)
    if status != solver.OPTIMAL:
        raise InputError(f"The flow has no optimum ({status}): the capacities are too large.")
    side = np.zeros(n + 2, bool)
    side[np.asarray(solver.get_source_side_min_cut(), np.int64)] = True
    side = side[:n]
    cut = arcs[side[tails] & ~side[heads]].sum() if len(tails) else 0.0
    return float(from_source[~side].sum() + to_sink[side].sum() + cut), side


def _capacities(values):
    values = np.asarray(values, np.float64)
    if not np.all(values >= 0) or not np.all(np.isfinite(values)):
        raise InputError(
            "Capacities must be finite and not negative; found "
            f"{values[~((values >= 0) & np.isfinite(values))][:3]}. Check the costs given."
        )
    return values


# ---------------------------------------------------------------------------------------------
# Minimum-cost flow: assignment with a least size per part
# ---------------------------------------------------------------------------------------------


def constrained_assignment(costs, lower_bounds) -> np.ndarray:
    """Assign each point to one part at the least total cost, each part getting enough points.

    The network of Bradley, Bennett and Demiriz: each point supplies one unit to the parts, each
    part keeps its lower bound and passes the rest to a sink. Its optimum is integral, so it is
    the exact optimum of the assignment.

    Parameters
    ----------
    costs : array of shape (n_points, n_parts)
        Finite; any sign and scale.
    lower_bounds : int or int array of shape (n_parts,)
        Least number of points of each part; their sum is at most n_points.

    Returns
    -------
    part : ndarray of shape (n_points,), int64

    Notes
    -----
    OR-tools takes 64-bit integers and multiplies them by the number of nodes. The costs, less
    the least of each row, are scaled by their own largest to just below that limit (45 bits for
    60 000 points), so two assignments are told apart unless they differ by less than
    ``n_points * 2**-46`` of the largest difference. When the cheapest part of each point already
    meets the bounds that assignment is returned without a flow.

    Examples
    --------
    >>> constrained_assignment([[0, 5], [0, 3], [0, 9]], 1).tolist()
    [0, 1, 0]
    """
    costs, bounds = _checked_assignment(costs, lower_bounds)
    n, k = costs.shape
    cheapest = costs.argmin(axis=1)
    if (np.bincount(cheapest, minlength=k) >= bounds).all():
        return cheapest.astype(np.int64)
    # Subtracting a row's least cost changes every assignment alike and keeps the useful digits.
    excess = costs - costs.min(axis=1, keepdims=True)
    bits = 61 - int(n + k + 2).bit_length()
    largest = excess.max() or 1.0  # all costs equal: any assignment within the bounds is best
    whole = np.rint(excess / largest * 2.0**bits).astype(np.int64)
    return _solve_assignment(whole, bounds)


def _checked_assignment(costs, lower_bounds):
    costs = np.asarray(costs, np.float64)
    if costs.ndim != 2 or not costs.size or not np.isfinite(costs).all():
        raise InputError(
            f"costs of shape {costs.shape} cannot be assigned: give a finite table with one row "
            "per point and one column per part."
        )
    n, k = costs.shape
    bounds = np.broadcast_to(np.asarray(lower_bounds, np.int64), (k,))
    if (bounds < 0).any() or bounds.sum() > n:
        raise InputError(
            f"lower bounds {bounds.tolist()} need {bounds.sum()} points, got {n}. They must be 0 "
            "or more and sum to at most the number of points: lower them or use fewer parts."
        )
    return costs, bounds


def _solve_assignment(whole, bounds):
    from ortools.graph.python import min_cost_flow

    n, k = whole.shape
    sink = n + k
    solver = min_cost_flow.SimpleMinCostFlow()
    arcs = solver.add_arcs_with_capacity_and_unit_cost(
        np.repeat(np.arange(n, dtype=np.int32), k),
        np.tile(np.arange(n, n + k, dtype=np.int32), n),
        np.ones(n * k, np.int64),
        whole.ravel(),
    )
    solver.add_arcs_with_capacity_and_unit_cost(
        np.arange(n, n + k, dtype=np.int32),
        np.full(k, sink, np.int32),
        np.full(k, n, np.int64),
        np.zeros(k, np.int64),
    )
    supplies = np.concatenate([np.ones(n, np.int64), -bounds, [bounds.sum() - n]])
    solver.set_nodes_supplies(np.arange(n + k + 1, dtype=np.int32), supplies)
    status = solver.solve()
    if status != solver.OPTIMAL:
        raise InputError(
            f"The assignment of {n} points to {k} parts has no optimum ({status}). "
            "Check that the costs are finite and of similar size."
        )
    return solver.flows(arcs).reshape(n, k).argmax(axis=1).astype(np.int64)
