"""`InvariantSVC`, the virtual-sample machines and their adapters."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from fewfold import InvariantSVC
from fewfold.exceptions import InputError
from fewfold.graph.build import build_graph
from fewfold.invariance import AllVirtualSVC, VirtualSupportVectorSVC, rotated_images
from fewfold.invariance.adapter import fit_predict, fit_predict_all_virtual, fit_predict_vsv
from fewfold.training import Inputs
from fewfold.transforms import virtual_samples

SHAPE = (9, 9)


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


def test_scikit_learn_checks():
    expected = {"check_classifiers_classes": "one of its cases has a class named -1: unlabelled"}
    check_estimator(InvariantSVC(), expected_failed_checks=expected)


@pytest.mark.parametrize("estimator", [AllVirtualSVC, VirtualSupportVectorSVC])
def test_scikit_learn_checks_of_the_baselines(estimator):
    expected = {"check_classifiers_classes": "one of its cases has a class named -1: unlabelled"}
    check_estimator(estimator(), expected_failed_checks=expected)


def test_knowing_the_rotation_helps():
    X, y = bars()
    test, truth = bars(400, seed=1)
    few = slice(0, 8)
    plain = InvariantSVC(image_shape=SHAPE, deformation=0.0).fit(X[few], y[few])
    aware = InvariantSVC(image_shape=SHAPE).fit(X[few], y[few])
    copies = AllVirtualSVC(image_shape=SHAPE).fit(X[few], y[few])
    assert error(aware, test, truth) < 0.6 * error(plain, test, truth)
    assert abs(error(aware, test, truth) - error(copies, test, truth)) < 0.1


def test_without_deformation_it_is_a_plain_machine():
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
    plain = InvariantSVC(image_shape=SHAPE, deformation=0.0).fit(X[:8], y[:8])
    knn = InvariantSVC(image_shape=SHAPE, graph="knn", n_neighbors=4).fit(X[:8], y[:8])
    assert error(knn, test, truth) < error(plain, test, truth)


def test_unlabelled_rows_join_through_the_data_graph():
    X, y = bars(160)
    partial = np.where(np.arange(160) < 6, y, -1)
    alone = InvariantSVC(image_shape=SHAPE, deformation=0.0).fit(X, partial)
    joined = InvariantSVC(image_shape=SHAPE, deformation=0.0, data_deformation=10.0)
    joined.fit(X, partial)
    assert (alone.n_nodes_, joined.n_nodes_) == (6 * 24, 6 * 24 + 154)
    rest = slice(6, None)
    assert np.mean(joined.transduction_[rest] != y[rest]) < 0.7 * np.mean(
        alone.transduction_[rest] != y[rest]
    )
    np.testing.assert_array_equal(joined.transduction_[:6], y[:6])
    given = InvariantSVC(
        image_shape=SHAPE, data_deformation=1.0, data_graph=build_graph(X, n_neighbors=5)
    ).fit(X, partial)
    assert given.n_nodes_ == joined.n_nodes_


def test_cross_validation_sees_labelled_rows_only_and_keeps_what_is_given():
    X, y = bars(60)
    partial = np.where(np.arange(60) < 40, y, -1)
    model = InvariantSVC(image_shape=SHAPE, cv=4, deformation=[0.0, 100.0])
    found = model.fit(X, partial).choice_
    assert found.deformation == 100.0 and 0 <= found.error < 0.5
    other = np.where(np.arange(60) < 40, X.T, X[::-1].T).T  # other unlabelled rows
    assert clone(model).fit(other, partial).choice_ == found
    fixed = InvariantSVC(image_shape=SHAPE, cv=4, gamma=0.2, C=3.0).fit(X, partial).choice_
    assert (fixed.gamma, fixed.C) == (0.2, 3.0)


def test_a_class_of_one_labelled_row_skips_the_folds():
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
        ({"graph": "tree"}, "graph='tree'"),
        ({"deformation": -1}, "deformation=-1"),
        ({"C": 0}, "C=0"),
        ({"cv": 1}, "cv=1"),
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
    with pytest.raises(InputError, match=r"data_graph has shape \(3, 3\)"):
        InvariantSVC(data_deformation=1.0, data_graph=np.eye(3)).fit(X, y)


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
    aware = InvariantSVC(ring).fit(X[:6], y[:6])
    plain = InvariantSVC(ring, deformation=0.0).fit(X[:6], y[:6])
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
def test_a_quarter_of_the_copies_gives_the_machine_of_all(estimator, n_classes, monkeypatch):
    X, y = bars(60)
    y = np.arange(60) % n_classes
    test = bars(80, seed=3)[0]
    fast = estimator(image_shape=SHAPE, gamma=0.1, C=3.0).fit(X, y)
    monkeypatch.setattr("fewfold.invariance.baselines.ring_symmetry", lambda *_: 1)
    slow = estimator(image_shape=SHAPE, gamma=0.1, C=3.0).fit(X, y)
    assert fast._n_nodes * 4 == slow._n_nodes and fast.n_train_ == slow.n_train_
    gap = np.abs(fast.decision_function(test) - slow.decision_function(test))
    assert gap.max() < 0.02  # both solve to a tolerance of 1e-3 in each coefficient's gradient
    plain = SVC(C=3.0, gamma=0.1)
    if estimator is AllVirtualSVC:
        copies = virtual_samples(X, SHAPE, "rotation").reshape(-1, 81)
        plain.fit(copies, np.repeat(y, 24))
        np.testing.assert_allclose(
            fast.decision_function(test), plain.decision_function(test), atol=0.02
        )


def test_copies_made_before_are_taken_and_checked():
    X, y = bars(30)
    copies = virtual_samples(X, SHAPE, "rotation")
    for estimator in (InvariantSVC, AllVirtualSVC, VirtualSupportVectorSVC):
        model = estimator(image_shape=SHAPE)
        own = model.fit(X, y).decision_function(X)
        np.testing.assert_array_equal(model.fit(X, y, copies).decision_function(X), own)
        with pytest.raises(InputError, match=r"copies have shape \(30, 23, 81\)"):
            model.fit(X, y, copies[:, 1:])


@pytest.mark.parametrize("adapter", [fit_predict, fit_predict_vsv, fit_predict_all_virtual])
def test_adapters_label_all_rows_and_new_rows(adapter):
    X, y = bars(80)
    inputs = Inputs(X[:60], X[60:], image_shape=SHAPE)
    labeled = np.arange(20)
    codes = np.array([0, 2])[y]
    outcome = adapter(inputs, labeled, codes[labeled], n_classes=3, seed=2**40, settings={"cv": 3})
    assert outcome.labels.shape == (60,) and outcome.labels_new.shape == (20,)
    assert outcome.proba.shape == (60, 3) and not outcome.proba[:, 1].any()
    np.testing.assert_allclose(outcome.proba.sum(axis=1), 1)
    assert np.mean(outcome.labels_new != codes[60:]) < 0.25
    assert set(np.unique(outcome.labels)) <= {0, 2}
    one = adapter(inputs, labeled[:1], codes[:1], n_classes=3, seed=0, settings={})
    assert one.status == "one class only" and (one.labels_new == codes[0]).all()
    with pytest.raises(InputError, match="Unknown settings"):
        adapter(inputs, labeled, codes[labeled], n_classes=3, seed=0, settings={"speed": 1})


def test_adapter_uses_the_chains_graph_and_the_images():
    X, y = bars(80)
    graph = build_graph(X, n_neighbors=5)
    inputs = Inputs(X[:, :3], graph=graph, image_shape=SHAPE, images=X)
    settings = {"cv": None, "data_deformation": 5.0}
    outcome = fit_predict(inputs, np.arange(10), y[:10], n_classes=2, seed=0, settings=settings)
    assert outcome.details["n_nodes"] == 10 * 24 + 70
    assert outcome.details["data_deformation"] == 5.0


def test_rotated_images_are_seeded_turns():
    X, _ = bars(5)
    turned = rotated_images(X, SHAPE, 4)
    np.testing.assert_array_equal(turned[:3], rotated_images(X[:3], SHAPE, 4))
    assert (turned != rotated_images(X, SHAPE, 5)).any()
    disc = (np.hypot(*(np.indices(SHAPE) - 4)) < 3).astype(np.float32).reshape(1, -1)
    assert np.abs(rotated_images(disc, SHAPE, 1) - disc).mean() < 0.1
    with pytest.raises(InputError, match="needs rows of 16"):
        rotated_images(X, (4, 4))
