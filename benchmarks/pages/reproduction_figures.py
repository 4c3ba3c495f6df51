"""The papers' figures drawn from measured tables, as SVG files that stand alone."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fewfold.report import _svg, curves

STYLE = (
    "text{font-family:sans-serif;font-size:13px;fill:#1b2530}"
    ".grid{stroke:#e3e8ec;fill:none}.axis{stroke:#6b7884;fill:none}.tick{font-size:12px}"
    ".line{fill:none;stroke-width:2}.spread{stroke-width:1.6;opacity:.75;fill:none}"
    ".leader{stroke:#b9c3cc;fill:none}.marker{stroke:#fff;stroke-width:.8}"
    ".head{font-weight:bold}"
)
PANEL = 460  # narrower than 600: the key stands below each panel


def series(measured: pd.DataFrame, lines, metric: str = "error") -> list[curves.Series]:
    """Return one series per (name, dataset, method), over the numbers of labels.

    Lines without rows are left out; bars reach one standard deviation to either side.
    """
    found = []
    scale = 100.0 if metric in curves.SHARES else 1.0
    for style, (name, dataset, method) in enumerate(lines):
        rows = measured[
            (measured["dataset"] == dataset)
            & (measured["method"] == method)
            & (measured["metric"] == metric)
            & np.isfinite(measured["mean"].astype(float))
        ].sort_values("n_labeled")
        if len(rows):
            mean = scale * rows["mean"].to_numpy(float)
            sd = scale * rows["sd"].fillna(0).to_numpy(float)
            x = rows["n_labeled"].to_numpy(float)
            found.append(curves.Series(name, style, x, mean, np.maximum(mean - sd, 0), mean + sd))
    return found


def sheet(panels: list[tuple[str, list[curves.Series], str]], label: str, columns: int = 2) -> str:
    """Put panels (title, series, metric) on one page.

    Returns
    -------
    str
        A whole SVG file; empty if no panel has a series.
    """
    drawn = []
    for title, lines, metric in panels:
        if lines:
            words = "error in %" if metric == "error" else metric.upper()
            picture = curves.figure(lines, words, metric, width=PANEL, label=title, about={})
            drawn.append((title, picture))
    if not drawn:
        return ""
    body, y, width = [_svg.element("style", raw=STYLE)], 0.0, PANEL * min(columns, len(drawn))
    for first in range(0, len(drawn), columns):
        row = drawn[first : first + columns]
        for column, (title, picture) in enumerate(row):
            x = PANEL * column
            body.append(_svg.element("text", title, x=x + 58, y=y + 18, class_="head"))
            body.append(picture.replace("<svg ", f'<svg x="{x}" y="{y + 24:.0f}" ', 1))
        y += 34 + max(_height(picture) for _, picture in row)
    white = _svg.element("rect", width=width, height=round(y), fill="#fff")
    page = _svg.picture([white, *body], width, y, label, "sheet")
    return page.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _height(picture):
    return float(picture.partition('viewBox="')[2].partition('"')[0].split()[3])


def draw_all(measured: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Return the figures that the measured tables allow, by file name."""
    made = {}
    if "eigenbasis" in measured:
        made["reproduction_eigenbasis.svg"] = _eigenbasis(measured["eigenbasis"])
    if "multimanifold" in measured:
        made["reproduction_multimanifold.svg"] = _multimanifold(measured["multimanifold"])
    return {name: text for name, text in made.items() if text}


def _eigenbasis(table):
    def panel(title, method, sets, neighbors="knn"):
        lines = [(f"{words}, eigenbasis", name, method) for words, name in sets]
        return (
            title,
            series(table, [*lines, (f"{sets[-1][0]}, k-NN", sets[-1][1], neighbors)]),
            "error",
        )

    digits = [(f"{n} images", f"mnist_{n}") for n in (1000, 10000, 60000)]
    posts = [("600 posts", "news_600"), ("2000 posts", "news_2000"), ("all posts", "news_all")]
    return sheet(
        [
            panel("Fig. 2, MNIST, published variant", "eigenbasis_published", digits),
            panel("Fig. 2, MNIST, fewfold's defaults", "eigenbasis", digits),
            panel(
                "Fig. 3, 20 Newsgroups, published variant",
                "eigenbasis_published_text",
                posts,
                "knn_text",
            ),
            panel("Fig. 3, 20 Newsgroups, ours", "eigenbasis_text", posts, "knn_text"),
        ],
        "Error on unlabeled rows against the number of labels, Figs. 2 and 3 of the paper",
    )


# Panel title, dataset of config/reproduce/multimanifold.yaml, metric.
FIG5 = (
    ("(a) dollar sign", "dollar_sign", "mse"),
    ("(b) surface-sphere", "surface_sphere", "mse"),
    ("(c) density change", "density_change", "mse"),
    ("(d) surface-helix", "surface_helix", "error"),
    ("(e) martini", "martini", "error"),
)
LEARNERS = (("Global", "global"), ("SSL", "multimanifold"), ("Clairvoyant", "clairvoyant"))


def _multimanifold(table):
    panels = []
    for title, dataset, metric in FIG5:
        lines = [(name, dataset, method) for name, method in LEARNERS]
        panels.append((f"Fig. 5 {title}", series(table, lines, metric), metric))
    sizes = [(f"M = {m}", f"helix_{m}") for m in (1000, 3162, 10000)]
    lines = [
        (f"{words}, {name}", data, method) for words, data in sizes for name, method in LEARNERS[:2]
    ]
    panels.append(("Fig. 6, surface-helix, 80 labels", series(table, lines, "error"), "error"))
    return sheet(panels, "Global, SSL and Clairvoyant learners, Figs. 5 and 6 of the paper")
