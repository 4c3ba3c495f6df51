"""What classifiers over a neighbour graph share: reading labels and graphs, naming classes."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError, LabelWarning
from fewfold.graph.build import GraphSettings, NeighborGraph, build_graph, extend_graph


class GraphClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers that learn over a graph of all rows, labelled or not.

    A subclass has a parameter ``metric`` ("precomputed": ``X`` holds weights) and a method
    ``graph_settings()``. After `_read_graph` it has ``graph_`` and ``X_fit_`` (None for a graph
    that was given), after `_read_labels` also ``classes_``.
    """

    def graph_settings(self) -> GraphSettings:
        """Return the settings of the graph that `fit` builds."""
        raise NotImplementedError

    def _read_graph(self, X, y):
        """Take a graph, or weights, or build the graph of rows; return the weights."""
        if isinstance(X, NeighborGraph):
            self.n_features_in_ = X.W.shape[0]
            self.graph_, self.X_fit_ = X, None
            return X.W
        X, _ = validate_data(self, X, y, accept_sparse="csr", ensure_min_samples=2, dtype=None)
        if self.metric == "precomputed":
            self.graph_, self.X_fit_ = checked_weights(X), None
            return self.graph_
        settings = self.graph_settings().to_dict()
        settings["n_neighbors"] = min(settings["n_neighbors"], max(1, X.shape[0] - 1))
        self.graph_, self.X_fit_ = build_graph(X, GraphSettings.from_dict(settings)), X
        return self.graph_.W

    def _read_labels(self, y) -> tuple[np.ndarray, np.ndarray]:
        """Return the labelled rows and their class codes."""
        labelled = is_labelled(y)
        if not labelled.any():
            raise InputError("No labelled sample in y: all are -1. Give at least one class.")
        check_classification_targets(y[labelled])
        self.classes_, codes = np.unique(y[labelled], return_inverse=True)
        return np.flatnonzero(labelled), codes

    def _note_unreached(self, is_reached) -> None:
        """Keep, and warn of, the rows that no label reaches."""
        self.unreached_ = np.flatnonzero(~is_reached)
        if len(self.unreached_):
            warnings.warn(
                f"{len(self.unreached_)} of {len(is_reached)} samples lie in parts of the graph "
                f"without a label (first: row {self.unreached_[0]}) and are marked -1. Label one "
                "of them, or raise n_neighbors.",
                LabelWarning,
                stacklevel=4,
            )

    def _names(self, scores, is_reached) -> np.ndarray:
        """Return the class of the largest score of each row, -1 where no label reaches."""
        names = self.classes_[scores.argmax(axis=1)]
        if is_reached.all():
            return names
        if names.dtype.kind not in "iuf":
            names = names.astype(object)
        elif names.dtype.kind == "u":
            names = names.astype(np.int64)
        names[~is_reached] = -1
        return names

    def _extension(self, X) -> sparse.csr_array:
        """Return the weights of new rows over the rows of the graph."""
        check_is_fitted(self, "label_distributions_")
        if self.X_fit_ is None:
            weights = sparse.csr_array(X)
            if weights.shape[1] != len(self.transduction_):
                raise InputError(
                    f"Weights over {len(self.transduction_)} samples are needed, got "
                    f"{weights.shape[1]} columns. Use fewfold.graph.build.extend_graph."
                )
            return weights
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=None)
        return extend_graph(self.graph_, self.X_fit_, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def is_labelled(y: np.ndarray) -> np.ndarray:
    """Tell which entries of ``y`` are classes: not -1, NaN, None, "" or "-1"."""
    if y.dtype.kind in "iuf":
        return (y != -1) & ~np.isnan(y.astype(float))
    return np.array([v is not None and v == v and str(v) not in ("", "-1") for v in y.ravel()])


def checked_weights(W) -> sparse.csr_array:
    """Return given weights as a graph: square, symmetric, not negative, nothing on the diagonal."""
    if W.shape[0] != W.shape[1]:
        raise InputError(f"metric='precomputed' needs a square matrix of weights, got {W.shape}.")
    W = sparse.csr_array(W, dtype=np.float64)
    if abs(W - W.T).max() > 1e-8 * max(abs(W).max(), 1e-300) or W.min() < 0:
        raise InputError(
            "metric='precomputed' needs symmetric, non-negative weights. "
            "Symmetrise first, for example (W + W.T) / 2."
        )
    W.setdiag(0)
    W.eliminate_zeros()
    return W
