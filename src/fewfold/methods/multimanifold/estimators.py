"""Scikit-learn estimators: a partition from all points, one supervised learner per part."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fewfold.exceptions import InputError
from fewfold.graph.build import GraphSettings, build_graph, given_weights
from fewfold.methods.estimators import (
    CLASSES,
    SemiSupervisedClassifier,
    SemiSupervisedRegressor,
    seed_of,
)
from fewfold.methods.multimanifold.decision import (
    CELLS,
    decision_sets,
    labeled_sets,
    voronoi_parts,
)
from fewfold.methods.multimanifold.learners import (
    KINDS,
    class_scores,
    fit_parts,
    learner_state,
    make_learner,
    predict_parts,
    restore_learners,
    store_learners,
)
from fewfold.methods.multimanifold.n_parts import choose_parts
from fewfold.methods.multimanifold.partition import PartitionSettings, partitions
from fewfold.methods.multimanifold.partition_state import (
    PARTITION_STATE,
    check_parts,
    partition_from_state,
    partition_state,
)
from fewfold.methods.multimanifold.shape import shape_from_arrays
from fewfold.methods.multimanifold.stage import draw_key, stored_new_parts, stored_partitions
from fewfold.methods.parameters import count, list_of, one_of
from fewfold.methods.state import Field, Setting

_STATE = (
    Field("X_fit_", "float", ("n", "d"), may_be_sparse=True, optional=True),
    Field("groups_", "int", ("n",), low=0, optional=True),
    Setting("n_features_in_", count()),
    Setting("cells_", one_of(*CELLS)),
    Setting("learners", list_of(one_of(*KINDS))),
    *PARTITION_STATE,
)


@dataclass(eq=False, repr=False)
class _MultiManifold(PartitionSettings):
    """Common part of the two estimators: partition, learners, decision sets."""

    base_estimator: object = "auto"
    _: KW_ONLY
    mode: str = "ssl"
    data_graph: object = None
    random_state: int = 0
    _dtype = np.float64

    def _learn(self, X, y, labeled, graph, manifold, groups) -> np.ndarray:
        """Cut all rows into parts and learn in each; return the part of each row."""
        seed = self.random_state
        if seed is None or isinstance(seed, np.random.RandomState):
            seed = seed_of(seed)
        self.partition_ = self.X_fit_ = self.groups_ = None
        self.draw_, self.cells_ = draw_key(labeled), self.resolved().cells
        details, rows = {}, np.flatnonzero(labeled)
        if self.mode == "ssl":
            found, own, parts, losses = self._partition(X, y, labeled, graph, manifold, seed)
            self.partition_, self.n_parts_ = found, found.bounds.n_parts
            rows, sizes = found.kept[found.labeled], found.sizes().sum(axis=1)
            details = _description(found) | {"left_out_losses": losses}
        else:
            parts = self._given_parts(X, graph, groups)
            self.n_parts_ = int(parts.max()) + 1
            sizes, own = np.bincount(parts, minlength=self.n_parts_), parts[rows]
        self.learners_, reports = fit_parts(
            make_learner(self.base_estimator, self._task, seed),
            X[rows],
            y[rows],
            own,
            self.n_parts_,
            sizes,
            is_classifier=self._task == "classification",
        )
        self.part_reports_ = [report.as_dict() for report in reports]
        self.details_ = {"n_parts": int(self.n_parts_), **details, "parts": self.part_reports_}
        self.status_ = "ok"
        return parts

    def _partition(self, X, y, labeled, graph, manifold, seed):
        """Take or compute the partitions, and choose one by the labels.

        Returns it with the parts of labeled and of all rows, and the left-out losses by number
        of parts.
        """
        stored, shape = [], None
        if manifold is not None:
            stored = stored_partitions(manifold, labeled, self.cells_)
            if not stored:
                shape = shape_from_arrays(manifold.arrays, *X.shape)
        if not stored:
            graph = self.data_graph if graph is None else graph
            if isinstance(graph, dict | GraphSettings):
                graph = build_graph(X, graph)
            if graph is not None:
                graph = given_weights(graph, X.shape[0])
            options = {"shape": shape, "graph": graph, "random_state": seed}
            found = partitions(X, labeled, self, **options)
            stored = [(one, labeled_sets(one, self.cells_), None) for one in found]
        best, losses = choose_parts(stored, X, y, is_classifier=self._task == "classification")
        found, own, parts = stored[best]
        self.draw_ = f"{self.draw_}.{best}"
        if parts is None:
            parts = decision_sets(found, X, self.cells_)
        return found, own, parts, losses

    def _given_parts(self, X, graph, groups):
        """Return one part for all rows, or the true sets."""
        if graph is not None:
            raise InputError(f"A graph is not used with mode={self.mode!r}. Leave it out.")
        if self.mode == "global":
            return np.zeros(X.shape[0], np.int64)
        if groups is None:
            raise InputError(
                "mode='clairvoyant' needs the true sets, which this dataset does not have. Use it "
                "with a generated dataset, or list the method under skip for this one."
            )
        self.X_fit_, self.groups_ = X, np.asarray(groups, np.int64)
        return self.groups_

    def _parts(self, X, groups=None, points=None):
        """Return the part of each row; new rows without a true set take the nearest row's."""
        stored = None
        if points is not None:
            stored = stored_new_parts(points, self.draw_, X.shape[0], self.n_parts_)
        if stored is not None:
            return stored
        if self.partition_ is not None:
            return decision_sets(self.partition_, X, self.cells_)
        if self.groups_ is None:
            return np.zeros(X.shape[0], np.int64)
        if groups is None:
            return voronoi_parts(self.X_fit_, self.groups_, X)
        # A set without any row has no learner of its own either.
        return np.minimum(np.asarray(groups, np.int64), self.n_parts_ - 1)

    def decision_sets(self, X) -> np.ndarray:
        """Return the decision set of each row.

        Parameters
        ----------
        X : array or sparse array of shape (n_queries, n_features)

        Returns
        -------
        part : ndarray of shape (n_queries,), int64
        """
        return self._parts(self._rows(X, reset=False))

    def _pack(self) -> dict:
        check_is_fitted(self, "learners_")
        values = {name: getattr(self, name) for name in ("X_fit_", "groups_", "n_features_in_")}
        values |= {"cells_": self.cells_, **partition_state(self.partition_)}
        if hasattr(self, "classes_"):
            values["classes_"] = self.classes_
        return values | store_learners(self.learners_, self._task)

    @classmethod
    def _declare(cls, notes: dict) -> tuple:
        return (*cls._state, *learner_state(notes.get("learners"), cls._task))

    def _unpack(self, values: dict) -> None:
        kinds = values.pop("learners")
        n_classes = len(values.get("classes_", ()))
        self.learners_ = restore_learners(kinds, self._task, values, n_classes)
        self.n_parts_ = len(kinds)
        self.partition_ = partition_from_state(values, self.n_parts_)
        super()._unpack(values)
        if self.groups_ is not None:
            check_parts(type(self).__name__, self.groups_, self.n_parts_)


def _description(found):
    """Return the summary of a partition for the report, as plain values."""
    return {
        "n_kept": int(len(found.kept)),
        "min_labeled": int(found.bounds.min_labeled),
        "min_unlabeled": int(found.bounds.min_unlabeled),
        "sizes": found.sizes().tolist(),
        "agreement": float(found.agreement),
        "notes": list(found.bounds.notes),
    }


class MultiManifoldClassifier(_MultiManifold, SemiSupervisedClassifier):
    """Classify data on several crossing manifolds, one supervised learner per manifold.

    Parameters
    ----------
    base_estimator : {"auto", "svm", "logistic", "nearest"} or estimator
        Supervised learner trained in each part; "auto" is "svm", with a Gaussian kernel tuned by
        5-fold cross-validation. A model with an estimator of your own cannot be stored.
    mode : {"ssl", "global", "clairvoyant"}
        Find the partition; or one learner for all rows; or one per true set, given to `fit` as
        ``groups``.
    variant : {"default", "published"}
        "published" is the paper's algorithm (see Notes for what it leaves open): one cover, plain
        neighborhoods and k-means, the rule for the number of parts, Euclidean decision sets.
        "default" is fewfold's.
    n_parts : int, "auto", "rule" or "labels"
        Decision sets. "rule" is the paper's ``ceil(0.5 log n)`` for n labeled points; "labels"
        takes another number from 1 to 6 where labels left out are predicted clearly better by
        the nearest label of their part; "auto" is "labels", with ``variant="published"`` "rule".
    min_labeled, min_unlabeled : int or "auto"
        Least number of labeled and of kept unlabeled points in a part; "auto" is 1.25 times
        their number over ``log(n)**2``, lowered where that cannot be met.
    n_neighbors, degree : int or "auto"
        Sizes of the covariance neighborhoods (``floor(3 log M)``) and of the graph
        neighborhoods (``floor(1.5 log(m + n))``).
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
    n_refits : int, optional
        Times each neighborhood is turned along its own covariance: 15, or 0 (the paper's ball).
    n_covers : int, optional
        Covers from different starts, of which the most agreed partition is kept: 3, or 1 as
        published.
    n_restarts : int
        Starts of the size-constrained k-means.
    restart_choice : {"ratio_cut", "objective"}, optional
        Criterion of the start that is kept: the ratio cut, or as published the objective.
    cells : {"gaussian", "euclidean"}, optional
        Decision sets: where a part is densest, or as published around its kept points.
    unit_weights : bool
        Give all edges weight 1, to see what the Hellinger distances contribute.
    data_graph : dict, GraphSettings, NeighborGraph or sparse matrix, optional
        A neighbor graph of the rows (or its settings) that says which kept points may be
        joined, where `fit` is given none; without any they are searched by Mahalanobis distance
        among all.
    random_state : int, RandomState or None
        Seed of the covers, of k-means and of the folds.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Targets of the training rows, given or predicted.
    partition_ : Partition or None
        Kept rows, graph, parts, bounds and the seconds of each step; None without mode "ssl".
    n_parts_ : int
    part_reports_ : list of dict
        For each part: points, labels, classes, and whether its learner was "fitted",
        "constant" (one class or one label) or "borrowed" (no label).
    learners_ : list
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    What the paper leaves open, and what ``variant="published"`` takes: the first point of the
    cover (the one farthest from the mean, so that row order does not matter); full rank of
    covariances by ``ridge`` and ``n_components`` instead of a subspace per pair; components of
    the graph joined by their shortest link; k-means++ starts; bounds that cannot be met lowered;
    grids and ties of the learners' cross-validation as in ours.

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

    _task = "classification"
    _state = (CLASSES, *_STATE)

    def fit(self, X, y, *, graph=None, manifold=None, groups=None):
        """Cut all rows into parts and train on the labeled ones.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; -1, NaN, None, "" or "-1" marks unlabeled rows (`fewfold.labels`).
        graph : NeighborGraph or sparse array of shape (n_samples, n_samples), optional
            Says which kept points may be joined, see ``data_graph``.
        manifold : fewfold.methods.base.ManifoldModel, optional
            The shape of the rows, and the partitions of draws, if they were computed already.
        groups : int array of shape (n_samples,), optional
            The true sets, of mode "clairvoyant".

        Returns
        -------
        self
        """
        X = self._rows(X)
        labels = self._read_labels(y, X.shape[0])
        codes = np.full(X.shape[0], -1)
        codes[labels.rows] = labels.codes
        parts = self._learn(X, codes, labels.mask, graph, manifold, groups)
        return self._finish(labels, self._shares(X, parts), details=self.details_)

    def _shares(self, X, parts):
        """Return the class probabilities of rows, by the learners of their parts."""
        shares = np.empty((X.shape[0], len(self.classes_)))
        for p in np.unique(parts):
            inside = np.flatnonzero(parts == p)
            codes = np.arange(len(self.classes_))
            shares[inside] = class_scores(self.learners_[p], X[inside], codes)
        return shares

    def _decide(self, X, groups=None, points=None):
        # Classes absent from a part get 0 there; calibrated only as far as the learners are.
        X = self._rows(X, reset=False)
        return self._shares(X, self._parts(X, groups, points))


class MultiManifoldRegressor(_MultiManifold, SemiSupervisedRegressor):
    """Regression on several crossing manifolds, one supervised learner per manifold.

    Parameters
    ----------
    base_estimator : {"auto", "kernel", "ridge", "nearest"} or estimator
        Regressor trained in each part; "auto" is "kernel", Gaussian kernel regression with a
        bandwidth chosen by 5-fold cross-validation. A model with an estimator of your own cannot
        be stored.
    mode : {"ssl", "global", "clairvoyant"}
        Find the partition; or one learner for all rows; or one per true set, given to `fit` as
        ``groups``.
    variant : {"default", "published"}
        "published" is the paper's algorithm (see Notes for what it leaves open): one cover, plain
        neighborhoods and k-means, the rule for the number of parts, Euclidean decision sets.
        "default" is fewfold's.
    n_parts : int, "auto", "rule" or "labels"
        Decision sets. "rule" is the paper's ``ceil(0.5 log n)`` for n labeled points; "labels"
        takes another number from 1 to 6 where labels left out are predicted clearly better by
        the nearest label of their part; "auto" is "labels", with ``variant="published"`` "rule".
    min_labeled, min_unlabeled : int or "auto"
        Least number of labeled and of kept unlabeled points in a part; "auto" is 1.25 times
        their number over ``log(n)**2``, lowered where that cannot be met.
    n_neighbors, degree : int or "auto"
        Sizes of the covariance neighborhoods (``floor(3 log M)``) and of the graph
        neighborhoods (``floor(1.5 log(m + n))``).
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
    n_refits : int, optional
        Times each neighborhood is turned along its own covariance: 15, or 0 (the paper's ball).
    n_covers : int, optional
        Covers from different starts, of which the most agreed partition is kept: 3, or 1 as
        published.
    n_restarts : int
        Starts of the size-constrained k-means.
    restart_choice : {"ratio_cut", "objective"}, optional
        Criterion of the start that is kept: the ratio cut, or as published the objective.
    cells : {"gaussian", "euclidean"}, optional
        Decision sets: where a part is densest, or as published around its kept points.
    unit_weights : bool
        Give all edges weight 1, to see what the Hellinger distances contribute.
    data_graph : dict, GraphSettings, NeighborGraph or sparse matrix, optional
        A neighbor graph of the rows (or its settings) that says which kept points may be
        joined, where `fit` is given none; without any they are searched by Mahalanobis distance
        among all.
    random_state : int, RandomState or None
        Seed of the covers, of k-means and of the folds.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        Values of the training rows, given or predicted.
    partition_ : Partition or None
        Kept rows, graph, parts, bounds and the seconds of each step; None without mode "ssl".
    n_parts_ : int
    part_reports_ : list of dict
        For each part: points, labels, and whether its learner was "fitted", "constant" (one
        value) or "borrowed" (no value).
    learners_ : list

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

    _task = "regression"
    _state = _STATE

    def fit(self, X, y, *, graph=None, manifold=None, groups=None):
        """Cut all rows into parts and train on those with a target.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Targets; NaN, None or pandas.NA marks unlabeled rows.
        graph, manifold, groups
            As in `MultiManifoldClassifier.fit`.

        Returns
        -------
        self
        """
        X = self._rows(X)
        y = self._read_values(y, X.shape[0])
        parts = self._learn(X, y, ~np.isnan(y), graph, manifold, groups)
        values = np.where(np.isnan(y), predict_parts(self.learners_, X, parts), y)
        return self._finish(values, self.details_)

    def _decide(self, X, groups=None, points=None):
        X = self._rows(X, reset=False)
        return predict_parts(self.learners_, X, self._parts(X, groups, points))
