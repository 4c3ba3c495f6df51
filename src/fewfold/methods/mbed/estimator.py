"""`MbedClassifier`: Mbed as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, check_random_state

from fewfold.exceptions import InputError
from fewfold.graph.build import extend_graph
from fewfold.graph.weights import as_matrix
from fewfold.methods.estimators import (
    CLASSES,
    PLACED,
    SemiSupervisedClassifier,
    as_float,
    pack_graph,
    unpack_graph,
)
from fewfold.methods.mbed.annealing import Path, Problem, anneal
from fewfold.methods.mbed.cost import log_memberships
from fewfold.methods.mbed.gradient import DenseSNE, workers
from fewfold.methods.mbed.neighborhoods import SparseNeighborhoods
from fewfold.methods.mbed.options import check_prior, check_sizes, option
from fewfold.methods.mbed.placement import Placement, near_starts, normalizers, place
from fewfold.methods.mbed.rule_state import RULE_STATE, rule_from_state, rule_state
from fewfold.methods.mbed.sampled import SampledSNE
from fewfold.methods.mbed.selection import better_neighborhoods, candidates, fit_neighborhoods
from fewfold.methods.mbed.similarities import dissimilarities
from fewfold.methods.mbed.stage import neighborhoods_from_arrays
from fewfold.methods.mbed.starts import (
    label_walk,
    spectral_coordinates,
    start_from_labels,
    turn_to_clusters,
    turn_to_labels,
)
from fewfold.methods.mbed.targets import read_targets
from fewfold.methods.parameters import boolean, one_of, positive
from fewfold.methods.state import Field, Setting


@dataclass(eq=False, repr=False)
class MbedClassifier(SemiSupervisedClassifier):
    """Large-margin embedding: class boundaries are fixed and the data move ([mbed-2005]).

    Parameters
    ----------
    n_classes : int, optional
        Number of classes. By default the classes seen in ``y``; needed to cluster without labels.
    variant : {"default", "published"}
        "published" is Algorithm 1 of the paper (see Notes for what it leaves open). "default" is
        fewfold's: it starts from random walks of the labels, chooses the neighborhoods, keeps
        only steps that fit the labeled points, and keeps given labels.
    similarity : {"auto", "global", "local", "diffused", "sparse"}, optional
        Overrides the variant's neighborhoods. "auto" takes global or diffused ones, whichever
        label the labeled points better when each is left out; where neither is clearly better,
        both are embedded without a third of the labels at a time, and those whose embeddings
        label the left out ones better are taken. Without labels diffused ones are taken, beyond
        ``max_exact`` rows "sparse" ones.
    start : {"random", "spectral", "labels"}, optional
        Overrides the variant's start. "labels" places points by random walks from the labeled
        ones; "spectral" turns spectral coordinates towards them (or, without labels, towards
        their k-means clusters).
    metric : {"euclidean", "cosine", "precomputed"}
        With "precomputed", ``X`` holds dissimilarities (n, n), no metric needed, and new rows their
        dissimilarities to the training rows (m, n). A sparse ``X`` holds them for the neighbors in
        a graph only (as scikit-learn's ``kneighbors_graph(mode="distance")`` gives them); "auto"
        then means diffused up to ``max_exact`` rows, and sparse beyond.
    n_dims : int, optional
        Dimensions of the embedding, by default the number of classes.
    perplexity : float
        Effective number of neighbors of local, diffused and sparse similarities.
    walk : float
        Probability that the random walk continues at each step (diffused).
    prior : array of shape (n_classes,), optional
        Known class shares; without it classes are balanced by entropy.
    boundary_weight : float
        Factor of the Jensen-Shannon term.
    label_distance : float
        Distance from the origin, in radii of the plain embedding, that the confidence in a label
        stands for: 2 by Section 6 of the paper, 1 by its Eq. 21.
    n_annealing, n_steps : int
        Annealing steps, and conjugate-gradient steps in all.
    n_init : int
        Runs from different random numbers; the one with the largest criterion is kept.
    max_exact : int
        Rows up to which the exact gradient is used.
    n_neighbors, n_samples : int
        Neighbors and sampled columns of the approximation beyond ``max_exact``.
    n_jobs : int, optional
        Threads; all cores by default. Results do not depend on it.
    random_state : int, RandomState or None
        Seed of the start and of the sampled columns.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    embedding_ : ndarray of shape (n, n_dims)
        The step kept: of the steps that count, the one with the largest criterion J.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows; rows with a given label keep it, except with
        ``variant="published"``, where the embedding decides.
    label_distributions_ : ndarray of shape (n, n_classes)
    start_distributions_ : ndarray of shape (n, n_classes) or None
        Class shares of the random walks that ``start="labels"`` starts from: what the labels and
        neighborhoods say before anything is embedded.
    path_ : fewfold.methods.mbed.annealing.Path
        All annealing steps, with cost and criterion.
    directions_ : ndarray of shape (n_classes, n_dims)
    similarity_ : str
        The neighborhoods used.
    lambda_ : float
        Length scale of the memberships at the step kept.

    Notes
    -----
    O(n^2 d) per gradient up to ``max_exact`` rows, O(n (n_samples + n_neighbors) d) beyond.
    Probabilities depend on the heuristic ``lambda_`` and are not calibrated.

    What the paper leaves open or prints in two ways, and what ``variant="published"`` takes:
    confidence of a label by a point at distance 2 r (Section 6; Eq. 21 and line 8 print r:
    ``label_distance=1``); p_ij proportional to exp(-d^2 / sigma^2); Gaussians of lines 2 and 5 of
    *variance* 0.1 and 0.001 r; p = 20 in line 7; in line 9 the other classes share 1 - tau; J
    counts a labeled point for its label and the others for the side they are on; covariances
    of J are sums over points; conjugate gradients with a line search of our own.

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

    _state = (
        CLASSES,
        *PLACED,
        *RULE_STATE,
        Field("embedding_", "float", ("n", "p")),
        Field("normalizers_", "float", ("n",), low=0),
        Field("directions_", "float", ("k", "p")),
        Field("degrees_", "float", ("n",), low=0, optional=True),
        Setting("lambda_", positive()),
        Setting("boundary_weight", positive()),
        Setting("metric_", one_of("euclidean", "cosine", "precomputed")),
        Setting("on_graph_", boolean()),
    )

    n_classes: int | None = None
    _: KW_ONLY
    variant: str = "default"
    similarity: str | None = None
    start: str | None = None
    metric: str = "euclidean"
    n_dims: int | None = None
    perplexity: float = 5.0
    walk: float = 0.97
    prior: tuple | None = None
    boundary_weight: float = 1.0
    label_distance: float = 2.0
    n_annealing: int = 20
    n_steps: int = 500
    n_init: int = 1
    max_exact: int = 5000
    n_neighbors: int = 30
    n_samples: int = 2000
    n_jobs: int | None = None
    random_state: int | None = None
    _dtype = np.float64

    def __sklearn_tags__(self):
        """Declare accepted input for scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    # ------------------------------------------------------------ fitting

    def fit(self, X, y=None, label_proba=None, *, graph=None, manifold=None):
        """Embed the rows and label them.

        Parameters
        ----------
        X : array or sparse array of shape (n, n_features)
            Or dissimilarities (n, n) with ``metric="precomputed"``.
        y : array of shape (n,), optional
            Classes; -1, NaN, None, "" or "-1" marks unlabeled rows (`fewfold.labels`). Without
            y, or without any label, the rows are clustered into ``n_classes``.
        label_proba : array of shape (n, n_classes), optional
            Soft labels: rows that sum to 1 replace the label of y; rows of NaN leave it.
        graph : NeighborGraph, optional
            A graph of the rows, whose neighbors and distances are embedded instead of ``X``.
        manifold : fewfold.methods.base.ManifoldModel, optional
            The neighborhoods of the rows, if they were computed already.

        Returns
        -------
        self
        """
        X = self._read_rows(X, graph)
        self.classes_, labeled, targets = read_targets(y, label_proba, X.shape[0], self.n_classes)
        self._check_parameters()
        check_sizes(self, X.shape[0], len(self.classes_))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        K = len(self.classes_)
        d = self.n_dims or max(2, K)
        prior = check_prior(self.prior, K)
        problem = Problem(X.shape[0], K, d, labeled, targets, prior, float(self.boundary_weight))
        with workers(self.n_jobs) as pool:
            found = self._neighborhoods(X, manifold)
            pairs = candidates(found, K, labeled, targets)
            best = 0
            if len(pairs) > 1:
                steps = max(10 + self.n_annealing, self.n_steps // 5)

                def embed(P, problem, rng):
                    kept = self._run(self._sne(P, pool, rng), P, problem, rng, steps).kept
                    return (kept.Y @ problem.directions.T).argmax(axis=1)

                best = better_neighborhoods(pairs, problem, embed, rng.spawn(1)[0])
            self.similarity_, self.neighborhoods_, P = pairs[best]
            sne = self._sne(P, pool, rng)
            paths = [
                self._run(sne, P, problem, child, self.n_steps) for child in rng.spawn(self.n_init)
            ]
            self.path_ = max(paths, key=self._score)
            self.normalizers_ = normalizers(self.path_.kept.Y)
        self.start_distributions_ = None
        if len(labeled) and option(self.variant, "start", self.start) == "labels":
            self.start_distributions_ = label_walk(P, labeled, targets, self.walk)
        return self._keep(problem)

    def _score(self, path: Path) -> tuple:
        """Return the score of a restart: the share of fitted labeled points, if used, and J."""
        counts = option(self.variant, "only_fitted")
        return counts and path.kept.share_fitted, path.kept.criterion

    def _neighborhoods(self, X, manifold):
        if manifold is not None:
            return neighborhoods_from_arrays(manifold.arrays, X.shape[0])
        names = ("max_exact", "n_neighbors", "perplexity", "walk")
        options = {name: getattr(self, name) for name in names}
        similarity = option(self.variant, "similarity", self.similarity)
        return fit_neighborhoods(X, similarity=similarity, metric=self.metric_, **options)

    def _read_rows(self, X, graph):
        """Return the data to embed: rows, dissimilarities, or the distances of a graph."""
        self.graph_, self.metric_, self.degrees_ = graph, self.metric, None
        if graph is None:
            X = self._check_rows(X, reset=True)
            self.X_fit_ = X
        else:
            self.n_features_in_, self.X_fit_, self.metric_ = X.shape[1], X, "precomputed"
            self.degrees_ = np.asarray(graph.W.sum(axis=1)).ravel()
            found = graph.neighbors
            X = as_matrix(found, found.distances, X.shape[0])
        self.on_graph_ = self.metric_ == "precomputed" and sparse.issparse(X)
        return X

    def _run(self, sne, P, problem, rng, n_steps) -> Path:
        start, how = None, option(self.variant, "start", self.start)
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
            sne,
            problem,
            rng,
            n_steps=self.n_annealing,
            n_total=n_steps,
            start=start,
            label_distance=self.label_distance,
            only_fitted=option(self.variant, "only_fitted"),
        )

    def _keep(self, problem):
        path, step = self.path_, self.path_.kept
        self.embedding_, self.lambda_, self.directions_ = step.Y, step.lam, problem.directions
        proba = np.exp(log_memberships(step.Y.astype(np.float64), problem.directions, step.lam))
        details = {
            "similarity": self.similarity_,
            "radius": path.radius,
            "n_gradients": path.n_gradients,
            "step_kept": path.best,
            "lambda": [step.lam for step in path.steps],
            "cost": [step.cost for step in path.steps],
            "criterion": [step.criterion for step in path.steps],
            "share_fitted": [step.share_fitted for step in path.steps],
        }
        if self.start_distributions_ is not None:
            same = self.start_distributions_.argmax(axis=1) == proba.argmax(axis=1)
            details["same_as_start"] = float(same.mean())
        self._finish(None, proba, details=details)
        if option(self.variant, "keep_labels"):
            is_sure = problem.targets.max(axis=1, initial=0) == 1
            given = self.classes_[problem.targets.argmax(axis=1)]
            self.transduction_[problem.labeled[is_sure]] = given[is_sure]
        return self

    def _sne(self, P, pool, rng):
        if isinstance(P, np.ndarray):
            return DenseSNE(P, pool)
        n_samples = self.n_samples if P.shape[0] > self.max_exact else P.shape[0]
        return SampledSNE(P, pool, n_samples, rng.spawn(1)[0])

    # ------------------------------------------------------------ new rows

    def place(self, X, extension=None) -> np.ndarray:
        """Place new rows in the embedding, the training rows fixed.

        Parameters
        ----------
        X : array or sparse array of shape (m, n_features)
        extension : csr_array of shape (m, n), optional
            Their weights over the training rows, for models fitted on a graph, if they were
            computed already.

        Returns
        -------
        ndarray of shape (m, n_dims)
        """
        check_is_fitted(self)
        if self.graph_ is not None:
            if extension is None:
                X = self._check_rows(X, reset=False)
                extension = extend_graph(self.graph_, self.X_fit_, X)
            return self._place(self.neighborhoods_.extend_weights(extension, self.degrees_))
        X = self._check_rows(X, reset=False)
        if isinstance(self.neighborhoods_, SparseNeighborhoods):
            return self._place(self.neighborhoods_.extend(self.X_fit_, X))
        return self._place(self.neighborhoods_.extend(self._between(X)))

    def _place(self, S):
        step = Placement(
            self.embedding_,
            self.normalizers_,
            self.directions_,
            self.lambda_,
            float(self.boundary_weight),
        )
        with workers(self.n_jobs) as pool:
            return place(step, S, near_starts(S, self.embedding_), pool)

    def _decide(self, X, extension=None):
        return np.exp(log_memberships(self.place(X, extension), self.directions_, self.lambda_))

    def _pack(self) -> dict:
        special = pack_graph(self.graph_) | rule_state(self.neighborhoods_)
        needs_rows = self.graph_ is not None or self.metric_ != "precomputed"
        special["X_fit_"] = as_float(self.X_fit_) if needs_rows else None
        return {f.name: special.get(f.name, getattr(self, f.name, None)) for f in self._state}

    def _unpack(self, values: dict) -> None:
        self.graph_ = unpack_graph(values)
        self.neighborhoods_ = rule_from_state(values)
        super()._unpack(values)
        self.metric = self.metric_ if self.graph_ is None else "euclidean"
        if self.X_fit_ is None:
            self.n_features_in_ = len(self.embedding_)

    def _between(self, X):
        if self.on_graph_ and not sparse.issparse(X):
            raise InputError(
                "The model was fitted on sparse distances; new rows must be sparse too, with one "
                "stored distance per neighbor."
            )
        if self.metric_ == "precomputed":
            return X.toarray() if sparse.issparse(X) and not self.on_graph_ else X
        return dissimilarities(X, self.X_fit_, metric=self.metric)

    # ------------------------------------------------------------ checks

    def _check_rows(self, X, reset):
        X = self._rows(X, reset=reset)
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
