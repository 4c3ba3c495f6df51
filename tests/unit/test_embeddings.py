"""Maps of all rows, machines on them, and machines on the features, against scikit-learn."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from fewfold import embeddings, feature_machines
from fewfold.embeddings import embed, fit_manifold, fit_predict, place_rows
from fewfold.exceptions import InputError
from fewfold.feature_machines import feature_svm
from fewfold.kernels import median_gamma
from fewfold.training import Inputs

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
def test_the_factored_solver_finds_scikit_learns_map(method, features, dims, monkeypatch):
    # No digits: they have equal distances. Few features for LTSA: a row that is nobody's
    # neighbour adds an eigenvector of its own, and then the order is a matter of taste.
    cloud = np.random.default_rng(0).uniform(size=(400, features))
    few = embed(cloud, method, dims, 15)
    monkeypatch.setattr(embeddings, "_FACTOR_ROWS", 100)
    monkeypatch.setattr(embeddings, "_BLOCK_ROWS", 64)
    many = embed(cloud, method, dims, 15, seed=3)
    np.testing.assert_allclose(np.linalg.norm(many, axis=0), 1)
    np.testing.assert_allclose(np.abs(np.sum(few * many, axis=0)), 1, atol=1e-4)
    np.testing.assert_array_equal(many, embed(cloud, method, dims, 15, seed=3))


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
def test_machines_on_a_map_of_digits(kind, most):
    part = SimpleNamespace(X=X[:360])
    options = {"method": "ltsa", "n_dims": 6, "n_neighbors": 12}
    arrays, notes = fit_manifold(part, None, options, seed=0)
    assert notes == {"method": "ltsa", "n_dims": 6}
    inputs = Inputs(X=X[:360], X_new=X[360:], manifold=arrays)
    out = fit_predict(inputs, LABELED, Y[LABELED], settings={"kind": kind}, **OPTIONS)
    assert np.mean(out.labels != Y[:360]) < most
    assert np.mean(out.labels_new != Y[360:]) < 0.15


def test_the_rbf_machine_is_scikit_learns():
    gamma = median_gamma(X)
    out = feature_svm(
        Inputs(X=X), LABELED, Y[LABELED],
        settings={"kind": "rbf", "C": 5.0, "gamma": gamma}, **OPTIONS,
    )  # fmt: skip
    expected = SVC(C=5.0, gamma=gamma).fit(X[LABELED], Y[LABELED]).predict(X)
    np.testing.assert_array_equal(out.labels, expected)


def test_many_labels_need_one_pair_of_classes_at_a_time(monkeypatch):
    """The same machine as with the whole kernel, for old and new rows, uneven classes too."""
    some = np.concatenate([LABELED[Y[LABELED] != 2], LABELED[Y[LABELED] == 2][:8]])
    settings = {"kind": "rbf", "choose_rows": 60}
    inputs = Inputs(X=X[:360], X_new=X[360:])
    whole = feature_svm(inputs, some, Y[some], settings=settings, **OPTIONS)
    monkeypatch.setattr(feature_machines, "SLICE_ROWS", 100)
    monkeypatch.setattr("fewfold.kernel_machines._WHOLE", 100)
    shapes = []
    block = feature_machines.kernel_block

    def watched(kind, A, B, **options):
        shapes.append((len(A), len(B)))
        return block(kind, A, B, **options)

    monkeypatch.setattr(feature_machines, "kernel_block", watched)
    sliced = feature_svm(inputs, some, Y[some], settings=settings, **OPTIONS)
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
    few = feature_svm(
        inputs, LABELED, Y[LABELED], settings={"kind": kind, "choose_rows": 40}, **OPTIONS
    )
    fixed = {"kind": kind, **{k: v for k, v in few.details.items() if k in ("C", "gamma")}}
    again = feature_svm(inputs, LABELED, Y[LABELED], settings=fixed, **OPTIONS)
    np.testing.assert_array_equal(few.labels, again.labels)
    assert np.mean(few.labels != Y) < 0.05


def test_an_unknown_machine_is_refused():
    with pytest.raises(InputError, match="kind"):
        feature_svm(Inputs(X=X), LABELED, Y[LABELED], settings={"kind": "cubic"}, **OPTIONS)
