"""Figures of [invariance-2006]: what a deformed kernel takes for the same, and turned digits."""

from __future__ import annotations

import numpy as np

STRENGTHS = (0.0, 1.0, 10.0, 100.0, 1000.0)


def letter_a(size: int = 17) -> np.ndarray:
    """Return a drawn letter A, (size, size) in 0 .. 1, as in the paper's figures.

    >>> letter_a().shape
    (17, 17)
    """
    rows, columns = np.indices((size, size)) / (size - 1.0)
    legs = np.abs(np.abs(columns - 0.5) - 0.30 * (rows - 0.12) / 0.76)
    bar = np.where(np.abs(columns - 0.5) < 0.22, np.abs(rows - 0.6), 1.0)
    inside = (rows > 0.1) & (rows < 0.9)
    distance = np.minimum(np.where(inside, legs, 1.0), bar)
    return np.clip(1.5 - distance * (size - 1) / 1.2, 0, 1)


def kernel_values(image, strength: float, points, *, width: float = 4.0, step: float = 15.0):
    """Return the deformed kernel between an image and others, 1 for the image itself.

    Parameters
    ----------
    image : ndarray of shape (h, w)
    strength : float
        Gamma of Eq. 4.
    points : ndarray of shape (m, h, w)
    width : float
        Base RBF width: this many over the median squared distance of the image's copies.
    step : float
        Degrees between the copies that are nodes.

    Returns
    -------
    ndarray of shape (m,)
    """
    from fewfold.invariance.deformed import BaseKernel
    from fewfold.invariance.graphs import orbit_laplacians
    from fewfold.invariance.solver import BlockSolver, Nodes
    from fewfold.kernels import median_gamma
    from fewfold.transforms import get_transform, virtual_samples

    ring = get_transform("rotation", step=step)
    copies = virtual_samples(np.reshape(image, (1, -1)), np.shape(image), ring)
    nodes = Nodes(copies[0], np.array([ring.identity]), orbit_laplacians(copies, ring.edges()))
    kernel = BaseKernel("rbf", width * median_gamma(nodes.V))
    deformed = BlockSolver(nodes, kernel).deform(strength)
    values = deformed.rows(np.asarray(points, np.float32).reshape(len(points), -1))[:, 0]
    return values / deformed.gram[0, 0]


def kernel_against_angle(image, strengths=STRENGTHS, angles=None, **options):
    """Return angles (m,) and the kernel of an image and its turns, one row per strength."""
    from fewfold.transforms.images import rotate

    angles = np.arange(-180.0, 181.0, 3.0) if angles is None else np.asarray(angles, float)
    base = np.asarray(image, np.float32)[None]
    turned = np.concatenate([rotate(base, a) for a in angles])
    return angles, np.stack([kernel_values(image, s, turned, **options) for s in strengths])


def angle_figure(image=None, strengths=STRENGTHS, **options):
    """Draw the kernel against the angle for several strengths (the paper's Fig. 2)."""
    import matplotlib
    from matplotlib.figure import Figure

    image = letter_a() if image is None else image
    angles, values = kernel_against_angle(image, strengths, **options)
    figure = Figure(figsize=(6.8, 3.2), layout="constrained")
    axes = figure.add_subplot()
    colors = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(strengths)))
    for strength, row, color in zip(strengths, values, colors):
        axes.plot(angles, row, color=color, label=f"{strength:g}")
    axes.set(xlabel="rotation (degrees)", ylabel="kernel, 1 at the image itself")
    axes.set_xticks(np.arange(-180, 181, 60))
    axes.set_ylim(0, 1.1)
    axes.legend(title="deformation", frameon=False, bbox_to_anchor=(1.0, 1.0), loc="upper left")
    return figure


def contour_figure(image=None, strength: float = 100.0, reach: float = 4.0, **options):
    """Draw the kernel over rotation and shift before it, in polar form (the paper's Fig. 1).

    The dots are the rotated copies that are nodes of the graph: shift 0. Further out the image
    was moved down before it was turned, further in up.
    """
    from matplotlib.figure import Figure

    from fewfold.transforms.images import rotate, translate

    image = np.asarray(letter_a() if image is None else image, np.float32)
    angles, shifts = np.arange(0.0, 361.0, 6.0), np.linspace(-reach, reach, 17)
    moved = [translate(image[None], (s, 0)) for s in shifts]
    points = np.concatenate([rotate(m, a) for m in moved for a in angles])
    figure = Figure(figsize=(7.6, 3.4), layout="constrained")
    for place, (value, title) in enumerate([(0.0, "plain kernel"), (strength, "deformed kernel")]):
        values = kernel_values(image, value, points, **options).reshape(len(shifts), len(angles))
        axes = figure.add_subplot(1, 2, place + 1, projection="polar")
        # Zero shift lies on a circle of radius 1.5 reach, so that both directions have room.
        drawn = axes.contourf(np.deg2rad(angles), shifts + 1.5 * reach, values, 12, cmap="viridis")
        nodes = np.deg2rad(np.arange(0, 360, options.get("step", 15.0)))
        axes.plot(nodes, np.full(len(nodes), 1.5 * reach), "k.", markersize=4)
        axes.set_rmin(0)
        # The shifts are named on dark ground, away from the image at 0 degrees.
        axes.set_yticks([reach, 1.5 * reach, 2 * reach])
        names = [f"up {0.5 * reach:g}", "0", f"down {0.5 * reach:g}"]
        axes.set_yticklabels(names, color="white", fontsize=8)
        axes.set_rlabel_position(255)
        axes.grid(alpha=0.3)
        axes.set_title(f"{title}" + (f", {value:g}" if value else ""), fontsize=10)
        figure.colorbar(drawn, ax=axes, shrink=0.7, pad=0.08)
    return figure


def rows_figure(X, image_shape, seed: int = 0, n_columns: int = 12, n_rows: int = 3):
    """Draw rows of images, each turned by a random angle (the paper's Fig. 3)."""
    from matplotlib.figure import Figure

    from fewfold.invariance.rotated import rotated_images

    count = min(len(X), n_columns * n_rows)
    turned = rotated_images(X[:count], image_shape, seed).reshape(count, *image_shape)
    rows = -(-count // n_columns)
    figure = Figure(figsize=(0.6 * n_columns, 0.62 * rows))
    for i, picture in enumerate(turned):
        axes = figure.add_subplot(rows, n_columns, i + 1)
        axes.imshow(picture, cmap="gray_r")
        axes.set_axis_off()
    figure.subplots_adjust(0, 0, 1, 1, 0.05, 0.05)
    return figure
