import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from fewfold import DiffusionClassifier
from fewfold.datasets import load
from fewfold.exceptions import InputError, LabelWarning
from fewfold.graph.build import GraphSettings, build_graph, extend_graph
from fewfold.methods.diffusion.estimator import diffuse, extend_labels, image_graph_settings
from fewfold.methods.diffusion.solver import conjugate_gradients
from fewfold.methods.diffusion.spreading import (
    class_priors,
    factors_for_shares,
    mass_factors,
    poisson_scores,
    propagation_scores,
    spreading_scores,
    with_factors,
)
from fewfold.pipeline.training import Inputs, fit_draw

METHODS = ["poisson", "spreading", "propagation"]


def random_graph(n=40, seed=0, density=0.2):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    A[np.arange(n - 1), np.arange(1, n)] = 0.1  # a path, so that all is connected
    return sparse.csr_array(A + A.T)


def two_parts(n=20):
    W = sparse.block_diag([random_graph(n, 1), random_graph(n, 2)], format="csr")
    return sparse.csr_array(W)


def test_poisson_solution_satisfies_its_equation():
    W = random_graph()
    labeled, targets = np.array([3, 9, 20, 33]), np.array([0, 1, 2, 0])
    got = poisson_scores(W, labeled, targets, 3, tol=1e-10)
    dense = W.toarray()
    L = np.diag(dense.sum(axis=1)) - dense
    sources = np.zeros((40, 3))
    sources[labeled] = np.eye(3)[targets] - np.eye(3)[targets].mean(axis=0)
    np.testing.assert_allclose(L @ got.values, sources, atol=1e-7)
    np.testing.assert_allclose(dense.sum(axis=1) @ got.values, 0, atol=1e-7)
    np.testing.assert_allclose(got.values, np.linalg.pinv(L) @ sources + (
        got.values - np.linalg.pinv(L) @ sources).mean(axis=0), atol=1e-7)  # fmt: skip
    assert got.is_converged and got.residual < 1e-9 and got.is_reached.all()


def test_poisson_on_two_parts_solves_each_alone():
    W = two_parts()
    labeled, targets = np.array([0, 5, 25, 30, 31]), np.array([0, 1, 1, 2, 2])
    both = poisson_scores(W, labeled, targets, 3, tol=1e-10)
    first = poisson_scores(random_graph(20, 1), [0, 5], [0, 1], 3, tol=1e-10)
    second = poisson_scores(random_graph(20, 2), [5, 10, 11], [1, 2, 2], 3, tol=1e-10)
    np.testing.assert_allclose(both.values[:20], first.values, atol=1e-7)
    np.testing.assert_allclose(both.values[20:], second.values, atol=1e-7)


def test_sources_per_class_weigh_classes_alike():
    W, labeled, targets = random_graph(), np.array([3, 9, 20, 30, 31]), np.array([0, 1, 2, 2, 2])
    by_class, _ = diffuse(W, labeled, targets, 3, sources="classes", tol=1e-10)
    # By hand: the pseudo-inverse of the Laplacian, applied to each class's mean label.
    L = np.diag(W.toarray().sum(axis=1)) - W.toarray()
    sources = np.eye(40)[labeled].T @ (np.eye(3)[targets] / [1, 1, 3])
    sources -= np.eye(40)[labeled].sum(axis=0)[:, None] / 5
    U = np.linalg.pinv(L) @ sources
    U -= np.average(U, axis=0, weights=W.toarray().sum(axis=1))
    np.testing.assert_array_equal(by_class.argmax(axis=1), U.argmax(axis=1))
    # Nothing changes where each class has as many labels.
    for sources in ("labels", "classes"):
        proba, _ = diffuse(W, labeled[:3], targets[:3], 3, sources=sources, tol=1e-10)
        if sources == "labels":
            before = proba
    np.testing.assert_allclose(proba, before, atol=1e-9)
    with pytest.raises(InputError, match="sources='rows' is unknown"):
        diffuse(W, labeled, targets, 3, sources="rows")


def test_labels_drawn_at_random_do_better_with_sources_per_class():
    X, digit = load_digits(return_X_y=True)
    W, wrong = build_graph(X, n_neighbors=10).W, {"labels": [], "classes": []}
    for seed in range(5):
        labeled = np.random.default_rng(seed).permutation(len(X))[:60]
        for sources, found in wrong.items():
            proba, _ = diffuse(W, labeled, digit[labeled], 10, sources=sources)
            found.append(np.mean(proba.argmax(axis=1) != digit))
    assert np.mean(wrong["classes"]) < 0.8 * np.mean(wrong["labels"]), wrong


def test_spreading_equals_the_dense_inverse():
    W = random_graph()
    got = spreading_scores(W, [0, 7], [1, 0], 2, alpha=0.9, tol=1e-10)
    d = W.toarray().sum(axis=1)
    S = W.toarray() / np.sqrt(np.outer(d, d))
    Y = np.zeros((40, 2))
    Y[[0, 7], [1, 0]] = 1
    np.testing.assert_allclose(
        got.values, 0.1 * np.linalg.solve(np.eye(40) - 0.9 * S, Y), atol=1e-8
    )


def test_propagation_is_harmonic_and_keeps_labels():
    W = random_graph()
    got = propagation_scores(W, [0, 7, 12], [1, 0, 1], 2, tol=1e-10).values
    np.testing.assert_array_equal(got[[0, 7, 12]], [[0, 1], [1, 0], [0, 1]])
    mean = (W @ got) / W.toarray().sum(axis=1)[:, None]
    free = np.setdiff1d(np.arange(40), [0, 7, 12])
    np.testing.assert_allclose(got[free], mean[free], atol=1e-7)
    np.testing.assert_allclose(got.sum(axis=1), 1, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_weights_up_to_a_factor_and_order_of_rows_do_not_matter(method):
    W = random_graph()
    labeled, targets = np.array([3, 9, 20]), np.array([0, 1, 2])
    options = {"method": method, "tol": 1e-10}
    proba, _ = diffuse(W, labeled, targets, 3, **options)
    larger, _ = diffuse(7 * W, labeled, targets, 3, **options)
    np.testing.assert_allclose(larger, proba, atol=1e-6)
    order = np.random.default_rng(0).permutation(40)
    place = np.argsort(order)
    moved, _ = diffuse(W[order][:, order], place[labeled], targets, 3, **options)
    np.testing.assert_allclose(moved[place], proba, atol=1e-6)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_part_without_label_is_reported_not_guessed(method):
    y = np.full(40, -1)
    y[[2, 11]] = [4, 6]
    model = DiffusionClassifier(method, metric="precomputed")
    with pytest.warns(LabelWarning, match=r"20 of 40 samples .*first: row 20"):
        model.fit(two_parts(), y)
    np.testing.assert_array_equal(model.unreached_, np.arange(20, 40))
    assert np.all(model.transduction_[20:] == -1)
    assert set(model.transduction_[:20]) == {4, 6}
    weights = np.zeros((2, 40))
    weights[0, 3] = weights[1, 30] = 1
    assert model.predict(weights)[0] == model.transduction_[3]
    assert model.predict(weights)[1] == -1
    np.testing.assert_allclose(model.predict_proba(weights).sum(axis=1), 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_part_with_one_class_gets_that_class(method):
    proba, scores = diffuse(two_parts(), np.array([0, 5, 25]), np.array([0, 1, 2]), 3,
                            method=method)  # fmt: skip
    assert scores.is_reached.all()
    assert np.all(proba[20:].argmax(axis=1) == 2)
    assert set(proba[:20].argmax(axis=1)) <= {0, 1}


@pytest.mark.parametrize("method", METHODS)
def test_a_class_without_label_is_never_the_answer(method):
    proba, _ = diffuse(random_graph(), np.array([0, 20]), np.array([0, 2]), 4, method=method)
    assert np.all(proba[:, [1, 3]] == 0)


def test_two_moons_from_one_label_each():
    X, truth = make_moons(300, noise=0.05, random_state=0)
    y = np.full(300, -1)
    y[np.flatnonzero(truth == 0)[0]] = 0
    y[np.flatnonzero(truth == 1)[0]] = 1
    for method in METHODS:
        model = DiffusionClassifier(method).fit(X, y)
        assert np.mean(model.transduction_ == truth) == 1
        X_new, new = make_moons(100, noise=0.05, random_state=1)
        assert np.mean(model.predict(X_new) == new) == 1


@pytest.fixture(scope="module")
def digits():
    X, digit = load_digits(return_X_y=True)
    y = np.full(len(X), -1)
    rng = np.random.default_rng(0)
    for c in range(10):
        y[rng.choice(np.flatnonzero(digit == c), 10, replace=False)] = c
    return X, digit, y


def test_invariant_graph_beats_the_euclidean_one(digits):
    X, digit, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        plain = DiffusionClassifier(n_neighbors=10).fit(X, y)
        model = DiffusionClassifier(image_shape=(8, 8), n_neighbors=10).fit(X, y)
    assert model.graph_.settings.metric == "deformation"
    assert model.graph_.settings.canonicalize == []
    error = np.mean(model.transduction_ != digit)
    assert error < 0.03 and error < np.mean(plain.transduction_ != digit)


def test_new_rows_are_labeled_as_if_they_had_been_there(digits):
    X, digit, y = digits
    seen = np.arange(len(X)) % 4 != 0
    seen |= y != -1
    model = DiffusionClassifier(image_shape=(8, 8), n_neighbors=10).fit(X[seen], y[seen])
    assert np.mean(model.predict(X[~seen]) == digit[~seen]) > 0.96
    proba = model.predict_proba(X[~seen])
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-9)
    wrong = model.classes_[proba.argmax(axis=1)] != digit[~seen]
    assert proba.max(axis=1)[wrong].mean() < proba.max(axis=1)[~wrong].mean()


def test_names_as_classes(digits):
    X, digit, y = digits
    names = np.array([f"digit {c}" if c >= 0 else "" for c in y])
    by_name = DiffusionClassifier(image_shape=(8, 8), n_neighbors=10).fit(X, names)
    by_code = DiffusionClassifier(image_shape=(8, 8), n_neighbors=10).fit(X, y)
    assert by_name.transduction_[5] == f"digit {by_code.transduction_[5]}"
    np.testing.assert_allclose(by_name.label_distributions_, by_code.label_distributions_)


def test_known_priors_move_the_boundary():
    W = random_graph(60)
    labeled, targets = np.array([0, 59]), np.array([0, 1])
    shares = np.array([0.8, 0.2])
    for method in METHODS:
        even, _ = diffuse(W, labeled, targets, 2, method=method, priors="uniform")
        skewed, _ = diffuse(W, labeled, targets, 2, method=method, priors=shares)
        assert skewed[:, 0].mean() > even[:, 0].mean() + 0.1
    matched = with_factors(even, factors_for_shares(even, shares))
    np.testing.assert_allclose(matched.mean(axis=0), shares, atol=1e-4)
    mass = (even * mass_factors(even, shares)).sum(axis=0)
    np.testing.assert_allclose(mass, shares)


def test_priors_are_checked():
    assert class_priors(None, np.array([0, 0, 1]), 2).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert class_priors([2, 6], np.array([0, 1]), 2).tolist() == [0.25, 0.75]
    for wrong in ("equal", [1, 2, 3], [-1, 2], [0, 0]):
        with pytest.raises(InputError, match="priors"):
            class_priors(wrong, np.array([0, 1]), 2)


def test_conjugate_gradients_states_the_true_residual():
    rng = np.random.default_rng(0)
    A = rng.random((30, 30))
    A = A @ A.T + np.eye(30)
    B = rng.random((30, 3))
    B[:, 1] = 0
    X, count, residual = conjugate_gradients(lambda P: A @ P, B, tol=1e-8, max_iter=200)
    np.testing.assert_allclose(A @ X, B, atol=1e-6)
    left = np.linalg.norm(B - A @ X, axis=0)[[0, 2]] / np.linalg.norm(B, axis=0)[[0, 2]]
    assert residual == pytest.approx(left.max()) and 1 < count < 200
    _, count, residual = conjugate_gradients(lambda P: A @ P, B, tol=1e-8, max_iter=2)
    assert count == 2 and residual > 1e-8


def test_no_convergence_is_said():
    X, truth = make_moons(200, noise=0.05, random_state=0)
    y = np.full(200, -1)
    y[:10] = truth[:10]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        DiffusionClassifier(max_iter=2).fit(X, y)


def test_a_graph_object_and_the_adapter_agree_with_the_estimator(digits):
    X, digit, y = digits
    seen = np.arange(len(X)) >= 200
    seen |= y != -1
    settings = image_graph_settings((8, 8), n_neighbors=10)
    graph = build_graph(X[seen], settings)
    extension = extend_graph(graph, X[seen], X[~seen])
    inputs = Inputs(X[seen], X[~seen], graph=graph, extension=extension)
    labeled = np.flatnonzero(y[seen] != -1)
    outcome = fit_draw(
        "diffusion",
        inputs,
        labeled,
        y[seen][labeled],
        n_classes=10,
        seed=0,
        settings={"method": "poisson"},
    )
    model = DiffusionClassifier(image_shape=(8, 8), n_neighbors=10).fit(X[seen], y[seen])
    on_graph = DiffusionClassifier().fit(graph, y[seen])
    np.testing.assert_array_equal(outcome.labels, model.transduction_)
    np.testing.assert_array_equal(on_graph.transduction_, model.transduction_)
    np.testing.assert_array_equal(outcome.labels_new, model.predict(X[~seen]))
    np.testing.assert_array_equal(on_graph.predict(extension), outcome.labels_new)
    assert outcome.status == "ok" and outcome.proba.shape == (seen.sum(), 10)
    with pytest.raises(InputError, match="needs a graph"):
        fit_draw(
            "diffusion", Inputs(X), labeled, y[seen][labeled], n_classes=10, seed=0, settings={}
        )


def test_a_matrix_of_weights_serves_as_the_graph_of_all_rows_only(digits):
    X, _, y = digits
    graph = build_graph(X)
    model = DiffusionClassifier().fit(X, y, graph=graph.W)
    expected = DiffusionClassifier().fit(X, y, graph=graph).transduction_
    np.testing.assert_array_equal(model.transduction_, expected)
    with pytest.raises(InputError, match="extend_graph"):
        model.predict(X[:2])
    with pytest.raises(InputError, match=f"X has {len(X) - 1} rows"):
        DiffusionClassifier().fit(X[1:], y[1:], graph=graph)


def test_extension_ignores_neighbors_that_no_label_reaches():
    weights = sparse.csr_array(np.array([[1.0, 3.0], [0.0, 2.0]]))
    proba, reached = extend_labels(
        weights, np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([True, False])
    )
    np.testing.assert_allclose(proba, [[0.9, 0.1], [0.5, 0.5]])
    assert reached.tolist() == [True, False]


@pytest.mark.parametrize(
    ("options", "X", "y", "message"),
    [
        ({"method": "heat"}, np.eye(4), [0, 1, -1, -1], "Allowed: poisson, spreading, propagation"),
        ({"method": "spreading", "alpha": 1.0}, np.eye(4), [0, 1, -1, -1], "alpha"),
        ({}, np.eye(4), [-1, -1, -1, -1], "No sample is labeled"),
        ({"metric": "precomputed"}, np.ones((3, 2)), [0, 1, -1], "square"),
        ({"metric": "precomputed"}, np.triu(np.ones((3, 3))), [0, 1, -1], "symmetric"),
        ({"image_shape": (3, 3)}, np.eye(4), [0, 1, -1, -1], "image_shape"),
        ({"graph_options": {"speed": 1}}, np.eye(4), [0, 1, -1, -1], "Unknown graph settings"),
    ],
)
def test_wrong_input_is_refused(options, X, y, message):
    with pytest.raises(InputError, match=message):
        DiffusionClassifier(**options).fit(X, y)


@pytest.mark.parametrize(
    ("labeled", "targets", "message"),
    [
        ([], [], "No labeled"),
        ([0, 0], [0, 1], "distinct"),
        ([50], [0], "outside"),
        ([0], [5], "codes"),
    ],
)
def test_wrong_labels_are_refused(labeled, targets, message):
    with pytest.raises(InputError, match=message):
        poisson_scores(random_graph(), labeled, targets, 2)


@pytest.mark.parametrize("method", METHODS)
def test_scikit_learn_conventions(method):
    expected = {
        "check_classifiers_classes": "one of its cases has a class named -1, here 'unlabeled'"
    }
    with warnings.catch_warnings():
        # Its random data fall into several parts; the warning is asserted above.
        warnings.simplefilter("ignore")
        check_estimator(DiffusionClassifier(method), expected_failed_checks=expected, on_skip=None)


@pytest.mark.realdata
def test_usps_from_ten_labels_per_class():
    from fewfold.datasets import load
    from fewfold.pipeline.protocol import make_draws

    data = load("usps")
    options = {"metric_options": {"fine": {"displacement": 2, "window": 5}, "recall_sample": 0}}
    graph = build_graph(data.X, image_graph_settings(data.image_shape, **options))
    order, _ = make_draws(
        data.y, draw="balanced", budgets=[100], trials=2, seed=0, dataset="usps",
        test_mask=data.test_mask,
    )  # fmt: skip
    for labeled in order:
        proba, _ = diffuse(graph.W, labeled, data.y[labeled], 10)
        wrong = proba.argmax(axis=1) != data.y
        assert np.mean(wrong[data.test_mask]) < 0.032


def test_default_graph_without_shape_is_euclidean():
    assert DiffusionClassifier().graph_settings() == GraphSettings()
    assert image_graph_settings((16, 16)).canonicalize == ["deskew"]
    series = DiffusionClassifier(image_shape=(50,)).graph_settings()
    assert series.metric == "deformation" and series.canonicalize == []


def test_one_series_per_class_is_enough_where_the_euclidean_graph_needs_many():
    data = load("cylinder_bell_funnel", n_samples=600, seed=11)
    first = [np.flatnonzero(data.y == c)[0] for c in range(3)]
    y = np.full(600, -1)
    y[first] = data.y[first]
    plain = DiffusionClassifier().fit(data.X, y)
    model = DiffusionClassifier(image_shape=data.image_shape).fit(data.X, y)
    assert np.mean(model.transduction_ != data.y) < 0.02
    assert np.mean(plain.transduction_ != data.y) > 0.05
    fresh = load("cylinder_bell_funnel", n_samples=200, seed=12)
    assert np.mean(model.predict(fresh.X) != fresh.y) < 0.03
