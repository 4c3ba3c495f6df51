"""Fit an atlas: an excess of chart proposals, then assignment and refitting in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.atlas.charts import Charts, cheapest, fit_charts, reconstruction_errors
from fewfold.atlas.energy import Neighborhoods, memberships, total_energy
from fewfold.atlas.expansion import expansion_move, removal_move
from fewfold.exceptions import ConvergenceError, InputError
from fewfold.graph.neighbors import Neighbors, nearest_neighbors

# What lowered the energy, in the column "kind" of the energy curve.
KINDS = ("start", "expansion", "removal", "refit")
# Names of the arrays of the finer atlas begin with this.
FINER = "finer_"
# Below this many rows everything is computed in float64: it costs little there.
_SMALL = 5000


@dataclass(frozen=True)
class AtlasSettings:
    """Options of `fit_atlas`; None means a value that adapts to the data.

    Attributes
    ----------
    n_dims : int, optional
        Dimension of the charts. Default: the directions that hold 95 % of the variance of the
        median proposal, at most 30.
    mdl : float, optional
        Price of a chart in use. Default: ``mdl_factor * (n_dims + 1)`` times the mean error of a
        point on its cheapest proposal. A chart reconstructs ``n_dims + 1`` points exactly, so
        one that is cheaper than their errors pays for itself without describing any others.
    mdl_factor : float
        Larger: fewer, larger charts.
    finer : float, optional
        Price of the charts of a second, finer atlas as a share of ``mdl``; None for one atlas
        only. Kernels and features are means over both.
    n_neighbors : int
        Neighbours that must share the chart whose interior holds a point.
    n_proposals : int, optional
        Default: ``6 sqrt(n)``, at most one per 5 points.
    proposal_size : int, optional
        Nearest points a proposal is fitted to. Default: a tenth of the points, from
        ``2 n_dims`` (5 at least) to 100.
    n_candidates : int
        An expansion considers the points that have the chart among this many cheapest.
    potts : float
        Price of a pair of neighbours in different interiors.
    max_rounds : int
        Rounds of assignment and refitting; fewer if the energy falls by less than 0.1 %.
    max_features : int or None
        Rows are first projected on this many principal components, if they have more.
    """

    n_dims: int | None = None
    mdl: float | None = None
    mdl_factor: float = 12.0
    finer: float | None = 0.25
    n_neighbors: int = 2
    n_proposals: int | None = None
    proposal_size: int | None = None
    n_candidates: int = 20
    potts: float = 0.0
    max_rounds: int = 4
    max_features: int | None = 150

    def check(self) -> None:
        """Refuse values out of range."""
        least = {
            "n_dims": 1,
            "mdl": 0,
            "mdl_factor": 0,
            "finer": 0,
            "n_neighbors": 1,
            "n_proposals": 1,
            "proposal_size": 2,
            "n_candidates": 1,
            "potts": 0,
            "max_rounds": 1,
            "max_features": 1,
        }
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and not value >= low:
                raise InputError(f"{name}={value!r}: allowed are numbers from {low} up.")


def fit_atlas(
    X,
    settings: AtlasSettings | dict | None = None,
    *,
    neighbors: Neighbors | np.ndarray | None = None,
    random_state=0,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, np.ndarray]:
    """Cover points with overlapping affine charts ([atlas-2014] Section 3).

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    settings : AtlasSettings or dict of its fields, optional
    neighbors : Neighbors or int array of shape (n_samples, at least n_neighbors), optional
        Nearest rows of each row, closest first, the row itself left out.
    random_state : int, RandomState or None
        Choice of the proposals, and order of the moves.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    dict of ndarrays
        ``means`` (m, r), ``directions`` (m, d, r), ``dims`` (m,): the charts, in the reduced
        space; ``origin`` (n_features,), ``basis`` (n_features, r), or (0, 0) where the space is
        not reduced; ``interior`` (n,): chart whose interior holds each row; ``member_rows``,
        ``member_charts``: all memberships; ``energy`` (n_moves,), ``energy_kind`` (n_moves,),
        index in `KINDS`; ``mdl``, ``potts``, ``n_neighbors``: scalars used. The same names with
        ``finer_`` before them describe the finer atlas, if asked for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 200)
    >>> atlas = fit_atlas(np.column_stack([np.cos(angle), np.sin(angle)]), {"n_dims": 1})
    >>> bool(np.all(np.diff(atlas["energy"]) <= 1e-9))
    True
    """
    if not isinstance(settings, AtlasSettings):
        settings = AtlasSettings(**(settings or {}))
    settings.check()
    rng = _generator(random_state)
    report = progress or (lambda stage, done, total: None)
    n = X.shape[0]
    if n < 2:
        raise InputError(f"An atlas needs 2 samples or more, found n_samples = {n}. Give more.")
    origin, basis = reduce_space(X, settings.max_features)
    Z = to_reduced(X, origin, basis, np.float64 if n <= _SMALL else np.float32)
    k = min(settings.n_neighbors, n - 1)
    report("neighbours", 0, 1)
    hoods = Neighborhoods.from_neighbors(_neighbor_rows(Z, k, neighbors))
    report("proposals", 0, 1)
    charts = propose_charts(Z, settings, rng)
    errors = reconstruction_errors(Z, charts)
    mdl = default_mdl(errors, charts, settings)
    atlas = {"origin": origin, "basis": basis}
    for prefix, share in (("", 1.0), (FINER, settings.finer)):
        if share is None:
            continue
        stage = "finer atlas, " if prefix else ""
        fitted = _alternate(
            Z, charts, errors, hoods, share * mdl, settings, rng, _prefixed(report, stage)
        )
        arrays = _arrays(*fitted, hoods) | {
            "mdl": np.float64(share * mdl),
            "potts": np.float64(settings.potts),
            "n_neighbors": np.int64(k),
        }
        atlas |= {prefix + name: value for name, value in arrays.items()}
    return atlas


def _prefixed(report, words):
    return lambda stage, done, total: report(words + stage, done, total)


def _arrays(charts, y, energy, kind, hoods):
    rows, members = memberships(y, hoods)
    return {
        "means": charts.means,
        "directions": charts.directions,
        "dims": charts.dims,
        "interior": y.astype(np.int32),
        "member_rows": rows.astype(np.int64),
        "member_charts": members.astype(np.int32),
        "energy": np.array(energy),
        "energy_kind": np.array(kind, np.int8),
    }


def finer_part(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Return the finer atlas of an atlas, or the finer encoding of an encoding; None without."""
    part = {name[len(FINER) :]: v for name, v in arrays.items() if name.startswith(FINER)}
    if not part:
        return None
    # Both atlases live in the same reduced space.
    return part | {name: arrays[name] for name in ("origin", "basis") if name in arrays}


def charts_of(atlas: dict[str, np.ndarray]) -> Charts:
    """Return the charts of an atlas made by `fit_atlas`."""
    return Charts(*(np.asarray(atlas[name]) for name in ("means", "directions", "dims")))


def reduce_space(X, max_features: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return origin and orthonormal basis of the space the atlas works in.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    max_features : int or None

    Returns
    -------
    origin : ndarray of shape (n_features,)
    basis : ndarray of shape (n_features, max_features)
        Of shape (0, 0) if the rows keep their features.

    Notes
    -----
    What the leading components leave of a row adds the same amount to its error on every chart:
    the assignment does not change as long as charts lie in their span.
    """
    n, D = X.shape
    if max_features is None or min(n, D) <= max_features:
        return np.asarray(X.mean(axis=0), np.float64).ravel(), np.zeros((0, 0))
    from sklearn.decomposition import PCA

    if sparse.issparse(X):
        pca = PCA(max_features, svd_solver="arpack", random_state=0).fit(X)
    else:
        solver = "covariance_eigh" if D <= max(n, 1000) else "randomized"
        pca = PCA(max_features, svd_solver=solver, random_state=0).fit(X)
    return pca.mean_.astype(np.float64), np.ascontiguousarray(pca.components_.T, np.float64)


def to_reduced(X, origin: np.ndarray, basis: np.ndarray, dtype) -> np.ndarray:
    """Map rows into the space the atlas works in."""
    if basis.size == 0:
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return np.ascontiguousarray(X - origin, dtype=dtype)
    return np.ascontiguousarray(X @ basis - origin @ basis, dtype=dtype)


def propose_charts(Z: np.ndarray, settings: AtlasSettings, rng: np.random.Generator) -> Charts:
    """Fit charts to the nearest points of random points.

    Parameters
    ----------
    Z : ndarray of shape (n, r)
    settings : AtlasSettings
    rng : Generator

    Returns
    -------
    Charts
        ``n_proposals`` of them, of dimension ``n_dims``.
    """
    n = len(Z)
    count = settings.n_proposals or max(1, min(round(6 * np.sqrt(n)), n // 5))
    seeds = rng.choice(n, min(count, n), replace=False)
    least = max(5, 2 * (settings.n_dims or 1))
    size = settings.proposal_size or max(least, min(100, n // 10))
    size = min(size, n)
    found = nearest_neighbors(Z, size, query=Z[seeds]).indices
    n_dims = settings.n_dims or _local_dims(Z, found)
    return fit_charts(Z, list(found), min(n_dims, Z.shape[1]), Z.dtype)


def _local_dims(Z, found, share=0.95, most=30):
    """Return the directions that hold most of the variance of the median proposal."""
    needed = []
    for rows in found[:200]:
        values = np.linalg.svd(Z[rows] - Z[rows].mean(axis=0), compute_uv=False) ** 2
        total = values.sum()
        if total > 0:
            needed.append(1 + np.count_nonzero(np.cumsum(values) < share * total))
    return int(np.clip(np.median(needed), 1, most)) if needed else 1


def default_mdl(errors: np.ndarray, charts: Charts, settings: AtlasSettings) -> float:
    """Return the price of a chart: as set, or by the errors of the proposals."""
    if settings.mdl is not None:
        return float(settings.mdl)
    mean_error = errors.min(axis=1).mean(dtype=np.float64)
    return float(settings.mdl_factor * (1 + charts.directions.shape[1]) * mean_error)


def _neighbor_rows(Z, k, neighbors):
    if neighbors is None:
        return nearest_neighbors(Z, k).indices
    indices = np.asarray(getattr(neighbors, "indices", neighbors))
    if indices.ndim != 2 or len(indices) != len(Z) or indices.shape[1] < k:
        raise InputError(
            f"neighbors has shape {indices.shape}, needed are ({len(Z)}, {k} or more). "
            "Search them on the same rows, or leave them out."
        )
    return indices[:, :k]


def _generator(random_state):
    if isinstance(random_state, np.random.Generator):
        return random_state
    from sklearn.utils import check_random_state

    if random_state is None or isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(check_random_state(random_state).randint(2**31))
    return np.random.default_rng(random_state)


def _alternate(Z, charts, errors, hoods, mdl, settings, rng, report):
    """Assign points and refit charts until the energy settles."""
    y = errors.argmin(axis=1)
    energy = [total_energy(y, hoods, errors, mdl, settings.potts)]
    kind = [0]
    for turn in range(settings.max_rounds):
        start = energy[-1]
        label = f"round {turn + 1} of {settings.max_rounds}"
        y = assign_points(y, errors, hoods, mdl, settings, rng, energy, kind, label, report)
        used, y = np.unique(y, return_inverse=True)
        charts = charts.take(used)
        # Running sums of changes drift; the curve goes on from the exact value.
        energy[-1] = total_energy(y, hoods, errors[:, used], mdl, settings.potts)
        charts = _refit(Z, y, hoods, charts)
        errors = reconstruction_errors(Z, charts)
        energy.append(total_energy(y, hoods, errors, mdl, settings.potts))
        kind.append(3)
        _check_fall(energy, Z)
        report(label, 1, 1)
        if start - energy[-1] < 1e-3 * abs(start):
            break
    return charts, y, energy, kind


def _refit(Z, y, hoods, charts):
    rows, members = memberships(y, hoods)
    order = np.argsort(members, kind="stable")
    bounds = np.cumsum(np.bincount(members, minlength=len(charts)))[:-1]
    n_dims = charts.directions.shape[1]
    return fit_charts(Z, np.split(rows[order], bounds), n_dims, Z.dtype)


def assign_points(
    y: np.ndarray,
    errors: np.ndarray,
    hoods: Neighborhoods,
    mdl: float,
    settings: AtlasSettings,
    rng: np.random.Generator,
    energy: list[float],
    kind: list[int],
    label: str = "assignment",
    report: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> np.ndarray:
    """Lower the energy of an assignment by one sweep of expansions and one of removals.

    Parameters
    ----------
    y : int ndarray of shape (n,)
    errors : ndarray of shape (n, n_charts)
    hoods : Neighborhoods
    mdl : float
    settings : AtlasSettings
    rng : Generator
        Order of the expansions.
    energy, kind : lists, extended by each move that is made.

    Returns
    -------
    y : int ndarray of shape (n,)
        The better assignment.
    """
    y = y.copy()
    m = errors.shape[1]
    candidates = cheapest(errors, settings.n_candidates)
    order = np.argsort(candidates.ravel(), kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(candidates.ravel(), minlength=m))])
    near = order // candidates.shape[1]
    sizes = np.bincount(y, minlength=m)
    for done, alpha in enumerate(rng.permutation(m)):
        movable = near[bounds[alpha] : bounds[alpha + 1]]
        rows, change = expansion_move(alpha, movable, y, sizes, hoods, errors, mdl, settings.potts)
        if len(rows):
            sizes -= np.bincount(y[rows], minlength=m)
            sizes[alpha] += len(rows)
            y[rows] = alpha
            _record(energy, kind, change, 1)
        report(label, done + 1, 2 * m)
    used = np.flatnonzero(sizes)
    for chart in used[np.argsort(sizes[used], kind="stable")]:
        rows, labels, change = removal_move(
            chart, y, sizes, candidates, hoods, errors, mdl, settings.potts
        )
        if len(rows):
            y[rows] = labels
            sizes[chart] = 0
            sizes += np.bincount(labels, minlength=m)
            _record(energy, kind, change, 2)
    return y


def _record(energy, kind, change, what):
    energy.append(energy[-1] + change)
    kind.append(what)


def _check_fall(energy, Z):
    """Refuse a curve that rises beyond rounding: errors are differences of squared lengths."""
    slack = 1e-10 if Z.dtype == np.float64 else 1e-6
    rise = np.max(np.diff(energy))
    if rise > slack * (np.square(Z, dtype=np.float64).sum() + energy[0]):
        raise ConvergenceError(
            f"The atlas's energy rose by {rise:.3g} (of {energy[0]:.3g}) in a move; it must never "
            "rise. The features may be of very different size: scale them, and report this."
        )
