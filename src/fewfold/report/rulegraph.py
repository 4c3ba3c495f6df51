"""The rule graph as an arc diagram: one rule below the other, an arc for each dependency."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter

from fewfold.report import _svg

BOX, ROW, EDGE, REACH = 26, 34, 14, 9


def layers(edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the layer of each rule, upper layers first: one below the lowest it depends on.

    Raises
    ------
    graphlib.CycleError
        Where rules depend on each other in a circle.

    Examples
    --------
    >>> layers([("a", "b"), ("b", "c"), ("a", "c")])
    {'a': 0, 'b': 1, 'c': 2}
    """
    before: dict[str, list[str]] = {}
    for first, second in edges:
        before.setdefault(first, [])
        before.setdefault(second, []).append(first)
    level: dict[str, int] = {}
    for rule in TopologicalSorter(before).static_order():
        level[rule] = 1 + max((level[above] for above in before[rule]), default=-1)
    return dict(sorted(level.items(), key=lambda item: item[1]))


def draw(edges: Sequence[tuple[str, str]], label: str = "Rule graph") -> str:
    """Return the rule graph as SVG; an empty string where there are no edges.

    Of two rules that read each other (tiles of a kernel on a joined kernel) the first way given
    is drawn: the picture runs downwards.
    """
    known: dict[tuple[str, str], None] = {}
    for first, second in edges:
        if first != second and (str(second), str(first)) not in known:
            known[str(first), str(second)] = None
    edges = list(known)
    if not edges:
        return ""
    row = {rule: i for i, rule in enumerate(layers(edges))}
    left = EDGE + REACH * max(row[b] - row[a] for a, b in edges)
    body = [_arc(left, row[a], row[b]) for a, b in edges]
    body += [_box(left, i, rule) for rule, i in row.items()]
    width = left + max(map(_width, row)) + EDGE
    return _svg.picture(body, width, ROW * len(row) + 2 * EDGE - (ROW - BOX), label, "rules")


def _middle(row: int) -> float:
    return EDGE + BOX / 2 + ROW * row


def _width(rule: str) -> float:
    return 24 + 7.6 * len(_svg.shorten(rule, 28))


def _arc(left: float, first: int, second: int) -> str:
    """From the left side of a box to that of one below it; the further, the wider."""
    # Leaves below the middle and arrives above it, so that what a rule reads and makes differ.
    y1, y2 = _middle(first) + 5, _middle(second) - 5
    bend = left - REACH * (second - first) * 4 / 3
    line = f"M{left:.1f} {y1:.1f}C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {left - 6:.1f} {y2:.1f}"
    arrow = f"M{left - 7:.1f} {y2 - 4:.1f}v8l7 -4z"
    return _svg.element("path", d=line, class_="edge") + _svg.element(
        "path", d=arrow, class_="arrow"
    )


def _box(left: float, row: int, rule: str) -> str:
    y, wide = _middle(row), _width(rule)
    raw = _svg.element("title", rule)
    raw += _svg.element("rect", x=left, y=y - BOX / 2, width=wide, height=BOX, rx=6)
    name = _svg.shorten(rule, 28)
    raw += _svg.element("text", name, x=left + wide / 2, y=y + 4.5, text_anchor="middle")
    return _svg.element("g", raw=raw, class_="rule")
