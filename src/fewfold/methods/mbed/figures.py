"""Pictures of Mbed: the embedding with its boundaries, the annealing, and the criterion J."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewfold.methods.drawing import new_axes
from fewfold.methods.mbed.cost import log_memberships

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fewfold.methods.mbed.annealing import Path

# Distinct for up to ten classes also for color-blind readers; more classes repeat them.
_COLORS = "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #6a3d9a #8c564b #7f7f7f #bcbd22".split()
MARGIN = 0.9  # membership at which the margin is drawn


def picture_plane(Y: np.ndarray, directions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return two orthonormal axes (d, 2) that show the classes apart.

    With two classes: across the boundary, and the widest axis beside it. With three: the plane of
    the directions. With more: the plane that holds most of the scatter between classes.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
    directions : ndarray of shape (K, d)
    classes : ndarray of int, shape (n,)
    """
    Y = np.asarray(Y, np.float64)
    K, d = directions.shape
    centered = Y - Y.mean(axis=0)
    if K <= 2:
        across = directions[0] / max(np.linalg.norm(directions[0]), 1e-12)
        if not across.any():
            across = np.eye(d)[0]
        rest = centered - np.outer(centered @ across, across)
        beside = np.linalg.svd(rest, full_matrices=False)[2][0] if d > 1 else np.zeros(d)
        return np.column_stack([across, beside])
    if K == 3:
        return np.linalg.svd(directions)[2][:2].T
    means = [
        centered[classes == k].mean(axis=0) * np.sqrt((classes == k).sum())
        for k in np.unique(classes)
    ]
    return np.linalg.svd(np.array(means))[2][:2].T


def embedding_figure(
    Y: np.ndarray,
    directions: np.ndarray,
    lam: float,
    *,
    classes: np.ndarray | None = None,
    labeled: np.ndarray | None = None,
) -> Figure:
    """Draw the embedding: points by class, labeled ones emphasized, boundaries and margin.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
    directions : ndarray of shape (K, d)
    lam : float
    classes : ndarray of int, shape (n,), optional
        Colors; by default the side of the boundaries a point is on.
    labeled : ndarray of int, optional
        Rows drawn large.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> W = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> figure = embedding_figure(np.array([[1.0, 0], [-1, 0], [1, 1]]), W, 0.5)
    >>> len(figure.axes)
    1
    """
    classes = _sides(Y, directions, lam) if classes is None else np.asarray(classes)
    axes2d = picture_plane(Y, directions, classes)
    figure, axes = new_axes(6, 5)
    _draw(axes, Y, directions, lam, classes, labeled, axes2d)
    if labeled is not None and len(labeled):
        axes.scatter([], [], s=12, color="white", edgecolors="black", label="labeled")
    if len(directions) <= 10:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, markerscale=2)
    return figure


def annealing_figure(
    path: Path,
    directions: np.ndarray,
    *,
    classes: np.ndarray | None = None,
    labeled: np.ndarray | None = None,
    n_pictures: int = 8,
) -> Figure:
    """Draw steps of the annealing as small pictures, in the plane of the step that was kept.

    Parameters
    ----------
    path : fewfold.methods.mbed.annealing.Path
    directions : ndarray of shape (K, d)
    classes, labeled : as in `embedding_figure`
    n_pictures : int
        At most; the kept step is always among them.
    """
    from matplotlib.figure import Figure

    kept = path.steps[path.best]
    colors = _sides(kept.Y, directions, kept.lam) if classes is None else np.asarray(classes)
    plane = picture_plane(kept.Y, directions, colors)
    count = min(n_pictures, len(path.steps))
    chosen = np.linspace(0, len(path.steps) - 1, count).round().astype(int)
    chosen[np.abs(chosen - path.best).argmin()] = path.best
    columns = min(4, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(2.4 * columns, 2.4 * rows), layout="constrained")
    for place, number in enumerate(np.unique(chosen)):
        step = path.steps[number]
        axes = figure.add_subplot(rows, columns, place + 1)
        _draw(axes, step.Y, directions, step.lam, colors, labeled, plane, shrink=0.4)
        mark = " (kept)" if number == path.best else ""
        axes.set_title(f"step {number + 1}, $\\lambda$ = {step.lam:.2g}{mark}", fontsize=9)
    return figure


def criterion_figure(path: Path) -> Figure:
    """Draw the criterion J and the cost against the annealing step; the kept step is marked.

    J is drawn on a logarithmic axis where its largest value would hide the others.
    """
    figure, axes = new_axes(6, 3.2)
    steps = np.arange(1, len(path.steps) + 1)
    J = [step.criterion for step in path.steps]
    axes.plot(steps, J, "o-", color=_COLORS[0], markersize=4, label="criterion J")
    axes.plot(path.best + 1, J[path.best], "o", color=_COLORS[1], markersize=9, label="kept")
    axes.set_xlabel("annealing step")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("Hotelling-Lawley trace J")
    if min(J) > 0 and max(J) > 20 * np.median(J):
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.1 * max(J) or 1)
    other = axes.twinx()
    other.plot(steps, [step.cost for step in path.steps], "--", color="#7f7f7f", label="cost")
    other.set_ylabel("cost")
    handles = axes.get_legend_handles_labels(), other.get_legend_handles_labels()
    figure.legend(
        handles[0][0] + handles[1][0], handles[0][1] + handles[1][1],
        loc="outside upper center", ncols=3, frameon=False,
    )  # fmt: skip
    return figure


def _sides(Y, directions, lam):
    return log_memberships(np.asarray(Y, np.float64), directions, lam).argmax(axis=1)


def _draw(axes, Y, directions, lam, classes, labeled, plane, shrink=1.0):
    Y = np.asarray(Y, np.float64)
    center = Y.mean(axis=0) - plane @ (plane.T @ Y.mean(axis=0))
    points = Y @ plane
    marked = np.zeros(len(Y), bool)
    if labeled is not None:
        marked[labeled] = True
    for k in np.unique(classes):
        color = _COLORS[int(k) % len(_COLORS)]
        rows = (classes == k) & ~marked
        size = 6 * shrink**0.5
        axes.scatter(*points[rows].T, s=size, color=color, alpha=0.6, linewidths=0, label=str(k))
        rows = (classes == k) & marked
        size = 45 * shrink
        axes.scatter(*points[rows].T, s=size, color=color, edgecolors="black", linewidths=0.7)
    _boundaries(axes, points, directions, lam, plane, center)
    axes.set_xticks([])
    axes.set_yticks([])


def _boundaries(axes, points, directions, lam, plane, center):
    """Boundaries (full) and margin (dashed) in the slice of the picture through the mean."""
    if len(directions) < 2:
        return
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.08 * np.maximum(high - low, 1e-9)
    u = np.linspace(low[0] - pad[0], high[0] + pad[0], 160)
    v = np.linspace(low[1] - pad[1], high[1] + pad[1], 160)
    grid = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
    m = np.exp(log_memberships(center + grid @ plane.T, directions, lam))
    for k in range(len(directions)):
        others = np.delete(m, k, axis=1).max(axis=1)
        lead = (m[:, k] - others).reshape(len(v), len(u))
        own = m[:, k].reshape(len(v), len(u))
        if lead.min() < 0 < lead.max():
            axes.contour(u, v, lead, [0], colors="black", linewidths=1)
        if own.min() < MARGIN < own.max():
            axes.contour(u, v, own, [MARGIN], colors="black", linewidths=0.6, linestyles="--")


def draw(model, inputs, y, labeled):
    """Draw the embedding, the annealing as small pictures, the criterion of each step.

    Parameters
    ----------
    model : MbedClassifier
        Fitted.
    inputs : fewfold.pipeline.training.Inputs
    y : array of shape (n,)
        True classes, for the colors.
    labeled : int array

    Yields
    ------
    title, caption, figure
    """
    many = " Shown is the plane that separates the classes most; the boundaries are cut by it, so "
    many += "a point that lies before or behind it can appear on another side."
    yield (
        "Mbed's embedding",
        "The class boundaries (lines) are fixed and the data move; ringed points were labeled. "
        f"Dashed: membership {MARGIN:.0%}." + (many if len(model.classes_) > 3 else ""),
        embedding_figure(
            model.embedding_, model.directions_, model.lambda_, classes=y, labeled=labeled
        ),
    )
    yield (
        "Mbed's annealing",
        "From one mass to separated classes as the boundary's width falls.",
        annealing_figure(model.path_, model.directions_, classes=y, labeled=labeled),
    )
    yield (
        "Mbed's criterion",
        "The Hotelling-Lawley trace J (between-class over within-class scatter) of each step; the "
        "step of the largest is kept.",
        criterion_figure(model.path_),
    )
