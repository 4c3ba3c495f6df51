"""The baseline learners against scikit-learn and on degenerate draws."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC

from fewfold.pipeline.training import Inputs, fit_draw
from fewfold.svm.folds import stratified_folds
from fewfold.svm.probability import decisions_to_proba
from fewfold.svm.search import choose

RNG = np.random.default_rng(0)
CENTERS = np.array([[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 6.0, 0.0]])
Y = np.repeat([0, 1, 2], 20)
X = (CENTERS[Y] + RNG.normal(size=(60, 3))).astype(np.float32)
Y_NEW = np.array([2, 1, 0, 1])
X_NEW = (CENTERS[Y_NEW] + RNG.normal(size=(4, 3)) * 0.3).astype(np.float32)


class DirectKernel:
    """What the kernel stage hands over, without files."""

    def __init__(self, kind="squared_distances", gamma=0.1):
        self.kind, self.n, self.n_new, self.gamma = kind, len(X), len(X_NEW), gamma
        d2 = cdist(X, np.vstack([X, X_NEW]), "sqeuclidean").astype(np.float32)
        self.values = d2 if kind == "squared_distances" else np.exp(-gamma * d2)

    def all_rows(self, indices):
        return self.values[indices]

    def new_rows(self, indices):
        return self.values[indices][:, self.n :]


LEARNERS = ("knn", "linear_svm", "svm", "label_spreading")


def run(name, labeled, *, settings=None, y=Y, n_classes=3, seed=0, **inputs):
    given = dict(X=X, X_new=X_NEW) | inputs
    if name == "svm":
        given.setdefault("kernel", DirectKernel())
    labeled = np.asarray(labeled)
    return fit_draw(
        name, Inputs(**given), labeled, y[labeled], n_classes=n_classes, seed=seed,
        settings=settings or {},
    )  # fmt: skip


FEW = [0, 1, 2, 20, 21, 22, 40, 41, 42]


@pytest.mark.parametrize("name", LEARNERS)
def test_separated_classes_are_found(name):
    out = run(name, FEW)
    assert np.mean(out.labels != Y) < 0.05 and (out.labels_new == Y_NEW).all()
    assert out.status == "ok" and out.predict_s >= 0
    assert out.proba.shape == (60, 3) and out.proba_new.shape == (4, 3)
    np.testing.assert_allclose(out.proba.sum(1), 1, rtol=1e-6)
    np.testing.assert_array_equal(out.proba.argmax(1), out.labels)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_seed_gives_the_same_answer(name):
    a, b = run(name, FEW, seed=3), run(name, FEW, seed=3)
    np.testing.assert_array_equal(a.proba, b.proba)


@pytest.mark.parametrize("name", LEARNERS)
def test_no_new_rows(name):
    out = run(name, FEW, X_new=None)
    assert out.labels_new is None and out.proba_new is None and len(out.labels) == 60


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("labeled", [[5], [5, 6, 7]])
def test_one_class_only(name, labeled):
    out = run(name, labeled)
    assert set(out.labels) <= {0, -1} and (out.labels[labeled] == 0).all()
    assert set(out.labels_new) <= {0, -1} and out.proba.shape == (60, 3)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_class_seen_once(name):
    out = run(name, [0, 1, 2, 3, 25, 45, 46])
    assert np.mean(out.labels != Y) < 0.1


@pytest.mark.parametrize("name", LEARNERS)
def test_a_draw_that_misses_a_class_never_predicts_it(name):
    out = run(name, [0, 1, 2, 40, 41, 42])
    assert 1 not in out.labels and 1 not in out.labels_new
    assert out.proba.shape == (60, 3) and not out.proba[:, 1].any()


@pytest.mark.parametrize("name", LEARNERS)
def test_all_rows_labeled(name):
    assert np.mean(run(name, np.arange(60)).labels != Y) < 0.05


@pytest.mark.parametrize("name", LEARNERS)
def test_all_rows_equal(name):
    same = np.ones((60, 3), np.float32)
    kernel = DirectKernel()
    kernel.values = np.zeros_like(kernel.values)
    more = {"kernel": kernel} if name == "svm" else {}
    out = run(name, FEW, X=same, X_new=same[:4], **more)
    assert set(out.labels) <= {-1, 0, 1, 2} and np.isfinite(out.proba).all()


@pytest.mark.parametrize("name", ["knn", "linear_svm"])
def test_sparse_rows(name):
    out = run(name, FEW, X=sparse.csr_array(X), X_new=sparse.csr_array(X_NEW))
    dense = run(name, FEW)
    np.testing.assert_array_equal(out.labels, dense.labels)
    np.testing.assert_array_equal(out.labels_new, dense.labels_new)


# --- each against its reference --------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 5])
def test_knn_equals_scikit_learn(k):
    labeled = RNG.permutation(60)[:25]
    out = run("knn", labeled, settings={"n_neighbors": k})
    reference = KNeighborsClassifier(k).fit(X[labeled], Y[labeled])
    # Ties go to the nearer here, to the smaller class there.
    sure = np.sort(reference.predict_proba(X), axis=1)[:, -1] > 0.5
    np.testing.assert_array_equal(out.labels[sure], reference.predict(X)[sure])
    assert out.details == {"n_neighbors": k}


def test_knn_ties_go_to_the_nearer():
    rows = np.array([[0.0], [1.0], [2.5]], np.float32)
    inputs = Inputs(X=rows, X_new=np.array([[1.9]], np.float32))
    out = fit_draw("knn", inputs, np.array([1, 2]), np.array([1, 0]), n_classes=2, seed=0,
              settings={"n_neighbors": 2})  # fmt: skip
    assert out.labels_new.tolist() == [0]


def test_knn_with_more_neighbors_than_labels():
    assert run("knn", [0, 20], settings={"n_neighbors": 50}).details == {"n_neighbors": 2}


def test_knn_regression():
    values = X[:, 0] + 1.0
    labeled = np.arange(0, 60, 2)
    out = run("knn", labeled, y=values, task="regression", n_classes=0, settings={"n_neighbors": 3})
    reference = KNeighborsRegressor(3).fit(X[labeled], values[labeled])
    np.testing.assert_allclose(out.labels, reference.predict(X), rtol=1e-6)
    np.testing.assert_allclose(out.labels_new, reference.predict(X_NEW), rtol=1e-6)
    assert (
        run("knn", [4], y=values, task="regression", n_classes=0).labels.tolist()
        == [values[4]] * 60
    )
    assert "n_neighbors" in run("knn", labeled, y=values, task="regression", n_classes=0).details


@pytest.mark.parametrize("kind", ["kernel", "squared_distances"])
def test_svm_equals_scikit_learn(kind):
    labeled = np.array(FEW)
    settings = {"C": 10.0} | ({"gamma": 0.1} if kind == "squared_distances" else {})
    out = run("svm", labeled, settings=settings, kernel=DirectKernel(kind, 0.1))
    reference = SVC(C=10, kernel="rbf", gamma=0.1).fit(X[labeled], Y[labeled])
    np.testing.assert_array_equal(out.labels, reference.predict(X))
    np.testing.assert_array_equal(out.labels_new, reference.predict(X_NEW))
    expected = decisions_to_proba(reference.decision_function(X))
    np.testing.assert_allclose(out.proba, expected, atol=1e-3)
    assert out.details["C"] == 10.0 and out.details["n_support"] == reference.n_support_.sum()


def test_two_classes_have_two_columns():
    two = np.array([0, 1, 2, 20, 21, 22])
    for name in ("svm", "linear_svm"):
        out = run(name, two, n_classes=2)
        assert out.proba.shape == (60, 2)
        np.testing.assert_array_equal(out.proba.argmax(1), out.labels)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_linear_svm_does_not_depend_on_the_unit(scale):
    a = run("linear_svm", FEW)
    b = run("linear_svm", FEW, X=X * np.float32(scale), X_new=X_NEW * np.float32(scale))
    np.testing.assert_array_equal(a.labels, b.labels)


def test_spreading_leaves_rows_unknown_that_no_label_reaches():
    rows = np.concatenate([np.arange(10.0), 1000 + np.arange(10.0)])[:, None].astype(np.float32)
    y = np.repeat([0, 1], 10)
    inputs = Inputs(X=rows)
    out = fit_draw("label_spreading", inputs, np.array([0, 9]), np.array([0, 1]),
                   n_classes=2, seed=0, settings={"n_neighbors": 3})  # fmt: skip
    assert (out.labels[10:] == -1).all() and (out.labels[:10] >= 0).all() and len(y) == 20


def test_spreading_with_more_neighbors_than_rows():
    rows = np.array([[0.0], [1.0], [5.0]], np.float32)
    out = fit_draw("label_spreading", Inputs(X=rows), np.array([0, 2]), np.array([0, 1]),
                   n_classes=2, seed=0, settings={"n_neighbors": 7})  # fmt: skip
    assert out.labels.tolist() == [0, 0, 1]


# --- small pieces ----------------------------------------------------------------------------


def test_folds():
    assert stratified_folds(np.array([0, 0, 1]), 0) is None
    folds = stratified_folds(np.repeat([0, 1], [3, 20]), 0)
    assert len(folds) == 3
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(23))
    assert all(len(np.unique(np.repeat([0, 1], [3, 20])[train])) == 2 for train, _ in folds)
    assert len(stratified_folds(np.repeat([0, 1], 50), 2**40)) == 5


def test_choose():
    folds = [(None, 0), (None, 1)]
    table = [[0.5, 0.2, 0.2], [0.5, 0.2, 0.2]]
    assert choose(["a", "b", "c"], lambda _, t: table[t], folds, "z") == "b"  # the first of equals
    assert choose(["a", "b"], None, None, "z") == "z"
    assert choose(["a"], None, None, "z") == "a" and choose(["a"], None, folds, "z") == "a"


def test_small_functions():
    p = decisions_to_proba(np.array([[1e4, 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(p, [[1, 0], [0.5, 0.5]])


def test_cross_validation_never_sees_more_than_the_labels():
    # Other rows' features may differ as they like: the choice stays.
    other = X.copy()
    hidden = np.setdiff1d(np.arange(60), FEW)
    other[hidden] = RNG.normal(size=(len(hidden), 3))
    assert run("knn", FEW).details == run("knn", FEW, X=other).details
    assert SimpleNamespace(**run("linear_svm", FEW).details).C in (0.1, 1.0, 10.0, 100.0)


def test_the_linear_svm_is_linear():
    """On an XOR an SVM with an RBF kernel is right everywhere, a linear one cannot be."""
    from fewfold.methods.baselines.linear_svm import LinearSVM

    X = np.repeat([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    y = np.repeat([0, 0, 1, 1], 5)
    model = LinearSVM().fit(X, y)
    assert model.kernel == "linear" and sorted(model.get_params()) == ["C", "random_state"]
    assert np.mean(model.predict(X) == y) < 1
