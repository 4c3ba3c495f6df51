"""A classifier that diffuses a few labels over a neighbor graph."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from fewfold.exceptions import InputError
from fewfold.graph.build import GraphSettings
from fewfold.methods.diffusion.folds import fold_scores
from fewfold.methods.diffusion.spreading import (
    METHODS,
    class_priors,
    factors_for_shares,
    mass_factors,
    poisson_scores,
    propagation_scores,
    softmax_scale,
    spreading_scores,
    with_factors,
)
from fewfold.methods.estimators import GRAPH_STATE, GraphClassifier
from fewfold.methods.state import Field

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
            sources="classes", tol=1e-5, max_iter=2000):  # fmt: skip
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
        Class shares. Spreading and propagation always normalize the class mass by them (None:
        by those of the labels); Poisson learning only if they are given.
    sources : {"labels", "classes"}
        Of Poisson learning: each label is a source of strength 1, or each class has one strength
        that its labels share. The same where all classes have equally many labels; where chance
        gave one class more than another, "labels" (as published) can lose a class altogether.
    tol, max_iter : see `fewfold.methods.diffusion.solver.conjugate_gradients`

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
    options = {"method": method, "priors": priors, "sources": sources}
    return to_probabilities(scores.values, scores.is_reached, targets, n_classes, **options), scores


def to_probabilities(values, is_reached, targets, n_classes, *, method, priors, sources, some=None):
    """Turn the scores of a diffusion into probabilities; arguments as of `diffuse`.

    Parameters
    ----------
    values : ndarray of shape (n, n_classes)
    is_reached : bool ndarray of shape (n,)
    some : int ndarray, optional
        Rows by which the scale and the class shares are found; by default all.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Rows that no label reaches are uniform.
    """
    everywhere = is_reached.all()
    known = values if everywhere else values[is_reached]
    seen = slice(None)
    if some is not None:
        seen = some if everywhere else (np.cumsum(is_reached) - 1)[some[is_reached[some]]]
    shares = class_priors(priors, targets, n_classes)
    if method == "poisson":
        counts = np.bincount(targets, minlength=n_classes)
        if sources == "classes":
            known = known / np.maximum(counts, 1)  # the equation is linear in each class's sources
        known = softmax(known * softmax_scale(known[seen]), axis=1)
        # A class without label has a score of exactly zero: never the answer, nor a chance.
        known[:, counts == 0] = 0
        known /= known.sum(axis=1, keepdims=True)
        if priors is not None:
            known = with_factors(known, factors_for_shares(known[seen], shares))
    else:
        known = known * mass_factors(known[seen], shares)
        total = known.sum(axis=1, keepdims=True)
        known = np.where(total > 0, known / np.where(total > 0, total, 1), shares)
    if everywhere:
        return known
    proba = np.full(values.shape, 1 / n_classes)
    proba[is_reached] = known
    return proba


def held_out_probabilities(found, labeled, targets, n_classes, fold, **options):
    """Return what scores without each fold say of the labels of that fold.

    Parameters
    ----------
    found : FoldScores
    labeled, targets, n_classes, fold : as they were given to `fold_scores`
    **options
        ``method``, ``priors`` and ``sources`` of `to_probabilities`.

    Returns
    -------
    ndarray of shape (m, n_classes)
        Where no label is left in a row's part of the graph, the shares of the classes among the
        other labels.
    """
    place = np.searchsorted(found.rows, labeled)
    held_out = np.zeros((len(labeled), n_classes))
    for held, (values, is_reached) in enumerate(found.without):
        kept, out = targets[fold != held], np.flatnonzero(fold == held)
        present, there = np.unique(kept), is_reached[place[out]]
        held_out[out] = np.bincount(kept, minlength=n_classes) / len(kept)
        if len(present) > 1 and there.any():
            proba = to_probabilities(
                values[:, present], is_reached, np.searchsorted(present, kept), len(present),
                **options,
            )  # fmt: skip
            held_out[np.ix_(out[there], present)] = proba[place[out[there]]]
    return held_out


def extend_labels(extension, proba, is_reached):
    """Label new rows by the weighted mean of their neighbors' probabilities.

    Parameters
    ----------
    extension : csr_array of shape (n_new, n)
    proba : ndarray of shape (n, n_classes)
    is_reached : bool ndarray of shape (n,)

    Returns
    -------
    proba_new : ndarray of shape (n_new, n_classes)
        Uniform where no neighbor was reached by a label.
    is_reached_new : bool ndarray of shape (n_new,)
    """
    extension = sparse.csr_array(extension)
    votes = extension @ np.where(is_reached[:, None], proba, 0.0)
    total = extension @ is_reached.astype(float)
    found = total > 0
    out = np.full(votes.shape, 1 / proba.shape[1])
    out[found] = votes[found] / total[found, None]
    return out / out.sum(axis=1, keepdims=True), found


@dataclass(eq=False, repr=False)
class DiffusionClassifier(GraphClassifier):
    """Label all samples from a few by diffusion over a neighbor graph.

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
        Most steps of the solver; a run that needs more gives a `ConvergenceWarning`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Label of each training row; -1 where no label is connected to it.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    unreached_ : int ndarray
        Training rows that no label reaches.
    graph_ : NeighborGraph or csr_array
    recall_ : float or None
        Share of the true neighbors in the graph, measured on a sample; None of an exact search.
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

    _state = (*GRAPH_STATE, Field("label_distributions_", "float", ("n", "k"), low=0, high=1))

    method: str = "poisson"
    _: KW_ONLY
    image_shape: object = None
    n_neighbors: object = None
    metric: object = None
    canonicalize: object = None
    graph_options: object = None
    alpha: float = 0.995
    priors: object = None
    sources: str = "classes"
    tol: float = 1e-5
    max_iter: int = 2000

    def graph_settings(self) -> GraphSettings:
        """Return the settings of the graph that `fit` builds.

        Returns
        -------
        GraphSettings
        """
        changes = dict(self.graph_options or {})
        for name in ("n_neighbors", "metric", "canonicalize"):
            if getattr(self, name) is not None:
                changes[name] = getattr(self, name)
        if self.image_shape is None:
            return GraphSettings.from_dict(changes)
        return image_graph_settings(self.image_shape, **changes)

    def fit(self, X, y, *, graph=None):
        """Build the graph of the rows and diffuse the labels over it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a NeighborGraph
            With ``metric="precomputed"``, weights of shape (n_samples, n_samples).
        y : array of shape (n_samples,)
            Classes; see `fewfold.labels` for what marks an unlabeled row.
        graph : NeighborGraph, optional
            The graph of the rows, if it was built already.

        Returns
        -------
        self
        """
        W, labels = self._read(X, y, graph)
        proba, scores = diffuse(
            W,
            labels.rows,
            labels.codes,
            labels.n_classes,
            method=self.method,
            alpha=self.alpha,
            priors=self.priors,
            sources=self.sources,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return self._keep(proba, scores)

    def fit_folds(self, X, y, fold, *, graph=None) -> np.ndarray:
        """Fit to all labels, and return the held-out prediction of each label.

        Far cheaper than a fit for each fold where rows are many: see
        `fewfold.methods.diffusion.folds`.

        Parameters
        ----------
        X, y, graph
            As in `fit`.
        fold : int array of shape (n_labeled,)
            The fold of each labeled row, in the order of the rows.

        Returns
        -------
        ndarray of shape (n_labeled, n_classes)
            Class probabilities; where no label is left in a row's part of the graph, the shares
            of the classes among the labels.
        """
        W, labels = self._read(X, y, graph)
        rows, codes, k = labels.rows, labels.codes, labels.n_classes
        found = self._solved(W, rows, codes, k, np.asarray(fold))
        options = {"method": self.method, "priors": self.priors, "sources": self.sources}
        held_out = held_out_probabilities(found, rows, codes, k, np.asarray(fold), **options)
        whole = found.whole
        proba = to_probabilities(
            whole.values, whole.is_reached, codes, k, some=found.rows, **options
        )
        self._keep(proba.astype(np.float32), whole)
        return held_out

    def _solved(self, W, rows, codes, k, fold):
        """Return the scores with and without each fold; once for settings that share them."""
        options = {"method": self.method, "tol": self.tol, "max_iter": self.max_iter}
        if self.method == "spreading":
            options["alpha"] = self.alpha
        key = (k, repr(options), rows.tobytes(), codes.tobytes(), fold.tobytes())
        if not _last or _last[0] is not W or _last[1] != key:
            _last[:] = []  # before the next: either may be large
            _last[:] = [W, key, fold_scores(W, rows, codes, k, fold, **options)]
        return _last[2]

    def _keep(self, proba, scores):
        # scikit-learn expects at least one; a graph of labeled points only needs none.
        self.n_iter_, self.residual_ = max(1, scores.n_iterations), scores.residual
        if not scores.is_converged:
            warnings.warn(
                f"The residual is {scores.residual:.1e} after {scores.n_iterations} "
                f"iterations, above tol={self.tol:.1e}. Raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        details = {
            "n_iterations": scores.n_iterations,
            "residual": scores.residual,
            "unreached": int(np.sum(~scores.is_reached)),
        }
        if self.recall_ is not None:
            details["recall"] = self.recall_
        status = "ok" if scores.is_converged else "not converged"
        return self._finish(None, proba, scores.is_reached, details=details, status=status)

    def _decide(self, X, extension=None):
        # Each row is attached to its neighbors among the training rows, under the graph's metric.
        weights = self._extension(X, extension)
        return extend_labels(weights, self.label_distributions_, self.is_reached_)


_last: list = []  # the scores solved last: candidates of one job differ by what follows them
