"""Figures of the committed measurements: cost over rows, and speed beside other libraries.

    python benchmarks/large.py figure     # docs/images/scaling.svg
    python benchmarks/bench.py page       # docs/images/speed.svg, beside the page

A figure carries what it shows as text in its metadata, so that a test can tell that it is of
the measurements as they are.
"""

from __future__ import annotations

from pathlib import Path

from fewfold.report import _svg

IMAGES = Path(__file__).resolve().parents[1] / "docs/images"
# Name in the legend, the rows of large.csv (several: one after the other), marker.
GROWTH = (
    ("fewfold label", ("fewfold label",), "*"),
    ("diffusion, from file to labels", ("DiffusionClassifier",), "o"),
    ("graph", ("graph",), "s"),
    ("eigenbasis, 200 vectors (without its graph)", ("eigenbasis, 200 vectors",), "^"),
    ("atlas, fitted and all rows encoded", ("atlas, fitted", "atlas, encoded"), "D"),
    ("invariant graph of images", ("deformed digits, invariant graph",), "v"),
)


def growth_points(latest: dict) -> dict[str, list[tuple[int, float, float]]]:
    """Return rows, CPU seconds and peak MB of each line, from {(what, rows): measurement}."""
    points = {}
    for name, parts, _ in GROWTH:
        sizes = sorted(n for what, n in latest if what == parts[0])
        points[name] = [
            (
                n,
                sum(float(latest[part, n]["cpu_s"]) for part in parts),
                max(float(latest[part, n]["max_rss_mb"]) for part in parts),
            )
            for n in sizes
        ]
    return points


def as_text(values: dict) -> str:
    """Return what a figure shows as one line of text."""
    return f"{values}".replace("'", "")


def save(figure, name: str, values: dict) -> None:
    """Write a figure that is the same whenever it is drawn of the same values."""
    import matplotlib

    IMAGES.mkdir(exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        notes = {"Date": None, "Description": as_text(values)}
        figure.savefig(IMAGES / name, metadata=notes, bbox_inches="tight")


def new_figure(*panels, **settings):
    """Return a figure and its axes, drawn without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(*panels, **settings)


def draw_growth(latest: dict) -> None:
    """Draw CPU seconds and peak memory over the number of rows."""
    points = growth_points(latest)
    figure, both = new_figure(1, 2, figsize=(9, 3.9), layout="constrained")
    for axes, column, title in zip(both, (1, 2), ("CPU time (s)", "peak memory (MB)"), strict=True):
        for (name, _, marker), color in zip(GROWTH, _svg.LINES, strict=False):
            n, values = [p[0] for p in points[name]], [p[column] for p in points[name]]
            size = 11 if marker == "*" else 6
            axes.loglog(n, values, marker + "-", color=color, label=name, markersize=size)
        axes.set(xlabel="rows", ylabel=title)
        axes.grid(alpha=0.3)
    sizes = (200, 500, 1000, 2000, 5000)
    both[1].set_yticks(sizes, map(str, sizes))
    both[1].minorticks_off()
    both[0].loglog([1e4, 1e6], [0.3, 30], ":", color="#666666", label="in step with the rows")
    handles, names = both[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False)
    save(figure, "scaling.svg", points)


def draw_speed(ratios: dict[str, float]) -> None:
    """Draw how many times the CPU time of fewfold another library takes, work by work."""
    names = sorted(ratios, key=ratios.get)
    values = [ratios[name] for name in names]
    figure, axes = new_figure(figsize=(9, 0.38 * len(names) + 0.9))
    colors = [_svg.LINES[0] if value >= 1 else _svg.LINES[1] for value in values]
    # From 1 on, so that bars to the right are work where fewfold is faster.
    axes.barh(names, [value - 1 for value in values], left=1, color=colors, height=0.7)
    for place, value in enumerate(values):
        axes.annotate(f"{value:.2f}", (max(value, 1), place), (4, 0), textcoords="offset points",
                      va="center", fontsize=8)  # fmt: skip
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    axes.minorticks_off()
    axes.set_xlim(min([0.5, *values]) * 0.9, max(values) * 1.3)
    axes.set_xlabel("CPU time of the peer / CPU time of fewfold (right of 1: fewfold is faster)")
    axes.tick_params(axis="y", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, "speed.svg", ratios)
