"""All datasets and methods at a glance: one chart of relative errors, and what it says in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fewfold.methods.registry import oracles
from fewfold.report import _svg, curves, findings
from fewfold.report.content import ReportContent, where

MOST_COLUMNS = 24  # beyond, a dataset has one column: its largest number of labels
MOST_NAMED = 4  # methods of equal standing; beyond, the conclusion says how many
WORST = 4.0  # times the best value of a column, where the color ends
LEAST_SHARE = 0.001  # errors below 0.1 % count as 0.1 %, so that an error of zero has a ratio
ROW, HEAD, GAP = 26, 46, 18
INK, PAPER, BLUE = "#1b2530", "#ffffff", (0, 82, 140)


@dataclass(frozen=True)
class Cell:
    """A method's value in one column: how it compares with the best, and its rank."""

    mean: float
    words: str
    ratio: float
    rank: int
    is_tied: bool
    is_oracle: bool


@dataclass(frozen=True)
class Overview:
    """Columns (a dataset with a number of labels), and the cells of each method.

    ``methods`` are in order of their mean rank; oracles come last and have no rank.
    """

    columns: tuple[findings.Leader, ...]
    methods: tuple[str, ...]
    cells: dict[tuple[str, int], Cell]
    mean_ranks: dict[str, float]
    is_cut: bool

    def wins(self, method: str) -> tuple[int, int]:
        """In how many columns the method is best or tied with the best, and of how many."""
        mine = [cell.is_tied for (name, _), cell in self.cells.items() if name == method]
        return sum(mine), len(mine)


def gather(content: ReportContent) -> Overview:
    """Compare all methods in each dataset with each number of labels, by the main metric."""
    columns = []
    for name in dict.fromkeys(row["dataset"] for row in content.summary):
        found = findings.leaders(content, name)
        columns += [leader for leader in found if leader.protocol == found[0].protocol]
    is_cut = len(columns) > MOST_COLUMNS
    if is_cut:
        columns = list({leader.dataset: leader for leader in columns}.values())
    given = oracles(content.config)
    cells: dict[tuple[str, int], Cell] = {}
    for k, leader in enumerate(columns):
        cells |= {(method, k): cell for method, cell in _column(content, leader, given).items()}
    mean_ranks = {}
    for method in dict.fromkeys(method for method, _ in cells):
        ranks = [cell.rank for (name, _), cell in cells.items() if name == method]
        mean_ranks[method] = math.inf if method in given else sum(ranks) / len(ranks)
    methods = tuple(sorted(mean_ranks, key=mean_ranks.__getitem__))
    return Overview(tuple(columns), methods, cells, mean_ranks, is_cut)


def _column(content: ReportContent, leader: findings.Leader, given: set[str]) -> dict[str, Cell]:
    keys = ("dataset", "protocol", "metric", "n_labeled")
    rows = where(content.summary, **{key: getattr(leader, key) for key in keys})
    means = {row["method"]: row["mean"] for row in rows if math.isfinite(row["mean"])}
    ranked = [m for m in means if m not in given] or list(means)
    sign = -1.0 if leader.metric in findings.HIGHER_IS_BETTER else 1.0
    cells = {}
    for method, mean in means.items():
        ratio = _ratio(mean, leader.mean, leader.metric)
        rank = 1 + sum(sign * means[m] < sign * mean for m in ranked)
        words = (
            f"{method} on {leader.dataset} with {findings.counted(leader.n_labeled, 'label')}: "
            f"{leader.metric.replace('_', ' ')} {findings.number(mean, leader.metric)}"
        )
        if method in given:
            words += "; not ranked, it was given the true sets"
        elif method == leader.method:
            words += f"; the best of {len(ranked)}"
        else:
            words += f"; {_times(ratio)} the best ({leader.method}), rank {rank} of {len(ranked)}"
        is_tied = method == leader.method or method in leader.ties
        cells[method] = Cell(mean, words, ratio, rank, is_tied, method in given)
    return cells


def _ratio(mean: float, best: float, metric: str) -> float:
    least = LEAST_SHARE if metric in findings.SHARES else 0.0
    mean, best = max(mean, least), max(best, least)
    if metric in findings.HIGHER_IS_BETTER:
        mean, best = best, mean
    return mean / best if best > 0 else (1.0 if mean == best else math.inf)


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times" if ratio < 100 else "more than 100 times"


def conclusion(overview: Overview) -> str:
    """What the chart says, in one or two sentences."""
    if not overview.columns:
        return ""
    first = _one_column(overview) if len(overview.columns) == 1 else _columns(overview)
    if all(leader.trials < 2 for leader in overview.columns):
        first += " With one draw only, no difference could be tested."
    return first


def _one_column(overview: Overview) -> str:
    (leader,) = overview.columns
    text = (
        f"{leader.method} has the best {leader.metric.replace('_', ' ')} on {leader.dataset} with "
        f"{findings.counted(leader.n_labeled, 'label')}: "
        f"{findings.number(leader.mean, leader.metric)}."
    )
    if leader.ties:
        text += f" Not significantly worse: {findings.joined(leader.ties)}."
    elif leader.worse and not leader.untested:
        text += " All other methods are significantly worse."
    return text


def _columns(overview: Overview) -> str:
    ranked = [m for m in overview.methods if math.isfinite(overview.mean_ranks[m])]
    wins = {m: overview.wins(m) for m in ranked or overview.methods}
    most = max(count for count, _ in wins.values())
    top = [m for m, (count, _) in wins.items() if count == most]
    last = list({leader.dataset: leader for leader in overview.columns}.values())
    parts = [
        f"{leader.method} on {leader.dataset} ({findings.number(leader.mean, leader.metric)} "
        f"with {findings.counted(leader.n_labeled, 'label')})"
        for leader in last
    ]
    text = f"Best with the most labels: {findings.joined(parts)}. " if len(last) <= 4 else ""
    verb = "is" if len(top) == 1 else "are each"
    who = findings.joined(top) if len(top) <= MOST_NAMED else f"{len(top)} methods"
    text += (
        f"{who} {verb} best, or not significantly worse than the best, in {most} "
        f"of {len(overview.columns)} comparisons"
    )
    text += ", more than any other method." if len(top) < len(wins) else "."
    if len(top) > MOST_NAMED:
        text += f" {next(iter(wins))} has the lowest mean rank."
    # A method that was not run everywhere cannot have the most.
    always = [m for m, (count, runs) in wins.items() if count == runs and m not in top]
    if always:
        names = findings.joined([f"{m} ({wins[m][1]})" for m in always])
        text += f" So in all comparisons in which they were run: {names}."
    return text


def chart(overview: Overview, *, width: int, about: dict[str, str]) -> str:
    """The chart: a row per method, a column per dataset and number of labels; SVG.

    A cell has the value and is the darker, the nearer it is to the best of its column. Columns
    that do not fit beside each other are continued below. ``about`` explains methods on hover.
    """
    if len(overview.methods) < 2:
        return ""
    narrow = width < 600
    names = [_svg.shorten(m, 17 if narrow else 28) for m in overview.methods]
    left = 14 + 7.2 * max(map(len, names))
    wide = 52.0 if narrow else 66.0
    room = max(1, int((width - left) // wide))
    ranks = [None] if len(overview.columns) > 1 else []
    columns: list[int | None] = [*range(len(overview.columns)), *ranks]
    body, y = [], 0.0
    for part in _blocks(overview, columns, room):
        body += _heads(overview, part, left, wide, y)
        for i, (method, name) in enumerate(zip(overview.methods, names)):
            middle = y + HEAD + ROW * (i + 0.5)
            hint = curves.hint(method, about)
            text = _svg.element("text", name, x=left - 10, y=middle + 4, text_anchor="end")
            body.append(_svg.element("g", raw=hint + text, class_="name"))
            for j, k in enumerate(part):
                body += _cell(overview, method, k, left + wide * j, middle, wide)
        y += HEAD + ROW * len(names) + GAP
    label = f"Chart of {len(names)} methods in {len(overview.columns)} comparisons. " + conclusion(
        overview
    )
    used = left + wide * max(map(len, _blocks(overview, columns, room))) + 2
    return _svg.picture(body, used, y - GAP + 4, label, "chart heat")


def _blocks(overview: Overview, columns: list[int | None], room: int) -> list[list[int | None]]:
    """Split the columns into blocks of at most ``room``, between datasets where that can be."""
    blocks: list[list[int | None]] = [[]]
    groups: dict[str | None, list[int | None]] = {}
    for k in columns:
        groups.setdefault(None if k is None else overview.columns[k].dataset, []).append(k)
    for group in groups.values():
        if blocks[-1] and len(blocks[-1]) + len(group) > room:
            blocks.append([])
        for k in group:
            if len(blocks[-1]) == room:
                blocks.append([])
            blocks[-1].append(k)
    return blocks


def _heads(overview: Overview, part, left: float, wide: float, y: float) -> list[str]:
    body, last = [], None
    for j, k in enumerate(part):
        x = left + wide * (j + 0.5)
        if k is None:
            words = ("mean", "rank")
            for line, word in enumerate(words):
                body.append(_svg.words(word, x, y + 20 + 18 * line))
            continue
        leader = overview.columns[k]
        if leader.dataset != last:
            last, count = leader.dataset, 0
            while j + count < len(part) and part[j + count] is not None:
                if overview.columns[part[j + count]].dataset != last:
                    break
                count += 1
            name = _svg.shorten(last, max(6, int(count * wide / 7.4)))
            hint = _svg.element("title", last)
            body.append(
                _svg.element("text", name, raw=hint, x=left + wide * j + 4, y=y + 18, class_="set")
            )
        body.append(_svg.words(findings.grouped(leader.n_labeled), x, y + 38))
    if part[0] is not None:
        body.append(_svg.element("text", "labels", x=left - 10, y=y + 38, text_anchor="end",
                                 class_="tick"))  # fmt: skip
    return body


def _cell(overview: Overview, method: str, k: int | None, x: float, y: float, wide: float):
    middle = x + wide / 2
    if k is None:
        rank = overview.mean_ranks[method]
        return [_svg.words(f"{rank:.1f}" if math.isfinite(rank) else "–", middle, y + 4)]
    cell = overview.cells.get((method, k))
    if cell is None:
        return [_svg.words("–", middle, y + 4)]
    share = 1.0 - min(math.log(max(cell.ratio, 1.0)) / math.log(WORST), 1.0)
    share = 0.0 if cell.is_oracle else share
    fill = "#" + "".join(f"{round(255 - share**1.5 * (255 - c)):02x}" for c in BLUE)
    metric = overview.columns[k].metric
    value = findings.number(cell.mean, metric).removesuffix(" %")
    is_best = method == overview.columns[k].method
    box = _svg.element(
        "rect", x=x + 1, y=y - ROW / 2 + 1, width=wide - 2, height=ROW - 2, rx=3, fill=fill
    )
    text = _svg.element(
        "text",
        value + ("•" if cell.is_tied else ""),
        x=middle,
        y=y + 4,
        text_anchor="middle",
        fill=PAPER if share > 0.62 else INK,
        font_weight="700" if is_best else None,
    )
    return [_svg.element("g", raw=_svg.element("title", cell.words) + box + text, class_="cell")]
