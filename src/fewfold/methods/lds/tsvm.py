"""Transductive SVM by gradient descent in the primal (Chapelle, Zien 2005).

Minimized over w, per class against the rest, with labeled rows l and unlabeled rows u:

    |w|^2 / 2 + C sum_l max(0, 1 - y f)^2 + C* sum_u exp(-3 f^2),   f = z.w + b,

with C* raised in steps from nearly nothing, and b such that the mean of f over the unlabeled
rows is ``2 share - 1``. With features that have mean zero over those rows, b is that number.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

STEEPNESS = 3.0
N_STEPS = 8


def tsvm_objective(W, Z, labeled, signs, shift, C, C_star):
    """Return the objective summed over the classes, and its gradient.

    Parameters
    ----------
    W : ndarray of shape (p, c)
    Z : ndarray of shape (n, p)
    labeled : int ndarray of shape (m,)
    signs : ndarray of shape (m, c)
        1 or -1.
    shift : ndarray of shape (c,)
    C, C_star : float
    """
    F = Z @ W + shift
    slack = np.maximum(0, 1 - signs * F[labeled])
    bump = np.exp(-STEEPNESS * F**2)
    bump[labeled] = 0
    value = 0.5 * np.sum(W**2) + C * np.sum(slack**2) + C_star * bump.sum()
    slope = (-2 * STEEPNESS * C_star) * F * bump
    slope[labeled] = -2 * C * signs * slack
    return value, W + Z.T @ slope


def fit_tsvm(
    Z: np.ndarray,
    labeled: np.ndarray,
    signs: np.ndarray,
    shares: np.ndarray,
    *,
    C: float = 10.0,
    unlabeled_weight: float = 1.0,
    n_steps: int = N_STEPS,
    max_iter: int = 20,
) -> np.ndarray:
    """Train one transductive SVM per class.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Features with mean zero over the unlabeled rows.
    labeled : int ndarray of shape (m,)
    signs : ndarray of shape (m, c)
    shares : ndarray of shape (c,)
        Share of each class among the unlabeled rows.
    C : float
        Weight of a labeled row's squared hinge.
    unlabeled_weight : float
        What all unlabeled rows weigh together in the end, relative to all labeled ones.
    n_steps, max_iter : int
        Steps of the annealing (C* doubles twice in each), L-BFGS iterations per step.

    Returns
    -------
    W : ndarray of shape (p, c)

    Notes
    -----
    Costs ``n_steps * max_iter * n * p * c`` multiplications at most.
    """
    n, p = Z.shape
    c = signs.shape[1]
    shift = 2 * np.asarray(shares, dtype=float) - 1
    final = C * unlabeled_weight * len(labeled) / max(n - len(labeled), 1)
    W = np.zeros((p, c))

    def objective(w, C_star):
        value, slope = tsvm_objective(w.reshape(p, c), Z, labeled, signs, shift, C, C_star)
        return value, slope.ravel()

    for C_star in (0.0, *(final * 4.0 ** np.arange(1 - n_steps, 1))):
        found = minimize(
            objective, W.ravel(), args=(C_star,), jac=True, method="L-BFGS-B",
            options={"maxiter": max_iter, "maxcor": 8},
        )  # fmt: skip
        W = found.x.reshape(p, c)
    return W
