"""What every registered method promises, one test for all of them (DESIGN: the method contract).

A method that is added to the registry is tested here without a line about it; what it may do
otherwise is listed, with the reason, in the tables below.
"""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from fewfold.exceptions import InputError
from fewfold.methods import registry
from fewfold.methods.base import CLASSIFICATION, REGRESSION, load

# Settings that keep a fit short; they change no behavior tested here.
QUICK = {
    "mbed": {"n_steps": 30, "n_annealing": 4, "similarity": "global"},
    "metric_svm": {"C": 10.0, "gamma": 1.0},
    "cluster_kernel": {"n_runs": 3},
    "invariant_svm": {"transform": "jitter", "cv": None},
    "virtual_samples": {"transform": "jitter", "cv": None},
    "virtual_support_vectors": {"transform": "jitter", "cv": None},
}
CLASSIFIERS = [m for m in registry.methods().values() if CLASSIFICATION in m.tasks]
REGRESSORS = [m for m in registry.methods().values() if REGRESSION in m.tasks]
MINUS_ONE = {"check_classifiers_classes": "a class named -1 is refused: -1 marks unlabeled rows"}
# Checks of scikit-learn that a method cannot pass, beside `MINUS_ONE`.
EXPECTED = {
    "kmeans": {"check_supervised_y_no_nan": "it works without labels, so all may be unknown"},
    "embedded": {"check_classifiers_train": "LLE joins separate groups: errs on three blobs"},
}
# Errors above one in ten are in the nature of the method on groups that lie apart.
WEAK = ("embedded",)
NAMES = np.array(["ash", "birch", "cedar"])


def build(method, task=CLASSIFICATION):
    return method.build(QUICK.get(method.name, {}), task=task, random_state=0)


def fit(method, X, y, task=CLASSIFICATION):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that no label reaches
        return build(method, task).fit(X, y)


def draw(n_classes=2, n=24, per_class=4):
    """Rows in groups that lie apart, their classes, and codes with -1 for unlabeled rows."""
    rng = np.random.default_rng(0)
    truth = np.tile(np.arange(n_classes), n)
    X = rng.normal(size=(len(truth), 4))
    X[:, 0] += 9 * (truth == 1)
    X[:, 1] += 9 * (truth == 2)
    codes = np.full(len(X), -1)
    for c in range(n_classes):
        codes[np.flatnonzero(truth == c)[:per_class]] = c
    return X, truth, codes


def named(codes, mark, dtype=object):
    return np.array([mark if c < 0 else NAMES[c] for c in codes], dtype=dtype)


# How users mark unlabeled rows; `test_labels.py` has every form that `read_labels` takes.
FORMS = {
    "float with NaN": lambda c: np.where(c < 0, np.nan, c),
    "text with -1": lambda c: named(c, "-1", str),
    "text with nothing": lambda c: named(c, "", str),
    "objects with None": lambda c: named(c, None),
    "pandas with NA": lambda c: pd.Series(named(c, pd.NA), dtype="string"),
}
each_method = pytest.mark.parametrize("method", CLASSIFIERS, ids=lambda m: m.name)


@each_method
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_mark_of_unlabeled_rows_gives_the_same_fit(method, n_classes):
    X, truth, codes = draw(n_classes)
    expected = fit(method, X, codes)
    # The labels did their work, so that equal fits are not equally blind.
    assert np.mean(expected.transduction_ == truth) > (0.5 if method.name in WEAK else 0.9)
    new = X[::5] + 0.01
    for form, marked in FORMS.items():
        model = fit(method, X, marked(codes))
        to_names = (lambda c: c) if form.startswith("float") else (lambda c: NAMES[c.astype(int)])
        assert model.classes_.tolist() == to_names(np.arange(n_classes)).tolist(), form
        assert model.transduction_.tolist() == to_names(expected.transduction_).tolist(), form
        assert model.predict(new).tolist() == to_names(expected.predict(new)).tolist(), form


@each_method
def test_probabilities_of_all_rows_and_of_new_ones(method):
    X, truth, codes = draw(3)
    model = fit(method, X, codes)
    assert model.label_distributions_.shape == (len(X), 3)
    proba = model.predict_proba(X[:9] + 0.01)
    assert np.allclose(proba.sum(axis=1), 1, atol=1e-6) and (proba >= 0).all()
    labels, again = model.answer(X[:9] + 0.01)
    np.testing.assert_array_equal(again, proba)
    np.testing.assert_array_equal(labels, model.predict(X[:9] + 0.01))
    np.testing.assert_array_equal(labels, model.classes_[proba.argmax(axis=1)])
    assert isinstance(model.status_, str) and isinstance(model.details_, dict)


@each_method
def test_one_class_is_answered_or_refused_in_words(method):
    X, truth, codes = draw(2)
    for given in (np.where(codes == 0, 0, -1), np.where(np.arange(len(X)) == 0, 0, -1)):
        try:
            model = fit(method, X, given)
        except InputError as error:
            assert "2 classes or more, found 1 class" in str(error)
        else:
            assert model.classes_.tolist() == [0] and model.transduction_[0] == 0
            assert model.predict_proba(X[:3]).shape == (3, 1)


@pytest.mark.parametrize("method", [m for m in CLASSIFIERS if not m.clusters], ids=lambda m: m.name)
def test_no_label_is_refused(method):
    X, _, _ = draw(2)
    with pytest.raises(InputError, match="No (sample|row)"):
        fit(method, X, np.full(len(X), -1))


@each_method
def test_minus_one_meant_as_a_class_is_refused(method):
    X, truth, _ = draw(2)
    with pytest.raises(InputError, match="only -1 and 1.*np.where"):
        fit(method, X, np.where(truth, 1, -1))


@each_method
def test_the_same_seed_gives_the_same_answer(method):
    X, _, codes = draw(2)
    first, second = fit(method, X, codes), fit(method, X, codes)
    np.testing.assert_array_equal(first.label_distributions_, second.label_distributions_)


@each_method
def test_saved_and_loaded_it_predicts_the_same(method):
    X, _, codes = draw(3)
    model, new = fit(method, X, named(codes, "", str)), X[:9] + 0.01
    arrays, notes = model.to_arrays()
    assert all(isinstance(a, np.ndarray) or hasattr(a, "indptr") for a in arrays.values())
    again = type(model).from_arrays(arrays, notes)
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


@pytest.mark.parametrize("method", REGRESSORS, ids=lambda m: m.name)
def test_a_regressor_is_saved_and_loaded(method):
    X, _, _ = draw(2)
    y = np.where(np.arange(len(X)) % 2, X[:, 0] + X[:, 1], np.nan)
    model = fit(method, X, y, REGRESSION)
    assert np.isfinite(model.transduction_).all()
    again = type(model).from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))


@pytest.mark.parametrize(
    "estimator",
    {load(m.target): m for m in CLASSIFIERS if inspect.isclass(load(m.target))}.items(),
    ids=lambda pair: pair[0].__name__,
)
def test_scikit_learn_conventions(estimator):
    _, method = estimator
    model = clone(build(method))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its random data fall into several parts
        expected = MINUS_ONE | EXPECTED.get(method.name, {})
        check_estimator(model, expected_failed_checks=expected, on_skip=None)
