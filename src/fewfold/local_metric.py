"""A metric in which a class is round, from few labels and many unlabelled neighbours.

Directions in which rows of one class differ say nothing about the class. The few labelled rows
give a rough scatter within the classes; the neighbour graph, whose edges mostly stay within a
class, gives another one from all rows, which steadies the first. The metric divides by both.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from fewfold.training import Inputs, Outcome

MOST_AXES = 64  # principal axes that are kept: a scatter of more is not known from few labels
MOST_EDGES = 200_000
RIDGE = 0.1  # of the mean variance, added to every direction
PRIOR = 1.0  # the neighbours' scatter counts as much as this many labelled rows per axis
SMOOTHING = 0.8
GAMMAS, PENALTIES = (0.1, 0.3, 1.0, 3.0), (1.0, 10.0, 100.0)
FOLDS = 5


def principal_rows(X, most: int = MOST_AXES, seed: int = 0):
    """Return the rows in at most so many principal axes, and the map of other rows into them."""
    from scipy import sparse

    from fewfold.prepare import principal_axes

    n, d = X.shape
    mean, axes, _ = principal_axes(X, max(1, min(most, d, n - 1)), random_state=seed)
    offset = mean @ axes

    def project(rows):
        rows = rows if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
        return np.asarray(rows @ axes) - offset

    return project(X), project


def neighbour_scatter(Z, W, seed: int = 0) -> np.ndarray:
    """Return the covariance of rows about their neighbours, by the weights of the graph.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
    W : sparse array of shape (n, n)
    seed : int
        Draws the edges where there are more than `MOST_EDGES`.

    Examples
    --------
    >>> from scipy import sparse
    >>> W = sparse.csr_array([[0.0, 1], [1, 0]])
    >>> neighbour_scatter(np.array([[0.0, 0], [2, 0]]), W).tolist()
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


def rounding(scatter, free: int, local, prior: float = PRIOR, ridge: float = RIDGE) -> np.ndarray:
    """Return the matrix A such that rows times A have about the same scatter in all directions.

    Parameters
    ----------
    scatter : ndarray of shape (d, d)
        Within the classes, from ``free`` degrees of freedom.
    local : ndarray of shape (d, d)
        Among neighbours; brought to the size of ``scatter`` and counted as ``prior`` times d rows.

    Examples
    --------
    >>> A = rounding(np.diag([100.0, 1.0]), 1000, np.eye(2), ridge=0)
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


def metric_svm(inputs: Inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """RBF SVM in the metric of classes and neighbours, its answers averaged over the graph.

    Settings: ``C`` and ``gamma`` (in units of 1 / median squared distance in the metric), each a
    number or "cv"; ``prior``, see `rounding`; ``smoothing``, see `fewfold.smoothing.smooth`.
    The metric is learnt anew in each fold.
    """
    from fewfold.learners import _grid, _single_class, choose, spread_over_classes
    from fewfold.smoothing import smooth, smooth_new

    classes = np.unique(targets)
    if len(classes) < 2:
        return _single_class(inputs, targets, n_classes)
    Z, project, local = _prepared(inputs.X, inputs.graph.W)
    prior = float(settings.get("prior", PRIOR))
    share = float(settings.get("smoothing", SMOOTHING))
    gammas = _grid(settings.get("gamma"), list(GAMMAS))
    penalties = _grid(settings.get("C"), list(PENALTIES))
    some = Z[np.random.default_rng(0).permutation(len(Z))[:1000]]

    def machine(rows):
        """The metric learnt from some labelled rows: it, and the unit of gamma."""
        A = rounding(*class_scatter(Z[labeled[rows]], targets[rows]), local, prior)
        half = len(some) // 2
        width = np.median(_squared(some[:half] @ A, some[half:] @ A))
        return A, 1 / max(float(width), 1e-12)

    def fold_error(train, test):
        A, unit = machine(train)
        base, other = Z[labeled[train]] @ A, Z[labeled[test]] @ A
        within, across = unit * _squared(base, base), unit * _squared(other, base)
        return [
            np.mean(_svc(np.exp(-g * within), targets[train], C).predict(np.exp(-g * across))
                    != targets[test])
            for g in gammas for C in penalties
        ]  # fmt: skip

    grid = [(g, C) for g in gammas for C in penalties]
    gamma, C = choose(grid, fold_error, _folds(targets, seed), default=(gammas[0], penalties[0]))
    A, unit = machine(np.arange(len(targets)))
    base = Z[labeled] @ A
    model = _svc(np.exp(-gamma * unit * _squared(base, base)), targets, C)

    def answers(rows):
        return spread_over_classes(_proba(model, rows, base, A, gamma * unit), classes, n_classes)

    start = time.perf_counter()
    F = smooth(inputs.graph.W, answers(Z), labeled, targets, share)
    outcome = Outcome(F.argmax(axis=1), F)
    if inputs.X_new is not None:
        new = smooth_new(inputs.extension, F, answers(project(inputs.X_new)), share)
        outcome.labels_new, outcome.proba_new = new.argmax(axis=1), new
    outcome.predict_s = time.perf_counter() - start
    outcome.details = {"C": C, "gamma": gamma, "smoothing": share, "axes": Z.shape[1],
                       "n_support": int(model.n_support_.sum())}  # fmt: skip
    return outcome


_last: list = []  # what needs no label, of the rows seen last: a job trains many draws of one set


def _prepared(X, W):
    if not _last or _last[0] is not X or _last[1] is not W:
        Z, project = principal_rows(X)
        _last[:] = [X, W, (Z, project, neighbour_scatter(Z, W))]
    return _last[2]


def _squared(a, b):
    from fewfold.kernel_regression import squared_distances

    return squared_distances(a, b)


def _svc(K, targets, C):
    from sklearn.svm import SVC

    return SVC(C=C, kernel="precomputed", cache_size=500).fit(K, targets)


def _proba(model, rows, base, A, gamma):
    from fewfold.learners import _columns, scores_to_proba

    scores = []
    for s in range(0, len(rows), 4096):
        K = np.exp(-gamma * _squared(rows[s : s + 4096] @ A, base))
        scores.append(_columns(model.decision_function(K)))
    return scores_to_proba(np.concatenate(scores))


def _folds(targets, seed):
    """Stratified folds; a class of one row is now and then missing, and then counts as an error."""
    from sklearn.model_selection import StratifiedKFold

    most = int(np.unique(targets, return_counts=True)[1].max())
    if most < 2:
        return None
    splitter = StratifiedKFold(min(FOLDS, most), shuffle=True, random_state=seed % 2**32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = list(splitter.split(np.zeros(len(targets)), targets))
    return [(a, b) for a, b in found if len(np.unique(targets[a])) > 1] or None
