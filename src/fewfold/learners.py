"""The simple learners: k-NN, linear SVM, SVM on a kernel matrix, scikit-learn's spreading.

Each ``fit_predict`` takes the inputs of a chain and one labelled draw. Settings that are not
given are chosen by cross-validation on the labelled points, and never see anything else.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from fewfold.training import Inputs, Outcome

FOLDS = 5


def folds_for(targets, seed: int, n_folds: int = FOLDS):
    """Return stratified folds of the labelled points, or None if they are too few.

    Every class needs two points at least, so that each fold's training part has seen it.
    """
    from sklearn.model_selection import StratifiedKFold

    fewest = np.bincount(np.unique(targets, return_inverse=True)[1]).min()
    if fewest < 2:
        return None
    splitter = StratifiedKFold(min(n_folds, fewest), shuffle=True, random_state=seed % 2**32)
    return list(splitter.split(np.zeros(len(targets)), targets))


def choose(grid: list, fold_error, folds, default):
    """Return the grid's entry of least mean fold error (the first of equals), or the default.

    Parameters
    ----------
    grid : list
    fold_error : callable
        ``fold_error(train, test)`` returns the errors of all entries of the grid on one fold.
    folds : list of (train, test) or None
    default : entry used where there are too few points for folds
    """
    if folds is None or len(grid) == 1:
        return default if folds is None and len(grid) > 1 else grid[0]
    errors = np.mean([fold_error(train, test) for train, test in folds], axis=0)
    return grid[int(np.argmin(errors))]


def scores_to_proba(scores: np.ndarray) -> np.ndarray:
    """Turn decision values per class into probabilities by a softmax (ranks are kept)."""
    scores = np.asarray(scores, dtype=np.float64)
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def spread_over_classes(values, classes, n_classes) -> np.ndarray:
    """Place columns of the classes seen in a draw among the columns of all classes."""
    out = np.zeros((len(values), n_classes))
    out[:, classes] = values
    return out


def _outcome(predict, inputs, classes, n_classes, details):
    """Predict all rows; ``predict`` returns class scores of the classes seen, in order."""

    def labels_and_proba(which):
        proba = spread_over_classes(predict(which), classes, n_classes)
        return classes[proba[:, classes].argmax(axis=1)], proba

    start = time.perf_counter()
    labels, proba = labels_and_proba("rows")
    labels_new = proba_new = None
    if inputs.X_new is not None:
        labels_new, proba_new = labels_and_proba("new")
    seconds = time.perf_counter() - start
    return Outcome(labels, proba, labels_new, proba_new, predict_s=seconds, details=details)


def _single_class(inputs, targets, n_classes):
    """All labelled points of one class: the only answer there is."""
    code = int(targets[0])

    def constant(n):
        proba = np.zeros((n, n_classes))
        proba[:, code] = 1
        return np.full(n, code), proba

    labels, proba = constant(inputs.X.shape[0])
    new = (None, None) if inputs.X_new is None else constant(inputs.X_new.shape[0])
    return Outcome(labels, proba, *new, status="one class only")


def knn(inputs: Inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """k-nearest-neighbour vote among the labelled points, ties to the nearer.

    Settings: ``n_neighbors`` (number, or "cv": of 1, 3, 5, ... by cross-validation) and
    ``metric`` ("euclidean" or "cosine").
    """
    if inputs.task == "regression":
        return _knn_regression(inputs, labeled, targets, settings, seed)
    from fewfold.graph.neighbors import nearest_neighbors

    metric = settings.get("metric", "euclidean")
    wanted = settings.get("n_neighbors", "cv")
    most = len(labeled)
    grid = [k for k in (1, 3, 5, 7, 9, 13, 17, 25) if k <= max(1, most // 2)]
    L = inputs.X[labeled]

    def votes(base, base_targets, query, k):
        found = nearest_neighbors(base, k, query=query, metric=metric)
        # A vote worth slightly less for each place in the ranking breaks ties to the nearer.
        worth = 1 + 1e-3 * (k - np.arange(k)) / k
        out = np.zeros((len(found.indices), n_classes))
        for place in range(k):
            np.add.at(
                out, (np.arange(len(out)), base_targets[found.indices[:, place]]), worth[place]
            )
        return out / out.sum(axis=1, keepdims=True)

    def fold_error(train, test):
        ks = [min(k, len(train)) for k in grid]
        predicted = [votes(L[train], targets[train], L[test], k).argmax(1) for k in ks]
        return [np.mean(p != targets[test]) for p in predicted]

    if wanted == "cv":
        k = choose(grid, fold_error, folds_for(targets, seed), default=1)
    else:
        k = min(int(wanted), most)

    def predict(which):
        return votes(L, targets, inputs.X if which == "rows" else inputs.X_new, k)

    return _outcome(predict, inputs, np.arange(n_classes), n_classes, {"n_neighbors": int(k)})


def _knn_regression(inputs, labeled, targets, settings, seed):
    from sklearn.model_selection import KFold
    from sklearn.neighbors import KNeighborsRegressor

    wanted = settings.get("n_neighbors", "cv")
    L = inputs.X[labeled]
    grid = [k for k in (1, 3, 5, 7, 9) if k <= max(1, len(labeled) // 2)]
    folds = None
    if len(labeled) >= 2 * FOLDS:
        folds = list(KFold(FOLDS, shuffle=True, random_state=seed % 2**32).split(L))

    def fold_error(train, test):
        models = [
            KNeighborsRegressor(min(k, len(train))).fit(L[train], targets[train]) for k in grid
        ]
        return [np.mean((m.predict(L[test]) - targets[test]) ** 2) for m in models]

    k = choose(grid, fold_error, folds, default=1) if wanted == "cv" else wanted
    model = KNeighborsRegressor(min(int(k), len(labeled))).fit(L, targets)
    new = None if inputs.X_new is None else model.predict(inputs.X_new)
    return Outcome(model.predict(inputs.X), labels_new=new, details={"n_neighbors": int(k)})


def _grid(value, default):
    if value in (None, "cv"):
        return default
    return [float(value)]


def linear_svm(inputs: Inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """Linear SVM, one against all; ``C`` a number or "cv".

    Features are divided by their mean row norm first, so that the same grid of C fits any scale.
    """
    from sklearn.svm import LinearSVC

    classes = np.unique(targets)
    if len(classes) < 2:
        return _single_class(inputs, targets, n_classes)
    scale = _mean_norm(inputs.X)
    L = inputs.X[labeled] / scale
    grid = _grid(settings.get("C"), [0.1, 1.0, 10.0, 100.0])

    def fit(rows, C):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # slow convergence at large C; errors decide
            return LinearSVC(C=C, random_state=seed % 2**31, max_iter=2000).fit(
                L[rows], targets[rows]
            )

    def fold_error(train, test):
        return [np.mean(fit(train, C).predict(L[test]) != targets[test]) for C in grid]

    C = choose(grid, fold_error, folds_for(targets, seed), default=1.0)
    model = fit(np.arange(len(targets)), C)

    def predict(which):
        X = inputs.X if which == "rows" else inputs.X_new
        return scores_to_proba(_columns(model.decision_function(X / scale)))

    return _outcome(predict, inputs, classes, n_classes, {"C": C})


def _mean_norm(X):
    from scipy import sparse

    squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X, dtype=float)
    return float(np.sqrt(squares / X.shape[0])) or 1.0


def _columns(decision):
    """One column per class, also for two classes."""
    return np.column_stack([-decision, decision]) if decision.ndim == 1 else decision


def kernel_svm(inputs: Inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """SVM on the kernel stage's matrix; ``C``, and ``gamma`` for stored distances, by "cv".

    Gamma is searched as a multiple of the data's own width (1 / median squared distance).
    """
    from sklearn.svm import SVC

    classes = np.unique(targets)
    if len(classes) < 2:
        return _single_class(inputs, targets, n_classes)
    kernel = inputs.kernel
    stored = kernel.all_rows(labeled)
    square = stored[:, labeled].astype(np.float64)
    gammas = [None]
    if kernel.kind == "squared_distances":
        gammas = _grid(settings.get("gamma"), [kernel.gamma * f for f in (0.3, 1, 3, 10)])
    penalties = _grid(settings.get("C"), [1.0, 10.0, 100.0])
    grid = [(g, C) for g in gammas for C in penalties]

    def values(block, gamma):
        return block if gamma is None else np.exp(-gamma * block)

    def fit(K, rows, C):
        return SVC(C=C, kernel="precomputed", cache_size=500).fit(K, targets[rows])

    def fold_error(train, test):
        errors = []
        within, across = square[np.ix_(train, train)], square[np.ix_(test, train)]
        for gamma in gammas:  # one kernel serves all penalties
            K, K_test = values(within, gamma), values(across, gamma)
            for C in penalties:
                errors.append(np.mean(fit(K, train, C).predict(K_test) != targets[test]))
        return errors

    default = (gammas[len(gammas) // 2 - 1] if len(gammas) > 1 else gammas[0], 10.0)
    gamma, C = choose(grid, fold_error, folds_for(targets, seed), default=default)
    model = fit(values(square, gamma), np.arange(len(targets)), C)

    def predict(which):
        block = stored[:, : kernel.n] if which == "rows" else stored[:, kernel.n :]
        scores = [
            _columns(model.decision_function(values(block[:, s : s + 4096].T.astype(float), gamma)))
            for s in range(0, block.shape[1], 4096)
        ]
        return scores_to_proba(np.concatenate(scores))

    details = {"C": C, "n_support": int(model.n_support_.sum())}
    return _outcome(
        predict, inputs, classes, n_classes, details | ({"gamma": gamma} if gamma else {})
    )


def label_spreading(inputs: Inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """scikit-learn's LabelSpreading with its k-NN kernel, as a user of it would run it."""
    from sklearn.semi_supervised import LabelSpreading

    y = np.full(inputs.X.shape[0], -1)
    y[labeled] = targets
    model = LabelSpreading(
        kernel="knn",
        n_neighbors=min(int(settings.get("n_neighbors", 7)), inputs.X.shape[0]),
        alpha=float(settings.get("alpha", 0.2)),
        max_iter=int(settings.get("max_iter", 100)),
    )
    status = "ok"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(inputs.X, y)
        if any("max_iter" in str(w.message) for w in caught):
            status = "not converged"

    def predict(which):
        if which == "rows":
            return np.nan_to_num(model.label_distributions_)
        return np.nan_to_num(model.predict_proba(inputs.X_new))

    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = _outcome(predict, inputs, model.classes_, n_classes, {"n_iter": model.n_iter_})
    # Rows that no label reached have no distribution: unknown, not class 0.
    outcome.labels[outcome.proba.sum(axis=1) == 0] = -1
    outcome.status = status
    return outcome


def kmeans(inputs: Inputs, labeled, targets, *, n_classes, seed, settings) -> Outcome:
    """k-means clusters, each named by the majority of its labelled points, if there are any.

    Settings: ``n_clusters`` (by default one per class) and ``n_init``.
    """
    from sklearn.cluster import KMeans

    count = int(settings.get("n_clusters", n_classes))
    model = KMeans(count, n_init=int(settings.get("n_init", 10)), random_state=seed % 2**31)
    cluster = model.fit_predict(inputs.X)
    new = None if inputs.X_new is None else model.predict(inputs.X_new)
    if len(labeled):
        votes = np.zeros((count, n_classes))
        np.add.at(votes, (cluster[labeled], targets), 1)
        # A cluster without a labelled point stays unknown.
        name = np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), -1)
        cluster = name[cluster]
        new = None if new is None else name[new]
    return Outcome(cluster, labels_new=new, details={"inertia": float(model.inertia_)})
