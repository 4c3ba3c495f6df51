"""The rule graph drawn in layers from top to bottom, without any outside program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fewfold.report import _svg

BOX, GAP, ROW, EDGE = 30, 18, 70, 14
SWEEPS = 12


def layers(edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The layer of each rule: one below the lowest rule it depends on.

    Edges that close a cycle (which a rule graph should not have) are left out.

    >>> layers([("a", "b"), ("b", "c"), ("a", "c")])
    {'a': 0, 'b': 1, 'c': 2}
    """
    below: dict[str, list[str]] = {}
    for first, second in edges:
        below.setdefault(first, [])
        below.setdefault(second, [])
        if second not in below[first]:
            below[first].append(second)
    state: dict[str, int] = {}
    order: list[str] = []
    kept: list[tuple[str, str]] = []
    for start in below:
        stack = [(start, iter(below[start]))] if start not in state else []
        state.setdefault(start, 1)
        while stack:
            node, rest = stack[-1]
            child = next(rest, None)
            if child is None:
                state[node] = 2
                order.append(node)
                stack.pop()
            elif state.get(child) != 1:  # 1: on the way down to here, so the edge is a cycle
                kept.append((node, child))
                if child not in state:
                    state[child] = 1
                    stack.append((child, iter(below[child])))
    level = dict.fromkeys(below, 0)
    children: dict[str, list[str]] = {}
    for first, second in kept:
        children.setdefault(first, []).append(second)
    for node in reversed(order):
        for child in children.get(node, ()):
            level[child] = max(level[child], level[node] + 1)
    return level


def draw(edges: Sequence[tuple[str, str]], label: str = "Rule graph") -> str:
    """The rule graph as SVG; an empty string where there are no edges."""
    edges = [(str(a), str(b)) for a, b in dict.fromkeys(map(tuple, edges)) if a != b]
    if not edges:
        return ""
    level = layers(edges)
    chains = [_chain(edge, level) for edge in edges if level[edge[0]] < level[edge[1]]]
    rows = _order(level, chains)
    place, width = _place(rows, chains)
    height = ROW * len(rows) - (ROW - BOX) + 2 * EDGE
    body = []
    for chain in chains:
        points = [place[node] for node in chain]
        body.append(_svg.element("path", d=_curve(points), class_="edge"))
        x, y = points[-1]
        arrow = f"M{x - 4:.1f} {y - BOX / 2 - 7:.1f}h8l-4 7z"
        body.append(_svg.element("path", d=arrow, class_="arrow"))
    for rule in level:
        x, y = place[rule]
        text = _svg.shorten(rule, 28)
        wide = _width(rule)
        raw = _svg.element("title", rule)
        raw += _svg.element("rect", x=x - wide / 2, y=y - BOX / 2, width=wide, height=BOX, rx=6)
        raw += _svg.element("text", text, x=x, y=y + 4.5, text_anchor="middle")
        body.append(_svg.element("g", raw=raw, class_="rule"))
    return _svg.picture(body, width, height, label, "rules")


def _chain(edge: tuple[str, str], level: dict[str, int]) -> list:
    """An edge with a bend in each layer that it crosses, so that it runs between the boxes."""
    first, second = edge
    bends = [(first, second, depth) for depth in range(level[first] + 1, level[second])]
    return [first, *bends, second]


def _order(level: dict[str, int], chains: list[list]) -> list[list]:
    """Order each layer by the mean place of its neighbours, down and up several times."""
    rows: list[list] = [[] for _ in range(max(level.values()) + 1)]
    for rule, depth in level.items():
        rows[depth].append(rule)
    up: dict = {}
    down: dict = {}
    for chain in chains:
        for bend in chain[1:-1]:
            rows[bend[2]].append(bend)
        for first, second in zip(chain, chain[1:]):
            down.setdefault(first, []).append(second)
            up.setdefault(second, []).append(first)
    best, fewest = [list(row) for row in rows], _crossings(rows, down)
    for sweep in range(SWEEPS):
        near = up if sweep % 2 == 0 else down
        for depth in range(len(rows)) if sweep % 2 == 0 else reversed(range(len(rows))):
            rank = {node: i for row in rows for i, node in enumerate(row)}
            rows[depth].sort(
                key=lambda n: sum(rank[m] for m in near[n]) / len(near[n]) if n in near else rank[n]
            )
        if (crossings := _crossings(rows, down)) < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _crossings(rows: list[list], down: dict) -> int:
    rank = {node: i for row in rows for i, node in enumerate(row)}
    total = 0
    for row in rows:
        ends = [rank[m] for node in row for m in sorted(down.get(node, ()), key=rank.__getitem__)]
        total += sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :])
    return total


def _width(node) -> float:
    return 24 + 7.6 * len(_svg.shorten(node, 28)) if isinstance(node, str) else 10.0


def _place(rows: list[list], chains: list[list]) -> tuple[dict, float]:
    """Give each box and bend its middle, and the picture its width.

    The weighted sum of all edges' sideways distances is least, by a linear program, with the
    order in each layer and the gaps kept. Edges between bends weigh most, so that they run
    straight down (Gansner et al., A technique for drawing directed graphs, 1993).
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    number = {node: i for i, node in enumerate(node for row in rows for node in row)}
    links = [(a, b) for chain in chains for a, b in zip(chain, chain[1:])]
    n, size = len(number), len(number) + len(links)
    entries, bounds = [], []  # each entry: row, column, value of the left side

    def require(terms: list[tuple[int, float]], most: float) -> None:
        entries.extend((len(bounds), column, value) for column, value in terms)
        bounds.append(most)

    for i, (a, b) in enumerate(links):  # the distance is at least the difference either way
        for sign in (1.0, -1.0):
            require([(number[a], sign), (number[b], -sign), (n + i, -1.0)], 0.0)
    for row in rows:
        for a, b in zip(row, row[1:]):
            apart = (_width(a) + _width(b)) / 2 + GAP
            require([(number[a], 1.0), (number[b], -1.0)], -apart)
    weights = [
        (1.0, 2.0, 8.0)[(not isinstance(a, str)) + (not isinstance(b, str))] for a, b in links
    ]
    i, j, values = zip(*entries)
    solved = linprog(
        np.concatenate([np.full(n, 1e-6), weights]),
        A_ub=coo_array((values, (i, j)), shape=(len(bounds), size)).tocsr(),
        b_ub=bounds,
        bounds=[(_width(node) / 2 + EDGE, None) for node in number] + [(0, None)] * len(links),
    )
    x = dict(zip(number, solved.x.tolist()))
    width = max(x[node] + _width(node) / 2 for node in x) + EDGE
    place = {
        node: (x[node], EDGE + BOX / 2 + ROW * depth)
        for depth, row in enumerate(rows)
        for node in row
    }
    return place, width


def _curve(points: list[tuple[float, float]]) -> str:
    x, y = points[0]
    path = f"M{x:.1f} {y + BOX / 2:.1f}"
    y += BOX / 2
    for i, (x2, y2) in enumerate(points[1:], start=2):
        top = y2 - BOX / 2 - (6 if i == len(points) else 0)
        middle = (y + top) / 2
        path += f"C{x:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {top:.1f}"
        y = y2 + BOX / 2
        if i < len(points):
            path += f"V{y:.1f}"
        x = x2
    return path
