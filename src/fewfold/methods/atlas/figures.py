"""Pictures of atlases, drawn with matplotlib without a display."""

from __future__ import annotations

import numpy as np

from fewfold.methods.atlas.description import (
    chart_images,
    describe_charts,
    energy_curve,
    largest_charts,
    member_images,
)
from fewfold.methods.drawing import new_axes


def draw(model, inputs, y, labeled):
    """Yield the figures of a fitted `AtlasSVC`: charts, energy, and charts of images.

    Parameters
    ----------
    model : AtlasSVC
    inputs : fewfold.pipeline.training.Inputs
    y : array of shape (n,)
        True classes, for description.
    labeled : int array

    Yields
    ------
    title, caption : str
    figure : matplotlib Figure
    """
    atlas = model.atlas_
    about = describe_charts(atlas, y if y.dtype.kind in "iu" else None)
    yield (
        "Charts of the atlas",
        f"{len(about['size'])} charts; {100 * about['overlap']:.0f} % of the points in several. "
        "Purity, the share of a chart's interior in its main class, uses all labels and is for "
        "description only.",
        _sizes_and_purity(about),
    )
    curve = energy_curve(atlas)
    yield (
        "Energy of the atlas",
        f"After every move and refit; it never rises. A chart costs {float(atlas['mdl']):.3g}."
        + _finer_words(atlas),
        _line(curve["move"], curve["energy"], "move", "energy"),
    )
    if inputs.image_shape and len(inputs.image_shape) == 2:
        picked = largest_charts(about)[:10]
        titles = [_chart_title(about, c) for c in picked]
        if inputs.images is None:
            shown = chart_images(atlas, picked)
        else:
            shown = member_images(atlas, inputs.images, picked)
        yield (
            "The largest charts",
            "The largest of each main class: its mean image, and below it the directions in which "
            "its images vary most, red against blue.",
            chart_figure(shown, inputs.image_shape, titles),
        )


def chart_figure(images: np.ndarray, image_shape, titles=None):
    """Draw the mean image and first directions of charts, a column each.

    Parameters
    ----------
    images : ndarray of shape (n_shown, 1 + n_directions, n_features)
        From `fewfold.methods.atlas.description.chart_images`.
    image_shape : tuple of int
    titles : sequence of str, optional
        One per chart.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    columns, rows = images.shape[:2]
    figure = Figure(figsize=(max(2.0, 1.0 * columns), 1.05 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for j in range(columns):
        for i in range(rows):
            size = np.abs(images[j, i]).max() or 1.0
            colors = {"cmap": "gray"} if i == 0 else {"cmap": "RdBu", "vmin": -size, "vmax": size}
            ax = axes[i, j]
            ax.imshow(images[j, i].reshape(image_shape), **colors)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            if j == 0:
                ax.set_ylabel("mean" if i == 0 else f"direction {i}", fontsize=8)
        if titles is not None:
            axes[0, j].set_title(titles[j], fontsize=8)
    return figure


def _chart_title(about, chart):
    words = [f"chart {chart}", f"{about['size'][chart]} points"]
    if "purity" in about and not np.isnan(about["purity"][chart]):
        words.append(f"{100 * about['purity'][chart]:.0f} % pure")
    return "\n".join(words)


def _finer_words(atlas):
    if "finer_means" not in atlas:
        return ""
    return f" The finer atlas beside it has {len(atlas['finer_means'])} charts."


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
    figure, axes = new_axes(6.0, 2.8)
    axes.plot(x, y, color="#0072B2")
    axes.set(xlabel=x_name, ylabel=y_name)
    return figure
