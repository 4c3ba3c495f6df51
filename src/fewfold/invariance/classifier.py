"""InvariantSVC: a support vector machine whose kernel knows what does not matter."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.estimator_parts import VotingMixin
from fewfold.exceptions import InputError
from fewfold.invariance.deformed import BaseKernel
from fewfold.invariance.graphs import (
    data_laplacian,
    knn_laplacian,
    orbit_laplacians,
    powered,
)
from fewfold.invariance.machines import fit_pair_machines
from fewfold.invariance.samples import (
    LearnsFromCopies,
    copies_of,
    default_transform,
    read_labels,
)
from fewfold.invariance.selection import (
    STRENGTHS,
    WIDTHS,
    Choice,
    middle,
    penalty_scale,
    search,
)
from fewfold.invariance.solver import SOLVERS, Nodes, make_solver
from fewfold.kernels import median_gamma
from fewfold.transforms.symmetry import ring_symmetry

GRAPHS = ("orbit", "knn")


class InvariantSVC(LearnsFromCopies, VotingMixin, ClassifierMixin, BaseEstimator):
    """Support vector machine on a kernel deformed along transformed copies [invariance-2006].

    Each labelled sample becomes a small graph of its transformed copies; the kernel is deformed
    so that decision functions are smooth along them. The machine stays as large as the labelled
    set. Unlabelled rows can join through a neighbour graph of the data.

    Parameters
    ----------
    transform : str, dict, list, Transform, optional
        What does not matter, as in `fewfold.transforms.get_transform`. Default: a full turn in
        steps of 15 degrees for images, "jitter" for other rows.
    image_shape : tuple of int, optional
        Shape of one row: (height, width[, channels]) or (length,).
    deformation : float or sequence, optional
        Strength of the graphs of copies, gamma of Eq. 4; 0 gives a plain machine. Several are a
        choice for ``cv``; without it the middle one is taken. Default: 10, 100, 1000.
    data_deformation : float or sequence
        Strength of the data graph over unlabelled and labelled rows; 0 ignores unlabelled rows.
    data_power : {1, 2, 3}
        Power of the data graph's Laplacian: functions are the smoother.
    kernel : {"rbf", "linear"} or callable
        The kernel that is deformed; a function ``(A, B) -> matrix`` is any other.
    gamma : float, optional
        Width of the RBF kernel, ``exp(-gamma d^2)``. Default: twice one over the median squared
        distance of the rows.
    C : float, optional
        Penalty of margin errors. Default: 10 over the mean of the deformed kernel's diagonal.
    graph : {"orbit", "knn"}
        Copies joined by neighbouring parameters, or to their nearest among all copies.
    n_neighbors : int
        Of graph="knn".
    data_graph : dict, GraphSettings, NeighborGraph, or sparse matrix, optional
        How rows are joined: settings of `fewfold.graph.build.build_graph`, or a graph of the
        rows given to fit. Default: 10 nearest neighbours; for images in the least distance over
        the copies of one of the two.
    cv : int, optional
        Choose ``gamma`` and ``C``, where None, and the strengths, where several, by this many
        folds of the labelled rows.
    solver : {"auto", "exact", "lowrank"}
    n_landmarks : int
        Of the low-rank solver, taken when the nodes are above about 20 000 (40 000 for turns of
        square images that quarter turns are among).
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training rows; given labels are kept.
    choice_ : Choice
        Width, strengths and C used.
    n_nodes_ : int
    deformed_ : Deformed
    machine_ : PairMachines

    Notes
    -----
    ``y == -1`` (numbers) marks unlabelled rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((40, 16))
    >>> y = np.repeat([0, 1], 20)
    >>> X[:20, 5] += 2
    >>> X[20:, 5:7] += 2
    >>> model = InvariantSVC(transform={"name": "rotation", "step": 90}, image_shape=(4, 4))
    >>> model.fit(X, y).n_nodes_
    160
    """

    def __init__(
        self,
        transform=None,
        image_shape=None,
        *,
        deformation=None,
        data_deformation=0.0,
        data_power=2,
        kernel="rbf",
        gamma=None,
        C=None,
        graph="orbit",
        n_neighbors=5,
        data_graph=None,
        cv=None,
        solver="auto",
        n_landmarks=3000,
        random_state=0,
    ):
        self.transform = transform
        self.image_shape = image_shape
        self.deformation = deformation
        self.data_deformation = data_deformation
        self.data_power = data_power
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.data_graph = data_graph
        self.cv = cv
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X, y, copies=None) -> InvariantSVC:
        """Fit to the labelled rows' copies and, with a data graph, to the unlabelled rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels; -1 = unlabelled.
        copies : array of shape (n_labelled, n_copies, n_features), optional
            What `fewfold.transforms.virtual_samples` returned for the labelled rows, if it was
            called already.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        self._check_options()
        self.classes_, labelled, codes = read_labels(y, type(self).__name__)
        seed = _seed(self.random_state)
        nodes = self._nodes(X, labelled, copies)
        self.n_nodes_ = len(nodes.V)
        self.choice_, self.deformed_ = self._choose(nodes, X[labelled], codes, seed)
        self.machine_ = fit_pair_machines(
            self.deformed_.gram, codes, len(self.classes_), self.choice_.C
        )
        self.transduction_ = np.empty(len(y), self.classes_.dtype)
        self.transduction_[labelled] = self.classes_[codes]
        rest = np.setdiff1d(np.arange(len(y)), labelled)
        if len(rest):
            self.transduction_[rest] = self.classes_[self._shares(X[rest]).argmax(axis=1)]
        return self

    def predict_proba(self, X) -> np.ndarray:
        """Return the share of each class in the votes of the pairs: not calibrated.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return self._shares(X)

    def _shares(self, X):
        return self.machine_.shares(self.deformed_.rows(X, self.machine_.coefficients))

    def _nodes(self, X, labelled, copies) -> Nodes:
        transform = default_transform(vars(self)["transform"], self.image_shape)
        copies = copies_of(X[labelled], self.image_shape, transform, copies)
        n, m, d = copies.shape
        keep = np.arange(n) * m + transform.identity
        V = copies.reshape(n * m, d)
        rest = np.setdiff1d(np.arange(len(X)), labelled)
        has_data = len(rest) > 0 and max(_strengths(self.data_deformation)) > 0
        if has_data:
            V = np.concatenate([V, np.asarray(X[rest], np.float32)])
        blocks = L = data = None
        if self.graph == "orbit":
            blocks = orbit_laplacians(copies, transform.edges())
        else:
            L = knn_laplacian(V[: n * m], min(self.n_neighbors, n * m - 1))
            L.resize((len(V), len(V)))
        if has_data:
            place = np.empty(len(X), np.int64)
            place[labelled] = keep
            place[rest] = n * m + np.arange(len(rest))
            data = self._data_laplacian(X, transform, place, len(V))
        order = ring_symmetry(copies, self.image_shape, transform.topology)
        return Nodes(V, keep, blocks, L, data, order)

    def _data_laplacian(self, X, transform, place, n_nodes):
        """Return the data graph's Laplacian, its rows moved to their places among the nodes."""
        from fewfold.graph.build import GraphSettings, build_graph

        graph = self.data_graph
        if graph is None:
            graph = {"n_neighbors": min(10, len(X) - 1)}
            if self.image_shape is not None:
                graph |= orbit_graph(transform, self.image_shape)
        if isinstance(graph, dict):
            graph = GraphSettings.from_dict(graph)
        if isinstance(graph, GraphSettings):
            graph = build_graph(X, graph.for_images(self.image_shape))
        W = sparse.csr_array(getattr(graph, "W", graph))
        if W.shape != (len(X), len(X)):
            raise InputError(
                f"data_graph has shape {W.shape}, X has {len(X)} rows. Give a graph of the rows."
            )
        L = sparse.coo_array(powered(data_laplacian(W), self.data_power))
        rows, columns = L.coords
        return sparse.csr_array((L.data, (place[rows], place[columns])), shape=(n_nodes, n_nodes))

    def _choose(self, nodes, X, codes, seed):
        def solver_for(gamma):
            kernel = BaseKernel(self.kernel, gamma)
            return make_solver(
                nodes, kernel, solver=self.solver, n_landmarks=self.n_landmarks, seed=seed
            )

        width = median_gamma(nodes.V)
        only = BaseKernel(self.kernel).kind != "rbf" or self.gamma is not None
        gammas = [self.gamma or 1.0] if only else [f * width for f in WIDTHS]
        strengths = self._copy_strengths()
        data_strengths = _strengths(self.data_deformation)
        if self.cv is not None:
            grid = {
                "gamma": gammas,
                "deformation": strengths,
                "data_deformation": data_strengths,
                "C": None if self.C is None else [self.C],
            }
            found = search(solver_for, codes, grid, n_folds=self.cv, seed=seed)
            if found is not None:
                return found
        gamma = middle(gammas)
        strength, data_strength = middle(strengths), middle(data_strengths)
        deformed = solver_for(gamma).deform(strength, data_strength)
        C = 10.0 * penalty_scale(deformed.gram) if self.C is None else self.C
        return Choice(gamma, strength, data_strength, C), deformed

    def _copy_strengths(self):
        return _strengths(STRENGTHS if self.deformation is None else self.deformation)

    def _check_options(self):
        for name, allowed in (("graph", GRAPHS), ("solver", SOLVERS)):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name}={getattr(self, name)!r} is unknown. "
                    f"Choose one of {', '.join(allowed)}."
                )
        data_strengths = _strengths(self.data_deformation)
        for name, values in (
            ("deformation", self._copy_strengths()),
            ("data_deformation", data_strengths),
        ):
            if not values or not min(values) >= 0:
                raise InputError(f"{name}={getattr(self, name)!r}: allowed are numbers from 0.")
        for name in ("gamma", "C"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name}={value!r}: allowed are numbers above 0, or None.")
        if self.data_power not in (1, 2, 3):
            raise InputError(f"data_power={self.data_power!r}: allowed are 1, 2 and 3.")
        if self.cv is not None and not self.cv >= 2:
            raise InputError(f"cv={self.cv!r}: allowed are 2 folds or more, or None.")
        if not (callable(self.kernel) or self.kernel in ("rbf", "linear")):
            raise InputError(
                f"kernel={self.kernel!r} is unknown. Choose rbf, linear, or give a function."
            )


def orbit_graph(transform, image_shape) -> dict:
    """Return graph settings whose distance is the least over the copies of one of two rows."""
    return {
        "metric": "orbit",
        "image_shape": list(image_shape),
        "metric_options": {"transforms": transform, "base": "squared_euclidean"},
    }


def _strengths(value):
    """Return one strength, or several, as a list."""
    return [float(v) for v in np.atleast_1d(value)]


def _seed(random_state):
    from sklearn.utils import check_random_state

    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
