"""Live labels: diffusion and a kernel classifier, weighted by leave-one-out predictions.

The diffusion is updated after every answer. The kernel classifier and the weights are
fitted again when there are 5 % more labels. Weights and sharpness come from the predictions
of both for each labeled row without its label (`fewfold.labeling.stacking`).
"""

from __future__ import annotations

import numpy as np

from fewfold.labeling.stacking import Stack, fit_stack
from fewfold.session.live import LiveDiffusion
from fewfold.session.live_kernel import LiveKernel

LEAST_LABELS = 6  # needed to fit the kernel classifier
GROWTH = 1.05  # growth of the labels before it is fitted again
FIRST = (0.75, 0.25)  # prior weights


class LiveAnswer:
    """Class probabilities of all rows, updated after each answer.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric weights.
    n_classes : int
    X : array or csr_array of shape (n, d), optional
        Features of the kernel classifier; without them only the diffusion is used.
    responses : ndarray of shape (n, n), optional
        See `fewfold.session.live.LiveDiffusion`.
    """

    def __init__(self, W, n_classes: int, X=None, responses=None):
        self.diffusion = LiveDiffusion(W, n_classes, responses)
        self.kernel = None if X is None else LiveKernel(X)
        self._stack: Stack | None = None
        self._fitted_to = self._proba = None

    @property
    def weights(self) -> tuple[float, float]:
        """Weights of the diffusion and of the kernel classifier."""
        return (1.0, 0.0) if self._stack is None else tuple(map(float, self._stack.weights))

    def add_class(self) -> None:
        """Add a class."""
        self.diffusion.add_class()
        self._fitted_to = self._proba = None

    def start(self, rows, codes) -> None:
        """Add many labels at once."""
        self.diffusion.start(rows, codes)
        self._fitted_to = self._proba = None

    def add(self, row: int, code: int) -> None:
        """Add a label, or change one."""
        if self.diffusion.knows(row):
            self._fitted_to = None  # was fitted to a label that has been removed
        self.diffusion.add(row, code)
        self._proba = None

    def remove(self, row: int) -> None:
        """Remove a label."""
        self.diffusion.remove(row)
        self._fitted_to = self._proba = None

    def proba(self) -> np.ndarray:
        """Return the class probabilities of all rows."""
        if self._proba is None:
            self._refresh()
            self._proba = self.diffusion.proba()
            if self._stack is not None:
                self._proba = self._stack.combine([self._proba, self.kernel.proba()])
        return self._proba

    def _refresh(self):
        """Fit the kernel classifier and the weights, if there are enough new labels."""
        count = self.diffusion.n_labels
        if self.kernel is None or (
            self._fitted_to is not None and count < max(GROWTH * self._fitted_to, LEAST_LABELS)
        ):
            return
        self._fitted_to, self._stack = count, None
        rows, codes = self.diffusion.labels()
        if count < LEAST_LABELS or len(np.unique(codes)) < 2:
            return
        self.kernel.fit(rows, codes, self.diffusion.n_classes)
        judged = self.diffusion.can_leave_out(self.kernel.rows)
        if not judged.any():
            return
        codes = codes[-len(self.kernel.rows) :][judged]
        alone = self.diffusion.left_out(self.kernel.rows[judged])
        self._stack = fit_stack([alone, self.kernel.left_out[judged]], codes, np.array(FIRST))

    def shares(self, row: int, code: int) -> list[tuple[int, float]]:
        """Return each label's share in a row's prediction, the largest first.

        The mean, by the weights, of the shares in both scores for the class; in each the absolute
        values sum to 1, and negative shares count against the class.
        """
        total: dict[int, float] = {}
        for weight, model in zip(self.weights, (self.diffusion, self.kernel)):
            parts = model.shares(row, code) if weight > 0 else []
            size = sum(abs(part) for _, part in parts) or 1.0
            for label, part in parts:
                total[label] = total.get(label, 0.0) + weight * part / size
        return sorted(total.items(), key=lambda item: -abs(item[1]))
