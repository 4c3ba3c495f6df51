"""Maps of all rows, SVMs on them, and SVMs on the features, against scikit-learn."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from fewfold.exceptions import InputError
from fewfold.methods.base import ManifoldModel
from fewfold.methods.baselines import feature_svm
from fewfold.methods.baselines.feature_svm import FeatureSVC
from fewfold.methods.embedding import maps
from fewfold.methods.embedding.estimator import EmbeddedClassifier
from fewfold.methods.embedding.maps import embed, place_rows
from fewfold.methods.embedding.stage import encode_rows, fit_manifold
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.stage_files import Features
from fewfold.pipeline.training import Inputs, fit_draw
from fewfold.svm.kernels import median_gamma

DIGITS = load_digits()
KEEP = np.flatnonzero(DIGITS.target < 4)[:400]
X = (DIGITS.data[KEEP] / 16).astype(np.float32)
Y = DIGITS.target[KEEP]
LABELED = np.arange(0, 320, 2)
OPTIONS = {"n_classes": 4, "seed": 0}


def plane(n=300):
    """A sheet rolled once in three dimensions, and its own coordinates."""
    inside = np.random.default_rng(0).uniform(size=(n, 2)) * [6, 3]
    roll = np.column_stack([np.cos(inside[:, 0] / 2), inside[:, 1], np.sin(inside[:, 0] / 2)])
    return roll, inside


@pytest.mark.parametrize("method", ["lle", "ltsa"])
def test_a_rolled_sheet_is_flattened(method):
    roll, inside = plane()
    Z = embed(roll, method, 2, 10)
    guess = np.column_stack([Z, np.ones(len(Z))])
    left = inside - guess @ np.linalg.lstsq(guess, inside, rcond=None)[0]
    assert (left.std(axis=0) < 0.35 * inside.std(axis=0)).all()
    np.testing.assert_array_equal(Z, embed(sparse.csr_array(roll), method, 2, 10))


@pytest.mark.parametrize("method, features, dims", [("lle", 12, 10), ("ltsa", 3, 2)])
def test_the_factored_solver_finds_the_same_map(method, features, dims, monkeypatch):
    cloud = np.random.default_rng(0).uniform(size=(400, features))  # digits have equal distances
    few = embed(cloud, method, dims, 15)
    if method == "lle":
        from sklearn.manifold import LocallyLinearEmbedding

        theirs = LocallyLinearEmbedding(n_neighbors=15, n_components=dims).fit_transform(cloud)
        np.testing.assert_allclose(np.abs(np.sum(few * theirs, axis=0)), 1, atol=1e-4)
    monkeypatch.setattr(maps, "_FACTOR_ROWS", 100)
    monkeypatch.setattr(maps, "_BLOCK_ROWS", 64)
    many = embed(cloud, method, dims, 15, seed=3)
    np.testing.assert_allclose(np.linalg.norm(many, axis=0), 1)
    np.testing.assert_allclose(np.abs(np.sum(few * many, axis=0)), 1, atol=1e-4)
    np.testing.assert_array_equal(many, embed(cloud, method, dims, 15, seed=3))


def test_ltsa_places_rows_that_are_nobodys_neighbor():
    """They are in their own neighborhood; out of it, each took an eigenvector of its own."""
    roll, inside = plane()
    far = np.array([[2.5, 1.5, 0.0]])  # beyond the roll's edge; nobody's neighbor
    Z = embed(np.vstack([roll, far]), "ltsa", 2, 10)
    assert (np.abs(Z[-1]) < 0.5).all()
    guess = np.column_stack([Z[:-1], np.ones(len(roll))])
    left = inside - guess @ np.linalg.lstsq(guess, inside, rcond=None)[0]
    assert (left.std(axis=0) < 0.35 * inside.std(axis=0)).all()


def test_new_rows_are_placed_where_they_would_be():
    roll, _ = plane(400)
    Z = embed(roll, "ltsa", 2, 10)
    placed = place_rows(roll[:20] + 1e-4, roll, Z, 8)
    assert np.abs(placed - Z[:20]).max() < 0.05 * np.abs(Z).max()
    # A row that is there several times: the Gram matrix is zero, the weights are equal.
    same = np.ones((6, 3))
    np.testing.assert_allclose(place_rows(same[:1], same, np.arange(6.0)[:, None], 3).shape, (1, 1))


@pytest.mark.parametrize("method, dims, near", [("isomap", 2, 5), ("ltsa", 5, 5), ("lle", 2, 500)])
def test_maps_that_cannot_be_made_are_refused(method, dims, near):
    with pytest.raises(InputError):
        embed(X, method, dims, near)


@pytest.mark.parametrize("kind, most", [("linear", 0.06), ("rbf", 0.06), ("nearest", 0.06)])
def test_classifiers_on_a_map_of_digits(kind, most):
    part = SimpleNamespace(X=X[:360])
    options = {"method": "ltsa", "n_dims": 6, "n_neighbors": 12}
    arrays, notes = fit_manifold(part, None, options, seed=0)
    assert notes == {"method": "ltsa", "n_dims": 6}
    inputs = Inputs(X=X[:360], X_new=X[360:], manifold=ManifoldModel(arrays))
    out = fit_draw("embedded", inputs, LABELED, Y[LABELED], settings={"kind": kind}, **OPTIONS)
    assert np.mean(out.labels != Y[:360]) < most
    assert np.mean(out.labels_new != Y[360:]) < 0.15


def test_the_rbf_svm_is_scikit_learns():
    gamma = median_gamma(X)
    out = fit_draw(
        "feature_svm", Inputs(X=X), LABELED, Y[LABELED],
        settings={"kind": "rbf", "C": 5.0, "gamma": gamma}, **OPTIONS,
    )  # fmt: skip
    expected = SVC(C=5.0, gamma=gamma).fit(X[LABELED], Y[LABELED]).predict(X)
    np.testing.assert_array_equal(out.labels, expected)


def test_many_labels_need_one_pair_of_classes_at_a_time(monkeypatch):
    """The same SVM as with the whole kernel, for old and new rows, uneven classes too."""
    some = np.concatenate([LABELED[Y[LABELED] != 2], LABELED[Y[LABELED] == 2][:8]])
    settings = {"kind": "rbf", "choose_rows": 60}
    inputs = Inputs(X=X[:360], X_new=X[360:])
    whole = fit_draw("feature_svm", inputs, some, Y[some], settings=settings, **OPTIONS)
    monkeypatch.setattr(feature_svm, "SLICE_ROWS", 100)
    monkeypatch.setattr("fewfold.svm.kernel_svm._WHOLE", 100)
    shapes = []
    block = feature_svm.kernel_block

    def watched(kind, A, B, **options):
        shapes.append((len(A), len(B)))
        return block(kind, A, B, **options)

    monkeypatch.setattr(feature_svm, "kernel_block", watched)
    sliced = fit_draw("feature_svm", inputs, some, Y[some], settings=settings, **OPTIONS)
    assert sliced.details == whole.details
    np.testing.assert_array_equal(sliced.labels, whole.labels)
    np.testing.assert_array_equal(sliced.labels_new, whole.labels_new)
    # Each class with itself once, each two classes once, then old and new rows.
    sizes = np.bincount(Y[some])
    pairs = [(sizes[a], sizes[b]) for a in range(4) for b in range(a, 4)]
    assert sorted(shapes[:-2]) == sorted(pairs)


@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_settings_may_be_chosen_on_some_labels(kind):
    inputs = Inputs(X=X)
    few = fit_draw(
        "feature_svm",
        inputs,
        LABELED,
        Y[LABELED],
        settings={"kind": kind, "choose_rows": 40},
        **OPTIONS,
    )
    fixed = {"kind": kind, **{k: v for k, v in few.details.items() if k in ("C", "gamma")}}
    again = fit_draw("feature_svm", inputs, LABELED, Y[LABELED], settings=fixed, **OPTIONS)
    np.testing.assert_array_equal(few.labels, again.labels)
    assert np.mean(few.labels != Y) < 0.05


def test_an_unknown_kernel_is_refused():
    with pytest.raises(InputError, match="cubic"):
        fit_draw(
            "feature_svm", Inputs(X=X), LABELED, Y[LABELED], settings={"kind": "cubic"}, **OPTIONS
        )


def digits_map():
    options = {"method": "ltsa", "n_dims": 6, "n_neighbors": 12}
    return fit_manifold(SimpleNamespace(X=X[:360]), None, options, seed=0)[0]


@pytest.mark.parametrize("kind", ["linear", "rbf", "nearest"])
def test_new_rows_are_placed_once_by_the_encoder(kind, tmp_path, monkeypatch):
    arrays, path = digits_map(), tmp_path / "points.h5"
    with writing(path, "encode_points") as out:
        encode_rows(out, Features(X[:360], X[360:], None, None, None, None), arrays)
    with read(path, "encode_points") as file:
        own, new = {"positions": file["positions"]}, {"positions": file["positions_new"]}
    draw = {"settings": {"kind": kind}, **OPTIONS}
    without = fit_draw(
        "embedded", Inputs(X[:360], X[360:], manifold=ManifoldModel(arrays)), LABELED, Y[LABELED],
        **draw,
    )  # fmt: skip

    def refuse(*_):
        raise AssertionError("placed again")

    monkeypatch.setattr("fewfold.methods.embedding.estimator.place_rows", refuse)
    inputs = Inputs(X[:360], X[360:], manifold=ManifoldModel(arrays, {}, own, new))
    found = fit_draw("embedded", inputs, LABELED, Y[LABELED], **draw)
    np.testing.assert_array_equal(found.proba, without.proba)
    np.testing.assert_array_equal(found.proba_new, without.proba_new)


def models(n_classes):
    y = np.full(360, -1)
    y[LABELED] = Y[LABELED] % n_classes
    rows = X[:360]
    manifold = ManifoldModel(digits_map())
    for kernel in ("linear", "rbf", "nearest"):
        yield EmbeddedClassifier(kernel).fit(rows, y, manifold=manifold)
    for kernel in ("linear", "rbf"):
        yield FeatureSVC(kernel, choose_rows=60).fit(rows, y)
        yield FeatureSVC(kernel, C=1.0, gamma=0.1).fit(sparse.csr_array(rows), y)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_plain_state_predicts_the_same(n_classes):
    for model in models(n_classes):
        arrays, notes = model.to_arrays()
        again = type(model).from_arrays(arrays, json.loads(json.dumps(notes)))
        np.testing.assert_array_equal(again.predict_proba(X[360:]), model.predict_proba(X[360:]))
        np.testing.assert_array_equal(again.predict(X[360:]), model.predict(X[360:]))


@pytest.mark.parametrize("name", ["intercepts_", "weights_", "support_rows_", "gamma_", "codes_"])
def test_a_state_that_lacks_something_is_refused(name):
    tried = 0
    for model in models(4):
        arrays, notes = model.to_arrays()
        held = {k: v for k, v in {**arrays, **notes}.items() if v is not None}
        lacking = {k: v for k, v in held.items() if k.removeprefix("svm_") != name}
        if len(lacking) < len(held):
            tried += 1
            with pytest.raises(InputError, match="missing"):
                type(model).from_arrays(lacking, lacking)
    assert tried
