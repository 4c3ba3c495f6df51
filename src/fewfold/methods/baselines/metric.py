"""A metric in which a class is round, from few labels and many unlabeled neighbors.

Directions in which rows of one class differ say nothing about the class. The few labeled rows
give a rough scatter within the classes; the neighbor graph, whose edges mostly stay within a
class, gives another one from all rows, which steadies the first. The metric divides by both.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse

from fewfold.graph.averaging import smooth, smooth_new
from fewfold.linalg.distances import squared_distances
from fewfold.methods.estimators import CLASSES, PLACED, GraphClassifier
from fewfold.methods.parameters import number, positive
from fewfold.methods.state import Field, Setting
from fewfold.methods.svm_state import SVM_STATE, HoldsSVM, slices_of
from fewfold.svm.folds import stratified_folds
from fewfold.svm.kernel_svm import fit_kernel_svm
from fewfold.svm.search import choose, count_errors, grid_of

MOST_AXES = 64  # principal axes that are kept: a scatter of more is not known from few labels
MOST_EDGES = 200_000
RIDGE = 0.1  # of the mean variance, added to every direction
PRIOR = 1.0  # the neighbors' scatter counts as much as this many labeled rows per axis
SMOOTHING = 0.8
GAMMAS, PENALTIES = (0.1, 0.3, 1.0, 3.0), (1.0, 10.0, 100.0)


def principal_map(X, most: int = MOST_AXES, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return at most so many principal axes of the rows, and the offset of their origin."""
    from fewfold.linalg.preparation import principal_axes

    n, d = X.shape
    mean, axes, _ = principal_axes(X, max(1, min(most, d, n - 1)), random_state=seed)
    return axes, mean @ axes


def project(rows, axes, offset) -> np.ndarray:
    """Return rows in principal axes."""
    rows = rows if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    return np.asarray(rows @ axes) - offset


def neighbor_scatter(Z, W, seed: int = 0) -> np.ndarray:
    """Return the covariance of rows about their neighbors, by the weights of the graph.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    W : sparse array of shape (n, n)
    seed : int
        Draws the edges where there are more than `MOST_EDGES`.

    Examples
    --------
    >>> W = sparse.csr_array([[0.0, 1], [1, 0]])
    >>> neighbor_scatter(np.array([[0.0, 0], [2, 0]]), W).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    edges = W.tocoo()
    some = np.arange(len(edges.data))
    if len(some) > MOST_EDGES:
        some = np.sort(np.random.default_rng(seed).permutation(len(some))[:MOST_EDGES])
    if not len(some):
        return np.eye(Z.shape[1])
    gaps, weight = Z[edges.row[some]] - Z[edges.col[some]], edges.data[some].astype(np.float64)
    return (gaps * weight[:, None]).T @ gaps / (2 * weight.sum())


def class_scatter(Z, codes) -> tuple[np.ndarray, int]:
    """Return the covariance about the class means, and from how many rows beyond the means."""
    kinds, place = np.unique(codes, return_inverse=True)
    means = np.stack([Z[place == c].mean(axis=0) for c in range(len(kinds))])
    gaps, free = Z - means[place], len(Z) - len(kinds)
    return gaps.T @ gaps / max(free, 1), free


def whitening(scatter, free: int, local, prior: float = PRIOR, ridge: float = RIDGE) -> np.ndarray:
    """Return the matrix A such that rows times A have about the same scatter in all directions.

    Parameters
    ----------
    scatter : ndarray of shape (d, d)
        Within the classes, from ``free`` degrees of freedom.
    local : ndarray of shape (d, d)
        Among neighbors; brought to the size of ``scatter`` and counted as ``prior`` times d rows.

    Examples
    --------
    >>> A = whitening(np.diag([100.0, 1.0]), 1000, np.eye(2), ridge=0)
    >>> (A.T @ np.diag([100.0, 1.0]) @ A).round(1).tolist()
    [[1.0, 0.0], [0.0, 0.9]]
    """
    d = len(local)
    size, local_size = np.trace(scatter), np.trace(local)
    mixed = local
    if free > 0 and size > 0 and local_size > 0:
        strength = prior * d
        mixed = (free * scatter + strength * local * size / local_size) / (free + strength)
    mixed = mixed + ridge * max(np.trace(mixed) / d, 1e-12) * np.eye(d)
    values, axes = np.linalg.eigh(mixed)
    values, axes = values[::-1], axes[:, ::-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(d)])
    return axes / np.sqrt(np.maximum(values, 1e-12 * max(values[0], 1e-300)))


@dataclass(eq=False, repr=False)
class MetricSVC(HoldsSVM, GraphClassifier):
    """RBF SVM in the metric of classes and neighbors, its predictions averaged over the graph.

    Parameters
    ----------
    C, gamma : float or "cv"
        Gamma in units of 1 / median squared distance in the metric. The metric is learned again
        in each fold.
    prior : float
        See `whitening`.
    smoothing : float
        See `fewfold.graph.averaging.smooth`.
    random_state : int
        Of the folds.
    """

    _state = (
        CLASSES,
        *PLACED,
        Field("axes_", "float", ("d", "a")),
        Field("offset_", "float", ("a",)),
        Field("whitening_", "float", ("a", "a")),
        Field("support_rows_", "float", ("s", "a")),
        *SVM_STATE,
        Field("label_distributions_", "float", ("n", "k"), low=0, high=1.0001),
        Setting("width_", positive()),
        Setting("smoothing", number(0, below=1)),
    )

    C: float | str = "cv"
    _: KW_ONLY
    gamma: float | str = "cv"
    prior: float = PRIOR
    smoothing: float = SMOOTHING
    random_state: int = 0

    def fit(self, X, y, *, graph=None):
        """Learn the metric and the SVM from the labels, and average over the graph."""
        W, labels = self._read(X, y, graph)
        Z, local = self._prepare(self.X_fit_, W)
        rows, codes = labels.rows, labels.codes
        some = Z[np.random.default_rng(0).permutation(len(Z))[:1000]]
        gammas, penalties = grid_of(self.gamma, list(GAMMAS)), grid_of(self.C, list(PENALTIES))

        def learn_metric(part):
            """The metric learned from some labeled rows: it, and the unit of gamma."""
            A = whitening(*class_scatter(Z[rows[part]], codes[part]), local, self.prior)
            half = len(some) // 2
            width = np.median(squared_distances(some[:half] @ A, some[half:] @ A))
            return A, 1 / max(float(width), 1e-12)

        def fold_error(train, test):
            A, unit = learn_metric(train)
            base, other = Z[rows[train]] @ A, Z[rows[test]] @ A
            within, across = (unit * squared_distances(part, base) for part in (base, other))
            errors = []
            for g in gammas:
                K, K_test = np.exp(-g * within), np.exp(-g * across)
                wrong = count_errors(K, K_test, codes[train], codes[test], penalties)
                errors.extend(wrong / len(test))
            return errors

        grid = [(g, C) for g in gammas for C in penalties]
        # A class of one row is missing from a fold's training part, and counts as an error there.
        folds = stratified_folds(codes, self.random_state, rare="keep")
        gamma, C = choose(grid, fold_error, folds, default=(gammas[0], penalties[0]))
        self.whitening_, unit = learn_metric(np.arange(len(codes)))
        base, self.width_ = Z[rows] @ self.whitening_, float(gamma * unit)
        svm = fit_kernel_svm(np.exp(-self.width_ * squared_distances(base, base)), codes, C)
        self.svm_, self.support_rows_ = svm, base[svm.support]
        F = smooth(W, self._svm_proba(Z), rows, codes, self.smoothing)
        details = {
            "C": C,
            "gamma": gamma,
            "smoothing": self.smoothing,
            "axes": Z.shape[1],
            "n_support": len(svm.support),
        }
        return self._finish(None, F, details=details)

    def _read_labels(self, y, n_samples, min_classes: int = 2):
        return super()._read_labels(y, n_samples, min_classes)

    def _prepare(self, X, W):
        """Return rows in principal axes and the scatter of neighbors: what needs no label."""
        if not _last or _last[0] is not X or _last[1] is not W:
            axes, offset = principal_map(X)
            Z = project(X, axes, offset)
            _last[:] = [X, W, (axes, offset, Z, neighbor_scatter(Z, W))]
        self.axes_, self.offset_, Z, local = _last[2]
        return Z, local

    def _svm_proba(self, Z):
        def kernel(part):
            d2 = squared_distances(Z[part] @ self.whitening_, self.support_rows_)
            return np.exp(-self.width_ * d2)

        return self._proba_by_blocks(slices_of(len(Z)), kernel)

    def _decide(self, X, extension=None):
        weights = self._extension(X, extension)
        if extension is None:
            X = self._rows(X, reset=False)
        own = self._svm_proba(project(X, self.axes_, self.offset_))
        return smooth_new(weights, self.label_distributions_, own, self.smoothing)


_last: list = []  # of the rows seen last: a job trains many draws of one dataset
