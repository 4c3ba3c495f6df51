"""Fit an atlas: an excess of chart proposals, then assignment and refitting in turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fewfold.exceptions import ConvergenceError, InputError
from fewfold.graph.neighbors import Neighbors, nearest_neighbors
from fewfold.methods.atlas.arrays import FINER
from fewfold.methods.atlas.charts import (
    Charts,
    cheapest,
    error_blocks,
    fit_charts,
    reconstruction_errors,
)
from fewfold.methods.atlas.energy import Neighborhoods, memberships, total_energy
from fewfold.methods.atlas.expansion import expansion_move, removal_move
from fewfold.methods.atlas.proposals import default_mdl, default_neighbors, propose_charts
from fewfold.methods.atlas.settings import AtlasSettings
from fewfold.methods.atlas.space import reduce_space, to_reduced

# What lowered the energy, in the column "kind" of the energy curve.
KINDS = ("start", "expansion", "removal", "refit")
# Below this many rows everything is computed in float64: it costs little there.
_SMALL = 5000
# Charts are fitted to at most so many rows: the errors of all rows on all proposals grow as n^1.5.
MOST_ROWS = 100_000


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

    Notes
    -----
    Of more than 100 000 rows, charts are fitted to a sample of as many; all rows are assigned.

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
    if n > MOST_ROWS:
        return _fit_on_sample(X, settings, neighbors, rng, progress)
    origin, basis = reduce_space(X, settings.max_features)
    Z = to_reduced(X, origin, basis, np.float64 if n <= _SMALL else np.float32)
    report("proposals", 0, 1)
    charts = propose_charts(Z, settings, rng)
    report("neighbors", 0, 1)
    rows = None if neighbors is None else _nearest_first(neighbors)
    k = min(settings.n_neighbors or default_neighbors(charts, rows), n - 1)
    hoods = Neighborhoods.from_neighbors(_neighbor_rows(Z, k, rows))
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


def _fit_on_sample(X, settings, neighbors, rng, progress):
    """Fit the charts to some rows; the interiors of the others are those of their cheapest charts.

    The energy curve is that of the sample.
    """
    n = X.shape[0]
    sample = np.sort(rng.permutation(n)[:MOST_ROWS])
    atlas = fit_atlas(X[sample], settings, random_state=rng, progress=progress)
    given = None if neighbors is None else _nearest_first(neighbors)
    k = int(atlas["n_neighbors"])
    k = k if given is None else min(k, given.shape[1])
    if given is None:
        given = nearest_neighbors(to_reduced(X, atlas["origin"], atlas["basis"], np.float32), k)
        given = given.indices
    hoods = Neighborhoods.from_neighbors(_neighbor_rows(range(n), k, given))
    for prefix in ("", *([FINER] if settings.finer is not None else [])):
        charts = Charts(*(atlas[prefix + name] for name in ("means", "directions", "dims")))
        interior = np.empty(n, np.int32)
        for start in range(0, n, MOST_ROWS):
            part = slice(start, start + MOST_ROWS)
            Z = to_reduced(X[part], atlas["origin"], atlas["basis"], charts.means.dtype)
            for rows, errors in error_blocks(Z, charts):
                interior[part][rows] = errors.argmin(axis=1)
        interior[sample] = atlas[prefix + "interior"]
        rows, members = memberships(interior, hoods)
        atlas[prefix + "interior"] = interior
        atlas[prefix + "member_rows"] = rows.astype(np.int64)
        atlas[prefix + "member_charts"] = members.astype(np.int32)
    return atlas | {"n_neighbors": np.int64(k)}


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


def _nearest_first(neighbors):
    """Return neighbors in the order of their distance; a graph holds them in that of its rows."""
    if not isinstance(neighbors, Neighbors):
        return np.asarray(neighbors)
    order = np.argsort(neighbors.distances, axis=1, kind="stable")
    return np.take_along_axis(np.asarray(neighbors.indices), order, axis=1)


def _neighbor_rows(Z, k, indices):
    if indices is None:
        return nearest_neighbors(Z, k).indices
    if indices.ndim != 2 or len(indices) != len(Z) or indices.shape[1] < k:
        raise InputError(
            f"neighbors has shape {indices.shape}; needed: ({len(Z)}, {k} or more). "
            f"Build the graph of the same rows with n_neighbors from {k}, or lower n_neighbors of "
            "the atlas."
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
    """Assign points and refit charts until the energy converges."""
    y = errors.argmin(axis=1)
    energy = [total_energy(y, hoods, errors, mdl, settings.potts)]
    kind = [0]
    for turn in range(settings.max_rounds):
        start = energy[-1]
        label = f"round {turn + 1} of {settings.max_rounds}"
        y = assign_points(y, errors, hoods, mdl, settings, rng, energy, kind, label, report)
        used, y = np.unique(y, return_inverse=True)
        charts = charts.take(used)
        # Running sums of changes drift; the curve continues from the exact value.
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
            "rise. Scale the features if they differ much in size. If it rises again, report this."
        )
