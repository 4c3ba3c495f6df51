"""Predictions of each view for all rows and for held-out labels, and the weights of the views."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import softmax

from fewfold.methods.diffusion.estimator import held_out_probabilities, to_probabilities
from fewfold.methods.diffusion.folds import fold_scores
from fewfold.methods.diffusion.spreading import poisson_scores, spreading_scores

# Diffusions on each graph.
DIFFUSIONS = ("poisson", "poisson_shares", "spreading_0.99", "spreading_0.9")
# The same as equations, with the class shares that are set after each: their own, or those of the
# labels.
_EQUATIONS = (
    ("poisson", 0.9, (None, "estimated")),
    ("spreading", 0.99, (None,)),
    ("spreading", 0.9, (None,)),
)
# Of the labels' classifier, where labels were held out. With one label per class nothing shows
# whether it is any good, and on every set that was tried it was the worst.
_CLASSIFIER_SHARE = 0.05
# The prior counts as this many labels: so many of each class, at least so many in all.
_STRENGTH, _LEAST_STRENGTH = 0.15, 1.0
N_FOLDS, FEW_LABELS = 5, 20
MOST_JUDGED = 2000
_PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3)
_EXPONENTS = (0.25, 0.5, 1.0, 2.0, 4.0)
# Scores of the labels' classifier times this are about logarithms of probabilities.
SCORE_SCALE = 8.0
# Probability left for labels that are wrong or beyond all views.
_LEAST = 0.01
_LEAST_CUT, _CUT_POWER = 1e-3, 8
_TOL, _FOLDS_TOL = 1e-5, 1e-4


def diffusions(W, rows, codes, n_classes: int, *, tol: float = _TOL) -> list[np.ndarray]:
    """Return the answer of each of `DIFFUSIONS` for all rows, each (n, n_classes)."""
    found = []
    for method, alpha, all_priors in _EQUATIONS:
        if method == "poisson":
            scores = poisson_scores(W, rows, codes, n_classes, tol=tol)
        else:
            scores = spreading_scores(W, rows, codes, n_classes, alpha=alpha, tol=tol)
        found += _probabilities(scores, codes, n_classes, method, all_priors)
    return found


def _probabilities(scores, codes, n_classes, method, all_priors):
    """Return the probabilities that belong to the scores of one equation."""
    options = {"method": method, "sources": "classes"}
    return [
        to_probabilities(
            scores.values, scores.is_reached, codes, n_classes, priors=priors, **options
        )
        for priors in all_priors
    ]


def make_folds(codes) -> np.ndarray:
    """Assign labels to folds, each class evenly; each label on its own up to 20 of them."""
    m = len(codes)
    fold = np.empty(m, np.int64)
    fold[np.argsort(codes, kind="stable")] = np.arange(m) % (m if m <= FEW_LABELS else N_FOLDS)
    return fold


def held_out_diffusions(W, rows, codes, n_classes: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the answer of each of `DIFFUSIONS`, and what it says of each label without its fold.

    Returns
    -------
    answers : list of ndarray of shape (n, n_classes)
    held_out : ndarray of shape (n_diffusions, m, n_classes)
    """
    fold = make_folds(codes)
    whole, held_out = [], []
    for method, alpha, all_priors in _EQUATIONS:
        options = {"method": method, "alpha": alpha, "tol": _FOLDS_TOL}
        found = fold_scores(W, rows, codes, n_classes, fold, **options)
        whole += _probabilities(found.whole, codes, n_classes, method, all_priors)
        for priors in all_priors:
            options = {"method": method, "priors": priors, "sources": "classes"}
            held_out.append(held_out_probabilities(found, rows, codes, n_classes, fold, **options))
    return whole, np.array(held_out)


def fit_labels(z, codes, n_classes: int, judged) -> tuple[np.ndarray, np.ndarray]:
    """Fit ridge regression to the labels alone, its penalty chosen by exact leave-one-out.

    Parameters
    ----------
    z : ndarray of shape (m, d)
        Random features of the labeled rows.
    codes : int ndarray of shape (m,)
    n_classes : int
    judged : int ndarray
        Labels that are left out, one at a time.

    Returns
    -------
    coef : ndarray of shape (d, n_classes)
    left_out : ndarray of shape (n_judged, n_classes)
        Scores of the judged labels without themselves.
    """
    from scipy.linalg import cho_factor, cho_solve

    m, d = z.shape
    Y = np.eye(n_classes)[codes] - 1 / n_classes
    z = np.asarray(z, np.float64 if m <= d else z.dtype)
    product = z @ z.T if m <= d else z.T @ z
    best = None
    for penalty in _PENALTIES:
        shifted = product + np.eye(len(product), dtype=product.dtype) * (penalty * m)
        factor = cho_factor(shifted)
        if m <= d:
            inverse = cho_solve(factor, np.eye(m))
            dual = inverse @ Y
            coef = z.T @ dual
            left_out = (Y - dual / np.diag(inverse)[:, None])[judged]
        else:
            coef = cho_solve(factor, z.T @ Y.astype(z.dtype))
            some = z[judged]
            leverage = np.einsum("id,di->i", some, cho_solve(factor, some.T))
            gap = Y[judged] - some @ coef
            left_out = Y[judged] - gap / np.maximum(1 - leverage, 1e-6)[:, None]
        loss = float(np.mean((left_out - Y[judged]) ** 2))
        if best is None or loss < best[0]:
            best = loss, coef, left_out
    return best[1], best[2]


def choose_exponent(scores, codes) -> float:
    """Return the factor of log-probabilities with which they explain held-out labels best."""
    here = np.arange(len(codes)), codes
    losses = [-np.log(softmax(scores * e, axis=1)[here] + _LEAST).sum() for e in _EXPONENTS]
    return _EXPONENTS[int(np.argmin(losses))]


def log_of(proba) -> np.ndarray:
    """Return logarithms of probabilities, none below that of one in a million."""
    return np.log(np.maximum(proba, 1e-6))


def normalized_cut(W, classes, n_classes: int) -> float:
    """Return which share of the edges of a class leaves it, as the mean over the classes.

    Parameters
    ----------
    W : sparse array of shape (n, n)
        Symmetric.
    classes : int ndarray of shape (n,)
    n_classes : int
        A class without rows, or without edges, counts as cut altogether.

    Examples
    --------
    >>> path = sparse.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))
    >>> normalized_cut(path, np.array([0, 0, 1, 1]), 2), normalized_cut(path, np.zeros(4, int), 2)
    (0.3333333333333333, 0.5)
    """
    W = sparse.coo_array(W)
    own = classes[W.row]
    leaves = own != classes[W.col]
    volume = np.bincount(own, W.data, minlength=n_classes)
    across = np.bincount(own[leaves], W.data[leaves], minlength=n_classes)
    return float(np.mean(np.where(volume > 0, across / np.where(volume > 0, volume, 1), 1)))


def answer_shares(graphs, by_view) -> np.ndarray:
    """Return the prior weight of each answer of each graph, without held-out labels.

    Where a graph joins rows of one class, and labels diffuse over it as far as they should, few
    edges leave a class; where it ignores what matters or heeds what does not, or where one class
    takes in most of another, many edges of some class do. The share of an answer is the inverse
    eighth power of its `normalized_cut` of its own graph.

    Parameters
    ----------
    graphs : list of csr_array
    by_view : list of list of ndarray of shape (n, n_classes)
        The answers of each graph.

    Returns
    -------
    ndarray of shape (n_graphs * n_diffusions,), summing to 1
    """
    cuts = [
        normalized_cut(W, answer.argmax(axis=1), answer.shape[1])
        for W, view in zip(graphs, by_view)
        for answer in view
    ]
    shares = 1 / np.maximum(cuts, _LEAST_CUT) ** _CUT_POWER
    return shares / shares.sum()


def prior_strength(n_classes: int) -> float:
    """Return how many labels the prior weights of the answers count as."""
    return max(_LEAST_STRENGTH, _STRENGTH * n_classes)


def mixture_weights(likelihoods, prior, strength: float) -> np.ndarray:
    """Return the weights of a mixture of answers that explain held-out labels best.

    Parameters
    ----------
    likelihoods : ndarray of shape (n_members, m)
        Probability that each member gave to each held-out label.
    prior : ndarray of shape (n_members,)
        Summing to 1.
    strength : float
        Labels that the prior counts for.

    Returns
    -------
    ndarray of shape (n_members,), summing to 1
        The maximum of likelihood times Dirichlet prior, by expectation maximization.

    Examples
    --------
    >>> sure = np.array([np.full(50, 0.9), np.full(50, 0.2)])
    >>> mixture_weights(sure, np.array([0.5, 0.5]), 3.0).round(2).tolist()
    [0.96, 0.04]
    """
    likelihoods = np.maximum(likelihoods, _LEAST)
    weights = np.asarray(prior, float)
    for _ in range(300):
        joint = weights[:, None] * likelihoods
        share = (joint / joint.sum(axis=0)).sum(axis=1)
        weights = (share + strength * prior) / (likelihoods.shape[1] + strength)
    return weights


def member_shares(of_answers, is_judged: bool) -> np.ndarray:
    """Return the prior weight of each answer of the graphs, and of the labels' classifier.

    Parameters
    ----------
    of_answers : ndarray of shape (n_answers,), summing to 1
    is_judged : bool
        Whether held-out labels will tell more; without them the classifier has no share.
    """
    classifier = _CLASSIFIER_SHARE if is_judged else 0.0
    return np.append(of_answers * (1 - classifier), classifier)
