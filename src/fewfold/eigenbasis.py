"""Eigenbasis classifier: least squares on the smooth functions of a graph ([eigenbasis])."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.basis_regression import (
    SMOOTHNESS,
    extend_vectors,
    fit_basis,
    left_out_error,
    many_vectors,
    reached_columns,
    response_scale,
    responses_to_proba,
    signed_targets,
    vector_count,
)
from fewfold.eigensolver import laplacian_eigenpairs
from fewfold.exceptions import InputError
from fewfold.graph.build import GraphSettings, NeighborGraph
from fewfold.graph.laplacian import components, degrees
from fewfold.graph_classifier import GraphClassifier
from fewfold.training import Outcome

# Many vectors are taken if labels left out err so much less with them than with a share.
CLEARLY_LESS = 0.9


def compute_basis(
    graph: NeighborGraph | sparse.csr_array,
    n_vectors: int,
    laplacian: str = "random_walk",
    *,
    tol: float = 1e-5,
    random_state: int = 0,
    n_jobs: int | None = None,
    dtype: str = "float32",
) -> dict[str, np.ndarray]:
    """Compute the manifold model: the smoothest functions on a graph ([eigenbasis] Step 2).

    Parameters
    ----------
    graph : NeighborGraph, or csr_array of weights of shape (n, n)
    n_vectors : int
        The largest number any learner will use; learners take the first ones. More than n
        means n.
    laplacian : {"random_walk", "symmetric", "unnormalized"}
    tol, random_state, n_jobs : see `fewfold.eigensolver.laplacian_eigenpairs`
    dtype : {"float32", "float64"}
        Of the stored eigenvectors; they are computed, and their residuals measured, in float64.

    Returns
    -------
    dict of arrays
        ``eigenvalues`` (p,), ``eigenvectors`` (n, p), ``residuals`` (p,), ``components`` (n,),
        ``degrees`` (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from fewfold.graph.build import build_graph
    >>> basis = compute_basis(build_graph(np.arange(50.0)[:, None], n_neighbors=2), 3)
    >>> basis["eigenvectors"].shape, bool(basis["residuals"].max() < 1e-5)
    ((50, 3), True)
    """
    W = graph.W if isinstance(graph, NeighborGraph) else sparse.csr_array(graph)
    component = graph.component if isinstance(graph, NeighborGraph) else components(W)[1]
    pairs = laplacian_eigenpairs(
        W,
        min(n_vectors, W.shape[0]),
        laplacian,
        tol=tol,
        random_state=random_state,
        n_jobs=n_jobs,
        component=component,
    )
    return {
        "eigenvalues": pairs.eigenvalues,
        "eigenvectors": pairs.eigenvectors.astype(dtype),
        "residuals": pairs.residuals,
        "components": np.asarray(component),
        "degrees": degrees(W),
    }


class EigenbasisModel:
    """A basis fitted to the labels of one draw; plain arrays, used by estimator and workflow.

    Parameters
    ----------
    basis : dict of arrays
        From `compute_basis`.
    labeled, codes : int arrays of shape (m,)
        Labelled rows and their class codes 0..n_classes-1, each class present.
    n_vectors, minimum, maximum : see `fewfold.basis_regression.vector_count`
    ridge, smoothness : see `fewfold.basis_regression.fit_basis`
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

    def new_responses(self, extension, laplacian, how):
        """Return responses of new points, and which of them a label reaches.

        Parameters
        ----------
        extension : csr_array of shape (n_new, n)
        laplacian, how : see `fewfold.basis_regression.extend_vectors`
        """
        extension = sparse.csr_array(extension)
        reached = extension @ self.reached.astype(float) > 0
        V, degree = self.vectors, self.degrees
        if laplacian == "symmetric":
            V = V / np.sqrt(np.where(degree > 0, degree, 1))[:, None]
        E = extend_vectors(self.eigenvalues, V, extension, laplacian, how)
        if laplacian == "symmetric":
            # Back to the scale of the basis; a typical degree, since a new point only has edges
            # that it chose itself. The factor is common to all classes.
            E = E * np.sqrt(np.median(degree))
        return self.unit * (E @ self.fitted.coefficients), reached


class EigenbasisClassifier(GraphClassifier):
    """Label all samples from a few, by least squares on the smoothest functions on their graph.

    Parameters
    ----------
    n_vectors : int or float
        Number of eigenvectors, or their share of the labelled samples.
    min_vectors : int, optional
        Least number when a share is given. By default the number of classes; then 200 vectors,
        but at most a fifth of the samples, are tried as well, and kept if labels left out err
        clearly less.
    laplacian : {"random_walk", "symmetric", "unnormalized"}
        The paper uses "unnormalized"; "random_walk" errs less when densities vary.
    ridge : float or "loo"
        Strength of the smoothness penalty; "loo" chooses it by leaving labels out.
    smoothness : float
        Power of the eigenvalues in the penalty; the paper's functional has 1.
    n_neighbors : int
    metric : str
        Of the graph. "precomputed": ``X`` is a symmetric matrix of weights, and ``predict``
        takes the weights of new rows over the old ones.
    weights : {"binary", "heat", "self_tuning", "relative"}
    graph_options : dict, optional
        Further fields of `fewfold.graph.build.GraphSettings`.
    extension : {"nystrom", "harmonic"}
        How eigenvectors continue to new rows.
    tol : float
        Largest eigenvector residual allowed.
    random_state : int
        Seed of the eigensolver's start.
    n_jobs : int, optional

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

    def __init__(
        self,
        n_vectors=0.2,
        *,
        min_vectors=None,
        laplacian="random_walk",
        ridge="loo",
        smoothness=SMOOTHNESS,
        n_neighbors=8,
        metric="euclidean",
        weights="self_tuning",
        graph_options=None,
        extension="nystrom",
        tol=1e-5,
        random_state=0,
        n_jobs=None,
    ):
        self.n_vectors = n_vectors
        self.min_vectors = min_vectors
        self.laplacian = laplacian
        self.ridge = ridge
        self.smoothness = smoothness
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.weights = weights
        self.graph_options = graph_options
        self.extension = extension
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Build the graph of the rows, its eigenvectors, and the fit to the labels.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a NeighborGraph
            With ``metric="precomputed"``, weights of shape (n_samples, n_samples).
        y : array of shape (n_samples,)
            Classes; -1 (for names: "-1", "" or None) means unlabelled.
        """
        y = np.asarray(y)
        W = self._read_graph(X, y)
        rows, codes = self._read_labels(y)
        n = W.shape[0]
        count = vector_count(
            self.n_vectors, len(rows), n, min(n, len(self.classes_)), self.min_vectors
        )
        many = many_vectors(self.n_vectors, count, n, self.min_vectors)
        component = components(W)[1]
        # Components without labels take null vectors that cannot be used: compute as many more.
        idle = component.max() + 1 - len(np.unique(component[rows]))
        seed = np.random.default_rng(self.random_state).integers(2**31)
        basis = compute_basis(
            self.graph_, many + idle, self.laplacian,
            tol=self.tol, random_state=seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        self._model = EigenbasisModel(
            basis, rows, codes, n_vectors=self.n_vectors, minimum=self.min_vectors,
            ridge=self.ridge, smoothness=self.smoothness,
        )  # fmt: skip
        self._finish(basis)
        return self

    def graph_settings(self) -> GraphSettings:
        """Return the settings of the graph that `fit` builds."""
        settings = {"metric": self.metric, "weights": self.weights, **(self.graph_options or {})}
        return GraphSettings.from_dict(settings | {"n_neighbors": self.n_neighbors})

    def _finish(self, basis):
        model = self._model
        self.eigenvalues_ = model.eigenvalues
        self.residuals_ = basis["residuals"][model.columns]
        self.n_vectors_, self.ridge_ = len(model.columns), model.fitted.ridge
        responses = model.responses()
        self.label_distributions_ = self._proba(responses, model.reached)
        self.transduction_ = self._names(responses, model.reached)
        self._note_unreached(model.reached)

    def _proba(self, responses, reached):
        proba = responses_to_proba(responses, self._model.scale)
        proba[~reached] = 1 / proba.shape[1]
        return proba

    def _extend(self, X):
        weights = self._extension(X)
        return self._model.new_responses(weights, self.laplacian, self.extension)

    def decision_function(self, X) -> np.ndarray:
        """Return responses of new rows, near +1 for the class and -1 for the others.

        Of shape (n_rows, n_classes), or (n_rows,) for two classes: above zero is the second.
        """
        responses = self._extend(X)[0]
        return responses[:, 1] if responses.shape[1] == 2 else responses

    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities of new rows, (n_rows, n_classes).

        A softmax of the responses whose scale makes left-out labels most likely.
        """
        return self._proba(*self._extend(X))

    def predict(self, X) -> np.ndarray:
        """Return the classes of new rows; -1 where no neighbour was reached by a label."""
        return self._names(*self._extend(X))


def fit_predict(inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """Fit the basis of the manifold stage to the labels of one draw.

    ``settings``: ``n_vectors``, ``min_vectors``, ``ridge``, ``smoothness``, ``extension`` as in
    `EigenbasisClassifier`, and ``max_vectors``, a bound on a share of the labels. The Laplacian
    is that of the manifold's own settings. ``seed`` is not used: nothing is random.
    """
    if inputs.manifold is None:
        raise InputError("The eigenbasis method needs an eigenbasis manifold in its chain.")
    if inputs.task != "classification":
        raise InputError(f"The eigenbasis method classifies; the task is {inputs.task!r}.")
    options = {"n_vectors": 0.2, "min_vectors": None, "ridge": "loo", "extension": "nystrom"}
    options |= {"max_vectors": None, "smoothness": SMOOTHNESS}
    unknown = sorted(set(settings) - set(options))
    if unknown:
        raise InputError(f"Unknown eigenbasis settings {unknown}. Allowed: {', '.join(options)}.")
    options |= settings
    present, codes = np.unique(targets, return_inverse=True)
    model = EigenbasisModel(
        inputs.manifold,
        np.asarray(labeled),
        codes,
        n_vectors=options["n_vectors"],
        minimum=options["min_vectors"],
        maximum=options["max_vectors"],
        ridge=options["ridge"],
        smoothness=options["smoothness"],
    )
    proba = _spread(model.responses(), model.reached, model.scale, present, n_classes)
    labels = np.where(model.reached, proba.argmax(axis=1), -1)
    labels_new = proba_new = None
    if inputs.extension is not None:
        kind = dict(inputs.manifold.get("settings", {})).get("laplacian", "random_walk")
        F, reached = model.new_responses(inputs.extension, kind, options["extension"])
        proba_new = _spread(F, reached, model.scale, present, n_classes)
        labels_new = np.where(reached, proba_new.argmax(axis=1), -1)
    details = {
        "n_vectors": len(model.columns),
        "ridge": model.fitted.ridge,
        "scale": model.scale,
        "largest_eigenvalue": float(model.eigenvalues[-1]),
        "unreached": int(np.sum(~model.reached)),
    }
    return Outcome(labels, proba, labels_new, proba_new, details=details)


def _spread(responses, reached, scale, present, n_classes):
    """Put the probabilities of the classes present in the draw into their columns."""
    proba = np.zeros((len(responses), n_classes))
    proba[:, present] = responses_to_proba(responses, scale)
    proba[~reached] = 1 / n_classes
    return proba
