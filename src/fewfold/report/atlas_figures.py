"""Pictures of atlases, drawn with matplotlib without a display."""

from __future__ import annotations

import numpy as np

from fewfold.atlas.description import chart_segments, plane_curve, plane_example
from fewfold.atlas.fitting import fit_atlas


def plane_figure(prices=(0.05, 0.5, 8.0), n: int = 400, seed: int = 0):
    """Draw a noisy circle and figure of eight with atlases of several prices (Fig. 2).

    Parameters
    ----------
    prices : sequence of float
        Prices of a chart.
    n : int
        Points per curve.
    seed : int

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 * len(prices), 5), layout="constrained")
    axes = figure.subplots(2, len(prices), squeeze=False, height_ratios=(2.2, 1.3))
    turn = np.linspace(0, 2 * np.pi, 400)
    for row, name in zip(axes, ("circle", "eight")):
        X = plane_example(name, n, seed=seed)
        for ax, price in zip(row, prices):
            # Wide neighbourhoods show the overlap of the charts.
            settings = {"n_dims": 1, "mdl": float(price), "n_neighbors": 6, "finer": None}
            atlas = fit_atlas(X, settings | {"proposal_size": 20}, random_state=seed)
            ax.plot(*plane_curve(name, turn).T, color="red", linewidth=1, zorder=0)
            ax.scatter(*X.T, c=atlas["interior"] % 10, cmap="tab10", vmin=0, vmax=9, s=7)
            for ends in chart_segments(atlas, X):
                ax.plot(*ends.T, color="green", linewidth=2.5, solid_capstyle="round")
            count = len(atlas["means"])
            ax.set_title(f"λ = {price:g}: {count} chart{'s' if count > 1 else ''}", fontsize=10)
            ax.set_aspect("equal")
            ax.set_axis_off()
    return figure


def chart_figure(images: np.ndarray, image_shape, titles=None):
    """Draw the mean image and first directions of charts, a column each.

    Parameters
    ----------
    images : ndarray of shape (n_shown, 1 + n_directions, n_features)
        From `fewfold.atlas.description.chart_images`.
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
            colours = {"cmap": "gray"} if i == 0 else {"cmap": "RdBu", "vmin": -size, "vmax": size}
            ax = axes[i, j]
            ax.imshow(images[j, i].reshape(image_shape), **colours)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            if j == 0:
                ax.set_ylabel("mean" if i == 0 else f"direction {i}", fontsize=8)
        if titles is not None:
            axes[0, j].set_title(titles[j], fontsize=8)
    return figure
