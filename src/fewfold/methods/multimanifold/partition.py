"""From points to decision sets: the steps of the paper in one function."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.multimanifold import covariances as cov
from fewfold.methods.multimanifold.clustering import (
    constrained_kmeans,
    cut_value,
    ratio_cut_embedding,
)
from fewfold.methods.multimanifold.consensus import consensus
from fewfold.methods.multimanifold.cover import greedy_cover, starting_points
from fewfold.methods.multimanifold.decision import refined_parts
from fewfold.methods.multimanifold.hellinger import hellinger_graph
from fewfold.methods.multimanifold.named_graph import contract
from fewfold.methods.multimanifold.rules import (
    Bounds,
    PartitionSettings,
    default_degree,
    default_neighborhood,
    resolve_bounds,
)

# Bandwidths of the weights: the paper's, and a sharper one for when the covers disagree.
SIGMAS = (0.2, 0.15)

# Mean adjusted Rand index from which the covers agree.
_STEADY = 0.9


@dataclass(frozen=True, eq=False)
class Partition:
    """Points kept, the graph on them and the part of each.

    Attributes
    ----------
    kept : ndarray of shape (n_kept,), int64
        Rows of the data: the labelled ones, then a cover of the unlabelled ones.
    part : ndarray of shape (n_kept,), int64
        Part of each kept row, 0 to n_parts - 1.
    labelled : bool ndarray of shape (n_kept,)
    points : ndarray of shape (n_kept, n_dimensions)
        Kept rows in the space where the geometry is read.
    covariances : ndarray of shape (n_kept, n_dimensions, n_dimensions) or None
        Their local covariances; None when there is one part only.
    W : csr_array of shape (n_kept, n_kept)
    bounds : Bounds
    ratio_cut : float
    cell_covariances, cell_part : ndarray or None
        Gaussians of the decision sets and the part of each: ``part``, in up to 4 dimensions
        corrected beside crossings (`decision.refined_parts`); None
        when there is one part only.
    projection : Projection or None
        Takes new rows into the space of ``points``.
    agreement : float
        Mean adjusted Rand index with the partitions from the other covers (1 with one cover).
    times_s : dict of str to float
        Seconds spent in each step, over all covers.
    """

    kept: np.ndarray
    part: np.ndarray
    labelled: np.ndarray
    points: np.ndarray
    covariances: np.ndarray | None
    W: sparse.csr_array
    bounds: Bounds
    ratio_cut: float
    cell_covariances: np.ndarray | None = None
    cell_part: np.ndarray | None = None
    projection: cov.Projection | None = None
    agreement: float = 1.0
    times_s: dict = field(default_factory=dict)

    def sizes(self) -> np.ndarray:
        """Count the labelled and unlabelled kept points of each part, shape (n_parts, 2)."""
        k = self.bounds.n_parts
        return np.stack(
            [np.bincount(self.part[kind], minlength=k) for kind in (self.labelled, ~self.labelled)],
            axis=1,
        )


class _Clock:
    """Adds up the seconds between calls under the name of the step that just ended."""

    def __init__(self):
        self.times_s = {}
        self._last = perf_counter()

    def __call__(self, step):
        now = perf_counter()
        self.times_s[step] = self.times_s.get(step, 0.0) + now - self._last
        self._last = now


def partition(
    X,
    labelled: np.ndarray,
    settings: PartitionSettings | None = None,
    *,
    graph: sparse.csr_array | None = None,
    random_state: int = 0,
) -> Partition:
    """Split data into decision sets, reading nothing of the labels but where they are.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    labelled : bool ndarray of shape (n_samples,)
        At least one True.
    settings : PartitionSettings, optional
    graph : csr_array of shape (n_samples, n_samples), optional
        A neighbour graph of the rows. Kept points are then joined only where the graph joins
        rows around them (`named_graph`); the weights stay Hellinger's.
    random_state : int
        Seeds the starts of the k-means.

    Returns
    -------
    Partition

    Notes
    -----
    Every choice is made from distances and in an order given by distances, so rotating,
    shifting or scaling the data does not change the partition and permuting its rows permutes
    it. About O(M log M) in few dimensions, plus O(m**2) for the Mahalanobis neighbours of the m
    points of the cover.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 20]
    >>> labelled = np.isin(np.arange(400), np.arange(0, 400, 40))
    >>> found = partition(X, labelled)
    >>> left, right = found.part[found.kept < 200], found.part[found.kept >= 200]
    >>> len(set(left)), len(set(right)), len(set(left) & set(right))
    (1, 1, 0)
    """
    clock = _Clock()
    settings = settings or PartitionSettings()
    chosen, memory = None, {}
    for sigma in _sigmas(X, settings):
        used = replace(settings, sigma=sigma)
        found = partitions_from_starts(
            X, labelled, used, graph=graph, random_state=random_state, clock=clock, memory=memory
        )
        Z = found[0].projection.apply(X)
        best, agreement = consensus(Z, found)
        clock("consensus")
        if chosen is None or agreement > chosen.agreement:
            chosen, chosen_settings = replace(found[best], agreement=agreement), used
        if chosen.agreement >= _STEADY:
            break
    chosen = with_cells(Z, chosen, chosen_settings)
    clock("cells")
    return replace(chosen, times_s=clock.times_s)


def _sigmas(X, settings):
    """Bandwidths to try in turn until the covers agree."""
    if settings.sigma != "auto":
        return (settings.sigma,)
    few = X.shape[1] <= cov.FEW_DIMENSIONS and settings.n_covers > 1
    return SIGMAS if few and not settings.unit_weights else SIGMAS[:1]


def partitions_from_starts(
    X,
    labelled: np.ndarray,
    settings: PartitionSettings | None = None,
    *,
    graph: sparse.csr_array | None = None,
    random_state: int = 0,
    clock=None,
    memory: dict | None = None,
) -> list[Partition]:
    """Partition the data once per cover, each walk from another start.

    Parameters
    ----------
    X, labelled, settings, graph, random_state
        As for :func:`partition`.
    clock : callable, optional
        Called with the name of each step that ended.
    memory : dict, optional
        Filled with what does not depend on ``sigma``, and read when the call is repeated with
        another one and all else the same.

    Returns
    -------
    partitions : list of Partition, one per cover
    """
    settings = settings or PartitionSettings()
    if settings.sigma == "auto":
        settings = replace(settings, sigma=SIGMAS[0])
    labelled = np.asarray(labelled, dtype=bool)
    _check(X, labelled, settings)
    clock = clock or _Clock()
    memory = {} if memory is None else memory
    if not memory:
        memory["projection"] = cov.fit_projection(X, settings.n_components)
        memory["Z"] = memory["projection"].apply(X)
        clock("reduce")
        memory["paths"] = _covers(memory["Z"], labelled, settings, clock)
        memory["covariances"] = [None] * len(memory["paths"])
    Z, projection = memory["Z"], memory["projection"]
    found = []
    for i, path in enumerate(memory["paths"]):
        S = memory["covariances"][i]
        one = _one_partition(Z, labelled, path, settings, graph, random_state, clock, S)
        memory["covariances"][i] = one.covariances
        found.append(one)
    return [replace(one, projection=projection) for one in found]


def _check(X, labelled, settings):
    if labelled.shape != (X.shape[0],) or not labelled.any():
        raise InputError(
            f"{int(labelled.sum())} labelled points in a mask of shape {labelled.shape} for "
            f"{X.shape[0]} samples. Mark at least one sample as labelled, one entry per sample."
        )
    for name, least in (("n_covers", 1), ("n_restarts", 1), ("n_refits", 0)):
        value = getattr(settings, name)
        if isinstance(value, (str, bool)) or int(value) != value or value < least:
            raise InputError(
                f"{name}={value!r} is not allowed. Give a whole number of at least {least}."
            )


def _local_covariances(Z, points, n_unlabelled, ridge, settings):
    size = _neighborhood_size(n_unlabelled, len(Z), settings)
    candidates = cov.neighbourhoods(Z, size * (2 if settings.n_refits else 1), points)
    return cov.steered_covariances(Z, points, candidates, size, ridge, settings.n_refits)


def _neighborhood_size(n_unlabelled, n_samples, settings):
    if settings.n_neighbors == "auto":
        # Without unlabelled points the labelled ones are all there is to see the shape.
        return default_neighborhood(n_unlabelled or n_samples)
    if isinstance(settings.n_neighbors, str) or settings.n_neighbors < 2:
        raise InputError(
            f"n_neighbors={settings.n_neighbors!r} is not allowed. Give 'auto' or at least 2."
        )
    return int(settings.n_neighbors)


def _covers(Z, labelled, settings, clock):
    """Rows of each cover of the unlabelled points, in walking order."""
    unlabelled = np.flatnonzero(~labelled)
    if not len(unlabelled):
        return [unlabelled]
    U = Z[unlabelled]
    around = cov.neighbourhoods(U, _neighborhood_size(len(U), len(Z), settings))
    clock("neighbours")
    starts = starting_points(U, settings.n_covers)
    paths = [unlabelled[greedy_cover(U, around, start)] for start in starts]
    clock("cover")
    return paths


def _one_partition(Z, labelled, path, settings, graph, random_state, clock, S=None):
    own = np.flatnonzero(labelled)
    origin = Z[path[0]] if len(path) else Z.mean(axis=0)
    # Labelled points by distance from the start, the others as walked: no row number matters.
    own = own[np.argsort(((Z[own] - origin) ** 2).sum(axis=1), kind="stable")]
    kept = np.r_[own, path]
    is_labelled = np.arange(len(kept)) < len(own)
    bounds = resolve_bounds(
        len(own), len(path), settings.n_parts, settings.min_labelled, settings.min_unlabelled
    )
    if bounds.n_parts == 1 or bounds.n_parts >= len(kept):
        return _whole(Z, kept, is_labelled, bounds)
    if S is None:
        ridge = cov.default_ridge(Z.shape[1]) if settings.ridge == "auto" else settings.ridge
        S = _local_covariances(Z, Z[kept], int((~labelled).sum()), ridge, settings)
    clock("covariances")
    degree = default_degree(len(kept)) if settings.degree == "auto" else settings.degree
    W = hellinger_graph(
        Z[kept],
        S,
        degree,
        settings.sigma,
        unit_weights=settings.unit_weights,
        candidates=None if graph is None else contract(graph, Z, kept),
    )
    clock("graph")
    V = ratio_cut_embedding(W, bounds.n_parts)
    clock("eigenvectors")
    clustering = constrained_kmeans(
        V,
        bounds.n_parts,
        is_labelled,
        bounds.min_labelled,
        bounds.min_unlabelled,
        n_restarts=settings.n_restarts,
        random_state=random_state,
        # k-means stands in for the ratio cut: of its local optima take the one that cuts least.
        score=lambda part: cut_value(W, part),
    )
    clock("kmeans")
    cut = cut_value(W, clustering.part)
    return Partition(kept, clustering.part, is_labelled, Z[kept], S, W, bounds, cut)


def with_cells(Z: np.ndarray, found: Partition, settings: PartitionSettings) -> Partition:
    """Add the Gaussians from which decision sets are read.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_dimensions)
        The data in the space of the partition.
    found : Partition
    settings : PartitionSettings

    Returns
    -------
    Partition
    """
    if found.covariances is None:
        return found
    d = Z.shape[1]
    ridge = cov.default_ridge(d) if settings.ridge == "auto" else settings.ridge
    thin = (
        cov.default_cell_ridge(d, ridge) if settings.cell_ridge == "auto" else settings.cell_ridge
    )
    covariances = found.covariances
    if thin != ridge:
        n_labelled = int(found.labelled.sum())
        covariances = _local_covariances(Z, found.points, len(Z) - n_labelled, thin, settings)
    part = found.part
    if d <= cov.FEW_DIMENSIONS:
        # In many dimensions one noisy Gaussian outweighs all others at a point: on MNIST training
        # images the refinement doubled the share of rows in the wrong part.
        part = refined_parts(found.points, covariances, found.covariances, part, settings.sigma)
    return replace(found, cell_covariances=covariances, cell_part=part)


def _whole(Z, kept, is_labelled, bounds):
    """One part: nothing to cut (or fewer points than parts)."""
    empty = sparse.csr_array((len(kept), len(kept)))
    single = Bounds(1, 0, 0, bounds.notes)
    part = np.zeros(len(kept), np.int64)
    return Partition(kept, part, is_labelled, Z[kept], None, empty, single, 0.0)
