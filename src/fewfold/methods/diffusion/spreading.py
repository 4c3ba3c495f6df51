"""Labels diffused over a graph: Poisson learning, label spreading and label propagation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.linalg.laplacian import components, degrees
from fewfold.methods.diffusion.solver import Solver, by_component, scaled, solve_system

METHODS = ("poisson", "spreading", "propagation")

# Softmax of Poisson scores: this many units between the best and the second best class of a
# typical point, so that it is trusted by about 99 to 1. Scores carry no scale of their own.
_TYPICAL_MARGIN = 5.0


@dataclass(frozen=True)
class Scores:
    """The result of a diffusion at every point.

    Attributes
    ----------
    values : ndarray of shape (n, n_classes)
        The larger, the likelier.
    is_reached : bool ndarray of shape (n,)
        Whether a label is connected to the point at all.
    n_iterations : int
        Of conjugate gradients.
    residual : float
        Largest norm over the classes of (equation's left - right side) / right side.
    is_converged : bool
    """

    values: np.ndarray
    is_reached: np.ndarray
    n_iterations: int
    residual: float
    is_converged: bool


def _one_hot(labeled, targets, n, n_classes):
    Y = np.zeros((n, n_classes))
    Y[labeled, targets] = 1.0
    return Y


def check_labels(W, labeled, targets, n_classes):
    """Refuse labels that do not fit the graph; return them as integer arrays."""
    labeled, targets = np.asarray(labeled, np.int64), np.asarray(targets, np.int64)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise InputError(f"The graph has shape {W.shape}; a square matrix of weights is needed.")
    if len(labeled) == 0:
        raise InputError("No labeled sample. Give the class of at least one (others: -1).")
    if labeled.shape != targets.shape or len(np.unique(labeled)) < len(labeled):
        raise InputError(
            f"{len(labeled)} labeled rows ({len(np.unique(labeled))} distinct) for "
            f"{len(targets)} targets. Give one target for each distinct row."
        )
    if labeled.min() < 0 or labeled.max() >= W.shape[0]:
        raise InputError(
            f"Labeled row {labeled.max()} is outside the graph's 0 to {W.shape[0] - 1}."
        )
    if targets.min() < 0 or targets.max() >= n_classes:
        raise InputError(
            f"Class codes {targets.min()} to {targets.max()} given; allowed: 0 to {n_classes - 1}."
        )
    return labeled, targets


def poisson_scores(
    W, labeled, targets, n_classes: int, *, tol: float = 1e-5, max_iter: int = 2000
) -> Scores:
    """Solve the Poisson equation with sources at the labels (Calder et al. 2020).

    In each connected component, ``L U = sum over labels j of (y_j - mean y) delta_j`` with
    ``L = D - W``, and the mean of ``U`` weighted by the degrees zero. A component whose labels
    are all of one class is given that class.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    labeled : int array of shape (m,)
        Labeled rows.
    targets : int array of shape (m,)
        Their classes, 0 to ``n_classes`` - 1.
    tol, max_iter : see `conjugate_gradients`
        The residual is that of the system scaled by ``D^-1/2`` from both sides.

    Returns
    -------
    Scores

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> path = sparse.csr_array(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    >>> poisson_scores(path, [0, 3], [0, 1], 2).values.argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    labeled, targets = check_labels(W, labeled, targets, n_classes)
    solver = Solver(W, "poisson", tol=tol, max_iter=max_iter)
    component, n = solver.component, solver.n_rows
    counts = np.bincount(component[labeled], minlength=component.max() + 1)
    Y = _one_hot(labeled, targets, n, n_classes)
    means = by_component(Y, component) / np.maximum(counts, 1)[:, None]
    right = Y  # in place: with many rows each copy counts
    right[labeled] = Y[labeled] - means[component[labeled]]
    values = solver.respond(right)
    # Of one class only: the sources vanish, and so does the equation.
    is_single = (counts > 0) & (means.max(axis=1) > 1 - 1e-12)
    inside = is_single[component]
    values[inside] = means[component[inside]] * max(np.abs(values).max(), 1.0)
    is_converged = solver.residual <= max(2 * tol, 1e-13)
    return Scores(values, counts[component] > 0, solver.n_iterations, solver.residual, is_converged)


def spreading_scores(
    W, labeled, targets, n_classes: int, *, alpha: float = 0.995, tol: float = 1e-5,
    max_iter: int = 2000,
) -> Scores:  # fmt: skip
    """Spread labels: ``F = (1 - alpha) (I - alpha D^-1/2 W D^-1/2)^-1 Y`` (Zhou et al. 2004).

    Parameters
    ----------
    alpha : float in (0, 1)
        How far labels spread; the nearer to 1, the farther.
    W, labeled, targets, n_classes, tol, max_iter : as for `poisson_scores`
    """
    labeled, targets = check_labels(W, labeled, targets, n_classes)
    solver = Solver(W, "spreading", alpha=alpha, tol=tol, max_iter=max_iter)
    F = solver.respond(_one_hot(labeled, targets, solver.n_rows, n_classes))
    reached = np.isin(solver.component, solver.component[labeled])
    return Scores(
        np.maximum(F, 0), reached, solver.n_iterations, solver.residual, solver.residual <= 2 * tol
    )


def propagation_scores(
    W, labeled, targets, n_classes: int, *, tol: float = 1e-5, max_iter: int = 2000
) -> Scores:
    """Propagate labels: each unlabeled point the mean of its neighbors (Zhu et al. 2003).

    Labeled points keep their labels. Arguments as for `poisson_scores`.
    """
    labeled, targets = check_labels(W, labeled, targets, n_classes)
    W = sparse.csr_array(W, dtype=np.float64)
    n = W.shape[0]
    _, component = components(W)
    reached = np.isin(component, component[labeled])
    is_free = reached.copy()
    is_free[labeled] = False
    free = np.flatnonzero(is_free)
    Y = _one_hot(labeled, targets, n, n_classes)
    if len(free) == 0:
        return Scores(Y, reached, 0, 0.0, True)
    inverse = 1 / np.sqrt(degrees(W)[free])
    inner = sparse.csr_array(W[free][:, free])
    S = scaled(inner, inverse)
    right = inverse[:, None] * (W[free] @ Y)
    V, n_iterations, residual = solve_system(S, 1 / inverse, right, tol=tol, max_iter=max_iter)
    values = Y
    values[free] = np.clip(inverse[:, None] * V, 0, 1)
    return Scores(values, reached, n_iterations, residual, residual <= 2 * tol)


def class_priors(priors, targets, n_classes: int) -> np.ndarray:
    """Return the share of each class, summing to 1.

    Parameters
    ----------
    priors : None, "estimated", "uniform" or array of shape (n_classes,)
        Shares seen among the labels (None, "estimated"), equal shares, or known ones.
    """
    if priors is None or (isinstance(priors, str) and priors == "estimated"):
        return np.bincount(targets, minlength=n_classes) / len(targets)
    if isinstance(priors, str) and priors == "uniform":
        return np.full(n_classes, 1 / n_classes)
    values = np.asarray(priors, dtype=float) if not isinstance(priors, str) else np.empty(0)
    if values.shape != (n_classes,) or not np.all(values >= 0) or not values.sum() > 0:
        raise InputError(
            f"priors={priors!r}; allowed: 'estimated', 'uniform' or {n_classes} "
            "non-negative numbers, one per class."
        )
    return values / values.sum()


def mass_factors(values: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Return the factor of each class that brings its total to its prior (Zhu et al. 2003).

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[3.0, 1.0], [1.0, 0.0]])
    >>> (values * mass_factors(values, np.array([0.5, 0.5]))).sum(axis=0)
    array([0.5, 0.5])
    """
    mass = values.sum(axis=0)
    return np.divide(priors, mass, out=np.zeros_like(mass), where=mass > 0)


def factors_for_shares(proba, shares, *, n_rounds: int = 200) -> np.ndarray:
    """Return one factor per class with which the mean probability of each class is its share.

    Parameters
    ----------
    proba : ndarray of shape (n, k)
    shares : ndarray of shape (k,)

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2]])
    >>> changed = with_factors(proba, factors_for_shares(proba, [0.5, 0.5]))
    >>> changed.mean(axis=0).round(3).tolist()
    [0.5, 0.5]
    """
    shares = np.asarray(shares, dtype=float)
    factors = np.ones(len(shares))
    for _ in range(n_rounds):
        mean = with_factors(proba, factors).mean(axis=0)
        if np.abs(mean - shares).max() < 1e-6:
            break
        factors *= np.divide(shares, mean, out=np.zeros_like(mean), where=mean > 0)
        factors /= factors.max()
    return factors


def with_factors(proba, factors) -> np.ndarray:
    """Multiply the classes' probabilities by factors and normalize."""
    scaled = np.asarray(proba) * factors
    return scaled / np.maximum(scaled.sum(axis=1, keepdims=True), 1e-300)


def softmax_scale(values: np.ndarray) -> float:
    """Return the factor by which Poisson scores are multiplied before a softmax."""
    if values.shape[1] < 2 or len(values) == 0:
        return 1.0
    top = np.partition(values, -2, axis=1)[:, -2:]
    typical = float(np.median(top[:, 1] - top[:, 0]))
    return _TYPICAL_MARGIN / typical if typical > 0 else 1.0
