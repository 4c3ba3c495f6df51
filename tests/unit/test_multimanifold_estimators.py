"""Estimators and partition: real geometry, invariances, degenerate labels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewfold import MultiManifoldClassifier, MultiManifoldRegressor
from fewfold.datasets.synthetic import generate
from fewfold.exceptions import InputError
from fewfold.methods.multimanifold.decision import decision_sets, labeled_sets
from fewfold.methods.multimanifold.learners import fit_parts, make_learner, predict_parts
from fewfold.methods.multimanifold.partition import PartitionSettings, partition
from fewfold.methods.multimanifold.shape import fit_shape
from fewfold.methods.multimanifold.tuned_svm import TunedSVC
from fewfold.pipeline.training import Inputs, fit_draw

SMALL_GRID = TunedSVC(gammas=(0.25, 1.0), penalties=(1.0, 100.0))


# The classifier is among all methods of test_conformance.py.
@parametrize_with_checks([MultiManifoldRegressor(), SMALL_GRID])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def draw(name, n, m, seed=0, n_test=0):
    data = generate(name, n_samples=n + m, n_test=n_test, seed=seed)
    y = data.y.copy()
    y[n:] = np.nan if data.task == "regression" else -1
    return data, y


def purity(groups, part):
    table = np.zeros((groups.max() + 1, part.max() + 1))
    np.add.at(table, (groups, part), 1)
    return table.max(axis=0).sum() / table.sum()


# --- the partition on crossing manifolds -----------------------------------------------------


def test_helix_needs_the_hellinger_weights():
    data, y = draw("surface_helix", 20, 20_000, seed=3)
    with_weights = MultiManifoldClassifier(random_state=0).fit(data.X, y)
    without = MultiManifoldClassifier(unit_weights=True, random_state=0).fit(data.X, y)
    assert (with_weights.transduction_ != data.y).mean() < 0.03
    assert (without.transduction_ != data.y).mean() > 0.25


def test_decision_sets_are_exact_up_to_a_hair_beside_crossings():
    data, _ = draw("dollar_sign", 640, 20_000, seed=1, n_test=5000)
    test = data.test_mask
    found = partition(data.X[~test], np.arange(20_640) < 640)
    groups = data.groups[~test][found.kept]
    table = np.zeros((found.bounds.n_parts, 2))
    np.add.at(table, (found.part, groups), 1)
    means = table.argmax(axis=1)
    # k-means leaves about 0.8 % of the kept points on the wrong manifold, the refinement fewer,
    # and thin Gaussians fewer test points than the ridge of the graph (0.4 %) would.
    assert (means[found.cell_part] != groups).mean() < (means[found.part] != groups).mean()
    placed = decision_sets(found, data.X[test])
    assert (means[placed] != data.groups[test]).mean() < 0.003
    own = labeled_sets(found)
    assert (means[own] != groups[found.labeled]).mean() < 0.004


def test_dollar_sign_does_not_depend_on_where_the_cover_starts():
    data, y = draw("dollar_sign", 20, 20_000, seed=1)
    settings = PartitionSettings(n_covers=5, sigma=0.2)
    shape = fit_shape(data.X, settings)
    found = [
        partition(data.X, ~np.isnan(y), settings, shape=replace(shape, covers=[cover]))
        for cover in shape.covers
    ]
    assert len({p.kept[20] for p in found}) == 5
    assert min(purity(data.groups[p.kept], p.part) for p in found) > 0.97


def test_a_sharper_bandwidth_is_taken_where_the_covers_disagree():
    seed = int(np.random.SeedSequence([4000, 80]).generate_state(1)[0])
    data, _ = draw("surface_helix", 80, 10_000, seed=seed)
    labeled = np.arange(10_080) < 80
    auto, paper = (
        partition(data.X, labeled),
        partition(data.X, labeled, PartitionSettings(sigma=0.2)),
    )
    assert auto.agreement > paper.agreement < 0.9
    for found, low, high in ((paper, 0.5, 0.95), (auto, 0.96, 1.0)):
        assert low < purity(data.groups[found.kept], found.part) < high
    # Where they agree the paper's bandwidth is kept.
    data, _ = draw("surface_helix", 20, 20_000, seed=3)
    steady = partition(data.X, np.arange(20_020) < 20)
    same = partition(data.X, np.arange(20_020) < 20, PartitionSettings(sigma=0.2))
    assert steady.agreement > 0.9 and (steady.W != same.W).nnz == 0


def test_helix_with_ten_thousand_unlabeled_points():
    data, y = draw("surface_helix", 80, 10_000, n_test=5000)
    train = ~data.test_mask
    model = MultiManifoldClassifier().fit(
        data.X[train], np.where(np.arange(15_080) < 80, data.y, -1)[train]
    )
    assert (model.predict(data.X[~train]) != data.y[~train]).mean() <= 0.025


def same_partition(a, b):
    """Equal up to the names of the parts."""
    return len(set(zip(a.tolist(), b.tolist()))) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("name", ["dollar_sign", "surface_helix"])
def test_moving_the_data_does_not_change_the_partition(name):
    data, y = draw(name, 40, 4000, seed=2)
    labeled = np.arange(4040) < 40
    base = partition(data.X, labeled)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    for moved in (data.X @ turn, data.X + [100, -50, 7], 1e-3 * data.X, 1e3 * data.X @ turn + 9):
        other = partition(moved, labeled)
        assert (other.kept == base.kept).all()
        assert same_partition(other.part, base.part)


def test_permuting_the_rows_permutes_the_partition():
    data, y = draw("surface_helix", 40, 4000, seed=2)
    labeled = np.arange(4040) < 40
    base = partition(data.X, labeled)
    order = np.random.default_rng(1).permutation(4040)
    other = partition(data.X[order], labeled[order])
    assert (order[other.kept] == base.kept).all()
    assert same_partition(other.part, base.part)


def test_bounds_hold_and_sizes_are_reported():
    data, y = draw("martini", 80, 3000)
    found = partition(data.X, np.arange(3080) < 80)
    assert found.bounds.n_parts == 3
    sizes = found.sizes()
    assert (sizes[:, 0] >= found.bounds.min_labeled).all()
    assert (sizes[:, 1] >= found.bounds.min_unlabeled).all()
    assert sizes.sum() == len(found.kept) and sizes[:, 0].sum() == 80


def test_high_dimensional_rows_have_a_graph_with_different_weights():
    rng = np.random.default_rng(0)
    frames = np.linalg.qr(rng.normal(size=(2, 100, 3)))[0]
    groups = rng.integers(0, 2, 1500)
    X = np.einsum("nk,ndk->nd", rng.normal(size=(1500, 3)), frames[groups])
    X += 0.01 * rng.normal(size=X.shape)
    found = partition(X, np.arange(1500) < 20)
    assert found.points.shape[1] == 15
    assert 0.05 < np.quantile(found.W.data, 0.9)  # the trap: all weights alike and tiny
    assert purity(groups[found.kept], found.part) > 0.9


# --- learners in the parts -------------------------------------------------------------------


def two_blobs(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = np.r_[rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 25]
    return X, np.repeat([0, 1], n)


def test_parts_of_one_class_get_a_constant_and_say_so():
    X, truth = two_blobs()
    y = np.full(600, -1)
    y[::30] = truth[::30]
    model = MultiManifoldClassifier().fit(X, y)
    assert [r["learner"] for r in model.part_reports_] == ["constant", "constant"]
    assert (model.transduction_ == truth).all()
    assert model.predict_proba(X[:3]).tolist() == [[1.0, 0.0]] * 3


def test_a_part_without_labels_borrows_the_learner_of_all():
    X, truth = two_blobs(20)
    learners, reports = fit_parts(
        LogisticRegression(), X, truth, np.zeros(40, int), 2, [40, 0], is_classifier=True
    )
    assert [r.learner for r in reports] == ["fitted", "borrowed"]
    assert (predict_parts(learners, X, np.ones(40, int)) == truth).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_very_few_labels(n):
    X, truth = two_blobs(50)
    rows = np.linspace(0, 99, n).astype(int)
    y = np.full(100, -1)
    y[rows] = truth[rows]
    model = MultiManifoldClassifier(n_parts="auto").fit(X, y)
    assert set(model.transduction_) <= set(truth[rows])
    values = np.full(100, np.nan)
    values[rows] = 1.5
    np.testing.assert_allclose(MultiManifoldRegressor().fit(X, values).transduction_, 1.5)


def test_infeasible_bounds_are_refused_with_a_reason():
    X, truth = two_blobs(50)
    y = np.full(100, -1)
    y[::10] = truth[::10]
    with pytest.raises(InputError, match="min_labeled=6 with 2 parts needs 12"):
        MultiManifoldClassifier(min_labeled=6).fit(X, y)
    with pytest.raises(InputError, match="No sample is labeled"):
        MultiManifoldClassifier().fit(X, np.full(100, -1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_covers": 0},
        {"n_parts": 0},
        {"n_refits": -1},
        {"n_neighbors": 1},
        {"sigma": 0.0},
        {"ridge": -1.0},
        {"n_components": 0},
        {"cells": "square"},
    ],
)
def test_wrong_settings_name_themselves(wrong):
    X, truth = two_blobs(50)
    y = np.full(100, -1)
    y[::5] = truth[::5]
    with pytest.raises(InputError, match=next(iter(wrong))):
        MultiManifoldClassifier(**wrong).fit(X, y)


@pytest.mark.parametrize(
    "base", [LogisticRegression(), LinearSVC(), DecisionTreeClassifier(random_state=0)]
)
def test_any_classifier_serves_as_base(base):
    data, y = draw("surface_helix", 40, 2000)
    model = MultiManifoldClassifier(base).fit(data.X, y)
    proba = model.predict_proba(data.X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(data.X)).all()


def test_regression_beats_one_learner_for_all_on_the_dollar_sign():
    from fewfold.methods.baselines.kernel_regression import KernelRegressor

    data, y = draw("dollar_sign", 80, 20_000, seed=5)
    ssl = MultiManifoldRegressor().fit(data.X, y)
    alone = KernelRegressor().fit(data.X[:80], y[:80])
    mse = [((m.predict(data.X) - data.y) ** 2).mean() for m in (ssl, alone)]
    assert mse[0] < 0.3 * mse[1]
    assert MultiManifoldRegressor(Ridge()).fit(data.X, y).predict(data.X[:2]).shape == (2,)


def test_duplicated_rows_and_string_labels():
    X, truth = two_blobs(30)
    X = np.repeat(X, 5, axis=0)
    names = np.array(["a", "b"], dtype=object)[np.repeat(truth, 5)]
    y = names.copy()
    y[np.arange(300) % 15 != 0] = -1
    model = MultiManifoldClassifier().fit(X, y)
    assert (model.predict(X) == names).all()


def test_sparse_rows():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 300)
    X = rng.random((300, 50)) * (rng.random((300, 50)) < 0.1)
    X[groups == 0, :5] += 1
    X[groups == 1, 45:] += 1
    y = np.where(np.arange(300) < 20, groups, -1)
    model = MultiManifoldClassifier().fit(sparse.csr_array(X), y)
    assert (model.predict(sparse.csr_array(X)) == groups).mean() > 0.95


def test_the_same_seed_gives_the_same_result():
    data, y = draw("martini", 40, 2000)
    a, b = (MultiManifoldClassifier(SMALL_GRID, random_state=4).fit(data.X, y) for _ in range(2))
    assert (a.transduction_ == b.transduction_).all()


# --- the workflow's three methods ------------------------------------------------------------


def in_workflow(inputs, labeled, targets, settings):
    return fit_draw(
        "multimanifold", inputs, labeled, targets, n_classes=2, seed=0, settings=settings
    )


def inputs_of(data, n_new=200, **more):
    new = slice(len(data.X) - n_new, None)
    old = slice(0, len(data.X) - n_new)
    fields = {"groups": data.groups[old], "groups_new": data.groups[new], **more}
    return Inputs(X=data.X[old], X_new=data.X[new], task=data.task, **fields), new


@pytest.mark.parametrize("mode", ["global", "clairvoyant", "ssl"])
@pytest.mark.parametrize("name", ["surface_helix", "density_change"])
def test_modes_in_the_workflow(mode, name):
    data, _ = draw(name, 40, 3200)
    inputs, new = inputs_of(data)
    out = in_workflow(
        inputs,
        np.arange(40),
        data.y[:40],
        settings={"mode": mode},
    )
    assert out.labels.shape == (3040,) and out.labels_new.shape == (200,)
    if data.task == "classification":
        assert out.proba.shape == (3040, 2) and out.proba_new.shape == (200, 2)
        error = (out.labels_new != data.y[new]).mean()
        # A guard against breakage, not a figure: 3000 points leave the partition noisy (0.25 seen).
        assert error < {"global": 0.5, "clairvoyant": 1e-9, "ssl": 0.35}[mode]
    else:
        assert ((out.labels_new - data.y[new]) ** 2).mean() < data.y.var()
    import json

    json.dumps(out.details)


def test_clairvoyant_without_groups_of_new_rows_uses_the_nearest_row():
    data, _ = draw("surface_helix", 40, 3200)
    inputs, new = inputs_of(data, groups_new=None)
    settings = {"mode": "clairvoyant", "base": "nearest"}
    out = in_workflow(inputs, np.arange(40), data.y[:40], settings=settings)
    assert (out.labels_new != data.y[new]).mean() < 0.1


def test_the_workflow_refuses_what_it_does_not_know():
    data, _ = draw("surface_helix", 40, 500)
    inputs, _ = inputs_of(data, groups=None)

    def call(**settings):
        in_workflow(
            inputs,
            np.arange(40),
            data.y[:40],
            settings=settings,
        )

    with pytest.raises(InputError, match="mode='both'"):
        call(mode="both")
    with pytest.raises(InputError, match="true sets"):
        call(mode="clairvoyant")
    with pytest.raises(InputError, match="sigmaa"):
        call(sigmaa=1)
    with pytest.raises(InputError, match="not used"):
        told = replace(inputs, graph=object())
        in_workflow(
            told,
            np.arange(40),
            data.y[:40],
            settings={"mode": "global"},
        )
    with pytest.raises(InputError, match="base='kernel'"):
        make_learner("kernel", "classification", 0)


# --- a graph of the rows ----------------------------------------------------------------------


def test_named_graph_in_the_workflow_equals_the_estimators():
    from fewfold.graph.build import GraphSettings, build_graph

    data, y = draw("surface_helix", 40, 3000, seed=2)
    settings = GraphSettings(n_neighbors=8)
    graph = build_graph(data.X, settings)
    inputs = Inputs(X=data.X, task="classification", graph=graph)
    out = in_workflow(
        inputs,
        np.arange(40),
        data.y[:40],
        settings={"n_covers": 1},
    )
    model = MultiManifoldClassifier(n_covers=1, data_graph=settings, random_state=0)
    model.fit(data.X, y)
    assert (out.labels == model.transduction_).all()
    alone = MultiManifoldClassifier(n_covers=1, random_state=0).fit(data.X, y)
    assert (model.partition_.W != alone.partition_.W).nnz > 0


def test_the_graph_decides_which_points_are_joined():
    rng = np.random.default_rng(0)
    X = np.c_[rng.random((1200, 2)), np.zeros(1200)]
    left = X[:, 0] < 0.5
    labeled = np.arange(1200) < 20
    near = partition(X, labeled, PartitionSettings(n_covers=1)).W
    same = sparse.csr_array(left[:, None] == left[None, :]).astype(float)
    found = partition(X, labeled, PartitionSettings(n_covers=1), graph=same)
    side = left[found.kept]
    edges = found.W.tocoo()
    across = side[edges.row] != side[edges.col]
    # Two halves that the graph does not join are joined by the one shortest link only.
    assert across.sum() == 2 and near.nnz > 0
    assert len(set(found.part[side])) == len(set(found.part[~side])) == 1


def test_a_graph_of_other_rows_is_refused():
    data, y = draw("surface_helix", 40, 500)
    with pytest.raises(InputError, match="shape \\(3, 3\\)"):
        MultiManifoldClassifier(data_graph=sparse.eye_array(3)).fit(data.X, y)


# --- real digits -----------------------------------------------------------------------------


@pytest.mark.realdata
def test_digits_two_and_three_from_twenty_labels():
    from fewfold.datasets import load

    data = load("mnist")
    rows = np.flatnonzero(np.isin(data.y, (2, 3)) & ~data.test_mask)
    rows = np.random.default_rng(0).permutation(rows)[:5020]
    X, truth = np.asarray(data.X[rows], float) / 255, data.y[rows]
    y = np.where(np.arange(5020) < 20, truth, -1)
    model = MultiManifoldClassifier().fit(X, y)
    alone = TunedSVC().fit(X[:20], truth[:20])
    error = (model.transduction_[20:] != truth[20:]).mean()
    # Three draws gave 0.025 to 0.027; with parts refined in 15 dimensions 0.066.
    assert error < 0.04
    assert error < (alone.predict(X[20:]) != truth[20:]).mean()
