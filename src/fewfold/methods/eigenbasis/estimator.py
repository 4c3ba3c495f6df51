"""Eigenbasis classifier: least squares on the smooth functions of a graph ([eigenbasis-2002])."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from fewfold.exceptions import InputError
from fewfold.graph.build import GraphSettings
from fewfold.linalg.laplacian import components
from fewfold.methods.eigenbasis.basis import compute_basis
from fewfold.methods.eigenbasis.regression import (
    SMOOTHNESS,
    extend_vectors,
    fit_basis,
    left_out_error,
    many_vectors,
    reached_columns,
    response_scale,
    signed_targets,
    vector_count,
)
from fewfold.methods.estimators import GRAPH_STATE, GraphClassifier
from fewfold.methods.parameters import one_of, positive
from fewfold.methods.state import Field, Setting
from fewfold.methods.variants import option
from fewfold.svm.probability import decisions_to_proba

# Many vectors are taken if labels left out err so much less with them than with a share.
CLEARLY_LESS = 0.9
MOST_VECTORS = 200  # prepared without knowing the labels

VARIANTS = {
    "default": {
        "laplacian": "random_walk", "weights": "self_tuning", "ridge": "loo", "min_vectors": None,
    },
    "published": {
        "laplacian": "unnormalized", "weights": "binary", "ridge": 0.0, "min_vectors": 1,
    },
}  # fmt: skip


class EigenbasisModel:
    """A basis fitted to the labels of one draw; plain arrays, used by estimator and workflow.

    Parameters
    ----------
    basis : dict of arrays
        From `compute_basis`.
    labeled, codes : int arrays of shape (m,)
        Labeled rows and their class codes 0..n_classes-1, each class present.
    n_vectors, minimum, maximum : see `fewfold.methods.eigenbasis.regression.vector_count`
    ridge, smoothness : see `fewfold.methods.eigenbasis.regression.fit_basis`
    """

    def __init__(
        self, basis, labeled, codes, *, n_vectors=0.2, minimum=None, maximum=None, ridge="loo",
        smoothness=SMOOTHNESS,
    ):  # fmt: skip
        component, self.degrees = basis["components"], basis["degrees"]
        n_classes, held = int(codes.max()) + 1, basis["eigenvectors"].shape[1]
        self.reached = np.isin(component, component[labeled])
        self.unit = float(np.sqrt(len(component)))
        targets = signed_targets(codes, n_classes)
        count = vector_count(n_vectors, len(labeled), held, n_classes, minimum, maximum)
        many = min(many_vectors(n_vectors, count, len(component), minimum), maximum or held, held)
        found = ()
        for number in sorted({count, many}):
            columns = reached_columns(basis["eigenvectors"], self.reached, number)
            # A slice, unlike a list of columns, is not a copy; entries near 1 suit the ridge.
            is_leading = len(columns) and columns[-1] == len(columns) - 1
            chosen = slice(0, len(columns)) if is_leading else columns
            vectors, values = basis["eigenvectors"][:, chosen], basis["eigenvalues"][columns]
            E = self.unit * vectors[labeled].astype(np.float64)
            fitted = fit_basis(E, targets, values, ridge, smoothness)
            error = left_out_error(fitted, targets)
            if not found or error < CLEARLY_LESS * found[0]:
                found = (error, columns, vectors, values, fitted)
        _, self.columns, self.vectors, self.eigenvalues, self.fitted = found
        self.scale = response_scale(self.fitted.left_out, codes)

    def responses(self) -> np.ndarray:
        """Return one-against-all responses of all rows of the graph, (n, n_classes)."""
        coefficients = self.unit * self.fitted.coefficients
        return (self.vectors @ coefficients.astype(self.vectors.dtype)).astype(np.float64)


def _check_basis(arrays, n):
    """Refuse eigenvectors of other rows, or in another number than their eigenvalues."""
    vectors, values = arrays["eigenvectors"], arrays["eigenvalues"]
    per_row = {len(arrays[name]) for name in ("components", "degrees", "eigenvectors")}
    if per_row != {n} or vectors.shape[1] != len(values) or len(arrays["residuals"]) != len(values):
        raise InputError(
            f"The eigenvectors given have shape {vectors.shape}, with {len(values)} eigenvalues; "
            f"expected: {n} rows and as many columns as eigenvalues. Compute them again."
        )


@dataclass(eq=False, repr=False)
class EigenbasisClassifier(GraphClassifier):
    """Label all samples from a few, by least squares on the smoothest functions on their graph.

    Parameters
    ----------
    n_vectors : int or float
        Number of eigenvectors, or their share of the labeled samples.
    variant : {"default", "published"}
        "published" is the paper's algorithm: eigenvectors of ``D - W`` with weights 1, as many as
        a fifth of the labels, the constant one among them, plain least squares. Options that are
        given come first, and so do ``graph`` and ``manifold`` given to `fit`.
    min_vectors : int, optional
        Least number when a share is given. By default the number of classes; then 200 vectors,
        but at most a fifth of the samples, are tried as well, and kept if labels left out err
        clearly less. Published: 1.
    max_vectors : int, optional
        Most that a share of the labels gives.
    laplacian : {"random_walk", "symmetric", "unnormalized"}, optional
        Default: "random_walk", which errs less when densities vary. Published: "unnormalized".
    ridge : float or "loo", optional
        Strength of the smoothness penalty; "loo", the default, chooses it by leaving labels out.
        Published: 0.
    smoothness : float
        Power of the eigenvalues in the penalty; the paper's functional has 1.
    n_neighbors : int
        Of the graph.
    metric : str
        Of the graph. "precomputed": ``X`` is a symmetric matrix of weights, and ``predict``
        takes the weights of new rows over the old ones.
    weights : {"binary", "heat", "self_tuning", "relative"}, optional
        Default: "self_tuning". Published: "binary".
    graph_options : dict, optional
        Further fields of `fewfold.graph.build.GraphSettings`.
    extension : {"nystrom", "harmonic"}
        How eigenvectors continue to new rows.
    tol : float
        Largest eigenvector residual allowed.
    random_state : int
        Seed of the eigensolver's start.
    n_jobs : int, optional
        Threads of the eigensolver; all cores by default. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Label of each training row; -1 where no label is connected to it.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    unreached_ : int ndarray
        Training rows that no label reaches.
    eigenvalues_, residuals_ : ndarray of shape (n_vectors_,)
    n_vectors_ : int
        Eigenvectors in the fit.
    ridge_ : float
    graph_ : NeighborGraph or csr_array
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> X, digit = load_digits(return_X_y=True)
    >>> y = np.full(len(X), -1)
    >>> y[:100] = digit[:100]
    >>> model = EigenbasisClassifier().fit(X, y)
    >>> bool(np.mean(model.transduction_ == digit) > 0.9)
    True
    """

    _state = (
        *GRAPH_STATE,
        Field("vectors_", "float", ("n", "p")),
        Field("eigenvalues_", "float", ("p",)),
        Field("degrees_", "float", ("n",), low=0),
        Field("coefficients_", "float", ("p", "k")),
        Setting("scale_", positive()),
        Setting("laplacian_", one_of("unnormalized", "symmetric", "random_walk")),
        Setting("extension", one_of("nystrom", "harmonic")),
    )

    n_vectors: float = 0.2
    _: KW_ONLY
    variant: str = "default"
    min_vectors: int | None = None
    max_vectors: int | None = None
    laplacian: str | None = None
    ridge: float | str | None = None
    smoothness: float = SMOOTHNESS
    n_neighbors: int = 8
    metric: str = "euclidean"
    weights: str | None = None
    graph_options: dict | None = None
    extension: str = "nystrom"
    tol: float = 1e-5
    random_state: int = 0
    n_jobs: int | None = None

    def fit(self, X, y, *, graph=None, manifold=None):
        """Build the graph of the rows, its eigenvectors, and the fit to the labels.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a NeighborGraph
            With ``metric="precomputed"``, weights of shape (n_samples, n_samples).
        y : array of shape (n_samples,)
            Classes; see `fewfold.labels` for what marks an unlabeled row.
        graph : NeighborGraph, optional
            The graph of the rows, if it was built already.
        manifold : ManifoldModel, optional
            Its eigenvectors, if they were computed already; their Laplacian is used for new rows.

        Returns
        -------
        self
        """
        W, labels = self._read(X, y, graph)
        basis, self.laplacian_ = self._basis(W, labels, manifold)
        model = EigenbasisModel(
            basis,
            labels.rows,
            labels.codes,
            n_vectors=self.n_vectors,
            minimum=self._chosen("min_vectors"),
            maximum=self.max_vectors,
            ridge=self._chosen("ridge"),
            smoothness=self.smoothness,
        )
        self.vectors_, self.eigenvalues_ = model.vectors, model.eigenvalues
        self.coefficients_, self.scale_ = model.fitted.coefficients, model.scale
        self.degrees_ = model.degrees
        self.residuals_ = basis["residuals"][model.columns]
        self.n_vectors_, self.ridge_ = len(model.columns), model.fitted.ridge
        details = {
            "n_vectors": self.n_vectors_,
            "ridge": self.ridge_,
            "scale": model.scale,
            "largest_eigenvalue": float(model.eigenvalues[-1]),
            "unreached": int(np.sum(~model.reached)),
        }
        proba = self._proba(model.responses(), model.reached)
        return self._finish(None, proba, model.reached, details=details)

    def prepare(self, X, *, graph) -> dict:
        """Compute the eigenvectors of a graph of the rows, to be given to `fit` as manifold.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        graph : NeighborGraph
            Of these rows.

        Returns
        -------
        dict of ndarrays
            See `fewfold.methods.eigenbasis.basis.compute_basis`.
        """
        n = graph.W.shape[0]
        most = max(2, min(self.max_vectors or MOST_VECTORS, n // 3))
        return compute_basis(
            graph, most, self._chosen("laplacian"), tol=self.tol, random_state=self.random_state
        )

    def graph_settings(self) -> GraphSettings:
        """Return the settings of the graph that `fit` builds.

        Returns
        -------
        GraphSettings
        """
        return replace(super().graph_settings(), weights=self._chosen("weights"))

    def _chosen(self, name):
        return option(self, VARIANTS, name)

    def _basis(self, W, labels, manifold):
        if manifold is not None:
            _check_basis(manifold.arrays, W.shape[0])
            return manifold.arrays, manifold.settings.get("laplacian", "random_walk")
        n, rows, least = W.shape[0], labels.rows, self._chosen("min_vectors")
        count = vector_count(self.n_vectors, len(rows), n, min(n, len(self.classes_)), least)
        many = many_vectors(self.n_vectors, count, n, least)
        component = components(W)[1]
        # Components without labels take null vectors that cannot be used: compute as many more.
        idle = component.max() + 1 - len(np.unique(component[rows]))
        basis = compute_basis(
            self.graph_,
            many + idle,
            self._chosen("laplacian"),
            tol=self.tol,
            random_state=np.random.default_rng(self.random_state).integers(2**31),
            n_jobs=self.n_jobs,
        )
        return basis, self._chosen("laplacian")

    def _proba(self, responses, reached):
        proba = decisions_to_proba(responses, self.scale_)
        proba[~reached] = 1 / proba.shape[1]
        return proba

    def _responses(self, X, extension=None):
        """Return responses of new points, and which of them a label reaches."""
        weights = self._extension(X, extension)
        reached = weights @ self.is_reached_.astype(float) > 0
        V, scale = self.vectors_, np.sqrt(len(self.is_reached_))
        if self.laplacian_ == "symmetric":
            V = V / np.sqrt(np.where(self.degrees_ > 0, self.degrees_, 1))[:, None]
            # Back to the scale of the basis; a typical degree, since a new point only has edges
            # that it chose itself. The factor is common to all classes.
            scale *= np.sqrt(np.median(self.degrees_))
        E = extend_vectors(self.eigenvalues_, V, weights, self.laplacian_, self.extension)
        return scale * (E @ self.coefficients_), reached

    def decision_function(self, X) -> np.ndarray:
        """Return responses of new rows, near +1 for the class and -1 for the others.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Of two classes, above zero is the second.
        """
        responses = self._responses(X)[0]
        return responses[:, 1] if responses.shape[1] == 2 else responses

    def _decide(self, X, extension=None):
        # A softmax of the responses, whose scale makes left-out labels most likely.
        responses, reached = self._responses(X, extension)
        return self._proba(responses, reached), reached
