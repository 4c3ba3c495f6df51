"""Energy and moves of the atlas against definitions and exhaustive search."""

import itertools

import numpy as np
import pytest

from fewfold.graph.neighbors import nearest_neighbors
from fewfold.methods.atlas import fitting
from fewfold.methods.atlas.charts import fit_charts, reconstruction_errors
from fewfold.methods.atlas.energy import Neighborhoods, energy_around, memberships, total_energy
from fewfold.methods.atlas.expansion import expansion_move, removal_move
from fewfold.methods.atlas.fitting import assign_points
from fewfold.methods.atlas.settings import AtlasSettings


def problem(seed, n=8, m=3, k=2):
    rng = np.random.default_rng(seed)
    indices = np.array([rng.choice(np.delete(np.arange(n), q), k, replace=False) for q in range(n)])
    errors = rng.exponential(1.0, (n, m))
    y = rng.integers(0, m, n)
    return Neighborhoods.from_neighbors(indices), errors, y, float(rng.uniform(0, 3))


def energy_by_definition(y, hoods, errors, mdl, potts=0.0):
    n, m = errors.shape
    total = mdl * len(set(y.tolist()))
    for p in range(n):
        for c in range(m):
            if any(y[q] == c and p in hoods.members[q] for q in range(n)):
                total += errors[p, c]
    return total + potts * sum(y[p] != y[q] for p, q in hoods.edges)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("potts", [0.0, 0.7])
def test_energy_equals_its_definition(seed, potts):
    hoods, errors, y, mdl = problem(seed)
    assert total_energy(y, hoods, errors, mdl, potts) == pytest.approx(
        energy_by_definition(y, hoods, errors, mdl, potts)
    )


def test_every_neighborhood_lies_in_one_chart():
    hoods, _, y, _ = problem(0)
    belongs = set(zip(*(a.tolist() for a in memberships(y, hoods))))
    assert all((p, y[q]) in belongs for q in range(len(y)) for p in hoods.members[q])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("potts", [0.0, 0.7])
def test_expansion_is_the_best_move(seed, potts):
    hoods, errors, y, mdl = problem(seed)
    rng = np.random.default_rng(seed + 1000)
    sizes = np.bincount(y, minlength=3)
    start = total_energy(y, hoods, errors, mdl, potts)
    for alpha in range(3):
        movable = np.flatnonzero(rng.random(len(y)) < 0.8)
        best = np.inf
        for switch in itertools.product([False, True], repeat=len(movable)):
            trial = y.copy()
            trial[movable[np.array(switch, bool)]] = alpha
            best = min(best, total_energy(trial, hoods, errors, mdl, potts))
        rows, change = expansion_move(alpha, movable, y, sizes, hoods, errors, mdl, potts)
        assert np.isin(rows, movable).all()
        trial = y.copy()
        trial[rows] = alpha
        assert start + change == pytest.approx(best, abs=1e-9)
        assert total_energy(trial, hoods, errors, mdl, potts) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_removal_change_is_exact(seed):
    hoods, errors, y, _ = problem(seed, n=20, m=4)
    sizes, candidates = np.bincount(y, minlength=4), np.argsort(errors, axis=1)
    rows, labels, change = removal_move(2, y, sizes, candidates, hoods, errors, 50.0, 0.3)
    trial = y.copy()
    trial[rows] = labels
    assert len(rows) == sizes[2] and not (trial == 2).any()
    before, after = (total_energy(z, hoods, errors, 50.0, 0.3) for z in (y, trial))
    assert after - before == pytest.approx(change, abs=1e-9)
    # A chart that costs nothing is not dissolved at a loss.
    rows, _, change = removal_move(2, y, sizes, candidates, hoods, errors, 0.0)
    assert change <= 0 and (len(rows) > 0) == (change < 0)


def test_local_energy_differences_are_global_ones():
    hoods, errors, y, _ = problem(3, n=30, m=5)
    rows = np.array([1, 4, 20])
    trial = y.copy()
    trial[rows] = [0, 3, 2]
    local = energy_around(rows, trial, hoods, errors, 0.4) - energy_around(
        rows, y, hoods, errors, 0.4
    )
    whole = total_energy(trial, hoods, errors, 0, 0.4) - total_energy(y, hoods, errors, 0, 0.4)
    assert local == pytest.approx(whole, abs=1e-9)


def exhaustive_optimum(hoods, errors, mdl):
    n, m = errors.shape
    labels = np.array(list(itertools.product(range(m), repeat=n)))
    energy = np.zeros(len(labels))
    for c in range(m):
        energy += mdl * (labels == c).any(axis=1)
        for p in range(n):
            owners = hoods.owners[hoods.indptr[p] : hoods.indptr[p + 1]]
            energy += errors[p, c] * (labels[:, owners] == c).any(axis=1)
    return energy.min()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("mdl", [0.01, 0.1, 1.0])
def test_final_energy_is_near_the_exhaustive_optimum(seed, mdl):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, 9)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.05, (9, 2))
    indices = nearest_neighbors(X, 2).indices
    hoods = Neighborhoods.from_neighbors(indices)
    seeds = rng.choice(9, 3, replace=False)
    charts = fit_charts(X, [np.append(indices[s], s) for s in seeds], 1, np.float64)
    errors = reconstruction_errors(X, charts)
    y = errors.argmin(axis=1)
    energy, kind = [total_energy(y, hoods, errors, mdl)], [0]
    for _ in range(2):
        y = assign_points(y, errors, hoods, mdl, AtlasSettings(), rng, energy, kind)
    assert np.all(np.diff(energy) < 0)
    assert energy[-1] == pytest.approx(total_energy(y, hoods, errors, mdl))
    assert energy[-1] <= 1.02 * exhaustive_optimum(hoods, errors, mdl) + 1e-12


@pytest.mark.parametrize("given", [False, True])
def test_charts_of_a_sample_hold_all_rows(monkeypatch, given):
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 1200)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    neighbors = nearest_neighbors(X, 6) if given else None
    whole = fitting.fit_atlas(X, {"n_dims": 1}, neighbors=neighbors)
    monkeypatch.setattr(fitting, "MOST_ROWS", 400)
    atlas = fitting.fit_atlas(X, {"n_dims": 1}, neighbors=neighbors)
    m = len(atlas["means"])
    assert m < 1.5 * len(whole["means"])
    for prefix in ("", "finer_"):
        assert atlas[f"{prefix}interior"].shape == (1200,)
        assert set(atlas[f"{prefix}member_rows"]) == set(range(1200))
    # Rows that are no part of the sample are near their chart too.
    own = atlas["means"][atlas["interior"]], atlas["directions"][atlas["interior"], 0]
    gaps = X - own[0]
    beside = gaps - (gaps * own[1]).sum(axis=1, keepdims=True) * own[1]
    assert np.abs(beside).max() < 0.25
    assert (np.diff(atlas["energy"]) <= 1e-9).all()
