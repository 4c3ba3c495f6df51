"""Figures of a metric against the number of labels, as SVG with their spread."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fewfold.report import _svg
from fewfold.report.content import where
from fewfold.report.findings import SHARES, number, plain

TOP, BOTTOM, LEFT = 14, 50, 58
LOG_RATIO = 8.0  # past this ratio of largest to least mean a linear axis hides the best methods


@dataclass(frozen=True)
class Series:
    """A method's means and intervals over the numbers of labels; ``style`` picks its look."""

    name: str
    style: int
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Axis:
    """A map from values to pixels with its ticks."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: tuple[float, ...]

    def __call__(self, value: float) -> float:
        """Pixel of a value; values off the axis are drawn at its end."""
        value = min(max(float(value), self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def styles(summary, dataset: str) -> dict[str, int]:
    """A look for each method, the same throughout the report while there are enough colors."""
    methods = dict.fromkeys(row["method"] for row in summary)
    if len(methods) > len(_svg.LINES):
        methods = dict.fromkeys(row["method"] for row in where(summary, dataset=dataset))
    return {method: i for i, method in enumerate(methods)}


def gather(summary, dataset: str, protocol: str, metric: str) -> list[Series]:
    """The series of a figure, one per method, best at the most labels first."""
    style = styles(summary, dataset)
    rows = where(summary, dataset=dataset, protocol=protocol, metric=metric)
    scale = 100.0 if metric in SHARES else 1.0
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        part = [row for row in where(rows, method=method) if math.isfinite(row["mean"])]
        if part:
            part.sort(key=lambda row: row["n_labeled"])
            keys = ("n_labeled", "mean", "low", "high")
            x, mean, low, high = (np.array([row[key] for row in part], float) for key in keys)
            low, high = (np.where(np.isnan(v), mean, v) for v in (low, high))
            found.append(Series(method, style[method], x, scale * mean, scale * low, scale * high))
    return sorted(found, key=lambda s: (s.mean[-1], s.name))


def figure(
    series: list[Series], title: str, metric: str, *, width: int, label: str, about: dict[str, str]
) -> str:
    """Curves over the numbers of labels; intervals on one scale when there is one number only.

    ``title`` is the value axis's title with its unit; ``label`` describes the figure in words;
    ``about`` explains methods on hover.
    """
    if not series:
        return ""
    if len(np.unique(np.concatenate([s.x for s in series]))) < 2:
        return _intervals(series, title, metric, width, label, about)
    return _curves(series, title, metric, width, label, about)


def _value_axis(series: list[Series], start: float, end: float, *, count: int = 5) -> Axis:
    means = np.concatenate([s.mean for s in series])
    highs = np.concatenate([s.high for s in series])
    top = float(max(highs.max(), means.max()))
    least = float(means.min())
    if least > 0 and means.max() / least > LOG_RATIO:
        lows = np.concatenate([s.low for s in series])
        # An interval may reach zero or below; it is cut at half the least mean.
        low = max(float(lows.min()), least / 2) / 1.05
        ticks = _svg.log_ticks(low, top * 1.08)
        return Axis(low, top * 1.08, start, end, True, tuple(ticks))
    low = min(0.0, float(means.min()))
    high = top + 0.05 * (top - low) if top > low else low + 1.0
    return Axis(low, high, start, end, False, tuple(_svg.linear_ticks(low, high, count)))


def _count_axis(series: list[Series], start: float, end: float) -> Axis:
    x = np.unique(np.concatenate([s.x for s in series]))
    if x[0] <= 0:  # no labels at all (clustering): a log axis has no place for zero
        pad = 0.05 * (x[-1] - x[0])
        return Axis(x[0] - pad, x[-1] + pad, start, end, False, tuple(x))
    pad = (x[-1] / x[0]) ** 0.05
    return Axis(x[0] / pad, x[-1] * pad, start, end, True, tuple(x))


def _curves(series, title, metric, width, label, about) -> str:
    narrow = width < 600
    names = [_svg.shorten(s.name, 26) for s in series]
    right = 14 if narrow else 34 + 7.0 * max(map(len, names))
    rows = len(series) if narrow else 0
    plot = 250 if narrow else max(320, 17 * len(series) + 20)
    height = TOP + plot + BOTTOM + 19 * rows
    y_axis = _value_axis(series, TOP + plot, TOP)
    x_axis = _count_axis(series, LEFT, width - right)
    body = _frame(x_axis, y_axis, title, plot)
    ends = _svg.spread([y_axis(s.mean[-1]) for s in series], 16, TOP, TOP + plot)
    for i, (s, name) in enumerate(zip(series, names)):
        dodge = (i - (len(series) - 1) / 2) * min(4.0, 24 / len(series))
        lines = _series(s, x_axis, y_axis, dodge, metric)
        if narrow:
            y = TOP + plot + BOTTOM + 19 * i + 8
            lines += _key(s.style, LEFT, y) + [_svg.element("text", name, x=LEFT + 34, y=y + 4)]
        else:
            last = x_axis(s.x[-1]) + dodge
            x = width - right + 8
            lines += [
                _svg.element(
                    "path",
                    d=f"M{last + 5:.1f} {y_axis(s.mean[-1]):.1f}L{x + 2:.1f} {ends[i]:.1f}",
                    class_="leader",
                ),
                *_marker(s.style, x + 8, ends[i]),
                _svg.element("text", name, x=x + 18, y=ends[i] + 4),
            ]
        inner = hint(s.name, about) + "".join(lines)
        body.append(_svg.element("g", raw=inner, class_="series"))
    return _svg.picture(body, width, height, label, "chart")


def _frame(x_axis: Axis, y_axis: Axis, title: str, plot: float) -> list[str]:
    body = []
    for tick in y_axis.ticks:
        y = y_axis(tick)
        body.append(_svg.element("path", d=f"M{LEFT} {y:.1f}H{x_axis.end:.1f}", class_="grid"))
        body.append(_svg.words(plain(tick), LEFT - 7, y + 4, anchor="end"))
    base, last = TOP + plot, -math.inf
    body.append(_svg.element("path", d=f"M{LEFT} {base}H{x_axis.end:.1f}", class_="axis"))
    for tick in x_axis.ticks:
        x, text = x_axis(tick), f"{tick:.0f}"
        body.append(_svg.element("path", d=f"M{x:.1f} {base}v5", class_="axis"))
        if x - last > 8 * len(text) + 8:  # leave out tick texts that would touch
            body.append(_svg.words(text, x, base + 18))
            last = x
    middle = (LEFT + x_axis.end) / 2
    words = "labeled rows (log scale)" if x_axis.log else "labeled rows"
    body.append(_svg.words(words, middle, base + 38, "title"))
    title = f"{title}, log scale" if y_axis.log and plot > 300 else title
    body.append(_svg.turned_title(title, TOP + plot / 2))
    return body


def _series(s: Series, x_axis: Axis, y_axis: Axis, dodge: float, metric: str) -> list[str]:
    i = s.style
    color = _svg.LINES[i % len(_svg.LINES)]
    points = [(x_axis(x) + dodge, y_axis(y)) for x, y in zip(s.x, s.mean)]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dash = _svg.DASHES[i // len(_svg.LINES) % len(_svg.DASHES)] or None
    lines = [_svg.element("path", d=path, stroke=color, stroke_dasharray=dash, class_="line")]
    for (x, y), n, mean, low, high in zip(points, s.x, s.mean, s.low, s.high):
        bar = f"M{x:.1f} {y_axis(low):.1f}V{y_axis(high):.1f}"
        lines.append(_svg.element("path", d=bar, stroke=color, class_="spread"))
        words = f"{s.name}, {n:.0f} labels: {_interval(mean, low, high, metric)}"
        lines += _marker(i, x, y, words)
    return lines


def hint(name: str, about: dict[str, str]) -> str:
    """What a method's name shows on hover."""
    return _svg.element("title", f"{name}: {about[name]}" if name in about else name)


def _interval(mean: float, low: float, high: float, metric: str) -> str:
    scale = 100.0 if metric in SHARES else 1.0
    mean, low, high = (number(v / scale, metric) for v in (mean, low, high))
    return f"{mean} ({low} to {high})"


def _marker(i: int, x: float, y: float, words: str | None = None) -> list[str]:
    color = _svg.LINES[i % len(_svg.LINES)]
    shape = (i + i // len(_svg.LINES)) % 4
    hint = _svg.element("title", words) if words else ""
    paths = (
        f"M{x - 4.2:.1f} {y:.1f}a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z",
        f"M{x - 3.8:.1f} {y - 3.8:.1f}h7.6v7.6h-7.6z",
        f"M{x:.1f} {y - 5:.1f}l5 8.6h-10z",
        f"M{x:.1f} {y - 5.4:.1f}l5.4 5.4l-5.4 5.4l-5.4 -5.4z",
    )
    return [_svg.element("path", raw=hint, d=paths[shape], fill=color, class_="marker")]


def _key(i: int, x: float, y: float) -> list[str]:
    color = _svg.LINES[i % len(_svg.LINES)]
    dash = _svg.DASHES[i // len(_svg.LINES) % len(_svg.DASHES)] or None
    line = _svg.element(
        "path", d=f"M{x:.1f} {y:.1f}h26", stroke=color, stroke_dasharray=dash, class_="line"
    )
    return [line, *_marker(i, x + 13, y)]


def _intervals(series, title, metric, width, label, about) -> str:
    """One number of labels: a row per method, its mean and interval on a shared scale."""
    narrow = width < 600
    names = [_svg.shorten(s.name, 40 if narrow else 28) for s in series]
    left = 14.0 if narrow else 24 + 7.0 * max(map(len, names))
    step = 38 if narrow else 26
    plot = step * len(series)
    axis = _value_axis(series, left + 4, width - 90, count=3 if narrow else 6)
    body = []
    for tick in axis.ticks:
        x = axis(tick)
        body.append(_svg.element("path", d=f"M{x:.1f} {TOP}v{plot}", class_="grid"))
        body.append(_svg.words(plain(tick), x, TOP + plot + 16))
    words = f"{title}, log scale" if axis.log else title
    middle = (axis.start + axis.end) / 2
    body.append(_svg.words(words, middle, TOP + plot + 38, "title"))
    for i, (s, name) in enumerate(zip(series, names)):
        y = TOP + step * (i + 0.5) + (8 if narrow else 0)
        color = _svg.LINES[s.style % len(_svg.LINES)]
        bar = f"M{axis(s.low[0]):.1f} {y:.1f}H{axis(s.high[0]):.1f}"
        text = (
            _svg.element("text", name, x=left, y=y - 10)
            if narrow
            else _svg.element("text", name, x=left - 10, y=y + 4, text_anchor="end")
        )
        value = number(s.mean[0] / (100.0 if metric in SHARES else 1.0), metric)
        beside = axis(s.high[0]) + 10
        words = f"{s.name}: {_interval(s.mean[0], s.low[0], s.high[0], metric)}"
        lines = [
            hint(s.name, about),
            text,
            _svg.element("path", d=bar, stroke=color, class_="spread thick"),
            *_marker(s.style, axis(s.mean[0]), y, words),
            _svg.element("text", value, x=beside, y=y + 4, class_="value"),
        ]
        body.append(_svg.element("g", raw="".join(lines), class_="series"))
    return _svg.picture(body, width, TOP + plot + BOTTOM, label, "chart")


def scatter(truth: np.ndarray, guess: np.ndarray, *, width: int, label: str) -> str:
    """Predicted against true values on equal axes, with the line of perfect prediction."""
    keep = np.isfinite(truth) & np.isfinite(guess)
    truth, guess = truth[keep], guess[keep]
    if not len(truth):
        return ""
    low = float(min(truth.min(), guess.min()))
    high = float(max(truth.max(), guess.max()))
    pad = 0.04 * (high - low) or 1.0
    ticks = tuple(_svg.linear_ticks(low - pad, high + pad))
    side = min(width - LEFT - 14, 380)
    x_axis = Axis(low - pad, high + pad, LEFT, LEFT + side, False, ticks)
    y_axis = Axis(low - pad, high + pad, TOP + side, TOP, False, ticks)
    body = []
    for tick in ticks:
        x, y = x_axis(tick), y_axis(tick)
        body.append(_svg.element("path", d=f"M{LEFT} {y:.1f}h{side}", class_="grid"))
        body.append(_svg.element("path", d=f"M{x:.1f} {TOP}v{side}", class_="grid"))
        text = plain(tick)
        body.append(_svg.words(text, LEFT - 7, y + 4, anchor="end"))
        body.append(_svg.words(text, x, TOP + side + 18))
    body.append(
        _svg.element("path", d=f"M{LEFT} {TOP + side}L{LEFT + side} {TOP}", class_="diagonal")
    )
    dots = "".join(f"M{x_axis(a):.1f} {y_axis(b):.1f}h0" for a, b in zip(truth, guess))
    body.append(_svg.element("path", d=dots, stroke=_svg.LINES[0], class_="dots"))
    middle = LEFT + side / 2
    body.append(_svg.words("true value", middle, TOP + side + 38, "title"))
    body.append(_svg.turned_title("predicted value", TOP + side / 2))
    return _svg.picture(body, LEFT + side + 14, TOP + side + BOTTOM, label, "chart")
