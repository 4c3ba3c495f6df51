"""A classifier that diffuses a few labels over a neighbour graph."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fewfold.exceptions import InputError
from fewfold.graph.build import GraphSettings
from fewfold.graph_classifier import GraphClassifier
from fewfold.spreading import (
    METHODS,
    class_priors,
    match_priors,
    normalize_class_mass,
    poisson_scores,
    propagation_scores,
    softmax,
    softmax_scale,
    spreading_scores,
)
from fewfold.training import Outcome

MIN_SIDE_TO_DESKEW = 12
SOURCES = ("labels", "classes")
# A series may be displaced by this part of its length.
SERIES_SHIFT = 16


def image_graph_settings(image_shape, **changes) -> GraphSettings:
    """Return the settings of the invariant graph for images or series of a shape.

    Parameters
    ----------
    image_shape : sequence of int
        ``(h, w)``, ``(h, w, channels)``, or ``(length,)`` for a series.
    **changes
        Fields of `GraphSettings` that are to differ.
    """
    shape = [int(side) for side in image_shape]
    # In very small pictures the slant is a matter of one or two pixels, and moving them by
    # fractions of a pixel blurs more than it straightens.
    is_straightened = len(shape) > 1 and min(shape[:2]) >= MIN_SIDE_TO_DESKEW
    if len(shape) == 1:
        # What happens in a series happens sooner or later. Its values are compared, not its
        # slopes, in which noise drowns the shape.
        shift = max(1, shape[0] // SERIES_SHIFT)
        metric_options = {"features": "pixels", "displacement": shift, "window": shift // 2 * 2 + 1}
    else:
        metric_options = {"fine": {"displacement": 2, "window": 5}}
    settings = {
        "n_neighbors": 6,
        "metric": "deformation",
        "metric_options": metric_options,
        "candidates": 100,
        # Only of the candidates: what it misses is not among the nearest.
        "method": "approximate",
        "weights": "self_tuning",
        "symmetrize": "mean",
        "canonicalize": ["deskew"] if is_straightened else [],
        "image_shape": shape,
    }
    return GraphSettings.from_dict({**settings, **changes})


def diffuse(W, labeled, targets, n_classes, *, method="poisson", alpha=0.995, priors=None,
            sources="labels", tol=1e-5, max_iter=2000):  # fmt: skip
    """Diffuse labels over a graph and turn the result into probabilities.

    Parameters
    ----------
    W : csr_array of shape (n, n)
    labeled, targets : int arrays of shape (m,)
    n_classes : int
    method : {"poisson", "spreading", "propagation"}
    alpha : float
        Of label spreading.
    priors : None, "estimated", "uniform" or array of shape (n_classes,)
        Class shares. Spreading and propagation always normalise the class mass by them (None:
        by those of the labels); Poisson learning only if they are given.
    sources : {"labels", "classes"}
        Of Poisson learning: each label is a source of strength 1, or each class has one strength
        that its labels share. The same where all classes have equally many labels; where chance
        gave one class more than another, "classes" errs far less.
    tol, max_iter : see `fewfold.spreading.conjugate_gradients`

    Returns
    -------
    proba : ndarray of shape (n, n_classes)
        Rows that no label reaches are uniform.
    scores : Scores
    """
    if method not in METHODS:
        raise InputError(f"method={method!r} is unknown. Choose one of {', '.join(METHODS)}.")
    if sources not in SOURCES:
        raise InputError(f"sources={sources!r} is unknown. Choose one of {', '.join(SOURCES)}.")
    solver = {"tol": tol, "max_iter": max_iter}
    if method == "poisson":
        scores = poisson_scores(W, labeled, targets, n_classes, **solver)
    elif method == "spreading":
        scores = spreading_scores(W, labeled, targets, n_classes, alpha=alpha, **solver)
    else:
        scores = propagation_scores(W, labeled, targets, n_classes, **solver)
    proba = np.full(scores.values.shape, 1 / n_classes)
    known = scores.values[scores.is_reached]
    shares = class_priors(priors, targets, n_classes)
    if method == "poisson":
        counts = np.bincount(targets, minlength=n_classes)
        if sources == "classes":
            known = known / np.maximum(counts, 1)  # the equation is linear in each class's sources
        known = softmax(known * softmax_scale(known))
        # A class without label has a score of exactly zero: never the answer, nor a chance.
        known[:, counts == 0] = 0
        known /= known.sum(axis=1, keepdims=True)
        known = known if priors is None else match_priors(known, shares)
    else:
        known = normalize_class_mass(known, shares)
        total = known.sum(axis=1, keepdims=True)
        known = np.where(total > 0, known / np.where(total > 0, total, 1), shares)
    proba[scores.is_reached] = known
    return proba, scores


def extend_labels(extension, proba, is_reached):
    """Label new rows by the weighted mean of their neighbours' probabilities.

    Parameters
    ----------
    extension : csr_array of shape (n_new, n)
    proba : ndarray of shape (n, n_classes)
    is_reached : bool ndarray of shape (n,)

    Returns
    -------
    proba_new : ndarray of shape (n_new, n_classes)
        Uniform where no neighbour was reached by a label.
    is_reached_new : bool ndarray of shape (n_new,)
    """
    extension = sparse.csr_array(extension)
    votes = extension @ np.where(is_reached[:, None], proba, 0.0)
    total = extension @ is_reached.astype(float)
    found = total > 0
    out = np.full(votes.shape, 1 / proba.shape[1])
    out[found] = votes[found] / total[found, None]
    return out / out.sum(axis=1, keepdims=True), found


class DiffusionClassifier(GraphClassifier):
    """Label all samples from a few by diffusion over a neighbour graph.

    Parameters
    ----------
    method : {"poisson", "spreading", "propagation"}
        Poisson learning (the best with few labels), label spreading, label propagation.
    image_shape : tuple of int, optional
        Shape of one row seen as an image, ``(h, w)`` or ``(h, w, channels)``, or as a series,
        ``(length,)``. Given, the graph ignores slant (images) and small deformations.
    n_neighbors : int, optional
        By default 6 for images and series, otherwise 10.
    metric : str or callable, optional
        Of the graph; by default "deformation" for images and series, otherwise "euclidean".
        "precomputed": ``X`` is a symmetric matrix of weights, and ``predict`` takes the
        weights of new rows over the old ones.
    canonicalize : list of str, optional
        Canonical forms of images; by default ["deskew"] from 12 pixels a side, else none.
    graph_options : dict, optional
        Further fields of `fewfold.graph.build.GraphSettings`.
    alpha : float
        Of label spreading.
    priors : None, "estimated", "uniform" or array of shape (n_classes,)
        Class shares, see `diffuse`; the order is that of ``classes_``.
    sources : {"labels", "classes"}
        Of Poisson learning, see `diffuse`.
    tol : float
        Relative residual at which the equation counts as solved.
    max_iter : int

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Label of each training row; -1 where no label is connected to it.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    unreached_ : int ndarray
        Training rows that no label reaches.
    graph_ : NeighborGraph or csr_array
    n_iter_ : int
    residual_ : float
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> X, digit = load_digits(return_X_y=True)
    >>> y = np.full(len(X), -1)
    >>> y[:100] = digit[:100]
    >>> model = DiffusionClassifier(image_shape=(8, 8), n_neighbors=10).fit(X, y)
    >>> bool(np.mean(model.transduction_ == digit) > 0.9)
    True
    """

    def __init__(
        self,
        method="poisson",
        *,
        image_shape=None,
        n_neighbors=None,
        metric=None,
        canonicalize=None,
        graph_options=None,
        alpha=0.995,
        priors=None,
        sources="labels",
        tol=1e-5,
        max_iter=2000,
    ):
        self.method = method
        self.image_shape = image_shape
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.canonicalize = canonicalize
        self.graph_options = graph_options
        self.alpha = alpha
        self.priors = priors
        self.sources = sources
        self.tol = tol
        self.max_iter = max_iter

    def graph_settings(self) -> GraphSettings:
        """Return the settings of the graph that `fit` builds."""
        changes = dict(self.graph_options or {})
        for name in ("n_neighbors", "metric", "canonicalize"):
            if getattr(self, name) is not None:
                changes[name] = getattr(self, name)
        if self.image_shape is None:
            return GraphSettings.from_dict(changes)
        return image_graph_settings(self.image_shape, **changes)

    def fit(self, X, y):
        """Build the graph of the rows and diffuse the labels over it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a NeighborGraph
            With ``metric="precomputed"``, weights of shape (n_samples, n_samples).
        y : array of shape (n_samples,)
            Classes; -1 (for names: "-1", "" or None) means unlabelled.
        """
        y = np.asarray(y)
        W = self._read_graph(X, y)
        labeled, targets = self._read_labels(y)
        self.label_distributions_, scores = diffuse(
            W, labeled, targets, len(self.classes_),
            method=self.method, alpha=self.alpha, priors=self.priors, sources=self.sources,
            tol=self.tol, max_iter=self.max_iter,
        )  # fmt: skip
        self._finish(scores)
        return self

    def _finish(self, scores):
        # scikit-learn expects at least one; a graph of labelled points only needs none.
        self.n_iter_, self.residual_ = max(1, scores.n_iterations), scores.residual
        self.is_reached_ = scores.is_reached
        self.transduction_ = self._names(self.label_distributions_, scores.is_reached)
        self._note_unreached(scores.is_reached)
        if not scores.is_converged:
            warnings.warn(
                f"The residual is {scores.residual:.1e} after {scores.n_iterations} "
                f"iterations, above tol={self.tol:.1e}. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities of new rows, (n_rows, n_classes).

        Each row is attached to its neighbours among the training rows, under the metric of the
        graph. Relative confidences, not calibrated ones. With a precomputed graph ``X`` holds
        the weights of the new rows over the old ones, (n_rows, n_samples).
        """
        return self._extend(X)[0]

    def predict(self, X) -> np.ndarray:
        """Return the classes of new rows; -1 where no neighbour was reached by a label."""
        return self._names(*self._extend(X))

    def _extend(self, X):
        extension = self._extension(X)
        return extend_labels(extension, self.label_distributions_, self.is_reached_)


def fit_predict(inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """Diffuse the labels of one draw over the graph of the earlier stage.

    ``settings``: ``method`` ("poisson", "spreading", "propagation"), ``alpha``, ``priors``,
    ``sources``, ``tol``, ``max_iter`` as in `diffuse`. ``seed`` is not used: nothing is random.
    """
    if inputs.graph is None:
        raise InputError("The diffusion methods need a graph. Name one in the method's chain.")
    if inputs.task != "classification":
        raise InputError(f"The diffusion methods classify; the task is {inputs.task!r}.")
    proba, scores = diffuse(inputs.graph.W, labeled, targets, n_classes, **settings)
    labels = np.where(scores.is_reached, proba.argmax(axis=1), -1)
    labels_new = proba_new = None
    if inputs.extension is not None:
        proba_new, reached = extend_labels(inputs.extension, proba, scores.is_reached)
        labels_new = np.where(reached, proba_new.argmax(axis=1), -1)
    details = {
        "n_iterations": scores.n_iterations,
        "residual": scores.residual,
        "unreached": int(np.sum(~scores.is_reached)),
    }
    status = "ok" if scores.is_converged else "not converged"
    return Outcome(
        labels=labels,
        proba=proba,
        labels_new=labels_new,
        proba_new=proba_new,
        status=status,
        details=details,
    )
