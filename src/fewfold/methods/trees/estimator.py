"""Tree ensembles of scikit-learn behind the methods' interface, saved as plain arrays."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.special import expit, softmax

from fewfold.exceptions import InputError
from fewfold.methods.candidate import CandidateClassifier, CandidateRegressor
from fewfold.methods.parameters import one_of
from fewfold.methods.state import Field, Setting
from fewfold.methods.trees.arrays import (
    NODE_ARRAYS,
    boosting_nodes,
    check_nodes,
    forest_nodes,
    sum_of_leaves,
)

ENSEMBLES = ("extra", "forest", "boosting")
_LEARNED = (
    Field("feature_", "int", ("nodes",), low=-1),
    Field("threshold_", "float", ("nodes",)),
    Field("left_", "int", ("nodes",), below="nodes"),
    Field("right_", "int", ("nodes",), below="nodes"),
    Field("value_", "float", ("nodes", "outputs")),
    Field("roots_", "int", ("trees",), below="nodes"),
    Field("baseline_", "float", (1, "outputs")),
    Setting("ensemble_", one_of(*ENSEMBLES)),
)
# Boosting: few, small trees. With 30 to 300 labels the defaults of scikit-learn (100 trees of 31
# leaves with 20 rows each) cannot split at all, or fit the labels by heart.
_BOOSTING = {"learning_rate": 0.1, "max_leaf_nodes": 8, "l2_regularization": 1.0}
_ROUNDS, _ROWS_PER_LEAF = 60, 15


def fit_boosting(X, y, task: str, seed):
    """Return gradient boosting of scikit-learn, fitted."""
    from sklearn import ensemble as sk

    kind = "Classifier" if task == "classification" else "Regressor"
    maker = getattr(sk, f"HistGradientBoosting{kind}")
    leaf = int(np.clip(len(X) // _ROWS_PER_LEAF, 2, 20))
    return maker(
        max_iter=_ROUNDS, min_samples_leaf=leaf, early_stopping=False, random_state=seed,
        **_BOOSTING,
    ).fit(X, y)  # fmt: skip


def grow_trees(X, y, ensemble: str, task: str, n_trees: int, seed) -> list:
    """Return the trees of scikit-learn's ExtraTrees or RandomForest, fitted, in their order.

    Those classes clone and check one classifier per tree, which with a few dozen labels takes four
    times as long as the tree itself. So trees are grown one by one, for classes on a 0/1 column
    for each: the squared error of these is the Gini impurity, and the mean of a leaf its class
    shares. The trees are the same, but for ties that rounding decides.
    """
    from sklearn import config_context, tree
    from sklearn.utils import check_random_state

    maker = getattr(tree, f"{'ExtraTree' if ensemble == 'extra' else 'DecisionTree'}Regressor")
    is_classes = task == "classification"
    targets = np.eye(int(y.max()) + 1)[y] if is_classes else np.asarray(y, np.float64)[:, None]
    X, columns = np.ascontiguousarray(X, dtype=np.float32), "sqrt" if is_classes else 1.0
    m, rng, grown = len(X), check_random_state(seed), []
    # One generator, seeded for each tree: a new one asks the system for entropy first, which takes
    # longer than a small tree.
    tree_rng = np.random.RandomState(0)
    with config_context(skip_parameter_validation=True, assume_finite=True):
        for own in [rng.randint(np.iinfo(np.int32).max) for _ in range(n_trees)]:
            rows, counts = slice(None), None
            if ensemble == "forest":  # rows drawn with replacement
                tree_rng.seed(own)
                drawn = np.sort(tree_rng.randint(0, m, m, dtype=np.int32))
                if is_classes:  # repeated rows: the checks of weights take as long as the tree
                    rows = drawn
                else:  # rounding would leave an impurity in nodes of one repeated row
                    counts = np.bincount(drawn, minlength=m).astype(np.float64)
            tree_rng.seed(own)
            one = maker(max_features=columns, random_state=tree_rng)
            grown.append(one.fit(X[rows], targets[rows], sample_weight=counts, check_input=False))
    return grown


class _Ensemble:
    """Flattening a fitted ensemble, and its raw answer."""

    _learned = _LEARNED

    def _grow(self, X, y, task):
        if self.ensemble not in ENSEMBLES:
            allowed = ", ".join(ENSEMBLES)
            raise InputError(f"ensemble={self.ensemble!r}; allowed: {allowed}.")
        self.ensemble_ = self.ensemble
        if self.ensemble == "boosting":
            model = fit_boosting(X, y, task, self.random_state)
            nodes = boosting_nodes(model._predictors)
            self.baseline_ = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1, -1)
        else:
            trees = grow_trees(X, y, self.ensemble, task, self.n_trees, self.random_state)
            nodes = forest_nodes(trees)
            self.baseline_ = np.zeros((1, nodes["value"].shape[1]))
        for name in NODE_ARRAYS:
            setattr(self, f"{name}_", nodes[name])

    def _nodes(self):
        return {name: getattr(self, f"{name}_") for name in NODE_ARRAYS}

    def _check_outputs(self, allowed):
        owner, found = type(self).__name__, self.value_.shape[1]
        if found not in allowed or not len(self.roots_):
            raise InputError(f"{owner}: {len(self.roots_)} trees with {found} values per leaf.")
        check_nodes(owner, self._nodes(), self.n_features_in_)

    def _raw(self, X):
        nodes = self._nodes()
        if self.ensemble_ == "boosting":
            return sum_of_leaves(nodes, X) + self.baseline_
        # Forests compare numbers in single precision.
        return sum_of_leaves(nodes, X.astype(np.float32)) / len(self.roots_)


@dataclass(eq=False, repr=False)
class TreesClassifier(_Ensemble, CandidateClassifier):
    """ExtraTrees, a random forest or gradient boosting.

    Parameters
    ----------
    ensemble : {"extra", "forest", "boosting"}
    n_trees : int
        Of "extra" and "forest".
    random_state : int

    Attributes
    ----------
    classes_, transduction_, label_distributions_ : see `CandidateClassifier`

    Notes
    -----
    A fit costs about 0.7 ms per tree plus ``n_trees m log m sqrt(n_features)``; an answer
    ``n_trees * depth`` comparisons per row. The saved arrays take 40 bytes per node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, kind = load_iris(return_X_y=True)
    >>> y = np.where(np.arange(150) % 5 == 0, kind, -1)
    >>> model = TreesClassifier(n_trees=20).fit(X, y)
    >>> bool(np.mean(model.transduction_ == kind) > 0.9)
    True
    """

    ensemble: str = "extra"
    _: KW_ONLY
    n_trees: int = 100
    random_state: int = 0

    def _learn(self, X, shared, rows, codes):
        self._grow(X[rows], codes, "classification")

    def _check(self):
        p = len(self.present_)
        self._check_outputs((1,) if self.ensemble_ == "boosting" and p == 2 else (p,))
        if self.ensemble_ != "boosting" and (self.value_.min() < 0 or self.value_.max() > 1 + 1e-9):
            raise InputError(f"{type(self).__name__}: 'value_' holds shares outside of 0 to 1.")

    def _proba(self, X, shared, rows):
        scores = self._raw(X if rows is None else X[rows])
        if self.ensemble_ != "boosting":
            return scores
        if scores.shape[1] == 1:
            second = expit(scores[:, 0])
            return np.stack([1 - second, second], axis=1)
        return softmax(scores, axis=1)


@dataclass(eq=False, repr=False)
class TreesRegressor(_Ensemble, CandidateRegressor):
    """ExtraTrees, a random forest or gradient boosting for numbers; see `TreesClassifier`."""

    ensemble: str = "extra"
    _: KW_ONLY
    n_trees: int = 100
    random_state: int = 0

    def _learn(self, X, y):
        self._grow(X, y, "regression")

    def _check(self):
        self._check_outputs((1,))

    def _values(self, X):
        return self._raw(X)[:, 0]
