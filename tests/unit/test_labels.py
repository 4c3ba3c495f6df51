"""One meaning of a label: every estimator reads every form of y alike."""

import numpy as np
import pandas as pd
import pytest

from fewfold import (
    AtlasSVC,
    DiffusionClassifier,
    EigenbasisClassifier,
    InvariantSVC,
    MbedClassifier,
    MultiManifoldClassifier,
    MultiManifoldRegressor,
)
from fewfold.exceptions import InputError, LabelWarning
from fewfold.labels import (
    class_columns,
    known_mask,
    labeled_mask,
    read_labels,
    read_values,
)
from fewfold.methods.invariance.baselines import AllVirtualSVC
from fewfold.methods.multimanifold.tuned_svm import TunedSVC

ESTIMATORS = {
    "atlas": lambda: AtlasSVC(),
    "diffusion": lambda: DiffusionClassifier(),
    "eigenbasis": lambda: EigenbasisClassifier(),
    "invariance": lambda: InvariantSVC(transform="jitter", cv=None),
    "all_virtual": lambda: AllVirtualSVC(transform="jitter", cv=None),
    "mbed": lambda: MbedClassifier(n_steps=30, n_annealing=4, similarity="global", random_state=0),
    "multimanifold": lambda: MultiManifoldClassifier(
        TunedSVC(gammas=(1.0,), penalties=(10.0,)), n_parts=1
    ),
}
# These train SVMs, which need a second class.
NEEDS_TWO = {"atlas", "invariance", "all_virtual"}
# The graph of two far groups, of which one has no label, has rows that no label reaches.
UNREACHED = pytest.mark.filterwarnings("ignore:.*samples lie in parts of the graph")
NAMES = np.array(["ash", "birch", "cedar"])


def blobs(n_classes, n=30, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_classes), n)
    X = rng.normal(size=(n_classes * n, 3))
    X[:, 0] += 9 * (truth == 1)
    X[:, 1] += 9 * (truth == 2)
    return X, truth


def draw(n_classes, per_class=4):
    """Rows, true classes, and codes with -1 except in the first rows of each class."""
    X, truth = blobs(n_classes)
    codes = np.full(len(X), -1)
    for c in range(n_classes):
        codes[np.flatnonzero(truth == c)[:per_class]] = c
    return X, truth, codes


def marked(codes, mark, dtype=object):
    out = np.array([mark if c < 0 else NAMES[c] for c in codes], dtype=dtype)
    return out


# The forms that users have: arrays of numbers, of strings, of objects, lists, and pandas.
FORMS = {
    "int": lambda c: c,
    "float": lambda c: c.astype(float),
    "float_nan": lambda c: np.where(c < 0, np.nan, c),
    "int_object": lambda c: c.astype(object),
    "object_none": lambda c: np.array([None if v < 0 else int(v) for v in c], dtype=object),
    "series_int": lambda c: pd.Series(c, index=np.arange(len(c))[::-1]),
    "series_nan": lambda c: pd.Series(np.where(c < 0, np.nan, c)),
    "series_nullable": lambda c: pd.Series(c, dtype="Int64").mask(c < 0),
    "names_minus": lambda c: marked(c, "-1", str),
    "names_empty": lambda c: marked(c, "", str),
    "names_nan_as_text": lambda c: np.array([np.nan if v < 0 else NAMES[v] for v in c] + ["x"])[
        :-1
    ],
    "names_none": lambda c: marked(c, None),
    "names_nan": lambda c: marked(c, np.nan),
    "names_na": lambda c: marked(c, pd.NA),
    "names_object_minus": lambda c: marked(c, -1),
    "names_object_text": lambda c: marked(c, "-1"),
    "names_object_empty": lambda c: marked(c, ""),
    "list": lambda c: [-1 if v < 0 else str(NAMES[v]) for v in c],
    "series_names": lambda c: pd.Series(marked(c, None)),
    "series_string": lambda c: pd.Series(marked(c, None), dtype="string"),
    "series_category": lambda c: pd.Series(marked(c, None), dtype="category"),
}


def names_of(form, codes):
    return (
        NAMES[codes]
        if "names" in form or form in ("list", "series_string", "series_category")
        else codes
    )


@pytest.fixture(scope="module")
def plain():
    """Fits to integer labels, once per estimator and number of classes."""
    made = {}

    def fit(name, n_classes):
        if (name, n_classes) not in made:
            X, _, codes = draw(n_classes)
            made[name, n_classes] = ESTIMATORS[name]().fit(X, codes)
        return made[name, n_classes]

    return fit


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_form_of_y_gives_the_same_fit(name, form, n_classes, plain):
    X, truth, codes = draw(n_classes)
    model = ESTIMATORS[name]().fit(X, FORMS[form](codes))
    expected = plain(name, n_classes)
    assert model.classes_.tolist() == names_of(form, np.arange(n_classes)).tolist()
    wanted = names_of(form, expected.transduction_)
    assert np.asarray(model.transduction_).tolist() == wanted.tolist()
    new = X[::7] + 0.01
    assert model.predict(new).tolist() == names_of(form, expected.predict(new)).tolist()
    # The labels did their work, so that equal fits are not equally blind.
    assert np.mean(expected.transduction_ == truth) > 0.9


@UNREACHED
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_class(name, form):
    X, _, codes = draw(2)
    y = FORMS[form](np.where(codes == 0, 0, -1))
    if name in NEEDS_TWO:
        with pytest.raises(InputError, match="2 classes or more, found 1 class"):
            ESTIMATORS[name]().fit(X, y)
    else:
        model = ESTIMATORS[name]().fit(X, y)
        assert model.classes_.tolist() == [names_of(form, np.array([0]))[0]]
        reached = np.isin(np.asarray(model.transduction_), model.classes_)
        assert reached[:30].all()


@UNREACHED
@pytest.mark.parametrize("form", ["int", "names_empty", "series_nullable", "names_none"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_label(name, form):
    X, _, codes = draw(2)
    codes[1:] = -1
    y = FORMS[form](codes)
    if name in NEEDS_TWO:
        with pytest.raises(InputError, match="2 classes or more, found 1 class"):
            ESTIMATORS[name]().fit(X, y)
    else:
        model = ESTIMATORS[name]().fit(X, y)
        assert model.transduction_[0] == model.classes_[0] and len(model.classes_) == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_label(name, form):
    X, _, codes = draw(2)
    with pytest.raises(InputError, match="No (sample|row)"):
        ESTIMATORS[name]().fit(X, FORMS[form](np.full_like(codes, -1)))


PLUS_MINUS = {
    "int": lambda s: s,
    "float": lambda s: s.astype(float),
    "object": lambda s: s.astype(object),
    "text": lambda s: s.astype(str),
    "with_nan": lambda s: np.r_[np.nan, s[1:]],
    "series": lambda s: pd.Series(s, dtype="Int64"),
}


@pytest.mark.parametrize("form", PLUS_MINUS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_minus_one_meant_as_a_class_is_refused(name, form):
    X, truth, _ = draw(2)
    with pytest.raises(InputError, match="only -1 and 1.*np.where"):
        ESTIMATORS[name]().fit(X, PLUS_MINUS[form](np.where(truth, 1, -1)))


def test_a_second_mark_beside_minus_one_is_told():
    with pytest.warns(LabelWarning, match=r"-1 \(1 rows\) and missing values \(2 rows\)"):
        labels = read_labels([0, 1, -1, np.nan, np.nan], 5)
    assert labels.rows.tolist() == [0, 1]


def test_mbed_told_its_classes_may_see_class_1_only():
    # n_classes says that classes are numbered from 0: -1 cannot be one of them.
    X, _, codes = draw(2)
    y = np.where(codes == 1, 1, -1)
    model = MbedClassifier(2, n_steps=30, n_annealing=4, similarity="global", random_state=0)
    assert model.fit(X, y).classes_.tolist() == [0, 1]
    assert model.fit(X, np.full(len(X), np.nan)).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("mark", [np.nan, None, pd.NA])
def test_regressor(mark):
    X, truth, codes = draw(2)
    y = np.array([mark if c < 0 else 5.0 + t for c, t in zip(codes, truth, strict=True)], object)
    model = MultiManifoldRegressor(n_parts=2).fit(X, y)
    np.testing.assert_allclose(model.transduction_, 5.0 + truth, atol=0.2)
    for given in (y, pd.Series(y)):
        values = read_values(given, len(X))
        assert np.array_equal(known_mask(values), codes >= 0)


def test_values_that_cannot_be_read():
    with pytest.raises(InputError, match="needs numbers in y"):
        read_values(["a", "b"], 2)
    with pytest.raises(InputError, match="all 2 are NaN"):
        read_values([None, np.nan], 2)
    with pytest.raises(InputError, match="infinity"):
        read_values([1.0, np.inf], 2)
    with pytest.raises(InputError, match="X has 3 rows and y 2 labels"):
        read_values([1.0, 2.0], 3)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([0, 1], "X has 3 rows and y 2 labels"),
        (
            np.array(["a", 1, "b"], dtype=object),
            "mixes names and numbers: 'a' in row 0, 1 in row 1",
        ),
        ([0.5, 1.25, 0.5], "Unknown label type: continuous"),
        ([np.inf, 1.0, 0.0], "infinity"),
    ],
)
def test_labels_that_cannot_be_read(y, words):
    with pytest.raises(InputError, match=words):
        read_labels(y, 3)


def test_marks():
    y = np.array(
        ["a", "", "-1", None, np.nan, pd.NA, -1, -1.0, pd.NaT, "b", 0, False], dtype=object
    )
    assert np.flatnonzero(labeled_mask(y)).tolist() == [0, 9, 10, 11]
    assert labeled_mask(np.array([True, False])).all()
    assert labeled_mask(np.array([255, 0], np.uint8)).all()
    # Only in an array of strings does numpy write NaN as text; an object "nan" is a name.
    assert labeled_mask(np.array(["nan", "a"], dtype=object)).all()


def test_booleans_are_classes():
    assert read_labels([True, False, True], 3).classes.tolist() == [False, True]
    labels = read_labels(np.array([True, None, False], dtype=object), 3)
    assert labels.rows.tolist() == [0, 2] and labels.codes.tolist() == [1, 0]


def test_no_warning_of_many_classes():
    # scikit-learn warns where more than half of the samples are unique; here that is the rule.
    labels = read_labels(np.arange(26), 26)
    assert labels.n_classes == 26


def test_label_set():
    labels = read_labels(["b", "", "a", "b"], 4)
    assert labels.mask.tolist() == [True, False, True, True] and labels.unlabeled.tolist() == [1]
    assert labels.one_hot.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert labels.names.tolist() == ["b", "a", "b"]
    assert labels.complete(["a"] * 4).tolist() == ["b", "a", "a", "b"]


def test_class_columns_and_known_rows():
    assert class_columns(np.ones((1, 2)), [0, 2], 4).tolist() == [[1, 0, 1, 0]]
    assert known_mask(np.array([2, -1])).tolist() == [True, False]
    assert known_mask(np.array([-1.0, np.nan])).tolist() == [True, False]
