"""`MbedClassifier`: Mbed as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from fewfold.exceptions import InputError
from fewfold.mbed.annealing import Path, Problem, anneal
from fewfold.mbed.cost import log_memberships
from fewfold.mbed.gradient import DenseSNE, workers
from fewfold.mbed.neighborhoods import SparseNeighborhoods
from fewfold.mbed.options import check_options, check_prior, option
from fewfold.mbed.placement import Placement, normalisers, place
from fewfold.mbed.sampled import SampledSNE
from fewfold.mbed.selection import candidates
from fewfold.mbed.similarities import dissimilarities
from fewfold.mbed.starts import (
    spectral_coordinates,
    start_from_labels,
    turn_to_clusters,
    turn_to_labels,
)
from fewfold.mbed.targets import read_targets


class MbedClassifier(ClassifierMixin, BaseEstimator):
    """Large-margin embedding: class boundaries are fixed and the data move ([mbed]).

    Parameters
    ----------
    n_classes : int, optional
        Number of classes. By default the classes seen in ``y``; needed to cluster without labels.
    variant : {"default", "published"}
        "published" is Algorithm 1 as printed: one length scale and a random start. "default"
        starts from random walks of the labels, and chooses the neighbourhoods.
    similarity : {"auto", "global", "local", "diffused", "sparse"}, optional
        Overrides the variant's neighbourhoods. "auto" takes global or diffused ones, whichever
        label the labelled points better when each is left out; where they tie, both are embedded
        and the larger criterion J is kept. Beyond ``max_exact`` rows "sparse" is used.
    start : {"random", "spectral", "labels"}, optional
        Overrides the variant's start. "labels" places points by random walks from the labelled
        ones; "spectral" turns spectral coordinates towards them (or, without labels, towards
        their k-means clusters).
    metric : {"euclidean", "cosine", "precomputed"}
        With "precomputed", ``X`` holds dissimilarities (n, n), no metric needed, and new rows their
        dissimilarities to the training rows (m, n). A sparse ``X`` holds them for the neighbours in
        a graph only (as scikit-learn's ``kneighbors_graph(mode="distance")`` gives them); "auto"
        then means diffused up to ``max_exact`` rows, and sparse beyond.
    n_dims : int, optional
        Dimensions of the embedding, by default the number of classes.
    perplexity : float
        Effective number of neighbours of local, diffused and sparse similarities.
    walk : float
        Share of the random walk that goes on at each step (diffused).
    prior : array of shape (n_classes,), optional
        Known class shares; without it classes are balanced by entropy.
    boundary_weight : float
        Factor of the Jensen-Shannon term.
    n_annealing, n_steps : int
        Annealing steps, and conjugate-gradient steps in all.
    n_init : int
        Runs from different random numbers; the one with the largest criterion is kept.
    max_exact : int
        Rows up to which the exact gradient is used.
    n_neighbors, n_samples : int
        Neighbours and sampled columns of the approximation beyond ``max_exact``.
    n_jobs : int, optional
        Threads; all cores by default. Results do not depend on it.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    embedding_ : ndarray of shape (n, n_dims)
        The step with the largest criterion J.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows.
    label_distributions_ : ndarray of shape (n, n_classes)
    path_ : fewfold.mbed.annealing.Path
        All annealing steps, with cost and criterion.
    directions_ : ndarray of shape (n_classes, n_dims)
    similarity_ : str
        The neighbourhoods used.
    lambda_ : float
        Length scale of the memberships at the step kept.

    Notes
    -----
    O(n^2 d) per gradient up to ``max_exact`` rows, O(n (n_samples + n_neighbors) d) beyond.
    Probabilities depend on the heuristic ``lambda_`` and are not calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from fewfold import MbedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (30, 5)), rng.normal(4, 1, (30, 5))])
    >>> y = np.full(60, -1)
    >>> y[[0, 1, 30, 31]] = [0, 0, 1, 1]
    >>> model = MbedClassifier(random_state=0, n_steps=100).fit(X, y)
    >>> int((model.transduction_ != np.repeat([0, 1], 30)).sum())
    0
    """

    def __init__(
        self,
        n_classes=None,
        *,
        variant="default",
        similarity=None,
        start=None,
        metric="euclidean",
        n_dims=None,
        perplexity=5.0,
        walk=0.97,
        prior=None,
        boundary_weight=1.0,
        n_annealing=20,
        n_steps=500,
        n_init=1,
        max_exact=5000,
        n_neighbors=30,
        n_samples=2000,
        n_jobs=None,
        random_state=None,
    ):
        self.n_classes = n_classes
        self.variant = variant
        self.similarity = similarity
        self.start = start
        self.metric = metric
        self.n_dims = n_dims
        self.perplexity = perplexity
        self.walk = walk
        self.prior = prior
        self.boundary_weight = boundary_weight
        self.n_annealing = n_annealing
        self.n_steps = n_steps
        self.n_init = n_init
        self.max_exact = max_exact
        self.n_neighbors = n_neighbors
        self.n_samples = n_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    # ------------------------------------------------------------ fitting

    def fit(self, X, y=None, label_proba=None):
        """Embed the rows and label them.

        Parameters
        ----------
        X : array or sparse array of shape (n, n_features)
            Or dissimilarities (n, n) with ``metric="precomputed"``.
        y : array of shape (n,), optional
            Class labels, -1 for unlabelled rows. Without y, or with every label -1, the rows are
            clustered into ``n_classes``.
        label_proba : array of shape (n, n_classes), optional
            Soft labels: rows that sum to 1 replace the label of y; rows of NaN leave it.

        Returns
        -------
        self
        """
        X = self._check_rows(X, reset=True)
        self._on_graph = self.metric == "precomputed" and sparse.issparse(X)
        self.classes_, labeled, targets = read_targets(y, label_proba, X.shape[0], self.n_classes)
        check_options(self, X.shape[0], len(self.classes_))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        K = len(self.classes_)
        d = self.n_dims or max(2, K)
        prior = check_prior(self.prior, K)
        problem = Problem(X.shape[0], K, d, labeled, targets, prior, float(self.boundary_weight))
        with workers(self.n_jobs) as pool:
            runs = []
            for name, rule, P in candidates(self, X, labeled, targets):
                sne = self._sne(P, pool, rng)
                for child in rng.spawn(self.n_init):
                    runs.append((self._run(sne, P, problem, child), rule, name))
            self.path_, self.neighborhoods_, self.similarity_ = max(runs, key=_criterion)
            self._keep(problem)
            self.normalisers_ = normalisers(self.embedding_)
        self._X = X
        return self

    def _run(self, sne, P, problem, rng) -> Path:
        start, how = None, option(self, "start")
        if how == "labels" and len(problem.labeled):
            start = start_from_labels(
                P, problem.directions, problem.labeled, problem.targets, self.walk, rng
            )
        elif how != "random" and problem.n > problem.n_components + 1:
            V = spectral_coordinates(P, problem.n_components)
            if len(problem.labeled):
                start = turn_to_labels(V, problem.directions, problem.labeled, problem.targets)
            else:
                start = turn_to_clusters(V, problem.directions, rng)
        return anneal(
            sne, problem, rng, n_steps=self.n_annealing, n_total=self.n_steps, start=start
        )

    def _keep(self, problem):
        step = self.path_.steps[self.path_.best]
        self.embedding_ = step.Y
        self.lambda_ = step.lam
        self.directions_ = problem.directions
        self.label_distributions_ = np.exp(
            log_memberships(step.Y.astype(np.float64), problem.directions, step.lam)
        )
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]

    def _sne(self, P, pool, rng):
        if isinstance(P, np.ndarray):
            return DenseSNE(P, pool)
        n_samples = self.n_samples if P.shape[0] > self.max_exact else P.shape[0]
        return SampledSNE(P, pool, n_samples, rng.spawn(1)[0])

    # ------------------------------------------------------------ new rows

    def place(self, X) -> np.ndarray:
        """Return positions (m, n_dims) for new rows, the training rows fixed."""
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        if isinstance(self.neighborhoods_, SparseNeighborhoods):
            S = self.neighborhoods_.extend(self._X, X)
        else:
            S = self.neighborhoods_.extend(self._between(X))
        return self._place(S)

    def _place(self, S):
        step = Placement(
            self.embedding_,
            self.normalisers_,
            self.directions_,
            self.lambda_,
            float(self.boundary_weight),
        )
        total = np.asarray(S.sum(axis=1)).ravel()[:, None]
        mean = np.asarray(S @ self.embedding_.astype(np.float64)) / total
        nearest = self.embedding_[np.asarray(S.argmax(axis=1)).ravel()].astype(np.float64)
        with workers(self.n_jobs) as pool:
            return place(step, S, [mean, nearest], pool)

    def predict_proba(self, X) -> np.ndarray:
        """Return class memberships (m, n_classes) of new rows."""
        Y = self.place(X)
        return np.exp(log_memberships(Y, self.directions_, self.lambda_))

    def predict_proba_by_weights(self, weights, degrees) -> np.ndarray:
        """Return class memberships of new rows of a graph given as sparse ``X``.

        Parameters
        ----------
        weights : csr_array of shape (m, n)
            Weights of the new rows over the training rows; every row needs at least one.
        degrees : ndarray of shape (n,)
            Each training row's sum of weights in the graph.

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        check_is_fitted(self)
        if not self._on_graph:
            raise InputError(
                "Weights of new rows place them on a graph, but the model was fitted without one. "
                "Use predict_proba, or fit on sparse distances with metric='precomputed'."
            )
        S = self.neighborhoods_.extend_weights(weights, np.asarray(degrees, np.float64))
        return np.exp(log_memberships(self._place(S), self.directions_, self.lambda_))

    def predict(self, X) -> np.ndarray:
        """Return labels (m,) of new rows."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def fit_predict(self, X, y=None, label_proba=None) -> np.ndarray:
        """Fit and return ``transduction_``."""
        return self.fit(X, y, label_proba).transduction_

    def _between(self, X):
        if self._on_graph and not sparse.issparse(X):
            raise InputError(
                "The model was fitted on sparse distances; new rows must be sparse too, with one "
                "stored distance per neighbour."
            )
        if self.metric == "precomputed":
            return X.toarray() if sparse.issparse(X) and not self._on_graph else X
        return dissimilarities(X, self._X, metric=self.metric)

    # ------------------------------------------------------------ checks

    def _check_rows(self, X, reset):
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        if self.metric != "precomputed":
            return X
        if reset and X.shape[0] != X.shape[1]:
            raise InputError(
                f"metric='precomputed' needs dissimilarities of shape (n, n), got {X.shape}. "
                "Give all pairs, or features with another metric."
            )
        if X.min() < 0:
            raise InputError(
                f"Dissimilarities must be 0 or larger, found {X.min():g}. Shift or square them."
            )
        return X


def _criterion(run):
    path = run[0]
    return path.steps[path.best].criterion
