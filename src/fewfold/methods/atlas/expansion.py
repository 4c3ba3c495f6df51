"""Moves that lower the atlas's energy: expansion of a chart by a minimum cut, and removal.

In an expansion to chart ``alpha`` every movable point either keeps its chart or switches
(``t_q = 1``). Every term of the energy is then one of two gadgets over a group of points:

* *gain*: a cost that falls due as soon as any point of the group switches (a point becomes a
  member of ``alpha``; ``alpha`` comes into use);
* *saving*: a cost that ends once all points of the group have switched (a point leaves a
  chart; a chart falls out of use).

A group of one point is a cost of that point alone; a larger one takes one node of the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewfold.graph.flows import minimum_cut
from fewfold.methods.atlas.energy import Neighborhoods, energy_around


@dataclass
class Groups:
    """Costs on groups of movable points: entry ``i`` puts point ``point[i]`` in ``group[i]``."""

    group: np.ndarray
    point: np.ndarray
    cost: np.ndarray

    @classmethod
    def join(cls, parts: list[Groups]) -> Groups:
        """Put several sets of groups into one."""
        shift = np.cumsum([0] + [len(p.cost) for p in parts[:-1]])
        return cls(
            np.concatenate([p.group + s for p, s in zip(parts, shift)]),
            np.concatenate([p.point for p in parts]),
            np.concatenate([p.cost for p in parts]),
        )

    def split(self) -> tuple[tuple[np.ndarray, np.ndarray], Groups]:
        """Separate groups of one point (points, costs) from larger ones."""
        size = np.bincount(self.group, minlength=len(self.cost))
        single = size[self.group] == 1
        number = np.cumsum(size > 1) - 1
        rest = Groups(number[self.group[~single]], self.point[~single], self.cost[size > 1])
        return (self.point[single], self.cost[self.group[single]]), rest


def expansion_move(
    alpha: int,
    movable: np.ndarray,
    y: np.ndarray,
    sizes: np.ndarray,
    hoods: Neighborhoods,
    errors: np.ndarray,
    mdl: float,
    potts: float = 0.0,
) -> tuple[np.ndarray, float]:
    """Find the best set of points to switch to chart ``alpha``.

    Parameters
    ----------
    alpha : int
    movable : int ndarray of shape (n_movable,)
        Points that may switch; all others keep their chart.
    y : int ndarray of shape (n,)
        The assignment; not changed.
    sizes : int ndarray of shape (n_charts,)
        Interior points of each chart under ``y``.
    hoods : Neighborhoods
    errors : ndarray of shape (n, n_charts)
    mdl, potts : float

    Returns
    -------
    switch : int ndarray
        Points that switch; empty if no set of points lowers the energy.
    change : float
        Change of the energy, zero or less.
    """
    points = movable[y[movable] != alpha]
    if len(points) == 0:
        return points, 0.0
    place = np.full(len(y), -1)
    place[points] = np.arange(len(points))
    gains, savings = _membership_groups(alpha, points, place, y, hoods, errors)
    gains, savings = [gains], [savings]
    _add_chart_costs(alpha, points, y, sizes, mdl, gains, savings)
    pairs = np.zeros((0, 2), int)
    if potts:
        pairs = _add_potts(alpha, place, y, hoods.edges, potts, gains, savings)
    gains, savings = Groups.join(gains), Groups.join(savings)
    switch = _solve(len(points), gains, savings, pairs, potts)
    change = _change(switch, gains, savings, pairs, potts)
    # Rounding may leave a move that gains nothing: such a move is not made.
    if not change < 0:
        return points[:0], 0.0
    return points[switch], change


def _membership_groups(alpha, points, place, y, hoods, errors):
    """Return gains for new members of alpha and savings for points that leave a chart."""
    touched = np.unique(hoods.members[points])
    position, owner = hoods.owners_of(touched)
    label, slot = y[owner], place[owner]
    in_alpha = np.zeros(len(touched), bool)
    in_alpha[position[label == alpha]] = True
    joins = (slot >= 0) & ~in_alpha[position]
    who, group = np.unique(position[joins], return_inverse=True)
    gains = Groups(group, slot[joins], errors[touched[who], alpha].astype(np.float64))
    other = label != alpha
    position, label, slot = position[other], label[other], slot[other]
    width = errors.shape[1]
    keys, group = np.unique(position * width + label, return_inverse=True)
    # A membership that a fixed point also causes stays whatever the others do.
    free = np.ones(len(keys), bool)
    free[group[slot < 0]] = False
    number = np.cumsum(free) - 1
    kept = free[group]
    cost = errors[touched[keys[free] // width], keys[free] % width].astype(np.float64)
    return gains, Groups(number[group[kept]], slot[kept], cost)


def _add_chart_costs(alpha, points, y, sizes, mdl, gains, savings):
    n = len(points)
    if sizes[alpha] == 0:
        gains.append(Groups(np.zeros(n, int), np.arange(n), np.array([float(mdl)])))
    labels, group, count = np.unique(y[points], return_inverse=True, return_counts=True)
    whole = count == sizes[labels]
    number = np.cumsum(whole) - 1
    kept = whole[group]
    savings.append(
        Groups(number[group[kept]], np.flatnonzero(kept), np.full(whole.sum(), float(mdl)))
    )


def _add_potts(alpha, place, y, edges, potts, gains, savings):
    """Add the Potts terms; return the pairs of movable points now in the same chart."""
    slots, labels = place[edges], y[edges]
    same = labels[:, 0] == labels[:, 1]
    both = (slots >= 0).all(axis=1)
    apart = slots[both & ~same]
    group = np.repeat(np.arange(len(apart)), 2)
    savings.append(Groups(group, apart.ravel(), np.full(len(apart), float(potts))))
    for mover, fixed in ((0, 1), (1, 0)):
        one = (slots[:, mover] >= 0) & (slots[:, fixed] < 0)
        for where, into in ((one & same, gains), (one & (labels[:, fixed] == alpha), savings)):
            slot = slots[where, mover]
            into.append(Groups(np.arange(len(slot)), slot, np.full(len(slot), float(potts))))
    return slots[both & same]


def _solve(n, gains, savings, pairs, potts):
    """Cut the network; a point on the source side switches."""
    (gain_point, gain_cost), gains = gains.split()
    (save_point, save_cost), savings = savings.split()
    own = np.bincount(gain_point, gain_cost, n) - np.bincount(save_point, save_cost, n)
    n_gains, n_savings = len(gains.cost), len(savings.cost)
    if not (own < 0).any() and n_savings == 0:
        return np.zeros(n, bool)
    source = np.concatenate([np.maximum(-own, 0), np.zeros(n_gains), savings.cost])
    sink = np.concatenate([np.maximum(own, 0), gains.cost, np.zeros(n_savings)])
    # Arcs need no more than the cost behind them: cutting the node's own arc never costs more.
    tails = [gains.point, n + n_gains + savings.group, pairs[:, 0], pairs[:, 1]]
    heads = [n + gains.group, savings.point, pairs[:, 1], pairs[:, 0]]
    capacities = [gains.cost[gains.group], savings.cost[savings.group]]
    capacities.append(np.full(2 * len(pairs), float(potts)))
    _, side = minimum_cut(
        source, sink, np.concatenate(tails), np.concatenate(heads), np.concatenate(capacities)
    )
    return side[:n]


def _change(switch, gains, savings, pairs, potts):
    """Return the exact change of the energy for a set of switching points."""
    due = np.zeros(len(gains.cost), bool)
    due[gains.group[switch[gains.point]]] = True
    ended = np.ones(len(savings.cost), bool)
    ended[savings.group[~switch[savings.point]]] = False
    torn = np.count_nonzero(switch[pairs[:, 0]] != switch[pairs[:, 1]])
    return float(gains.cost[due].sum() - savings.cost[ended].sum() + potts * torn)


def removal_move(
    chart: int,
    y: np.ndarray,
    sizes: np.ndarray,
    candidates: np.ndarray,
    hoods: Neighborhoods,
    errors: np.ndarray,
    mdl: float,
    potts: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Try to dissolve a chart: each of its points goes to its cheapest other chart in use.

    An expansion can only empty a chart into one other; this move spreads it over several.

    Parameters
    ----------
    chart : int
    y, sizes, hoods, errors, mdl, potts : see `expansion_move`
    candidates : int ndarray of shape (n, n_candidates)
        Cheapest charts of each point, cheapest first.

    Returns
    -------
    rows, labels : int ndarrays
        Points that change, and their new charts; empty if the energy would not fall.
    change : float
    """
    rows = np.flatnonzero(y == chart)
    nothing = rows[:0], rows[:0], 0.0
    options = candidates[rows]
    usable = (sizes[options] > 0) & (options != chart)
    if len(rows) == 0 or not usable.any(axis=1).all():
        return nothing
    # Cost of a label: reconstruction of the point and of its whole neighborhood.
    cost = errors[hoods.members[rows][:, :, None], options[:, None, :]].sum(axis=1)
    labels = options[np.arange(len(rows)), np.where(usable, cost, np.inf).argmin(axis=1)]
    before = energy_around(rows, y, hoods, errors, potts)
    trial = y.copy()
    trial[rows] = labels
    change = energy_around(rows, trial, hoods, errors, potts) - before - mdl
    return (rows, labels, change) if change < 0 else nothing
