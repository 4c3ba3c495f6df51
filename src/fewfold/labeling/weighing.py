"""Weights of the candidates, and combined predictions for held-out labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fewfold.labeling.calibration import calibrate, fit_calibration
from fewfold.labeling.first_weights import first_weights
from fewfold.labeling.intervals import regression_weights
from fewfold.labeling.stacking import Stack, fit_stack

LEAST_WEIGHT = 0.005  # candidates below it are left out
STANDARD_ERRORS = 2.0  # standard errors by which a combination must beat a trusted candidate


@dataclass(frozen=True)
class Combination:
    """A weighted mean of candidates, for training rows and new rows alike.

    Attributes
    ----------
    weights, exponents : ndarray of shape (n_members,)
    factors : ndarray of shape (k,) or None
        Of the classes, where they are brought to given shares.
    calibration : (slope, shift)
    low : float or None
        Lower bound of regression targets.
    """

    weights: np.ndarray
    exponents: np.ndarray
    factors: np.ndarray | None = None
    calibration: tuple = (1.0, 0.0)
    low: float | None = None

    def proba(self, answers) -> np.ndarray:
        """Return class probabilities from those of the members, (n, k)."""
        return Stack(self.weights, self.exponents, None, None, self.factors).combine(answers)

    def decide(self, proba) -> dict[str, np.ndarray]:
        """Return label, calibrated confidence and second label of each row."""
        rows = np.arange(len(proba))
        label = proba.argmax(axis=1)
        rest = proba.copy()
        rest[rows, label] = -1
        second = np.where(rest.max(axis=1) > 0, rest.argmax(axis=1), -1)
        confidence = calibrate(proba[rows, label], *self.calibration)
        return {"label": label, "confidence": confidence, "second": second}

    def values(self, answers) -> np.ndarray:
        """Return numbers from those of the members, (n,)."""
        found = sum(w * a for w, a in zip(self.weights, answers) if w > 0)
        return found if self.low is None else np.maximum(found, self.low)


def weights_before(members, n_labels, **options) -> np.ndarray:
    """Return the weights of members before any label is held out; see `first_weights`."""
    families, shares = [m.family for m in members], [m.class_shares for m in members]
    return first_weights(families, shares, n_labels, **options)


def weigh(members, held_out, targets, first, is_classes: bool) -> Combination:
    """Fit the weights to out-of-fold predictions.

    Parameters
    ----------
    members : list of Member
    held_out : ndarray of shape (n_members, m, k), or (n_members, m) for numbers
    targets : ndarray of shape (m,)
    first : ndarray of shape (n_members,)
        From `weights_before`.
    is_classes : bool
    """
    if not is_classes:
        weights = regression_weights(held_out, targets, first)
        weights = np.where(weights < LEAST_WEIGHT, 0, weights)
        return Combination(weights / weights.sum(), np.ones(len(weights)))
    codes = targets.astype(np.int64)
    stack = fit_stack(held_out, codes, first, least_weight=LEAST_WEIGHT)
    kept = [
        place
        for place, member in enumerate(members)
        if member.trusted and not _clearly_better(stack.held_out, held_out[place], codes)
    ]
    if not kept:
        return Combination(stack.weights, stack.exponents)
    if np.isnan(stack.log_loss[0]):  # one label per class: nothing can be compared
        return replace(unweighed(members, first), exponents=stack.exponents)
    # of several, the one with the smallest held-out loss, whatever their order
    best = min(kept, key=lambda place: stack.log_loss[place])
    return Combination(np.eye(len(members))[best], stack.exponents)


def _clearly_better(new, old, codes):
    """Whether one prediction has less error than another by more than two standard errors."""
    gain = (old.argmax(axis=1) != codes).astype(float) - (new.argmax(axis=1) != codes)
    if len(gain) < 2:
        return False
    return gain.mean() > STANDARD_ERRORS * gain.std(ddof=1) / np.sqrt(len(gain))


def unweighed(members, first) -> Combination:
    """Return the prior weights, or the last trusted candidate alone, where nothing is judged."""
    for place, member in enumerate(members):
        if member.trusted:
            first = np.eye(len(members))[place]
    return Combination(np.asarray(first), np.ones(len(members)))


def cross_fitted(members, held_out, targets, first, fold, is_classes: bool) -> np.ndarray:
    """Return the combined prediction of each label, with weights fitted without its fold.

    Only the weights are fitted to held-out predictions; without this the error
    of the combination would be too low (selection bias).

    Parameters
    ----------
    members, held_out, targets, first, is_classes : see `weigh`
    fold : int ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (m, k) or (m,)
    """
    found = np.zeros_like(held_out[0])
    for held in range(fold.max() + 1):
        out = fold == held
        part = weigh(members, held_out[:, ~out], targets[~out], first, is_classes)
        answers = held_out[:, out]
        found[out] = part.proba(answers) if is_classes else part.values(answers)
    return found


def calibrated(combination: Combination, said, codes) -> tuple[tuple, np.ndarray]:
    """Fit the calibration to held-out answers; also return their calibrated confidences.

    Parameters
    ----------
    combination : Combination
    said : ndarray of shape (m, k)
        Combined predictions for held-out labels.
    codes : int ndarray of shape (m,)
    """
    top = said.max(axis=1)
    fitted = fit_calibration(top, said.argmax(axis=1) == codes)
    return fitted, calibrate(top, *fitted)
