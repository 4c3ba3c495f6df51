"""`InvariantSVC`, the SVMs on virtual samples, and how the workflow trains them."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from fewfold import InvariantSVC
from fewfold.exceptions import InputError
from fewfold.graph.build import build_graph, extend_graph
from fewfold.methods.invariance.baselines import AllVirtualSVC, VirtualSupportVectorSVC
from fewfold.pipeline.training import Inputs, fit_draw
from fewfold.transforms import virtual_samples
from fewfold.transforms.rotated import rotated_images

SHAPE = (9, 9)
ESTIMATORS = [InvariantSVC, AllVirtualSVC, VirtualSupportVectorSVC]


def bars(n=120, seed=0):
    """Straight bars against corners, each turned by a random angle."""
    rng = np.random.default_rng(seed)
    images = np.zeros((n, 9, 9), np.float32)
    y = np.arange(n) % 2
    images[:, 1:8, 4] = 1
    images[y == 1, 5:8, 4] = 0
    images[y == 1, 4, 4:8] = 1
    images += rng.normal(0, 0.05, images.shape)
    return rotated_images(images.reshape(n, 81), SHAPE, seed), y


def error(model, X, y):
    return np.mean(model.predict(X) != y)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scikit_learn_checks(estimator):
    expected = {"check_classifiers_classes": "one of its cases has a class named -1: unlabeled"}
    check_estimator(estimator(cv=None), expected_failed_checks=expected)


def test_knowing_the_rotation_helps():
    X, y = bars()
    test, truth = bars(400, seed=1)
    few = slice(0, 8)
    plain = InvariantSVC(image_shape=SHAPE, deformation=0.0, cv=None).fit(X[few], y[few])
    aware = InvariantSVC(image_shape=SHAPE, cv=None).fit(X[few], y[few])
    copies = AllVirtualSVC(image_shape=SHAPE, cv=None).fit(X[few], y[few])
    assert error(aware, test, truth) < 0.6 * error(plain, test, truth)
    assert abs(error(aware, test, truth) - error(copies, test, truth)) < 0.1


def test_without_deformation_it_is_a_plain_svm():
    X, y = bars(60)
    model = InvariantSVC(image_shape=SHAPE, deformation=0.0, gamma=0.1, C=5.0).fit(X, y)
    plain = SVC(C=5.0, gamma=0.1).fit(X, y)
    test = bars(50, seed=3)[0]
    np.testing.assert_array_equal(model.predict(test), plain.predict(test))
    sign = np.sign(model.decision_function(test))
    np.testing.assert_array_equal(sign, np.sign(plain.decision_function(test)))


def test_exact_and_low_rank_predict_alike():
    X, y = bars(60)
    test = bars(200, seed=3)[0]
    options = {"image_shape": SHAPE, "gamma": 0.1, "C": 10.0}
    exact = InvariantSVC(solver="exact", **options).fit(X, y)
    low = InvariantSVC(solver="lowrank", n_landmarks=700, **options).fit(X, y)
    assert np.mean(exact.predict(test) != low.predict(test)) < 0.02
    gap = np.abs(exact.decision_function(test) - low.decision_function(test)).mean()
    assert gap < 0.1 * np.abs(exact.decision_function(test)).mean()


def test_knn_graph_over_all_copies_learns_too():
    X, y = bars()
    test, truth = bars(300, seed=1)
    plain = InvariantSVC(image_shape=SHAPE, deformation=0.0, cv=None).fit(X[:8], y[:8])
    knn = InvariantSVC(image_shape=SHAPE, copies_graph="knn", n_neighbors=4, cv=None).fit(
        X[:8], y[:8]
    )
    assert error(knn, test, truth) < error(plain, test, truth)


def test_unlabeled_rows_join_through_the_data_graph():
    X, y = bars(160)
    partial = np.where(np.arange(160) < 6, y, -1)
    alone = InvariantSVC(image_shape=SHAPE, deformation=0.0, cv=None).fit(X, partial)
    options = {"image_shape": SHAPE, "deformation": 0.0, "cv": None}
    joined = InvariantSVC(data_deformation=10.0, **options).fit(X, partial)
    assert (alone.n_nodes_, joined.n_nodes_) == (6 * 24, 6 * 24 + 154)
    rest = slice(6, None)
    assert np.mean(joined.transduction_[rest] != y[rest]) < 0.7 * np.mean(
        alone.transduction_[rest] != y[rest]
    )
    np.testing.assert_array_equal(joined.transduction_[:6], y[:6])
    graph = build_graph(X, n_neighbors=5)
    given = InvariantSVC(**options).fit(X, partial, graph=graph)
    assert given.n_nodes_ == joined.n_nodes_ and given.choice_.data_deformation == 100.0
    own = InvariantSVC(data_deformation=100.0, data_graph={"n_neighbors": 5}, **options)
    np.testing.assert_array_equal(
        own.fit(X, partial).label_distributions_, given.label_distributions_
    )


def test_cross_validation_sees_labeled_rows_only_and_keeps_what_is_given():
    X, y = bars(60)
    partial = np.where(np.arange(60) < 40, y, -1)
    model = InvariantSVC(image_shape=SHAPE, cv=4, deformation=[0.0, 100.0])
    found = model.fit(X, partial).choice_
    assert found.deformation == 100.0 and 0 <= found.error < 0.5
    other = np.where(np.arange(60) < 40, X.T, X[::-1].T).T  # other unlabeled rows
    assert clone(model).fit(other, partial).choice_ == found
    fixed = InvariantSVC(image_shape=SHAPE, cv=4, gamma=0.2, C=3.0).fit(X, partial).choice_
    assert (fixed.gamma, fixed.C) == (0.2, 3.0)


def test_a_class_of_one_labeled_row_skips_the_folds():
    X, y = bars(20)
    y = np.where(np.arange(20) == 0, 7, 1)
    model = InvariantSVC(image_shape=SHAPE, cv=5).fit(X, y)
    assert np.isnan(model.choice_.error)
    assert set(model.predict(X)) <= {1, 7}


def test_parameters_survive_clone_and_transform_is_no_method():
    model = InvariantSVC("rotation", SHAPE, cv=3)
    assert clone(model).get_params()["transform"] == "rotation"
    assert model.set_params(transform="shear").get_params()["transform"] == "shear"
    assert not hasattr(model, "transform")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_shape": (3, 3)}, "needs rows of 9 values, got 81"),
        ({"copies_graph": "tree"}, "copies_graph='tree'"),
        ({"deformation": -1}, "deformation=-1"),
        ({"C": 0}, "C=0"),
        ({"cv": 1}, "cv=1"),
        ({"solver": None}, "solver=None"),
        ({"kernel": "sigmoid"}, "kernel='sigmoid'"),
        ({"transform": "mirror"}, "'mirror' is unknown"),
    ],
)
def test_wrong_options_are_refused(options, message):
    X, y = bars(10)
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        InvariantSVC(**options).fit(X, y)


def test_one_class_and_a_wrong_data_graph_are_refused():
    X, y = bars(10)
    with pytest.raises(InputError, match="found 1 class"):
        InvariantSVC().fit(X, np.ones(10))
    y[5:] = -1
    with pytest.raises(InputError, match=r"graph given has shape \(3, 3\)"):
        InvariantSVC().fit(X, y, graph=np.eye(3))


def test_any_function_is_a_transform():
    from fewfold.transforms import get_transform

    def shift(batch, t):
        return np.roll(batch, t, axis=1)

    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    shape = np.where(y[:, None] == 1, [1, 1, 1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0, 1, 0.0])
    X = np.stack([np.roll(r, s) for r, s in zip(shape, rng.integers(8, size=200))])
    X += rng.normal(0, 0.3, X.shape)
    ring = get_transform(shift, grid=list(range(8)), topology="ring")
    aware = InvariantSVC(ring, cv=None).fit(X[:6], y[:6])
    plain = InvariantSVC(ring, deformation=0.0, cv=None).fit(X[:6], y[:6])
    assert error(aware, X[6:], y[6:]) < error(plain, X[6:], y[6:])


@pytest.mark.parametrize(
    ("spec", "n_copies"),
    [
        ("translation", 9),
        ("scaling", 5),
        ("shear", 5),
        ("thickness", 3),
        ([{"name": "scaling", "grid": [0.8, 1.0, 1.2]}, "shear"], 15),
    ],
)
def test_every_image_transform_draws_the_copies_of_a_row_together(spec, n_copies):
    X, y = bars(10)
    copies = virtual_samples(X, SHAPE, spec)
    options = {"transform": spec, "image_shape": SHAPE, "gamma": 0.3, "C": 1.0}
    aware = InvariantSVC(deformation=1000.0, **options).fit(X, y)
    plain = InvariantSVC(deformation=0.0, **options).fit(X, y)
    assert aware.n_nodes_ == 10 * n_copies

    def spread(model):
        """Of the decisions over each row's copies, in units of that over the rows."""
        scores = model.decision_function(copies.reshape(-1, 81)).reshape(10, n_copies)
        return scores.std(axis=1).mean() / scores.mean(axis=1).std()

    assert spread(aware) < 0.5 * spread(plain)


def test_virtual_support_vectors_add_the_copies_of_support_vectors_only():
    X, y = bars(60)
    every = AllVirtualSVC(image_shape=SHAPE, gamma=0.1, C=1.0).fit(X, y)
    some = VirtualSupportVectorSVC(image_shape=SHAPE, gamma=0.1, C=1.0).fit(X, y)
    n_support = len(SVC(C=1.0, gamma=0.1).fit(X, y).support_)
    assert every.n_train_ == 60 * 24
    assert some.n_train_ == 24 * n_support
    copies = AllVirtualSVC(image_shape=SHAPE, cv=3).fit(X, y)
    assert copies.gamma_ > 0 and copies.C_ in (1.0, 10.0, 100.0)


@pytest.mark.parametrize("estimator", [AllVirtualSVC, VirtualSupportVectorSVC])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_quarter_of_the_copies_gives_the_svm_of_all(estimator, n_classes, monkeypatch):
    X, y = bars(60)
    y = np.arange(60) % n_classes
    test = bars(80, seed=3)[0]
    fast = estimator(image_shape=SHAPE, gamma=0.1, C=3.0).fit(X, y)
    monkeypatch.setattr("fewfold.methods.invariance.baselines.ring_symmetry", lambda *_: 1)
    slow = estimator(image_shape=SHAPE, gamma=0.1, C=3.0).fit(X, y)
    assert fast.support_vectors_.shape[1] == 4 * slow.support_vectors_.shape[1] == 4
    assert fast.n_train_ == slow.n_train_
    gap = np.abs(fast.decision_function(test) - slow.decision_function(test))
    assert gap.max() < 0.02  # both solve to a tolerance of 1e-3 in each coefficient's gradient
    plain = SVC(C=3.0, gamma=0.1)
    if estimator is AllVirtualSVC:
        copies = virtual_samples(X, SHAPE, "rotation").reshape(-1, 81)
        plain.fit(copies, np.repeat(y, 24))
        np.testing.assert_allclose(
            fast.decision_function(test), plain.decision_function(test), atol=0.02
        )


class Made:
    """Copies as a stage of the workflow gives them."""

    def __init__(self, copies):
        self.copies = copies

    def of(self, rows):
        """Return the copies of some rows."""
        return self.copies[rows]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_copies_made_before_are_taken_and_checked(estimator):
    X, y = bars(30)
    copies = virtual_samples(X, SHAPE, "rotation")
    y = np.where(np.arange(30) < 20, y, -1)
    model = estimator(image_shape=SHAPE, cv=None)
    own = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(model.fit(X, y, copies=Made(copies)).decision_function(X), own)
    with pytest.raises(InputError, match=r"copies have shape \(20, 23, 81\)"):
        model.fit(X, y, copies=Made(copies[:, 1:]))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stored_model_predicts_as_the_fitted_one(estimator, n_classes):
    X, _ = bars(60)
    y = np.array(["a", "b", "c"])[np.arange(60) % n_classes]
    y[40:] = ""
    model = estimator(image_shape=SHAPE, cv=None).fit(X, y)
    arrays, notes = model.to_arrays()
    loaded = estimator.from_arrays(arrays, json.loads(json.dumps(notes)))
    new = bars(50, seed=3)[0]
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    wrong = next(name for name in arrays if name.startswith("intercepts"))
    with pytest.raises(InputError, match=f"'{wrong}' has shape"):
        estimator.from_arrays(arrays | {wrong: np.zeros(7)}, notes)
    with pytest.raises(InputError, match="4 classes and"):
        estimator.from_arrays(arrays | {"classes_": np.array(["a", "b", "c", "d"])}, notes)


def test_a_model_with_a_graph_is_stored_and_one_with_a_function_is_not():
    X, y = bars(60)
    y[20:] = -1
    for kernel in ("rbf", "linear"):
        model = InvariantSVC(image_shape=SHAPE, cv=None, kernel=kernel)
        model.fit(X, y, graph=build_graph(X, n_neighbors=5))
        loaded = InvariantSVC.from_arrays(*model.to_arrays())
        new = bars(50, seed=3)[0]
        np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    model = InvariantSVC(image_shape=SHAPE, cv=None, kernel=lambda A, B: (A @ B.T + 1) ** 2)
    with pytest.raises(InputError, match="function as kernel cannot be stored"):
        model.fit(X, y).to_arrays()
    with pytest.raises(InputError, match="'kernel' is 'os.system'. Allowed: rbf, linear"):
        arrays, notes = loaded.to_arrays()
        InvariantSVC.from_arrays(arrays, notes | {"kernel": "os.system"})


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sparse_rows_are_taken_as_dense_ones(estimator):
    X, y = bars(30)
    y[20:] = -1
    X = np.where(X > 0.3, X, 0)
    dense = estimator(image_shape=SHAPE, cv=None).fit(X, y)
    thin = estimator(image_shape=SHAPE, cv=None).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X))


@pytest.mark.parametrize("name", ["invariant_svm", "virtual_support_vectors", "virtual_samples"])
def test_training_labels_all_rows_and_new_rows(name):
    X, y = bars(80)
    inputs = Inputs(X[:60], X[60:], image_shape=SHAPE)
    labeled = np.arange(20)[::-1]
    codes = np.array([0, 2])[y]
    draw = {"n_classes": 3, "seed": 2**40}
    outcome = fit_draw(name, inputs, labeled, codes[labeled], **draw, settings={"cv": 3})
    assert outcome.labels.shape == (60,) and outcome.labels_new.shape == (20,)
    assert outcome.proba.shape == (60, 3) and not outcome.proba[:, 1].any()
    np.testing.assert_allclose(outcome.proba.sum(axis=1), 1)
    assert np.mean(outcome.labels_new != codes[60:]) < 0.25
    assert set(np.unique(outcome.labels)) <= {0, 2}
    np.testing.assert_array_equal(outcome.labels[labeled], codes[labeled])
    one = fit_draw(name, inputs, labeled[:1], codes[labeled[:1]], **draw, settings={})
    assert one.status == "one class only" and (one.labels_new == codes[labeled[0]]).all()
    with pytest.raises(InputError, match="has no setting 'speed'"):
        fit_draw(name, inputs, labeled, codes[labeled], **draw, settings={"speed": 1})


def test_training_uses_the_chains_graph_and_the_images():
    X, y = bars(80)
    graph = build_graph(X[:70], n_neighbors=5)
    extension = extend_graph(graph, X[:70], X[70:])
    inputs = Inputs(
        X[:70, :3], X[70:, :3], graph=graph, extension=extension, image_shape=SHAPE,
        images=X[:70], images_new=X[70:],
    )  # fmt: skip
    settings = {"cv": None, "data_deformation": 5.0}
    draw = {"n_classes": 2, "seed": 0}
    outcome = fit_draw("invariant_svm", inputs, np.arange(10), y[:10], **draw, settings=settings)
    assert outcome.details["n_nodes"] == 10 * 24 + 60
    assert outcome.details["data_deformation"] == 5.0
    assert outcome.labels_new.shape == (10,)
    found = fit_draw("invariant_svm", inputs, np.arange(10), y[:10], **draw, settings={})
    assert found.details["data_deformation"] in (10.0, 100.0, 1000.0)


def test_rotated_images_are_seeded_turns():
    X, _ = bars(5)
    turned = rotated_images(X, SHAPE, 4)
    np.testing.assert_array_equal(turned[:3], rotated_images(X[:3], SHAPE, 4))
    assert (turned != rotated_images(X, SHAPE, 5)).any()
    disc = (np.hypot(*(np.indices(SHAPE) - 4)) < 3).astype(np.float32).reshape(1, -1)
    assert np.abs(rotated_images(disc, SHAPE, 1) - disc).mean() < 0.1
    with pytest.raises(InputError, match="needs rows of 16"):
        rotated_images(X, (4, 4))


def test_the_published_variant_deforms_by_the_papers_graph():
    """One strength; the bandwidth of the weights is the mean distance of a sample's copies."""
    from fewfold.methods.invariance.graphs import block_diagonal, orbit_laplacians
    from fewfold.transforms import get_transform, virtual_samples

    rng = np.random.default_rng(0)
    X, y = rng.random((12, 16)), np.arange(12) % 2
    ring = get_transform({"name": "rotation", "step": 90})
    model = InvariantSVC(ring, (4, 4), variant="published", gamma=0.5, C=10.0).fit(X, y)
    assert model.choice_.deformation == 100.0
    copies = np.asarray(virtual_samples(X, (4, 4), ring), np.float64)
    V = copies.reshape(-1, 16)
    distance = np.linalg.norm(copies[:, :, None] - copies[:, None], axis=3)
    mean = distance[:, *np.triu_indices(4, 1)].mean()
    M = 100.0 * block_diagonal(orbit_laplacians(copies, ring.edges(), 1 / mean**2)).toarray()
    K = np.exp(-0.5 * np.sum((V[:, None] - V[None]) ** 2, axis=2))
    deformed = K - K @ np.linalg.solve(np.eye(len(K)) + M @ K, M @ K)
    keep = np.arange(12) * 4 + ring.identity
    np.testing.assert_allclose(model.deformed_.gram, deformed[np.ix_(keep, keep)], atol=1e-5)
