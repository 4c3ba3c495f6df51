"""Small helpers for SVG written by hand: elements, colors, axis ticks."""

from __future__ import annotations

import math
from html import escape

# Okabe and Ito's colors (no yellow: too pale for lines on white), safe for color-blind readers.
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#7a4fa3")
DASHES = ("", "6 3", "2 3", "8 3 2 3")
# Petroff's ten (arXiv:2107.02270), told apart under the common color-vision deficiencies.
CLASSES = "#3f90da #ffa90e #bd1f01 #94a4a2 #832db6 #a96b59 #e76300 #b9ac70 #717581 #92dadd".split()
# Nine stops of the cividis map, dark blue to yellow.
SEQUENTIAL = (
    "#00224e #123570 #3b496c #575d6d #707173 #8a8678 #a59c74 #c3b369 #e1cc55 #fee838".split()
)


def element(name: str, text: str | None = None, /, *, raw: str = "", **attributes) -> str:
    """One SVG element; text and attribute values are escaped, ``raw`` is inner markup.

    >>> element("text", "a<b", x=1.0, text_anchor="end")
    '<text x="1" text-anchor="end">a&lt;b</text>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        if isinstance(value, float):
            value = f"{value:.1f}".removesuffix(".0")
        parts.append(f'{key.rstrip("_").replace("_", "-")}="{escape(str(value))}"')
    inner = raw + (escape(text) if text is not None else "")
    head = " ".join(parts)
    return f"<{head}>{inner}</{name}>" if inner else f"<{head}/>"


def words(text: str, x: float, y: float, class_: str = "tick", anchor: str = "middle") -> str:
    """A text beside, below or above a point: of a tick, or the title of an axis."""
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=class_)


def turned_title(text: str, middle: float) -> str:
    """The title of a vertical axis, read from below."""
    turn = f"translate(14 {middle:.0f}) rotate(-90)"
    return element("text", text, transform=turn, text_anchor="middle", class_="title")


def picture(body: list[str], width: float, height: float, label: str, class_: str) -> str:
    """A whole SVG picture that shrinks with its box and names itself to screen readers."""
    return element(
        "svg",
        raw="".join(body),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=label,
        class_=class_,
    )


def shorten(text: str, length: int) -> str:
    """Cut a text to at most ``length`` characters, an ellipsis at its end."""
    return text if len(text) <= length else text[: length - 1] + "…"


def linear_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values from ``low`` to ``high``, about ``count`` of them.

    >>> linear_ticks(0, 10)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [float(low)]
    step = 10.0 ** math.floor(math.log10(span / count))
    step *= min((1, 2, 5, 10), key=lambda m: abs(math.log(span / count / (m * step))))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Values 1, 2, 5 times powers of ten within ``low`` to ``high`` (both positive).

    >>> log_ticks(0.9, 12)
    [1.0, 2.0, 5.0, 10.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if math.log10(high / low) < 3 else (1,)
    ticks = [round(m * 10.0**p, 12) for p in powers for m in steps]
    return [t for t in ticks if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]


def spread(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart to at least ``gap``, as little as needed, within ``low`` to ``high``.

    >>> spread([5.0, 5.0, 20.0], 4.0, 0.0, 30.0)
    [3.0, 7.0, 20.0]
    """
    order = sorted(range(len(positions)), key=positions.__getitem__)

    def start(members: list[int]) -> float:
        reach = gap * (len(members) - 1)
        wanted = sum(positions[i] for i in members) / len(members) - reach / 2
        return max(min(wanted, high - reach), low)

    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        # Groups that would touch become one, centered on its members' mean.
        while len(groups) > 1 and start(groups[-1]) < (
            start(groups[-2]) + gap * len(groups[-2]) - 1e-9
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    placed = [0.0] * len(positions)
    for members in groups:
        for rank, index in enumerate(members):
            placed[index] = start(members) + gap * rank
    return placed
