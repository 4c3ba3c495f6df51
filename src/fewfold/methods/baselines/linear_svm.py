"""A linear SVM on the labeled rows."""

from __future__ import annotations

import math

from fewfold.methods.baselines.feature_svm import FeatureSVC


class LinearSVM(FeatureSVC):
    """Linear SVM, one class against the rest.

    Features are divided by their mean row norm first, so that the same grid of C fits any scale.

    Parameters
    ----------
    C : float or "cv"
        Penalty of margin errors, or chosen by cross-validation on the labeled rows.
    random_state : int

    Examples
    --------
    >>> LinearSVM().fit([[0.0], [1.0], [9.0]], [0, -1, 1]).transduction_.tolist()
    [0, 0, 1]
    """

    kernel, scheme, choose_rows = "linear", "rest", math.inf

    def __init__(self, C="cv", *, random_state=0):
        self.C = C
        self.random_state = random_state
