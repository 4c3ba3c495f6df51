"""Scikit-learn estimators: a partition from all points, one supervised learner per part."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError
from fewfold.labels import read_labels, read_values
from fewfold.methods.baselines.kernel_regression import KernelRegressor
from fewfold.methods.multimanifold.decision import CELLS, decision_sets, labelled_sets
from fewfold.methods.multimanifold.learners import class_scores, fit_parts, predict_parts
from fewfold.methods.multimanifold.named_graph import resolve_graph
from fewfold.methods.multimanifold.partition import PartitionSettings, partition
from fewfold.methods.multimanifold.tuned_svm import TunedSVC


class _MultiManifold(BaseEstimator):
    """What the two estimators share: partition, learners, decision sets."""

    def __init__(
        self,
        base_estimator=None,
        *,
        n_parts="auto",
        min_labelled="auto",
        min_unlabelled="auto",
        n_neighbors="auto",
        degree="auto",
        sigma="auto",
        ridge="auto",
        cell_ridge="auto",
        n_components="auto",
        n_refits=15,
        n_covers=3,
        n_restarts=10,
        cells="gaussian",
        unit_weights=False,
        data_graph=None,
        random_state=0,
    ):
        self.base_estimator = base_estimator
        self.n_parts = n_parts
        self.min_labelled = min_labelled
        self.min_unlabelled = min_unlabelled
        self.n_neighbors = n_neighbors
        self.degree = degree
        self.sigma = sigma
        self.ridge = ridge
        self.cell_ridge = cell_ridge
        self.n_components = n_components
        self.n_refits = n_refits
        self.n_covers = n_covers
        self.n_restarts = n_restarts
        self.cells = cells
        self.unit_weights = unit_weights
        self.data_graph = data_graph
        self.random_state = random_state

    def _settings(self):
        return PartitionSettings(
            **{f.name: getattr(self, f.name) for f in fields(PartitionSettings)}
        )

    def _seed(self):
        if self.random_state is None or isinstance(self.random_state, np.random.RandomState):
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        return self.random_state

    def _learn(self, X, y, labelled):
        """Partition all rows and learn in each part."""
        if self.cells not in CELLS:
            raise InputError(f"cells={self.cells!r} is unknown. Choose one of {', '.join(CELLS)}.")
        self.partition_ = partition(
            X,
            labelled,
            self._settings(),
            graph=resolve_graph(self.data_graph, X),
            random_state=self._seed(),
        )
        self.n_parts_ = self.partition_.bounds.n_parts
        rows = self.partition_.kept[self.partition_.labelled]
        self.learners_, reports = fit_parts(
            self._base(),
            X[rows],
            y[rows],
            labelled_sets(self.partition_, self.cells),
            self.n_parts_,
            self.partition_.sizes().sum(axis=1),
            is_classifier=isinstance(self, ClassifierMixin),
        )
        self.part_reports_ = [report.as_dict() for report in reports]
        return self

    def _fit_parts(self, X, y, labelled):
        """Learn, and predict the rows without a label, in place."""
        self._learn(X, y, labelled)
        self.transduction_ = y
        rest = np.flatnonzero(~labelled)
        if len(rest):
            self.transduction_[rest] = predict_parts(self.learners_, X[rest], self._parts(X[rest]))
        return self

    def _parts(self, X):
        return decision_sets(self.partition_, X, self.cells)

    def _checked(self, X):
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def decision_sets(self, X) -> np.ndarray:
        """Tell the decision set of each row.

        Parameters
        ----------
        X : array or sparse array of shape (n_queries, n_features)

        Returns
        -------
        part : ndarray of shape (n_queries,), int64
        """
        return self._parts(self._checked(X))

    def predict(self, X) -> np.ndarray:
        """Predict each row by the learner of its decision set.

        Parameters
        ----------
        X : array or sparse array of shape (n_queries, n_features)

        Returns
        -------
        values : ndarray of shape (n_queries,)
        """
        X = self._checked(X)
        return predict_parts(self.learners_, X, self._parts(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class MultiManifoldClassifier(ClassifierMixin, _MultiManifold):
    """Classify data on several crossing manifolds, one supervised learner per manifold.

    Parameters
    ----------
    base_estimator : estimator, optional
        Supervised learner trained in each part; when left out an SVM with a Gaussian kernel
        tuned by 5-fold cross-validation.
    n_parts : int or "auto"
        Decision sets; "auto" is ``ceil(0.5 log n)`` for n labelled points.
    min_labelled, min_unlabelled : int or "auto"
        Least number of labelled and of kept unlabelled points in a part; "auto" is 1.25 times
        their number over ``log(n)**2``, lowered where that cannot be met.
    n_neighbors, degree : int or "auto"
        Sizes of the covariance neighbourhoods (``floor(3 log M)``) and of the graph
        neighbourhoods (``floor(1.5 log(m + n))``).
    sigma : float or "auto"
        Bandwidth of the weights ``exp(-H**2 / (2 sigma**2))``; "auto" is 0.2 and, in up to 4
        dimensions where the covers disagree, 0.15 if they agree better then.
    ridge : float or "auto"
        Share of the mean variance added to covariances: 0.01 up to 4 dimensions, 0.3 above.
    cell_ridge : float or "auto"
        The same for the Gaussians of the decision sets: 1e-6 up to 4 dimensions, ``ridge`` above.
    n_components : int, "auto" or None
        Principal components in which the geometry is read; "auto" is 15 for data with more
        features, None all features.
    n_refits : int
        Times each neighbourhood is turned along its own covariance; 0 is the paper's ball.
    n_covers : int
        Covers from different starts, of which the most agreed partition is kept; 1 as in the
        paper.
    n_restarts : int
        Starts of the size-constrained k-means.
    cells : {"gaussian", "euclidean"}
        Decision sets: where a part is densest, or around its kept points as in the paper.
    unit_weights : bool
        Give all edges weight 1, to see what the Hellinger distances contribute.
    data_graph : dict, GraphSettings, NeighborGraph or sparse matrix, optional
        A neighbour graph of the rows (or its settings) that says which kept points may be
        joined; without it they are searched by Mahalanobis distance among all.
    random_state : int, RandomState or None

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Targets of the training rows, given or predicted.
    partition_ : Partition
        Kept rows, graph, parts, bounds and the seconds of each step.
    n_parts_ : int
    part_reports_ : list of dict
        For each part: points, labels, classes, and whether its learner was "fitted",
        "constant" (one class or one label) or "borrowed" (no label).
    learners_ : list
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 20]
    >>> y = np.full(400, -1)
    >>> y[:200:20], y[200::20] = 0, 1
    >>> MultiManifoldClassifier().fit(X, y).predict([[0, 0], [20, 20]]).tolist()
    [0, 1]
    """

    def fit(self, X, y):
        """Partition all rows and train on the labelled ones.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; -1, NaN, None, "" or "-1" marks unlabeled rows (`fewfold.labels`).

        Returns
        -------
        self
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        labels = read_labels(y, X.shape[0], name=type(self).__name__)
        self.classes_ = labels.classes
        names = labels.complete(np.full(X.shape[0], labels.classes[0]))
        return self._fit_parts(X, names, labels.mask)

    def predict_proba(self, X) -> np.ndarray:
        """Share of each class, by the learner of the decision set.

        Parameters
        ----------
        X : array or sparse array of shape (n_queries, n_features)

        Returns
        -------
        shares : ndarray of shape (n_queries, n_classes)
            Rows sum to 1; classes absent from a part get 0 there. Calibrated only as far as
            the base estimator is.
        """
        X = self._checked(X)
        part = self._parts(X)
        shares = np.empty((X.shape[0], len(self.classes_)))
        for p in np.unique(part):
            inside = np.flatnonzero(part == p)
            shares[inside] = class_scores(self.learners_[p], X[inside], self.classes_)
        return shares

    def _base(self):
        if self.base_estimator is None:
            return TunedSVC(random_state=self._seed())
        return self.base_estimator


class MultiManifoldRegressor(RegressorMixin, _MultiManifold):
    """Regression on several crossing manifolds, one supervised learner per manifold.

    Parameters and attributes are those of :class:`MultiManifoldClassifier`, with NaN marking the
    rows without a target, and Gaussian kernel regression (bandwidth by 5-fold cross-validation)
    as the base estimator when none is given.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 20]
    >>> y = np.full(400, np.nan)
    >>> y[:200:20], y[200::20] = 5.0, 7.0
    >>> MultiManifoldRegressor().fit(X, y).predict([[0, 0], [20, 20]]).round(6).tolist()
    [5.0, 7.0]
    """

    def fit(self, X, y):
        """Partition all rows and train on those with a target.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Targets; NaN, None or pandas.NA marks unlabeled rows.

        Returns
        -------
        self
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        y = read_values(y, X.shape[0], name=type(self).__name__)
        return self._fit_parts(X, y, ~np.isnan(y))

    def _base(self):
        if self.base_estimator is None:
            return KernelRegressor(random_state=self._seed())
        return self.base_estimator
