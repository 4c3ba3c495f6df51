"""Figures of [invariance-2006], of a fitted model: its copies, its kernel, its answers."""

from __future__ import annotations

import numpy as np

from fewfold.methods.drawing import new_axes
from fewfold.methods.invariance.deformed import Expansion
from fewfold.methods.invariance.samples import default_transform
from fewfold.transforms.images import as_images, rotate, translate

# Labeled rows whose kernel is drawn, and unlabeled rows whose labels are followed.
N_KERNELS = 12
N_FOLLOWED = 60
_COLUMNS = 12
_PLAIN, _DEFORMED = "#7f7f7f", "#0072b2"
_SQUARE = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]])


def draw(model, inputs, y, labeled):
    """Yield (title, caption, figure) of a fitted `InvariantSVC`.

    Parameters
    ----------
    model : InvariantSVC
        Fitted to all rows; nothing is fitted again.
    inputs : fewfold.pipeline.training.Inputs
    y : array of shape (n,)
        True classes; not used.
    labeled : int array
    """
    X = inputs.X if inputs.images is None else inputs.images
    rows = np.sort(labeled)  # the order of the model's kernel
    transform = default_transform(model.get_params()["transform"], model.image_shape)
    name, choice = transform.name, model.choice_
    is_picture = model.image_shape is not None and len(model.image_shape) == 2
    if is_picture:
        yield (
            "Transformed copies",
            f"Labeled rows (framed) and their copies under {name}: nodes of the model's graph.",
            copies_figure(dense(X[rows[:3]]), model.image_shape, transform),
        )
    strength = f"deformation {choice.deformation:g}"
    if choice.data_deformation:
        strength += f", {choice.data_deformation:g} along the data graph"
    yield (
        f"The kernel along {name}",
        "Kernel between a labeled row and itself transformed, 1 for the row itself: the base "
        f"kernel, and as the model deformed it ({strength}). Thin: {N_KERNELS} rows at most; "
        "thick: their mean.",
        kernel_figure(model, X, rows, transform),
    )
    if is_picture and name == "rotation" and transform.topology == "ring":
        yield (
            "The kernel around an image",
            "Around the first labeled row, at 0 degrees: angle of rotation, and (outwards) shift "
            "down before; dots are the copies in the graph.",
            contour_figure(model, dense(X[rows[:1]])[0], transform),
        )
    rest = np.setdiff1d(np.arange(X.shape[0]), rows)
    if len(rest):
        followed = rest[np.linspace(0, len(rest) - 1, min(N_FOLLOWED, len(rest))).astype(int)]
        yield (
            f"Labels along {name}",
            f"Share of {len(followed)} unlabeled rows that keep their predicted label when they "
            "are transformed.",
            labels_figure(model, dense(X[followed]), transform),
        )


def dense(X) -> np.ndarray:
    """Return rows as a dense array."""
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def path(transform) -> tuple[np.ndarray, list, str]:
    """Return places on an axis, the transform's parameters there, and the axis's name.

    Turns are followed in steps of 3 degrees, also between the copies; other transforms on their
    grid: a function of the user may know no other parameters.

    Examples
    --------
    >>> from fewfold.transforms import get_transform
    >>> places, parameters, label = path(get_transform("scaling"))
    >>> places.tolist(), label
    ([0.8, 0.9, 1.0, 1.1, 1.2], 'scaling')
    """
    if transform.name == "rotation" and transform.topology == "ring":
        angles = np.arange(-180.0, 181.0, 3.0)
        return angles, list(angles), "rotation (degrees)"
    is_line = transform.topology in ("ring", "line")
    if is_line and all(isinstance(p, int | float) for p in transform.grid):
        order = np.argsort(transform.grid)
        grid = [transform.grid[i] for i in order]
        return np.array(grid, float), grid, transform.name
    return np.arange(transform.n_copies), list(transform.grid), f"copy under {transform.name}"


def along(transform, X, image_shape, parameters) -> np.ndarray:
    """Return rows transformed by each parameter, (n_parameters, n, n_features) float32."""
    X = np.asarray(X, np.float32)
    batch = as_images(X, (X.shape[1],) if image_shape is None else image_shape)
    identity = transform.grid[transform.identity]
    return np.stack(
        [
            (batch if p == identity else transform(batch, p)).reshape(len(batch), -1)
            for p in parameters
        ]
    )


def kernel_values(model, points, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the base and the deformed kernel between points and a labeled row.

    Parameters
    ----------
    model : InvariantSVC
    points : ndarray of shape (m, n_features)
    column : int
        Position of the labeled row among all, in ascending order.

    Returns
    -------
    two ndarrays of shape (m,)
        1 at the row itself.
    """
    deformed = model.deformed_
    own = deformed.anchors[_node(model, column)][None]
    plain = deformed.kernel(points, own)[:, 0] / deformed.kernel(own, own)[0, 0]
    function = Expansion(deformed.anchors, deformed.coefficients[:, [column]], deformed.kernel)
    return plain, function(points)[:, 0] / deformed.gram[column, column]


def _node(model, column):
    """Return the node that is a labeled row: the identical one among its copies."""
    transform = default_transform(model.get_params()["transform"], model.image_shape)
    return column * transform.n_copies + transform.identity


def kernel_figure(model, X, rows, transform):
    """Draw base and deformed kernel of some labeled rows along the transform."""
    places, parameters, label = path(transform)
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(N_KERNELS, len(rows))).astype(int))
    moved = along(transform, dense(X[rows[chosen]]), model.image_shape, parameters)
    values = np.array([kernel_values(model, moved[:, i], c) for i, c in enumerate(chosen)])
    figure, axes = new_axes(6.8, 3.2)
    marks = _marks(places, transform)
    for part, (color, name) in enumerate([(_PLAIN, "base kernel"), (_DEFORMED, "deformed")]):
        axes.plot(places, values[:, part].T, color=color, alpha=0.3, linewidth=0.6, **marks)
        mean = values[:, part].mean(axis=0)
        axes.plot(places, mean, color=color, linewidth=2.5, label=name, **marks)
    axes.set(xlabel=label, ylabel="kernel, 1 at the row itself")
    axes.set_ylim(min(0, values.min()), 1.05 * max(1.0, values.max()))
    axes.legend(frameon=False)
    return figure


def _marks(places, transform):
    """Return how points are marked; copies of a star or a product have no order to join them by."""
    marks = {"marker": "o", "markersize": 4} if len(places) < 60 else {}
    is_line = transform.topology in ("ring", "line")
    return marks if is_line else {**marks, "marker": "o", "linestyle": "none"}


def contour_figure(model, row, transform, reach: float = 4.0):
    """Draw the kernel over rotation and shift before it, in polar form (the paper's Fig. 1).

    The dots are the rotated copies that are nodes of the graph: shift 0. Further out the image
    was moved down before it was turned, further in up.
    """
    from matplotlib.figure import Figure

    image = as_images(np.asarray(row, np.float32)[None], model.image_shape)
    angles, shifts = np.arange(0.0, 361.0, 6.0), np.linspace(-reach, reach, 17)
    moved = np.concatenate([translate(image, (s, 0)) for s in shifts])
    points = np.stack([rotate(moved, a) for a in angles], axis=1)
    kernels = kernel_values(model, points.reshape(len(shifts) * len(angles), -1), 0)
    figure = Figure(figsize=(7.6, 3.4), layout="constrained")
    for place, (values, title) in enumerate(zip(kernels, ("base kernel", "deformed kernel"))):
        axes = figure.add_subplot(1, 2, place + 1, projection="polar")
        # Zero shift lies on a circle of radius 1.5 reach, so that both directions have room.
        values = values.reshape(len(shifts), len(angles))
        drawn = axes.contourf(np.deg2rad(angles), shifts + 1.5 * reach, values, 12, cmap="viridis")
        nodes = np.deg2rad(transform.grid)
        axes.plot(nodes, np.full(len(nodes), 1.5 * reach), "k.", markersize=4)
        axes.set_rmin(0)
        # The shifts are named on dark ground, away from the image at 0 degrees.
        axes.set_yticks([reach, 1.5 * reach, 2 * reach])
        names = [f"up {0.5 * reach:g}", "0", f"down {0.5 * reach:g}"]
        axes.set_yticklabels(names, color="white", fontsize=8)
        axes.set_rlabel_position(255)
        axes.grid(alpha=0.3)
        axes.set_title(title, fontsize=10)
        figure.colorbar(drawn, ax=axes, shrink=0.7, pad=0.08)
    return figure


def kept_labels(model, X, transform, parameters) -> np.ndarray:
    """Return the share of rows whose label each parameter leaves as it is, (n_parameters,)."""
    moved = along(transform, X, model.image_shape, parameters)
    found = model.predict(moved.reshape(-1, moved.shape[2])).reshape(len(parameters), len(X))
    return (found == model.predict(np.asarray(X, np.float32))).mean(axis=1)


def labels_figure(model, X, transform):
    """Draw the share of rows that keep their predicted label along the transform."""
    places, parameters, label = path(transform)
    figure, axes = new_axes(6.8, 2.6)
    shares = kept_labels(model, X, transform, parameters)
    axes.plot(places, shares, color=_DEFORMED, **_marks(places, transform))
    axes.set(xlabel=label, ylabel="same label", ylim=(0, 1.05))
    return figure


def copies_figure(X, image_shape, transform):
    """Draw rows of images with some of their copies, the row itself framed."""
    count = min(_COLUMNS, transform.n_copies)
    others = np.delete(np.arange(transform.n_copies), transform.identity)
    chosen = others[np.unique(np.linspace(0, len(others) - 1, count - 1).astype(int))]
    chosen = np.sort(np.append(chosen, transform.identity)).astype(int)
    moved = along(transform, X, image_shape, [transform.grid[i] for i in chosen])
    height, width = image_shape
    cells = moved.swapaxes(0, 1).reshape(len(X), len(chosen), height, width)
    cells = cells - cells.min(axis=(2, 3), keepdims=True)
    cells /= np.maximum(cells.max(axis=(2, 3), keepdims=True), 1e-12)
    cells = np.pad(cells, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    # One picture: dozens of axes take longer to draw than the rest of the figures.
    sheet = cells.swapaxes(1, 2).reshape(len(X) * (height + 2), len(chosen) * (width + 2))
    figure, axes = new_axes(0.6 * len(chosen), 0.62 * len(X))
    axes.imshow(sheet, cmap="gray_r")
    axes.axis("off")
    left = (width + 2) * int(np.flatnonzero(chosen == transform.identity)[0])
    for top in range(0, len(sheet), height + 2):
        across, down = left + (width + 1) * _SQUARE[0], top + (height + 1) * _SQUARE[1]
        axes.plot(across, down, color=_DEFORMED, linewidth=2)
    return figure
