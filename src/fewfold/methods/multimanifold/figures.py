"""Pictures of multi-manifold partitions, drawn with matplotlib without a display."""

from __future__ import annotations

import numpy as np

from fewfold.methods.multimanifold.decision import decision_sets
from fewfold.methods.multimanifold.partition import Partition

# Okabe and Ito's colors, told apart by the color-blind; parts beyond eight repeat them.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")


def _colors(part):
    return np.array(COLORS)[np.asarray(part) % len(COLORS)]


def _axes(points):
    """Axes for points in the plane (the figure as flat as they are) or in space."""
    from matplotlib.figure import Figure

    if points.shape[1] == 3:
        figure = Figure(figsize=(6.0, 5.0), layout="constrained")
        axes = figure.add_subplot(projection="3d")
        axes.locator_params(nbins=3)
        return figure, axes
    width, height = np.r_[np.ptp(points, axis=0), 1.0][:2] if len(points) else (1.0, 1.0)
    tall = float(np.clip(5.0 * height / max(width, 1e-12), 1.2, 4.0))
    figure = Figure(figsize=(6.0, tall + 1.0), layout="constrained")
    return figure, figure.add_subplot()


def _plane_or_space(points):
    """Take the first two or three coordinates: what a page can show."""
    return points[:, : min(points.shape[1], 3)]


def partition_figure(
    partition: Partition, X, *, cells: str = "gaussian", n_shown: int = 3000, seed: int = 0
):
    """Draw the points colored by decision set, the labeled ones ringed.

    Parameters
    ----------
    partition : Partition
    X : array of shape (n_samples, n_features)
        The data that was partitioned; with more than 3 features the first 3 principal
        components are shown.
    cells : {"gaussian", "euclidean"}
    n_shown : int
        Points drawn at most, a random sample.
    seed : int

    Returns
    -------
    matplotlib.figure.Figure
    """
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(X.shape[0])[:n_shown])
    shown = _plane_or_space(partition.projection.apply(X[rows]))
    part = decision_sets(partition, X[rows], cells)
    figure, axes = _axes(shown)
    for p in range(partition.bounds.n_parts):
        inside = part == p
        axes.scatter(*shown[inside].T, s=4, color=_colors(p), label=f"set {p + 1}")
    own = _plane_or_space(partition.points[partition.labeled])
    colors = _colors(partition.part[partition.labeled])
    axes.scatter(*own.T, s=45, c=colors, edgecolors="black", linewidths=0.8, label="labeled")
    axes.set_aspect("equal")
    figure.legend(loc="outside lower center", ncols=9, markerscale=1.5, fontsize="small")
    axes.set_title(f"{partition.bounds.n_parts} decision sets, {len(partition.kept)} points kept")
    return figure


def graph_figure(partition: Partition, *, n_edges: int = 6000):
    """Draw the graph on the kept points: heavy edges red, light ones yellow.

    Parameters
    ----------
    partition : Partition
        With at least two parts; with one there is no graph and the points are drawn alone.
    n_edges : int
        Edges drawn at most, the lightest ones: they are where the graph can be cut.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    shown = _plane_or_space(partition.points)
    figure, axes = _axes(shown)
    edges = partition.W.tocoo()
    once = np.flatnonzero(edges.row < edges.col)
    once = once[np.argsort(edges.data[once], kind="stable")[:n_edges]]
    ends = np.stack([shown[edges.row[once]], shown[edges.col[once]]], axis=1)
    style = {"cmap": matplotlib.colormaps["autumn_r"], "norm": Normalize(0, 1), "linewidths": 0.8}
    if shown.shape[1] == 3:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection

        lines = Line3DCollection(ends, **style)
    else:
        lines = LineCollection(ends, **style)
    lines.set_array(edges.data[once])
    axes.add_collection(lines)
    axes.scatter(*shown.T, s=5, color="0.3")
    axes.set_aspect("equal")
    figure.colorbar(lines, ax=axes, label="weight exp(-H² / 2σ²)", shrink=0.9)
    axes.set_title(f"{len(shown)} points, {edges.nnz // 2} edges")
    return figure


def sizes_figure(partition: Partition):
    """Draw the sizes of the parts against their lower bounds, labeled and unlabeled.

    Parameters
    ----------
    partition : Partition

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    sizes, bounds = partition.sizes(), partition.bounds
    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    kinds = (("labeled", bounds.min_labeled), ("unlabeled, kept", bounds.min_unlabeled))
    names = [f"set {p + 1}" for p in range(bounds.n_parts)]
    for column, (axes, (kind, bound)) in enumerate(zip(figure.subplots(1, 2), kinds)):
        axes.bar(names, sizes[:, column], color=_colors(np.arange(bounds.n_parts)))
        axes.axhline(bound, color="black", linestyle="--", label=f"least: {bound}")
        axes.set_title(f"{kind} points")
        axes.margins(y=0.25)  # room for the legend above the bars
        axes.legend(fontsize="small")
    return figure


def draw(model, inputs, y, labeled):
    """The decision sets, the weighted graph, and sizes against bounds, of a fitted model."""
    partition = model.partition_
    if partition is None:  # the parts were given
        return
    yield (
        "Decision sets",
        "Rows colored by the part they fall into; each part has a learner of its own.",
        partition_figure(partition, inputs.X, cells=model.cells_),
    )
    yield (
        "The Hellinger graph",
        "Edges between kept points whose local covariances agree are heavy (red).",
        graph_figure(partition),
    )
    yield "Sizes of the parts", "Against the least sizes allowed.", sizes_figure(partition)
