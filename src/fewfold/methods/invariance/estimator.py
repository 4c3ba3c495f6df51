"""InvariantSVC: an SVM whose kernel is deformed to be invariant."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.graph.build import given_weights
from fewfold.methods.estimators import CLASSES, seed_of
from fewfold.methods.invariance import INVARIANT_PARAMETERS
from fewfold.methods.invariance.copies_kernel import Later, stored_solvers
from fewfold.methods.invariance.deformed import BaseKernel, Expansion
from fewfold.methods.invariance.graphs import (
    data_graph_of,
    data_laplacian,
    knn_laplacian,
    node_delta,
    orbit_laplacians,
    powered,
)
from fewfold.methods.invariance.samples import (
    LearnsFromCopies,
    class_pairs,
    copies_of,
    default_transform,
    with_transform,
)
from fewfold.methods.invariance.selection import (
    STRENGTHS,
    VARIANTS,
    WIDTHS,
    Choice,
    middle,
    penalty_scale,
    search,
)
from fewfold.methods.invariance.solver import Nodes, make_solver
from fewfold.methods.parameters import one_of, positive
from fewfold.methods.state import Field, Setting
from fewfold.methods.variants import PUBLISHED, option
from fewfold.svm.kernel_svm import fit_kernel_svm
from fewfold.svm.kernels import median_gamma
from fewfold.svm.probability import decisions_to_proba
from fewfold.transforms.symmetry import ring_symmetry

KERNELS = ("rbf", "linear")
# Decisions of -1 and 1, the margins of a pair, become 12 % and 88 % of its vote.
_VOTE_SCALE = 2.0


@with_transform
@dataclass(eq=False, repr=False)
class InvariantSVC(LearnsFromCopies):
    """Support vector machine (SVM) on a kernel deformed along transformed copies [invariance-2006].

    Each labeled sample becomes a small graph of its transformed copies; the kernel is deformed
    so that decision functions are smooth along them. The SVM stays as large as the labeled set.
    Unlabeled rows can join through a neighbor graph of the data.

    Parameters
    ----------
    transform : str, dict, list, Transform, optional
        The invariance, as in `fewfold.transforms.get_transform`. Default: a full turn in
        steps of 15 degrees for images, "jitter" for other rows.
    image_shape : tuple of int, optional
        Shape of one row: (height, width[, channels]) or (length,).
    variant : {"default", "published"}
        "published" is the paper's algorithm: one strength for all, the bandwidth of the graph's
        weights the average distance between the copies of a sample, width and C by folds.
        Options that are given come first. What the paper leaves open, and the value taken:
        ``docs/methods/invariance.md``.
    deformation : float or sequence, optional
        Strength of the graphs of copies, gamma of Eq. 4; 0 gives a plain SVM. Several are a
        choice for ``cv``; without it the middle one is taken. Default: 10, 100, 1000;
        published: 100.
    data_deformation : float or sequence, optional
        Strength of the data graph over unlabeled and labeled rows; 0 ignores unlabeled rows.
        Default: 10, 100, 1000 if `fit` is given a graph, else 0.
    data_power : {1, 2, 3}
        Power of the data graph's Laplacian: functions are the smoother.
    kernel : {"rbf", "linear"} or callable
        The kernel that is deformed; a function ``(A, B) -> matrix`` is any other.
    gamma : float, optional
        Width of the RBF kernel, ``exp(-gamma d^2)``. Default: twice one over the median squared
        distance of the rows.
    C : float, optional
        Penalty of margin errors. Default: 10 over the mean of the deformed kernel's diagonal.
    copies_graph : {"orbit", "knn"}
        Copies joined by neighboring parameters, or to their nearest among all copies.
    n_neighbors : int
        Of copies_graph="knn".
    data_graph : dict or GraphSettings, optional
        How rows are joined where `fit` is given no graph: settings of
        `fewfold.graph.build.build_graph`. Default: 10 nearest neighbors; for images in the least
        distance over the copies of one of the two.
    cv : int or None
        Choose ``gamma`` and ``C``, where None, and the strengths, where several, by this many
        folds of the labeled rows. None takes the middle of each.
    solver : {"auto", "exact", "lowrank"}
        How the deformed kernel is computed; "auto" takes the low-rank solver for many nodes.
    n_landmarks : int
        Of the low-rank solver, which "auto" takes above about 20 000 nodes (40 000 for turns of
        square images that quarter turns are among).
    random_state : int, RandomState or None
        Seed of the folds and of the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training rows; given labels are kept.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        What `predict_proba` says of the training rows.
    choice_ : Choice
        Width, strengths and C used.
    n_nodes_ : int
    deformed_ : Deformed
        The deformed kernel at the labeled rows, in ascending order.
    svm_ : fewfold.svm.kernel_svm.KernelSVM
    expansion_ : Expansion
        The decisions of all pairs of classes but for ``intercepts_``.

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

    _state = (
        CLASSES,
        Field("anchors", "float", ("n", "d")),
        Field("weights", "float", ("n", "p")),
        Field("intercepts_", "float", ("p",)),
        Setting("kernel", one_of(*KERNELS)),
        Setting("gamma", positive()),
    )

    transform: object = None
    image_shape: tuple | None = None
    _: KW_ONLY
    variant: str = "default"
    deformation: object = None
    data_deformation: object = None
    data_power: int = 2
    kernel: object = "rbf"
    gamma: float | None = None
    C: float | None = None
    copies_graph: str = "orbit"
    n_neighbors: int = 5
    data_graph: object = None
    cv: int | None = 5
    solver: str = "auto"
    n_landmarks: int = 3000
    random_state: int = 0

    def fit(self, X, y, *, graph=None, copies=None, kernel=None) -> InvariantSVC:
        """Fit to the labeled rows' copies and, with a data graph, to the unlabeled rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; -1, NaN, None, "" or "-1" marks unlabeled rows (`fewfold.labels`).
        graph : NeighborGraph or sparse array of shape (n_samples, n_samples), optional
            The data graph of the rows, or its weights, if it was built already.
        copies : fewfold.pipeline.copies_files.CopiesFile, optional
            Copies of the labeled rows, if they were made already.
        kernel : fewfold.pipeline.kernel_files.KernelMatrix, optional
            Deformed kernels of this draw, used where they are those that are wanted.

        Returns
        -------
        self
        """
        X = self._rows(X, ensure_min_samples=2)
        labels = self._read_labels(y, len(X), min_classes=2)
        seed = seed_of(self.random_state) % 2**31
        strengths = self._data_strengths(graph)
        stored = None
        if graph is None and strengths == [0.0]:
            own = self.get_params()
            settings = {p.name: own[p.keyword] for p in INVARIANT_PARAMETERS}
            wanted = labels.rows, settings, self.image_shape, self.gamma, self.strengths()
            stored = stored_solvers(kernel, *wanted)
        if stored is not None:
            decisions = self._fit_stored(X, labels, stored, seed)
        else:
            nodes = self._nodes(X, labels.rows, labels.unlabeled, graph, strengths, copies)
            self.n_nodes_ = len(nodes.V)

            def solver_for(gamma):
                return self.solver_of(nodes, gamma, seed)

            found = self._choose(solver_for, self.widths(nodes), strengths, labels.codes, seed)
            self.choice_, self.deformed_ = found
            self.svm_ = fit_kernel_svm(self.deformed_.gram, labels.codes, self.choice_.C)
            weights = self.svm_.all_coefficients(len(labels.codes))
            self.expansion_ = self.deformed_.expansion(weights)
            decisions = self.expansion_(X) + self.svm_.intercepts
        self.intercepts_ = self.svm_.intercepts
        choice = self.choice_
        details = {
            "gamma": choice.gamma,
            "deformation": choice.deformation,
            "data_deformation": choice.data_deformation,
            "C": choice.C,
            "n_nodes": self.n_nodes_,
            "n_support": len(self.svm_.support),
        }
        return self._finish(labels, self._votes(decisions), details=details)

    def _fit_stored(self, X, labels, stored, seed):
        """Choose and train on stored kernels; return the decisions of all rows."""
        gammas, codes, rows = sorted(stored), labels.codes, labels.rows
        self.choice_, solver = self._choose(stored.__getitem__, gammas, [0.0], codes, seed)
        choice = self.choice_
        self.svm_ = fit_kernel_svm(solver.gram(choice.deformation), codes, choice.C)
        weights = self.svm_.all_coefficients(len(codes))
        transform = default_transform(vars(self)["transform"], self.image_shape)
        self.n_nodes_ = len(rows) * transform.n_copies

        def deform():
            nodes = self.nodes_of(X, rows)
            return self.solver_of(nodes, choice.gamma, seed).deform(choice.deformation)

        self.deformed_ = Later(deform)
        self.expansion_ = Later(lambda: self.deformed_.expansion(weights))
        self._stored = solver, weights
        K = solver.matrix(choice.deformation)[:, : len(X)]
        return K.T.astype(np.float64) @ weights + self.svm_.intercepts

    def decision_function(self, X) -> np.ndarray:
        """Return the share of each class in the votes; of two classes, their difference.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        shares = self.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if len(self.classes_) == 2 else shares

    def _decide(self, X, extension=None, kernel=None):
        # The shares of votes are not calibrated. New rows are not nodes: they see the graph
        # through the base kernel only, so their weights over its rows are not used.
        if kernel is not None and getattr(self, "_stored", None) is not None:
            solver, weights = self._stored
            K = solver.matrix(self.choice_.deformation)[:, kernel.n :]
            return self._votes(K.T.astype(np.float64) @ weights + self.intercepts_)
        X = self._rows(X, reset=False)
        return self._votes(self.expansion_(X) + self.intercepts_)

    def _votes(self, decisions):
        pairs = class_pairs(len(self.classes_))
        return decisions_to_proba(decisions, _VOTE_SCALE, pairs=pairs, coupling="mean")

    def _pack(self) -> dict:
        kernel = self.expansion_.kernel
        if callable(kernel.kind):
            raise InputError(
                "InvariantSVC with a function as kernel cannot be stored: a file holds no code. "
                f"Fit with one of the kernels {', '.join(KERNELS)}."
            )
        return {
            "classes_": self.classes_,
            "anchors": self.expansion_.anchors,
            "weights": self.expansion_.weights,
            "intercepts_": self.intercepts_,
            "kernel": kernel.kind,
            "gamma": float(kernel.gamma),
        }

    def _unpack(self, values: dict) -> None:
        self.classes_, self.intercepts_ = values["classes_"], values["intercepts_"]
        if len(class_pairs(len(self.classes_))) != len(self.intercepts_) or len(self.classes_) < 2:
            raise InputError(
                f"InvariantSVC: {len(self.classes_)} classes and {len(self.intercepts_)} "
                "intercepts. Allowed: 2 classes or more, one intercept for each pair of them."
            )
        kernel = BaseKernel(values["kernel"], values["gamma"])
        self.expansion_ = Expansion(values["anchors"], values["weights"], kernel)

    def nodes_of(self, X, rows) -> Nodes:
        """Return the copies of labeled rows and their graphs, without a data graph.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        rows : int array of shape (n_labeled,)
            The labeled rows.

        Returns
        -------
        Nodes
        """
        return self._nodes(X, rows, np.empty(0, np.int64), None, [0.0], None)

    def solver_of(self, nodes: Nodes, gamma: float, seed: int):
        """Return the solver of a width, whose ``deform`` serves any strength.

        Parameters
        ----------
        nodes : Nodes
            The copies and their graphs, see `nodes_of`.
        gamma : float
            Width of the kernel.
        seed : int
            Of the landmarks.

        Returns
        -------
        object with the method ``deform``
        """
        kernel = BaseKernel(self.kernel, gamma)
        options = {"solver": self.solver, "n_landmarks": self.n_landmarks, "seed": seed}
        return make_solver(nodes, kernel, **options)

    def widths(self, nodes: Nodes) -> list[float]:
        """Return the widths to choose among.

        Parameters
        ----------
        nodes : Nodes
            The copies, whose distances give the scale.

        Returns
        -------
        list of float
        """
        only = BaseKernel(self.kernel).kind != "rbf" or self.gamma is not None
        width = 1.0 if only else median_gamma(nodes.V)
        return [self.gamma or 1.0] if only else [f * width for f in WIDTHS]

    def strengths(self) -> list[float]:
        """Return the strengths of the copies' graphs to choose among.

        Returns
        -------
        list of float
        """
        return _strengths(option(self, VARIANTS, "deformation"))

    def _nodes(self, X, rows, rest, graph, strengths, copies) -> Nodes:
        """Return the labeled rows' copies and, with a data graph, the unlabeled rows."""
        transform = default_transform(vars(self)["transform"], self.image_shape)
        copies = copies_of(X, rows, self.image_shape, transform, copies)
        n, m, d = copies.shape
        keep = np.arange(n) * m + transform.identity
        V = copies.reshape(n * m, d)
        has_data = len(rest) > 0 and max(strengths) > 0
        if has_data:
            V = np.concatenate([V, np.asarray(X[rest], np.float32)])
        blocks = L = data = None
        if self.copies_graph == "orbit":
            delta = node_delta(copies) if self.variant == PUBLISHED else None
            blocks = orbit_laplacians(copies, transform.edges(), delta)
        else:
            L = knn_laplacian(V[: n * m], min(self.n_neighbors, n * m - 1))
            L.resize((len(V), len(V)))
        if has_data:
            place = np.empty(len(X), np.int64)
            place[rows] = keep
            place[rest] = n * m + np.arange(len(rest))
            data = self._data_laplacian(X, graph, transform, place, len(V))
        order = ring_symmetry(copies, self.image_shape, transform.topology)
        return Nodes(V, keep, blocks, L, data, order)

    def _data_laplacian(self, X, graph, transform, place, n_nodes):
        """Return the data graph's Laplacian, its rows moved to their places among the nodes."""
        if graph is None:
            graph = data_graph_of(X, self.data_graph, self.image_shape, transform)
        W = given_weights(graph, len(X))
        L = sparse.coo_array(powered(data_laplacian(W), self.data_power))
        rows, columns = L.coords
        return sparse.csr_array((L.data, (place[rows], place[columns])), shape=(n_nodes, n_nodes))

    def _choose(self, solver_for, gammas, data_strengths, codes, seed):
        strengths = self.strengths()
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
        solver = solver_for(gamma)
        gram = solver.gram(strength, data_strength)
        C = 10.0 * penalty_scale(gram) if self.C is None else self.C
        deformed = solver.deform(strength, data_strength)
        return Choice(gamma, strength, data_strength, C), deformed

    def _data_strengths(self, graph=None):
        default = 0.0 if graph is None else STRENGTHS
        return _strengths(default if self.data_deformation is None else self.data_deformation)


def _strengths(value):
    """Return one strength, or several, as a list."""
    return [float(v) for v in np.atleast_1d(value)]
