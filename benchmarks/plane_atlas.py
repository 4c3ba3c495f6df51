"""Atlases of plane curves, drawn (Fig. 2 of [atlas-2014])."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.atlas.fitting import fit_atlas


def plane_example(name: str = "circle", n: int = 400, noise: float = 0.05, seed=0) -> np.ndarray:
    """Return noisy points on a closed plane curve (the paper's Fig. 2).

    Parameters
    ----------
    name : {"circle", "eight"}
    n : int
    noise : float
        Standard deviation of the Gaussian noise; the curves have radius 1.
    seed : int

    Returns
    -------
    ndarray of shape (n, 2)
    """
    rng = np.random.default_rng(seed)
    X = plane_curve(name, rng.uniform(0, 2 * np.pi, n))
    return X + rng.normal(0, noise, (n, 2))


def plane_curve(name: str, t: np.ndarray) -> np.ndarray:
    """Return the points of a curve of `plane_example` at parameters from 0 to 2 pi."""
    if name == "circle":
        return np.column_stack([np.cos(t), np.sin(t)])
    if name == "eight":
        return np.column_stack([np.sin(t), np.sin(t) * np.cos(t)])
    raise InputError(f"name={name!r} is unknown. Choose circle or eight.")


def chart_segments(atlas: dict[str, np.ndarray], X: np.ndarray, gap: float = 0.1) -> np.ndarray:
    """Return the stretches of the one-dimensional charts that their members cover.

    Parameters
    ----------
    atlas : dict of ndarrays
        Fitted with ``n_dims=1`` to points of the plane.
    X : ndarray of shape (n, 2)
    gap : float
        Empty stretches longer than this share of the data's extent are left out: a line may
        meet the curve on two sides.

    Returns
    -------
    ndarray of shape (n_segments, 2, 2)
        Both ends of each segment, those of one chart together.
    """
    longest = gap * np.ptp(X, axis=0).max()
    segments = []
    for c, (mean, directions) in enumerate(zip(atlas["means"], atlas["directions"])):
        mean = mean + atlas["origin"]
        rows = atlas["member_rows"][atlas["member_charts"] == c]
        along = np.sort((X[rows] - mean) @ directions[0])
        for part in np.split(along, 1 + np.flatnonzero(np.diff(along) > longest)):
            if len(part) > 1:
                segments.append(mean + part[[0, -1], None] * directions[0])
    return np.array(segments).reshape(-1, 2, 2)


def plane_figure(costs=(0.05, 0.5, 8.0), n: int = 400, seed: int = 0):
    """Draw a noisy circle and figure of eight with atlases of several costs (Fig. 2).

    Parameters
    ----------
    costs : sequence of float
        Costs of a chart.
    n : int
        Points per curve.
    seed : int

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 * len(costs), 5), layout="constrained")
    axes = figure.subplots(2, len(costs), squeeze=False, height_ratios=(2.2, 1.3))
    turn = np.linspace(0, 2 * np.pi, 400)
    for row, name in zip(axes, ("circle", "eight")):
        X = plane_example(name, n, seed=seed)
        for ax, cost in zip(row, costs):
            # Wide neighborhoods show the overlap of the charts.
            settings = {"n_dims": 1, "mdl": float(cost), "n_neighbors": 6, "finer": None}
            atlas = fit_atlas(X, settings | {"proposal_size": 20}, random_state=seed)
            ax.plot(*plane_curve(name, turn).T, color="red", linewidth=1, zorder=0)
            ax.scatter(*X.T, c=atlas["interior"] % 10, cmap="tab10", vmin=0, vmax=9, s=7)
            for ends in chart_segments(atlas, X):
                ax.plot(*ends.T, color="green", linewidth=2.5, solid_capstyle="round")
            count = len(atlas["means"])
            ax.set_title(f"λ = {cost:g}: {count} chart{'s' if count > 1 else ''}", fontsize=10)
            ax.set_aspect("equal")
            ax.set_axis_off()
    return figure
