"""Settings of the partition, and the paper's rules for what is left to them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.multimanifold import PARTITION_PARAMETERS, SHAPE_PARAMETERS
from fewfold.methods.parameters import check_parameters

# Defaults of each variant.
VARIANTS = {
    "default": {
        "n_parts": "labels",
        "n_refits": 15,
        "n_covers": 3,
        "restart_choice": "ratio_cut",
        "cells": "gaussian",
    },
    "published": {
        "n_parts": "rule",
        "n_refits": 0,
        "n_covers": 1,
        "restart_choice": "objective",
        "cells": "euclidean",
        "sigma": 0.2,
    },
}

# Most parts that labels choose from: learners of more parts would have too few labels.
MOST_PARTS = 6


@dataclass(eq=False, repr=False, kw_only=True)
class PartitionSettings:
    """Settings of `partition.partition`; "auto" follows the paper's rules.

    Attributes
    ----------
    variant : {"default", "published"}
        Says what settings left open (None, and "auto" of n_parts and sigma) stand for.
    n_parts : int, "auto", "rule" or "labels"
        Number of decision sets: "rule" is the paper's ``ceil(0.5 log n)``, "labels" lets the
        labels choose from 1 to 6, "auto" is "labels" by default and "rule" as published.
    min_labeled, min_unlabeled : int or "auto"
        The least number of points of each kind in a decision set.
    n_neighbors : int or "auto"
        Size of the neighborhoods of covariances and cover, ``floor(3 log M)``.
    degree : int or "auto"
        Mahalanobis neighbors of a point in the graph, ``floor(1.5 log(m + n))``.
    sigma : float or "auto"
        Bandwidth of the Hellinger weights. "auto" is 0.2 and, in up to 4 dimensions where the
        covers disagree about the partition, 0.15 if they agree better then.
    ridge : float or "auto"
        Share of the mean variance added to each covariance; 0.01 up to 4 dimensions, else 0.3.
    cell_ridge : float or "auto"
        The same for the Gaussians of the decision sets; 1e-6 up to 4 dimensions, else ``ridge``.
    n_components : int, "auto" or None
        Principal components in which the geometry is read.
    n_refits : int, optional
        Times a neighborhood is chosen again along its own covariance: 15, or 0 as published.
    n_covers : int, optional
        Covers tried, from different starts; the one the others agree with most is kept: 3, or
        1 as published.
    n_restarts : int
        Starts of the constrained k-means.
    restart_choice : {"ratio_cut", "objective"}, optional
        Criterion of the start that is kept: the ratio cut, or as published the objective of
        the k-means.
    unit_weights : bool
        Ignore the Hellinger distances (for comparison).
    cells : {"gaussian", "euclidean"}, optional
        Decision sets: where a part is densest, or as published around its kept points.
    """

    variant: str = "default"
    n_parts: int | str = "auto"
    min_labeled: int | str = "auto"
    min_unlabeled: int | str = "auto"
    n_neighbors: int | str = "auto"
    degree: int | str = "auto"
    sigma: float | str = "auto"
    ridge: float | str = "auto"
    cell_ridge: float | str = "auto"
    n_components: int | str | None = "auto"
    n_refits: int | None = None
    n_covers: int | None = None
    n_restarts: int = 10
    restart_choice: str | None = None
    unit_weights: bool = False
    cells: str | None = None

    def resolved(self) -> PartitionSettings:
        """Return the settings with the variant's values for those left open.

        Returns
        -------
        PartitionSettings

        Raises
        ------
        InputError
            For values that the record of the manifold does not allow.
        """
        declared = (*PARTITION_PARAMETERS, *SHAPE_PARAMETERS)
        left_open = {p.name for p in declared if p.default is None}
        own = {f.name: getattr(self, f.name) for f in fields(PartitionSettings)}
        given = {n: v for n, v in own.items() if not (v is None and n in left_open)}
        check_parameters("The partition", declared, given)
        for name, value in VARIANTS[self.variant].items():
            if own[name] in (None, "auto"):
                own[name] = value
        return PartitionSettings(**own)


@dataclass(frozen=True)
class Bounds:
    """How many parts, and the least number of points of each kind in one.

    Attributes
    ----------
    n_parts : int
    min_labeled, min_unlabeled : int
        The paper's a and b.
    notes : tuple of str
        What was lowered so that the bounds can be met, in words for the report.
    """

    n_parts: int
    min_labeled: int
    min_unlabeled: int
    notes: tuple[str, ...] = field(default=())


def default_parts(n_labeled: int) -> int:
    """Return the number of parts, ``ceil(0.5 log n)``, at least 1.

    Examples
    --------
    >>> [default_parts(n) for n in (1, 20, 80, 640)]
    [1, 2, 3, 4]
    """
    return max(1, int(np.ceil(0.5 * np.log(max(1, n_labeled)))))


def candidate_parts(n_labeled: int, n_unlabeled: int, settings: PartitionSettings) -> list[int]:
    """Return the numbers of parts to cut into: that of the settings or of the paper's rule first.

    Where the labels choose, the others from 1 to `MOST_PARTS` follow, as far as their bounds can
    be met.

    Examples
    --------
    >>> candidate_parts(20, 1500, PartitionSettings(n_parts="labels"))
    [2, 1, 3, 4, 5, 6]
    """
    wanted = settings.n_parts
    first = default_parts(n_labeled) if wanted in ("rule", "labels") else int(wanted)
    if wanted != "labels":
        return [first]
    bounds = {}
    for name, available in (("min_labeled", n_labeled), ("min_unlabeled", n_unlabeled)):
        value = getattr(settings, name)
        bounds[name] = default_minimum(available, n_labeled) if value == "auto" else int(value)
    most = min(n_labeled // max(1, bounds["min_labeled"]), MOST_PARTS)
    most = min(n_unlabeled // max(1, bounds["min_unlabeled"]), most)
    return [first, *(k for k in range(1, most + 1) if k != first)]


def default_neighborhood(n_unlabeled: int) -> int:
    """Return the size of a covariance neighborhood, ``floor(3 log M)``, at least 2.

    Examples
    --------
    >>> default_neighborhood(20_000)
    29
    """
    return max(2, int(3 * np.log(max(1, n_unlabeled))))


def default_degree(n_points: int) -> int:
    """Return the Mahalanobis neighbors of a point, ``floor(1.5 log(m + n))``, at least 1.

    Examples
    --------
    >>> default_degree(1500)
    10
    """
    return max(1, int(1.5 * np.log(max(1, n_points))))


def default_minimum(n_points: int, n_labeled: int) -> int:
    """Return the least size of a part, ``floor(1.25 n_points / log^2 n)``.

    Examples
    --------
    >>> default_minimum(20, 20), default_minimum(1500, 20)
    (2, 208)
    """
    if n_labeled < 2:
        return 0
    return int(1.25 * n_points / np.log(n_labeled) ** 2)


def resolve_bounds(
    n_labeled: int,
    n_unlabeled_kept: int,
    n_parts: int,
    min_labeled: int | str = "auto",
    min_unlabeled: int | str = "auto",
) -> Bounds:
    """Turn settings into feasible bounds: defaults are lowered, the user's numbers are not.

    Parameters
    ----------
    n_labeled, n_unlabeled_kept : int
        The paper's n and m.
    n_parts : int
    min_labeled, min_unlabeled : int or "auto"

    Returns
    -------
    Bounds

    Raises
    ------
    InputError
        If numbers that were set cannot be met.

    Examples
    --------
    >>> resolve_bounds(20, 1500, 2)
    Bounds(n_parts=2, min_labeled=2, min_unlabeled=208, notes=())
    """
    k, notes, limits = n_parts, [], []
    for name, value, available in (
        ("min_labeled", min_labeled, n_labeled),
        ("min_unlabeled", min_unlabeled, n_unlabeled_kept),
    ):
        if value == "auto":
            rule = default_minimum(available, n_labeled)
            limit = min(rule, available // k)
            if limit < rule:
                notes.append(
                    f"{name} lowered from {rule} to {limit}: {available} points, {k} parts"
                )
        else:
            limit = int(value)
            if limit * k > available:
                raise InputError(
                    f"{name}={limit} with {k} parts needs {limit * k} such points, got "
                    f"{available}. Lower {name} or n_parts, or leave {name}='auto'."
                )
        limits.append(limit)
    return Bounds(k, *limits, tuple(notes))
