"""Cross-validation with unlabeled rows, by scikit-learn's own tools."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from fewfold import (
    AtlasSVC,
    DiffusionClassifier,
    EigenbasisClassifier,
    InvariantSVC,
    LabeledKFold,
    MbedClassifier,
    MultiManifoldClassifier,
    MultiManifoldRegressor,
    labeled_accuracy,
)
from fewfold.exceptions import InputError
from fewfold.methods.multimanifold.tuned_svm import TunedSVC

NAMES = np.array(["ash", "birch", "cedar"], dtype=object)


def blobs(n=40, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], n)
    X = rng.normal(size=(3 * n, 3))
    X[:, 0] += 7 * (truth == 1)
    X[:, 1] += 7 * (truth == 2)
    return X, truth, np.where(np.arange(3 * n) % 5 == 0, truth, -1)


SEARCHES = {
    "diffusion": (DiffusionClassifier(), {"n_neighbors": [3, 10]}),
    "eigenbasis": (EigenbasisClassifier(), {"n_neighbors": [5, 10]}),
    "atlas": (AtlasSVC(), {"C": [0.1, 10.0]}),
    "invariance": (InvariantSVC("jitter", cv=None), {"C": [1.0, 10.0]}),
    "mbed": (
        MbedClassifier(n_steps=30, n_annealing=4, similarity="global", random_state=0),
        {"perplexity": [5.0]},
    ),
    "multimanifold": (
        MultiManifoldClassifier(TunedSVC(gammas=(1.0,), penalties=(10.0,))),
        {"n_parts": [1, 2]},
    ),
}


@pytest.mark.parametrize("form", ["int", "names", "nullable"])
@pytest.mark.parametrize("name", SEARCHES)
def test_grid_search(name, form):
    X, truth, y = blobs()
    if form == "names":
        y = np.array([None if c < 0 else NAMES[c] for c in y], dtype=object)
        truth = NAMES[truth]
    elif form == "nullable":
        y = pd.Series(y, dtype="Int64").mask(y < 0)
    model, grid = SEARCHES[name]
    cv = LabeledKFold(3)
    search = GridSearchCV(model, grid, cv=cv, scoring=labeled_accuracy, error_score="raise")
    search.fit(X, y)
    assert search.n_splits_ == 3
    assert search.best_score_ > 0.9
    assert np.mean(search.best_estimator_.transduction_ == truth) > 0.9


def test_the_default_scorer_works_where_labels_are_plain():
    X, _, y = blobs()
    found = cross_val_score(DiffusionClassifier(), X, y, cv=LabeledKFold(4))
    ours = cross_val_score(
        DiffusionClassifier(), X, y, cv=LabeledKFold(4), scoring=labeled_accuracy
    )
    assert np.array_equal(found, ours) and len(found) == 4


def test_regressor():
    X, truth, codes = blobs()
    y = np.where(codes >= 0, truth + 0.01 * X[:, 2], np.nan)
    found = cross_val_score(MultiManifoldRegressor(n_parts=1), X, y, cv=LabeledKFold(3))
    assert found.min() > 0.9


def test_folds_part_the_labeled_rows_and_keep_the_others():
    y = np.array([0, 0, 0, 1, 1, 2, -1, -1, 0, 1, 0])
    folds = list(LabeledKFold(3).split(None, y))
    tests = np.concatenate([test for _, test in folds])
    # Row 5 is the only label of its class.
    assert sorted(tests) == [0, 1, 2, 3, 4, 8, 9, 10]
    for train, test in folds:
        assert {5, 6, 7} <= set(train) and not set(train) & set(test)
        assert sorted([*train, *test]) == list(range(11))
        assert set(y[train]) == {-1, 0, 1, 2}
        assert (y[test] == 1).sum() == 1  # three labels over three folds
    again = list(LabeledKFold(3).split(None, y))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(folds, again, strict=True))
    other = list(LabeledKFold(3, random_state=1).split(None, y))
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(folds, other, strict=True))


def test_fewer_labels_than_folds():
    y = np.array([0, 0, 1, 1, -1, -1])
    assert LabeledKFold(10).get_n_splits(y=y) == 4 == len(list(LabeledKFold(10).split(None, y)))
    assert LabeledKFold(10).get_n_splits() == 10
    with pytest.raises(InputError, match="0 labeled rows can be held out"):
        list(LabeledKFold().split(None, [0, 1, -1]))
    with pytest.raises(InputError, match="n_splits=1"):
        list(LabeledKFold(1).split(None, y))


def test_score_counts_labeled_rows_only():
    class Fixed:
        def predict(self, X):
            return np.array(["a"] * len(X))

    y = np.array(["a", None, "b", "", "a", "a"], dtype=object)
    assert labeled_accuracy(Fixed(), np.zeros((6, 1)), y) == 0.75
    assert np.isnan(labeled_accuracy(Fixed(), np.zeros((2, 1)), [-1, -1]))
