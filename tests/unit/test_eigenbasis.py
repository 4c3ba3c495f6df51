"""Eigenbasis classifier: least squares, components, new points, adapter."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.utils import shuffle as shuffle_rows

from fewfold.datasets import load
from fewfold.exceptions import InputError, LabelWarning
from fewfold.graph.build import build_graph, extend_graph
from fewfold.graph.neighbors import nearest_neighbors
from fewfold.linalg.preparation import fit_preparation
from fewfold.methods.base import ManifoldModel
from fewfold.methods.eigenbasis.basis import compute_basis
from fewfold.methods.eigenbasis.estimator import EigenbasisClassifier, EigenbasisModel
from fewfold.methods.eigenbasis.regression import (
    extend_vectors,
    fit_basis,
    reached_columns,
    response_scale,
    signed_targets,
    vector_count,
)
from fewfold.pipeline.training import Inputs, fit_draw
from fewfold.svm.probability import decisions_to_proba


def moons(n=400, seed=0, labels=20):
    X, truth = make_moons(n, noise=0.06, random_state=seed)
    y = np.full(n, -1)
    y[:labels] = truth[:labels]
    return X, y, truth


def digits(labels=100, rows=1797):
    # Shuffled: the file is in order of writer.
    X, truth = shuffle_rows(*load_digits(return_X_y=True), random_state=0)
    y = np.full(rows, -1)
    y[:labels] = truth[:labels]
    return X[:rows], y, truth[:rows]


def test_coefficients_equal_numpy_lstsq():
    rng = np.random.default_rng(0)
    for shape in ((30, 6), (6, 30)):  # over- and underdetermined
        E, C = rng.standard_normal(shape), rng.standard_normal((shape[0], 3))
        expected = np.linalg.lstsq(E, C, rcond=None)[0]
        fit = fit_basis(E, C, rng.uniform(size=shape[1]))
        np.testing.assert_allclose(fit.coefficients, expected, atol=1e-10)


def test_whole_fit_equals_numpy_lstsq():
    X, y, _ = moons()
    basis = compute_basis(build_graph(X, n_neighbors=8, weights="binary"), 12, dtype="float64")
    rows = np.flatnonzero(y >= 0)
    model = EigenbasisModel(basis, rows, y[rows], n_vectors=7)
    E = basis["eigenvectors"][:, :7]
    a = np.linalg.lstsq(E[rows], signed_targets(y[rows], 2), rcond=None)[0]
    np.testing.assert_allclose(model.responses(), E @ a, atol=1e-8)


@pytest.mark.parametrize("power", [1, 2])
def test_ridge_solves_its_normal_equations(power):
    rng = np.random.default_rng(1)
    E, C, values = rng.standard_normal((9, 12)), rng.standard_normal((9, 2)), np.arange(12.0)
    penalty = 0.3 * 9 * np.diag(values**power / np.mean(values**power))
    expected = np.linalg.solve(E.T @ E + penalty, E.T @ C)
    found = fit_basis(E, C, values, 0.3, smoothness=power).coefficients
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_left_out_responses_equal_refitting(ridge):
    rng = np.random.default_rng(2)
    E, C, values = rng.standard_normal((15, 4)), rng.standard_normal((15, 2)), np.arange(4.0)
    fit = fit_basis(E, C, values, ridge)
    for i in range(15):
        rest = np.arange(15) != i
        # The penalty is a multiple of the number of rows: keep the absolute one.
        less = fit_basis(E[rest], C[rest], values, ridge * 15 / 14)
        np.testing.assert_allclose(fit.left_out[i], E[i] @ less.coefficients, atol=1e-9)


def test_loo_takes_the_best_of_its_strengths():
    rng = np.random.default_rng(3)
    values = np.linspace(0, 1, 15)
    E = rng.standard_normal((20, 15))
    C = E[:, :2] @ rng.standard_normal((2, 1)) + 0.5 * rng.standard_normal((20, 1))
    chosen = fit_basis(E, C, values, "loo")

    def error(fit):
        return np.mean((fit.left_out - C) ** 2)

    assert chosen.ridge > 0
    for strength in (0.0, 1e-4, 1e-2, 1.0, 10.0):
        assert error(chosen) <= error(fit_basis(E, C, values, strength)) + 1e-12


def test_left_out_is_unknown_where_the_fit_interpolates():
    fit = fit_basis(np.eye(3), np.ones((3, 2)), np.zeros(3))
    assert np.isnan(fit.left_out).all()
    assert response_scale(fit.left_out, np.array([0, 1, 0])) == 2.0


def test_scale_follows_the_left_out_labels():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 3000)
    F = signed_targets(codes, 3) + rng.standard_normal((3000, 3))
    scale = response_scale(F, codes)
    proba = decisions_to_proba(F, scale)
    assert scale == pytest.approx(2.0, rel=0.15)  # exact for unit noise: 2 / variance
    hit = proba.argmax(axis=1) == codes
    assert proba.max(axis=1).mean() == pytest.approx(hit.mean(), abs=0.02)
    # Labels that say nothing must not be trusted.
    assert response_scale(rng.standard_normal((300, 3)), codes[:300]) < 0.5


def test_vector_count():
    assert vector_count(0.2, 1000, 500, 10) == 200
    assert vector_count(0.2, 20, 500, 10) == 10
    assert vector_count(0.2, 20, 500, 10, minimum=1) == 4
    assert vector_count(0.2, 5000, 500, 10, maximum=300) == 300
    assert vector_count(3, 20, 500, 10) == 3
    with pytest.raises(InputError, match="asks for 1000 eigenvectors.*holds 500"):
        vector_count(0.2, 5000, 500, 10)
    for wrong in (0, -3, 0.0, 1.5):
        with pytest.raises(InputError, match="n_vectors"):
            vector_count(wrong, 10, 10, 2)


def test_columns_skip_components_without_labels():
    V = np.zeros((6, 4))
    V[:3, 0] = V[3:, 1] = 1
    V[:3, 2] = [1, 0, -1]
    V[3:, 3] = [1, 0, -1]
    only_second = np.arange(6) >= 3
    assert reached_columns(V, only_second, 5).tolist() == [1, 3]
    assert reached_columns(V, np.ones(6, bool), 2).tolist() == [0, 1]


def test_one_basis_serves_smaller_ones():
    X, y, _ = digits()
    graph = build_graph(X, n_neighbors=8, weights="binary")
    large, small = compute_basis(graph, 40), compute_basis(graph, 20)
    np.testing.assert_allclose(large["eigenvalues"][:20], small["eigenvalues"], atol=1e-8)
    rows = np.flatnonzero(y >= 0)
    one, two = (EigenbasisModel(b, rows, y[rows], n_vectors=20).responses() for b in (large, small))
    np.testing.assert_allclose(one, two, atol=1e-3)
    names = {"eigenvalues", "eigenvectors", "residuals", "components", "degrees"}
    assert set(large) == names
    assert large["residuals"].max() <= 1e-5


@pytest.mark.parametrize("laplacian", ["random_walk", "symmetric", "unnormalized"])
def test_moons_and_digits(laplacian):
    X, y, truth = moons()
    model = EigenbasisClassifier(n_vectors=6, laplacian=laplacian).fit(X, y)
    assert np.mean(model.transduction_ != truth) < 0.02
    X, y, truth = digits()
    model = EigenbasisClassifier(laplacian=laplacian).fit(X, y)
    assert model.n_vectors_ in (20, 200)  # as labels left out err
    assert np.mean(model.transduction_ != truth) < 0.12


def test_relabeling_rows_changes_nothing():
    # Of the graph: the search breaks ties between equal distances by row number.
    X, y, _ = digits()
    W = build_graph(X, n_neighbors=8).W
    shuffle = np.random.default_rng(0).permutation(len(X))
    one = EigenbasisClassifier(metric="precomputed").fit(W, y)
    two = EigenbasisClassifier(metric="precomputed").fit(W[shuffle][:, shuffle], y[shuffle])
    np.testing.assert_allclose(
        one.label_distributions_[shuffle], two.label_distributions_, atol=1e-3
    )


@pytest.mark.parametrize("laplacian", ["random_walk", "symmetric", "unnormalized"])
@pytest.mark.parametrize("how", ["nystrom", "harmonic"])
def test_held_out_rows_agree_with_the_transductive_answer(laplacian, how):
    X, y, truth = digits(labels=200)
    whole = EigenbasisClassifier(laplacian=laplacian).fit(X, y)
    part = EigenbasisClassifier(laplacian=laplacian, extension=how).fit(X[:1500], y[:1500])
    new = part.predict(X[1500:])
    # The graphs differ, and so do their answers on the rows they share: no worse than that.
    shared = np.mean(part.transduction_ == whole.transduction_[:1500])
    assert shared > 0.88
    assert np.mean(new == whole.transduction_[1500:]) > shared - 0.05
    own = np.mean(whole.transduction_[1500:] != truth[1500:])
    assert np.mean(new != truth[1500:]) < own + 0.03


@pytest.mark.parametrize("laplacian", ["random_walk", "unnormalized"])
def test_nystrom_reproduces_the_graphs_own_points(laplacian):
    X, _, _ = moons()
    graph = build_graph(X, n_neighbors=6)
    basis = compute_basis(graph, 8, laplacian, tol=1e-9, dtype="float64")
    values, V = basis["eigenvalues"], basis["eigenvectors"]
    np.testing.assert_allclose(extend_vectors(values, V, graph.W, laplacian), V, atol=1e-7)


def test_harmonic_extension_is_the_weighted_mean():
    V = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 4.0]])
    weights = sparse.csr_array(np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0]]))
    out = extend_vectors(np.array([0.0, 0.5]), V, weights, "random_walk", "harmonic")
    np.testing.assert_allclose(out, [[2.5, 1.5], [0, 0]])
    with pytest.raises(InputError, match="extension='magic'"):
        extend_vectors(np.zeros(2), V, weights, "random_walk", "magic")


def two_islands():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (60, 2)), rng.normal(50, 1, (30, 2))])
    y = np.full(90, -1)
    y[:8] = np.arange(8) % 2
    return X, y


def test_points_no_label_reaches_are_unknown():
    X, y = two_islands()
    with pytest.warns(LabelWarning, match="30 of 90 samples"):
        model = EigenbasisClassifier(n_vectors=3).fit(X, y)
    assert model.unreached_.tolist() == list(range(60, 90))
    assert (model.transduction_[60:] == -1).all() and (model.transduction_[:60] >= 0).all()
    assert (model.label_distributions_[60:] == 0.5).all()
    assert model.n_vectors_ == 3  # the island's null vector is not one of them
    assert model.predict([[50.0, 50.0], [0.0, 0.0]]).tolist()[0] == -1
    with pytest.warns(LabelWarning):
        named = EigenbasisClassifier().fit(X, np.where(y < 0, "", np.array(["a", "b"])[y]))
    assert named.transduction_[70] == -1 and named.transduction_[0] in ("a", "b")


def test_precomputed_graphs_give_the_same_answer():
    X, y, _ = moons()
    plain = EigenbasisClassifier().fit(X, y)
    from_graph = EigenbasisClassifier().fit(plain.graph_, y)
    from_weights = EigenbasisClassifier(metric="precomputed").fit(plain.graph_.W, y)
    new = X[:5] + 0.01
    weights = extend_graph(plain.graph_, X, new)
    for other in (from_graph, from_weights):
        np.testing.assert_array_equal(plain.transduction_, other.transduction_)
        np.testing.assert_array_equal(plain.predict(new), other.predict(weights))
    with pytest.raises(InputError, match="400 samples are needed, got 3"):
        from_weights.predict(np.ones((1, 3)))
    with pytest.raises(InputError, match="symmetric, non-negative"):
        EigenbasisClassifier(metric="precomputed").fit(np.triu(np.ones((4, 4)), 1), [0, 1, -1, -1])


def test_degenerate_labels():
    X, y, _ = moons(60)
    with pytest.raises(InputError, match="No sample is labeled"):
        EigenbasisClassifier().fit(X, np.full(60, -1))
    one = EigenbasisClassifier().fit(X, np.where(np.arange(60) < 3, 7, -1))
    assert (one.transduction_ == 7).all() and one.predict(X[:2]).tolist() == [7, 7]
    pair = EigenbasisClassifier().fit(X, np.where(np.arange(60) < 2, np.arange(60), -1))
    assert set(np.unique(pair.transduction_)) <= {0, 1}
    with pytest.raises(InputError, match="ridge=-1"):
        EigenbasisClassifier(ridge=-1).fit(X, y)


TEN = {"n_classes": 10, "seed": 0}


def adapter_inputs(laplacian="random_walk"):
    X, y, truth = digits(labels=200)
    graph = build_graph(X[:1500], n_neighbors=8)
    extension = extend_graph(graph, X[:1500], X[1500:])
    basis = ManifoldModel(compute_basis(graph, 200, laplacian), {"laplacian": laplacian})
    return X, truth, Inputs(X[:1500], X[1500:], graph=graph, extension=extension, manifold=basis)


@pytest.mark.parametrize("laplacian", ["random_walk", "symmetric", "unnormalized"])
def test_adapter_equals_estimator(laplacian):
    X, truth, inputs = adapter_inputs(laplacian)
    y = np.r_[truth[:200], np.full(1300, -1)]
    model = EigenbasisClassifier(laplacian=laplacian).fit(X[:1500], y)
    out = fit_draw(
        "eigenbasis", inputs, np.arange(200), truth[:200], n_classes=10, seed=0, settings={}
    )
    assert np.mean(out.labels == model.transduction_) > 0.999
    assert np.mean(out.labels_new == model.predict(X[1500:])) > 0.99
    np.testing.assert_allclose(out.proba.sum(axis=1), 1)
    assert out.details["n_vectors"] == model.n_vectors_ and out.details["unreached"] == 0


def test_adapter_with_a_class_missing_and_unknown_settings():
    _, truth, inputs = adapter_inputs()
    rows = np.flatnonzero((truth[:1500] != 4) & (np.arange(1500) < 300))
    out = fit_draw("eigenbasis", inputs, rows, truth[rows], n_classes=10, seed=0,
                      settings={"n_vectors": 0.2, "ridge": "loo"})  # fmt: skip
    assert out.proba.shape == (1500, 10) and (out.proba[:, 4] == 0).all()
    assert 4 not in out.labels
    with pytest.raises(InputError, match="no setting 'ridg'"):
        fit_draw(
            "eigenbasis", inputs, rows, truth[rows], n_classes=10, seed=0, settings={"ridg": 1}
        )
    with pytest.raises(InputError, match="needs a manifold"):
        fit_draw(
            "eigenbasis", Inputs(inputs.X), rows, truth[rows], n_classes=10, seed=0, settings={}
        )


@pytest.mark.realdata
def test_unlabeled_digits_help_on_mnist():
    data = load("mnist", part="train", n_samples=6000)
    X, truth = np.asarray(data.X, np.float32) / 255, data.y
    X = fit_preparation(X, pca=100).transform(X)
    graph = build_graph(X, n_neighbors=8)
    basis = ManifoldModel(compute_basis(graph, 20))
    ours, nearest = [], []
    for draw in range(5):
        rows = np.random.default_rng(draw).choice(6000, 100, replace=False)
        rest = np.setdiff1d(np.arange(6000), rows)
        inputs = Inputs(X, graph=graph, manifold=basis)
        out = fit_draw("eigenbasis", inputs, rows, truth[rows], settings={}, **TEN)
        ours.append(np.mean(out.labels[rest] != truth[rest]))
        found = truth[rows][nearest_neighbors(X[rows], 1, query=X[rest]).indices[:, 0]]
        nearest.append(np.mean(found != truth[rest]))
    assert np.mean(ours) < 0.75 * np.mean(nearest)


def test_two_classes_with_few_labels_keep_few_vectors():
    # Two Gaussians: one smooth function tells them apart, and rough ones only add noise.
    data = load("gaussians_g50c", n_samples=550, seed=11)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    rows = np.random.default_rng(0).permutation(550)[:50]
    y = np.full(550, -1)
    y[rows] = data.y[rows]
    model = EigenbasisClassifier().fit(X, y)
    forced = EigenbasisClassifier(min_vectors=110).fit(X, y)
    assert model.n_vectors_ == 10 and forced.n_vectors_ == 110
    errors = [np.mean(m.transduction_ != data.y) for m in (model, forced)]
    assert errors[0] < errors[1]


def test_few_labels_gain_by_many_smooth_vectors():
    # The paper's share leaves ten vectors for ten classes.
    errors = []
    for settings in ({"min_vectors": 10, "smoothness": 1.0}, {}):
        X, y, truth = digits(labels=50)
        model = EigenbasisClassifier(**settings).fit(X, y)
        errors.append(np.mean(model.transduction_ != truth))
    assert errors[1] < 0.6 * errors[0]


def test_the_published_variant_is_least_squares_on_the_first_vectors_of_the_laplacian():
    """D - W of weights 1, p = a fifth of the labels, the constant vector one of them."""
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = np.full(90, -1)
    y[:40] = np.arange(40) % 3
    model = EigenbasisClassifier(variant="published").fit(X, y)
    near = np.argsort(np.sum((X[:, None] - X[None]) ** 2, axis=2), axis=1)[:, 1:9]
    W = np.zeros((90, 90))
    np.put_along_axis(W, near, 1.0, axis=1)
    W = np.maximum(W, W.T)
    vectors = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)[1][:, :8]
    E, targets = vectors[:40], 2.0 * np.eye(3)[y[:40]] - 1
    answer = (vectors @ np.linalg.lstsq(E, targets, rcond=None)[0]).argmax(axis=1)
    assert model.n_vectors_ == 8 and model.ridge_ == 0
    np.testing.assert_array_equal(model.label_distributions_.argmax(axis=1), answer)
    kept = EigenbasisClassifier(variant="published", ridge=0.1, laplacian="symmetric").fit(X, y)
    assert kept.ridge_ == 0.1 and kept.laplacian_ == "symmetric"
