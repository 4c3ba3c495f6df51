"""Combining candidates: weights from out-of-fold predictions (stacking).

With 30 to 300 labels the winner of a cross-validation is mostly luck, so candidates are averaged.
The weights minimize the out-of-fold log-loss of the weighted mean, pulled toward prior weights:

    min over w on the simplex of  -mean_i log(sum_k w_k p_k(y_i)) + strength * KL(w | first).

Before that, each candidate's probabilities are sharpened or flattened to fit held-out labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from fewfold.methods.diffusion.spreading import with_factors

# The prior weights count as much as a fifth of the labels, and as this many at most.
FIRST_LABELS, MOST_PULL = 5.0, 0.2
# Strength of the prior that a candidate's own probabilities are calibrated, in labels.
TEMPERATURE_PRIOR = 5.0
_FLOOR = 1e-3  # bounds the loss of a confident error at log(1000 k)
_LEAST_LOG = 1e-4
_RANGE = (-2.3, 1.6)  # of log exponents: from 0.1 to 5
FEW_LABELS = 20
_BLOCK_ROWS = 65_536


def sharpen(proba, exponent: float) -> np.ndarray:
    """Return probabilities to a power, normalized again; 1 leaves them as they are."""
    scores = exponent * np.log(np.maximum(proba, _LEAST_LOG))
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    return scores / scores.sum(axis=-1, keepdims=True)


def fit_exponent(proba, codes, prior: float = TEMPERATURE_PRIOR) -> float:
    """Return the power at which held-out probabilities have the smallest log-loss.

    Parameters
    ----------
    proba : ndarray of shape (m, k)
        Out-of-fold.
    codes : int ndarray of shape (m,)
    prior : float
        Strength of the prior that the logarithm of the power is 0.

    Examples
    --------
    Overconfident, correct three times in four: flattened.

    >>> sure = np.array([[0.99, 0.01]] * 40)
    >>> fit_exponent(sure, np.array([0, 0, 0, 1] * 10)) < 0.5
    True
    """
    scores = np.log(np.maximum(proba, _LEAST_LOG))
    rows = np.arange(len(codes))

    def loss(log_exponent):
        found = np.exp(log_exponent) * scores
        total = np.logaddexp.reduce(found, axis=1)
        return np.sum(total - found[rows, codes]) + prior * log_exponent**2

    return float(np.exp(minimize_scalar(loss, bounds=_RANGE, method="bounded").x))


def pull(n_labels: int) -> float:
    """Return how strongly the first weights hold, per label: as `FIRST_LABELS` would.

    >>> pull(100), pull(10)
    (0.05, 0.2)
    """
    return min(FIRST_LABELS / n_labels, MOST_PULL)


def mixture_weights(held_out, codes, first, strength: float | None = None) -> np.ndarray:
    """Return weights on the simplex that minimize the penalized out-of-fold log-loss.

    Parameters
    ----------
    held_out : ndarray of shape (n_candidates, m, k)
    codes : int ndarray of shape (m,)
    first : ndarray of shape (n_candidates,)
        Weights without evidence; positive, summing to 1.
    strength : float, optional
        Of the Kullback-Leibler divergence from ``first``, by default `pull`.

    Returns
    -------
    ndarray of shape (n_candidates,)

    Notes
    -----
    The problem is convex; solved by L-BFGS over the logarithms of the weights.

    Examples
    --------
    >>> good, blind = np.array([[0.9, 0.1], [0.1, 0.9]]), np.full((2, 2), 0.5)
    >>> w = mixture_weights(np.array([good, blind]), np.array([0, 1]), np.array([0.5, 0.5]))
    >>> bool(w[0] > 0.6)
    True
    """
    k = held_out.shape[2]
    strength = pull(len(codes)) if strength is None else strength
    own = held_out[:, np.arange(len(codes)), codes].T
    own = (1 - _FLOOR) * own + _FLOOR / k
    log_first = np.log(first)

    def objective(a):
        w = np.exp(a - np.logaddexp.reduce(a))
        mixed = own @ w
        ratio = np.log(np.maximum(w, 1e-300)) - log_first
        value = -np.log(mixed).mean() + strength * (w @ ratio)
        slope = -(own / mixed[:, None]).mean(axis=0) + strength * (ratio + 1)
        return value, w * (slope - w @ slope)

    found = minimize(objective, log_first, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    w = np.exp(found.x - np.logaddexp.reduce(found.x))
    return w / w.sum()


@dataclass(frozen=True)
class Stack:
    """How candidates are combined.

    Attributes
    ----------
    weights : ndarray of shape (n_candidates,)
    exponents : ndarray of shape (n_candidates,)
        See `sharpen`.
    factors : ndarray of shape (k,) or None
        Of the classes, where they are brought to given shares.
    held_out : ndarray of shape (m, k)
        The combined out-of-fold prediction of each label (the weights have seen it).
    log_loss : ndarray of shape (n_candidates + 1,)
        Out-of-fold, of each candidate and of the combination, over the labels whose class has
        another label; without any, NaN.
    """

    weights: np.ndarray
    exponents: np.ndarray
    held_out: np.ndarray
    log_loss: np.ndarray
    factors: np.ndarray | None = None

    def combine(self, answers) -> np.ndarray:
        """Return the weighted mean of the candidates' probabilities.

        Parameters
        ----------
        answers : sequence of ndarray of shape (n, k)
            None for a candidate whose weight is 0.
        """
        found = _combined(answers, self.weights, self.exponents)
        return found if self.factors is None else with_factors(found, self.factors)


def _combined(answers, weights, exponents):
    counted = [place for place, weight in enumerate(weights) if weight > 0]
    total = np.zeros(np.shape(answers[counted[0]]))
    for start in range(0, len(total), _BLOCK_ROWS):  # what lies between would be large
        part = slice(start, start + _BLOCK_ROWS)
        for place in counted:
            total[part] += weights[place] * sharpen(answers[place][part], exponents[place])
    return total


def fit_stack(
    held_out, codes, first, *, strength: float | None = None, least_weight: float = 0.005
) -> Stack:
    """Learn how to combine candidates from their out-of-fold probabilities.

    Parameters
    ----------
    held_out : ndarray of shape (n_candidates, m, k)
        Several repeats of the folds: their mean.
    codes : int ndarray of shape (m,)
    first : ndarray of shape (n_candidates,)
        See `fewfold.labeling.first_weights`.
    strength : float, optional
        See `mixture_weights`.
    least_weight : float
        Candidates below it are left out, and need not be fitted to all labels.

    Returns
    -------
    Stack
    """
    held_out, codes = np.asarray(held_out, dtype=float), np.asarray(codes)
    # With few labels, a class whose only label is held out cannot be predicted.
    possible = np.bincount(codes)[codes] > 1
    judged = possible if len(codes) < FEW_LABELS else np.ones(len(codes), bool)
    if not judged.any():
        exponents, weights = np.ones(len(held_out)), np.asarray(first, dtype=float)
    else:
        exponents = np.array([fit_exponent(p[judged], codes[judged]) for p in held_out])
        sharp = np.array([sharpen(p, e) for p, e in zip(held_out, exponents)])
        weights = mixture_weights(sharp[:, judged], codes[judged], first, strength)
    weights = np.where(weights < least_weight, 0.0, weights)
    weights /= weights.sum()
    combined = _combined(held_out, weights, exponents)
    said = [*(sharpen(p, e) for p, e in zip(held_out, exponents)), combined]
    losses = [log_loss(p[possible], codes[possible]) if possible.any() else np.nan for p in said]
    return Stack(weights, exponents, combined, np.array(losses))


def log_loss(proba, codes) -> float:
    """Return the mean log-loss, with probabilities kept away from 0."""
    own = proba[np.arange(len(codes)), codes]
    return float(-np.log((1 - _FLOOR) * own + _FLOOR / proba.shape[1]).mean())
