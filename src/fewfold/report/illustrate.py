"""Pictures that belong to one method, drawn for one labelled draw of one dataset.

Each function takes the chain's `Inputs`, the draw and the method's options, and yields
(title, caption, matplotlib figure). A part of `fewfold.plan.parts` names the one it has.
"""

from __future__ import annotations

import numpy as np


def atlas(inputs, labeled, targets, y, *, n_classes, seed, settings):
    """Sizes and purity of the charts, the energy after every move, charts of images."""
    from fewfold.atlas.description import (
        chart_images,
        describe_charts,
        energy_curve,
        largest_charts,
        member_images,
    )
    from fewfold.report.atlas_figures import chart_figure

    model = inputs.manifold
    about = describe_charts(model, y if y.dtype.kind in "iu" else None)
    yield (
        "Charts of the atlas",
        f"{len(about['size'])} charts; {100 * about['overlap']:.0f} % of the points in several. "
        "Purity, the share of a chart's interior in its main class, uses all labels and is for "
        "description only.",
        _sizes_and_purity(about),
    )
    curve = energy_curve(model)
    yield (
        "Energy of the atlas",
        f"After every move and refit; it never rises. A chart costs {float(model['mdl']):.3g}."
        + _finer_words(model),
        _line(curve["move"], curve["energy"], "move", "energy"),
    )
    if inputs.image_shape and len(inputs.image_shape) == 2:
        picked = largest_charts(about)[:10]
        titles = [_chart_title(about, c) for c in picked]
        if inputs.images is None:
            shown = chart_images(model, picked)
        else:
            shown = member_images(model, inputs.images, picked)
        yield (
            "The largest charts",
            "The largest of each main class: its mean image, and below it the directions in which "
            "its images vary most, red against blue.",
            chart_figure(shown, inputs.image_shape, titles),
        )


def mbed(inputs, labeled, targets, y, *, n_classes, seed, settings):
    """The embedding, the annealing as small pictures, the criterion of each step."""
    from fewfold.mbed.adapter import fit_model
    from fewfold.report import mbed_figures

    model = fit_model(inputs, labeled, targets, n_classes=n_classes, seed=seed, settings=settings)
    yield (
        "Mbed's embedding",
        "The class boundaries (lines) are fixed and the data move; ringed points were labelled. "
        f"Dashed: membership {mbed_figures.MARGIN:.0%}."
        + (
            " Shown is the plane that separates the classes most; the boundaries are cut by it, so "
            "a point that lies before or behind it can appear on another side."
            if n_classes > 3
            else ""
        ),
        mbed_figures.embedding_figure(
            model.embedding_, model.directions_, model.lambda_, classes=y, labeled=labeled
        ),
    )
    yield (
        "Mbed's annealing",
        "From one mass to separated classes as the boundary's width falls.",
        mbed_figures.annealing_figure(model.path_, model.directions_, classes=y, labeled=labeled),
    )
    yield (
        "Mbed's criterion",
        "The Hotelling-Lawley trace J (between-class over within-class scatter) of each step; the "
        "step of the largest is kept.",
        mbed_figures.criterion_figure(model.path_),
    )


def multimanifold(inputs, labeled, targets, y, *, n_classes, seed, settings):
    """The decision sets, the weighted graph, and sizes against bounds."""
    from fewfold.multimanifold import MultiManifoldClassifier, MultiManifoldRegressor
    from fewfold.report import multimanifold_figures as figures

    options = {k: v for k, v in settings.items() if k not in ("mode", "learner")}
    if settings.get("mode", "ssl") != "ssl":
        return
    is_class = inputs.task == "classification"
    given = np.full(inputs.X.shape[0], -1 if is_class else np.nan)
    given = given.astype(np.int64) if is_class else given
    given[labeled] = targets
    kind = MultiManifoldClassifier if is_class else MultiManifoldRegressor
    partition = kind(random_state=seed, **options).fit(inputs.X, given).partition_
    yield (
        "Decision sets",
        "Rows coloured by the part they fall into; each part has a learner of its own.",
        figures.partition_figure(partition, inputs.X),
    )
    yield (
        "The Hellinger graph",
        "Edges between kept points whose local covariances agree are heavy (red).",
        figures.graph_figure(partition),
    )
    yield "Sizes of the parts", "Against the least sizes allowed.", figures.sizes_figure(partition)


def invariance(inputs, labeled, targets, y, *, n_classes, seed, settings):
    """The deformed kernel against the angle of rotation, and around an image."""
    from fewfold.report import invariance_figures as figures

    yield (
        "The kernel against rotation",
        "Value of the deformed kernel between a drawn letter A and its turned copy, for several "
        "strengths of the deformation; ripples lie between the copies in the graph.",
        figures.angle_figure(),
    )
    yield (
        "The kernel around an image",
        "Around the letter A, at 0 degrees: angle of rotation, and (outwards) shift down before; "
        "dots are the copies in the graph.",
        figures.contour_figure(),
    )
    images = inputs.X if inputs.images is None else inputs.images
    if inputs.image_shape and len(inputs.image_shape) == 2:
        yield (
            "Turned samples",
            "Rows of the dataset, each turned by a random angle.",
            figures.rows_figure(np.asarray(images[:36]), inputs.image_shape),
        )


def _chart_title(about, chart):
    words = [f"chart {chart}", f"{about['size'][chart]} points"]
    if "purity" in about and not np.isnan(about["purity"][chart]):
        words.append(f"{100 * about['purity'][chart]:.0f} % pure")
    return "\n".join(words)


def _finer_words(model):
    if "finer_means" not in model:
        return ""
    return f" The finer atlas beside it has {len(model['finer_means'])} charts."


def _sizes_and_purity(about):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(about["size"], bins=min(30, max(5, len(about["size"]) // 3)), color="#0072B2")
    left.set(xlabel="points in the interior of a chart", ylabel="charts")
    if "purity" in about:
        known = about["purity"][~np.isnan(about["purity"])]
        right.hist(100 * known, bins=np.linspace(0, 100, 21), color="#E69F00")
        right.set(xlabel="purity of a chart (%)", ylabel="charts")
    else:
        right.hist(about["dims"], color="#E69F00")
        right.set(xlabel="dimensions of a chart", ylabel="charts")
    return figure


def _line(x, y, x_name, y_name):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(x, y, color="#0072B2")
    axes.set(xlabel=x_name, ylabel=y_name)
    return figure
