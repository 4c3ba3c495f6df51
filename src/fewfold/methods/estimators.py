"""What the estimators of all methods share: reading input, naming classes, plain state."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from fewfold.exceptions import InputError, LabelWarning
from fewfold.graph.build import (
    GraphSettings,
    NeighborGraph,
    build_graph,
    extend_graph,
    given_weights,
)
from fewfold.labels import UNLABELED, LabelSet, read_labels, read_values
from fewfold.methods.parameters import any_object, check_parameters, positive
from fewfold.methods.state import Field, PlainState, Setting


class Learner(PlainState, BaseEstimator):
    """What classifiers and regressors share.

    Options may be declared as the fields of a dataclass (``eq=False, repr=False``), whose
    constructor is then the estimator's.
    """

    _dtype = (np.float64, np.float32)  # of the rows; None leaves them as they are

    def _rows(self, X, *, reset=True, **checks):
        """Check rows: those to fit, or (``reset=False``) new ones of a fitted estimator."""
        if not reset:
            check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=self._dtype, reset=reset, **checks)

    def _check_parameters(self) -> None:
        """Refuse options that the method's record does not allow."""
        from fewfold.methods.registry import parameters_of

        parameters, own = parameters_of(type(self)), self.get_params(deep=False)
        given = {p.keyword: own[p.keyword] for p in parameters if p.keyword in own}
        # What the declaration leaves open may be None; a function or an estimator, which no
        # config can name, is the user's own.
        plain = str | int | float | list | tuple | dict | np.generic | np.ndarray | None
        left_open = {p.keyword for p in parameters if p.default is None}
        given = {
            name: value
            for name, value in given.items()
            if isinstance(value, plain) and not (value is None and name in left_open)
        }
        check_parameters(type(self).__name__, parameters, given)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SemiSupervisedRegressor(RegressorMixin, Learner):
    """Base of regressors: a subclass fits, calls `_finish`, and has ``_decide`` for new rows."""

    def _decide(self, X, **stages) -> np.ndarray:
        """Return the values of new rows."""
        raise NotImplementedError

    def predict(self, X, **stages) -> np.ndarray:
        """Return the values of new rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        **stages
            What the workflow computed for these rows already (``extension``, ``points``,
            ``kernel``, ``groups``); without it, it is computed here.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(X, **stages)

    def answer(self, X, **stages) -> tuple[np.ndarray, None]:
        """Return the values of new rows, in the form that classifiers answer in.

        Parameters
        ----------
        X, **stages
            As in `predict`.

        Returns
        -------
        values : ndarray of shape (n_samples,)
        proba : None
            There are no probabilities.
        """
        return self._decide(X, **stages), None

    def _read_values(self, y, n_samples) -> np.ndarray:
        """Return one number per row, NaN where it is unknown."""
        self._check_parameters()
        return read_values(y, n_samples, name=type(self).__name__)

    def _finish(self, values, details=None):
        """Keep the answer for all training rows."""
        self.transduction_, self.details_, self.status_ = values, details or {}, "ok"
        return self


class SemiSupervisedClassifier(ClassifierMixin, Learner):
    """Base of classifiers that learn from all rows, labeled or not.

    A subclass fits by ``fit(X, y, *, graph=None, manifold=None, kernel=None, copies=None)`` (as
    far as it uses them), calls `_finish` with the class probabilities of all rows, and says how
    new rows are judged by ``_decide``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Label of each training row; -1 where no label reaches it.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    unreached_ : int ndarray
        Training rows that no label reaches.
    details_ : dict
        Chosen settings and sizes, as plain values.
    status_ : str
        "ok", or one short phrase ("not converged").
    """

    def _decide(self, X, **stages) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
        """Return class probabilities of new rows, and which of them a label reaches if not all."""
        raise NotImplementedError

    def _decided(self, X, stages):
        found = self._decide(X, **stages)
        return found if isinstance(found, tuple) else (found, np.ones(len(found), bool))

    def predict_proba(self, X, **stages) -> np.ndarray:
        """Return class probabilities of new rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        **stages
            What the workflow computed for these rows already (``extension``, ``points``,
            ``kernel``); without it, it is computed here.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._decided(X, stages)[0]

    def predict(self, X, **stages) -> np.ndarray:
        """Return the classes of new rows.

        Parameters
        ----------
        X, **stages
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 where no label reaches.
        """
        return self._names(*self._decided(X, stages))

    def answer(self, X, **stages) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels and the class probabilities of new rows in one pass.

        Parameters
        ----------
        X, **stages
            As in `predict_proba`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            -1 where no label reaches.
        proba : ndarray of shape (n_samples, n_classes)
        """
        proba, is_reached = self._decided(X, stages)
        return self._names(proba, is_reached), proba

    def fit_predict(self, X, y, **stages) -> np.ndarray:
        """Fit, and return the labels of the training rows.

        Parameters
        ----------
        X, y, **stages
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``transduction_``: -1 where no label reaches.
        """
        return self.fit(X, y, **stages).transduction_

    def _finish(
        self, labels: LabelSet | None, proba, is_reached=None, *, details=None, status="ok"
    ):
        """Keep the answer for all training rows; rows of ``labels``, if given, keep theirs."""
        is_reached = np.ones(len(proba), bool) if is_reached is None else is_reached
        self.label_distributions_, self.is_reached_ = proba, is_reached
        self.transduction_ = self._names(proba, is_reached)
        if labels is not None:
            self.transduction_[labels.rows] = labels.names
        self.details_, self.status_ = details or {}, status
        self.unreached_ = np.flatnonzero(~is_reached)
        if len(self.unreached_):
            warnings.warn(
                f"{len(self.unreached_)} of {len(is_reached)} samples lie in parts of the graph "
                f"without a label (first: row {self.unreached_[0]}) and are marked -1. Label one "
                "of them, or raise n_neighbors.",
                LabelWarning,
                stacklevel=4,
            )
        return self

    def _names(self, scores, is_reached) -> np.ndarray:
        """Return the class of the largest score of each row, -1 where no label reaches."""
        names = self.classes_[scores.argmax(axis=1)]
        if is_reached.all():
            return names
        if names.dtype.kind not in "iuf":
            names = names.astype(object)
        elif names.dtype.kind == "u":
            names = names.astype(np.int64)
        names[~is_reached] = UNLABELED
        return names

    def _read_labels(self, y, n_samples, min_classes: int = 1) -> LabelSet:
        """Check the options and read the labels."""
        self._check_parameters()
        labels = read_labels(y, n_samples, name=type(self).__name__, min_classes=min_classes)
        self.classes_ = labels.classes
        return labels


CLASSES = Field("classes_", "label", ("k",))
# What attaches new rows to a neighbor graph.
PLACED = (
    Field("X_fit_", "float", ("n", "d"), may_be_sparse=True, optional=True),
    Field("scales", "float", ("n",), low=0, optional=True),
    Setting("graph_settings", any_object(), optional=True),
    Setting("bandwidth", positive(), optional=True),
)
GRAPH_STATE = (CLASSES, *PLACED, Field("is_reached_", "bool", ("n",)))


class GraphClassifier(SemiSupervisedClassifier):
    """Base of classifiers that learn over a graph of all rows, labeled or not.

    A subclass may have parameters of the graph: ``metric`` ("precomputed": ``X`` holds weights),
    ``n_neighbors``, ``weights``, ``graph_options``. After `_read` it has ``graph_`` and ``X_fit_``
    (None where no features are known).
    """

    _dtype = None
    metric = "euclidean"

    @property
    def recall_(self) -> float | None:
        """Share of the true neighbors that the graph's search found; None of an exact one."""
        return getattr(getattr(self.graph_, "neighbors", None), "recall", None)

    def graph_settings(self) -> GraphSettings:
        """Return the settings of the graph that `fit` builds.

        Returns
        -------
        GraphSettings
        """
        own = {name: getattr(self, name, None) for name in ("n_neighbors", "metric", "weights")}
        given = {name: value for name, value in own.items() if value is not None}
        return GraphSettings.from_dict({**(getattr(self, "graph_options", None) or {}), **given})

    def _read(self, X, y, graph=None) -> tuple[sparse.csr_array, LabelSet]:
        """Take a graph, or weights, or build the graph of rows; return weights and labels."""
        if isinstance(X, NeighborGraph):
            self.n_features_in_ = n = X.W.shape[0]
        elif graph is not None:
            # The workflow's rows were checked when they were prepared.
            n, self.n_features_in_ = X.shape
        else:
            X = self._rows(X, ensure_min_samples=2)
            n = X.shape[0]
        labels = self._read_labels(y, n)  # before the graph, which takes long
        return self._read_graph(X, graph), labels

    def _read_graph(self, X, graph):
        if isinstance(X, NeighborGraph):
            self.graph_, self.X_fit_ = X, None
            return X.W
        if graph is not None:
            self.graph_, self.X_fit_ = graph, X
            return given_weights(graph, X.shape[0])
        if self.metric == "precomputed":
            self.graph_, self.X_fit_ = checked_weights(X), None
            return self.graph_
        settings = self.graph_settings()
        n_neighbors = min(settings.n_neighbors, max(1, X.shape[0] - 1))
        self.graph_, self.X_fit_ = build_graph(X, settings, n_neighbors=n_neighbors), X
        return self.graph_.W

    def _extension(self, X, extension=None) -> sparse.csr_array:
        """Return the weights of new rows over the rows of the graph."""
        check_is_fitted(self)
        if extension is not None:
            return sparse.csr_array(extension)
        if self.X_fit_ is None or sparse.issparse(self.graph_):
            weights = sparse.csr_array(X)
            if weights.shape[1] != len(self.is_reached_):
                raise InputError(
                    f"Weights over {len(self.is_reached_)} samples are needed, got "
                    f"{weights.shape[1]} columns. Use fewfold.graph.build.extend_graph."
                )
            return weights
        return extend_graph(self.graph_, self.X_fit_, self._rows(X, reset=False))

    def extensions_like(self, X, known: dict) -> dict:
        """Return the stage ``extension`` of new rows, shared by all who attach them alike.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        known : dict
            Extensions of the same rows so far; taken from, and added to.

        Returns
        -------
        dict
            For `predict_proba`; empty where no features of the graph's rows are known.
        """
        if self.X_fit_ is None or not isinstance(self.graph_, NeighborGraph):
            return {}
        graph = self.graph_
        key = (id(self.X_fit_), id(graph.scales), repr(graph.settings), graph.bandwidth)
        if key not in known:
            known[key] = self._extension(X)
        return {"extension": known[key]}

    def _pack(self) -> dict:
        known = isinstance(self.graph_, NeighborGraph) and self.X_fit_ is not None
        special = {**pack_graph(self.graph_ if known else None), "X_fit_": as_float(self.X_fit_)}
        return {f.name: special.get(f.name, getattr(self, f.name, None)) for f in self._state}

    def _unpack(self, values: dict) -> None:
        self.graph_ = unpack_graph(values)
        if "label_distributions_" in values:  # where the state says no more, all have an answer
            self.is_reached_ = np.ones(len(values["label_distributions_"]), bool)
        super()._unpack(values)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def pack_graph(graph: NeighborGraph | None) -> dict:
    """Return what attaches new rows to a graph, as the values of `PLACED` (None without one)."""
    if graph is None:
        return dict.fromkeys(("scales", "graph_settings", "bandwidth"))
    return {
        "scales": np.asarray(graph.scales, np.float64),
        "graph_settings": graph.settings.to_dict(),
        "bandwidth": float(graph.bandwidth),
    }


def unpack_graph(values: dict) -> NeighborGraph | None:
    """Take the values of `PLACED` out of a state and return a graph that rows attach to."""
    scales, settings = values.pop("scales"), values.pop("graph_settings")
    bandwidth = values.pop("bandwidth")
    if scales is None or settings is None:
        return None
    return NeighborGraph(
        W=sparse.csr_array((len(scales), len(scales))),
        neighbors=None,
        settings=GraphSettings.from_dict(settings),
        scales=scales,
        bandwidth=bandwidth,
        n_components=1,
        component=None,
        isolated=None,
    )


def seed_of(random_state) -> int:
    """Return a number for ``random_state``: itself, or one drawn from a generator."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def as_float(X):
    """Return rows as floats: integers (pixels) take part in distances as they are."""
    if X is None or X.dtype.kind == "f":
        return X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


def checked_weights(W) -> sparse.csr_array:
    """Return given weights as a graph: square, symmetric, not negative, nothing on the diagonal."""
    if W.shape[0] != W.shape[1]:
        raise InputError(f"metric='precomputed' needs a square matrix of weights, got {W.shape}.")
    W = sparse.csr_array(W, dtype=np.float64)
    if abs(W - W.T).max() > 1e-8 * max(abs(W).max(), 1e-300) or W.min() < 0:
        raise InputError(
            "metric='precomputed' needs symmetric, non-negative weights. "
            "Symmetrize first, for example (W + W.T) / 2."
        )
    W.setdiag(0)
    W.eliminate_zeros()
    return W
