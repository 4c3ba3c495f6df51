"""Transforms that do not change the class of a sample, by name, with grids of their parameters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fewfold.exceptions import InputError
from fewfold.system.memory import require
from fewfold.transforms import images as _images
from fewfold.transforms.images import as_images

TOPOLOGIES = ("ring", "line", "star", "product")
MOST_COPIES = 10_000  # of one sample; each costs as much as a pass over the data


@dataclass(frozen=True)
class Transform:
    """A family of maps of a sample to itself seen otherwise, on a grid of parameters.

    Attributes
    ----------
    name : str
    function : callable
        ``function(batch, parameter) -> batch``, a batch being (n, h, w), (n, h, w, channels)
        or (n, length).
    grid : tuple
        The parameters, one per copy.
    identity : int
        Which of them is the identity.
    topology : {"ring", "line", "star", "product"}
        Which copies are next to each other; see `edges`.
    parts : tuple of Transform
        The factors of a composition.
    """

    name: str
    function: Callable
    grid: tuple
    identity: int
    topology: str = "line"
    parts: tuple = field(default=())

    @property
    def n_copies(self) -> int:
        """Number of copies, the sample itself included."""
        return len(self.grid)

    def __call__(self, batch, parameter):
        """Transform a batch by one parameter and check that its shape is kept."""
        out = np.asarray(self.function(batch, parameter), dtype=np.float32)
        if out.shape != np.shape(batch):
            raise InputError(
                f"Transform {self.name!r} returned shape {out.shape} for a batch of shape "
                f"{np.shape(batch)}. It must keep the shape."
            )
        return out

    def edges(self) -> np.ndarray:
        """Return the pairs of neighboring copies, (n_edges, 2).

        A ring or line joins each copy to the next, a star all to the sample itself, a product
        joins copies that differ in one factor only, by an edge of that factor.
        """
        k = self.n_copies
        if k < 2:
            return np.empty((0, 2), np.int64)
        if self.topology == "star":
            others = np.delete(np.arange(k), self.identity)
            return np.column_stack([np.full(k - 1, self.identity), others])
        if self.topology == "product":
            return _product_edges(self.parts)
        first = np.arange(k - 1)
        pairs = np.column_stack([first, first + 1])
        if self.topology == "ring" and k > 2:
            pairs = np.vstack([pairs, [[k - 1, 0]]])
        return pairs


def _product_edges(parts):
    sizes = [part.n_copies for part in parts]
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    found = []
    for axis, part in enumerate(parts):
        for a, b in part.edges():
            found.append(
                np.column_stack([numbers.take(a, axis).ravel(), numbers.take(b, axis).ravel()])
            )
    return np.vstack(found) if found else np.empty((0, 2), np.int64)


def _rotation(step=15.0, grid=None, fill="min"):
    ring = grid is None
    if ring:
        count = round(360 / step) if step > 0 else 0
        _check_copies("rotation", count)
        if count < 2 or abs(count * step - 360) > 1e-6:
            raise InputError(f"rotation step={step} does not divide 360 degrees. Try 15.")
        grid = [float(step * i) for i in range(count)]
    return _built("rotation", _bind(_images.rotate, fill=fill), grid, 0, "ring" if ring else "line")


def _translation(reach=1, step=1.0, grid=None, fill="min"):
    move = _bind(_images.translate, fill=fill)
    if grid is not None:
        return _built("translation", move, [tuple(p) for p in grid], (0, 0), "star")
    _check_copies("translation", (2 * reach + 1) ** 2)
    line = [float(step * i) for i in range(-reach, reach + 1)]
    rows = _built("rows", lambda batch, p: move(batch, (p, 0)), line, 0, "line")
    columns = _built("columns", lambda batch, p: move(batch, (0, p)), line, 0, "line")
    return compose([rows, columns], name="translation")


def _simple(name, function, default, identity, topology="line"):
    def make(grid=None, **options):
        return _built(
            name, _bind(function, **options), default if grid is None else grid, identity, topology
        )

    return make


def _jitter(copies=5, strength=0.1, seed=0, grid=None):
    _check_copies("jitter", copies)
    grid = range(copies + 1) if grid is None else grid
    function = _bind(_images.add_noise, strength=strength, seed=seed)
    return _built("jitter", function, grid, 0, "star")


REGISTRY: dict[str, Callable[..., Transform]] = {
    "rotation": _rotation,
    "translation": _translation,
    "scaling": _simple("scaling", _images.scale, (0.8, 0.9, 1.0, 1.1, 1.2), 1.0),
    "shear": _simple("shear", _images.shear, (-0.4, -0.2, 0.0, 0.2, 0.4), 0.0),
    "thickness": _simple("thickness", _images.thicken, (-0.5, 0.0, 0.5), 0.0),
    "jitter": _jitter,
    "time_shift": _simple("time_shift", _images.shift_time, (-2, -1, 0, 1, 2), 0),
    "time_warp": _simple("time_warp", _images.warp_time, (-0.2, -0.1, 0.0, 0.1, 0.2), 0.0),
}


def register_transform(name: str, factory: Callable[..., Transform]) -> None:
    """Make ``factory(**options) -> Transform`` known under ``name``.

    A name already known is refused: results must not depend on who came last.
    """
    if name in REGISTRY:
        raise InputError(f"A transform named {name!r} exists already. Choose another name.")
    REGISTRY[name] = factory


def get_transform(spec, **options) -> Transform:
    """Return a transform by name, or make one.

    Parameters
    ----------
    spec : str, dict, list, callable or Transform
        A name ("rotation", "translation", "scaling", "shear", "thickness", "jitter",
        "time_shift", "time_warp" or registered); a dict with ``name`` and its options; a list
        of these, composed in turn on the product of their grids; or a function
        ``(batch, parameter) -> batch``, with ``grid`` and, if not 0, ``identity`` as options.
    **options
        ``grid`` (the parameters), ``fill`` (see `fewfold.transforms.images.background`);
        rotation: ``step`` (degrees, a full ring); translation: ``reach``, ``step``; jitter:
        ``copies``, ``strength``, ``seed``; functions: ``identity``, ``topology``, ``name``.

    Returns
    -------
    Transform

    Examples
    --------
    >>> ring = get_transform("rotation", step=90)
    >>> ring.grid, ring.topology
    ((0.0, 90.0, 180.0, 270.0), 'ring')
    >>> get_transform(["rotation", {"name": "scaling", "grid": [0.9, 1.0]}]).n_copies
    48
    """
    if isinstance(spec, Transform):
        return spec
    if isinstance(spec, dict):
        if "name" not in spec:
            raise InputError(f"Transform {spec!r} has no 'name'. Known: {', '.join(REGISTRY)}.")
        merged = {**spec, **options}
        return get_transform(merged.pop("name"), **merged)
    if isinstance(spec, (list, tuple)):
        if options:
            raise InputError(f"Give options {sorted(options)} to the parts of a composition.")
        return compose([get_transform(part) for part in spec])
    if callable(spec):
        return _from_function(spec, **options)
    if not isinstance(spec, str) or spec not in REGISTRY:
        raise InputError(f"Transform {spec!r} is unknown. Known: {', '.join(REGISTRY)}.")
    try:
        return REGISTRY[spec](**options)
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"Options {options} do not fit transform {spec!r}: {error}.") from error


def compose(parts, name: str | None = None) -> Transform:
    """Apply transforms in turn, on the product of their grids."""
    parts = tuple(get_transform(part) for part in parts)
    if not parts:
        raise InputError("A composition of no transforms. Name at least one.")
    if len(parts) == 1:
        return parts[0]
    sizes = [part.n_copies for part in parts]
    _check_copies(name or "+".join(part.name for part in parts), math.prod(sizes))
    choices = list(np.ndindex(*sizes))
    grid = tuple(tuple(part.grid[i] for part, i in zip(parts, row)) for row in choices)

    def function(batch, parameters):
        for part, parameter in zip(parts, parameters):
            if parameter != part.grid[part.identity]:
                batch = part(batch, parameter)
        return batch

    identity = int(np.ravel_multi_index([part.identity for part in parts], sizes))
    name = name or "+".join(part.name for part in parts)
    return Transform(name, function, grid, identity, "product", parts)


def virtual_samples(X, image_shape, spec, **options) -> np.ndarray:
    """Return all copies of each row under a transform.

    Parameters
    ----------
    X : array of shape (n, n_features)
    image_shape : sequence of int or None
        Shape of one row, see `as_images`; None for transforms of plain rows.
    spec, **options
        See `get_transform`.

    Returns
    -------
    ndarray of shape (n, n_copies, n_features), float32
        Copy ``identity`` is the row itself.

    Examples
    --------
    >>> import numpy as np
    >>> copies = virtual_samples(np.eye(2, 9), (3, 3), "rotation", step=90)
    >>> copies.shape
    (2, 4, 9)
    """
    transform = get_transform(spec, **options)
    shape = (np.shape(X)[0], transform.n_copies, np.shape(X)[1])
    require(4 * math.prod(shape), f"Transform {transform.name!r}", f"{shape[1]} copies of each row",
            advice="Take a larger step, or fewer rows.")  # fmt: skip
    batch = as_images(X, (np.shape(X)[1],) if image_shape is None else image_shape)
    out = np.empty(shape, np.float32)
    for i, parameter in enumerate(transform.grid):
        copy = batch if i == transform.identity else transform(batch, parameter)
        out[:, i] = copy.reshape(len(batch), -1)
    return out


def _check_copies(name, count):
    if count > MOST_COPIES:
        raise InputError(
            f"Transform {name!r} would make {count} copies of each sample; allowed: up to "
            f"{MOST_COPIES}. Take a larger step, or fewer transforms."
        )


def _bind(function, **options):
    inspect.signature(function).bind(None, None, **options)  # TypeError now, not at first use

    def bound(batch, parameter):
        return function(batch, parameter, **options)

    return bound


def _built(name, function, grid, identity, topology):
    grid = tuple(grid)
    _check_copies(name, len(grid))
    where = [i for i, parameter in enumerate(grid) if parameter == identity]
    if not where:
        raise InputError(
            f"The grid of {name!r}, {list(grid)}, lacks {identity!r}, the sample itself. Add it."
        )
    return Transform(name, function, grid, where[0], topology)


def _from_function(function, *, grid=None, identity=0, topology="line", name=None):
    if grid is None:
        raise InputError("A function as transform needs grid=[...], the parameters to try.")
    if topology not in TOPOLOGIES[:3]:
        raise InputError(f"topology={topology!r}: choose one of {', '.join(TOPOLOGIES[:3])}.")
    return _built(
        name or getattr(function, "__name__", "function"), function, grid, identity, topology
    )
