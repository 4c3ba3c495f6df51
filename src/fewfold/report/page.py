"""The report: one HTML page that opens offline and requests nothing."""

from __future__ import annotations

from functools import cache

import numpy as np

from fewfold.methods.registry import explanations, oracles
from fewfold.report import (
    _svg,
    curves,
    findings,
    graphs,
    maps,
    overview,
    pictures,
    rulegraph,
    samples,
    tables,
)
from fewfold.report.content import DatasetView, PredictionView, ReportContent, check, where

WIDE, NARROW = 1000, 350  # a figure is drawn twice: small text would be lost on a phone
MISTAKES, EXAMPLES = 40, 60
SHEET_BYTES = 1_600_000  # of all datasets' hover images together


def render(content: ReportContent) -> str:
    """Write a report as one self-contained HTML page.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    str
        The page. It holds its style, script, figures and images, and a policy that forbids
        any request. The same content gives the same page.

    Examples
    --------
    >>> page = render(ReportContent(title="An empty report"))
    >>> "<h1>An empty report</h1>" in page
    True
    """
    check(content)
    template = _environment().get_template("page.html.j2")
    names = list(dict.fromkeys([*(row["dataset"] for row in content.summary), *content.datasets]))
    with_images = sum(view.images is not None for view in content.datasets.values())
    sheet_bytes = SHEET_BYTES // max(with_images, 1)
    about = explanations(content.config)
    sections = [_dataset(content, name, i, sheet_bytes, about) for i, name in enumerate(names)]
    glance = overview.gather(content)
    return template.render(
        content=content,
        about=about,
        used=[m for m in about if any(row["method"] == m for row in content.summary)],
        glance=glance,
        worst=f"{overview.WORST:g}",
        conclusion=overview.conclusion(glance),
        sentence=findings.what_was_run(content),
        charts=[_markup(overview.chart(glance, width=w, about=about)) for w in (WIDE, NARROW)],
        sections=sections,
        heads=tables.RESULT_HEADS,
        results=tables.results(content),
        failures=tables.failures(content.metrics),
        stages=tables.stages(content.stages),
        slowest=tables.slowest(content.stages),
        rules=_markup(rulegraph.draw(content.rule_edges, _rules_words(content))),
        settings=tables.settings_text(content.config),
        figures=[_figure(f) for f in content.extra_figures if f.dataset not in names],
        maps={s["id"]: s["map"] for s in sections if s["map"]},
    )


@cache
def _environment():
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fewfold.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # A number and its % stay on one line.
    environment.filters["number"] = lambda *given: findings.number(*given).replace(
        " ", "\N{NO-BREAK SPACE}"
    )
    environment.filters["joined"] = findings.joined
    environment.filters["counted"] = findings.counted
    environment.globals["color"] = lambda i: _svg.CLASSES[i % len(_svg.CLASSES)]
    environment.globals["shape"] = lambda i: i // len(_svg.CLASSES) % 4
    environment.globals["ramp"] = ", ".join(_svg.SEQUENTIAL)
    return environment


def _markup(text: str):
    from markupsafe import Markup

    return Markup(text)


def _dataset(
    content: ReportContent, name: str, index: int, sheet_bytes: int, about: dict[str, str]
) -> dict:
    found = findings.leaders(content, name)
    main = [leader for leader in found if leader.protocol == found[0].protocol]
    headline = main[-1] if main else None
    view = content.datasets.get(name)
    section = {
        "id": f"dataset-{index}",
        "name": name,
        "view": view,
        "headline": headline,
        "leaders": found,
        "oracles": _oracles(content, name),
        "panels": _panels(content, name, found, about),
        "graphs": graphs.by_graph(content, name),
        "facts": tables.facts(view) if view else [],
        "figures": [_figure(f) for f in content.extra_figures if f.dataset == name],
        "skipped": [(m, reason) for d, m, reason in content.skipped if d == name],
        "map": None,
        "chosen": None,
    }
    if view is not None:
        method = _shown_method(content, name, view, headline)
        section["map"] = maps.payload(view, method, sheet_bytes)
        if method is not None:
            section["chosen"] = _chosen(view, method, view.predictions[method])
    return section


def _oracles(content: ReportContent, name: str) -> list[str]:
    """The dataset's oracles, which use the true labels: shown, not ranked."""
    methods = dict.fromkeys(row["method"] for row in where(content.summary, dataset=name))
    return [method for method in methods if method in oracles(content.config)]


def _panels(
    content: ReportContent, name: str, found: list[findings.Leader], about: dict[str, str]
) -> list[dict]:
    panels = []
    for protocol in dict.fromkeys(leader.protocol for leader in found):
        metric = found[0].metric
        series = curves.gather(content.summary, name, protocol, metric)
        best = [leader for leader in found if leader.protocol == protocol][-1]
        label = (
            f"{findings.axis_title(metric, protocol)} of {findings.counted(len(series), 'method')}"
            f" on {name}; the best with {findings.counted(best.n_labeled, 'label')} is "
            f"{best.method}, {findings.number(best.mean, metric)}."
        )
        title = findings.axis_title(metric, protocol)
        wide, narrow = (
            _markup(curves.figure(series, title, metric, width=width, label=label, about=about))
            for width in (WIDE, NARROW)
        )
        panels.append({"protocol": protocol, "title": title, "wide": wide, "narrow": narrow})
    return panels


def _shown_method(content, name: str, view: DatasetView, headline) -> str | None:
    """The best method whose prediction is available."""
    if not view.predictions:
        return None
    order = [headline.method] if headline else []
    if headline:
        series = curves.gather(content.summary, name, headline.protocol, headline.metric)
        order += [s.name for s in series]
    return next((m for m in order if m in view.predictions), next(iter(view.predictions)))


def _chosen(view: DatasetView, method: str, prediction: PredictionView) -> dict:
    rows = samples.judged(view, prediction)
    wrong = samples.confident_mistakes(view, prediction, MISTAKES)
    chosen = {
        "method": method,
        "prediction": prediction,
        "judged": len(rows),
        "confusion": samples.confusion(view, prediction),
        "scatter": "",
        "verdict": _verdict(view, prediction, rows),
        "mistakes": samples.describe(view, prediction, wrong) if _can_be_wrong(view) else [],
        "examples": [],
    }
    if view.task == "regression" and len(rows):
        some = rows if len(rows) <= 3000 else rows[:: -(-len(rows) // 3000)]
        label = f"Predicted against true value of {len(some)} unlabeled rows, method {method}."
        truth, guess = np.asarray(view.y, float)[some], np.asarray(prediction.labels, float)[some]
        chosen["scatter"] = _markup(curves.scatter(truth, guess, width=NARROW + 100, label=label))
    if view.images is not None and len(prediction.labeled):
        given = samples.examples(view, prediction, EXAMPLES)
        chosen["examples"] = samples.describe(view, prediction, given)
    return chosen


def _can_be_wrong(view: DatasetView) -> bool:
    return view.task != "clustering"  # cluster numbers are arbitrary


def _verdict(view: DatasetView, prediction: PredictionView, rows: np.ndarray) -> str:
    if not len(rows) or not _can_be_wrong(view):
        return ""
    truth, guess = np.asarray(view.y)[rows], np.asarray(prediction.labels)[rows]
    words = findings.counted(len(rows), "unlabeled row")
    if view.task == "regression":
        return f"mean squared error {findings.plain(np.nanmean((truth - guess) ** 2))} on {words}"
    wrong = int((truth != guess).sum())
    return f"{wrong} of {words} wrong ({findings.percent(wrong / len(rows))} %)"


def _figure(extra) -> dict:
    words = " · ".join(part for part in (extra.dataset, extra.method) if part)
    is_drawn = isinstance(extra.figure, str)
    return {
        "title": extra.title,
        "caption": extra.caption,
        "about": words,
        "src": extra.figure if is_drawn else pictures.figure_address(extra.figure),
    }


def _rules_words(content: ReportContent) -> str:
    rules = {rule for edge in content.rule_edges for rule in edge}
    return f"Graph of {len(rules)} rules and the {len(set(content.rule_edges))} ways they depend."
