"""A small but complete report, made the same each time."""

import math
from statistics import fmean, stdev

import numpy as np

from fewfold.report.content import DatasetView, ExtraFigure, PredictionView, ReportContent

COLUMNS = {
    "metrics": (
        "dataset method n_labeled trial seed protocol metric value fit_s predict_s status".split()
    ),
    "summary": "dataset method n_labeled protocol metric mean sd low high trials failed".split(),
    "comparisons": (
        "dataset n_labeled method_a method_b metric difference p_value p_adjusted".split()
    ),
    "stages": "rule target seconds max_rss_mb cpu_percent".split(),
}
HOSTILE = "<script>alert('x')</script>&\"</title>"


def figure():
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(3, 2))
    drawn.subplots().plot([0, 1], [1, 0])
    return drawn


def rows_of(table, *values):
    """Rows of a table of the report from tuples in the order of its columns."""
    return [dict(zip(COLUMNS[table], row, strict=True)) for row in values]


def tables(dataset, metric, means, budgets=(10, 100), protocol="transductive", trials=4):
    """Metrics and their summary; ``means`` gives each method's mean at the first budget."""
    metrics, summary = [], []
    for method, mean in means.items():
        for n in budgets:
            spread = 1 + 0.05 * (np.arange(trials) - (trials - 1) / 2)
            values = (mean * (1 + budgets[0]) / (1 + n) * spread).tolist()
            for trial, value in enumerate(values):
                metrics.append(
                    (dataset, method, n, trial, trial, protocol, metric, value, 0.5, 0.1, "ok")
                )
            mid, sd = fmean(values), stdev(values) if trials > 1 else math.nan
            summary.append(
                (dataset, method, n, protocol, metric, mid, sd, mid - sd, mid + sd, trials, 0)
            )
    return rows_of("metrics", *metrics), rows_of("summary", *summary)


def dataset(n=60, classes=3, images=True, name="blob", methods=("near", "far"), seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    angle = 2 * np.pi * y / classes
    places = np.c_[np.cos(angle), np.sin(angle)] + 0.1 * rng.normal(size=(n, 2))
    pixels = rng.random((n, 4, 5))
    labeled = np.arange(classes)
    predictions = {}
    for i, method in enumerate(methods):
        guess = y.copy()
        guess[classes + i : classes + 6] = (guess[classes + i : classes + 6] + 1) % classes
        predictions[method] = PredictionView(10, 0, guess, rng.random(n), labeled)
    return DatasetView(
        n_rows=n,
        n_features=20,
        classes=[f"{name} {c}" for c in range(classes)],
        image_shape=(4, 5) if images else None,
        y=y,
        map2d=places,
        shown=np.arange(n),
        predictions=predictions,
        images=(lambda rows: pixels[rows]) if images else None,
        notes={"graph components": 1},
        values=lambda rows: pixels.reshape(n, -1)[rows],
    )


def regression(n=50):
    t = np.linspace(0, 1, n)
    guess = PredictionView(10, 0, t**2 + 0.01, None, np.arange(0, n, 5))
    return DatasetView(
        n,
        2,
        "regression",
        y=t**2,
        map2d=np.c_[t, t**2],
        shown=np.arange(n),
        predictions={"m": guess},
    )


def content(name="blobs", methods=("near", "far"), **changes):
    metrics, summary = tables(name, "error", {methods[0]: 0.1, methods[1]: 0.3})
    more_metrics, more_summary = tables("curve", "mse", {"m": 0.02}, budgets=(10,))
    comparisons = rows_of(
        "comparisons",
        (name, 10, methods[0], methods[1], "error", -0.2, 0.001, 0.003),
        (name, 100, methods[1], methods[0], "error", 0.02, 0.2, 0.4),
    )
    parts = dict(
        metrics=[*metrics, *more_metrics],
        summary=[*summary, *more_summary],
        comparisons=comparisons,
        datasets={name: dataset(methods=methods), "curve": regression()},
        stages=rows_of(
            "stages", ("train", "a/1", 2.0, 300.0, 90.0), ("train", "a/2", 61.0, 1500.0, 150.0)
        ),
        rule_edges=[("fetch", "train"), ("train", "report"), ("fetch", "report")],
        config={"run": {"seed": 0}},
        versions={"fewfold": "0.1.0"},
        command="fewfold run",
        created="2026-01-01",
        extra_figures=[ExtraFigure("Energy", "It falls.", name, "near", figure())],
        skipped=[("curve", "near", "needs classes")],
    )
    return ReportContent(**{**parts, **changes})
