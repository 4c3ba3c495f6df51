"""Pictures of atlases, drawn with matplotlib without a display."""

from __future__ import annotations

import numpy as np

from fewfold.atlas.description import chart_segments, plane_example
from fewfold.atlas.fitting import fit_atlas


def plane_figure(factors=(1.0, 8.0, 64.0), n: int = 400, seed: int = 0):
    """Draw a noisy circle and figure of eight with atlases of several prices (Fig. 2).

    Parameters
    ----------
    factors : sequence of float
        Prices of a chart, in the units of ``mdl_factor``.
    n : int
        Points per curve.
    seed : int

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 * len(factors), 6), layout="constrained")
    axes = figure.subplots(2, len(factors), squeeze=False)
    for row, name in zip(axes, ("circle", "eight")):
        X = plane_example(name, n, seed=seed)
        for ax, factor in zip(row, factors):
            settings = {"n_dims": 1, "mdl_factor": float(factor), "proposal_size": 20}
            atlas = fit_atlas(X, settings, random_state=seed)
            ax.scatter(*X.T, c=atlas["interior"], cmap="tab20", s=6)
            for ends in chart_segments(atlas, X):
                ax.plot(*ends.T, color="green", linewidth=2)
            count = len(atlas["means"])
            ax.set_title(f"λ = {atlas['mdl']:.2g}: {count} chart{'s' if count > 1 else ''}")
            ax.set_aspect("equal")
            ax.set_axis_off()
    return figure


def chart_figure(images: np.ndarray, image_shape, titles=None):
    """Draw the mean image and first directions of charts, a row each.

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

    rows, columns = images.shape[:2]
    figure = Figure(figsize=(1.2 * columns, 1.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for i in range(rows):
        for j in range(columns):
            size = np.abs(images[i, j]).max() or 1.0
            colours = {"cmap": "gray"} if j == 0 else {"cmap": "RdBu", "vmin": -size, "vmax": size}
            axes[i, j].imshow(images[i, j].reshape(image_shape), **colours)
            axes[i, j].set_axis_off()
        if titles is not None:
            axes[i, 0].set_title(titles[i], fontsize=7)
    return figure
