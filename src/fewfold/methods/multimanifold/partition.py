"""From points to decision sets: the steps of the paper in one function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

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
from fewfold.methods.multimanifold.decision import refined_parts
from fewfold.methods.multimanifold.hellinger import (
    mahalanobis_neighbors,
    squared_hellinger,
    undirected,
    weighted_graph,
)
from fewfold.methods.multimanifold.named_graph import contract, nearest_candidates
from fewfold.methods.multimanifold.rules import (
    Bounds,
    PartitionSettings,
    candidate_parts,
    default_degree,
    resolve_bounds,
)
from fewfold.methods.multimanifold.shape import Shape, fit_shape

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
        Rows of the data: the labeled ones, then a cover of the unlabeled ones.
    part : ndarray of shape (n_kept,), int64
        Part of each kept row, 0 to n_parts - 1.
    labeled : bool ndarray of shape (n_kept,)
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
    """

    kept: np.ndarray
    part: np.ndarray
    labeled: np.ndarray
    points: np.ndarray
    covariances: np.ndarray | None
    W: sparse.csr_array
    bounds: Bounds
    ratio_cut: float
    cell_covariances: np.ndarray | None = None
    cell_part: np.ndarray | None = None
    projection: cov.Projection | None = None
    agreement: float = 1.0

    def sizes(self) -> np.ndarray:
        """Count the labeled and unlabeled kept points of each part, shape (n_parts, 2)."""
        k = self.bounds.n_parts
        return np.stack(
            [np.bincount(self.part[kind], minlength=k) for kind in (self.labeled, ~self.labeled)],
            axis=1,
        )


def partition(X, labeled: np.ndarray, settings: PartitionSettings | None = None, **options):
    """Split data into decision sets, reading nothing of the labels but where they are.

    The first of `partitions`, whose parameters these are: with as many parts as the settings or
    the paper's rule say.

    Returns
    -------
    Partition

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 20]
    >>> labeled = np.isin(np.arange(400), np.arange(0, 400, 40))
    >>> found = partition(X, labeled)
    >>> left, right = found.part[found.kept < 200], found.part[found.kept >= 200]
    >>> len(set(left)), len(set(right)), len(set(left) & set(right))
    (1, 1, 0)
    """
    settings = (settings or PartitionSettings()).resolved()
    if settings.n_parts == "labels":
        settings = replace(settings, n_parts="rule")
    return partitions(X, labeled, settings, **options)[0]


def partitions(
    X,
    labeled: np.ndarray,
    settings: PartitionSettings | None = None,
    *,
    shape: Shape | None = None,
    graph: sparse.csr_array | None = None,
    random_state: int = 0,
) -> list[Partition]:
    """Split data into decision sets, once for each number of parts that the labels may choose.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    labeled : bool ndarray of shape (n_samples,)
        At least one True.
    settings : PartitionSettings, optional
    shape : Shape, optional
        What was read of the same data without labels; computed here when left out.
    graph : csr_array of shape (n_samples, n_samples), optional
        A neighbor graph of the rows. Kept points are then joined only where the graph joins
        rows around them (`named_graph`); the weights stay Hellinger's.
    random_state : int
        Seeds the starts of the k-means.

    Returns
    -------
    list of Partition
        For `rules.candidate_parts`, in their order.

    Notes
    -----
    Every choice is made from distances and in an order given by distances, so rotating,
    shifting or scaling the data does not change the partition and permuting its rows permutes
    it. About O(M log M) in few dimensions, plus O(m**2) for the Mahalanobis neighbors of the m
    points of the cover.
    """
    settings = (settings or PartitionSettings()).resolved()
    labeled = _checked_mask(X, labeled)
    shape = fit_shape(X, settings) if shape is None else shape
    Z = shape.projection.apply(X)
    drafts = [_Draft(Z, labeled, cover, shape, settings, graph) for cover in shape.covers]
    found = []
    for n_parts in candidate_parts(*drafts[0].counts, settings):
        chosen = _agreed(Z, drafts, n_parts, _sigmas(X, settings), random_state)
        found.append(replace(chosen, projection=shape.projection))
    return found


def _agreed(Z, drafts, n_parts, sigmas, random_state):
    """Return the partition into n parts that the covers agree on most."""
    chosen = None
    for sigma in sigmas:
        found = [draft.cut(n_parts, sigma, random_state) for draft in drafts]
        best, agreement = consensus(Z, found)
        if chosen is None or agreement > chosen.agreement:
            chosen, draft = replace(found[best], agreement=agreement), drafts[best]
            chosen_sigma = sigma
        if chosen.agreement >= _STEADY:
            break
    chosen = draft.with_cells(chosen, chosen_sigma)
    return chosen


def _sigmas(X, settings):
    """Bandwidths to try in turn until the covers agree."""
    if settings.sigma != "auto":
        return (settings.sigma,)
    few = X.shape[1] <= cov.FEW_DIMENSIONS and settings.n_covers > 1
    return SIGMAS if few and not settings.unit_weights else SIGMAS[:1]


def _checked_mask(X, labeled):
    labeled = np.asarray(labeled, dtype=bool)
    if labeled.shape != (X.shape[0],) or not labeled.any():
        raise InputError(
            f"{int(labeled.sum())} labeled points in a mask of shape {labeled.shape} for "
            f"{X.shape[0]} samples. Mark at least one sample as labeled, one entry per sample."
        )
    return labeled


class _Draft:
    """One cover with the labeled rows of a draw joined to its graph, ready to be cut."""

    def __init__(self, Z, labeled, cover, shape, settings, graph):
        self.Z, self.cover, self.shape, self.settings = Z, cover, shape, settings
        self.graph = graph
        own, path = np.flatnonzero(labeled), cover.rows[~labeled[cover.rows]]
        # Labeled points by distance from the start, the others as walked: no row number matters.
        origin = Z[cover.rows[0]]
        own = own[np.argsort(((Z[own] - origin) ** 2).sum(axis=1), kind="stable")]
        self.kept, self.counts = np.r_[own, path], (len(own), len(path))
        self.is_labeled = np.arange(len(self.kept)) < len(own)
        self.place = np.full(len(Z), -1)  # of each row among the kept ones
        self.place[self.kept] = np.arange(len(self.kept))
        self.points = Z[self.kept]

    @cached_property
    def covariances(self):
        """Local covariances of the kept points."""
        return self._covariances(self.cover.covariances, self.shape.ridge)

    @cached_property
    def weights(self):
        """Pairs of kept points, and their squared Hellinger distances."""
        return self._edges(self.graph)

    def _covariances(self, of_cover, ridge):
        """Return the covariances of the kept points: the cover's, and those of labeled rows."""
        S = np.empty((len(self.kept), *of_cover.shape[1:]))
        S[self.place[self.cover.rows]] = of_cover
        rest = np.ones(len(self.kept), bool)
        rest[self.place[self.cover.rows]] = False
        if rest.any():
            points = self.points[rest]
            S[rest] = self.shape.local_covariances(self.Z, points, ridge)
        return S

    def _edges(self, graph):
        """Return pairs of kept points, each once, and their squared Hellinger distances."""
        degree = self.shape.degree or default_degree(len(self.kept))
        if graph is not None:
            joined = contract(graph, self.Z, self.kept)
            arcs = nearest_candidates(self.points, self.covariances, joined, degree)
            edges = undirected(*arcs)
            return edges, squared_hellinger(self.covariances, *edges)
        old = self.place[self.cover.rows][self.cover.edges]
        own = np.flatnonzero(self.is_labeled)
        near = mahalanobis_neighbors(self.points, self.covariances, degree, own)
        new = np.repeat(own, near.shape[1]), near.ravel()
        edges = undirected(*np.concatenate([old, new], axis=1))
        # The cover's own pairs were measured with it; only the others are new.
        low, high = np.sort(old, axis=0)
        keys = low * len(self.kept) + high
        order = np.argsort(keys)
        wanted = edges[0] * len(self.kept) + edges[1]
        at = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
        known = keys[order][at] == wanted if len(keys) else np.zeros(len(wanted), bool)
        h2 = np.empty(len(wanted))
        h2[known] = self.cover.squared_hellinger[order][at[known]]
        h2[~known] = squared_hellinger(self.covariances, edges[0][~known], edges[1][~known])
        return edges, h2

    def cut(self, n_parts, sigma, random_state) -> Partition:
        """Return the partition of least cut that meets the bounds."""
        settings = self.settings
        bounds = resolve_bounds(*self.counts, n_parts, settings.min_labeled, settings.min_unlabeled)
        if n_parts == 1 or n_parts >= len(self.kept):
            return self._whole(bounds)
        W = weighted_graph(
            self.points,
            self.covariances,
            *self.weights,
            sigma,
            unit_weights=settings.unit_weights,
        )
        V = ratio_cut_embedding(W, n_parts)
        by_cut = settings.restart_choice == "ratio_cut"
        clustering = constrained_kmeans(
            V,
            n_parts,
            self.is_labeled,
            bounds.min_labeled,
            bounds.min_unlabeled,
            n_restarts=settings.n_restarts,
            random_state=random_state,
            # k-means stands in for the ratio cut: of its local optima take the one that cuts least.
            score=(lambda part: cut_value(W, part)) if by_cut else None,
        )
        return Partition(
            self.kept,
            clustering.part,
            self.is_labeled,
            self.points,
            self.covariances,
            W,
            bounds,
            cut_value(W, clustering.part),
        )

    def with_cells(self, found: Partition, sigma: float) -> Partition:
        """Add the Gaussians from which decision sets are read."""
        if found.covariances is None:
            return found
        covariances, part = found.covariances, found.part
        if self.shape.cell_ridge != self.shape.ridge:
            covariances = self._covariances(self.cover.cells, self.shape.cell_ridge)
        if self.Z.shape[1] <= cov.FEW_DIMENSIONS:
            # In many dimensions one noisy Gaussian outweighs all others at a point: on MNIST
            # training images the refinement doubled the share of rows in the wrong part.
            part = refined_parts(found.points, covariances, found.covariances, part, sigma)
        return replace(found, cell_covariances=covariances, cell_part=part)

    def _whole(self, bounds):
        """One part: nothing to cut (or fewer points than parts)."""
        n = len(self.kept)
        return Partition(
            self.kept,
            np.zeros(n, np.int64),
            self.is_labeled,
            self.points,
            None,
            sparse.csr_array((n, n)),
            Bounds(1, 0, 0, bounds.notes),
            0.0,
        )
